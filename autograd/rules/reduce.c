/* reduce.c - gradients of reductions. */
#include <math.h>

#include "autograd/rules/rules.h"

/* ---- what they share -------------------------------------------------------------------------- */

/* t, a result of reducing the entry's input, with its reduced axes back as size 1. */
static eg_tensor *with_axes(const eg__walk *w, eg_tensor *t)
{
    const eg__reduce_opts *o = w->opts;
    eg_shape s = eg__in_shape(w, 0);
    if (t && !t->ndim) {
        return t; /* expands to anything */
    }
    for (int d = 0; d < s.ndim; d++) {
        s.dim[d] = o->axes >> d & 1 ? 1 : s.dim[d];
    }
    return o->keepdim ? t : eg_reshape(t, s);
}

static eg_axes axes_of(const eg__walk *w)
{
    const eg__reduce_opts *o = w->opts;
    eg_axes axes = {0};
    for (int d = 0; d < EG_MAX_DIMS; d++) {
        if (o->axes >> d & 1) {
            axes.axis[axes.count++] = d;
        }
    }
    return axes;
}

/* Elements behind each result. */
static double count_of(const eg__walk *w)
{
    const eg__reduce_opts *o = w->opts;
    eg_shape s = eg__in_shape(w, 0);
    double n = 1;
    for (int d = 0; d < s.ndim; d++) {
        n *= o->axes >> d & 1 ? (double)s.dim[d] : 1;
    }
    return n;
}

/* The op done again on halves in f32, with its axes kept: the result that was saved is a half, which may have rounded,
 * overflowed or become 0. Else the saved result. */
static eg_tensor *result(eg__walk *w)
{
    if (!w->wide) {
        return with_axes(w, eg__saved_out(w, 0));
    }
    eg__reduce_opts o = *(const eg__reduce_opts *)w->opts;
    o.keepdim = true;
    return eg__op1(w->e->op, eg__saved_in(w, 0), &o);
}

static eg_tensor *number(const eg__walk *w, double v)
{
    return eg_scalar(v, eg__wide_dtype(w, 0));
}

/* t, with 1 where it is 0, for denominators. */
static eg_tensor *not_zero(const eg__walk *w, eg_tensor *t)
{
    return eg_where(eg_eq(t, number(w, 0)), number(w, 1), t);
}

/* ---- sums -------------------------------------------------------------------------------------- */

eg_status eg__grad_sum(eg__walk *w)
{
    return eg__give(w, 0, eg_expand(with_axes(w, eg__dy(w, 0)), eg__in_shape(w, 0)));
}

eg_status eg__grad_mean(eg__walk *w)
{
    eg__widen(w);
    eg_tensor *dy = eg_mul_scalar(with_axes(w, eg__dy(w, 0)), 1 / count_of(w));
    return eg__give(w, 0, eg_expand(dy, eg__in_shape(w, 0)));
}

eg_status eg__grad_logsumexp(eg__walk *w)
{
    eg__widen(w);
    eg_tensor *y = result(w);
    y = eg_where(eg_eq(y, number(w, -(double)INFINITY)), number(w, 0), y);
    eg_tensor *share = eg_exp(eg_sub(eg__saved_in(w, 0), y));
    return eg__give(w, 0, eg_mul(share, with_axes(w, eg__dy(w, 0))));
}

/* The product of what is before x_i times that of what is behind: the gradient of the last element of a
 * running product, which needs no division and so is right beside zeros. */
