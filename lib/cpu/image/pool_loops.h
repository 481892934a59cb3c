/* pool_loops.h - the loops of pooling for one element type T; pool.c includes it per type, with FN
 * to name them. Lanes are what neighbouring results have in common: the channels of a pixel, for
 * images that lie channels-last, or the windows along a row of a plane. */

/* ---- a few taps at once ---------------------------------------------------------------------- */

/* The larger of best and x[at[..]] by lanes, these being tap `tap` and on; the first of equals, and
 * of NaNs. In comparisons that gcc turns into masks. */
static EG__INLINE void FN(larger_of)(int64_t n, int taps, const T *x, const int64_t *at, int32_t tap, T *restrict best,
                                     int32_t *restrict where)
{
    const T *from[FUSED];
    for (int c = 0; c < taps; c++) {
        from[c] = x + at[c];
    }
    for (int64_t i = 0; i < n; i++) {
        T b = best[i];
        int32_t w = where[i];
        for (int c = 0; c < taps; c++) {
            T v = from[c][i], next = v <= b ? b : v;
            int32_t place = v <= b ? w : tap + c;
            w = b == b ? place : w;
            b = b == b ? next : b;
        }
        best[i] = b;
        where[i] = w;
    }
}

static void FN(larger)(int64_t n, int64_t taps, const T *x, int32_t tap, const int64_t *at, T *best, int32_t *where)
{
    for (; taps >= 3; taps -= 3, at += 3, tap += 3) {
        FN(larger_of)(n, 3, x, at, tap, best, where);
    }
    if (taps == 2) {
        FN(larger_of)(n, 2, x, at, tap, best, where);
    } else if (taps == 1) {
        FN(larger_of)(n, 1, x, at, tap, best, where);
    }
}

static EG__INLINE void FN(add_of)(int64_t n, int taps, const T *x, const int64_t *at, T *restrict sum)
{
    const T *from[FUSED];
    for (int c = 0; c < taps; c++) {
        from[c] = x + at[c];
    }
    for (int64_t i = 0; i < n; i++) {
        T s = sum[i];
        for (int c = 0; c < taps; c++) {
            s += from[c][i];
        }
        sum[i] = s;
    }
}

/* sum += x[at[..]] by lanes */
static void FN(add)(int64_t n, int64_t taps, const T *x, const int64_t *at, T *sum)
{
    for (; taps >= 3; taps -= 3, at += 3) {
        FN(add_of)(n, 3, x, at, sum);
    }
    if (taps == 2) {
        FN(add_of)(n, 2, x, at, sum);
    } else if (taps == 1) {
        FN(add_of)(n, 1, x, at, sum);
    }
}

static inline void FN(fill)(int64_t n, T value, T *to)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] = value;
    }
}

/* ---- channels-last: a row of windows --------------------------------------------------------- */

/* Lanes from..from+n-1 of one pixel. */
static void FN(max_pixel)(const job *j, const eg__window *w, const T *x, int64_t n, T *best, int32_t *where)
{
    const eg__pool_opts *o = &j->o;
    int32_t tap = tap_number(o, w[0].first, w[1].first, w[2].first);
    FN(fill)(n, -(T)INFINITY, best);
    for (int64_t i = 0; i < n; i++) {
        where[i] = tap;
    }
    for (int64_t a = w[0].first; a < w[0].end; a++) {
        for (int64_t b = w[1].first; b < w[1].end; b++) {
            for (int64_t c = w[2].first; c < w[2].end; c += FLUSH) {
                const T *cell = x + cell_of(j, w, a, b, c) * j->channels;
                FN(larger)
                (n, eg__min(FLUSH, w[2].end - c), cell, tap_number(o, a, b, c), j->at, best, where);
            }
        }
    }
}

/* y = share times the sum of x[at[..]], by lanes */
static EG__INLINE void FN(mean_of)(int64_t n, int taps, const T *x, const int64_t *at, T share, T *restrict y)
{
    const T *from[SMALL];
    for (int c = 0; c < taps; c++) {
        from[c] = x + at[c];
    }
    for (int64_t i = 0; i < n; i++) {
        T s = from[0][i];
        for (int c = 1; c < taps; c++) {
            s += from[c][i];
        }
        y[i] = s * share;
    }
}

/* Of the windows there are most of, those of 2 x 2 and 3 x 3 cells. */
static void FN(small_mean)(const job *j, const eg__window *w, const T *x, double share, int64_t n, T *y)
{
    const T *cell = x + cell_of(j, w, 0, 0, 0) * j->channels;
    if (j->small == 4) {
        FN(mean_of)(n, 4, cell, j->step, (T)share, y);
    } else {
        FN(mean_of)(n, 9, cell, j->step, (T)share, y);
    }
}

