/* norm_loops.h - the loops of normalisation for one element type T; norm.c includes it per type,
 * with FN to name them. A unit is rows of `channels` neighbours (one, for a plane): it is walked in
 * strips of about STRIP elements, the coefficients of few channels repeated to fill a strip, so
 * that few channels are as fast as many. More channels than LANES are walked in columns. */

/* Per-lane coefficients of a strip. */
typedef struct FN(lanes) {
    T mean[LANES], a[LANES], b[LANES], p[LANES], q[LANES], r[LANES];
} FN(lanes);

typedef struct FN(strips) {
    int64_t rows, stride; /* strips, and from one to the next */
    int width, rest;      /* lanes of a strip; of a last, shorter one */
} FN(strips);

/* The columns from channel `from` on. */
static FN(strips) FN(strips_of)(const eg__unit *u, int64_t from)
{
    if (u->channels > LANES) {
        return (FN(strips)){u->rows, u->channels, (int)eg__min(LANES, u->channels - from), 0};
    }
    int64_t repeat = eg__max(1, STRIP / u->channels), rows = u->rows / repeat;
    int width = (int)(repeat * u->channels);
    return (FN(strips)){rows, width, width, (int)(u->rows % repeat * u->channels)};
}

/* One coefficient of each channel from `from` on, repeated over a strip. */
static void FN(spread)(const eg__unit *u, int64_t from, const FN(strips) * s, const T *of, T *lane)
{
    int width = s->rows ? s->width : s->rest;
    if (u->channels == 1) {
        for (int i = 0; i < width; i++) {
            lane[i] = of[0];
        }
        return;
    }
    int period = (int)eg__min(u->channels, LANES);
    period = period < width ? period : width;
    memcpy(lane, of + from, (size_t)period * sizeof(T));
    for (int i = period; i < width; i++) {
        lane[i] = lane[i - period];
    }
}

/* Adds the lanes' sums to the channels'. */
static void FN(fold)(const eg__unit *u, int64_t from, int width, const double *lane, double *sum)
{
    int period = (int)eg__min(u->channels, LANES);
    if (period == 1) { /* planes are many and may be small: no chain of additions */
        double part[8] = {0};
        int i = 0;
        for (; i + 8 <= width; i += 8) {
            for (int k = 0; k < 8; k++) {
                part[k] += lane[i + k];
            }
        }
        for (int k = 0; i + k < width; k++) {
            part[k] += lane[i + k];
        }
        *sum += ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
        return;
    }
    for (int i = 0; i < width; i += period) {
        int n = period < width - i ? period : width - i;
        for (int k = 0; k < n; k++) {
            sum[from + k] += lane[i + k];
        }
    }
}

static void FN(clear)(int width, T *f1, T *f2, double *d1, double *d2)
{
    memset(f1, 0, (size_t)width * sizeof *f1);
    memset(f2, 0, (size_t)width * sizeof *f2);
    memset(d1, 0, (size_t)width * sizeof *d1);
    memset(d2, 0, (size_t)width * sizeof *d2);
}

/* f1 and f2 hold sums of few rows in T; they move on to doubles. */
static void FN(flush)(int width, T *restrict f1, T *restrict f2, double *restrict d1, double *restrict d2)
{
    for (int i = 0; i < width; i++) {
        d1[i] += (double)f1[i];
        d2[i] += (double)f2[i];
        f1[i] = f2[i] = 0;
    }
}

/* ---- moments ------------------------------------------------------------------------------- */

/* Sums of x - pivot and its square over strips. */
static void FN(add_moments)(int64_t rows, int64_t stride, int width, const T *restrict x, const T *restrict pivot,
                            T *restrict f1, T *restrict f2)
{
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4, x += 4 * stride) {
        const T *restrict x1 = x + stride, *restrict x2 = x1 + stride, *restrict x3 = x2 + stride;
        for (int i = 0; i < width; i++) {
            T k = pivot[i], e0 = x[i] - k, e1 = x1[i] - k, e2 = x2[i] - k, e3 = x3[i] - k;
            f1[i] += (e0 + e1) + (e2 + e3);
            f2[i] += (e0 * e0 + e1 * e1) + (e2 * e2 + e3 * e3);
        }
    }
    for (; r < rows; r++, x += stride) {
        for (int i = 0; i < width; i++) {
            T e = x[i] - pivot[i];
            f1[i] += e;
            f2[i] += e * e;
        }
    }
}

