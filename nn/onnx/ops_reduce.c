/* ops_reduce.c - sums and extremes along axes, and softmax. */
#include <math.h>
#include <string.h>

#include "nn/onnx/ops.h"

/* ---- reductions ------------------------------------------------------------------------------------- */

/* The axes to reduce; false, without words: none are to be. */
static bool axes_of(const eg_onnx_call *c, eg_reduce_options *o, eg_status *st)
{
    int64_t list[EG_MAX_DIMS];
    const int ndim = eg_ndim(eg__onnx_in(c, 0)), n = eg__onnx_list(c, "axes", 1, list, EG_MAX_DIMS);
    *o = (eg_reduce_options){.size = sizeof *o, .keepdim = eg_onnx_int(c, "keepdims", 1)};
    *st = n < 0 ? eg__onnx_why() : EG_OK;
    for (int i = 0; i < n && !*st; i++) {
        o->axes.axis[o->axes.count++] = eg__onnx_axis(list[i], ndim);
        *st = o->axes.axis[i] < 0 ? eg__onnx_why() : EG_OK;
    }
    return n > 0 || !eg_onnx_int(c, "noop_with_empty_axes", 0);
}

typedef eg_tensor *reduce_fn(eg_tensor *x, const eg_reduce_options *o);

/* Of x made by `before`, of x's dtype. */
static eg_status reduce(eg_onnx_call *c, eg_tensor *(*before)(eg_tensor *x), reduce_fn *f)
{
    eg_reduce_options o;
    eg_status st;
    eg_tensor *x = eg__onnx_in(c, 0);
    const eg_dtype dtype = eg_dtype_of(x);
    const bool any = axes_of(c, &o, &st);
    if (st) {
        return st;
    }
    x = before ? before(x) : x;
    x = any && eg_ndim(x) ? f(x, &o) : x;
    return eg__onnx_give(c, eg_dtype_of(x) == dtype ? x : eg_cast(x, dtype));
}

eg_status eg__onnx_run_reduce_sum(eg_onnx_call *c)
{
    return reduce(c, NULL, eg_sum_with);
}

eg_status eg__onnx_run_reduce_mean(eg_onnx_call *c)
{
    return reduce(c, NULL, eg_mean_with);
}

eg_status eg__onnx_run_reduce_prod(eg_onnx_call *c)
{
    return reduce(c, NULL, eg_prod_with);
}

eg_status eg__onnx_run_reduce_l1(eg_onnx_call *c)
{
    return reduce(c, eg_abs, eg_sum_with);
}

eg_status eg__onnx_run_reduce_sum_square(eg_onnx_call *c)
{
    return reduce(c, eg_square, eg_sum_with);
}

static eg_tensor *root_of_sum(eg_tensor *x, const eg_reduce_options *o)
{
    return eg_sqrt(eg_sum_with(x, o));
}

eg_status eg__onnx_run_reduce_l2(eg_onnx_call *c)
{
    return reduce(c, eg_square, root_of_sum);
}

static eg_tensor *log_of_sum(eg_tensor *x, const eg_reduce_options *o)
{
    return eg_log(eg_sum_with(x, o));
}

eg_status eg__onnx_run_reduce_log_sum(eg_onnx_call *c)
{
    return reduce(c, NULL, log_of_sum);
}

eg_status eg__onnx_run_reduce_log_sum_exp(eg_onnx_call *c)
{
    return reduce(c, NULL, eg_logsumexp_with);
}

/* Of nothing: the least, or largest, number there is. */
static eg_tensor *extreme(eg_tensor *x, const eg_reduce_options *given, reduce_fn *f, double sign)
{
    eg_reduce_options o = *given;
    o.has_initial = !eg_numel(x);
    o.initial = eg_dtype_of(x) == EG_BOOL ? sign > 0 : sign * INFINITY;
    return f(x, &o);
}

