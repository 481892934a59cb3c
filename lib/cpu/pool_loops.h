/* pool_loops.h - the loops of pooling for one element type T; pool.c includes it per type, with FN
 * to name them. Lanes are what neighbouring results have in common: the channels of a pixel, for
 * images that lie channels-last, or the windows along a row of a plane. */

/* The larger of best and x by lanes, x being tap `tap`; the first of equals, and of NaNs. */
static inline void FN(larger)(int64_t n, const T *restrict x, int64_t step, int32_t tap,
                              T *restrict best, int32_t *restrict where)
{
    for (int64_t i = 0; i < n; i++) {
        T v = x[i * step], b = best[i];
        int take = (v > b) | ((v != v) & (b == b));
        best[i] = take ? v : b;
        where[i] = take ? tap : where[i];
    }
}

static void FN(put_places)(const job *j, int64_t at, int64_t n, const int32_t *where)
{
    if (j->bytes) {
        uint8_t *to = (uint8_t *)j->places + at;
        for (int64_t i = 0; i < n; i++) {
            to[i] = (uint8_t)where[i];
        }
    } else {
        memcpy((int32_t *)j->places + at, where, (size_t)n * sizeof *where);
    }
}

/* ---- channels-last: a row of windows ----------------------------------------------------------
 */

static void FN(max_pixel)(const job *j, const eg__window *w, const T *x, int64_t at, T *y)
{
    const eg__pool_opts *o = &j->o;
    T best[LANES];
    int32_t where[LANES];
    for (int64_t from = 0; from < j->channels; from += LANES) {
        int64_t n = eg__min(LANES, j->channels - from);
        bool first = true;
        for (int64_t a = w[0].first; a < w[0].end; a++) {
            for (int64_t b = w[1].first; b < w[1].end; b++) {
                for (int64_t c = w[2].first; c < w[2].end; c++) {
                    int32_t tap = (int32_t)((a * o->kernel[1] + b) * o->kernel[2] + c);
                    const T *cell = x + from + cell_of(j, w, a, b, c) * j->channels;
                    if (first) {
                        memcpy(best, cell, (size_t)n * sizeof *best);
                        for (int64_t i = 0; i < n; i++) {
                            where[i] = tap;
                        }
                    } else {
                        FN(larger)(n, cell, 1, tap, best, where);
                    }
                    first = false;
                }
            }
        }
        memcpy(y + from, best, (size_t)n * sizeof *best);
        FN(put_places)(j, at + from, n, where);
    }
}

/* Sums move on to a wider sum every few taps, so that large windows lose no digits. */
static void FN(avg_pixel)(const job *j, const eg__window *w, const T *x, T share, T *restrict y)
{
    T part[LANES];
    double sum[LANES];
    for (int64_t from = 0; from < j->channels; from += LANES) {
        int64_t n = eg__min(LANES, j->channels - from), taps = 0;
        memset(sum, 0, (size_t)n * sizeof *sum);
        memset(part, 0, (size_t)n * sizeof *part);
        for (int64_t a = w[0].first; a < w[0].end; a++) {
            for (int64_t b = w[1].first; b < w[1].end; b++) {
                for (int64_t c = w[2].first; c < w[2].end; c++) {
                    const T *restrict cell = x + from + cell_of(j, w, a, b, c) * j->channels;
                    for (int64_t i = 0; i < n; i++) {
                        part[i] += cell[i];
                    }
                    if (++taps % FLUSH == 0) {
                        for (int64_t i = 0; i < n; i++) {
                            sum[i] += (double)part[i];
                            part[i] = 0;
                        }
                    }
                }
            }
        }
        for (int64_t i = 0; i < n; i++) {
            y[from + i] = (T)(sum[i] + (double)part[i]) * share;
        }
    }
}

/* Units: rows of windows. */
static void FN(last_rows)(const job *j, int64_t begin, int64_t end)
{
    const eg__pool_opts *o = &j->o;
    for (int64_t r = begin; r < end; r++) {
        int64_t image = r / (o->out[0] * o->out[1]), p0 = r / o->out[1] % o->out[0],
                p1 = r % o->out[1];
        const T *x = (const T *)j->x + image * j->cells * j->channels;
        eg__window w[3] = {eg__window_of(o, 0, p0), eg__window_of(o, 1, p1), {0}};
        double rest =
            j->max ? 1 : (double)(eg__window_cells(o, 0, p0) * eg__window_cells(o, 1, p1));
        for (int64_t p2 = 0; p2 < o->out[2]; p2++) {
            int64_t at = (r * o->out[2] + p2) * j->channels;
            w[2] = j->across[p2];
            if (j->max) {
                FN(max_pixel)(j, w, x, at, (T *)j->y + at);
            } else {
                FN(avg_pixel)(j, w, x, (T)(1 / (rest * (double)j->count[p2])), (T *)j->y + at);
            }
        }
    }
}

/* ---- channels-last: gradients, a row of cells -------------------------------------------------
 */

