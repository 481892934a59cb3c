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
    eg_tensor *y = eg_matmul(a, turned ? eg_transpose(b, 0, 1) : b);
    y = alpha == 1 ? y : eg_cast(eg_mul_scalar(y, alpha), eg_dtype_of(a));
    if (bias && beta != 0) {
        y = eg_add(y, beta == 1 ? bias : eg_cast(eg_mul_scalar(bias, beta), eg_dtype_of(a)));
    }
    return eg__onnx_give(c, y);
}

/* ---- norms ------------------------------------------------------------------------------------------- */

static double epsilon(const eg_onnx_call *c)
{
    const double eps = eg_onnx_float(c, "epsilon", 1e-5);
    return eps == 0 ? 1e-300 : eps;
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
    if (!by_batch || !c->net->base.training) {
        eg_status st = eg__onnx_give(c, eg_batch_norm_with(x, weight, bias, mean, var, &o));
        st = st ? st : eg_onnx_give(c, 1, mean);
        return st ? st : eg_onnx_give(c, 2, var);
    }
    const bool own = c->net->places[c->node->in[3]].role == EG__ONNX_WEIGHT &&
                     c->net->places[c->node->in[4]].role == EG__ONNX_WEIGHT;
    eg_tensor *new_mean = own ? mean : eg_copy(mean), *new_var = own ? var : eg_copy(var);
    const double keep = eg_onnx_float(c, "momentum", 0.9);
    o.training = o.biased = true;
    o.momentum = 1 - keep > 0 ? 1 - keep : EG_ZERO;
    eg_status st = eg__onnx_give(c, eg_batch_norm_with(x, weight, bias, new_mean, new_var, &o));
    st = st ? st : eg_onnx_give(c, 1, eg_copy(new_mean));
    return st ? st : eg_onnx_give(c, 2, eg_copy(new_var));
}

eg_status eg__onnx_run_instance_norm(eg_onnx_call *c)
{
    return eg__onnx_give(c,
                         eg_instance_norm(eg__onnx_in(c, 0), eg__onnx_in(c, 1), eg__onnx_in(c, 2), .eps = epsilon(c)));
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
    return eg__onnx_give(c, eg_group_norm(x, groups, scale, bias, .eps = epsilon(c)));
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
    return st ? st : eg_onnx_give(c, 2, eg_rsqrt(eg_add_scalar(var, epsilon(c))));
}

eg_status eg__onnx_run_lrn(eg_onnx_call *c)
{
    return eg__onnx_give(c, eg_local_response_norm(eg__onnx_in(c, 0), .channels = eg_onnx_int(c, "size", 5),
                                                   .alpha = eg_onnx_float(c, "alpha", 1e-4),
                                                   .beta = eg_onnx_float(c, "beta", 0.75),
                                                   .k = eg_onnx_float(c, "bias", 1)));
}

/* Rows of zeros stay. */
eg_status eg__onnx_run_lp_normalization(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const int axis = eg__onnx_axis(eg_onnx_int(c, "axis", -1), eg_ndim(x));
    if (axis < 0) {
        return eg__onnx_why();
    }
    eg_tensor *norm = eg_norm(x, .axes = EG_AXES(axis), .keepdim = true, .p = (double)eg_onnx_int(c, "p", 2));
    eg_tensor *safe = eg_where(eg_eq_scalar(norm, 0), eg_ones_like(norm), norm);
    return eg__onnx_give(c, eg_div(x, safe));
}

/* (x - mean) / sqrt(var), with a little in it against 0. */
eg_status eg__onnx_run_mean_variance(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    int n;
    const int64_t *list = eg_onnx_ints(c, "axes", &n);
    eg_axes axes = EG_AXES(0, 2, 3);
    for (int i = 0; list && i < n && i < EG_MAX_DIMS; i++) {
        axes.axis[i] = (int)list[i];
        axes.count = i + 1;
    }
    eg_tensor *centred = eg_sub(x, eg_mean(x, .axes = axes, .keepdim = true));
    eg_tensor *var = eg_mean(eg_square(centred), .axes = axes, .keepdim = true);
    return eg__onnx_give(c, eg_div(centred, eg_add_scalar(eg_sqrt(var), 1e-9)));
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
