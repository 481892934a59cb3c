/* ops_math.c - element by element. */
#include <math.h>
#include <string.h>

#include <egret/device.h>

#include "nn/onnx/ops.h"

int eg__onnx_axis(int64_t axis, int ndim)
{
    if (axis < -ndim || axis >= ndim) {
        eg_failf(EG_ESHAPE, eg__onnx_op_name, "axis %lld of a tensor of %d axes", (long long)axis, ndim);
        return -1;
    }
    return (int)(axis < 0 ? axis + ndim : axis);
}

eg_status eg__onnx_axes(const int64_t *list, int n, int ndim, eg_axes *axes)
{
    unsigned named = 0;
    *axes = (eg_axes){.count = 0};
    for (int i = 0; i < n; i++) {
        const int axis = eg__onnx_axis(list[i], ndim);
        if (axis < 0 || named >> axis & 1) {
            return axis < 0 ? eg__onnx_why()
                            : eg_failf(EG_ESHAPE, eg__onnx_op_name, "axis %lld is named twice", (long long)list[i]);
        }
        named |= 1u << axis;
        axes->axis[axes->count++] = axis;
    }
    return EG_OK;
}

eg_status eg__onnx_check_rank(int ndim)
{
    return ndim > EG_MAX_DIMS ? eg_failf(EG_ESHAPE, eg__onnx_op_name,
                                         "the result would have %d axes, at most %d are possible", ndim, EG_MAX_DIMS)
                              : EG_OK;
}

eg_tensor *eg__onnx_not_negative(eg_tensor *index, int64_t size)
{
    eg_tensor *outside = eg_to(eg_scalar_int(size, eg_dtype_of(index)), eg_device_of(index));
    return eg_where(eg_lt_int(index, 0), outside, index);
}

eg_tensor *eg__onnx_wide(eg_tensor *x)
{
    const eg_dtype dtype = eg_dtype_of(x);
    return dtype == EG_F32 || dtype == EG_F64 ? x : eg_cast(x, dtype <= EG_BF16 ? EG_F32 : EG_F64);
}

eg_tensor *eg__onnx_second_operand(const eg_onnx_call *c)
{
    eg_tensor *a = eg__onnx_in(c, 0), *b = eg__onnx_in(c, 1);
    if (c->node->version >= 7 || !eg_onnx_int(c, "broadcast", 0)) {
        return b;
    }
    const int ndim = eg_ndim(a), own = eg_ndim(b);
    const int64_t axis = eg_onnx_int(c, "axis", ndim - own);
    eg_shape shape = eg_shape_of(b);
    if (axis < -ndim || axis > ndim) {
        eg_failf(EG_ESHAPE, eg__onnx_op_name, "axis %lld of a tensor of %d axes", (long long)axis, ndim);
        return NULL;
    }
    while (shape.ndim < EG_MAX_DIMS && (axis < 0 ? axis + ndim : axis) + shape.ndim < ndim) {
        shape.dim[shape.ndim++] = 1;
    }
    return eg_reshape(b, shape);
}

static bool is_real(const eg_tensor *t)
{
    return eg_dtype_of(t) <= EG_BF16;
}

/* ---- arithmetic ------------------------------------------------------------------------------------- */

/* Integers are divided towards 0. */
eg_tensor *eg__onnx_quotient(eg_tensor *a, eg_tensor *b)
{
    return is_real(a) ? eg_div(a, b) : eg_floor_divide(eg_sub(a, eg_fmod(a, b)), b);
}

eg_status eg__onnx_run_divide(eg_onnx_call *c)
{
    return eg__onnx_give(c, eg__onnx_quotient(eg__onnx_in(c, 0), eg__onnx_second_operand(c)));
}

eg_status eg__onnx_run_mod(eg_onnx_call *c)
{
    eg_tensor *a = eg__onnx_in(c, 0), *b = eg__onnx_in(c, 1);
    return eg__onnx_give(c, eg_onnx_int(c, "fmod", 0) ? eg_fmod(a, b) : eg_remainder(a, b));
}

