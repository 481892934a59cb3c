/* reduce.c - the host side of reductions: which kernel goes over the elements in which order. */
#include <math.h>

#include "lib/cuda/reduce/reduce.h"
#include "lib/cuda/common/launches.h"
#include "lib/ops/options.h"

typedef cudaError_t launch(const eg__reduction *r, const eg__reduce_how *how, cudaStream_t s);

/* ---- geometry ---------------------------------------------------------------------------------------- */

/* Places are counted in row-major order, so that axes keep theirs if `ordered`. */
static eg__reduction operands(const eg__call *c, bool ordered)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    const eg__reduce_opts *o = c->opts;
    const int64_t from = (int64_t)eg__esize(x), to = (int64_t)eg__esize(y);
    int64_t strides[2][EG_MAX_DIMS];
    int k = 0;
    for (int d = 0; d < x->ndim; d++) {
        bool goes = o->axes >> d & 1;
        strides[0][d] = x->strides[d] * from;
        strides[1][d] = goes ? 0 : y->strides[k] * to;
        k += !goes || o->keepdim;
    }
    eg__reduction r = {.x = eg__ptr(x),
                       .y = eg__ptr(y),
                       .dtype = x->dtype,
                       .size = (int)from,
                       .to = y->dtype,
                       .in = eg__class_of(x->dtype),
                       .parts = 1,
                       .part_runs = 1};
    const int64_t(*by)[EG_MAX_DIMS] = (const int64_t(*)[EG_MAX_DIMS])strides;
    eg__axes_make(&r.kept, x->ndim, x->shape, ~o->axes, 2, by, true);
    eg__axes_make(&r.reduced, x->ndim, x->shape, o->axes, 1, by, !ordered);
    r.count = r.part = r.reduced.n;
    return r;
}

/* The innermost reduced axis becomes the run. */
static void take_run(eg__reduction *r)
{
    eg__axes *a = &r->reduced;
    r->run = a->shape[--a->ndim];
    a->stride[0][a->ndim] = 0;
    a->n /= r->run;
}

static int64_t blocks_of(const eg__reduction *r, int threads)
{
    return (r->kept.n * r->lanes + threads - 1) / threads;
}

/* How many threads a result gets, and into how many parts the work on it is cut, for lines side by side. */
static void share_runs(eg__reduction *r, int processors)
{
    enum { MOST = 1 << 30, LEAST_BYTES = 1 << 16 };
    const bool few = r->kept.n * (r->run / 16) < (int64_t)processors * 1024;
    r->lanes = (unsigned)eg__power((r->run + 15) / (few ? 4 : 16), 256);
    int64_t blocks = blocks_of(r, 256), want = 1, pieces = (r->run + MOST - 1) / MOST;
    if (blocks < 2 * processors && r->count * r->size >= 2 * LEAST_BYTES) {
        want = eg__min(4 * processors / blocks, r->count * r->size / LEAST_BYTES);
    }
    int64_t lines = eg__min(want, r->reduced.n);
    pieces = eg__max(pieces, eg__min(want / lines, (r->run + 4095) / 4096));
    r->part = ((r->run + pieces - 1) / pieces + 1023) / 1024 * 1024;
    r->part_runs = (unsigned)((r->run + r->part - 1) / r->part);
    r->parts = r->part_runs * (unsigned)lines;
}

/* The same for elements anywhere: neighbouring threads follow the axis with the least step. */
static void share_each(eg__reduction *r, int processors)
{
    const int64_t along = eg__innermost(&r->reduced), across = eg__innermost(&r->kept);
    r->along = r->reduced.ndim && (!r->kept.ndim || along < across);
    if (r->along) {
        r->lanes = (unsigned)eg__power((r->count + 3) / 4, 256);
    } else {
        int wide = eg__power(r->kept.n, 256 / eg__power((r->count + 7) / 8, 2 * r->size));
        r->lanes = 256 / (unsigned)wide;
    }
    const int64_t blocks = blocks_of(r, 256), work = r->count / r->lanes;
    if (blocks < 2 * processors && work >= 64) {
        const int64_t parts = eg__min(4 * processors / blocks, work / 16);
        r->part = (r->count + parts - 1) / parts;
        r->parts = (unsigned)((r->count + r->part - 1) / r->part);
    }
}

static eg__reduction shared_out(const eg__call *c, bool ordered)
{
    enum { SHORT = 512 };
    eg__reduction r = operands(c, ordered);
    const int processors = eg__cuda_at(c->device)->processors, last = r.reduced.ndim - 1;
    if (r.count && last >= 0 && r.reduced.stride[0][last] == r.size && (!last || r.reduced.shape[last] >= SHORT)) {
        take_run(&r);
        share_runs(&r, processors);
    } else {
        share_each(&r, processors);
    }
    return r;
}

/* ---- the ops ----------------------------------------------------------------------------------------- */

static eg_status reduce(const eg__call *c, launch *f, eg__reduce_how how)
{
    if (!c->out[0]->n) {
        return EG_OK;
    }
    eg__reduction r = shared_out(c, how.op == EG__REDUCE_argmax || how.op == EG__REDUCE_argmin);
    eg__block *scratch = NULL;
    eg_status st = EG_OK;
    if (how.op == EG__REDUCE_var || how.op == EG__REDUCE_std) {
        const bool biased = ((const eg__reduce_opts *)c->opts)->biased;
        how.free = biased ? (double)r.count : fmax((double)r.count - 1, 0);
    }
    if (r.parts > 1) {
        st = eg__cuda_scratch(c, (size_t)r.kept.n * r.parts * EG__STATE_BYTES, &scratch);
        r.parts_at = st ? NULL : scratch->data;
    }
    st = st ? st : eg__launched(c, f(&r, &how, eg__stream_of(c)));
    eg__cuda_scratch_end(scratch);
    return st;
}

#define EG_REDUCTION(name, public, grad, cast, dtypes, flags, infer, saves, fold, finish, launch) \
    eg_status eg__cuda_##name(const eg__call *c)                                                  \
    {                                                                                             \
        return reduce(c, eg__launch_##launch, (eg__reduce_how){.op = EG__REDUCE_##name});         \
    }
#include "lib/ops/reduce.def"
#undef EG_REDUCTION

eg_status eg__cuda_norm(const eg__call *c)
{
    const double p = ((const eg__reduce_opts *)c->opts)->p;
    return reduce(c, isinf(p) ? eg__launch_extreme : eg__launch_sum, (eg__reduce_how){.op = EG__REDUCE_norm, .p = p});
}
