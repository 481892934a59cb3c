/* pool.c - pooling and its gradients, for images that lie channels-last and for planes. */
#include <math.h>

#include "lib/cpu/isa.h"
#include "lib/ops/pool.h"

eg__kernel ISA(eg__cpu_max_pool), ISA(eg__cpu_max_pool_grad), ISA(eg__cpu_avg_pool),
    ISA(eg__cpu_avg_pool_grad);

enum { LANES = 256, FLUSH = 32 };

typedef struct job {
    eg__pool_opts o;
    bool max, bytes; /* places are u8, else i32 */
    int dtype;
    int64_t images, channels, cells; /* cells of a plane of the larger side */
    const void *x, *dy;
    void *y, *places;
    eg__window *across; /* of each window along the last axis, and what it counts */
    int64_t *count;
    int64_t *low, *high; /* of each tap along the last axis: the windows low..high-1 have it */
    int64_t *step;       /* of each tap of a small window: cells from the window's begin */
} job;

/* The row of cells, and the cell, of a tap. */
static inline int64_t row_of(const job *j, const eg__window *w, int64_t a, int64_t b)
{
    return (w[0].begin + a * j->o.dilation[0]) * j->o.in[1] + w[1].begin + b * j->o.dilation[1];
}

static inline int64_t cell_of(const job *j, const eg__window *w, int64_t a, int64_t b, int64_t c)
{
    return row_of(j, w, a, b) * j->o.in[2] + w[2].begin + c * j->o.dilation[2];
}

static int64_t step_of(const eg__pool_opts *o, int64_t tap)
{
    int64_t c = tap % o->kernel[2], b = tap / o->kernel[2] % o->kernel[1];
    int64_t a = tap / o->kernel[2] / o->kernel[1];
    return (a * o->dilation[0] * o->in[1] + b * o->dilation[1]) * o->in[2] + c * o->dilation[2];
}

#define T        float
#define FN(name) name##_f32
#include "lib/cpu/pool_loops.h"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "lib/cpu/pool_loops.h"
#undef T
#undef FN

#define RANGE(name)                                                                                \
    static void name(void *ctx, int64_t begin, int64_t end)                                        \
    {                                                                                              \
        const job *j = ctx;                                                                        \
        (j->dtype == EG_F32 ? name##_f32 : name##_f64)(j, begin, end);                             \
    }
RANGE(last_rows)
RANGE(last_rows_grad)
RANGE(plane_rows)
RANGE(planes_grad)

static int64_t clamp(int64_t v, int64_t high)
{
    return v < 0 ? 0 : v > high ? high : v;
}

/* Tables along the last axis. */
static eg_status prepare(const eg__call *c, job *j, const eg_tensor *images, eg__scratch *s)
{
    const eg__pool_opts *o = &j->o;
    int64_t out = o->out[2], k = o->kernel[2], steps = j->bytes ? 256 : 0;
    j->dtype = images->dtype;
    j->images = images->shape[0];
    j->channels = images->shape[1];
    j->cells = o->in[0] * o->in[1] * o->in[2];
    if (eg__scratch_get(c, (size_t)out * (sizeof *j->across + 8) + (size_t)(2 * k + steps) * 8,
                        s)) {
        return EG_ENOMEM;
    }
    j->across = s->data;
    j->count = (int64_t *)(j->across + out);
    j->low = j->count + out;
    j->high = j->low + k;
    j->step = j->high + k;
    for (int64_t p = 0; p < out; p++) {
        j->across[p] = eg__window_of(o, 2, p);
        j->count[p] = eg__window_cells(o, 2, p);
    }
    for (int64_t t = 0; t < k; t++) { /* 0 <= p stride - before + t dilation < in */
        int64_t at = o->before[2] - t * o->dilation[2], stride = o->stride[2];
        j->low[t] = at <= 0 ? 0 : clamp((at + stride - 1) / stride, out);
        j->high[t] = at + o->in[2] <= 0 ? 0 : clamp((at + o->in[2] - 1) / stride + 1, out);
    }
    for (int64_t t = 0; t < steps; t++) {
        j->step[t] = step_of(o, t);
    }
    return EG_OK;
}

/* `units` pieces of work that touch so many elements in all. */
static void spread(job *j, int64_t units, int64_t elements, eg__range_fn *fn)
{
    eg__parallel(units, EG__GRAIN / 2 / eg__max(1, elements / eg__max(1, units)) + 1, fn, j);
}

static eg_status forward(const eg__call *c, bool max)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    job j = {.o = *(const eg__pool_opts *)c->opts, .max = max, .x = eg__ptr(x), .y = eg__ptr(y)};
    eg__scratch s;
    if (!y->n) {
        return EG_OK;
    }
    if (max) {
        j.places = eg__ptr(c->out[1]);
        j.bytes = c->out[1]->dtype == EG_U8;
    }
    if (prepare(c, &j, x, &s)) {
        return EG_ENOMEM;
    }
    int64_t rows = j.images * j.o.out[0] * j.o.out[1];
    if (j.o.last) {
        spread(&j, rows, x->n, last_rows);
    } else {
        spread(&j, rows * j.channels, x->n, plane_rows);
    }
    eg__scratch_put(c, &s);
    return EG_OK;
}

static eg_status backward(const eg__call *c, bool max)
{
    const eg_tensor *dy = c->in[0], *dx = c->out[0];
    job j = {.o = *(const eg__pool_opts *)c->opts, .max = max, .dy = eg__ptr(dy), .y = eg__ptr(dx)};
    eg__scratch s;
    if (!dx->n) {
        return EG_OK;
    }
    if (max) {
        j.places = eg__ptr(c->in[1]);
        j.bytes = c->in[1]->dtype == EG_U8;
    }
    if (prepare(c, &j, dx, &s)) {
        return EG_ENOMEM;
    }
    if (j.o.last) {
        spread(&j, j.images * j.o.in[0] * j.o.in[1], dx->n, last_rows_grad);
    } else {
        spread(&j, j.images * j.channels, dx->n, planes_grad);
    }
    eg__scratch_put(c, &s);
    return EG_OK;
}

eg_status ISA(eg__cpu_max_pool)(const eg__call *c)
{
    return forward(c, true);
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
