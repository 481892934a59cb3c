/* write_norms.c - normalization as nodes of ONNX. */
#include <egret/error.h>
#include <egret/ops.h>

#include "lib/ops/options.h"
#include "nn/onnx/write_rows.h"

/* A line of numbers, one for each channel, as it is broadcast to x. */
static eg__val by_channel(eg__onnx_writer *w, eg_tensor *t, int ndim)
{
    eg_shape s = {ndim - 1, {eg_numel(t), 1, 1, 1, 1, 1, 1, 1}};
    if (eg__onnx_depends(w, t)) {
        return eg__put_reshape(w, eg__of(w, t), s.dim, s.ndim);
    }
    eg_scope scope = eg_scope_push();
    const eg__val made = eg__constant(w, scope.depth ? eg_reshape(t, s) : NULL);
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return made;
}

/* x scale + shift by channel, where there are such, and ReLU of it. */
static eg__val scaled(eg__onnx_writer *w, const eg_op_call *c, eg__val x)
{
    const eg__norm_opts *o = c->options;
    const int ndim = eg_ndim(c->in[0]);
    eg_tensor *scale = c->nin > 1 ? c->in[1] : NULL, *shift = c->nin > 2 ? c->in[2] : NULL;
    x = scale ? eg__put(w, "Mul", x, by_channel(w, scale, ndim)) : x;
    x = shift ? eg__put(w, "Add", x, by_channel(w, shift, ndim)) : x;
    return o->relu ? eg__put(w, "Relu", x) : x;
}

/* The rows' images are first, and stay. */
static eg_status check_rows(const eg__onnx_writer *w, const eg_op_call *c, int axes)
{
    const int from_end = eg__batch_of(w, c->in[0]).from_end;
    return from_end && from_end <= axes ? eg__not_along_batch(w, c, eg_ndim(c->in[0]) - from_end) : EG_OK;
}

eg_status eg__write_scale_channels(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    (void)told;
    eg_status st = check_rows(w, c, eg_ndim(c->in[0]) - 1);
    if (!st) {
        eg__set_output(w, c->out[0], scaled(w, c, eg__put_wide(w, eg__of(w, c->in[0]))));
    }
    return st;
}

/* (x - mean) / sqrt(var + eps) over axes; without the mean if it stays. */
static eg__val normal(eg__onnx_writer *w, eg__val x, const int64_t *axes, int n, double eps, bool root)
{
    x = root ? x : eg__put(w, "Sub", x, eg__put_reduce(w, "ReduceMean", x, axes, n, true));
    const eg__val squares = eg__put_reduce(w, "ReduceMean", eg__put(w, "Mul", x, x), axes, n, true);
    return eg__put(w, "Div", x, eg__put(w, "Sqrt", eg__put(w, "Add", squares, eg__real(eps))));
}

/* Of the batch itself, which must not leave its statistics behind. */
eg_status eg__write_batch_norm(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__norm_opts *o = c->options;
    const int ndim = eg_ndim(c->in[0]);
    const eg__batch batch = eg__batch_of(w, c->in[0]);
    int64_t axes[EG_MAX_DIMS];
    int n = 0;
    (void)told;
    for (int i = 3; i < c->nin; i++) {
        if (c->in[i]) {
            return eg__onnx_cannot(
                c, "it changes its running statistics: the module trains, eg_module_eval is for serving");
        }
    }
    for (int i = 0; i < ndim; i++) {
        if (i != 1) {
            axes[n++] = i;
        }
    }
    const eg__val x = normal(w, eg__put_wide(w, eg__of(w, c->in[0])), axes, n, o->eps, false);
    eg__set_output(w, c->out[0], scaled(w, c, x));
    eg__batch_set(w, c->out[0], batch);
    return EG_OK;
}

/* Each group as one channel of an instance norm; then each channel's own scale. */
eg_status eg__write_group_norm(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__norm_opts *o = c->options;
    const bool grows = eg__batch_of(w, c->in[0]).from_end;
    eg_shape back = eg_shape_of(c->in[0]);
    const int64_t together[] = {grows ? -1 : back.dim[0], o->groups, eg_numel(c->in[0]) / back.dim[0] / o->groups};
    const int64_t last = 2;
    (void)told;
    eg_status st = check_rows(w, c, back.ndim - 1);
    if (st) {
        return st;
    }
    back.dim[0] = together[0];
    eg__val x = eg__put_reshape(w, eg__put_wide(w, eg__of(w, c->in[0])), together, 3);
    if (eg__attribute_holds(o->eps, x.dtype)) {
        const eg__val one = eg__filled(w, EG_SHAPE(o->groups), 1, x.dtype);
        const eg__val zero = eg__filled(w, EG_SHAPE(o->groups), 0, x.dtype);
        eg__set_float(w, "epsilon", o->eps);
        x = eg__put(w, "InstanceNormalization", x, one, zero);
    } else {
        x = normal(w, x, &last, 1, o->eps, false);
    }
    eg__set_output(w, c->out[0], scaled(w, c, eg__put_reshape(w, x, back.dim, back.ndim)));
    return EG_OK;
}

eg_status eg__write_layer_norm(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__norm_opts *o = c->options;
    eg_tensor *weight = c->nin > 1 ? c->in[1] : NULL, *bias = c->nin > 2 ? c->in[2] : NULL;
    eg_shape own = {.ndim = o->axes};
    int64_t axes[EG_MAX_DIMS];
    (void)told;
    for (int i = 0; i < o->axes; i++) {
        axes[i] = i - o->axes;
        own.dim[i] = eg_size(c->in[0], i - o->axes);
    }
    eg_status st = check_rows(w, c, o->axes);
    if (st) {
        return st;
    }
    eg__val x = eg__of(w, c->in[0]);
    if (!o->root && !o->relu && eg__attribute_holds(o->eps, x.dtype)) {
        const eg__val scale = weight ? eg__of(w, weight) : eg__filled(w, own, 1, x.dtype), shift = eg__of(w, bias);
        eg__set_int(w, "axis", -o->axes);
        eg__set_float(w, "epsilon", o->eps);
        eg__set_output(w, c->out[0], eg__put(w, "LayerNormalization", x, scale, shift));
        return EG_OK;
    }
    x = normal(w, eg__put_wide(w, x), axes, o->axes, o->eps, o->root);
    x = weight ? eg__put(w, "Mul", x, eg__of(w, weight)) : x;
    x = bias ? eg__put(w, "Add", x, eg__of(w, bias)) : x;
    eg__set_output(w, c->out[0], o->relu ? eg__put(w, "Relu", x) : x);
    return EG_OK;
}
