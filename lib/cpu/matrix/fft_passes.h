/* fft_passes.h - the passes of Fourier transforms over a block, for one element type; fft_loops.h
 * begins with it. */

typedef struct FN(pair) {
    V re, im;
} FN(pair);

static EG__INLINE FN(pair) FN(plus)(FN(pair) a, FN(pair) b)
{
    return (FN(pair)){a.re + b.re, a.im + b.im};
}

static EG__INLINE FN(pair) FN(minus)(FN(pair) a, FN(pair) b)
{
    return (FN(pair)){a.re - b.re, a.im - b.im};
}

/* -i a */
static EG__INLINE FN(pair) FN(quarter)(FN(pair) a)
{
    return (FN(pair)){a.im, -a.re};
}

static EG__INLINE void FN(dft2)(FN(pair) * a)
{
    FN(pair) sum = FN(plus)(a[0], a[1]);
    a[1] = FN(minus)(a[0], a[1]);
    a[0] = sum;
}

static EG__INLINE void FN(dft3)(FN(pair) * a)
{
    const T half = (T)0.5, sine = (T)0.86602540378443864676;
    FN(pair) sum = FN(plus)(a[1], a[2]), turned = FN(quarter)(FN(minus)(a[1], a[2]));
    FN(pair) middle = {a[0].re - sum.re * half, a[0].im - sum.im * half};
    turned = (FN(pair)){turned.re * sine, turned.im * sine};
    a[0] = FN(plus)(a[0], sum);
    a[1] = FN(plus)(middle, turned);
    a[2] = FN(minus)(middle, turned);
}

static EG__INLINE void FN(dft4)(FN(pair) * a)
{
    FN(pair) even = FN(plus)(a[0], a[2]), even1 = FN(minus)(a[0], a[2]);
    FN(pair) odd = FN(plus)(a[1], a[3]), odd1 = FN(quarter)(FN(minus)(a[1], a[3]));
    a[0] = FN(plus)(even, odd);
    a[1] = FN(plus)(even1, odd1);
    a[2] = FN(minus)(even, odd);
    a[3] = FN(minus)(even1, odd1);
}

static EG__INLINE void FN(dft5)(FN(pair) * a)
{
    const T c1 = (T)0.30901699437494742410, c2 = (T)-0.80901699437494742410;
    const T s1 = (T)0.95105651629515357212, s2 = (T)0.58778525229247312917;
    FN(pair) p = FN(plus)(a[1], a[4]), q = FN(plus)(a[2], a[3]);
    FN(pair) r = FN(quarter)(FN(minus)(a[1], a[4])), s = FN(quarter)(FN(minus)(a[2], a[3]));
    FN(pair) m1 = {a[0].re + p.re * c1 + q.re * c2, a[0].im + p.im * c1 + q.im * c2};
    FN(pair) m2 = {a[0].re + p.re * c2 + q.re * c1, a[0].im + p.im * c2 + q.im * c1};
    FN(pair) t1 = {r.re * s1 + s.re * s2, r.im * s1 + s.im * s2};
    FN(pair) t2 = {r.re * s2 - s.re * s1, r.im * s2 - s.im * s1};
    a[0] = FN(plus)(a[0], FN(plus)(p, q));
    a[1] = FN(plus)(m1, t1);
    a[2] = FN(plus)(m2, t2);
    a[3] = FN(minus)(m2, t2);
    a[4] = FN(minus)(m1, t1);
}

static EG__INLINE void FN(dft8)(FN(pair) * a)
{
    const T c = (T)0.70710678118654752440;
    FN(pair) e[4] = {a[0], a[2], a[4], a[6]}, o[4] = {a[1], a[3], a[5], a[7]};
    FN(dft4)(e);
    FN(dft4)(o);
    o[1] = (FN(pair)){(o[1].re + o[1].im) * c, (o[1].im - o[1].re) * c};
    o[2] = FN(quarter)(o[2]);
    o[3] = (FN(pair)){(o[3].im - o[3].re) * c, (o[3].re + o[3].im) * -c};
    EG__UNROLLED
    for (int k = 0; k < 4; k++) {
        a[k] = FN(plus)(e[k], o[k]);
        a[k + 4] = FN(minus)(e[k], o[k]);
    }
}

