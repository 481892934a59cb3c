/* ops_norm.c - products, norms and dropout. */
#include <math.h>
#include <string.h>

#include "nn/onnx/ops.h"

/* ---- products ---------------------------------------------------------------------------------------- */

/* Fused it has a bias and a function. */
eg_status eg__onnx_run_matmul(eg_onnx_call *c)
{
    eg_tensor *a = eg__onnx_in(c, 0), *b = eg__onnx_in(c, 1), *bias = eg__onnx_in(c, 2);
    return eg__onnx_give(c, bias || c->node->then
                                ? eg_linear(a, eg_transpose(b, 0, 1), bias, .activation = c->node->then)
                                : eg_matmul(a, b));
}

eg_status eg__onnx_run_det(eg_onnx_call *c)
{
    return eg__onnx_give(c, eg_det(eg__onnx_in(c, 0)));
}

/* alpha a b + beta c, either of a and b turned. */
eg_status eg__onnx_run_gemm(eg_onnx_call *c)
{
    eg_tensor *a = eg__onnx_in(c, 0), *b = eg__onnx_in(c, 1), *bias = eg__onnx_in(c, 2);
    const double alpha = eg_onnx_float(c, "alpha", 1), beta = eg_onnx_float(c, "beta", 1);
    const bool turned = eg_onnx_int(c, "transB", 0);
    if (eg_ndim(a) != 2 || eg_ndim(b) != 2) {
        return eg__onnx_bad(c, "the factors do not have 2 axes");
    }
    a = eg_onnx_int(c, "transA", 0) ? eg_transpose(a, 0, 1) : a;
    if (alpha == 1 && beta == 1 && (!bias || (eg_ndim(bias) == 1 && eg_numel(bias) == eg_size(b, turned ? 0 : 1))) &&
        eg_dtype_of(a) <= EG_BF16) {
        return eg__onnx_give(c, eg_linear(a, turned ? b : eg_transpose(b, 0, 1), bias, .activation = c->node->then));
    }
    b = turned ? eg_transpose(b, 0, 1) : b;
    const eg_dtype dtype = eg_dtype_of(a);
    if (alpha == 1 && (!bias || beta == 0 || beta == 1)) {
        eg_tensor *y = eg_matmul(a, b);
        return eg__onnx_give(c, eg_cast(bias && beta != 0 ? eg_add(y, bias) : y, dtype));
    }
    eg_tensor *y = eg_mul_scalar(eg_matmul(eg__onnx_wide(a), eg__onnx_wide(b)), alpha);
    y = bias && beta != 0 ? eg_add(y, eg_mul_scalar(eg__onnx_wide(bias), beta)) : y;
    return eg__onnx_give(c, eg_cast(y, dtype));
}

/* ---- norms ------------------------------------------------------------------------------------------- */

static double epsilon(const eg_onnx_call *c)
{
    return eg__nonzero(eg_onnx_float(c, "epsilon", 1e-5));
}

/* By the batch if the model says so and the module trains: the statistics, if they are the module's, then go on. */
eg_status eg__onnx_run_batch_norm(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *weight = eg__onnx_in(c, 1), *bias = eg__onnx_in(c, 2);
    eg_tensor *mean = eg__onnx_in(c, 3), *var = eg__onnx_in(c, 4);
    const int version = c->node->version;
    const bool by_batch = version < 7    ? !eg_onnx_int(c, "is_test", 0)
                          : version < 14 ? c->node->nout > 1
                                         : eg_onnx_int(c, "training_mode", 0);
    eg_batch_norm_options o = {.size = sizeof o, .eps = epsilon(c)};
    const eg_shape shape = eg_shape_of(x);
    if (shape.ndim == 1) { /* of one channel */
        x = eg_reshape(x, EG_SHAPE(shape.dim[0], 1));
    }
    if (!by_batch || !c->net->base.training) {
        eg_tensor *y = eg_batch_norm_with(x, weight, bias, mean, var, &o);
        eg_status st = eg__onnx_give(c, eg_reshape(y, shape));
        st = st ? st : eg_onnx_give(c, 1, mean);
        return st ? st : eg_onnx_give(c, 2, var);
    }
    const bool own = c->net->places[c->node->in[3]].role == EG__ONNX_WEIGHT &&
                     c->net->places[c->node->in[4]].role == EG__ONNX_WEIGHT;
    eg_tensor *new_mean = own ? mean : eg_copy(mean), *new_var = own ? var : eg_copy(var);
    const double keep = eg_onnx_float(c, "momentum", 0.9);
    o.training = o.biased = true;
    o.momentum = 1 - keep > 0 ? 1 - keep : EG_ZERO;
    eg_tensor *y = eg_batch_norm_with(x, weight, bias, new_mean, new_var, &o);
    eg_status st = eg__onnx_give(c, eg_reshape(y, shape));
    st = st ? st : eg_onnx_give(c, 1, eg_copy(new_mean));
    return st ? st : eg_onnx_give(c, 2, eg_copy(new_var));
}

