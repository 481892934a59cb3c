/* ops_reduce.c - sums and extremes along axes, and softmax. */
#include <math.h>
#include <string.h>

#include "nn/onnx/ops.h"

/* ---- reductions ------------------------------------------------------------------------------------- */

typedef eg_tensor *reduce_fn(eg_tensor *x, const eg_reduce_options *o);
typedef eg_tensor *each_fn(eg_tensor *x);

/* The three steps of a reduction: on every element before, along the axes, and on every result after. Halves are
 * reduced in f32, and integers in i64 unless `real`, then in f64. The first and the last step also apply where no axis
 * is reduced. */
typedef struct reduction {
    each_fn *before;
    reduce_fn *reduce;
    each_fn *after;
    bool real;
} reduction;

/* Of integers towards 0. */
static eg_tensor *mean(eg_tensor *x, const eg_reduce_options *o)
{
    if (eg_dtype_of(x) <= EG_BF16) {
        return eg_mean_with(x, o);
    }
    eg_tensor *sum = eg_sum_with(x, o);
    const int64_t n = eg_numel(x), results = eg_numel(sum);
    return eg__onnx_quotient(sum, eg_to(eg_scalar_int(results ? n / results : 1, EG_I64), eg_device_of(x)));
}

/* Of nothing: the least, or largest, number there is. */
static eg_tensor *extreme(eg_tensor *x, const eg_reduce_options *given, reduce_fn *f, double sign)
{
    eg_reduce_options o = *given;
    o.has_initial = !eg_numel(x);
    o.initial = eg_dtype_of(x) == EG_BOOL ? sign > 0 : sign * INFINITY;
    return f(x, &o);
}

static eg_tensor *largest(eg_tensor *x, const eg_reduce_options *o)
{
    return extreme(x, o, eg_max_with, -1);
}

static eg_tensor *least(eg_tensor *x, const eg_reduce_options *o)
{
    return extreme(x, o, eg_min_with, 1);
}

static const reduction sum = {.reduce = eg_sum_with};
static const reduction average = {.reduce = mean};
static const reduction product = {.reduce = eg_prod_with};
static const reduction l1 = {.before = eg_abs, .reduce = eg_sum_with};
static const reduction l2 = {.before = eg_square, .reduce = eg_sum_with, .after = eg_sqrt, .real = true};
static const reduction sum_square = {.before = eg_square, .reduce = eg_sum_with};
static const reduction log_sum = {.reduce = eg_sum_with, .after = eg_log, .real = true};
static const reduction log_sum_exp = {.reduce = eg_logsumexp_with, .real = true};
static const reduction maximum = {.reduce = largest};
static const reduction minimum = {.reduce = least};

/* The tensor in the dtype in which it is reduced. */
static eg_tensor *for_reduction(const reduction *r, eg_tensor *x)
{
    const eg_dtype dtype = eg_dtype_of(x);
    if (dtype <= EG_BF16 || r->real) {
        return eg__onnx_wide(x);
    }
    return r->before && dtype != EG_I64 ? eg_cast(x, EG_I64) : x;
}

static eg_status reduce(eg_onnx_call *c, const reduction *r)
{
    int64_t list[EG_MAX_DIMS];
    eg_tensor *x = eg__onnx_in(c, 0);
    const eg_dtype dtype = eg_dtype_of(x);
    const int n = eg__onnx_list(c, "axes", 1, list, EG_MAX_DIMS);
    eg_reduce_options o = {.size = sizeof o, .keepdim = eg_onnx_int(c, "keepdims", 1)};
    if (n < 0 || eg__onnx_axes(list, n, eg_ndim(x), &o.axes)) {
        return eg__onnx_why();
    }
    const bool any = eg_ndim(x) && (n > 0 || !eg_onnx_int(c, "noop_with_empty_axes", 0));
    eg_tensor *y = for_reduction(r, x);
    y = r->before ? r->before(y) : y;
    y = any ? r->reduce(y, &o) : y;
    y = r->after ? r->after(y) : y;
    y = eg_dtype_of(y) == dtype ? y : eg_cast(y, dtype);
    /* The number that stands for nothing is the type's. */
    const bool nothing = (r == &maximum || r == &minimum) && !eg_numel(x);
    return eg__onnx_give(c, nothing ? eg__onnx_in_range(y, eg__onnx_in_type(c, 0)) : y);
}

eg_status eg__onnx_run_reduce_sum(eg_onnx_call *c)
{
    return reduce(c, &sum);
}

eg_status eg__onnx_run_reduce_mean(eg_onnx_call *c)
{
    return reduce(c, &average);
}

eg_status eg__onnx_run_reduce_prod(eg_onnx_call *c)
{
    return reduce(c, &product);
}

eg_status eg__onnx_run_reduce_l1(eg_onnx_call *c)
{
    return reduce(c, &l1);
}

eg_status eg__onnx_run_reduce_sum_square(eg_onnx_call *c)
{
    return reduce(c, &sum_square);
}

eg_status eg__onnx_run_reduce_l2(eg_onnx_call *c)
{
    return reduce(c, &l2);
}

eg_status eg__onnx_run_reduce_log_sum(eg_onnx_call *c)
{
    return reduce(c, &log_sum);
}

eg_status eg__onnx_run_reduce_log_sum_exp(eg_onnx_call *c)
{
    return reduce(c, &log_sum_exp);
}

eg_status eg__onnx_run_reduce_max(eg_onnx_call *c)
{
    return reduce(c, &maximum);
}

eg_status eg__onnx_run_reduce_min(eg_onnx_call *c)
{
    return reduce(c, &minimum);
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