/* The operands of a radix, and its results times their factors. */
#define TAKE(r, re_, im_)            \
    FN(pair) a[r];                   \
    EG__UNROLLED                     \
    for (int i = 0; i < r; i++) {    \
        a[i] = (FN(pair)){re_, im_}; \
    }
#define GIVE(r)                                          \
    to[0] = a[0].re;                                     \
    to[1] = a[0].im;                                     \
    EG__UNROLLED                                         \
    for (int k = 1; k < r; k++) {                        \
        const T re = w[2 * k - 2], im = w[2 * k - 1];    \
        to[2 * k * s] = a[k].re * re - a[k].im * im;     \
        to[2 * k * s + 1] = a[k].re * im + a[k].im * re; \
    }
/* One pass: m groups of s neighbouring elements each, radix r; y is in the order the next pass
 * wants (Stockham 1966). w: r - 1 factors for each group. */
#define PASS(r, dft)                                                                              \
    static void FN(pass##r)(const V *restrict x, V *restrict y, int64_t m, int64_t s, const T *w) \
    {                                                                                             \
        for (int64_t p = 0; p < m; p++, w += 2 * (r - 1)) {                                       \
            const V *from = x + 2 * s * p;                                                        \
            V *to = y + 2 * s * r * p;                                                            \
            for (int64_t q = 0; q < s; q++, from += 2, to += 2) {                                 \
                TAKE(r, from[2 * i * s * m], from[2 * i * s * m + 1])                             \
                dft(a);                                                                           \
                GIVE(r)                                                                           \
            }                                                                                     \
        }                                                                                         \
    }
PASS(2, FN(dft2))
PASS(3, FN(dft3))
PASS(4, FN(dft4))
PASS(5, FN(dft5))
PASS(8, FN(dft8))
#undef PASS

/* The first pass from pairs side by side as they lie, `step` from element to element. */
#define FIRST(r, dft)                                                                                      \
    static void FN(first##r)(const T *x, int64_t step, int turn, V *to, int64_t m, const T *w)             \
    {                                                                                                      \
        const int64_t s = 1;                                                                               \
        for (int64_t p = 0; p < m; p++, x += step, to += 2 * r, w += 2 * (r - 1)) {                        \
            TAKE(r, SHUFFLE(*(const V *)(x + i * m * step), *(const V *)(x + i * m * step + LANES), EVEN), \
                 SHUFFLE(*(const V *)(x + i * m * step), *(const V *)(x + i * m * step + LANES), ODD))     \
            EG__UNROLLED                                                                                   \
            for (int i = 0; i < r; i++) {                                                                  \
                a[i] = turn ? (FN(pair)){a[i].im, a[i].re} : a[i];                                         \
            }                                                                                              \
            dft(a);                                                                                        \
            GIVE(r)                                                                                        \
        }                                                                                                  \
    }
FIRST(4, FN(dft4))
FIRST(8, FN(dft8))
#undef FIRST

/* The last pass to pairs side by side, times `scale`, or times a row of factors for each element,
 * whose parts are `wide` apart. */
#define LAST(r, dft)                                                                                                   \
    static void FN(last##r)(const V *from, int64_t s, T *y, int64_t step, int turn, T scale, const T *w, int64_t wide) \
    {                                                                                                                  \
        for (int64_t q = 0; q < s; q++, from += 2, y += step) {                                                        \
            TAKE(r, from[2 * i * s], from[2 * i * s + 1])                                                              \
            dft(a);                                                                                                    \
            EG__UNROLLED                                                                                               \
            for (int k = 0; k < r; k++) {                                                                              \
                V b = a[k].re * scale, c = a[k].im * scale;                                                            \
                if (w) {                                                                                               \
                    const T *by = w + 2 * (q + k * s) * wide;                                                          \
                    const V re = *(const V *)by, im = *(const V *)(by + wide);                                         \
                    b = a[k].re * re - a[k].im * im;                                                                   \
                    c = a[k].re * im + a[k].im * re;                                                                   \
                }                                                                                                      \
                V *to = (V *)(y + k * s * step);                                                                       \
                if (turn) {                                                                                            \
                    V t = b;                                                                                           \
                    b = c;                                                                                             \
                    c = t;                                                                                             \
                }                                                                                                      \
                to[0] = SHUFFLE(b, c, LOW);                                                                            \
                to[1] = SHUFFLE(b, c, HIGH);                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    }
LAST(4, FN(dft4))
LAST(8, FN(dft8))
#undef LAST
#undef TAKE
#undef GIVE

/* The same for any odd r: results k and r - k share their products. Before the factors are r turns.
 */
static void FN(pass_odd)(const V *restrict x, V *restrict y, int64_t m, int64_t s, const T *turns, int r)
{
    const T *w = turns + 2 * r;
    for (int64_t p = 0; p < m; p++, w += 2 * (r - 1)) {
        for (int64_t q = 0; q < s; q++) {
            FN(pair) sum[EG__FFT_PRIME / 2 + 1], difference[EG__FFT_PRIME / 2 + 1];
            const V *from = x + 2 * (q + s * p);
            V *to = y + 2 * (q + s * r * p);
            FN(pair) first = {from[0], from[1]}, all = first;
            for (int i = 1; i <= r / 2; i++) {
                const V *a = from + 2 * i * s * m, *b = from + 2 * (r - i) * s * m;
                sum[i] = (FN(pair)){a[0] + b[0], a[1] + b[1]};
                difference[i] = (FN(pair)){a[1] - b[1], b[0] - a[0]}; /* times -i */
                all = FN(plus)(all, sum[i]);
            }
            to[0] = all.re;
            to[1] = all.im;
            for (int k = 1; k <= r / 2; k++) {
                FN(pair) middle = first, turned = {(V){0}, (V){0}};
                for (int i = 1, at = k; i <= r / 2; i++, at = at + k < r ? at + k : at + k - r) {
                    const T cosine = turns[2 * at], sine = -turns[2 * at + 1];
                    middle.re += sum[i].re * cosine;
                    middle.im += sum[i].im * cosine;
                    turned.re += difference[i].re * sine;
                    turned.im += difference[i].im * sine;
                }
                FN(pair) a = FN(plus)(middle, turned), b = FN(minus)(middle, turned);
                const T *wa = w + 2 * (k - 1), *wb = w + 2 * (r - k - 1);
                V *ya = to + 2 * k * s, *yb = to + 2 * (r - k) * s;
                ya[0] = a.re * wa[0] - a.im * wa[1];
                ya[1] = a.re * wa[1] + a.im * wa[0];
                yb[0] = b.re * wb[0] - b.im * wb[1];
                yb[1] = b.re * wb[1] + b.im * wb[0];
            }
        }
    }
}

/* Passes begin..end - 1 over the block x with y to go to and fro; where the result is. */
static V *FN(passes)(const eg__fft_plan *p, int begin, int end, V *x, V *y)
{
    static void (*const passes[9])(const V *restrict, V *restrict, int64_t, int64_t, const T *) = {
        [2] = FN(pass2), [3] = FN(pass3), [4] = FN(pass4), [5] = FN(pass5), [8] = FN(pass8)};
    int64_t m = p->n, s = 1;
    for (int i = 0; i < end; i++) {
        int r = p->radix[i];
        const T *w = (const T *)p->table + 2 * p->table_at[i];
        m /= r;
        if (i >= begin) {
            if (r <= 8 && passes[r]) {
                passes[r](x, y, m, s, w);
            } else {
                FN(pass_odd)(x, y, m, s, w, r);
            }
            V *t = x;
            x = y;
            y = t;
        }
        s *= r;
    }
    return x;
}

static V *FN(direct)(const eg__fft_plan *p, V *x, V *y)
{
    return FN(passes)(p, 0, p->passes, x, y);
}

/* Whether pass i can read or write pairs side by side, there being another. */
static inline bool FN(joins)(const eg__fft_plan *p, int i)
{
    return p->passes > 1 && (p->radix[i] == 4 || p->radix[i] == 8);
}