/* x [n, channels, ...] normalized in groups of channels. A group of one value is its own mean: what is left is the
 * bias. */
static eg_tensor *by_groups(eg_tensor *x, int64_t groups, eg_tensor *scale, eg_tensor *bias, double eps)
{
    const int64_t rows = eg_size(x, 0) * groups, channels = eg_size(x, 1);
    if (eg_ndim(x) < 2 || rows < 1 || eg_numel(x) / rows > 1) {
        return eg_group_norm(x, groups, scale, bias, .eps = eps);
    }
    eg_shape line = {eg_ndim(x) - 1, {channels, 1, 1, 1, 1, 1, 1, 1}};
    eg_tensor *y = eg_mul(eg_sub(x, x), eg_reshape(scale, line));
    return eg_add(y, eg_reshape(bias, line));
}

eg_status eg__onnx_run_instance_norm(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    return eg__onnx_give(c, by_groups(x, eg_size(x, 1), eg__onnx_in(c, 1), eg__onnx_in(c, 2), epsilon(c)));
}

/* Before version 21 a scale and a bias for each group. */
eg_status eg__onnx_run_group_norm(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *scale = eg__onnx_in(c, 1), *bias = eg__onnx_in(c, 2);
    const int64_t groups = eg_onnx_int(c, "num_groups", 1), channels = eg_size(x, 1);
    if (groups < 1 || channels % groups) {
        return eg__onnx_bad(c, "num_groups does not divide the channels");
    }
    if (c->node->version < 21 && channels != eg_numel(scale)) {
        scale = eg_repeat_interleave(scale, channels / groups, 0);
        bias = eg_repeat_interleave(bias, channels / groups, 0);
    }
    return eg__onnx_give(c, by_groups(x, groups, scale, bias, epsilon(c)));
}

eg_status eg__onnx_run_layer_norm(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *weight = eg__onnx_in(c, 1), *bias = eg__onnx_in(c, 2);
    const int axis = eg__onnx_axis(eg_onnx_int(c, "axis", -1), eg_ndim(x));
    if (axis < 0) {
        return eg__onnx_why();
    }
    const int axes = eg_ndim(x) - axis;
    eg_shape own = {.ndim = axes};
    for (int i = 0; i < axes; i++) {
        own.dim[i] = eg_size(x, axis + i);
    }
    weight = eg_expand(weight, own);
    bias = bias ? eg_expand(bias, own) : NULL;
    eg_status st = eg__onnx_give(c, eg_layer_norm(x, weight, bias, .axes = axes, .eps = epsilon(c)));
    if (st || c->node->nout < 2) {
        return st;
    }
    eg_axes all = {.count = axes};
    for (int i = 0; i < axes; i++) {
        all.axis[i] = axis + i;
    }
    eg_tensor *wide = eg_dtype_of(x) == EG_F64 ? x : eg_cast(x, EG_F32);
    st = eg_onnx_give(c, 1, eg_mean(wide, .axes = all, .keepdim = true));
    eg_tensor *var = eg_var(wide, .axes = all, .keepdim = true, .biased = true);
    return st ? st : eg_onnx_give(c, 2, eg_rsqrt(eg_add_scalar(var, eg_onnx_float(c, "epsilon", 1e-5))));
}

