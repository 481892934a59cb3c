/* sparse.c - products with a weight that has been pruned (Elsen et al. 2019: "Fast Sparse ConvNets"). A few rows of a
 * lie side by side, one vector for each of their columns, so that a column of y is the sum of the vectors that its
 * elements other than zero are multiplied with. Where these are is kept beside the weight. */
#include "lib/cpu/matrix/sparse.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "lib/cpu/common/lanes.h"
#include "lib/cpu/common/pack.h"

enum {
    LANES = EG__VECTOR_BYTES / 4,
    WIDE = 4,     /* vectors of rows of a */
    SIDE = 16,    /* of what is turned at once, and columns of y that are written together */
    LEAST = 32,   /* rows of a, rows and columns of the weight, which may have to be looked through for each product */
    SHARE = 5,    /* one in so many of its elements is not zero, at most */
    SAMPLES = 64, /* of the weight, and how many of them may not be zero before all is looked at */
    MOST_SAMPLES = 20,
    KEY = -1,       /* no layout of oneDNN's begins with it */
    WORK = 1 << 16, /* multiplications below which another thread does not pay */
};

/* Of column o of b the elements start[o] to start[o + 1]: in which row each is, and what it is. */
typedef struct thin {
    int32_t *start, *row;
    float *value;
} thin;

typedef struct job {
    const eg__product *p;
    thin w;
    int64_t tiles, parts, pieces; /* of a; of y's columns, of each tile; shares of threads */
    float *buffers;               /* of each piece */
    size_t room;
} job;

/* ---- the weight ------------------------------------------------------------------------------ */

static const float *column(const eg__product *p, int64_t o)
{
    return (const float *)p->b + o * p->cb;
}

static int64_t most(const eg__product *p)
{
    return p->n * p->k / SHARE;
}

/* Whether it looks as if there were enough zeros. */
static bool looks_thin(const eg__product *p)
{
    const int64_t step = p->k * 5 / 8; /* no division */
    int found = 0;
    for (int64_t i = 0, k = 0; i < SAMPLES && found <= MOST_SAMPLES; i++) {
        found += column(p, i * p->n / SAMPLES)[k] != 0;
        k += step;
        k -= k < p->k ? 0 : p->k;
    }
    return found <= MOST_SAMPLES;
}

static thin lay_out(const eg__product *p, void *memory)
{
    int32_t *numbers = memory;
    return (thin){numbers, numbers + p->n + 1, (float *)(numbers + p->n + 1 + most(p))};
}

static size_t bytes_of(const eg__product *p)
{
    return (size_t)(p->n + 1 + most(p)) * sizeof(int32_t) + (size_t)most(p) * sizeof(float);
}

/* A bit for each of up to SIDE elements that is not zero. */
static unsigned there(const float *x, int64_t n)
{
    unsigned bits = 0;
#ifdef __SSE2__
    for (int i = 0; i < SIDE && n >= SIDE; i += 4) {
        bits |= (unsigned)_mm_movemask_ps(_mm_cmpneq_ps(_mm_loadu_ps(x + i), _mm_setzero_ps())) << i;
    }
    n = n >= SIDE ? 0 : n;
#endif
    for (int i = 0; i < SIDE && i < n; i++) {
        bits |= (unsigned)(x[i] != 0) << i;
    }
    return bits;
}

/* Whether there are enough zeros. */
static bool is_thin(const eg__product *p)
{
    int64_t n = 0;
    for (int64_t o = 0; o < p->n && n <= most(p); o++) {
        for (int64_t k = 0; k < p->k; k += SIDE) {
            n += __builtin_popcount(there(column(p, o) + k, p->k - k));
        }
    }
    return n <= most(p);
}