/* Returns whether a few integers are exact in f32. */
static bool fits_f32(const eg_tensor *t)
{
    bool fits = eg_numel(t) == 1 && eg_device_of(t) == eg_cpu();
    const int64_t v = fits ? eg_get_int(t, 0) : 0;
    return fits && v >= -(1 << 24) && v <= 1 << 24;
}

/* A dtype that has the values of both: integers beside each other are i64, else it is one of floats. */
static eg_dtype common_dtype(const eg_tensor *a, const eg_tensor *b)
{
    const eg_dtype x = eg_dtype_of(a), y = eg_dtype_of(b);
    if (x == y) {
        return x;
    }
    if (!is_real(a) && !is_real(b)) {
        return EG_I64;
    }
    const bool large = x == EG_F64 || y == EG_F64 || !is_real(a) || (!is_real(b) && !fits_f32(b));
    return large ? EG_F64 : EG_F32;
}

/* Of the base's dtype, whatever the exponent's is. */
eg_status eg__onnx_run_power(eg_onnx_call *c)
{
    eg_tensor *a = eg__onnx_in(c, 0), *b = eg__onnx_second_operand(c);
    if (!b) {
        return eg__onnx_why();
    }
    const eg_dtype dtype = common_dtype(a, b);
    return eg__onnx_give(c, eg_cast(eg_pow(eg_cast(a, dtype), eg_cast(b, dtype)), eg_dtype_of(a)));
}

eg_status eg__onnx_run_negate(eg_onnx_call *c)
{
    return eg__onnx_give(c, eg_neg(eg__onnx_in(c, 0)));
}

eg_status eg__onnx_run_bitwise_not(eg_onnx_call *c)
{
    return eg__onnx_give(c, eg_bitwise_not(eg__onnx_in(c, 0)));
}

eg_status eg__onnx_run_shift(eg_onnx_call *c)
{
    eg_tensor *a = eg__onnx_in(c, 0), *b = eg__onnx_in(c, 1);
    const bool left = !strcmp(eg_onnx_text(c, "direction", ""), "LEFT");
    return eg__onnx_give(c, left ? eg_shift_left(a, b) : eg_shift_right(a, b));
}

/* One after the other. */
static eg_tensor *fold(const eg_onnx_call *c, eg_tensor *(*f)(eg_tensor *a, eg_tensor *b))
{
    eg_tensor *t = eg__onnx_in(c, 0);
    for (int i = 1; i < c->node->nin; i++) {
        t = f(t, eg__onnx_in(c, i));
    }
    return t;
}

/* The sum of all inputs, of halves in f32. */
static eg_tensor *summed(const eg_onnx_call *c)
{
    const bool real = is_real(eg__onnx_in(c, 0));
    eg_tensor *sum = NULL;
    for (int i = 0; i < c->node->nin; i++) {
        eg_tensor *t = real ? eg__onnx_wide(eg__onnx_in(c, i)) : eg__onnx_in(c, i);
        sum = sum ? eg_add(sum, t) : t;
    }
    return sum;
}

eg_status eg__onnx_run_sum_of(eg_onnx_call *c)
{
    return eg__onnx_give(c, eg_cast(summed(c), eg_dtype_of(eg__onnx_in(c, 0))));
}

eg_status eg__onnx_run_mean_of(eg_onnx_call *c)
{
    eg_tensor *sum = summed(c), *n = eg_scalar_int(c->node->nin, eg_dtype_of(sum));
    return eg__onnx_give(c,
                         eg_cast(eg__onnx_quotient(sum, eg_to(n, eg_device_of(sum))), eg_dtype_of(eg__onnx_in(c, 0))));
}

eg_status eg__onnx_run_maximum(eg_onnx_call *c)
{
    return eg__onnx_give(c, fold(c, eg_maximum));
}