/* Mean and sum of squared deviations of each channel of a unit. The pivot is the first row, so that
 * no digits are lost to a large mean. */
static void FN(moments)(const eg__unit *u, const T *x, double *mean, double *deviation)
{
    T pivot[LANES], f1[LANES], f2[LANES];
    double d1[LANES], d2[LANES];
    for (int64_t from = 0; from < u->channels; from += LANES) {
        FN(strips) s = FN(strips_of)(u, from);
        const T *p = x + from;
        int lanes = s.rows ? s.width : s.rest;
        FN(clear)(lanes, f1, f2, d1, d2);
        FN(spread)(u, 0, &s, p, pivot);
        for (int64_t r = 0; r < s.rows; r += FLUSH, p += FLUSH * s.stride) {
            FN(add_moments)(eg__min(FLUSH, s.rows - r), s.stride, s.width, p, pivot, f1, f2);
            FN(flush)(lanes, f1, f2, d1, d2);
        }
        FN(add_moments)(s.rest > 0, 0, s.rest, x + from + s.rows * s.stride, pivot, f1, f2);
        FN(flush)(lanes, f1, f2, d1, d2);
        int64_t n = eg__min(LANES, u->channels - from);
        memset(mean + from, 0, (size_t)n * sizeof *mean);
        memset(deviation + from, 0, (size_t)n * sizeof *deviation);
        FN(fold)(u, from, lanes, d1, mean);
        FN(fold)(u, from, lanes, d2, deviation);
        for (int64_t k = from; k < from + n; k++) {
            deviation[k] -= mean[k] * mean[k] / (double)u->rows;
            deviation[k] = deviation[k] < 0 ? 0 : deviation[k];
            mean[k] = (double)x[k] + mean[k] / (double)u->rows;
        }
    }
}

/* ---- y = (x - mean) a + b ------------------------------------------------------------------- */

static inline void FN(apply_strips)(int64_t rows, int64_t stride, int width, const T *x, const FN(lanes) * c, bool relu,
                                    T *y)
{
    for (int64_t r = 0; r < rows; r++, x += stride, y += stride) {
        const T *restrict xs = x;
        T *restrict ys = y;
        for (int i = 0; i < width; i++) {
            T v = (xs[i] - c->mean[i]) * c->a[i] + c->b[i];
            ys[i] = relu && v < 0 ? 0 : v;
        }
    }
}

static void FN(apply)(const eg__unit *u, const T *x, const T *mean, const T *a, const T *b, bool relu, T *y)
{
    FN(lanes) c;
    for (int64_t from = 0; from < u->channels; from += LANES) {
        FN(strips) s = FN(strips_of)(u, from);
        int64_t rest = from + s.rows * s.stride;
        FN(spread)(u, from, &s, mean, c.mean);
        FN(spread)(u, from, &s, a, c.a);
        FN(spread)(u, from, &s, b, c.b);
        if (relu) {
            FN(apply_strips)(s.rows, s.stride, s.width, x + from, &c, true, y + from);
            FN(apply_strips)(s.rest > 0, 0, s.rest, x + rest, &c, true, y + rest);
        } else {
            FN(apply_strips)(s.rows, s.stride, s.width, x + from, &c, false, y + from);
            FN(apply_strips)(s.rest > 0, 0, s.rest, x + rest, &c, false, y + rest);
        }
    }
}

/* ---- gradients ------------------------------------------------------------------------------ */

/* What dy lets through. */
static inline T FN(through)(T dy, T centred, T a, T b, bool relu)
{
    return relu && !(centred * a + b > 0) ? 0 : dy;
}

/* Sums of dy and of dy (x - mean). */
static inline void FN(add_slopes)(int64_t rows, int64_t stride, int width, const T *dy, const T *x, const FN(lanes) * c,
                                  bool relu, T *restrict f1, T *restrict f2)
{
    int64_t r = 0;
    for (; r + 2 <= rows; r += 2, x += 2 * stride, dy += 2 * stride) {
        const T *restrict x0 = x, *restrict x1 = x + stride, *restrict g0 = dy, *restrict g1 = dy + stride;
        for (int i = 0; i < width; i++) {
            T e0 = x0[i] - c->mean[i], e1 = x1[i] - c->mean[i];
            T h0 = FN(through)(g0[i], e0, c->a[i], c->b[i], relu);
            T h1 = FN(through)(g1[i], e1, c->a[i], c->b[i], relu);
            f1[i] += h0 + h1;
            f2[i] += h0 * e0 + h1 * e1;
        }
    }
    for (; r < rows; r++, x += stride, dy += stride) {
        for (int i = 0; i < width; i++) {
            T e = x[i] - c->mean[i], h = FN(through)(dy[i], e, c->a[i], c->b[i], relu);
            f1[i] += h;
            f2[i] += h * e;
        }
    }
}