/* Of an even number of channels ONNX has one more after the element's own, eg_local_response_norm before it. */
eg_status eg__onnx_run_lrn(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const int64_t channels = eg_onnx_int(c, "size", 5);
    const double alpha = eg_onnx_float(c, "alpha", 1e-4), beta = eg_onnx_float(c, "beta", 0.75);
    const double bias = eg_onnx_float(c, "bias", 1);
    const bool even = channels % 2 == 0 && eg_ndim(x) > 1;
    x = even ? eg_flip(x, EG_AXES(1)) : x;
    eg_tensor *y = eg_local_response_norm(x, .channels = channels, .alpha = eg__nonzero(alpha),
                                          .beta = eg__nonzero(beta), .k = eg__nonzero(bias));
    return eg__onnx_give(c, even ? eg_flip(y, EG_AXES(1)) : y);
}

/* Rows of zeros stay. */
eg_status eg__onnx_run_lp_normalization(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const int axis = eg__onnx_axis(eg_onnx_int(c, "axis", -1), eg_ndim(x));
    if (axis < 0) {
        return eg__onnx_why();
    }
    eg_tensor *wide = eg__onnx_wide(x);
    eg_tensor *norm = eg_norm(wide, .axes = EG_AXES(axis), .keepdim = true, .p = (double)eg_onnx_int(c, "p", 2));
    eg_tensor *safe = eg_where(eg_eq_scalar(norm, 0), eg_ones_like(norm), norm);
    return eg__onnx_give(c, eg_cast(eg_div(wide, safe), eg_dtype_of(x)));
}

/* (x - mean) / sqrt(var), with a little in it against 0. */
eg_status eg__onnx_run_mean_variance(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    int n;
    const int64_t *list = eg_onnx_ints(c, "axes", &n), usual[] = {0, 2, 3};
    eg_axes axes;
    if (eg__onnx_axes(list ? list : usual, list ? n : 3, eg_ndim(x), &axes)) {
        return eg__onnx_why();
    }
    eg_tensor *wide = eg__onnx_wide(x);
    if (axes.count) {
        wide = eg_sub(wide, eg_mean(wide, .axes = axes, .keepdim = true));
    }
    eg_tensor *square = eg_square(wide), *var = axes.count ? eg_mean(square, .axes = axes, .keepdim = true) : square;
    return eg__onnx_give(c, eg_cast(eg_div(wide, eg_add_scalar(eg_sqrt(var), 1e-9)), eg_dtype_of(x)));
}

/* ---- dropout ------------------------------------------------------------------------------------------ */

/* Drops where the model says so and the module trains; the mask says what stays. */
eg_status eg__onnx_run_dropout(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const int version = c->node->version;
    const double ratio = version < 12 ? eg_onnx_float(c, "ratio", 0.5) : eg__onnx_number(c, 1, 0.5);
    const bool asked = version < 7 ? !eg_onnx_int(c, "is_test", 0) : version >= 12 && eg__onnx_number(c, 2, 0) != 0;
    if (!(ratio >= 0 && ratio <= 1)) {
        return eg__onnx_bad(c, "ratio is outside of 0..1");
    }
    const bool drops = asked && c->net->base.training;
    if (c->node->nout < 2) {
        return eg__onnx_give(c, eg_dropout(x, ratio, drops));
    }
    eg_tensor *mask = eg_dropout(eg_ones_like(x), ratio, drops); /* 0 or 1 / (1 - ratio) */
    eg_status st = eg__onnx_give(c, eg_mul(x, mask));
    return st ? st : eg_onnx_give(c, 1, eg_cast(eg_ne_scalar(mask, 0), version < 10 ? eg_dtype_of(x) : EG_BOOL));
}
