/* norm.c - gradients of normalisation. With hat = (x - mean) / sqrt(var + eps), h = dy * weight and
 * means over what was normalised together,
 *
 *   dx = (h - mean(h) - hat * mean(h * hat)) / sqrt(var + eps),  dweight = sum(dy * hat),  dbias =
 * sum(dy)
 *
 * as one fused op, or as public ops when the walk is recorded. These read the mean and the variance
 * that the op gave out; what flows back into those is added by the same rule, and so every order is
 * right. */
#include "autograd/rules/rules.h"

/* The entry's tensors seen so that all broadcast against x, in a view of x's where `axes` are
 * normalised. */
typedef struct view {
    eg_tensor *x, *dy, *weight, *bias, *mean, *var; /* weight, bias or dy may be NULL */
    eg_axes axes;
    double n;
    bool root; /* the mean is 0 by decree */
    double eps;
} view;

static eg_tensor *mean_over(const view *v, eg_tensor *t)
{
    eg_reduce_options o = {.size = sizeof o, .axes = v->axes, .keepdim = true};
    return eg_mul_scalar(eg_sum_with(t, &o), 1 / v->n);
}

/* dy where relu let it through. */
static eg_tensor *through(const view *v, eg_tensor *hat, bool relu)
{
    if (!relu) {
        return v->dy;
    }
    eg_tensor *y = v->weight ? eg_mul(hat, v->weight) : hat;
    y = v->bias ? eg_add(y, v->bias) : y;
    return eg_where(eg_gt_scalar(y, 0), v->dy, eg_zeros_like(v->dy));
}

/* What flows to x through the mean and the variance as results. */
static eg_tensor *add_statistics(const view *v, eg_tensor *dx, eg_tensor *dmean, eg_tensor *dvar)
{
    if (dmean && !v->root) {
        eg_tensor *part = eg_mul_scalar(eg_expand(dmean, eg_shape_of(v->x)), 1 / v->n);
        dx = dx ? eg_add(dx, part) : part;
        if (!dx) {
            return NULL;
        }
    }
    if (dvar) {
        eg_tensor *centred = v->root ? v->x : eg_sub(v->x, v->mean);
        eg_tensor *part = eg_mul(centred, eg_mul_scalar(dvar, 2 / v->n));
        dx = dx ? eg_add(dx, part) : part;
    }
    return dx;
}

/* All three gradients by public ops, in the view's shapes. */
static void compose(const view *v, bool relu, eg_tensor **dx, eg_tensor **dweight, eg_tensor **dbias)
{
    eg_tensor *rstd = eg_rsqrt(eg_add_scalar(v->var, v->eps));
    eg_tensor *hat = eg_mul(v->root ? v->x : eg_sub(v->x, v->mean), rstd);
    eg_tensor *dy = through(v, hat, relu), *h = v->weight ? eg_mul(dy, v->weight) : dy;
    eg_tensor *inner = eg_sub(h, eg_mul(hat, mean_over(v, eg_mul(h, hat))));
    *dx = eg_mul(v->root ? inner : eg_sub(inner, mean_over(v, h)), rstd);
    *dweight = v->weight ? eg__sum_to(eg_mul(dy, hat), eg_shape_of(v->weight)) : NULL;
    *dbias = v->bias ? eg__sum_to(dy, eg_shape_of(v->bias)) : NULL;
}

/* dy lying as x does, which the fused ops of images expect. */
static eg_tensor *laid_like(eg_tensor *dy, const eg_tensor *x)
{
    return x->flags & EG__DENSE ? eg_contiguous(dy) : eg_channels_last(dy);
}

static eg_tensor *reshaped(eg_tensor *t, eg_shape shape)
{
    return t ? eg_reshape(t, shape) : NULL;
}

/* The rule of all of them: the fused op, the shape of the view, and of the parameters and
 * statistics in it. */
