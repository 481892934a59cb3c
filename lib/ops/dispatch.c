/* dispatch.c - the way every op takes, in seven steps: check, infer, kernel, contiguous, allocate, run,
 * record. Everything particular is in the op's row. */
#include <stdlib.h>

#include "lib/core/device.h"
#include "lib/core/follower.h"
#include "lib/ops/optable.h"
#include "lib/ops/options.h"

enum { INLINE_INPUTS = 12 };

/* ---- slow paths ---------------------------------------------------------------------------- */

static EG__COLD eg_status bad_input(const eg__op *op, const eg_tensor *t, int i)
{
    char name[24];
    snprintf(name, sizeof name, "input %d", i);
    return eg__check(t, op->name, name);
}

/* Masks are added and multiplied, but what else is arithmetic they have their own words for. */
static EG__COLD eg_status wrong_dtype(const eg__op *op, const char *name, int dtype)
{
    const bool mask = dtype == EG_BOOL && op->flags & EG__POINTWISE;
    return eg__fail(EG_EDTYPE, name, "not for dtype %s%s", eg_dtype_name((eg_dtype)dtype),
                    mask ? ": masks have eg_logical_xor and eg_logical_not, numbers want a cast" : "");
}

static bool category_counts(const eg_tensor *t, int best)
{
    return t->ndim > 0 || (eg__is_float(t->dtype) ? 2 : t->dtype != EG_BOOL) > best;
}

/* The dtype all inputs are brought to: 0-dim ones only count if their category is higher. */
int eg__common_dtype(eg_tensor *const *in, int nin)
{
    int dt = -1, best = -1;
    for (int i = 0; i < nin; i++) {
        if (in[i] && in[i]->ndim > 0) {
            dt = dt < 0 ? in[i]->dtype : (int)eg_promote((eg_dtype)dt, (eg_dtype)in[i]->dtype);
            best = eg__is_float(dt) ? 2 : dt != EG_BOOL;
        }
    }
    int zero = -1;
    for (int i = 0; i < nin; i++) {
        if (in[i] && in[i]->ndim == 0 && category_counts(in[i], best)) {
            zero = zero < 0 ? in[i]->dtype : (int)eg_promote((eg_dtype)zero, (eg_dtype)in[i]->dtype);
        }
    }
    return zero >= 0 ? zero : dt;
}

/* Brings inputs to a dtype through recorded casts and dispatches again. */
static EG__COLD eg_status recast(const eg__op *op, eg_tensor *const *in, int nin, const void *opts, eg_tensor **out,
                                 eg__recast how)
{
    eg_tensor *cast[INLINE_INPUTS], **to = cast;
    if (nin > INLINE_INPUTS && !(to = eg__malloc((size_t)nin * sizeof *to))) {
        return eg__no_memory(op->name, nin);
    }
    eg_status st = EG_OK;
    eg_scope s = eg_scope_push();
    for (int i = 0; i < nin && !st; i++) {
        to[i] = in[i] && how.from >> in[i]->dtype & 1 ? eg_cast(in[i], (eg_dtype)how.dtype) : in[i];
        st = to[i] || !in[i] ? EG_OK : eg__why();
    }
    st = st ? st : eg__dispatch(op, to, nin, opts, out);
    if (to != cast) {
        free(to);
    }
    if (st) {
        eg_scope_pop(s, NULL);
        return st;
    }
    return eg_scope_pop_n(s, out, op->nout);
}

static EG__COLD eg_status promote(const eg__op *op, eg_tensor *const *in, int nin, const void *opts, eg_tensor **out)
{
    int dt = eg__common_dtype(in, nin);
    if (op->flags & EG__INT_TO_F32 && !eg__is_float(dt)) {
        dt = EG_F32;
    }
    if (!(op->dtypes >> dt & 1)) {
        return wrong_dtype(op, op->name, dt);
    }
    return recast(op, in, nin, opts, out, (eg__recast){~0u, dt});
}

