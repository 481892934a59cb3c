/* write_layers.c - products, convolutions, norms, pools and attention as nodes of ONNX. */
#include <math.h>
#include <string.h>

#include <egret/error.h>
#include <egret/ops.h>

#include "lib/ops/options.h"
#include "nn/onnx/write_rows.h"

static bool is_value(const eg__onnx_writer *w, const eg_tensor *t)
{
    const eg__onnx_seen *s = eg__onnx_seen_of(w, t);
    return s && s->is == EG__ONNX_VALUE;
}

/* ---- products ------------------------------------------------------------------------------------------ */

eg_status eg__onnx_write_act(eg__onnx_writer *w, const eg_op_call *c, int act, const char *from)
{
    static const char *const ops[] = {[EG__ACT_RELU] = "Relu",
                                      [EG__ACT_TANH] = "Tanh",
                                      [EG__ACT_SIGMOID] = "Sigmoid",
                                      [EG__ACT_GELU] = "none",
                                      [EG__ACT_GELU_TANH] = "tanh"};
    if (act == EG__ACT_SILU) {
        const eg__onnx_temp gate = eg__onnx_node_names(w, "Sigmoid", from, NULL, NULL);
        eg__onnx_node_names(w, "Mul", from, gate.name, c->out[0]);
        return EG_OK;
    }
    const bool gelu = act == EG__ACT_GELU || act == EG__ACT_GELU_TANH;
    eg__onnx_begin(w, gelu ? "Gelu" : ops[act]);
    eg__onnx_from_name(w, from);
    if (gelu) {
        eg__onnx_set_text(w, "approximate", ops[act]);
    }
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

/* Ends a node whose result is y, or goes through an activation first. */
static eg_status end_with_act(eg__onnx_writer *w, const eg_op_call *c, int act)
{
    if (act == EG__ACT_NONE) {
        eg__onnx_to(w, c->out[0]);
        eg__onnx_end(w);
        return EG_OK;
    }
    const eg__onnx_temp t = eg__onnx_to_temp(w);
    eg__onnx_end(w);
    return eg__onnx_write_act(w, c, act, t.name);
}

/* x w^T + b: one node of matrices, of more axes a product and a sum. */
eg_status eg__onnx_write_linear(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const int act = c->options ? ((const eg__linear_opts *)c->options)->act : EG__ACT_NONE;
    eg_tensor *bias = c->nin > 2 ? c->in[2] : NULL;
    (void)op;
    if (eg_ndim(c->in[0]) == 2) {
        eg__onnx_begin(w, "Gemm");
        eg__onnx_from(w, c->in[0]);
        eg__onnx_from(w, c->in[1]);
        if (bias) {
            eg__onnx_from(w, bias);
        }
        eg__onnx_set_int(w, "transB", 1);
        return end_with_act(w, c, act);
    }
    const int64_t perm[] = {1, 0};
    eg__onnx_begin(w, "Transpose");
    eg__onnx_from(w, c->in[1]);
    eg__onnx_set_ints(w, "perm", perm, 2);
    const eg__onnx_temp turned = eg__onnx_to_temp(w);
    eg__onnx_end(w);
    eg__onnx_begin(w, "MatMul");
    eg__onnx_from(w, c->in[0]);
    eg__onnx_from_name(w, turned.name);
    if (!bias) {
        return end_with_act(w, c, act);
    }
    const eg__onnx_temp product = eg__onnx_to_temp(w);
    eg__onnx_end(w);
    eg__onnx_begin(w, "Add");
    eg__onnx_from_name(w, product.name);
    eg__onnx_from(w, bias);
    return end_with_act(w, c, act);
}

eg_status eg__onnx_write_matmul(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    if (eg_dtype_of(c->in[0]) != eg_dtype_of(c->in[1])) {
        return eg__onnx_cannot(c, "its inputs have two dtypes");
    }
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    eg__onnx_from(w, c->in[1]);
    return end_with_act(w, c, EG__ACT_NONE);
}

/* ---- convolutions -------------------------------------------------------------------------------------- */

/* Of the axes there are, the last of three. */
static void set_axes(eg__onnx_writer *w, const char *name, const int64_t *three, int axes)
{
    eg__onnx_set_ints(w, name, three + 3 - axes, axes);
}

static void set_pads(eg__onnx_writer *w, const int64_t *before, const int64_t *after, int axes)
{
    int64_t pads[6];
    for (int i = 0; i < axes; i++) {
        pads[i] = before[3 - axes + i];
        pads[axes + i] = after[3 - axes + i];
    }
    eg__onnx_set_ints(w, "pads", pads, 2 * axes);
}

static void set_geometry(eg__onnx_writer *w, const eg__conv_geometry *g, int axes)
{
    set_axes(w, "kernel_shape", g->k, axes);
    set_axes(w, "strides", g->stride, axes);
    set_axes(w, "dilations", g->dilation, axes);
    set_pads(w, g->before, g->after, axes);
    eg__onnx_set_int(w, "group", g->groups);
}

static eg_status check_batch(const eg_op_call *c, int axes)
{
    return eg_ndim(c->in[0]) == axes + 2 ? EG_OK
                                         : eg__onnx_cannot(c, "it is of one image without an axis for the batch");
}

eg_status eg__onnx_write_conv(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__conv_opts *o = c->options;
    const int axes = eg_ndim(c->in[1]) - 2;
    if (check_batch(c, axes)) {
        return EG_ENOKERNEL;
    }
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    eg__onnx_from(w, c->in[1]);
    if (c->nin > 2 && c->in[2]) {
        eg__onnx_from(w, c->in[2]);
    }
    set_geometry(w, &o->g, axes);
    return end_with_act(w, c, strcmp(c->op, "conv_act") ? EG__ACT_NONE : (int)o->act);
}

eg_status eg__onnx_write_conv_transpose(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__conv_geometry *g = &((const eg__conv_opts *)c->options)->g;
    const int axes = eg_ndim(c->in[1]) - 2;
    int64_t more[3];
    (void)op;
    if (check_batch(c, axes)) {
        return EG_ENOKERNEL;
    }
    for (int i = 0; i < 3; i++) {
        more[i] = g->in[i] -
                  ((g->out[i] - 1) * g->stride[i] + (g->k[i] - 1) * g->dilation[i] + 1 - g->before[i] - g->after[i]);
    }
    eg__onnx_begin(w, "ConvTranspose");
    eg__onnx_from(w, c->in[0]);
    eg__onnx_from(w, c->in[1]);
    if (c->nin > 2 && c->in[2]) {
        eg__onnx_from(w, c->in[2]);
    }
    set_geometry(w, g, axes);
    set_axes(w, "output_padding", more, axes);
    return end_with_act(w, c, EG__ACT_NONE);
}

/* ---- pools --------------------------------------------------------------------------------------------- */

/* Whether windows that divide the axes are all of one size, which then is a pool's. */
static bool even_windows(const eg__pool_opts *o, eg__pool_opts *as)
{
    *as = *o;
    as->adaptive = false;
    for (int i = 0; i < 3; i++) {
        if (o->in[i] % o->out[i]) {
            return false;
        }
        as->kernel[i] = as->stride[i] = o->in[i] / o->out[i];
        as->dilation[i] = 1;
        as->before[i] = as->after[i] = 0;
    }
    return true;
}

static eg_status pool(eg__onnx_writer *w, const eg_op_call *c, const char *op, bool mean)
{
    eg__pool_opts o = *(const eg__pool_opts *)c->options;
    const int axes = eg_ndim(c->in[0]) - 2;
    if (axes < 1 || (o.adaptive && !even_windows((const eg__pool_opts *)c->options, &o))) {
        return eg__onnx_cannot(c, axes < 1 ? "it is of one image without an axis for the batch"
                                           : "its windows have several sizes");
    }
    bool up = false; /* windows beyond the padding, as rounding up has them */
    for (int i = 0; i < 3; i++) {
        const int64_t end = (o.out[i] - 1) * o.stride[i] + (o.kernel[i] - 1) * o.dilation[i] + 1;
        up = up || end > o.in[i] + o.before[i] + o.after[i];
    }
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    set_axes(w, "kernel_shape", o.kernel, axes);
    set_axes(w, "strides", o.stride, axes);
    set_pads(w, o.before, o.after, axes);
    eg__onnx_set_int(w, "ceil_mode", up);
    if (mean) {
        eg__onnx_set_int(w, "count_include_pad", !o.exclude_pad);
    } else {
        set_axes(w, "dilations", o.dilation, axes);
    }
    return end_with_act(w, c, EG__ACT_NONE);
}

eg_status eg__onnx_write_max_pool(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    return pool(w, c, op, false);
}

eg_status eg__onnx_write_avg_pool(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    return pool(w, c, op, true);
}

eg_status eg__onnx_write_resize(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    static const char *const modes[] = {[EG_RESIZE_LINEAR] = "linear",
                                        [EG_RESIZE_NEAREST] = "nearest",
                                        [EG_RESIZE_NEAREST_EXACT] = "nearest",
                                        [EG_RESIZE_CUBIC] = "cubic"};
    static const char *const grids[] = {
        [EG_GRID_HALF_PIXEL] = "half_pixel", [EG_GRID_CORNERS] = "align_corners", [EG_GRID_ORIGIN] = "asymmetric"};
    const eg__resize_opts *o = c->options;
    const int ndim = eg_ndim(c->in[0]);
    int64_t axes[3], sizes[3];
    if (o->mode == EG_RESIZE_AREA || o->mode == EG_RESIZE_LANCZOS3) {
        return eg__onnx_cannot(c, "ONNX has neither areas nor Lanczos");
    }
    for (int i = 0; i < o->naxes; i++) {
        axes[i] = ndim - o->naxes + i;
        sizes[i] = eg_size(c->out[0], (int)axes[i]);
    }
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    eg__onnx_from_name(w, "");
    eg__onnx_from_name(w, "");
    eg__onnx_from_ints(w, sizes, o->naxes);
    eg__onnx_set_ints(w, "axes", axes, o->naxes);
    eg__onnx_set_text(w, "mode", modes[o->mode]);
    eg__onnx_set_int(w, "antialias", o->antialias);
    if (o->mode == EG_RESIZE_NEAREST && o->grid != EG_GRID_CORNERS) { /* the cell that o in / out lies in */
        eg__onnx_set_text(w, "coordinate_transformation_mode", "asymmetric");
        eg__onnx_set_text(w, "nearest_mode", "floor");
    } else {
        eg__onnx_set_text(w, "coordinate_transformation_mode",
                          o->mode == EG_RESIZE_NEAREST_EXACT ? "half_pixel" : grids[o->grid]);
        eg__onnx_set_text(w, "nearest_mode", "round_prefer_ceil");
        eg__onnx_set_float(w, "cubic_coeff_a", o->cubic);
    }
    return end_with_act(w, c, EG__ACT_NONE);
}

/* ---- norms --------------------------------------------------------------------------------------------- */

eg_status eg__onnx_write_batch_norm(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    (void)w, (void)op;
    return eg__onnx_cannot(c, "it goes by the batch: the module trains, eg_module_eval is for serving");
}

/* A line of numbers, one for each channel, as it is broadcast to x. */
static eg__onnx_temp by_channel(eg__onnx_writer *w, eg_tensor *t, int ndim)
{
    eg_shape s = {ndim - 1, {eg_numel(t), 1, 1, 1, 1, 1, 1, 1}};
    if (is_value(w, t)) {
        return eg__onnx_node_ints(w, "Reshape", eg__onnx_name_of(w, t), s.dim, s.ndim, NULL);
    }
    eg_scope scope = eg_scope_push();
    const eg__onnx_temp name = eg__onnx_constant_name(w, scope.depth ? eg_reshape(t, s) : NULL);
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return name;
}

/* x scale + shift by channel, from a name to y, which may go through ReLU. */
static void scaled(eg__onnx_writer *w, const eg_op_call *c, const char *x, eg_tensor *scale, eg_tensor *shift,
                   bool relu)
{
    const int ndim = eg_ndim(c->in[0]);
    eg_tensor *y = relu ? NULL : c->out[0];
    eg__onnx_temp t;
    if (scale) {
        const eg__onnx_temp by = by_channel(w, scale, ndim);
        t = eg__onnx_node_names(w, "Mul", x, by.name, shift ? NULL : y);
        x = t.name;
    }
    if (shift) {
        const eg__onnx_temp by = by_channel(w, shift, ndim);
        t = eg__onnx_node_names(w, "Add", x, by.name, y);
        x = t.name;
    }
    if (relu || (!scale && !shift)) {
        eg__onnx_node_names(w, relu ? "Relu" : "Identity", x, NULL, c->out[0]);
    }
}

eg_status eg__onnx_write_scale_channels(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    (void)op;
    scaled(w, c, eg__onnx_name_of(w, c->in[0]), c->in[1], c->nin > 2 ? c->in[2] : NULL,
           ((const eg__norm_opts *)c->options)->relu);
    return EG_OK;
}

static eg__onnx_temp filled(eg__onnx_writer *w, eg_shape s, double v, eg_dtype dtype)
{
    eg_scope scope = eg_scope_push();
    const eg__onnx_temp name = eg__onnx_constant_name(w, scope.depth ? eg_full(s, v, dtype) : NULL);
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return name;
}

/* Each group as one channel of an instance norm; then each channel's own scale. */
eg_status eg__onnx_write_group_norm(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__norm_opts *o = c->options;
    const eg_dtype dtype = eg_dtype_of(c->in[0]);
    eg_shape back = eg_shape_of(c->in[0]);
    const int64_t together[] = {0, o->groups, -1};
    (void)op;
    back.dim[0] = 0;
    const eg__onnx_temp lines = eg__onnx_node_ints(w, "Reshape", eg__onnx_name_of(w, c->in[0]), together, 3, NULL);
    const eg__onnx_temp one = filled(w, EG_SHAPE(o->groups), 1, dtype), zero = filled(w, EG_SHAPE(o->groups), 0, dtype);
    eg__onnx_begin(w, "InstanceNormalization");
    eg__onnx_from_name(w, lines.name);
    eg__onnx_from_name(w, one.name);
    eg__onnx_from_name(w, zero.name);
    eg__onnx_set_float(w, "epsilon", o->eps);
    const eg__onnx_temp normal = eg__onnx_to_temp(w);
    eg__onnx_end(w);
    const eg__onnx_temp apart = eg__onnx_node_ints(w, "Reshape", normal.name, back.dim, back.ndim, NULL);
    scaled(w, c, apart.name, c->nin > 1 ? c->in[1] : NULL, c->nin > 2 ? c->in[2] : NULL, false);
    return EG_OK;
}

/* x / sqrt(mean(x^2) + eps) times the weight. */
static eg_status root_norm(eg__onnx_writer *w, const eg_op_call *c, const eg__norm_opts *o)
{
    const char *x = eg__onnx_name_of(w, c->in[0]);
    const eg_dtype dtype = eg_dtype_of(c->in[0]);
    int64_t axes[EG_MAX_DIMS];
    for (int i = 0; i < o->axes; i++) {
        axes[i] = i - o->axes;
    }
    const eg__onnx_temp squares = eg__onnx_node_names(w, "Mul", x, x, NULL);
    eg__onnx_begin(w, "ReduceMean");
    eg__onnx_from_name(w, squares.name);
    eg__onnx_from_ints(w, axes, o->axes);
    const eg__onnx_temp mean = eg__onnx_to_temp(w);
    eg__onnx_end(w);
    const eg__onnx_temp eps = eg__onnx_number_name(w, o->eps, dtype);
    const eg__onnx_temp sum = eg__onnx_node_names(w, "Add", mean.name, eps.name, NULL);
    const eg__onnx_temp root = eg__onnx_node_names(w, "Sqrt", sum.name, NULL, NULL);
    eg_tensor *weight = c->nin > 1 ? c->in[1] : NULL;
    const eg__onnx_temp y = eg__onnx_node_names(w, "Div", x, root.name, weight ? NULL : c->out[0]);
    if (weight) {
        eg__onnx_node_names(w, "Mul", y.name, eg__onnx_name_of(w, weight), c->out[0]);
    }
    return EG_OK;
}

eg_status eg__onnx_write_layer_norm(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__norm_opts *o = c->options;
    eg_tensor *weight = c->nin > 1 ? c->in[1] : NULL, *bias = c->nin > 2 ? c->in[2] : NULL;
    (void)op;
    if (o->root) {
        return root_norm(w, c, o);
    }
    eg_shape own = {.ndim = o->axes};
    for (int i = 0; i < o->axes; i++) {
        own.dim[i] = eg_size(c->in[0], i - o->axes);
    }
    const eg__onnx_temp ones = weight ? (eg__onnx_temp){""} : filled(w, own, 1, eg_dtype_of(c->in[0]));
    eg__onnx_begin(w, "LayerNormalization");
    eg__onnx_from(w, c->in[0]);
    eg__onnx_from_name(w, weight ? eg__onnx_name_of(w, weight) : ones.name);
    if (bias) {
        eg__onnx_from(w, bias);
    }
    eg__onnx_set_int(w, "axis", -o->axes);
    eg__onnx_set_float(w, "epsilon", o->eps);
    return end_with_act(w, c, EG__ACT_NONE);
}

/* ---- attention ------------------------------------------------------------------------------------------ */

/* Which keys each query may see, by their places alone: 0, or -inf. */
static eg__onnx_temp seen_places(eg__onnx_writer *w, const eg_op_call *c, const eg__attention_opts *o)
{
    const int64_t q = eg_size(c->in[0], -2), k = eg_size(c->in[1], -2), shift = o->upper_left ? 0 : k - q;
    eg_scope s = eg_scope_push();
    eg_tensor *t = s.depth ? eg_zeros(EG_SHAPE(q, k), EG_F32) : NULL;
    float *p = t ? eg_data_mut(t) : NULL;
    for (int64_t i = 0; p && i < q * k; i++) {
        const int64_t at = i / k + shift, key = i % k;
        const bool far = o->window && (key <= at - o->window || (!o->causal && key >= at + o->window));
        p[i] = (o->causal && key > at) || far ? -INFINITY : 0;
    }
    const eg__onnx_temp name = eg__onnx_constant_name(w, t ? eg_cast(t, eg_dtype_of(c->in[0])) : NULL);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return name;
}

/* Scores with the mask: of bools, what may be seen; of floats, added. */
static eg__onnx_temp masked(eg__onnx_writer *w, const eg_op_call *c, eg__onnx_temp scores)
{
    eg_tensor *mask = c->nin > 3 ? c->in[3] : NULL;
    if (!mask) {
        return scores;
    }
    if (eg_dtype_of(mask) != EG_BOOL) {
        return eg__onnx_node_names(w, "Add", scores.name, eg__onnx_name_of(w, mask), NULL);
    }
    const eg__onnx_temp none = eg__onnx_number_name(w, -INFINITY, eg_dtype_of(c->in[0]));
    eg__onnx_begin(w, "Where");
    eg__onnx_from(w, mask);
    eg__onnx_from_name(w, scores.name);
    eg__onnx_from_name(w, none.name);
    const eg__onnx_temp t = eg__onnx_to_temp(w);
    eg__onnx_end(w);
    return t;
}

/* Softmax(scale q k^T + mask) v */
eg_status eg__onnx_write_attention(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__attention_opts *o = c->options;
    const int ndim = eg_ndim(c->in[0]);
    const eg_dtype dtype = eg_dtype_of(c->in[0]);
    (void)op;
    if (o->dropout != 0 || ndim != eg_ndim(c->in[1]) || ndim < 2) {
        return eg__onnx_cannot(c, o->dropout != 0 ? "it drops weights: eg_module_eval is for serving"
                                                  : "queries and keys have other axes");
    }
    for (int i = 0; i < ndim - 2; i++) {
        if (eg_size(c->in[0], i) != eg_size(c->in[1], i)) {
            return eg__onnx_cannot(c, "several heads share keys");
        }
    }
    int64_t perm[EG_MAX_DIMS];
    for (int i = 0; i < ndim; i++) {
        perm[i] = i < ndim - 2 ? i : i == ndim - 2 ? ndim - 1 : ndim - 2;
    }
    eg__onnx_begin(w, "Transpose");
    eg__onnx_from(w, c->in[1]);
    eg__onnx_set_ints(w, "perm", perm, ndim);
    const eg__onnx_temp turned = eg__onnx_to_temp(w);
    eg__onnx_end(w);
    const eg__onnx_temp scale = eg__onnx_number_name(w, o->scale, dtype);
    const eg__onnx_temp q = eg__onnx_node_names(w, "Mul", eg__onnx_name_of(w, c->in[0]), scale.name, NULL);
    eg__onnx_temp t = eg__onnx_node_names(w, "MatMul", q.name, turned.name, NULL);
    if (o->softcap != 0) {
        const eg__onnx_temp cap = eg__onnx_number_name(w, o->softcap, dtype);
        t = eg__onnx_node_names(w, "Div", t.name, cap.name, NULL);
        t = eg__onnx_node_names(w, "Tanh", t.name, NULL, NULL);
        t = eg__onnx_node_names(w, "Mul", t.name, cap.name, NULL);
    }
    if (o->causal || o->window) {
        const eg__onnx_temp places = seen_places(w, c, o);
        t = eg__onnx_node_names(w, "Add", t.name, places.name, NULL);
    }
    t = masked(w, c, t);
    eg__onnx_begin(w, "Softmax");
    eg__onnx_from_name(w, t.name);
    eg__onnx_set_int(w, "axis", -1);
    t = eg__onnx_to_temp(w);
    eg__onnx_end(w);
    eg__onnx_node_names(w, "MatMul", t.name, eg__onnx_name_of(w, c->in[2]), c->out[0]);
    return EG_OK;
}
