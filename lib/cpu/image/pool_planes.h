/* pool_planes.h - pooling of planes that lie row by row, for one element type T.
 *
 * Rows are split by the stride first, cells 0, s, 2 s ... to one part, 1, s + 1 ... to the next,
 * with padding filled in and the parts rounded up to whole vectors: then every tap of a row of
 * windows is a run of neighbours, whatever the stride. Means are given back the same way round. */

/* ---- rows split by the stride ---------------------------------------------------------------- */

static EG__INLINE void FN(split_by)(int64_t s, int64_t n, const T *restrict flat, T *restrict to)
{
    for (int64_t q = 0; q < n; q++) {
        for (int64_t r = 0; r < s; r++) {
            to[r * n + q] = flat[q * s + r];
        }
    }
}

static EG__INLINE void FN(merge_by)(int64_t s, int64_t n, const T *restrict from, T *restrict flat)
{
    for (int64_t q = 0; q < n; q++) {
        for (int64_t r = 0; r < s; r++) {
            flat[q * s + r] = from[r * n + q];
        }
    }
}

/* Row of cells x to its parts; what is not of the row stays as it is in both buffers. */
static void FN(split)(const job *j, const T *x, T *flat, T *to)
{
    int64_t s = j->o.stride[2], before = j->o.before[2];
    size_t bytes = (size_t)eg__min(j->o.in[2], s * j->part - before) * sizeof(T);
    memcpy((s == 1 ? to : flat) + before, x, bytes);
    if (s == 2) {
        FN(split_by)(2, j->part, flat, to);
    } else if (s == 3) {
        FN(split_by)(3, j->part, flat, to);
    } else if (s > 1) {
        FN(split_by)(s, j->part, flat, to);
    }
}

static void FN(merge)(const job *j, const T *from, T *flat, T *dx)
{
    int64_t s = j->o.stride[2];
    if (s == 2) {
        FN(merge_by)(2, j->part, from, flat);
    } else if (s == 3) {
        FN(merge_by)(3, j->part, from, flat);
    } else if (s > 1) {
        FN(merge_by)(s, j->part, from, flat);
    }
    memcpy(dx, (s == 1 ? from : flat) + j->o.before[2], (size_t)j->o.in[2] * sizeof *dx);
}

/* ---- a row of windows ------------------------------------------------------------------------ */

/* Where row `row` of cells under tap `a` of the first axis is kept. */
static inline int64_t FN(slot)(const job *j, int64_t a, int64_t row)
{
    return (a * j->ring + row % j->ring) * j->o.stride[2] * j->part;
}

/* Brings the rows of cells that windows w reach over into the ring, from row `next` on; the row after. Those between
 * taps too, which later windows have. */
static int64_t FN(load_rows)(const job *j, const eg__window *w, const T *x, int64_t next, T *flat, T *ring)
{
    const eg__pool_opts *o = &j->o;
    int64_t row = eg__max(next, eg__max(w[1].begin, 0));
    int64_t end = w[1].begin + (w[1].end - 1) * o->dilation[1] + 1;
    for (; row < end; row++) {
        for (int64_t a = w[0].first; a < w[0].end; a++) {
            int64_t plane = w[0].begin + a * o->dilation[0];
            FN(split)(j, x + (plane * o->in[1] + row) * o->in[2], flat, ring + FN(slot)(j, a, row));
        }
    }
    return row;
}

/* Windows from..from+n-1 of a row out of the ring. */
static void FN(max_lanes)(const job *j, const eg__window *w, const T *ring, int64_t from, int64_t n, T *best,
                          int32_t *where)
{
    const eg__pool_opts *o = &j->o;
    int32_t tap = tap_number(o, w[0].first, w[1].first, 0);
    FN(fill)(n, -(T)INFINITY, best);
    for (int64_t i = 0; i < n; i++) {
        where[i] = tap + j->first[from + i];
    }
    for (int64_t a = w[0].first; a < w[0].end; a++) {
        for (int64_t b = w[1].first; b < w[1].end; b++) {
            const T *x = ring + FN(slot)(j, a, w[1].begin + b * o->dilation[1]) + from;
            FN(larger)(n, o->kernel[2], x, tap_number(o, a, b, 0), j->at, best, where);
        }
    }
}

static void FN(sum_lanes)(const job *j, const eg__window *w, const T *ring, int64_t from, int64_t n, T *sum)
{
    FN(fill)(n, 0, sum);
    for (int64_t a = w[0].first; a < w[0].end; a++) {
        for (int64_t b = w[1].first; b < w[1].end; b++) {
            const T *x = ring + FN(slot)(j, a, w[1].begin + b) + from;
            FN(add)(n, j->o.kernel[2], x, j->at, sum);
        }
    }
}