static bool needs_promotion(const eg__op *op, eg_tensor *const *in, int nin)
{
    if (op->flags & EG__PROMOTE) {
        for (int i = 1; i < nin; i++) {
            if (in[i] && in[i]->dtype != in[0]->dtype) {
                return true;
            }
        }
    }
    return nin && !(op->dtypes >> in[0]->dtype & 1);
}

/* ---- the parts ----------------------------------------------------------------------------- */

/* Contiguous copies for kernels that want them: unrecorded, they die inside the call. */
static eg_status make_contiguous(eg__call *c)
{
    const eg__copy_opts dense = {EG__TO_DENSE};
    for (int i = 0; i < c->nin; i++) {
        eg_tensor *t = c->in[i];
        if (t && !(t->flags & EG__DENSE)) {
            eg__desc d = {.dtype = t->dtype, .ndim = t->ndim, .device = t->device};
            memcpy(d.shape, t->shape, sizeof d.shape);
            eg__desc_dense(&d);
            eg_tensor *copy = eg__new(&d, c->op->name, EG__ID_copy);
            if (!copy) {
                return EG_ENOMEM;
            }
            eg_status st = eg__run(&eg__op_copy, &t, 1, &dense, copy);
            if (st) {
                return st;
            }
            c->in[i] = copy;
        }
    }
    return EG_OK;
}

static inline eg_status allocate(eg__call *c, int j)
{
    eg__thread *T = c->T;
    const eg__desc *d = &c->desc[j];
    eg_tensor *t = eg__header_new(T);
    if (unlikely(!t)) {
        return eg__no_memory(c->op->name, 0);
    }
    c->out[j] = t;
    t->dtype = d->dtype;
    t->ndim = d->ndim;
    t->n = d->n;
    t->made_by = c->op->id;
    t->device = c->device;
    if (c->op->flags & EG__VIEW) {
        for (int a = 0; a < d->ndim; a++) {
            t->shape[a] = d->shape[a];
            t->strides[a] = d->strides[a];
        }
        t->offset = d->offset;
        t->storage = c->in[0]->storage;
        eg__ref_inc(&t->storage->refs);
        t->flags = eg__layout_flags(t->ndim, t->shape, t->strides);
        return EG_OK;
    }
    int64_t step = 1;
    for (int a = d->ndim; a-- > 0; step *= d->shape[a]) {
        t->shape[a] = d->shape[a];
        t->strides[a] = step;
    }
    t->flags = EG__DENSE | EG__PACKED;
    if (unlikely(!d->dense)) {
        memcpy(t->strides, d->strides, sizeof t->strides);
        t->flags = eg__layout_flags(t->ndim, t->shape, t->strides);
    }
    int64_t bytes = eg__bytes_of(d->n, d->dtype);
    t->storage = eg__storage_on(T, c->device, (size_t)bytes, c->op->id);
    if (unlikely(!t->storage)) {
        eg__unref(T, t);
        return eg__no_memory_on(c->device, c->op->name, bytes);
    }
    return EG_OK;
}

static eg_status run_watched(const eg__call *c, eg__kernel *k)
{
    if (likely(!(eg__mode(c->T) & EG__MODE_DISPATCH))) {
        return eg__device_run(c, k);
    }
    double start = eg__seconds();
    eg_status st = eg__run_kernel(c, k);
    return st ? st : eg__debug_call(c, eg__seconds() - start);
}

/* ---- dispatch ------------------------------------------------------------------------------ */

static EG__COLD eg_status no_kernel(const eg__call *c)
{
    return eg__fail(EG_ENOKERNEL, c->op->name, "no kernel for it on %s", eg__devices[c->device]->name);
}

