/* fft.c - Fourier transforms by cuFFT: its functions, plans kept, and what it leaves to do.
 *
 * A plan belongs to a card and holds one stream and one work area, which it is given before each
 * use, under a lock until the work is queued; queued work keeps its own, so that streams may share
 * a plan. With a work area from us a transform allocates nothing, so it can be captured if its plan
 * is there. */
#include <cufft.h>

#include "lib/core/capture.h"
#include "lib/cuda/runtime/cuda.h"
#include "lib/cuda/matrix/fft.h"
#include "lib/cuda/runtime/library.h"
#include "lib/ops/options.h"

/* ---- the library ----------------------------------------------------------------------------- */

#define FUNCTIONS(X)          \
    X(cufftCreate)            \
    X(cufftDestroy)           \
    X(cufftExecC2C)           \
    X(cufftExecC2R)           \
    X(cufftExecD2Z)           \
    X(cufftExecR2C)           \
    X(cufftExecZ2D)           \
    X(cufftExecZ2Z)           \
    X(cufftMakePlanMany64)    \
    X(cufftSetAutoAllocation) \
    X(cufftSetStream)         \
    X(cufftSetWorkArea)

EG__LIBRARY(fft, FUNCTIONS, .title = "cuFFT", .files = {"libcufft.so.12", "libcufft.so.11"});

static eg_status failed(const eg__call *c, cufftResult e, const char *what)
{
    static const char *const words[] = {
        [CUFFT_INVALID_PLAN] = "invalid plan",     [CUFFT_INVALID_TYPE] = "invalid type",
        [CUFFT_INVALID_VALUE] = "invalid value",   [CUFFT_INTERNAL_ERROR] = "internal error",
        [CUFFT_EXEC_FAILED] = "execution failed",  [CUFFT_SETUP_FAILED] = "setup failed",
        [CUFFT_INVALID_SIZE] = "invalid size",     [CUFFT_UNALIGNED_DATA] = "unaligned data",
        [CUFFT_INVALID_DEVICE] = "invalid device", [CUFFT_NO_WORKSPACE] = "no work area",
        [CUFFT_NOT_SUPPORTED] = "not supported"};
    eg__cuda *d = eg__cuda_at(c->device);
    const char *word = (int)e < EG__COUNT(words) ? words[e] : NULL;
    eg_status st = eg__cuda_check(d, c->op->name, cudaGetLastError(), what);
    if (st) {
        return st;
    }
    if (e == CUFFT_ALLOC_FAILED) {
        return eg__fail(EG_ENOMEM, c->op->name, "%s has no memory for cuFFT (%s)", d->device->name, what);
    }
    return eg__fail(EG_EFAULT, c->op->name, "%s: cuFFT: %s: error %d, %s", d->device->name, what, (int)e,
                    word ? word : "of a kind of its own");
}

/* ---- plans kept ------------------------------------------------------------------------------ */

/* Element j of line l at j * step + l * lane on either side, in elements of that side. */
typedef struct shape {
    int64_t n, lines, step, lane_in, lane_out;
    cufftType type;
    int ordinal; /* of the card */
} shape;

typedef struct plan {
    shape shape; /* lines 0: empty */
    cufftHandle handle;
    size_t work;
    uint64_t used; /* UINT64_MAX: by a captured graph, and so for good */
} plan;

enum { PLANS = 64 };
static struct {
    pthread_mutex_t lock;
    uint64_t clock;
    plan plan[PLANS];
} plans = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool same(const shape *a, const shape *b)
{
    return a->n == b->n && a->lines == b->lines && a->step == b->step && a->lane_in == b->lane_in &&
           a->lane_out == b->lane_out && a->type == b->type && a->ordinal == b->ordinal;
}

/* The first failure of several calls. */
#define TRY(call) e = e ? e : (call)

static eg_status make(const eg__call *c, const shape *s, plan *p)
{
    long long n = s->n, whole = s->n;
    cufftResult e = fft.cufftCreate(&p->handle);
    if (e) {
        return failed(c, e, "starting");
    }
    e = fft.cufftSetAutoAllocation(p->handle, 0);
    TRY(fft.cufftMakePlanMany64(p->handle, 1, &n, &whole, s->step, s->lane_in, &whole, s->step, s->lane_out, s->type,
                                s->lines, &p->work));
    if (e) {
        fft.cufftDestroy(p->handle);
        return failed(c, e, "planning");
    }
    p->shape = *s;
    return EG_OK;
}

/* The plan, or a new one in a free place or that of the one used longest ago. Under the lock. */
static eg_status find(const eg__call *c, const shape *s, plan **found)
{
    plan *oldest = plans.plan;
    eg_status st = EG_OK;
    for (plan *p = plans.plan; p < plans.plan + PLANS; p++) {
        oldest = p->used < oldest->used ? p : oldest;
        if (same(&p->shape, s)) {
            oldest = p;
            break;
        }
    }
    if (!same(&oldest->shape, s)) {
        if (oldest->used == UINT64_MAX) {
            return eg__fail(EG_ENOKERNEL, c->op->name, "captured steps use all of %d plans", PLANS);
        }
        st = eg__capture_stop(c->op->name, NULL);
        if (oldest->shape.lines) { /* waits for the card: there may be work with its tables */
            fft.cufftDestroy(oldest->handle);
        }
        *oldest = (plan){0};
        st = st ? st : make(c, s, oldest);
    }
    if (!st && oldest->used != UINT64_MAX) {
        oldest->used = c->T->capture ? UINT64_MAX : ++plans.clock;
    }
    *found = oldest;
    return st;
}

/* ---- a call ---------------------------------------------------------------------------------- */