/* Row r of windows, by as many lanes as there is room for. */
static void FN(row_of_windows)(const job *j, const eg__window *w, const T *ring, double rest, int64_t r)
{
    const eg__pool_opts *o = &j->o;
    T y[LANES];
    int32_t where[LANES];
    for (int64_t from = 0; from < o->out[2]; from += LANES) {
        int64_t n = eg__min(LANES, o->out[2] - from), at = r * o->out[2] + from;
        if (j->max) {
            FN(max_lanes)(j, w, ring, from, whole(n), y, where);
            put_places(j, at, n, where);
        } else {
            FN(sum_lanes)(j, w, ring, from, whole(n), y);
            for (int64_t i = 0; i < whole(n); i++) {
                y[i] *= (T)(rest * j->share[from + i]);
            }
        }
        memcpy((T *)j->y + at, y, (size_t)n * sizeof *y);
    }
}

/* ---- windows one by one: of uneven sizes, or long -------------------------------------------- */

static double FN(sum_run)(const T *x, int64_t n)
{
    double total = 0;
    while (n >= 16) {
        T lanes[16] = {0};
        int64_t steps = eg__min(n / 16, FLUSH);
        for (int64_t k = 0; k < steps; k++, x += 16) {
            for (int i = 0; i < 16; i++) {
                lanes[i] += x[i];
            }
        }
        for (int i = 0; i < 16; i++) {
            total += (double)lanes[i];
        }
        n -= steps * 16;
    }
    for (int64_t i = 0; i < n; i++) {
        total += (double)x[i];
    }
    return total;
}

static double FN(sum_window)(const job *j, const eg__window *w, const T *x)
{
    double sum = 0;
    int64_t rows = w[1].end - w[1].first, cells = w[2].end - w[2].first;
    bool joined = cells == j->o.in[2]; /* the rows of cells are one run */
    for (int64_t a = w[0].first; a < w[0].end; a++) {
        const T *run = x + cell_of(j, w, a, w[1].first, w[2].first);
        for (int64_t b = 0; b < (joined ? 1 : rows); b++) {
            sum += FN(sum_run)(run + b * j->o.in[2], joined ? rows * cells : cells);
        }
    }
    return sum;
}

static int32_t FN(max_window)(const job *j, const eg__window *w, const T *x, T *y)
{
    const eg__pool_opts *o = &j->o;
    int32_t where = tap_number(o, w[0].first, w[1].first, w[2].first);
    T best = -(T)INFINITY;
    for (int64_t a = w[0].first; a < w[0].end; a++) {
        for (int64_t b = w[1].first; b < w[1].end; b++) {
            const T *cell = x + cell_of(j, w, a, b, 0);
            for (int64_t c = w[2].first; c < w[2].end; c++) {
                T v = cell[c * o->dilation[2]];
                if (v > best || (v != v && best == best)) {
                    best = v;
                    where = tap_number(o, a, b, c);
                }
            }
        }
    }
    *y = best;
    return where;
}

static void FN(windows_one_by_one)(const job *j, eg__window *w, const T *x, double rest, int64_t r)
{
    for (int64_t p = 0; p < j->o.out[2]; p++) {
        int64_t at = r * j->o.out[2] + p;
        w[2] = j->across[p];
        if (j->max) {
            int32_t where = FN(max_window)(j, w, x, (T *)j->y + at);
            put_places(j, at, 1, &where);
        } else {
            ((T *)j->y)[at] = (T)(FN(sum_window)(j, w, x) * rest * j->share[p]);
        }
    }
}