/* The number that stands for nothing is the type's. */
static eg_status of_type(eg_onnx_call *c, eg_status st)
{
    return st || eg_numel(eg__onnx_in(c, 0)) || !c->out[0]
               ? st
               : eg__onnx_give(c, eg__onnx_in_range(c->out[0], eg__onnx_in_type(c, 0)));
}

static eg_tensor *largest(eg_tensor *x, const eg_reduce_options *o)
{
    return extreme(x, o, eg_max_with, -1);
}

static eg_tensor *least(eg_tensor *x, const eg_reduce_options *o)
{
    return extreme(x, o, eg_min_with, 1);
}

eg_status eg__onnx_run_reduce_max(eg_onnx_call *c)
{
    return of_type(c, reduce(c, NULL, largest));
}

eg_status eg__onnx_run_reduce_min(eg_onnx_call *c)
{
    return of_type(c, reduce(c, NULL, least));
}

/* ---- places ----------------------------------------------------------------------------------------- */

/* "select_last_index": of equal ones the last. */
static eg_status place(eg_onnx_call *c, reduce_fn *f)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const int axis = eg__onnx_axis(eg_onnx_int(c, "axis", 0), eg_ndim(x));
    eg_reduce_options o = {.size = sizeof o, .axes = EG_AXES(axis), .keepdim = eg_onnx_int(c, "keepdims", 1)};
    if (axis < 0) {
        return eg__onnx_why();
    }
    if (!eg_onnx_int(c, "select_last_index", 0)) {
        return eg__onnx_give(c, f(x, &o));
    }
    eg_tensor *from_end = f(eg_flip(x, EG_AXES(axis)), &o);
    return eg__onnx_give(c, eg_add_int(eg_neg(from_end), eg_size(x, axis) - 1));
}

eg_status eg__onnx_run_arg_max(eg_onnx_call *c)
{
    return place(c, eg_argmax_with);
}

eg_status eg__onnx_run_arg_min(eg_onnx_call *c)
{
    return place(c, eg_argmin_with);
}

/* ---- along one axis --------------------------------------------------------------------------------- */

/* Before version 13 all axes from the one named on are one. */
static eg_status along(eg_onnx_call *c, eg_tensor *(*f)(eg_tensor *x, int axis))
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const bool joined = c->node->version < 13;
    const int axis = eg__onnx_axis(eg_onnx_int(c, "axis", joined ? 1 : -1), eg_ndim(x));
    if (axis < 0) {
        return eg__onnx_why();
    }
    if (!joined || axis == eg_ndim(x) - 1) {
        return eg__onnx_give(c, f(x, axis));
    }
    const eg_shape s = eg_shape_of(x);
    int64_t rows = 1;
    for (int i = 0; i < axis; i++) {
        rows *= s.dim[i];
    }
    const int64_t columns = rows ? eg_numel(x) / rows : 1;
    return eg__onnx_give(c, eg_reshape(f(eg_reshape(x, EG_SHAPE(rows, columns)), 1), s));
}

eg_status eg__onnx_run_softmax(eg_onnx_call *c)
{
    return along(c, eg_softmax);
}

eg_status eg__onnx_run_log_softmax(eg_onnx_call *c)
{
    return along(c, eg_log_softmax);
}

/* 1 at the first largest, 0 elsewhere. */
static eg_tensor *hard(eg_tensor *x, int axis)
{
    eg_tensor *first = eg_argmax(x, .axes = EG_AXES(axis), .keepdim = true);
    eg_shape line = {eg_ndim(x), {1, 1, 1, 1, 1, 1, 1, 1}};
    line.dim[axis] = eg_size(x, axis);
    eg_tensor *places = eg_reshape(eg_arange_int(0, line.dim[axis], 1, EG_I64), line);
    return eg_cast(eg_eq(first, eg_to(places, eg_device_of(x))), eg_dtype_of(x));
}

eg_status eg__onnx_run_hardmax(eg_onnx_call *c)
{
    return along(c, hard);
}