static cufftResult execute(const plan *p, void *x, void *y, int direction)
{
    switch (p->shape.type) {
    case CUFFT_C2C:
        return fft.cufftExecC2C(p->handle, x, y, direction);
    case CUFFT_Z2Z:
        return fft.cufftExecZ2Z(p->handle, x, y, direction);
    case CUFFT_R2C:
        return fft.cufftExecR2C(p->handle, x, y);
    case CUFFT_D2Z:
        return fft.cufftExecD2Z(p->handle, x, y);
    case CUFFT_C2R:
        return fft.cufftExecC2R(p->handle, x, y);
    default:
        return fft.cufftExecZ2D(p->handle, x, y);
    }
}

static eg_status queue(const eg__call *c, const shape *s, void *x, void *y, bool inverse)
{
    plan *p = NULL;
    eg__block *work = NULL;
    eg_status st = eg__cuda_library_open(&fft_library, c->op->name);
    if (st) {
        return st;
    }
    pthread_mutex_lock(&plans.lock);
    st = find(c, s, &p);
    if (!st && p->work) {
        st = eg__cuda_scratch(c, p->work, &work);
    }
    if (!st) {
        cufftResult e = fft.cufftSetStream(p->handle, eg__stream_of(c));
        if (work) {
            TRY(fft.cufftSetWorkArea(p->handle, work->data));
        }
        TRY(execute(p, x, y, inverse ? CUFFT_INVERSE : CUFFT_FORWARD));
        st = e ? failed(c, e, "a transform") : EG_OK;
    }
    pthread_mutex_unlock(&plans.lock);
    eg__cuda_scratch_end(work);
    return st;
}

/* What cuFFT is asked for: sides of pairs or of reals. The lines lie behind each other or side by
 * side, lib/ops sees to that. */
static shape shape_of(const eg__call *c, int64_t n, cufftType narrow, cufftType wide, int pairs_in)
{
    const eg__fft_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *y = c->out[0];
    int64_t in = x->shape[o->axis], out = y->shape[o->axis], inner = 1;
    for (int d = o->axis + 1; d < x->ndim - pairs_in; d++) {
        inner *= x->shape[d];
    }
    return (shape){.n = n,
                   .lines = x->n / (in << pairs_in),
                   .step = inner,
                   .lane_in = inner > 1 ? 1 : in,
                   .lane_out = inner > 1 ? 1 : out,
                   .type = x->dtype == EG_F64 ? wide : narrow,
                   .ordinal = eg__cuda_at(c->device)->ordinal};
}

static eg_status scale(const eg__call *c)
{
    const eg__fft_opts *o = c->opts;
    eg_tensor *y = c->out[0];
    return o->scale == 1 ? EG_OK
                         : eg__launched(c, eg__launch_fft_scale(eg__ptr(y), eg__ptr(y), y->n, o->scale,
                                                                y->dtype == EG_F64, eg__stream_of(c)));
}

/* x where cuFFT wants it, at a multiple of a pair: itself, or a copy. */
static eg_status aligned(const eg__call *c, void **x, eg__block **copy)
{
    const eg_tensor *t = c->in[0];
    *copy = NULL;
    *x = eg__ptr(t);
    if ((uintptr_t)*x % (2 * eg__esize(t)) == 0) {
        return EG_OK;
    }
    size_t bytes = (size_t)t->n * eg__esize(t);
    eg_status st = eg__cuda_scratch(c, bytes, copy);
    if (st) {
        return st;
    }
    cudaError_t e = cudaMemcpyAsync((*copy)->data, *x, bytes, cudaMemcpyDeviceToDevice, eg__stream_of(c));
    *x = (*copy)->data;
    return eg__cuda_check(eg__cuda_at(c->device), c->op->name, e, "copy");
}

static eg_status forward(const eg__call *c, cufftType narrow, cufftType wide, int pairs_in)
{
    const eg__fft_opts *o = c->opts;
    void *x;
    eg__block *copy;
    if (c->out[0]->n == 0) {
        return EG_OK;
    }
    shape s = shape_of(c, c->in[0]->shape[o->axis], narrow, wide, pairs_in);
    eg_status st = aligned(c, &x, &copy);
    st = st ? st : queue(c, &s, x, eg__ptr(c->out[0]), o->inverse);
    eg__cuda_scratch_end(copy);
    return st ? st : scale(c);
}

eg_status eg__cuda_fft(const eg__call *c)
{
    return forward(c, CUFFT_C2C, CUFFT_Z2Z, 1);
}

eg_status eg__cuda_rfft(const eg__call *c)
{
    return forward(c, CUFFT_R2C, CUFFT_D2Z, 0);
}

/* cuFFT writes into what it transforms to real numbers, so it gets a copy, which is made to
 * measure. */
eg_status eg__cuda_irfft(const eg__call *c)
{
    const eg__fft_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    if (c->out[0]->n == 0) {
        return EG_OK;
    }
    eg__block *copy;
    shape s = shape_of(c, o->n, CUFFT_C2R, CUFFT_Z2D, 1);
    eg_status st = eg__cuda_scratch(c, (size_t)x->n * eg__esize(x), &copy);
    if (st) {
        return st;
    }
    st = eg__launched(c, eg__launch_fft_bins(eg__ptr(x), copy->data, x->n, s.step, x->shape[o->axis],
                                             o->n % 2 ? 0 : o->n / 2, o->scale, x->dtype == EG_F64, eg__stream_of(c)));
    st = st ? st : queue(c, &s, copy->data, eg__ptr(c->out[0]), true);
    eg__cuda_scratch_end(copy);
    return st;
}