/* dx += dy where the tap is the one given. */
static inline void FN(add_taken)(int64_t n, const T *restrict dy, const void *places, bool bytes,
                                 int32_t tap, T *restrict dx)
{
    if (bytes) {
        const uint8_t *restrict where = places;
        for (int64_t i = 0; i < n; i++) {
            T g = dy[i];
            dx[i] += where[i] == tap ? g : 0;
        }
    } else {
        const int32_t *restrict where = places;
        for (int64_t i = 0; i < n; i++) {
            T g = dy[i];
            dx[i] += where[i] == tap ? g : 0;
        }
    }
}

/* What one row of windows, whose taps `ahead` lead to this row of cells, gives to it. */
static void FN(last_row_grad)(const job *j, int64_t row, int64_t ahead, T share, T *dx)
{
    const eg__pool_opts *o = &j->o;
    int64_t n = j->channels;
    for (int64_t p2 = 0; p2 < o->out[2]; p2++) {
        const eg__window *w = &j->across[p2];
        int64_t at = (row * o->out[2] + p2) * n;
        const T *restrict dy = (const T *)j->dy + at;
        T part = share / (T)j->count[p2];
        for (int64_t c = w->first; c < w->end; c++) {
            T *restrict d = dx + (w->begin + c * o->dilation[2]) * n;
            if (j->max) {
                int32_t tap = (int32_t)(ahead * o->kernel[2] + c);
                FN(add_taken)
                (n, dy, (const char *)j->places + at * (j->bytes ? 1 : 4), j->bytes, tap, d);
            } else {
                for (int64_t i = 0; i < n; i++) {
                    d[i] += dy[i] * part;
                }
            }
        }
    }
}

/* Units: rows of cells; every row gathers from the windows that reach it, so that no two threads
 * write one. */
static void FN(last_rows_grad)(const job *j, int64_t begin, int64_t end)
{
    const eg__pool_opts *o = &j->o;
    for (int64_t r = begin; r < end; r++) {
        int64_t image = r / (o->in[0] * o->in[1]), i0 = r / o->in[1] % o->in[0], i1 = r % o->in[1];
        int64_t first0, end0, first1, end1;
        T *dx = (T *)j->y + r * o->in[2] * j->channels;
        memset(dx, 0, (size_t)(o->in[2] * j->channels) * sizeof *dx);
        eg__windows_of(o, 0, i0, &first0, &end0);
        eg__windows_of(o, 1, i1, &first1, &end1);
        for (int64_t p0 = first0; p0 < end0; p0++) {
            eg__window w0 = eg__window_of(o, 0, p0);
            int64_t t0 = eg__tap_of(o, 0, &w0, i0);
            for (int64_t p1 = first1; t0 >= 0 && p1 < end1; p1++) {
                eg__window w1 = eg__window_of(o, 1, p1);
                int64_t t1 = eg__tap_of(o, 1, &w1, i1);
                if (t1 >= 0) {
                    double share =
                        1.0 / (double)(eg__window_cells(o, 0, p0) * eg__window_cells(o, 1, p1));
                    FN(last_row_grad)
                    (j, (image * o->out[0] + p0) * o->out[1] + p1, t0 * o->kernel[1] + t1, (T)share,
                     dx);
                }
            }
        }
    }
}

/* ---- planes: a row of windows ------------------------------------------------------------------
 */

/* Lanes are the windows from..from+n-1 of a row; x is the plane. */
static void FN(max_lanes)(const job *j, const eg__window *w, int64_t from, int64_t n, const T *x,
                          T *best, int32_t *where)
{
    const eg__pool_opts *o = &j->o;
    for (int64_t i = 0; i < n; i++) {
        best[i] = -(T)INFINITY;
        where[i] = (int32_t)((w[0].first * o->kernel[1] + w[1].first) * o->kernel[2] +
                             j->across[from + i].first);
    }
    for (int64_t a = w[0].first; a < w[0].end; a++) {
        for (int64_t b = w[1].first; b < w[1].end; b++) {
            const T *row = x + row_of(j, w, a, b) * o->in[2];
            for (int64_t c = 0; c < o->kernel[2]; c++) {
                int32_t tap = (int32_t)((a * o->kernel[1] + b) * o->kernel[2] + c);
                int64_t low = eg__max(from, j->low[c]), high = eg__min(from + n, j->high[c]);
                if (o->adaptive || low >= high) {
                    for (int64_t p = from; o->adaptive && p < from + n; p++) {
                        if (c < j->across[p].end) {
                            FN(larger)
                            (1, row + j->across[p].begin + c, 1, tap, best + p - from,
                             where + p - from);
                        }
                    }
                    continue;
                }
                const T *at = row + low * o->stride[2] - o->before[2] + c * o->dilation[2];
                if (o->stride[2] == 1) {
                    FN(larger)(high - low, at, 1, tap, best + low - from, where + low - from);
                } else if (o->stride[2] == 2) {
                    FN(larger)(high - low, at, 2, tap, best + low - from, where + low - from);
                } else {
                    FN(larger)
                    (high - low, at, o->stride[2], tap, best + low - from, where + low - from);
                }
            }
        }
    }
}

