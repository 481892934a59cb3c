/* fold_loops.h - the loops of folds, from elements T added up as A; fold.c includes it per pair of
 * them, with FN to name the functions, LOAD(v), what an element is, WORD, the word's field for the
 * result, and JOINED_WORDS, which joins those. Which map and which way to join are constants of each
 * fold, so that each has loops of its own. */

/* What of an element is joined; p: of a norm. */
static EG__INLINE A FN(mapped)(map m, T element, double p)
{
    switch (m) {
    case TRUTH:
        return (A)(LOAD(element) != 0);
    case MAGNITUDE: /* compared as a double, for integers without a sign */
        return (A)((double)LOAD(element) < 0 ? -LOAD(element) : LOAD(element));
    case SQUARE:
        return (A)((double)LOAD(element) * (double)LOAD(element));
    case POWER:
        return (A)pow(fabs((double)LOAD(element)), p);
    default:
        return (A)LOAD(element);
    }
}

static EG__INLINE A FN(joined)(join j, A a, A b)
{
    A m;
    switch (j) {
    case TIMES:
        return (A)(a * b);
    case HIGHER: /* a NaN wins; in this order, as extremes.h says */
        m = b > a ? b : a;
        return NAN_IN(b) ? b : m;
    case LOWER:
        m = b < a ? b : a;
        return NAN_IN(b) ? b : m;
    default:
        return (A)(a + b);
    }
}

/* `lanes` is a constant: as long as so many remain, stretches of at most 64 elements in each.
 * Returns how many elements it took. */
static EG__INLINE int64_t FN(in_lanes)(int lanes, map m, join j, const T *e, int64_t n, double p, eg__word *w)
{
    const int64_t all = n;
    while (n >= lanes) {
        _Alignas(64) A acc[256 / sizeof(A)];
        int64_t k = eg__min(n / lanes, 64);
        for (int l = 0; l < lanes; l++) {
            acc[l] = FN(mapped)(m, e[l], p);
        }
        for (int64_t i = 1; i < k; i++) {
            const T *restrict v = e + i * lanes;
            for (int l = 0; l < lanes; l++) {
                acc[l] = FN(joined)(j, acc[l], FN(mapped)(m, v[l], p));
            }
        }
        for (int h = lanes / 2; h > 0; h /= 2) {
            for (int l = 0; l < h; l++) {
                acc[l] = FN(joined)(j, acc[l], acc[l + h]);
            }
        }
        w->WORD = JOINED_WORDS(j, w->WORD, acc[0]);
        e += k * lanes;
        n -= k * lanes;
    }
    return all - n;
}

static EG__INLINE void FN(row)(map m, join j, A start, const eg__tile *t, eg__word *w)
{
    const char *x = t->x;
    const double p = t->p;
    const int64_t s = t->step;
    int64_t n = t->n;
    if (s == sizeof(T)) {
        int64_t taken = FN(in_lanes)((int)(256 / sizeof(A)), m, j, (const T *)x, n, p, w);
        taken += FN(in_lanes)(8, m, j, (const T *)x + taken, n - taken, p, w);
        x += taken * s;
        n -= taken;
    }
    while (n > 0) {
        A acc = start;
        int64_t k = eg__min(n, 64);
        for (int64_t i = 0; i < k; i++, x += s) {
            acc = FN(joined)(j, acc, FN(mapped)(m, *(const T *)x, p));
        }
        w->WORD = JOINED_WORDS(j, w->WORD, acc);
        n -= k;
    }
}

static EG__INLINE void FN(columns)(map m, join j, const eg__tile *t, eg__word *w)
{
    _Alignas(64) A acc[COLS];
    const double p = t->p;
    const int64_t cols = t->cols, step = t->step, across = t->across;
    for (int64_t r = 0; r < t->n; r += 128) {
        const char *x = t->x + r * step;
        int64_t k = eg__min(t->n - r, 128), i = 1;
        for (int64_t c = 0; c < cols; c++) {
            acc[c] = FN(mapped)(m, *(const T *)(x + c * across), p);
        }
        for (; across == sizeof(T) && i + 4 <= k; i += 4) {
            const T *e0 = (const T *)(x + i * step), *e1 = (const T *)(x + (i + 1) * step),
                    *e2 = (const T *)(x + (i + 2) * step), *e3 = (const T *)(x + (i + 3) * step);
            for (int64_t c = 0; c < cols; c++) {
                A four = FN(mapped)(m, e0[c], p);
                const A so_far = acc[c];
                four = FN(joined)(j, four, FN(mapped)(m, e1[c], p));
                four = FN(joined)(j, four, FN(mapped)(m, e2[c], p));
                four = FN(joined)(j, four, FN(mapped)(m, e3[c], p));
                acc[c] = FN(joined)(j, four, so_far);
            }
        }
        for (; i < k; i++) {
            for (int64_t c = 0; c < cols; c++) {
                const A v = FN(mapped)(m, *(const T *)(x + i * step + c * across), p);
                acc[c] = FN(joined)(j, acc[c], v);
            }
        }
        for (int64_t c = 0; c < cols; c++) {
            w[c].WORD = JOINED_WORDS(j, w[c].WORD, acc[c]);
        }
    }
}