static eg_status rule(eg__walk *w, const eg__op *fused, eg_shape shape, eg_shape parameters, eg_shape statistics,
                      eg_axes axes)
{
    const eg__norm_opts *o = w->opts;
    eg_tensor *x = eg__saved_in(w, 0), *weight = o->weight ? eg__saved_in(w, 1) : NULL;
    eg_tensor *bias = o->bias ? eg__saved_in(w, 2) : NULL, *mean = eg__saved_out(w, 1);
    eg_tensor *var = eg__saved_out(w, 2), *dy = eg__dy_or_null(w, 0), *out[EG__MAX_OUT] = {NULL};
    eg_tensor *dmean = eg__dy_or_null(w, 1), *dvar = eg__dy_or_null(w, 2);
    if (!x || !mean || !var || (o->weight && !weight) || (o->bias && !bias)) {
        return eg__why();
    }
    bool recorded = eg__walk_recorded(w);
    view v = {.axes = axes, .root = o->root, .eps = o->eps, .n = (double)x->n / (double)eg__max(1, mean->n)};
    if (recorded || dmean || dvar) {
        const eg_dtype dtype = (eg_dtype)mean->dtype; /* f32 beside halves */
        v.x = eg_reshape(eg_cast(x, dtype), shape);
        v.mean = eg_reshape(mean, statistics);
        v.var = eg_reshape(var, statistics);
        v.dy = dy ? eg_reshape(eg_cast(dy, dtype), shape) : NULL;
        v.weight = reshaped(weight, parameters);
        v.bias = reshaped(bias, parameters);
    }
    if (dy && recorded) {
        compose(&v, o->relu, &out[0], &out[1], &out[2]);
    } else if (dy) {
        dy = fused->flags & EG__STRIDED ? laid_like(dy, x) : dy;
        eg_tensor *in[] = {dy, x, mean, var, weight, bias};
        eg_status st = dy ? eg__dispatch(fused, in, 6, o, out) : eg__why();
        if (st) {
            return st;
        }
    }
    if (dmean || dvar) {
        eg_tensor *dx = out[0] && !recorded ? eg_reshape(out[0], shape) : out[0];
        if (dy && !dx) {
            return eg__why();
        }
        out[0] = add_statistics(&v, dx, reshaped(dmean, statistics), reshaped(dvar, statistics));
    }
    for (int i = 0; i < 3; i++) {
        if (eg__needs(w, i) && (i == 0 || dy)) {
            eg__give(w, i, eg_reshape(out[i], eg__in_shape(w, i)));
        }
    }
    return w->status;
}

eg_status eg__grad_batch_norm(eg__walk *w)
{
    eg_shape shape = eg__in_shape(w, 0), channels = {.ndim = shape.ndim};
    eg_axes axes = {.count = 0};
    for (int d = 0; d < shape.ndim; d++) {
        channels.dim[d] = d == 1 ? shape.dim[d] : 1;
        if (d != 1) {
            axes.axis[axes.count++] = d;
        }
    }
    return rule(w, &eg__op_batch_norm_grad, shape, channels, channels, axes);
}

/* [N, groups, channels of a group, rest] */
eg_status eg__grad_group_norm(eg__walk *w)
{
    const eg__norm_opts *o = w->opts;
    eg_shape s = eg__in_shape(w, 0);
    int64_t width = s.dim[1] / o->groups, spatial = 1;
    for (int d = 2; d < s.ndim; d++) {
        spatial *= s.dim[d];
    }
    return rule(w, &eg__op_group_norm_grad, EG_SHAPE(s.dim[0], o->groups, width, spatial),
                EG_SHAPE(1, o->groups, width, 1), EG_SHAPE(s.dim[0], o->groups, 1, 1), EG_AXES(2, 3));
}

/* [rows, width] */
eg_status eg__grad_layer_norm(eg__walk *w)
{
    const eg__norm_opts *o = w->opts;
    eg_shape s = eg__in_shape(w, 0);
    int64_t rows = 1, width = 1;
    for (int d = 0; d < s.ndim; d++) {
        *(d < s.ndim - o->axes ? &rows : &width) *= s.dim[d];
    }
    return rule(w, &eg__op_layer_norm_grad, EG_SHAPE(rows, width), EG_SHAPE(1, width), EG_SHAPE(rows, 1), EG_AXES(1));
}

eg_status eg__grad_scale_channels(eg__walk *w)
{
    const eg__norm_opts *o = w->opts;
    eg_tensor *x = eg__saved_in(w, 0), *scale = eg__saved_in(w, 1), *dy = eg__dy(w, 0);
    eg_tensor *shift = o->bias ? eg__saved_in(w, 2) : NULL;
    eg_shape channels = {.ndim = x ? x->ndim : 0};
    for (int d = 0; d < channels.ndim; d++) {
        channels.dim[d] = d == 1 ? x->shape[d] : 1;
    }
    if (o->relu) {
        eg_tensor *y = eg_scale_channels(x, scale, shift);
        dy = eg_where(eg_gt_scalar(y, 0), dy, eg_zeros_like(dy));
    }
    if (eg__needs(w, 0)) {
        eg__give(w, 0, eg_scale_channels(dy, scale, NULL));
    }
    if (eg__needs(w, 1) || eg__needs(w, 2)) { /* sums of halves are f32 */
        dy = scale ? eg_cast(dy, (eg_dtype)scale->dtype) : NULL;
    }
    if (eg__needs(w, 1)) {
        eg__give(w, 1, eg_reshape(eg__sum_to(eg_mul(dy, x), channels), eg__in_shape(w, 1)));
    }
    if (eg__needs(w, 2)) {
        eg__give(w, 2, eg_reshape(eg__sum_to(dy, channels), eg__in_shape(w, 2)));
    }
    return w->status;
}