/* The sum of each window. */
static void FN(sum_lanes)(const job *j, const eg__window *w, int64_t from, int64_t n, const T *x,
                          T *restrict sum)
{
    const eg__pool_opts *o = &j->o;
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t a = w[0].first; a < w[0].end; a++) {
        for (int64_t b = w[1].first; b < w[1].end; b++) {
            const T *restrict row = x + row_of(j, w, a, b) * o->in[2];
            if (o->adaptive ||
                o->kernel[2] > FLUSH) { /* long windows: each by itself, first along its row */
                for (int64_t i = 0; i < n; i++) {
                    const eg__window *v = &j->across[from + i];
                    T part = 0;
                    for (int64_t c = v->first; c < v->end; c++) {
                        part += row[v->begin + c];
                    }
                    sum[i] += part;
                }
                continue;
            }
            for (int64_t c = 0; c < o->kernel[2]; c++) {
                int64_t low = eg__max(from, j->low[c]), high = eg__min(from + n, j->high[c]);
                const T *restrict at = row + low * o->stride[2] - o->before[2] + c;
                for (int64_t i = 0; i < high - low; i++) {
                    sum[low - from + i] += at[i * o->stride[2]];
                }
            }
        }
    }
}

/* Units: rows of windows. */
static void FN(plane_rows)(const job *j, int64_t begin, int64_t end)
{
    const eg__pool_opts *o = &j->o;
    int32_t where[LANES];
    for (int64_t r = begin; r < end; r++) {
        int64_t plane = r / (o->out[0] * o->out[1]), p0 = r / o->out[1] % o->out[0],
                p1 = r % o->out[1];
        const T *x = (const T *)j->x + plane * j->cells;
        const eg__window w[2] = {eg__window_of(o, 0, p0), eg__window_of(o, 1, p1)};
        double rest = (double)(eg__window_cells(o, 0, p0) * eg__window_cells(o, 1, p1));
        for (int64_t from = 0; from < o->out[2]; from += LANES) {
            int64_t n = eg__min(LANES, o->out[2] - from), at = r * o->out[2] + from;
            T *y = (T *)j->y + at;
            if (j->max) {
                FN(max_lanes)(j, w, from, n, x, y, where);
                FN(put_places)(j, at, n, where);
            } else {
                FN(sum_lanes)(j, w, from, n, x, y);
                for (int64_t i = 0; i < n; i++) {
                    y[i] *= (T)(1 / (rest * (double)j->count[from + i]));
                }
            }
        }
    }
}

/* ---- planes: gradients --------------------------------------------------------------------------
 */

static void FN(max_plane_grad)(const job *j, int64_t plane, T *dx)
{
    const eg__pool_opts *o = &j->o;
    int64_t windows = o->out[0] * o->out[1] * o->out[2], at = plane * windows;
    for (int64_t p0 = 0; p0 < o->out[0]; p0++) {
        const int64_t b0 = eg__window_of(o, 0, p0).begin;
        for (int64_t p1 = 0; p1 < o->out[1]; p1++) {
            const int64_t b1 = eg__window_of(o, 1, p1).begin;
            for (int64_t p2 = 0; p2 < o->out[2]; p2++, at++) {
                int64_t base = (b0 * o->in[1] + b1) * o->in[2] + j->across[p2].begin;
                int64_t tap =
                    j->bytes ? ((const uint8_t *)j->places)[at] : ((const int32_t *)j->places)[at];
                int64_t cell = base + (j->bytes ? j->step[tap] : step_of(o, tap));
                if (cell >= 0 && cell < j->cells) {
                    dx[cell] += ((const T *)j->dy)[at];
                }
            }
        }
    }
}

static void FN(avg_plane_grad)(const job *j, int64_t plane, T *dx)
{
    const eg__pool_opts *o = &j->o;
    const T *dy = (const T *)j->dy + plane * o->out[0] * o->out[1] * o->out[2];
    for (int64_t p0 = 0; p0 < o->out[0]; p0++) {
        for (int64_t p1 = 0; p1 < o->out[1]; p1++, dy += o->out[2]) {
            const eg__window w[2] = {eg__window_of(o, 0, p0), eg__window_of(o, 1, p1)};
            const double rest = (double)(eg__window_cells(o, 0, p0) * eg__window_cells(o, 1, p1));
            for (int64_t a = w[0].first; a < w[0].end; a++) {
                for (int64_t b = w[1].first; b < w[1].end; b++) {
                    T *row = dx + row_of(j, w, a, b) * o->in[2];
                    for (int64_t p2 = 0; p2 < o->out[2]; p2++) {
                        const eg__window *v = &j->across[p2];
                        T part = dy[p2] * (T)(1 / (rest * (double)j->count[p2]));
                        for (int64_t i = v->begin + v->first; i < v->begin + v->end; i++) {
                            row[i] += part;
                        }
                    }
                }
            }
        }
    }
}

/* Units: planes. */
static void FN(planes_grad)(const job *j, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; k++) {
        T *dx = (T *)j->y + k * j->cells;
        memset(dx, 0, (size_t)j->cells * sizeof *dx);
        (j->max ? FN(max_plane_grad) : FN(avg_plane_grad))(j, k, dx);
    }
}