/* Units: rows of windows. */
static void FN(plane_rows)(const job *j, void *buffer, int64_t begin, int64_t end)
{
    const eg__pool_opts *o = &j->o;
    T *ring = buffer, *flat = ring + o->kernel[0] * j->ring * o->stride[2] * j->part;
    int64_t p1 = begin % o->out[1], p0 = begin / o->out[1] % o->out[0], next = 0;
    const T *x = (const T *)j->x + begin / o->out[1] / o->out[0] * j->cells;
    if (!j->single) {
        FN(fill)(flat + o->stride[2] * j->part - ring, j->max ? -(T)INFINITY : 0, ring);
    }
    for (int64_t r = begin; r < end; r++) {
        eg__window w[3] = {eg__window_of(o, 0, p0), eg__window_of(o, 1, p1), {0}};
        double rest = j->max ? 0 : rest_of(o, p0, p1);
        if (j->single) {
            FN(windows_one_by_one)(j, w, x, rest, r);
        } else {
            next = FN(load_rows)(j, w, x, next, flat, ring);
            FN(row_of_windows)(j, w, ring, rest, r);
        }
        if (++p1 == o->out[1]) {
            p1 = next = 0;
            p0 = (p0 + 1) % o->out[0];
            x += p0 ? 0 : j->cells;
        }
    }
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* Units: planes. A tap that leads out of the plane is nobody's. */
static void FN(max_planes_grad)(const job *j, void *buffer, int64_t begin, int64_t end)
{
    const eg__pool_opts *o = &j->o;
    int64_t at = begin * o->out[0] * o->out[1] * o->out[2];
    (void)buffer;
    for (int64_t k = begin; k < end; k++) {
        T *dx = (T *)j->y + k * j->cells;
        memset(dx, 0, (size_t)j->cells * sizeof *dx);
        for (int64_t p = 0; p < o->out[0] * o->out[1]; p++) {
            int64_t b0 = eg__window_of(o, 0, p / o->out[1]).begin;
            int64_t b1 = eg__window_of(o, 1, p % o->out[1]).begin;
            for (int64_t p2 = 0; p2 < o->out[2]; p2++, at++) {
                int64_t cell = (b0 * o->in[1] + b1) * o->in[2] + j->across[p2].begin;
                cell +=
                    j->bytes ? j->step[((const uint8_t *)j->places)[at]] : step_of(o, ((const int32_t *)j->places)[at]);
                if (cell >= 0 && cell < j->cells) {
                    dx[cell] += ((const T *)j->dy)[at];
                }
            }
        }
    }
}

/* Units: planes. */
static void FN(avg_planes_grad)(const job *j, void *buffer, int64_t begin, int64_t end)
{
    const eg__pool_opts *o = &j->o;
    const T *dy = (const T *)j->dy + begin * o->out[0] * o->out[1] * o->out[2];
    (void)buffer;
    for (int64_t k = begin; k < end; k++) {
        T *dx = (T *)j->y + k * j->cells;
        memset(dx, 0, (size_t)j->cells * sizeof *dx);
        for (int64_t p = 0; p < o->out[0] * o->out[1]; p++) {
            eg__window w[3] = {eg__window_of(o, 0, p / o->out[1]), eg__window_of(o, 1, p % o->out[1]), {0}};
            double rest = rest_of(o, p / o->out[1], p % o->out[1]);
            for (int64_t p2 = 0; p2 < o->out[2]; p2++, dy++) {
                T part = *dy * (T)(rest * j->share[p2]);
                w[2] = j->across[p2];
                for (int64_t a = w[0].first; a < w[0].end; a++) {
                    for (int64_t b = w[1].first; b < w[1].end; b++) {
                        T *run = dx + cell_of(j, w, a, b, w[2].first);
                        for (int64_t i = 0; i < w[2].end - w[2].first; i++) {
                            run[i] += part;
                        }
                    }
                }
            }
        }
    }
}

/* Units: rows of cells. The rows of windows that hold one are added up, then spread along it. */
static void FN(avg_rows_grad)(const job *j, void *buffer, int64_t begin, int64_t end)
{
    const eg__pool_opts *o = &j->o;
    int64_t s = o->stride[2], front = whole((o->kernel[2] - 1) / s), n = o->out[2];
    T *sum = (T *)buffer + front, *parts = sum + whole(eg__max(n, j->part)), *flat = parts + s * j->part;
    FN(fill)(parts - (T *)buffer, 0, buffer);
    for (int64_t r = begin; r < end; r++) {
        int64_t plane = r / (o->in[0] * o->in[1]), i0 = r / o->in[1] % o->in[0], i1 = r % o->in[1];
        eg__span h0 = eg__windows_of(o, 0, i0), h1 = eg__windows_of(o, 1, i1);
        FN(fill)(n, 0, sum);
        for (int64_t p0 = h0.first; p0 < h0.end; p0++) {
            for (int64_t p1 = h1.first; p1 < h1.end; p1++) {
                const T *dy = (const T *)j->dy + ((plane * o->out[0] + p0) * o->out[1] + p1) * n;
                T rest = (T)rest_of(o, p0, p1);
                for (int64_t i = 0; i < n; i++) {
                    sum[i] += dy[i] * rest;
                }
            }
        }
        for (int64_t i = 0; i < n; i++) {
            sum[i] *= (T)j->share[i];
        }
        FN(fill)(s * j->part, 0, parts);
        for (int64_t k = 0; k < eg__min(s, o->kernel[2]); k++) {
            FN(add)(j->part, eg__steps(o->kernel[2] - k, s), sum, j->at, parts + k * j->part);
        }
        FN(merge)(j, parts, flat, (T *)j->y + r * o->in[2]);
    }
}