eg_status eg__onnx_run_minimum(eg_onnx_call *c)
{
    return eg__onnx_give(c, fold(c, eg_minimum));
}

/* ---- types ------------------------------------------------------------------------------------------ */

eg_status eg__onnx_run_identity(eg_onnx_call *c)
{
    return eg__onnx_give(c, eg__onnx_in(c, 0));
}

static eg_status cast_to(eg_onnx_call *c, int64_t type)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const eg_dtype dtype = eg__onnx_dtype(type);
    if (dtype == EG_DTYPE_COUNT) {
        return eg_failf(EG_EDTYPE, eg__onnx_op_name, "type %lld is none that is known", (long long)type);
    }
    x = eg__onnx_held(c, x, type);
    c->out_type[0] = (uint8_t)type;
    return eg__onnx_give(c, x && eg_dtype_of(x) != dtype ? eg_cast(x, dtype) : x);
}

eg_status eg__onnx_run_cast(eg_onnx_call *c)
{
    return cast_to(c, eg_onnx_int(c, "to", 0));
}

eg_status eg__onnx_run_cast_like(eg_onnx_call *c)
{
    return cast_to(c, eg__onnx_in_type(c, 1));
}

eg_status eg__onnx_run_where(eg_onnx_call *c)
{
    return eg__onnx_give(c, eg_where(eg__onnx_in(c, 0), eg__onnx_in(c, 1), eg__onnx_in(c, 2)));
}

/* Either sign, or the one asked for. */
eg_status eg__onnx_run_is_inf(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const bool negative = eg_onnx_int(c, "detect_negative", 1), positive = eg_onnx_int(c, "detect_positive", 1);
    eg_tensor *y = negative && positive ? eg_isinf(x)
                   : positive           ? eg_eq_scalar(x, INFINITY)
                   : negative           ? eg_eq_scalar(x, -INFINITY)
                                        : eg_cast(eg_zeros_like(x), EG_BOOL);
    return eg__onnx_give(c, y);
}

/* ---- activations ------------------------------------------------------------------------------------ */

eg_status eg__onnx_run_clip(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *low = eg__onnx_in(c, 1), *high = eg__onnx_in(c, 2);
    if (c->node->version < 11) { /* attributes */
        return eg__onnx_give(c, eg_clamp(x, eg_onnx_float(c, "min", -INFINITY), eg_onnx_float(c, "max", INFINITY)));
    }
    if (!is_real(x)) { /* no digit is lost */
        x = low ? eg_maximum(x, eg_to(low, eg_device_of(x))) : x;
        return eg__onnx_give(c, high ? eg_minimum(x, eg_to(high, eg_device_of(x))) : x);
    }
    const double a = eg__onnx_number(c, 1, -INFINITY), b = eg__onnx_number(c, 2, INFINITY);
    return eg__onnx_give(c, low && high && a <= b ? eg_clamp(x, a, b)
                            : low || high         ? eg_clamp_max(low ? eg_clamp_min(x, a) : x, b)
                                                  : x);
}

eg_status eg__onnx_run_celu(eg_onnx_call *c)
{
    return eg__onnx_give(c, eg_celu(eg__onnx_in(c, 0), eg_onnx_float(c, "alpha", 1)));
}

eg_status eg__onnx_run_elu(eg_onnx_call *c)
{
    return eg__onnx_give(c, eg_elu(eg__onnx_in(c, 0), eg_onnx_float(c, "alpha", 1)));
}

eg_status eg__onnx_run_gelu(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    return eg__onnx_give(c, !strcmp(eg_onnx_text(c, "approximate", "none"), "tanh") ? eg_gelu_tanh(x) : eg_gelu(x));
}

