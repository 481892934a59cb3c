/* sample_loops.h - the loops of sample.c for one arithmetic type T, with LANE(x) defined. */
#include "lib/ops/sample_taps.h"

/* The pixels of point (row, col) of picture b; false: it lies nowhere. */
static inline bool LANE(find)(const job *j, int64_t b, int64_t row, int64_t col, LANE(taps) * x, LANE(taps) * y)
{
    LANE(taps_at)(j->o, 0, ((const T *)eg__ptr(j->px))[point_at(j->px, b, row, col)], j->w, x);
    LANE(taps_at)(j->o, 1, ((const T *)eg__ptr(j->py))[point_at(j->py, b, row, col)], j->h, y);
    return x->n && y->n;
}

/* ---- channels innermost ------------------------------------------------------------------------
 */

/* A sum of pixels into y, four at a time. */
typedef struct LANE(mix) {
    int64_t n;
    T *y;
    const T *from[4];
    T weight[4];
    int count;
    bool begun;
} LANE(mix);

static void LANE(flush)(LANE(mix) * m)
{
    const T *a = m->from[0], *b = m->from[1], *c = m->from[2], *d = m->from[3];
    T p = m->weight[0], q = m->weight[1], u = m->weight[2], v = m->weight[3];
    T *restrict y = m->y;
    if (!m->begun && m->count == 4) {
        for (int64_t i = 0; i < m->n; i++) {
            y[i] = p * a[i] + q * b[i] + (u * c[i] + v * d[i]);
        }
    } else if (m->count == 4) {
        for (int64_t i = 0; i < m->n; i++) {
            y[i] += p * a[i] + q * b[i] + (u * c[i] + v * d[i]);
        }
    } else {
        if (!m->begun) {
            memset(y, 0, (size_t)m->n * sizeof *y);
        }
        for (int k = 0; k < m->count; k++) {
            a = m->from[k];
            p = m->weight[k];
            for (int64_t i = 0; i < m->n; i++) {
                y[i] += p * a[i];
            }
        }
    }
    m->begun = true;
    m->count = 0;
}

/* Everything a pixel of a picture reads. */
static void LANE(read_pixel)(const job *j, int64_t b, int64_t row, int64_t col, T *y)
{
    const eg__sample_opts *o = j->o;
    const T *x = (const T *)j->images + image_of(j, b) * j->h * j->w * j->channels, share = (T)o->share;
    LANE(mix) m = {.n = j->channels, .y = y};
    LANE(taps) tx, ty;
    for (int64_t k = 0; k < o->block[0] * o->block[1]; k++) {
        if (!LANE(find)(j, b, row * o->block[1] + k / o->block[0], col * o->block[0] + k % o->block[0], &tx, &ty)) {
            for (int64_t c = 0; o->fill != 0 && c < m.n; c++) { /* then there is one point */
                y[c] = (T)o->fill;
                m.begun = true;
            }
            continue;
        }
        for (int t = 0; t < tx.n * ty.n; t++) {
            int r = t / tx.n, s = t % tx.n;
            T weight = ty.w[r] * tx.w[s] * share;
            if (weight != 0) {
                m.from[m.count] = x + (ty.at[r] * j->w + tx.at[s]) * j->channels;
                m.weight[m.count++] = weight;
            }
            if (m.count == 4) {
                LANE(flush)(&m);
            }
        }
    }
    if (m.count || !m.begun) {
        LANE(flush)(&m);
    }
}

static void LANE(read_pixels)(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        LANE(read_pixel)
        (j, i / j->cols / j->rows, i / j->cols % j->rows, i % j->cols, (T *)j->pictures + i * j->channels);
    }
}

/* Channels from..to of picture b added to those of its image. */
static void LANE(add_picture)(const job *j, int64_t b, T *dx, int64_t from, int64_t to)
{
    const eg__sample_opts *o = j->o;
    const T *dy = (const T *)j->pictures + b * j->rows * j->cols * j->channels;
    LANE(taps) tx, ty;
    for (int64_t i = 0; i < j->rows * j->cols * o->block[0] * o->block[1]; i++) {
        int64_t row = i / (j->cols * o->block[0]), col = i % (j->cols * o->block[0]);
        int64_t pixel = row / o->block[1] * j->cols + col / o->block[0];
        bool there = LANE(find)(j, b, row, col, &tx, &ty);
        for (int t = 0; there && t < tx.n * ty.n; t++) {
            int r = t / tx.n, s = t % tx.n;
            T weight = ty.w[r] * tx.w[s] * (T)o->share;
            T *restrict y = dx + (ty.at[r] * j->w + tx.at[s]) * j->channels + from;
            const T *restrict d = dy + pixel * j->channels + from;
            for (int64_t c = 0; weight != 0 && c < to - from; c++) {
                y[c] += weight * d[c];
            }
        }
    }
}

