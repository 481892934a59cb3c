/* reduce.c - reductions over chosen axes: options, inference, public functions. */
#include <math.h>

#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* ---- inference ----------------------------------------------------------------------------- */

/* Strides of y in the order of those of x, which is packed: by falling stride, the last axis first. */
static void keep_order(eg__desc *d, const int64_t *from)
{
    int64_t step = 1;
    unsigned left = (1u << d->ndim) - 1;
    while (left) {
        int least = -1;
        for (int a = d->ndim; a-- > 0;) {
            if (left >> a & 1 && (least < 0 || from[a] < from[least])) {
                least = a;
            }
        }
        d->strides[least] = step;
        step *= d->shape[least];
        left &= ~(1u << least);
    }
}

/* The result of reducing the masked axes; the packed order of the others goes on. */
static eg_status reduced(eg__call *c, int dtype)
{
    const eg_tensor *x = c->in[0];
    const eg__reduce_opts *o = c->opts;
    eg__desc *d = &c->desc[0];
    int k = 0;
    int64_t from[EG_MAX_DIMS];
    for (int a = 0; a < x->ndim; a++) {
        bool goes = o->axes >> a & 1;
        if (!goes || o->keepdim) {
            from[k] = x->strides[a];
            d->shape[k++] = goes ? 1 : x->shape[a];
        }
    }
    d->dtype = (uint8_t)dtype;
    d->ndim = (uint8_t)k;
    eg__desc_dense(d);
    if (unlikely(!(x->flags & EG__DENSE)) && x->flags & EG__PACKED && k > 1) {
        d->dense = false;
        keep_order(d, from);
    }
    return EG_OK;
}

eg_status eg__infer_reduce(eg__call *c)
{
    return reduced(c, c->in[0]->dtype);
}

eg_status eg__infer_sum(eg__call *c)
{
    return reduced(c, eg__is_float(c->in[0]->dtype) ? c->in[0]->dtype : EG_I64);
}

eg_status eg__infer_count(eg__call *c)
{
    return reduced(c, EG_I64);
}

eg_status eg__infer_any(eg__call *c)
{
    return reduced(c, EG_BOOL);
}

/* Nothing has no largest element. */
static eg_status refuse_empty(const eg__call *c)
{
    const eg_tensor *x = c->in[0];
    const eg__reduce_opts *o = c->opts;
    for (int a = 0; a < x->ndim; a++) {
        if (o->axes >> a & 1 && x->shape[a] == 0) {
            return eg__fail(EG_ESHAPE, c->op->name, "axis %d of %s has no elements", a, EG__SHAPE_OF(x));
        }
    }
    return EG_OK;
}

eg_status eg__infer_extreme(eg__call *c)
{
    eg_status st = refuse_empty(c);
    return st ? st : eg__infer_reduce(c);
}

eg_status eg__infer_place(eg__call *c)
{
    eg_status st = refuse_empty(c);
    return st ? st : eg__infer_count(c);
}

eg_status eg__infer_norm(eg__call *c)
{
    const eg__reduce_opts *o = c->opts;
    return o->p == -(double)INFINITY ? eg__infer_extreme(c) : eg__infer_reduce(c);
}

/* ---- public -------------------------------------------------------------------------------- */

static eg_tensor *reduce(const eg__op *op, eg_tensor *x, const eg_axes *axes, eg__reduce_opts o)
{
    if (eg__check(x, op->name, "x") || eg__axes_mask(op->name, x->ndim, axes, &o.axes)) {
        return NULL;
    }
    return eg__op1(op, x, &o);
}

static bool begins(const eg_reduce_options *o)
{
    return o && eg__options_whole(o, sizeof *o) && o->has_initial;
}

typedef eg_tensor *join_fn(eg_tensor *a, eg_tensor *b);

/* How the result and the initial value are one; NULL: they are not. */
static join_fn *join_of(const eg__op *op, int dtype)
{
    const bool logic = dtype == EG_BOOL;
    return op == &eg__op_sum    ? eg_add
           : op == &eg__op_prod ? eg_mul
           : op == &eg__op_max  ? (logic ? eg_logical_or : eg_maximum)
           : op == &eg__op_min  ? (logic ? eg_logical_and : eg_minimum)
                                : NULL;
}

