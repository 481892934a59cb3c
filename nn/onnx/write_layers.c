/* write_layers.c - products, convolutions and pools as nodes of ONNX. */
#include <string.h>

#include <egret/error.h>
#include <egret/ops.h>

#include "lib/ops/options.h"
#include "nn/onnx/write_rows.h"

/* ---- products ------------------------------------------------------------------------------------------ */

/* x w^T + b: one node of matrices, of more axes a product and a sum. */
eg_status eg__write_linear(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const int act = c->options ? ((const eg__linear_opts *)c->options)->act : EG__ACT_NONE;
    const int64_t perm[] = {1, 0};
    eg_tensor *bias = c->nin > 2 ? c->in[2] : NULL;
    const eg__val x = eg__of(w, c->in[0]), weight = eg__of(w, c->in[1]), b = eg__of(w, bias);
    (void)told;
    if (eg__batch_of(w, c->in[0]).from_end == 1) {
        return eg__not_along_batch(w, c, eg_ndim(c->in[0]) - 1);
    }
    eg__val y;
    if (eg_ndim(c->in[0]) == 2) {
        eg__set_int(w, "transB", 1);
        y = eg__put(w, "Gemm", x, weight, b);
    } else {
        y = eg__put(w, "MatMul", x, eg__put_transpose(w, weight, perm, 2));
        y = bias ? eg__put(w, "Add", y, b) : y;
    }
    eg__set_output(w, c->out[0], eg__put_act(w, act, y));
    return EG_OK;
}

/* Axes that are no matrices' broadcast; rows of the left one stay rows, columns of the right one columns. */
static eg_status batch_of_product(const eg__onnx_writer *w, const eg_op_call *c, eg__batch *y)
{
    const eg__batch a = eg__batch_of(w, c->in[0]), b = eg__batch_of(w, c->in[1]);
    const int na = eg_ndim(c->in[0]), nb = eg_ndim(c->in[1]);
    const bool lines = na < 2 || nb < 2;
    if (!a.from_end && !b.from_end) {
        return EG_OK;
    }
    if (a.from_end == 2 && !b.from_end) {
        *y = (eg__batch){nb < 2 ? 1 : 2, a.times};
        return EG_OK;
    }
    if (!lines && !a.from_end && b.from_end == 1) {
        *y = b;
        return EG_OK;
    }
    const bool left = a.from_end > 2, right = b.from_end > 2;
    const bool one = left ? right ? a.from_end == b.from_end && a.times == b.times
                                  : !b.from_end && (nb < a.from_end || eg_size(c->in[1], -a.from_end) == 1)
                          : right && !a.from_end && (na < b.from_end || eg_size(c->in[0], -b.from_end) == 1);
    if (lines || !one) {
        return eg_failf(EG_ENOKERNEL, eg__onnx_save_name,
                        "matmul cannot be written with .any_batch: the axes of the batch do not go together");
    }
    *y = left ? a : b;
    return EG_OK;
}

eg_status eg__write_matmul(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    eg__batch batch = {0, 0};
    eg_status st = batch_of_product(w, c, &batch);
    if (!st) {
        eg__set_output(w, c->out[0], eg__put(w, op, eg__of(w, c->in[0]), eg__of(w, c->in[1])));
        eg__batch_set(w, c->out[0], batch);
    }
    return st;
}

/* ---- convolutions -------------------------------------------------------------------------------------- */

/* Of the axes there are, the last of three. */
static void set_axes(eg__onnx_writer *w, const char *name, const int64_t *three, int axes)
{
    eg__set_ints(w, name, three + 3 - axes, axes);
}

static void set_pads(eg__onnx_writer *w, const int64_t *before, const int64_t *after, int axes)
{
    int64_t pads[6];
    for (int i = 0; i < axes; i++) {
        pads[i] = before[3 - axes + i];
        pads[axes + i] = after[3 - axes + i];
    }
    eg__set_ints(w, "pads", pads, 2 * axes);
}