static inline void FN(slopes_of)(const eg__unit *u, const T *dy, const T *x, const T *mean, const T *a, const T *b,
                                 bool relu, double *sum, double *product)
{
    FN(lanes) c;
    T f1[LANES], f2[LANES];
    double d1[LANES], d2[LANES];
    for (int64_t from = 0; from < u->channels; from += LANES) {
        FN(strips) s = FN(strips_of)(u, from);
        int64_t at = from, rest = from + s.rows * s.stride;
        int lanes = s.rows ? s.width : s.rest;
        FN(clear)(lanes, f1, f2, d1, d2);
        FN(spread)(u, from, &s, mean, c.mean);
        if (relu) {
            FN(spread)(u, from, &s, a, c.a);
            FN(spread)(u, from, &s, b, c.b);
        }
        for (int64_t r = 0; r < s.rows; r += FLUSH, at += FLUSH * s.stride) {
            FN(add_slopes)
            (eg__min(FLUSH, s.rows - r), s.stride, s.width, dy + at, x + at, &c, relu, f1, f2);
            FN(flush)(lanes, f1, f2, d1, d2);
        }
        FN(add_slopes)(s.rest > 0, 0, s.rest, dy + rest, x + rest, &c, relu, f1, f2);
        FN(flush)(lanes, f1, f2, d1, d2);
        int64_t n = eg__min(LANES, u->channels - from);
        memset(sum + from, 0, (size_t)n * sizeof *sum);
        memset(product + from, 0, (size_t)n * sizeof *product);
        FN(fold)(u, from, lanes, d1, sum);
        FN(fold)(u, from, lanes, d2, product);
    }
}

static void FN(slopes)(const eg__unit *u, const T *dy, const T *x, const T *mean, const T *a, const T *b, bool relu,
                       double *sum, double *product)
{
    if (relu) {
        FN(slopes_of)(u, dy, x, mean, a, b, true, sum, product);
    } else {
        FN(slopes_of)(u, dy, x, mean, a, b, false, sum, product);
    }
}

/* dx = a dy + p (x - mean) + q */
static inline void FN(descend_strips)(int64_t rows, int64_t stride, int width, const T *dy, const T *x,
                                      const FN(lanes) * c, bool relu, T *dx)
{
    for (int64_t r = 0; r < rows; r++, dy += stride, x += stride, dx += stride) {
        const T *restrict xs = x, *restrict gs = dy;
        T *restrict ds = dx;
        for (int i = 0; i < width; i++) {
            T e = xs[i] - c->mean[i], h = FN(through)(gs[i], e, c->a[i], c->b[i], relu);
            ds[i] = c->a[i] * h + (c->p[i] * e + c->q[i]);
        }
    }
}

static void FN(descend)(const eg__unit *u, const T *dy, const T *x, const T *mean, const T *a, const T *b, const T *p,
                        const T *q, bool relu, T *dx)
{
    FN(lanes) c;
    for (int64_t from = 0; from < u->channels; from += LANES) {
        FN(strips) s = FN(strips_of)(u, from);
        int64_t rest = from + s.rows * s.stride;
        FN(spread)(u, from, &s, mean, c.mean);
        FN(spread)(u, from, &s, a, c.a);
        FN(spread)(u, from, &s, p, c.p);
        FN(spread)(u, from, &s, q, c.q);
        if (relu) {
            FN(spread)(u, from, &s, b, c.b);
            FN(descend_strips)(s.rows, s.stride, s.width, dy + from, x + from, &c, true, dx + from);
            FN(descend_strips)(s.rest > 0, 0, s.rest, dy + rest, x + rest, &c, true, dx + rest);
        } else {
            FN(descend_strips)
            (s.rows, s.stride, s.width, dy + from, x + from, &c, false, dx + from);
            FN(descend_strips)(s.rest > 0, 0, s.rest, dy + rest, x + rest, &c, false, dx + rest);
        }
    }
}