/* Whether all taps of a window are there, and few. */
static inline bool FN(is_small)(const job *j, const eg__window *w)
{
    return j->small == (w[0].end - w[0].first) * (w[1].end - w[1].first) * (w[2].end - w[2].first);
}

/* Sums move on to a wider sum every few taps, so that large windows lose no digits. */
static void FN(avg_pixel)(const job *j, const eg__window *w, const T *x, double share, int64_t n, T *restrict y)
{
    T part[LANES];
    double sum[LANES];
    int64_t held = 0;
    bool moved = false;
    FN(fill)(n, 0, part);
    for (int64_t a = w[0].first; a < w[0].end; a++) {
        for (int64_t b = w[1].first; b < w[1].end; b++) {
            for (int64_t c = w[2].first; c < w[2].end; c += FLUSH) {
                int64_t taps = eg__min(FLUSH, w[2].end - c);
                held += taps;
                if (held > FLUSH) {
                    for (int64_t i = 0; i < n; i++) {
                        sum[i] = (moved ? sum[i] : 0) + (double)part[i];
                        part[i] = 0;
                    }
                    held = taps;
                    moved = true;
                }
                FN(add)(n, taps, x + cell_of(j, w, a, b, c) * j->channels, j->at, part);
            }
        }
    }
    for (int64_t i = 0; moved && i < n; i++) {
        y[i] = (T)((sum[i] + (double)part[i]) * share);
    }
    for (int64_t i = 0; !moved && i < n; i++) {
        y[i] = part[i] * (T)share;
    }
}

/* Units: rows of windows. As many pixels at a time as have LANES channels. */
static void FN(last_rows)(const job *j, void *buffer, int64_t begin, int64_t end)
{
    const eg__pool_opts *o = &j->o;
    int64_t channels = j->channels, group = eg__max(1, LANES / channels);
    int32_t where[LANES];
    (void)buffer;
    for (int64_t r = begin; r < end; r++) {
        int64_t image = r / (o->out[0] * o->out[1]), p0 = r / o->out[1] % o->out[0];
        int64_t p1 = r % o->out[1];
        const T *x = (const T *)j->x + image * j->cells * channels;
        eg__window w[3] = {eg__window_of(o, 0, p0), eg__window_of(o, 1, p1), {0}};
        double rest = j->max ? 0 : rest_of(o, p0, p1);
        for (int64_t p2 = 0; p2 < o->out[2]; p2 += group) {
            int64_t pixels = eg__min(group, o->out[2] - p2);
            for (int64_t from = 0; from < channels; from += LANES) {
                int64_t n = eg__min(LANES, channels - from);
                int64_t at = (r * o->out[2] + p2) * channels + from;
                T *y = (T *)j->y + at;
                for (int64_t q = 0; q < pixels; q++) {
                    w[2] = j->across[p2 + q];
                    if (j->max) {
                        FN(max_pixel)(j, w, x + from, n, y + q * n, where + q * n);
                    } else if (FN(is_small)(j, w)) {
                        FN(small_mean)(j, w, x + from, rest * j->share[p2 + q], n, y + q * n);
                    } else {
                        FN(avg_pixel)(j, w, x + from, rest * j->share[p2 + q], n, y + q * n);
                    }
                }
                if (j->max) {
                    put_places(j, at, pixels * n, where);
                }
            }
        }
    }
}

/* ---- channels-last: gradients, a row of cells ------------------------------------------------ */

/* Windows that hold a cell. */
typedef struct FN(holders) {
    int n;
    const T *dy[FUSED];
    const int32_t *where[FUSED];
    int32_t tap[FUSED];
    T share[FUSED];
} FN(holders);

/* dx += dy of the holders whose maximum it was */
static EG__INLINE void FN(take_of)(int64_t n, int holders, const FN(holders) * h, T *restrict dx)
{
    const T *dy[FUSED];
    const int32_t *where[FUSED];
    int32_t tap[FUSED];
    for (int k = 0; k < holders; k++) {
        dy[k] = h->dy[k];
        where[k] = h->where[k];
        tap[k] = h->tap[k];
    }
    for (int64_t i = 0; i < n; i++) {
        T d = dx[i];
        for (int k = 0; k < holders; k++) {
            T v = dy[k][i];
            d += where[k][i] == tap[k] ? v : 0;
        }
        dx[i] = d;
    }
}