static void set_geometry(eg__onnx_writer *w, const eg__conv_geometry *g, int axes)
{
    set_axes(w, "kernel_shape", g->k, axes);
    set_axes(w, "strides", g->stride, axes);
    set_axes(w, "dilations", g->dilation, axes);
    set_pads(w, g->before, g->after, axes);
    eg__set_int(w, "group", g->groups);
}

/* The axes of images, and whether x has them all and the batch first. */
static eg_status check_images(const eg__onnx_writer *w, const eg_op_call *c, int axes)
{
    const int from_end = eg__batch_of(w, c->in[0]).from_end;
    if (axes < 1 || axes > 3 || eg_ndim(c->in[0]) != axes + 2) {
        return eg__onnx_cannot(c, "it is of one image without an axis for the batch");
    }
    return from_end && from_end != axes + 2 ? eg__not_along_batch(w, c, axes + 2 - from_end) : EG_OK;
}

eg_status eg__write_conv(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__conv_opts *o = c->options;
    const int axes = eg_ndim(c->in[1]) - 2;
    eg_status st = check_images(w, c, axes);
    if (!st) {
        const eg__val x = eg__of(w, c->in[0]), weight = eg__of(w, c->in[1]);
        const eg__val bias = eg__of(w, c->nin > 2 ? c->in[2] : NULL);
        set_geometry(w, &o->g, axes);
        const eg__val y = eg__put(w, op, x, weight, bias);
        eg__set_output(w, c->out[0], eg__put_act(w, strcmp(c->op, "conv_act") ? EG__ACT_NONE : (int)o->act, y));
    }
    return st;
}

eg_status eg__write_conv_transpose(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__conv_geometry *g = &((const eg__conv_opts *)c->options)->g;
    const int axes = eg_ndim(c->in[1]) - 2;
    int64_t more[3];
    eg_status st = check_images(w, c, axes);
    if (!st) {
        for (int i = 0; i < 3; i++) {
            const int64_t reach = (g->out[i] - 1) * g->stride[i] + (g->k[i] - 1) * g->dilation[i] + 1;
            more[i] = g->in[i] - (reach - g->before[i] - g->after[i]);
        }
        const eg__val x = eg__of(w, c->in[0]), weight = eg__of(w, c->in[1]);
        const eg__val bias = eg__of(w, c->nin > 2 ? c->in[2] : NULL);
        set_geometry(w, g, axes);
        set_axes(w, "output_padding", more, axes);
        eg__set_output(w, c->out[0], eg__put(w, op, x, weight, bias));
    }
    return st;
}

/* ---- pools --------------------------------------------------------------------------------------------- */

/* Whether windows that divide the axes are all of one size, which then is a pool's. */
static bool even_windows(eg__pool_opts *o)
{
    for (int i = 0; i < 3 && o->adaptive; i++) {
        if (o->in[i] % o->out[i]) {
            return false;
        }
    }
    for (int i = 0; i < 3 && o->adaptive; i++) {
        o->kernel[i] = o->stride[i] = o->in[i] / o->out[i];
        o->dilation[i] = 1;
        o->before[i] = o->after[i] = 0;
    }
    o->adaptive = false;
    return true;
}

/* Cells of padding with which windows end where they do, as rounding up has them; cells that no window has go. */
static bool pad_to_windows(const eg__pool_opts *o, int axes, int64_t *after)
{
    bool more = false;
    for (int i = 0; i < 3; i++) {
        const int64_t end = (o->out[i] - 1) * o->stride[i] + (o->kernel[i] - 1) * o->dilation[i] + 1;
        const int64_t missing = end - o->in[i] - o->before[i];
        after[i] = i < 3 - axes ? 0 : o->after[i];
        if (missing > after[i]) {
            after[i] = missing;
            more = true;
        }
    }
    return more;
}