/* As if the initial value were one element more, which extremes of nothing are then. */
static EG__COLD eg_tensor *with_initial(const eg__op *op, eg_tensor *x, const eg_reduce_options *o)
{
    eg__reduce_opts opts = {.keepdim = o->keepdim};
    if (eg__check(x, op->name, "x") || eg__axes_mask(op->name, x->ndim, &o->axes, &opts.axes)) {
        return NULL;
    }
    join_fn *join = join_of(op, x->dtype);
    if (!join) {
        return eg__fail_null(EG_EINVAL, op->name, "initial is for sum, prod, max and min");
    }
    bool nothing = false;
    for (int d = 0; d < x->ndim; d++) {
        nothing |= opts.axes >> d & 1 && x->shape[d] == 0;
    }
    nothing = nothing && op != &eg__op_sum && op != &eg__op_prod;
    eg__wide s = EG__WIDE_BEGIN(&x);
    if (!x) {
        return eg__wide_end(s, NULL);
    }
    eg_tensor *y = eg__op1(nothing ? &eg__op_sum : op, x, &opts);
    y = nothing ? eg_cast(y, (eg_dtype)x->dtype) : y; /* zeros */
    eg_tensor *first = y ? eg__full_on(x->device, EG_SCALAR, o->initial, (eg_dtype)y->dtype) : NULL;
    join = nothing ? join_of(y && y->dtype == EG_BOOL ? &eg__op_max : &eg__op_sum, x->dtype) : join;
    return eg__wide_end(s, first ? join(y, first) : NULL);
}

static eg_tensor *plain(const eg__op *op, eg_tensor *x, const eg_reduce_options *o)
{
    if (unlikely(begins(o))) {
        return with_initial(op, x, o);
    }
    return o ? reduce(op, x, &o->axes, (eg__reduce_opts){.keepdim = o->keepdim})
             : reduce(op, x, NULL, (eg__reduce_opts){0});
}

/* A place is counted along one axis; without one, in row-major order, that is along the flattened x. */
static eg_tensor *place(const eg__op *op, eg_tensor *x, const eg_reduce_options *o)
{
    bool keepdim = o && o->keepdim;
    if (begins(o)) {
        return with_initial(op, x, o);
    }
    if (eg__check(x, op->name, "x")) {
        return NULL;
    }
    if (o && o->axes.count > 1) {
        return eg__fail_null(EG_ESHAPE, op->name, "%d axes given, one or none (all) is possible", o->axes.count);
    }
    if ((o && o->axes.count) || x->ndim <= 1) {
        return reduce(op, x, o ? &o->axes : NULL, (eg__reduce_opts){.keepdim = keepdim});
    }
    eg_scope s = eg_scope_push();
    eg_tensor *y = reduce(op, eg_reshape(x, EG_SHAPE(-1)), NULL, (eg__reduce_opts){0});
    eg_shape ones = {.ndim = x->ndim, .dim = {1, 1, 1, 1, 1, 1, 1, 1}};
    return eg_scope_pop(s, keepdim ? eg_reshape(y, ones) : y);
}

static eg_tensor *spread(const eg__op *op, eg_tensor *x, const eg_var_options *o)
{
    return reduce(op, x, o ? &o->axes : NULL, (eg__reduce_opts){.keepdim = o && o->keepdim, .biased = o && o->biased});
}

#define OPTIONS_plain  eg_reduce_options
#define OPTIONS_place  eg_reduce_options
#define OPTIONS_spread eg_var_options
#define EG_REDUCTION(name, public, ...)                                        \
    eg_tensor *eg_##name##_with(eg_tensor *x, const OPTIONS_##public *options) \
    {                                                                          \
        return public(&eg__op_##name, x, options);                             \
    }
#include "lib/ops/reduce.def"
#undef EG_REDUCTION

/* How many are not 0, NaN among them, as a float; its gradient is 0, that of the sign. */
static eg_tensor *count_norm(eg_tensor *x, const eg_norm_options *o)
{
    if (eg__check(x, "norm", "x")) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    x = eg__is_float(x->dtype) ? x : eg_cast(x, EG_F32);
    eg_tensor *one = x ? eg_scalar(1, (eg_dtype)x->dtype) : NULL;
    eg_tensor *each = one ? eg_where(eg_ne_scalar(x, 0), one, eg_sign(x)) : NULL;
    return eg_scope_pop(s, each ? eg_sum(each, .axes = o->axes, .keepdim = o->keepdim) : NULL);
}

eg_tensor *eg_norm_with(eg_tensor *x, const eg_norm_options *options)
{
    eg_norm_options given, *o = &given;
    eg__options(o, sizeof *o, options);
    const double p = eg__or(o->p, 2);
    if (isnan(p)) {
        return eg__fail_null(EG_EINVAL, "norm", "p is NaN");
    }
    return p == 0 ? count_norm(x, o)
                  : reduce(&eg__op_norm, x, &o->axes, (eg__reduce_opts){.keepdim = o->keepdim, .p = p});
}