/* Kernel, contiguous, allocate, run, record. */
static inline eg_status finish(eg__call *c, eg_tensor *const *in, eg_tensor **out)
{
    eg__thread *T = c->T;
    const eg__op *op = c->op;
    eg__kernel *k = eg__kernel_of(c);
    uint32_t low = T->nown;
    int nout = op->nout, made = 0;
    const bool watched = eg__mode(T) & EG__MODE_DISPATCH;
    eg_status st = likely(k || op->flags & EG__VIEW) ? EG_OK : no_kernel(c);
    if (unlikely(!(op->flags & EG__STRIDED)) && !st) {
        st = make_contiguous(c);
    }
    while (likely(!st) && made < nout) {
        st = allocate(c, made);
        made += !st;
    }
    if (likely(!st) && !(op->flags & EG__VIEW)) {
        st = likely(!(watched || c->device)) ? k(c) : run_watched(c, k);
    }
    if (unlikely(watched) && !st && eg__mode(T) & EG__MODE_FOLLOW) {
        st = T->follower->call(T->follower, c, in);
    }
    while (unlikely(T->nown > low)) {
        eg__unref(T, T->own[--T->nown]); /* the contiguous copies */
    }
    if (T->record->recording && likely(!st) && !(op->flags & EG__NO_GRAD)) {
        for (int i = 0; i < c->nin; i++) {
            c->in[i] = in[i]; /* what the caller passed */
        }
        st = likely(T->record->by->call(T, c)) ? EG_OK : eg__no_memory(op->name, 0);
    }
    if (likely(!st) && unlikely(!eg__own_room(T, (uint32_t)nout))) {
        st = eg__no_memory(op->name, 0);
    }
    if (unlikely(st)) {
        while (made) {
            eg__unref(T, c->out[--made]);
        }
        return st;
    }
    for (int j = 0; j < nout; j++) {
        eg__own(T, out[j] = c->out[j]);
    }
    return EG_OK;
}

static EG__COLD eg_status bad_count(const eg__op *op, int nin)
{
    return eg__fail(EG_EINVAL, op->name, "%d inputs given, %d to %d are possible", nin, op->nin_min, op->nin_max);
}

static inline eg_status dispatch(const eg__op *op, eg_tensor *const *in, int nin, const void *opts, eg_tensor **out)
{
    eg_tensor *copy[INLINE_INPUTS];
    eg__call c;
    eg_status st = EG_OK;
    if (unlikely(nin < op->nin_min || nin > op->nin_max)) {
        return bad_count(op, nin);
    }
    for (int i = 0; i < nin; i++) {
        /* Optional inputs past the least number may be NULL. */
        if (unlikely(!in[i] ? i < op->nin_min : in[i]->magic != EG__MAGIC)) {
            return bad_input(op, in[i], i);
        }
    }
    c.T = eg__thread_get();
    if (unlikely(c.T->autocast)) {
        eg__recast how;
        if (eg__autocast(op, in, nin, c.T->autocast, &how)) {
            return recast(op, in, nin, opts, out, how);
        }
    }
    if (unlikely(needs_promotion(op, in, nin))) {
        if (op->flags & (EG__PROMOTE | EG__INT_TO_F32)) {
            return promote(op, in, nin, opts, out);
        }
        return wrong_dtype(op, op->name, in[0]->dtype);
    }
    c.op = op;
    c.nin = nin;
    c.opts = opts;
    c.in = copy;
    c.device = 0;
    if (unlikely(nin > INLINE_INPUTS) && !(c.in = eg__malloc((size_t)nin * sizeof *c.in))) {
        return eg__no_memory(op->name, nin);
    }
    unsigned elsewhere = nin ? 0 : c.T->device;
    for (int i = 0; i < nin; i++) {
        c.in[i] = in[i];
        elsewhere |= in[i] ? in[i]->device : 0;
    }
    if (unlikely(elsewhere)) {
        st = eg__locate(&c);
    }
    if (likely(!st)) {
        st = op->infer(&c);
    }
    if (likely(!st)) {
        st = finish(&c, in, out);
    }
    if (unlikely(c.in != copy)) {
        free(c.in);
    }
    return st;
}

eg_status eg__dispatch(const eg__op *op, eg_tensor *const *in, int nin, const void *opts, eg_tensor **out)
{
    eg_status st = dispatch(op, in, nin, opts, out);
    for (int j = 0; st && j < op->nout; j++) {
        out[j] = NULL;
    }
    return st;
}

