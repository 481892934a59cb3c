/* pool.c - pooling and its gradients, of images that lie channels-last and of planes. */
#include <math.h>

#include "lib/cpu/common/isa.h"
#include "lib/cpu/common/lanes.h"
#include "lib/ops/pool.h"

eg__kernel ISA(eg__cpu_max_pool), ISA(eg__cpu_max_pool_grad), ISA(eg__cpu_avg_pool), ISA(eg__cpu_avg_pool_grad);
extern eg__kernel eg__ref_max_pool; /* of i64 */

enum { LANES = 512, FUSED = 3, SMALL = 9, FLUSH = 32, VECTOR = 16, MAX_RING = 4 << 20 };

typedef struct job job;
typedef void range_fn(const job *j, void *buffer, int64_t begin, int64_t end);

struct job {
    eg__pool_opts o;
    bool max, bytes; /* places are u8, else i32 */
    bool single;     /* windows of planes one by one */
    int64_t channels, cells;
    const void *x, *dy;
    void *y, *places;
    /* Along the last axis: each window, one divided by what it counts, and its first tap; the
     * windows that may hold a cell. */
    eg__window *across;
    double *share;
    int32_t *first;
    eg__span *holders;
    int64_t at[FLUSH];  /* from a tap to those after it */
    int64_t step[256];  /* from a window's begin to each tap */
    int64_t small;      /* taps of means that are added at once, 4 or 9, or -1 */
    int64_t part, ring; /* of rows split by the stride: length, and rows held */
    range_fn *fn;
    int64_t units, pieces;
    size_t buffer_bytes;
    char *buffers; /* one per piece */
};

static inline int64_t whole(int64_t n)
{
    return (n + VECTOR - 1) / VECTOR * VECTOR;
}

static inline int32_t tap_number(const eg__pool_opts *o, int64_t a, int64_t b, int64_t c)
{
    return (int32_t)((a * o->kernel[1] + b) * o->kernel[2] + c);
}

static inline int64_t cell_of(const job *j, const eg__window *w, int64_t a, int64_t b, int64_t c)
{
    const eg__pool_opts *o = &j->o;
    int64_t plane = w[0].begin + a * o->dilation[0], row = w[1].begin + b * o->dilation[1];
    return (plane * o->in[1] + row) * o->in[2] + w[2].begin + c * o->dilation[2];
}

static int64_t step_of(const eg__pool_opts *o, int64_t tap)
{
    int64_t c = tap % o->kernel[2], b = tap / o->kernel[2] % o->kernel[1];
    int64_t a = tap / o->kernel[2] / o->kernel[1];
    return (a * o->dilation[0] * o->in[1] + b * o->dilation[1]) * o->in[2] + c * o->dilation[2];
}

/* A mean's factor but for the last axis. */
static double rest_of(const eg__pool_opts *o, int64_t p0, int64_t p1)
{
    return 1 / (double)(eg__window_cells(o, 0, p0) * eg__window_cells(o, 1, p1));
}

static void put_places(const job *j, int64_t at, int64_t n, const int32_t *restrict where)
{
    if (j->bytes) {
        uint8_t *restrict to = (uint8_t *)j->places + at;
        for (int64_t i = 0; i < n; i++) {
            to[i] = (uint8_t)where[i];
        }
    } else {
        memcpy((int32_t *)j->places + at, where, (size_t)n * sizeof *where);
    }
}

/* The places as i32, in the buffer if they are not. */
static const int32_t *get_places(const job *j, int64_t at, int64_t n, int32_t *restrict buffer)
{
    if (!j->bytes) {
        return (const int32_t *)j->places + at;
    }
    const uint8_t *restrict from = (const uint8_t *)j->places + at;
    for (int64_t i = 0; i < n; i++) {
        buffer[i] = from[i];
    }
    return buffer;
}

#define T        float
#define FN(name) name##_f32
#include "lib/cpu/image/pool_loops.h"
#include "lib/cpu/image/pool_planes.h"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "lib/cpu/image/pool_loops.h"
#include "lib/cpu/image/pool_planes.h"
#undef T
#undef FN

static void run_pieces(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    for (int64_t k = begin; k < end; k++) {
        j->fn(j, j->buffers + (size_t)k * j->buffer_bytes, j->units * k / j->pieces, j->units * (k + 1) / j->pieces);
    }
}

/* Makes the tables and buffers, and runs j->fn over j->units. */
static eg_status run(const eg__call *c, job *j, int64_t elements)
{
    const eg__pool_opts *o = &j->o;
    int64_t out = o->out[2], in = o->in[2];
    size_t tables = (size_t)(whole(out) * 2 + in * 2) * 8 + (size_t)out * sizeof *j->across;
    eg__scratch s;
    tables = (tables + 63) / 64 * 64;
    j->buffer_bytes = (j->buffer_bytes + 63) / 64 * 64;
    j->pieces = eg__max(1, eg__min(eg__min(eg_threads(), j->units), elements * 2 / EG__GRAIN));
    if (eg__scratch_get(c, tables + (size_t)j->pieces * j->buffer_bytes, &s)) {
        return EG_ENOMEM;
    }
    j->buffers = (char *)s.data + tables;
    j->share = s.data;
    j->across = (eg__window *)(j->share + whole(out));
    j->holders = (eg__span *)(j->across + out);
    j->first = (int32_t *)(j->holders + in);
    memset(s.data, 0, tables);
    for (int64_t p = 0; p < out; p++) {
        j->across[p] = eg__window_of(o, 2, p);
        j->share[p] = 1 / (double)eg__window_cells(o, 2, p);
        j->first[p] = (int32_t)j->across[p].first;
    }
    for (int64_t i = 0; i < in; i++) {
        j->holders[i] = eg__windows_of(o, 2, i);
    }
    eg__parallel(j->pieces, 1, run_pieces, j);
    eg__scratch_put(c, &s);
    return EG_OK;
}

