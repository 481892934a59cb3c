/* layer_norm_loops.h - rows of layer norm for an element type T; layer_norm.c includes it per type.
 * A row stays in the first cache, so it is simply read several times. Sums run in vectors of the
 * instruction set's width, four at a time; written as loops over an array they would go through
 * memory. */

typedef T FN(vec) __attribute__((vector_size(VECTOR)));
enum { FN(wide) = VECTOR / sizeof(T) };

static inline FN(vec) FN(load)(const T *p)
{
    FN(vec) v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline T FN(total)(FN(vec) a, FN(vec) b, FN(vec) c, FN(vec) d)
{
    T lane[FN(wide)];
    a = (a + b) + (c + d);
    memcpy(lane, &a, sizeof a);
    for (int half = FN(wide) / 2; half; half /= 2) {
        for (int k = 0; k < half; k++) {
            lane[k] += lane[k + half];
        }
    }
    return lane[0];
}

/* Adds TERM(i), a vector, for all i below n, and its rest by TAIL(i), a number. */
#define SUM(n, result, TERM, TAIL)                         \
    do {                                                   \
        FN(vec) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};    \
        T rest = 0;                                        \
        int64_t i = 0;                                     \
        for (; i + 4 * FN(wide) <= n; i += 4 * FN(wide)) { \
            s0 += TERM(i);                                 \
            s1 += TERM(i + FN(wide));                      \
            s2 += TERM(i + 2 * FN(wide));                  \
            s3 += TERM(i + 3 * FN(wide));                  \
        }                                                  \
        for (; i + FN(wide) <= n; i += FN(wide)) {         \
            s0 += TERM(i);                                 \
        }                                                  \
        for (; i < n; i++) {                               \
            rest += TAIL(i);                               \
        }                                                  \
        result = rest + FN(total)(s0, s1, s2, s3);         \
    } while (0)

/* Mean of x: relative to its first element, so that no digits are lost to a large mean. */
static inline T FN(row_mean)(int64_t n, const T *x)
{
    const T pivot = x[0];
    T s;
#define TERM(i) (FN(load)(x + (i)) - pivot)
#define TAIL(i) (x[i] - pivot)
    SUM(n, s, TERM, TAIL);
#undef TERM
#undef TAIL
    return pivot + s / (T)n;
}

/* Mean of (x - mean)^2. */
static inline T FN(row_variance)(int64_t n, const T *x, T mean)
{
    T s;
#define TERM(i) ((FN(load)(x + (i)) - mean) * (FN(load)(x + (i)) - mean))
#define TAIL(i) ((x[i] - mean) * (x[i] - mean))
    SUM(n, s, TERM, TAIL);
#undef TERM
#undef TAIL
    return s / (T)n;
}

static void FN(row)(int64_t n, const T *restrict x, const T *restrict w, const T *restrict b, bool root, T eps,
                    T *restrict y, T *mean, T *var)
{
    T m = root ? 0 : FN(row_mean)(n, x), v = FN(row_variance)(n, x, m);
    T rstd = 1 / FN(root)(v + eps);
    *mean = m;
    *var = v;
    if (w && b) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = (x[i] - m) * rstd * w[i] + b[i];
        }
    } else if (w) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = (x[i] - m) * rstd * w[i];
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            y[i] = (x[i] - m) * rstd + (b ? b[i] : 0);
        }
    }
}

/* Means of h = dy w and of h hat, hat = (x - mean) rstd; w may be NULL. */
static inline void FN(row_slopes)(int64_t n, const T *dy, const T *x, const T *w, bool root, T mean, T rstd, T *sum,
                                  T *product)
{
    T s = 0, p;
    if (w) {
#define TERM(i) (FN(load)(dy + (i)) * FN(load)(w + (i)))
#define TAIL(i) (dy[i] * w[i])
        SUM(n, s, TERM, TAIL);
#undef TERM
#undef TAIL
#define TERM(i) (FN(load)(dy + (i)) * FN(load)(w + (i)) * (FN(load)(x + (i)) - mean))
#define TAIL(i) (dy[i] * w[i] * (x[i] - mean))
        SUM(n, p, TERM, TAIL);
#undef TERM
#undef TAIL
    } else {
#define TERM(i) FN(load)(dy + (i))
#define TAIL(i) dy[i]
        SUM(n, s, TERM, TAIL);
#undef TERM
#undef TAIL
#define TERM(i) (FN(load)(dy + (i)) * (FN(load)(x + (i)) - mean))
#define TAIL(i) (dy[i] * (x[i] - mean))
        SUM(n, p, TERM, TAIL);
#undef TERM
#undef TAIL
    }
    *sum = root ? 0 : s / (T)n;
    *product = p * rstd / (T)n;
}