eg_tensor *eg__op1(const eg__op *op, eg_tensor *a, const void *opts)
{
    eg_tensor *out[EG__MAX_OUT];
    return dispatch(op, &a, 1, opts, out) ? NULL : out[0];
}

eg_tensor *eg__op2(const eg__op *op, eg_tensor *a, eg_tensor *b, const void *opts)
{
    eg_tensor *in[2] = {a, b}, *out[EG__MAX_OUT];
    return dispatch(op, in, 2, opts, out) ? NULL : out[0];
}

eg_tensor *eg__op3(const eg__op *op, eg_tensor *a, eg_tensor *b, eg_tensor *d, const void *opts)
{
    eg_tensor *in[3] = {a, b, d}, *out[EG__MAX_OUT];
    return eg__dispatch(op, in, 3, opts, out) ? NULL : out[0];
}

eg_status eg__run(const eg__op *op, eg_tensor *const *in, int nin, const void *opts, eg_tensor *out)
{
    eg__call c = {.op = op, .T = eg__thread_get(), .nin = nin, .opts = opts, .out = {out}, .device = out->device};
    eg_tensor *copy[INLINE_INPUTS];
    memcpy(copy, in, (size_t)nin * sizeof *in);
    c.in = copy;
    return eg__run_call(&c);
}

eg_status eg__run_call(const eg__call *c)
{
    eg__kernel *k = eg__kernel_of(c);
    return likely(k != NULL) ? eg__run_kernel(c, k) : no_kernel(c);
}

/* ---- in place ------------------------------------------------------------------------------ */

/* Whether writing x element by element could change what t still has to give. */
static bool overlaps(const eg_tensor *x, const eg_tensor *t)
{
    return t->storage == x->storage && t != x &&
           !(t->offset == x->offset && eg__same_shape(x, t) && eg__same_strides(x, t));
}

eg_tensor *eg__inplace(const eg__op *op, const char *name, eg_tensor *const *in, int nin, const void *opts)
{
    eg_tensor *x = in[0], *use[INLINE_INPUTS];
    eg__call c = {.op = op, .T = eg__thread_get(), .in = use, .nin = nin, .opts = opts};
    for (int i = 0; i < nin; i++) {
        if (!in[i] || in[i]->magic != EG__MAGIC) {
            return bad_input(op, in[i], i), NULL;
        }
    }
    if (!(op->dtypes >> x->dtype & 1)) {
        return wrong_dtype(op, name, x->dtype), NULL;
    }
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? EG_OK : eg__why();
    for (int i = 0; i < nin && !st; i++) {
        use[i] = i && op->flags & EG__PROMOTE ? eg_cast(eg_detach(in[i]), (eg_dtype)x->dtype) : in[i];
        if (i && use[i] && overlaps(x, use[i])) {
            use[i] = eg__op1(&eg__op_copy, eg_detach(use[i]), &(eg__copy_opts){EG__TO_DENSE});
        }
        st = use[i] ? EG_OK : eg__why();
    }
    st = st ? st : eg__locate(&c);
    if (!st && c.device != x->device) {
        st = eg__fail(EG_EDEVICE, name, "the target is on %s, an input on %s", eg__device(x)->name,
                      eg__devices[c.device]->name);
    }
    st = st ? st : op->infer(&c);
    if (!st && (c.desc[0].n != x->n || c.desc[0].ndim != x->ndim ||
                memcmp(c.desc[0].shape, x->shape, x->ndim * sizeof *x->shape) || c.desc[0].dtype != x->dtype)) {
        st = eg__fail(EG_ESHAPE, name, "the result is %s %s and cannot replace %s %s",
                      eg_dtype_name((eg_dtype)c.desc[0].dtype), eg__shape_text(c.desc[0].ndim, c.desc[0].shape).s,
                      eg_dtype_name((eg_dtype)x->dtype), EG__SHAPE_OF(x));
    }
    st = st ? st : eg__begin_write(x, name);
    if (!st) {
        c.out[0] = x;
        st = eg__run_call(&c);
    }
    eg_scope_pop(s, NULL);
    return st ? NULL : x;
}