static void fill(const eg__product *p, thin *w)
{
    int64_t n = 0;
    for (int64_t o = 0; o < p->n; o++) {
        const float *from = column(p, o);
        w->start[o] = (int32_t)n;
        for (int64_t k = 0; k < p->k; k += SIDE) {
            for (unsigned bits = there(from + k, p->k - k); bits; bits &= bits - 1) {
                w->row[n] = (int32_t)k + __builtin_ctz(bits);
                w->value[n] = from[w->row[n]];
                n++;
            }
        }
    }
    w->start[p->n] = (int32_t)n;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* y[i][j] = x[j][i] for rows of y and columns. */
static void turn(const float *x, int64_t sx, float *y, int64_t sy, int64_t rows, int64_t columns)
{
    if (rows == SIDE && columns == SIDE) {
        float in[SIDE][SIDE], out[SIDE][SIDE];
        for (int j = 0; j < SIDE; j++) {
            memcpy(in[j], x + j * sx, sizeof in[j]);
        }
        for (int i = 0; i < SIDE; i++) {
            for (int j = 0; j < SIDE; j++) {
                out[i][j] = in[j][i];
            }
        }
        for (int i = 0; i < SIDE; i++) {
            memcpy(y + i * sy, out[i], sizeof out[i]);
        }
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            y[i * sy + j] = x[j * sx + i];
        }
    }
}

/* `rows` rows of a, as vectors of so many elements. */
static void take(const eg__product *p, int64_t first, int64_t rows, int64_t width, float *x)
{
    const float *a = (const float *)p->a + first * p->ra;
    for (int64_t k = 0; k < p->k && p->ca != 1; k++) {
        memcpy(x + k * width, a + k * p->ca, (size_t)rows * sizeof *x);
    }
    for (int64_t k = 0; k < p->k && p->ca == 1; k += SIDE) {
        for (int64_t j = 0; j < rows; j += SIDE) {
            turn(a + j * p->ra + k, p->ra, x + k * width + j, width, eg__min(SIDE, p->k - k), eg__min(SIDE, rows - j));
        }
    }
    for (int64_t k = 0; k < p->k && rows < width; k++) {
        memset(x + k * width + rows, 0, (size_t)(width - rows) * sizeof *x);
    }
}

static bool all_finite(const float *x, int64_t n)
{
    eg__f32s sum = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        sum += *(const eg__f32s *)(x + i) * 0;
    }
    float all = 0;
    for (int i = 0; i < LANES; i++) {
        all += sum[i];
    }
    return all == 0;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Of one column, two at a time, so that a sum need not wait for the one before. */
static EG__INLINE void sum_thin(const thin *w, int64_t o, const float *x, int wide, float *y)
{
    eg__f32s even[WIDE] = {{0}}, odd[WIDE] = {{0}};
    int32_t e = w->start[o];
    const int32_t end = w->start[o + 1];
    for (; e + 1 < end; e += 2) {
        const eg__f32s *r = (const eg__f32s *)(x + (int64_t)w->row[e] * wide * LANES);
        const eg__f32s *s = (const eg__f32s *)(x + (int64_t)w->row[e + 1] * wide * LANES);
        for (int i = 0; i < wide; i++) {
            even[i] += w->value[e] * r[i];
            odd[i] += w->value[e + 1] * s[i];
        }
    }
    for (; e < end; e++) {
        const eg__f32s *r = (const eg__f32s *)(x + (int64_t)w->row[e] * wide * LANES);
        for (int i = 0; i < wide; i++) {
            even[i] += w->value[e] * r[i];
        }
    }
    for (int i = 0; i < wide; i++) {
        ((eg__f32s *)y)[i] = even[i] + odd[i];
    }
}

static void sum_all(const eg__product *p, int64_t o, const float *x, int wide, float *y)
{
    eg__f32s sum[WIDE] = {{0}};
    for (int64_t k = 0; k < p->k; k++) {
        for (int i = 0; i < wide; i++) {
            sum[i] += column(p, o)[k] * ((const eg__f32s *)x)[k * wide + i];
        }
    }
    memcpy(y, sum, (size_t)wide * sizeof *sum);
}

static EG__INLINE void columns(const job *j, const float *x, bool finite, int64_t first, int64_t rows, int64_t begin,
                               int64_t end, int wide)
{
    const eg__product *p = j->p;
    const int64_t width = (int64_t)wide * LANES;
    _Alignas(64) float y[SIDE * WIDE * LANES];
    for (int64_t o = begin; o < end; o += SIDE) {
        const int64_t some = eg__min(SIDE, end - o);
        for (int64_t i = 0; i < some; i++) {
            if (finite) {
                sum_thin(&j->w, o + i, x, wide, y + i * width);
            } else {
                sum_all(p, o + i, x, wide, y + i * width);
            }
        }
        for (int64_t r = 0; r < rows; r += SIDE) {
            turn(y + r, width, (float *)p->y + (first + r) * p->ry + o, p->ry, eg__min(SIDE, rows - r), some);
        }
    }
}