/* max(0, min(1, alpha x + beta)) */
eg_status eg__onnx_run_hard_sigmoid(eg_onnx_call *c)
{
    const double alpha = eg_onnx_float(c, "alpha", 0.2), beta = eg_onnx_float(c, "beta", 0.5);
    eg_tensor *x = eg__onnx_in(c, 0), *y = eg_add_scalar(eg_mul_scalar(eg__onnx_wide(x), alpha), beta);
    return eg__onnx_give(c, eg_cast(eg_clamp(y, 0, 1), eg_dtype_of(x)));
}

eg_status eg__onnx_run_leaky_relu(eg_onnx_call *c)
{
    return eg__onnx_give(c, eg_leaky_relu(eg__onnx_in(c, 0), eg_onnx_float(c, "alpha", 0.01)));
}

/* The slope is broadcast to x, where eg_prelu has one for each channel. */
eg_status eg__onnx_run_prelu(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *slope = eg__onnx_in(c, 1);
    if (c->node->version < 7 && eg_ndim(slope) == 1 && eg_numel(slope) > 1) {
        eg_shape shape = {eg_ndim(x) > 1 ? eg_ndim(x) - 1 : 1, {eg_numel(slope), 1, 1, 1, 1, 1, 1, 1}};
        slope = eg_reshape(slope, shape);
    }
    eg_tensor *zero = eg_scalar(0, eg_dtype_of(x));
    return eg__onnx_give(c, eg_where(eg_lt_scalar(x, 0), eg_mul(x, slope), eg_maximum(x, zero)));
}

/* gamma (x > 0 ? x : alpha (e^x - 1)) */
eg_status eg__onnx_run_selu(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const double alpha = eg_onnx_float(c, "alpha", 1.67326319217681884765625);
    const double gamma = eg_onnx_float(c, "gamma", 1.05070102214813232421875);
    return eg__onnx_give(c, eg_cast(eg_mul_scalar(eg_elu(eg__onnx_wide(x), alpha), gamma), eg_dtype_of(x)));
}

/* x + bias below -lambda, x - bias above lambda, else 0 */
eg_status eg__onnx_run_shrink(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const double bias = eg_onnx_float(c, "bias", 0), lambda = eg_onnx_float(c, "lambd", 0.5);
    eg_tensor *low = eg_lt_scalar(x, -lambda), *high = eg_gt_scalar(x, lambda);
    eg_tensor *below = eg_where(low, eg_add_scalar(x, bias), eg_zeros_like(x));
    return eg__onnx_give(c, eg_where(high, eg_sub_scalar(x, bias), below));
}

static eg_tensor *swish(eg_tensor *x, double alpha)
{
    eg_tensor *wide = eg__onnx_wide(x);
    return alpha == 1 ? eg_silu(x) : eg_cast(eg_mul(wide, eg_sigmoid(eg_mul_scalar(wide, alpha))), eg_dtype_of(x));
}

eg_status eg__onnx_run_swish(eg_onnx_call *c)
{
    return eg__onnx_give(c, swish(eg__onnx_in(c, 0), eg_onnx_float(c, "alpha", 1)));
}

/* A gate that goes through Swish, and what it lets through. */
eg_status eg__onnx_run_swiglu(eg_onnx_call *c)
{
    eg_tensor *gate = eg__onnx_in(c, 0), *x = eg__onnx_in(c, 1);
    const eg_shape a = eg_shape_of(gate), b = eg_shape_of(x);
    if (a.ndim != b.ndim || memcmp(a.dim, b.dim, (size_t)a.ndim * sizeof *a.dim)) {
        return eg__onnx_bad(c, "A and B are not of one shape");
    }
    return eg__onnx_give(c, eg_mul(swish(gate, eg_onnx_float(c, "alpha", 1)), x));
}

eg_status eg__onnx_run_thresholded_relu(eg_onnx_call *c)
{
    return eg__onnx_give(c, eg_threshold(eg__onnx_in(c, 0), eg_onnx_float(c, "alpha", 1), 0));
}
