/* write_reduce.c - reductions, running sums and softmax as nodes of ONNX. */
#include <math.h>
#include <string.h>

#include <egret/error.h>
#include <egret/ops.h>

#include "lib/ops/options.h"
#include "nn/onnx/write_rows.h"

static int axes_of(unsigned mask, int ndim, int64_t *axes)
{
    int n = 0;
    for (int i = 0; i < ndim; i++) {
        if (mask >> i & 1) {
            axes[n++] = i;
        }
    }
    return n;
}

eg__val eg__put_reduce(eg__onnx_writer *w, const char *op, eg__val x, const int64_t *axes, int n, bool keepdim)
{
    const eg__val list = eg__ints(w, axes, n);
    eg__set_int(w, "keepdims", keepdim);
    return eg__put(w, op, x, list);
}

/* One over the axes of the call. */
static eg__val over(eg__onnx_writer *w, const eg_op_call *c, const char *op, eg__val x, bool keepdim)
{
    int64_t axes[EG_MAX_DIMS];
    const int n = axes_of(((const eg__reduce_opts *)c->options)->axes, eg_ndim(c->in[0]), axes);
    return n ? eg__put_reduce(w, op, x, axes, n, keepdim) : x;
}

/* The axis of the batch stays, or is one of those that go, whatever its size. */
static void reduced(eg__onnx_writer *w, const eg_op_call *c, eg__val y)
{
    const eg__reduce_opts *o = c->options;
    const int ndim = eg_ndim(c->in[0]);
    eg__batch b = eg__batch_of(w, c->in[0]);
    const int at = ndim - b.from_end;
    for (int i = at + 1; b.from_end && i < ndim && !o->keepdim; i++) {
        b.from_end -= o->axes >> i & 1;
    }
    eg__set_output(w, c->out[0], y);
    eg__batch_set(w, c->out[0], b.times && !(o->axes >> at & 1) ? b : (eg__batch){0, 0});
}

/* Halves are added in f32, integers and bools in the dtype of the result. */
eg_status eg__write_reduce(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    eg__val x = eg__put_wide(w, eg__of(w, c->in[0]));
    const eg_dtype dtype = eg_dtype_of(c->out[0]);
    x = dtype > EG_BF16 && dtype != EG_BOOL ? eg__as(w, x, dtype) : x;
    reduced(w, c, over(w, c, op, x, ((const eg__reduce_opts *)c->options)->keepdim));
    return EG_OK;
}

/* Of tests whether elements are not 0: how many, any or all. */
eg_status eg__write_count(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__val x = eg__as(w, eg__as(w, eg__of(w, c->in[0]), EG_BOOL), EG_I64);
    reduced(w, c, over(w, c, op, x, ((const eg__reduce_opts *)c->options)->keepdim));
    return EG_OK;
}

/* (sum |x|^p)^(1/p), and what it is at the ends of p. */
eg_status eg__write_norm(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__reduce_opts *o = c->options;
    eg__val x = eg__put_wide(w, eg__of(w, c->in[0]));
    (void)told;
    if (o->p == 2 || o->p == 1) {
        x = o->axes ? over(w, c, o->p == 2 ? "ReduceL2" : "ReduceL1", x, o->keepdim) : eg__put(w, "Abs", x);
    } else if (o->p == 0) {
        x = over(w, c, "ReduceSum", eg__as(w, eg__as(w, x, EG_BOOL), EG_I64), o->keepdim);
    } else if (isinf(o->p)) {
        x = over(w, c, o->p > 0 ? "ReduceMax" : "ReduceMin", eg__put(w, "Abs", x), o->keepdim);
    } else {
        x = eg__put(w, "Pow", eg__put(w, "Abs", eg__as(w, x, EG_F64)), eg__real(o->p));
        x = eg__put(w, "Pow", over(w, c, "ReduceSum", x, o->keepdim), eg__real(1 / o->p));
    }
    reduced(w, c, x);
    return EG_OK;
}