static void tile(const job *j, int64_t first, int64_t rows, int64_t begin, int64_t end, float *x)
{
    const int wide = (int)((rows + LANES - 1) / LANES);
    take(j->p, first, rows, (int64_t)wide * LANES, x);
    const bool finite = all_finite(x, j->p->k * wide * LANES);
    switch (wide) {
    case 1:
        columns(j, x, finite, first, rows, begin, end, 1);
        break;
    case 2:
        columns(j, x, finite, first, rows, begin, end, 2);
        break;
    case 3:
        columns(j, x, finite, first, rows, begin, end, 3);
        break;
    default:
        columns(j, x, finite, first, rows, begin, end, WIDE);
    }
}

static void share(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const eg__product *p = j->p;
    const int64_t units = j->tiles * j->parts;
    for (int64_t piece = begin; piece < end; piece++) {
        for (int64_t u = units * piece / j->pieces; u < units * (piece + 1) / j->pieces; u++) {
            const int64_t first = u / j->parts * WIDE * LANES, part = u % j->parts;
            tile(j, first, eg__min(WIDE * LANES, p->m - first), p->n * part / j->parts, p->n * (part + 1) / j->parts,
                 j->buffers + (size_t)piece * j->room);
        }
    }
}

static eg_status multiply(const eg__call *c, const eg__product *p, const thin *w)
{
    job j = {.p = p, .w = *w, .tiles = (p->m + WIDE * LANES - 1) / (WIDE * LANES), .parts = 1};
    const double work = (double)p->m * w->start[p->n];
    j.pieces = work / WORK < eg_threads() ? (int64_t)(work / WORK) + 1 : eg_threads();
    j.parts = j.tiles < j.pieces ? eg__min((j.pieces + j.tiles - 1) / j.tiles, p->n) : 1;
    j.pieces = eg__min(j.pieces, j.tiles * j.parts);
    j.room = ((size_t)p->k * WIDE * LANES + 15) / 16 * 16;
    eg__scratch s;
    eg_status st = eg__scratch_get(c, (size_t)j.pieces * j.room * sizeof *j.buffers, &s);
    if (!st) {
        j.buffers = s.data;
        eg__parallel(j.pieces, 1, share, &j);
        eg__scratch_put(c, &s);
    }
    return st;
}

/* ---- the choice ------------------------------------------------------------------------------ */

static bool fits(const eg__product *p)
{
    return p->dtype == EG_F32 && p->keep && !p->nbatch && !p->add && p->rb == 1 && (p->ca == 1 || p->ra == 1) &&
           p->m >= LEAST && p->k >= LEAST && p->n >= LEAST && p->n < INT32_MAX / p->k;
}

eg_status ISA(eg__product_sparse)(const eg__call *c, const eg__product *p, bool *done)
{
    *done = false;
    if (!fits(p) || !looks_thin(p)) {
        return EG_OK;
    }
    const int64_t key[] = {KEY, p->b - p->keep->data, p->n, p->k, p->cb};
    eg__pack *kept = eg__pack_get(c->T, p->keep, key, EG__COUNT(key), bytes_of(p));
    eg__scratch s = {NULL, 0};
    eg_status st = kept ? EG_OK : eg__scratch_get(c, bytes_of(p), &s);
    thin w = st ? (thin){NULL, NULL, NULL} : lay_out(p, kept ? kept->data : s.data);
    const bool ready = kept && kept->full;
    *done = !st && (ready || is_thin(p));
    if (*done && !ready) {
        fill(p, &w);
    }
    if (*done && !ready && kept) {
        eg__pack_filled(kept);
    }
    st = *done ? multiply(c, p, &w) : st;
    if (kept) {
        eg__pack_put(kept);
    }
    eg__scratch_put(c, &s);
    return st;
}