/* dx of two rows (dy, x and dx of the second lie n further on); their share of dweight and dbias is
 * added to f1 and f2, which two rows at once read and write half as often. */
static inline void FN(two_rows)(int64_t n, const T *restrict dy, const T *restrict x, const T *restrict w, const T *m,
                                const T *rstd, const T *sum, const T *product, T *restrict dx, T *restrict f1,
                                T *restrict f2)
{
    const T *restrict dy1 = dy + n, *restrict x1 = x + n;
    T *restrict dx1 = dx + n;
    const T m0 = m[0], m1 = m[1], r0 = rstd[0], r1 = rstd[1], s0 = sum[0], s1 = sum[1];
    const T p0 = product[0], p1 = product[1];
    for (int64_t i = 0; i < n; i++) {
        T hat0 = (x[i] - m0) * r0, hat1 = (x1[i] - m1) * r1, g0 = dy[i], g1 = dy1[i];
        T weight = w ? w[i] : 1;
        /* Read before dx is written: rows of whole pages would have loads wait for stores. */
        T to1 = f1[i] + (g0 * hat0 + g1 * hat1), to2 = f2[i] + (g0 + g1);
        dx[i] = r0 * (g0 * weight - s0 - hat0 * p0);
        dx1[i] = r1 * (g1 * weight - s1 - hat1 * p1);
        f1[i] = to1;
        f2[i] = to2;
    }
}

static inline void FN(one_row)(int64_t n, const T *restrict dy, const T *restrict x, const T *restrict w, T m, T rstd,
                               T sum, T product, T *restrict dx, T *restrict f1, T *restrict f2)
{
    for (int64_t i = 0; i < n; i++) {
        T hat = (x[i] - m) * rstd, g = dy[i], weight = w ? w[i] : 1;
        T to1 = f1[i] + g * hat, to2 = f2[i] + g;
        dx[i] = rstd * (g * weight - sum - hat * product);
        f1[i] = to1;
        f2[i] = to2;
    }
}

static void FN(rows)(const job *j, int64_t begin, int64_t end)
{
    const T *w = j->w, *b = j->b;
    const int64_t n = j->width, bytes = n * (int64_t)sizeof(T);
    T buffer[BUFFERED];
    for (int64_t r = begin; r < end; r++) {
        const T *x = (const T *)j->x + r * n;
        T *y = (T *)j->y + r * n;
        FN(row)
        (n, x, w, b, j->root, (T)j->eps, j->stream ? buffer : y, (T *)j->mean + r, (T *)j->var + r);
        if (j->stream) {
            eg__look_ahead(x + n, bytes);
            eg__stream(y, buffer, bytes);
        }
    }
    eg__stream_end();
}

/* The gradients of a few rows. */
static void FN(some_rows)(const job *j, int64_t begin, int64_t end, T *f1, T *f2)
{
    const int64_t n = j->width;
    for (int64_t r = begin; r < end; r += 2) {
        const T *dy = (const T *)j->dy + r * n, *x = (const T *)j->x + r * n, *w = j->w;
        const T *mean = (const T *)j->mean + r, *var = (const T *)j->var + r;
        T rstd[2], sum[2], product[2], *dx = (T *)j->y + r * n;
        int two = r + 1 < end;
        for (int k = 0; k <= two; k++) {
            rstd[k] = 1 / FN(root)(var[k] + (T)j->eps);
            FN(row_slopes)
            (n, dy + k * n, x + k * n, w, j->root, mean[k], rstd[k], &sum[k], &product[k]);
        }
        if (two) {
            FN(two_rows)(n, dy, x, w, mean, rstd, sum, product, dx, f1, f2);
        } else {
            FN(one_row)(n, dy, x, w, mean[0], rstd[0], sum[0], product[0], dx, f1, f2);
        }
    }
}

/* Blocks of rows, each with sums of its own, so that results do not depend on the number of
 * threads. */
static void FN(blocks)(const job *j, int64_t begin, int64_t end)
{
    const int64_t n = j->width;
    for (int64_t k = begin; k < end; k++) {
        double *dw = j->sums + 2 * n * k, *db = dw + n;
        T *f1 = (T *)(j->few + 2 * n * (int64_t)sizeof(T) * k), *f2 = f1 + n;
        memset(dw, 0, (size_t)(2 * n) * sizeof *dw);
        memset(f1, 0, (size_t)(2 * n) * sizeof *f1);
        int64_t last = eg__min((k + 1) * j->block, j->rows);
        for (int64_t r = k * j->block; r < last; r += FLUSH) {
            FN(some_rows)(j, r, eg__min(r + FLUSH, last), f1, f2);
            for (int64_t i = 0; i < n; i++) {
                dw[i] += (double)f1[i];
                db[i] += (double)f2[i];
                f1[i] = f2[i] = 0;
            }
        }
    }
}