/* The mean of squares of what is centred, times n / (n - 1) unless biased; "Sqrt" of it. */
eg_status eg__write_variance(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__reduce_opts *o = c->options;
    const int ndim = eg_ndim(c->in[0]), from_end = eg__batch_of(w, c->in[0]).from_end;
    double n = 1;
    for (int i = 0; i < ndim; i++) {
        n *= o->axes >> i & 1 ? (double)eg_size(c->in[0], i) : 1;
    }
    if (from_end && o->axes >> (ndim - from_end) & 1 && !o->biased) {
        return eg__not_along_batch(w, c, ndim - from_end);
    }
    const eg__val x = eg__put_wide(w, eg__of(w, c->in[0]));
    const eg__val centred = eg__put(w, "Sub", x, over(w, c, "ReduceMean", x, true));
    eg__val y = over(w, c, "ReduceMean", eg__put(w, "Mul", centred, centred), o->keepdim);
    y = o->biased ? y : n == 1 ? eg__put(w, "Div", y, eg__real(0)) : eg__put(w, "Mul", y, eg__real(n / (n - 1)));
    reduced(w, c, *op ? eg__put(w, op, y) : y);
    return EG_OK;
}

/* Of all axes: in a line. */
eg_status eg__write_place(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__reduce_opts *o = c->options;
    const int ndim = eg_ndim(c->in[0]);
    const int64_t all = -1;
    int64_t axes[EG_MAX_DIMS], ones[EG_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
    const int n = axes_of(o->axes, ndim, axes);
    eg__val x = eg__of(w, c->in[0]);
    if (n != 1 && n != ndim) {
        return eg__onnx_cannot(c, "it is along several axes");
    }
    const bool line = n != 1;
    if (line) {
        x = eg__put_reshape(w, x, &all, 1);
    }
    eg__set_int(w, "axis", line ? 0 : axes[0]);
    eg__set_int(w, "keepdims", line ? 0 : o->keepdim);
    eg__val y = eg__put(w, op, x);
    if (line && o->keepdim) {
        y = eg__put_reshape(w, y, ones, ndim);
    }
    reduced(w, c, y);
    return EG_OK;
}

/* ---- along one axis ----------------------------------------------------------------------------------- */

eg_status eg__write_cumsum(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__scan_opts *o = c->options;
    eg__val x = eg__put_wide(w, eg__of(w, c->in[0]));
    const eg_dtype dtype = eg_dtype_of(c->out[0]);
    x = dtype > EG_BF16 ? eg__as(w, x, dtype) : x;
    eg__set_output(w, c->out[0], eg_ndim(c->in[0]) ? eg__put(w, op, x, eg__as(w, eg__whole(o->axis), EG_I64)) : x);
    return EG_OK;
}

/* Of the only number 1, or 0. */
eg_status eg__write_softmax(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    eg__val x = eg__of(w, c->in[0]);
    const int64_t one = 1;
    if (!eg_ndim(c->in[0])) {
        x = eg__put_reshape(w, x, &one, 1);
    }
    eg__set_int(w, "axis", eg_ndim(c->in[0]) ? ((const eg__scan_opts *)c->options)->axis : 0);
    x = eg__put(w, op, x);
    eg__set_output(w, c->out[0], eg_ndim(c->in[0]) ? x : eg__put_reshape(w, x, NULL, 0));
    return EG_OK;
}

/* -log softmax of the label, mixed with the mean of all classes; rows whose label is -1 count nothing. */
eg_status eg__write_cross_entropy(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__cross_entropy_opts *o = c->options;
    const double classes = (double)eg_size(c->in[0], 1), s = o->smoothing;
    const int64_t axis = 1;
    const eg__val labels = eg__of(w, c->in[1]), x = eg__put_wide(w, eg__of(w, c->in[0]));
    const eg__val skip = eg__put(w, "Less", labels, eg__whole(0));
    const eg__val safe = eg__put_unsqueeze(w, eg__put_where(w, skip, eg__whole(0), eg__as(w, labels, EG_I64)), 1);
    (void)told;
    eg__set_int(w, "axis", 1);
    eg__val lost = eg__put(w, "Neg", eg__put(w, "LogSoftmax", x));
    if (c->nin > 2 && c->in[2]) {
        lost = eg__put(w, "Mul", lost, eg__of(w, c->in[2]));
    }
    eg__set_int(w, "axis", 1);
    eg__val y = eg__put(w, "Squeeze", eg__put(w, "GatherElements", lost, safe), eg__ints(w, &axis, 1));
    if (s > 0) {
        const eg__val rest = eg__put_reduce(w, "ReduceSum", lost, &axis, 1, false);
        y = eg__put(w, "Add", eg__put(w, "Mul", y, eg__real(1 - s)), eg__put(w, "Mul", rest, eg__real(s / classes)));
    }
    eg__set_output(w, c->out[0], eg__put_where(w, skip, eg__real(0), y));
    return EG_OK;
}