eg_status eg__grad_prod(eg__walk *w)
{
    const eg__reduce_opts *o = w->opts;
    eg_shape s = eg__in_shape(w, 0), moved = s;
    eg_axes order = {0}, back = {.count = s.ndim};
    int64_t kept = 1, n = 1;
    for (int d = 0; d < s.ndim; d++) {
        if (!(o->axes >> d & 1)) {
            order.axis[order.count++] = d;
            kept *= s.dim[d];
        }
    }
    for (int d = 0; d < s.ndim; d++) {
        if (o->axes >> d & 1) {
            order.axis[order.count++] = d;
            n *= s.dim[d];
        }
    }
    if (kept * n == 0) {
        return eg__give(w, 0, eg_mul(eg__saved_in(w, 0), with_axes(w, eg__dy(w, 0)))); /* empty */
    }
    for (int d = 0; d < s.ndim; d++) {
        back.axis[order.axis[d]] = d;
        moved.dim[d] = s.dim[order.axis[d]];
    }
    eg_tensor *x = eg_permute(eg__saved_in(w, 0), order);
    x = eg_reshape(x, EG_SHAPE(kept, n));
    const eg__slice_grad_opts last = {{1, n - 1, 1, 1}, n};
    eg_tensor *dy = eg_reshape(eg__dy(w, 0), EG_SHAPE(kept, 1));
    dy = eg__op1(&eg__op_slice_grad, dy, &last);
    eg_tensor *dx = eg__cumprod_grad(x, dy, 1);
    return eg__give(w, 0, eg_permute(eg_reshape(dx, moved), back));
}

/* ---- extremes ---------------------------------------------------------------------------------- */

/* dy shared among the elements of x that equal y, times `slope` if there is one. */
static eg_status share(eg__walk *w, eg_tensor *x, eg_tensor *slope)
{
    eg__widen(w);
    eg_tensor *equal = eg_eq(x, with_axes(w, eg__saved_out(w, 0)));
    eg_tensor *count = eg_sum(equal, .axes = axes_of(w), .keepdim = true);
    eg_tensor *dy = eg_div(with_axes(w, eg__dy(w, 0)), count);
    return eg__give(w, 0, eg_where(equal, slope ? eg_mul(slope, dy) : dy, number(w, 0)));
}

eg_status eg__grad_max(eg__walk *w)
{
    return share(w, eg__saved_in(w, 0), NULL);
}

eg_status eg__grad_min(eg__walk *w)
{
    return share(w, eg__saved_in(w, 0), NULL);
}

/* ---- norms and spread --------------------------------------------------------------------------- */

eg_status eg__grad_norm(eg__walk *w)
{
    eg__widen(w);
    double p = ((const eg__reduce_opts *)w->opts)->p;
    eg_tensor *x = eg__saved_in(w, 0), *dy = with_axes(w, eg__dy(w, 0));
    if (p == 1) {
        return eg__give(w, 0, eg_mul(eg_sign(x), dy));
    }
    if (isinf(p)) {
        return share(w, eg_abs(x), eg_sign(x));
    }
    eg_tensor *y = not_zero(w, result(w));
    if (p == 2) {
        return eg__give(w, 0, eg_mul(x, eg_div(dy, y)));
    }
    eg_tensor *ratio = not_zero(w, eg_div(eg_abs(x), y));
    eg_tensor *slope = eg_mul(eg_sign(x), eg_pow_scalar(ratio, p - 1));
    return eg__give(w, 0, eg_mul(slope, dy));
}

/* x minus its mean. */
static eg_tensor *centred(eg__walk *w)
{
    eg_tensor *x = eg__saved_in(w, 0);
    return eg_sub(x, eg_mean(x, .axes = axes_of(w), .keepdim = true));
}

/* 1 / the denominator of the variance. */
static double weight(const eg__walk *w)
{
    return 1 / (count_of(w) - !((const eg__reduce_opts *)w->opts)->biased);
}

eg_status eg__grad_var(eg__walk *w)
{
    eg__widen(w);
    eg_tensor *dy = eg_mul_scalar(with_axes(w, eg__dy(w, 0)), 2 * weight(w));
    return eg__give(w, 0, eg_mul(centred(w), dy));
}

eg_status eg__grad_std(eg__walk *w)
{
    eg__widen(w);
    eg_tensor *y = not_zero(w, result(w));
    eg_tensor *dy = eg_mul_scalar(with_axes(w, eg__dy(w, 0)), weight(w));
    return eg__give(w, 0, eg_mul(centred(w), eg_div(dy, y)));
}