static void LANE(add_pixels)(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    for (int64_t item = begin; item < end; item++) {
        int64_t image = item / j->pieces, from = item % j->pieces * j->piece;
        int64_t to = eg__min(from + j->piece, j->channels);
        T *dx = (T *)j->images + image * j->h * j->w * j->channels;
        for (int64_t i = 0; from < to && i < j->h * j->w; i++) {
            memset(dx + i * j->channels + from, 0, (size_t)(to - from) * sizeof *dx);
        }
        for (int64_t b = 0; from < to && b < j->npictures; b++) {
            if (image_of(j, b) == image) {
                LANE(add_picture)(j, b, dx, from, to);
            }
        }
    }
}

/* Sums of a times each of x[0..3]. */
static void LANE(dots)(int64_t n, const T *a, const T *const *x, T *sums)
{
    enum { LANES = 64 / sizeof(T) };
    T part[4][LANES] = {{0}};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < 4; k++) {
            for (int l = 0; l < LANES; l++) {
                part[k][l] += a[i + l] * x[k][i + l];
            }
        }
    }
    for (int k = 0; k < 4; k++) {
        T sum = 0;
        for (int64_t m = i; m < n; m++) {
            sum += a[m] * x[k][m];
        }
        for (int l = 0; l < LANES; l++) {
            sum += part[k][l];
        }
        sums[k] = sum;
    }
}

static inline T LANE(moved)(T weight, T value)
{
    return weight != 0 ? weight * value : 0;
}

static void LANE(move_pixels)(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    LANE(taps) tx, ty;
    for (int64_t i = begin; i < end; i++) {
        int64_t b = i / j->cols / j->rows;
        const T *x = (const T *)j->images + image_of(j, b) * j->h * j->w * j->channels;
        const T *dy = (const T *)j->pictures + i * j->channels, *from[4];
        T gx = 0, gy = 0, sums[4];
        bool there = LANE(find)(j, b, i / j->cols % j->rows, i % j->cols, &tx, &ty);
        for (int t = 0; there && t < tx.n * ty.n; t += 4) {
            for (int k = 0; k < 4; k++) {
                from[k] = x + (ty.at[(t + k) / tx.n] * j->w + tx.at[(t + k) % tx.n]) * j->channels;
            }
            LANE(dots)(j->channels, dy, from, sums);
            for (int k = 0; k < 4; k++) {
                int r = (t + k) / tx.n, s = (t + k) % tx.n;
                gx += LANE(moved)(ty.w[r] * tx.d[s], sums[k]);
                gy += LANE(moved)(ty.d[r] * tx.w[s], sums[k]);
            }
        }
        ((T *)j->dpx)[i] = gx;
        ((T *)j->dpy)[i] = gy;
    }
}

/* ---- planes ------------------------------------------------------------------------------------
 */

/* Points of a stretch of a picture, in one of the places of a block each: where in a plane their
 * pixels are. */
typedef struct LANE(stretch) {
    int taps;
    bool nowhere; /* some lie */
    bool there[STRETCH];
    int32_t at[MOST_TAPS][STRETCH];
    T w[MOST_TAPS][STRETCH], dx[MOST_TAPS][STRETCH], dy[MOST_TAPS][STRETCH];
} LANE(stretch);

/* The points at place k of the blocks of pixels first..first + n; with_slopes: dx and dy too. */
static void LANE(look_up)(const job *j, int64_t b, int64_t first, int64_t n, int64_t k, bool with_slopes,
                          LANE(stretch) * s)
{
    const eg__sample_opts *o = j->o;
    int across = o->mode == EG_SAMPLE_NEAREST ? 1 : o->mode == EG_SAMPLE_BILINEAR ? 2 : 4;
    LANE(taps) x, y;
    s->taps = across * across;
    s->nowhere = false;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = (first + i) / j->cols, col = (first + i) % j->cols;
        s->there[i] =
            LANE(find)(j, b, row * o->block[1] + k / o->block[0], col * o->block[0] + k % o->block[0], &x, &y);
        s->nowhere |= !s->there[i];
        for (int t = 0; t < s->taps; t++) {
            int r = t / across, c = t % across;
            bool there = s->there[i];
            s->at[t][i] = there ? y.at[r] * (int32_t)j->w + x.at[c] : 0;
            s->w[t][i] = there ? y.w[r] * x.w[c] * (T)o->share : 0;
            if (with_slopes) {
                s->dx[t][i] = there ? y.w[r] * x.d[c] : 0;
                s->dy[t][i] = there ? y.d[r] * x.w[c] : 0;
            }
        }
    }
}

static void LANE(read_stretch)(const LANE(stretch) * s, int64_t n, const T *x, T *y, bool begun)
{
    for (int64_t i = LANE(read_vectors)(s->taps, s->w, s->at, n, x, y, begun); i < n; i++) {
        T sum = begun ? y[i] : 0;
        for (int t = 0; t < s->taps; t++) {
            sum += LANE(moved)(s->w[t][i], x[s->at[t][i]]);
        }
        y[i] = sum;
    }
}

