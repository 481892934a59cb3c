/* scan.c - gradients of running sums and products, recurrences and softmax. */
#include "autograd/rules/rules.h"
#include "lib/ops/index.h"

static int axis_of(const eg__walk *w)
{
    return ((const eg__scan_opts *)w->opts)->axis;
}

static eg_tensor *flip(eg_tensor *t, int axis)
{
    return eg_slice(t, axis, EG_END, EG_END, -1);
}

/* t moved up by one along the axis, with 0 in front. */
static eg_tensor *shift(eg_tensor *t, int axis)
{
    int64_t n = eg_size(t, axis);
    const eg__slice_opts head = {axis, 0, 1, n - 1};
    const eg__slice_grad_opts up = {{axis, 1, 1, n - 1}, n};
    return eg__op1(&eg__op_slice_grad, eg__op1(&eg__op_slice, t, &head), &up);
}

/* s_i = a_i s_(i-1) + b_i, or from the far end s_i = a_(i+1) s_(i+1) + b_i. */
static eg_tensor *recurrence(eg_tensor *a, eg_tensor *b, int axis, bool reverse)
{
    return eg__op2(&eg__op_recurrence, a, b, &(eg__scan_opts){axis, reverse});
}

eg_status eg__grad_cumsum(eg__walk *w)
{
    int axis = axis_of(w);
    return eg__give(w, 0, flip(eg_cumsum(flip(eg__dy(w, 0), axis), axis), axis));
}

/* dx_i = y_(i-1) s_i with s_i = dy_i + x_(i+1) s_(i+1): what is before x_i times what it acts on. */
eg_tensor *eg__cumprod_grad(eg_tensor *x, eg_tensor *dy, int axis)
{
    if (!x || !dy || x->n == 0) {
        return dy;
    }
    x = eg_cast(x, EG_F64);
    dy = eg_cast(dy, EG_F64);
    eg_tensor *y = x ? eg_cumprod(x, axis) : NULL;
    if (!y || !dy) {
        return NULL;
    }
    eg_shape s = {.ndim = x->ndim, .dim = {1, 1, 1, 1, 1, 1, 1, 1}};
    s.dim[axis] = x->shape[axis];
    eg_tensor *first = eg__eye_on(x->device, 1, s.dim[axis], 0, (eg_dtype)x->dtype);
    first = eg_reshape(first, s);
    return eg_mul(eg_add(shift(y, axis), first), recurrence(x, dy, axis, true));
}

eg_status eg__grad_cumprod(eg__walk *w)
{
    return eg__give(w, 0, eg__cumprod_grad(eg__saved_in(w, 0), eg__dy(w, 0), axis_of(w)));
}

/* What was taken from a place goes back there, each time it was taken; halves are summed in f32. */
static eg_status take_back(eg__walk *w)
{
    eg_shape x = eg__in_shape(w, 0);
    eg__scatter_opts o = {.axis = axis_of(w), .ndim = x.ndim};
    eg_tensor *dy = eg__dy(w, 0), *indices = eg__saved_out(w, 1);
    memcpy(o.shape, x.dim, sizeof o.shape);
    dy = dy && eg__is_half(dy->dtype) ? eg_cast(dy, EG_F32) : dy;
    return eg__give(w, 0, indices ? eg__scatter(&eg__op_scatter_add, dy, indices, NULL, &o) : NULL);
}

eg_status eg__grad_cummax(eg__walk *w)
{
    return take_back(w);
}

eg_status eg__grad_cummin(eg__walk *w)
{
    return take_back(w);
}

/* The adjoint runs the other way over the same factors. */
eg_status eg__grad_recurrence(eg__walk *w)
{
    const eg__scan_opts *o = w->opts;
    eg__widen(w);
    eg_tensor *db = recurrence(eg__saved_in(w, 0), eg__dy(w, 0), o->axis, !o->reverse);
    if (eg__needs(w, 0) && db) {
        eg_tensor *y = eg__saved_out(w, 0);
        if (!y || y->n == 0) {
            eg__give(w, 0, y);
        } else {
            eg__give(w, 0, o->reverse ? eg_mul(shift(db, o->axis), y) : eg_mul(db, shift(y, o->axis)));
        }
    }
    return eg__needs(w, 1) || !db ? eg__give(w, 1, db) : w->status;
}

eg_status eg__grad_softmax(eg__walk *w)
{
    if (!eg__walk_recorded(w)) {
        return eg__give(w, 0, eg__op2(&eg__op_softmax_grad, eg__saved_out(w, 0), eg__dy(w, 0), w->opts));
    }
    eg__widen(w);
    eg_tensor *y = eg__saved_out(w, 0), *dy = eg__dy(w, 0);
    eg_tensor *sum = eg_sum(eg_mul(y, dy), .axes = EG_AXES(axis_of(w)), .keepdim = true);
    return eg__give(w, 0, eg_mul(y, eg_sub(dy, sum)));
}

eg_status eg__grad_log_softmax(eg__walk *w)
{
    if (!eg__walk_recorded(w)) {
        return eg__give(w, 0, eg__op2(&eg__op_log_softmax_grad, eg__saved_out(w, 0), eg__dy(w, 0), w->opts));
    }
    eg__widen(w);
    eg_tensor *y = eg__saved_out(w, 0), *dy = eg__dy(w, 0);
    eg_tensor *sum = eg_sum(dy, .axes = EG_AXES(axis_of(w)), .keepdim = true);
    return eg__give(w, 0, eg_sub(dy, eg_mul(eg_exp(y), sum)));
}