/* dx += dy of the holders times their shares */
static EG__INLINE void FN(share_of)(int64_t n, int holders, const FN(holders) * h, T *restrict dx)
{
    const T *dy[FUSED];
    T share[FUSED];
    for (int k = 0; k < holders; k++) {
        dy[k] = h->dy[k];
        share[k] = h->share[k];
    }
    for (int64_t i = 0; i < n; i++) {
        T d = dx[i];
        for (int k = 0; k < holders; k++) {
            d += dy[k][i] * share[k];
        }
        dx[i] = d;
    }
}

static void FN(take)(int64_t n, const FN(holders) * h, T *dx)
{
    if (h->n == 3) {
        FN(take_of)(n, 3, h, dx);
    } else if (h->n == 2) {
        FN(take_of)(n, 2, h, dx);
    } else if (h->n == 1) {
        FN(take_of)(n, 1, h, dx);
    }
}

static void FN(spread)(int64_t n, const FN(holders) * h, T *dx)
{
    if (h->n == 3) {
        FN(share_of)(n, 3, h, dx);
    } else if (h->n == 2) {
        FN(share_of)(n, 2, h, dx);
    } else if (h->n == 1) {
        FN(share_of)(n, 1, h, dx);
    }
}

/* alone: dx has nothing yet. */
static void FN(gather)(const job *j, const FN(holders) * h, bool alone, T *restrict dx)
{
    const int64_t n = j->channels;
    if (alone && h->n == 1 && !j->max) {
        const T *dy = h->dy[0], share = h->share[0];
        for (int64_t i = 0; i < n; i++) {
            dx[i] = dy[i] * share;
        }
        return;
    }
    if (alone) {
        FN(fill)(n, 0, dx);
    }
    (j->max ? FN(take) : FN(spread))(n, h, dx);
}

/* What one row of windows, whose taps `ahead` lead to this row of cells, gives to it. */
static void FN(last_row_grad)(const job *j, int64_t row, int64_t ahead, double rest, bool alone, int32_t *where, T *dx)
{
    const eg__pool_opts *o = &j->o;
    int64_t n = j->channels, at = row * o->out[2] * n;
    const T *dy = (const T *)j->dy + at;
    const int32_t *places = j->max ? get_places(j, at, o->out[2] * n, where) : NULL;
    bool spaced = o->dilation[2] > 1;
    for (int64_t i = 0; i < o->in[2]; i++) {
        FN(holders) h;
        bool first = alone;
        h.n = 0;
        for (int64_t p = j->holders[i].first; p < j->holders[i].end; p++) {
            const eg__window *w = &j->across[p];
            int64_t tap = spaced ? eg__tap_of(o, 2, w, i) : i - w->begin;
            if (tap >= 0 && tap < w->end) {
                h.dy[h.n] = dy + p * n;
                h.where[h.n] = j->max ? places + p * n : NULL;
                h.tap[h.n] = (int32_t)(ahead * o->kernel[2] + tap);
                h.share[h.n++] = (T)(rest * j->share[p]);
            }
            if (h.n == FUSED) {
                FN(gather)(j, &h, first, dx + i * n);
                h.n = 0;
                first = false;
            }
        }
        FN(gather)(j, &h, first, dx + i * n);
    }
}

/* Units: rows of cells; every row gathers from the windows that reach it, so that no two threads
 * write one. */
static void FN(last_rows_grad)(const job *j, void *buffer, int64_t begin, int64_t end)
{
    const eg__pool_opts *o = &j->o;
    for (int64_t r = begin; r < end; r++) {
        int64_t image = r / (o->in[0] * o->in[1]), i0 = r / o->in[1] % o->in[0], i1 = r % o->in[1];
        T *dx = (T *)j->y + r * o->in[2] * j->channels;
        eg__span h0 = eg__windows_of(o, 0, i0), h1 = eg__windows_of(o, 1, i1);
        bool alone = !j->max;
        if (j->max) {
            memset(dx, 0, (size_t)(o->in[2] * j->channels) * sizeof *dx);
        }
        for (int64_t p0 = h0.first; p0 < h0.end; p0++) {
            eg__window w0 = eg__window_of(o, 0, p0);
            int64_t t0 = eg__tap_of(o, 0, &w0, i0);
            for (int64_t p1 = h1.first; t0 >= 0 && p1 < h1.end; p1++) {
                eg__window w1 = eg__window_of(o, 1, p1);
                int64_t t1 = eg__tap_of(o, 1, &w1, i1);
                if (t1 >= 0) {
                    FN(last_row_grad)
                    (j, (image * o->out[0] + p0) * o->out[1] + p1, t0 * o->kernel[1] + t1, rest_of(o, p0, p1), alone,
                     buffer, dx);
                    alone = false;
                }
            }
        }
        if (alone) {
            memset(dx, 0, (size_t)(o->in[2] * j->channels) * sizeof *dx);
        }
    }
}
