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

/* a (re + i im), of a number or of one for each lane. */
static EG__INLINE FN(pair) FN(turned)(FN(pair) a, T re, T im)
{
    return (FN(pair)){a.re * re - a.im * im, a.re * im + a.im * re};
}

static EG__INLINE FN(pair) FN(times)(FN(pair) a, V re, V im)
{
    return (FN(pair)){a.re * re - a.im * im, a.re * im + a.im * re};
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

/* Four fours, turned by e^(-2 pi i j k / 16), and four more. */
static EG__INLINE void FN(dft16)(FN(pair) * a)
{
    const T c = (T)0.70710678118654752440, c1 = (T)0.92387953251128675613, s1 = (T)0.38268343236508977173;
    FN(pair) b[4][4];
    EG__UNROLLED
    for (int j = 0; j < 4; j++) {
        EG__UNROLLED
        for (int i = 0; i < 4; i++) {
            b[j][i] = a[4 * i + j];
        }
        FN(dft4)(b[j]);
    }
    b[1][1] = FN(turned)(b[1][1], c1, -s1);
    b[1][2] = (FN(pair)){(b[1][2].re + b[1][2].im) * c, (b[1][2].im - b[1][2].re) * c};
    b[1][3] = FN(turned)(b[1][3], s1, -c1);
    b[2][1] = (FN(pair)){(b[2][1].re + b[2][1].im) * c, (b[2][1].im - b[2][1].re) * c};
    b[2][2] = FN(quarter)(b[2][2]);
    b[2][3] = (FN(pair)){(b[2][3].im - b[2][3].re) * c, (b[2][3].re + b[2][3].im) * -c};
    b[3][1] = FN(turned)(b[3][1], s1, -c1);
    b[3][2] = (FN(pair)){(b[3][2].im - b[3][2].re) * c, (b[3][2].re + b[3][2].im) * -c};
    b[3][3] = FN(turned)(b[3][3], -c1, s1);
    EG__UNROLLED
    for (int k = 0; k < 4; k++) {
        FN(pair) d[4] = {b[0][k], b[1][k], b[2][k], b[3][k]};
        FN(dft4)(d);
        EG__UNROLLED
        for (int i = 0; i < 4; i++) {
            a[k + 4 * i] = d[i];
        }
    }
}

/* Where a pass that begins or ends a transform takes or leaves elements that are no rows of a block, `step` scalars
 * from one to the next. */
typedef struct FN(end) {
    T *at;
    int64_t step, apart;
    int turn;
    T scale;
    const T *by;
} FN(end);

/* How a pass leaves elements: as rows, times its factors; as rows, being the last, which has none; as all lanes' pairs
 * side by side, times `scale`; as all lanes' real parts and, `apart` from them, their imaginary ones, times `scale` or
 * what lies so at `by`. */
typedef enum FN(form) { FN(ROWS), FN(BARE), FN(PAIRS), FN(APART), FN(FACTORS), FN(FORMS) } FN(form);

static EG__INLINE FN(pair) FN(take)(const V *x, const FN(end) * from, int64_t i, bool rows, bool turn)
{
    if (rows) {
        return (FN(pair)){x[2 * i], x[2 * i + 1]};
    }
    const V *v = (const V *)(from->at + i * from->step);
    const V re = SHUFFLE(v[0], v[1], EVEN), im = SHUFFLE(v[0], v[1], ODD);
    return turn ? (FN(pair)){im, re} : (FN(pair)){re, im};
}

static EG__INLINE void FN(give)(FN(pair) a, V *y, const FN(end) * to, int64_t i, FN(form) form, bool turn)
{
    if (form < FN(PAIRS)) {
        y[2 * i] = a.re;
        y[2 * i + 1] = a.im;
        return;
    }
    const int64_t at = i * to->step;
    if (form == FN(FACTORS)) {
        a = FN(times)(a, *(const V *)(to->by + at), *(const V *)(to->by + at + to->apart));
    } else {
        a = (FN(pair)){a.re * to->scale, a.im * to->scale};
        a = turn ? (FN(pair)){a.im, a.re} : a;
    }
    const bool pairs = form == FN(PAIRS);
    *(V *)(to->at + at) = pairs ? SHUFFLE(a.re, a.im, LOW) : a.re;
    *(V *)(to->at + at + (pairs ? LANES : to->apart)) = pairs ? SHUFFLE(a.re, a.im, HIGH) : a.im;
}

/* One pass: m groups of s neighbouring elements each, radix r; y is in the order the next pass
 * wants (Stockham 1966). w: r - 1 factors for each group. */
typedef void FN(pass)(const V *restrict x, V *restrict y, int64_t m, int64_t s, const T *w, const FN(end) * from,
                      const FN(end) * to);

#define PASS(name, r, rows, form)                                                                                 \
    static EG__INLINE void FN(name##r##_of)(const V *restrict x, V *restrict y, int64_t m, int64_t s, const T *w, \
                                            const FN(end) * from, const FN(end) * to, bool turn)                  \
    {                                                                                                             \
        for (int64_t p = 0; p < m; p++, w += 2 * (r - 1)) {                                                       \
            for (int64_t q = 0; q < s; q++) {                                                                     \
                FN(pair) a[r];                                                                                    \
                EG__UNROLLED                                                                                      \
                for (int i = 0; i < r; i++) {                                                                     \
                    a[i] = FN(take)(x, from, q + s * (p + i * m), rows, turn);                                    \
                }                                                                                                 \
                FN(dft##r)(a);                                                                                    \
                EG__UNROLLED                                                                                      \
                for (int k = 0; k < r; k++) {                                                                     \
                    FN(pair) b = k && form == FN(ROWS) ? FN(turned)(a[k], w[2 * k - 2], w[2 * k - 1]) : a[k];     \
                    FN(give)(b, y, to, q + s * (r * p + k), form, turn);                                          \
                }                                                                                                 \
            }                                                                                                     \
        }                                                                                                         \
    }                                                                                                             \
    static void FN(name##r)(const V *restrict x, V *restrict y, int64_t m, int64_t s, const T *w,                 \
                            const FN(end) * from, const FN(end) * to)                                             \
    {                                                                                                             \
        const int64_t groups = form == FN(ROWS) ? m : 1, beside = rows ? s : 1;                                   \
        if ((!rows && from->turn) || ((form == FN(PAIRS) || form == FN(APART)) && to->turn)) {                    \
            FN(name##r##_of)(x, y, groups, beside, w, from, to, true);                                            \
        } else {                                                                                                  \
            FN(name##r##_of)(x, y, groups, beside, w, from, to, false);                                           \
        }                                                                                                         \
    }
#define PASSES(r)                            \
    PASS(pass, r, true, FN(ROWS))            \
    PASS(bare, r, true, FN(BARE))            \
    PASS(first, r, false, FN(ROWS))          \
    PASS(last, r, true, FN(PAIRS))           \
    PASS(only_bare, r, false, FN(BARE))      \
    PASS(only, r, false, FN(PAIRS))          \
    PASS(last_apart, r, true, FN(APART))     \
    PASS(last_factors, r, true, FN(FACTORS)) \
    PASS(only_factors, r, false, FN(FACTORS))
PASSES(2)
PASSES(3)
PASSES(4)
PASSES(5)
PASSES(8)
PASSES(16)
#undef PASS
#undef PASSES

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

/* NULL: none of its own. */
static FN(pass) * FN(pass_of)(int radix, bool rows, FN(form) form)
{
#define PASSES(r)                                                                       \
    [r] = {                                                                             \
        {FN(first##r), FN(only_bare##r), FN(only##r), NULL, FN(only_factors##r)},       \
        {FN(pass##r), FN(bare##r), FN(last##r), FN(last_apart##r), FN(last_factors##r)} \
    }
    static FN(pass) *const passes[17][2][FN(FORMS)] = {PASSES(2), PASSES(3), PASSES(4),
                                                       PASSES(5), PASSES(8), PASSES(16)};
#undef PASSES
    return radix <= 16 ? passes[radix][rows][form] : NULL;
}

/* All passes over the block x, with y to go to and fro, or from what is not there to what shall not be: NULL or one
 * that the first pass can take; and a form that the last one can leave. Where the result is, if there. */
static V *FN(passes)(const eg__fft_plan *p, V *x, V *y, const FN(end) * from, const FN(end) * to, FN(form) form)
{
    int64_t m = p->n, s = 1;
    for (int i = 0; i < p->passes; i++) {
        const int r = p->radix[i];
        const T *w = (const T *)p->table + 2 * p->table_at[i];
        FN(pass) *pass = FN(pass_of)(r, i || !from, i < p->passes - 1 ? FN(ROWS) : form);
        m /= r;
        if (pass) {
            pass(x, y, m, s, w, from, to);
        } else {
            FN(pass_odd)(x, y, m, s, w, r);
        }
        V *t = x;
        x = y;
        y = t;
        s *= r;
    }
    return x;
}

/* Whether pass i can take or leave what is no rows. */
static inline bool FN(joins)(const eg__fft_plan *p, int i)
{
    return p->passes && FN(pass_of)(p->radix[i], false, FN(ROWS));
}