/* Means of windows along one axis as a product: weights [in, out]. */
static eg__val window_weights(eg__onnx_writer *w, const eg__pool_opts *o, int axis, eg_dtype dtype)
{
    eg_scope s = eg_scope_push();
    eg_tensor *t = s.depth ? eg_zeros(EG_SHAPE(o->in[axis], o->out[axis]), EG_F64) : NULL;
    double *p = t ? eg_data_mut(t) : NULL;
    for (int64_t i = 0; p && i < o->out[axis]; i++) {
        const eg__window v = eg__window_of(o, axis, i);
        for (int64_t k = v.first; k < v.end; k++) {
            p[(v.begin + k * (o->adaptive ? 1 : o->dilation[axis])) * o->out[axis] + i] =
                1.0 / (double)eg__cells_of(o, axis, &v);
        }
    }
    const eg__val made = eg__constant(w, t ? eg_cast(t, dtype) : NULL);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return made;
}

static eg_status pool_by_products(eg__onnx_writer *w, const eg_op_call *c, const eg__pool_opts *o, int axes)
{
    eg__val x = eg__put_wide(w, eg__of(w, c->in[0]));
    for (int i = 0; i < axes; i++) {
        x = eg__put_product(w, x, 2 + i, axes + 2, window_weights(w, o, 3 - axes + i, x.dtype));
    }
    eg__set_output(w, c->out[0], x);
    return EG_OK;
}

eg_status eg__write_avg_pool(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    eg__pool_opts o = *(const eg__pool_opts *)c->options;
    const int axes = eg_ndim(c->in[0]) - 2;
    int64_t after[3];
    eg_status st = check_images(w, c, axes);
    if (st) {
        return st;
    }
    if (!even_windows(&o) || pad_to_windows(&o, axes, after)) {
        return pool_by_products(w, c, &o, axes); /* runtimes differ in what they count */
    }
    const eg__val x = eg__of(w, c->in[0]);
    set_axes(w, "kernel_shape", o.kernel, axes);
    set_axes(w, "strides", o.stride, axes);
    set_axes(w, "dilations", o.dilation, axes);
    set_pads(w, o.before, o.after, axes);
    eg__set_int(w, "count_include_pad", !o.exclude_pad);
    eg__set_output(w, c->out[0], eg__put(w, op, x));
    return EG_OK;
}

/* The second result of the node is where the largest are in the whole tensor: what max_pool_places makes of the row's
 * own second result, whose numbers of taps nobody else reads. */
eg_status eg__write_max_pool(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    eg__pool_opts o = *(const eg__pool_opts *)c->options;
    const int axes = eg_ndim(c->in[0]) - 2;
    int64_t after[3];
    eg__val out[2];
    eg_status st = check_images(w, c, axes);
    if (st || !even_windows(&o)) {
        return st ? st : eg__onnx_cannot(c, "its windows have several sizes");
    }
    if (eg_dtype_of(c->in[0]) == EG_I64) {
        return eg__onnx_cannot(c, "ONNX does not define MaxPool for i64");
    }
    pad_to_windows(&o, axes, after);
    for (int i = 0; i < 3; i++) {
        const int64_t window = (o.kernel[i] - 1) * o.dilation[i] + 1;
        if (after[i] >= window || o.before[i] >= window) {
            return eg__onnx_cannot(c, "a window is padding alone");
        }
    }
    const eg__val x = eg__of(w, c->in[0]);
    set_axes(w, "kernel_shape", o.kernel, axes);
    set_axes(w, "strides", o.stride, axes);
    set_axes(w, "dilations", o.dilation, axes);
    set_pads(w, o.before, after, axes);
    eg__put_nodes(w, op, &x, 1, out, 2);
    eg__set_output(w, c->out[0], out[0]);
    if (c->out[1]) {
        eg__onnx_see(w, c->out[1], out[1].name, EG__ONNX_PLACES);
    }
    return EG_OK;
}

/* Of the whole tensor in row-major order: those of a plane are what is left of its size. */
eg_status eg__write_max_pool_places(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__pool_opts *o = c->options;
    const eg__onnx_seen *s = eg__onnx_seen_of(w, c->in[0]);
    (void)told;
    if (!s || s->is != EG__ONNX_PLACES) {
        return eg__onnx_cannot(c, "it is not of a pool that is written");
    }
    const eg__val places = {.name = s->name, .dtype = EG_I64};
    eg__set_output(w, c->out[0], eg__put(w, "Mod", places, eg__whole(o->in[0] * o->in[1] * o->in[2])));
    return EG_OK;
}