static void LANE(read_planes)(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const int64_t cells = j->rows * j->cols, plane = j->h * j->w;
    LANE(stretch) s;
    for (int64_t item = begin; item < end; item++) {
        int64_t b = item / j->stretches, first = item % j->stretches * STRETCH, n = eg__min(STRETCH, cells - first);
        const T *x = (const T *)j->images + image_of(j, b) * j->channels * plane;
        T *y = (T *)j->pictures + b * j->channels * cells + first;
        for (int64_t k = 0; k < j->o->block[0] * j->o->block[1]; k++) {
            LANE(look_up)(j, b, first, n, k, false, &s);
            for (int64_t c = 0; c < j->channels; c++) {
                LANE(read_stretch)(&s, n, x + c * plane, y + c * cells, k > 0);
            }
        }
        for (int64_t i = 0; s.nowhere && j->o->fill != 0 && i < n; i++) {
            for (int64_t c = 0; !s.there[i] && c < j->channels; c++) {
                y[c * cells + i] = (T)j->o->fill;
            }
        }
    }
}

static void LANE(add_stretch)(const LANE(stretch) * s, int64_t n, const T *restrict dy, T *restrict dx)
{
    if (s->taps == 4) {
        for (int64_t i = 0; i < n; i++) {
            const T d = dy[i];
            dx[s->at[0][i]] += LANE(moved)(s->w[0][i], d);
            dx[s->at[1][i]] += LANE(moved)(s->w[1][i], d);
            dx[s->at[2][i]] += LANE(moved)(s->w[2][i], d);
            dx[s->at[3][i]] += LANE(moved)(s->w[3][i], d);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int t = 0; t < s->taps; t++) {
            dx[s->at[t][i]] += LANE(moved)(s->w[t][i], dy[i]);
        }
    }
}

static void LANE(add_planes)(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const int64_t cells = j->rows * j->cols, plane = j->h * j->w;
    LANE(stretch) s;
    for (int64_t item = begin; item < end; item++) {
        int64_t image = item / j->pieces, from = item % j->pieces * j->piece;
        int64_t to = eg__min(from + j->piece, j->channels);
        T *dx = (T *)j->images + image * j->channels * plane;
        if (from < to) {
            memset(dx + from * plane, 0, (size_t)((to - from) * plane) * sizeof *dx);
        }
        for (int64_t b = 0; from < to && b < j->npictures; b++) {
            const T *dy = (const T *)j->pictures + b * j->channels * cells;
            for (int64_t first = 0; image_of(j, b) == image && first < cells; first += STRETCH) {
                int64_t n = eg__min(STRETCH, cells - first);
                for (int64_t k = 0; k < j->o->block[0] * j->o->block[1]; k++) {
                    LANE(look_up)(j, b, first, n, k, false, &s);
                    for (int64_t c = from; c < to; c++) {
                        LANE(add_stretch)(&s, n, dy + c * cells + first, dx + c * plane);
                    }
                }
            }
        }
    }
}

static void LANE(dot_stretch)(const LANE(stretch) * s, int64_t n, const T *restrict x, const T *restrict dy,
                              T (*restrict sums)[STRETCH])
{
    for (int t = 0; t < s->taps; t++) {
        const int32_t *restrict at = s->at[t];
        T *restrict sum = sums[t];
        for (int64_t i = 0; i < n; i++) {
            sum[i] += dy[i] * x[at[i]];
        }
    }
}

static void LANE(move_planes)(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const int64_t cells = j->rows * j->cols, plane = j->h * j->w;
    LANE(stretch) s;
    T sums[MOST_TAPS][STRETCH];
    for (int64_t item = begin; item < end; item++) {
        int64_t b = item / j->stretches, first = item % j->stretches * STRETCH, n = eg__min(STRETCH, cells - first);
        const T *x = (const T *)j->images + image_of(j, b) * j->channels * plane;
        const T *dy = (const T *)j->pictures + b * j->channels * cells + first;
        T *gx = (T *)j->dpx + b * cells + first, *gy = (T *)j->dpy + b * cells + first;
        LANE(look_up)(j, b, first, n, 0, true, &s);
        memset(sums, 0, sizeof sums);
        memset(gx, 0, (size_t)n * sizeof *gx);
        memset(gy, 0, (size_t)n * sizeof *gy);
        for (int64_t c = 0; c < j->channels; c++) {
            LANE(dot_stretch)(&s, n, x + c * plane, dy + c * cells, sums);
        }
        for (int t = 0; t < s.taps; t++) {
            for (int64_t i = 0; i < n; i++) {
                gx[i] += LANE(moved)(s.dx[t][i], sums[t][i]);
                gy[i] += LANE(moved)(s.dy[t][i], sums[t][i]);
            }
        }
    }
}