/* Chooses how planes are pooled: over rows split by the stride, if a few of them fit the cache. */
static void split_rows(job *j, size_t element)
{
    const eg__pool_opts *o = &j->o;
    int64_t s = o->stride[2], step = o->dilation[2], k = o->kernel[2];
    double part = (double)o->out[2] + (double)((k - 1) * step) / (double)s + 2 * VECTOR;
    double rows = (double)o->kernel[0] * ((double)(o->kernel[1] - 1) * (double)o->dilation[1] + 1);
    double bytes = part * (double)s * (rows + 1) * (double)element;
    j->single = o->adaptive || k > FLUSH || bytes > MAX_RING;
    if (!j->single) {
        j->part = whole(whole(o->out[2]) + (k - 1) * step / s);
        j->ring = (o->kernel[1] - 1) * o->dilation[1] + 1;
        j->buffer_bytes = (size_t)((o->kernel[0] * j->ring + 1) * s * j->part) * element;
        for (int64_t t = 0; t < k; t++) {
            j->at[t] = t * step % s * j->part + t * step / s;
        }
    }
}

/* The same for gradients of means: rows of cells put together of `stride` parts. */
static void merge_rows(job *j, size_t element)
{
    const eg__pool_opts *o = &j->o;
    int64_t s = o->stride[2];
    j->single = o->adaptive || o->kernel[2] > FLUSH || s > 4 * FLUSH;
    if (!j->single) {
        j->part = whole((o->in[2] + o->before[2]) / s + 1);
        int64_t sums = whole((o->kernel[2] - 1) / s) + whole(eg__max(o->out[2], j->part));
        j->buffer_bytes = (size_t)(sums + 2 * s * j->part) * element;
        for (int64_t t = 0; t < FLUSH; t++) {
            j->at[t] = -t;
        }
    }
}

#define OF(dtype, name) ((dtype) == EG_F32 ? name##_f32 : name##_f64)

static eg_status forward(const eg__call *c, bool max)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    job j = {.o = *(const eg__pool_opts *)c->opts, .max = max, .x = eg__ptr(x), .y = eg__ptr(y)};
    if (!y->n) {
        return EG_OK;
    }
    if (max) {
        j.places = eg__ptr(c->out[1]);
        j.bytes = c->out[1]->dtype == EG_U8;
    }
    j.channels = x->shape[1];
    j.cells = j.o.in[0] * j.o.in[1] * j.o.in[2];
    j.units = x->shape[0] * j.o.out[0] * j.o.out[1];
    if (j.o.last) {
        for (int64_t t = 0; t < FLUSH; t++) {
            j.at[t] = t * j.o.dilation[2] * j.channels;
        }
        j.small = j.o.kernel[0] * j.o.kernel[1] * j.o.kernel[2];
        j.small = j.small == 4 || j.small == SMALL ? j.small : -1;
        for (int t = 0; t < j.small; t++) {
            j.step[t] = step_of(&j.o, t) * j.channels;
        }
        j.fn = OF(x->dtype, last_rows);
    } else {
        split_rows(&j, eg__esize(x));
        j.units *= j.channels;
        j.fn = OF(x->dtype, plane_rows);
    }
    return run(c, &j, x->n);
}

static eg_status backward(const eg__call *c, bool max)
{
    const eg_tensor *dy = c->in[0], *dx = c->out[0];
    job j = {.o = *(const eg__pool_opts *)c->opts, .max = max, .dy = eg__ptr(dy), .y = eg__ptr(dx)};
    const eg__pool_opts *o = &j.o;
    if (!dx->n) {
        return EG_OK;
    }
    if (max) {
        j.places = eg__ptr(c->in[1]);
        j.bytes = c->in[1]->dtype == EG_U8;
    }
    j.channels = dx->shape[1];
    j.cells = o->in[0] * o->in[1] * o->in[2];
    j.units = dx->shape[0] * (o->last ? 1 : j.channels);
    if (o->last) {
        j.units *= o->in[0] * o->in[1];
        j.buffer_bytes = max ? (size_t)(o->out[2] * j.channels) * sizeof(int32_t) : 0;
        j.fn = OF(dx->dtype, last_rows_grad);
    } else if (max) {
        for (int t = 0; t < 256; t++) {
            j.step[t] = step_of(o, t);
        }
        j.fn = OF(dx->dtype, max_planes_grad);
    } else {
        merge_rows(&j, eg__esize(dx));
        j.units *= j.single ? 1 : o->in[0] * o->in[1];
        j.fn = j.single ? OF(dx->dtype, avg_planes_grad) : OF(dx->dtype, avg_rows_grad);
    }
    return run(c, &j, dx->n);
}

eg_status ISA(eg__cpu_max_pool)(const eg__call *c)
{
    return likely(c->in[0]->dtype != EG_I64) ? forward(c, true) : eg__ref_max_pool(c);
}

eg_status ISA(eg__cpu_max_pool_grad)(const eg__call *c)
{
    return backward(c, true);
}

eg_status ISA(eg__cpu_avg_pool)(const eg__call *c)
{
    return forward(c, false);
}

eg_status ISA(eg__cpu_avg_pool_grad)(const eg__call *c)
{
    return backward(c, false);
}
