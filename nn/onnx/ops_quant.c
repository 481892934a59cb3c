/* ops_quant.c - numbers of few bits: quantized, brought back, and products of them. */
#include <math.h>
#include <string.h>

#include "nn/onnx/ops.h"

/* ---- the small types ---------------------------------------------------------------------------------- */

typedef struct range {
    int64_t low, high;
} range;

/* Of the integers there are quantized numbers of; others have none. */
static const range ranges[EG__ONNX_TYPES] = {
    [EG__ONNX_U8] = {0, 255},         [EG__ONNX_I8] = {-128, 127}, [EG__ONNX_U16] = {0, 65535},
    [EG__ONNX_I16] = {-32768, 32767}, [EG__ONNX_U4] = {0, 15},     [EG__ONNX_I4] = {-8, 7},
    [EG__ONNX_U2] = {0, 3},           [EG__ONNX_I2] = {-2, 1},
};

/* Floats of 8 bits and less: bits behind the point, the exponent of the least number with all of them, the largest
 * number, and what becomes of those past it unless they are held at it. */
static const struct {
    int mantissa, least;
    double largest, past;
} floats[EG__ONNX_TYPES] = {
    [EG__ONNX_F8_E4M3] = {3, -6, 448, NAN},
    [EG__ONNX_F8_E4M3FNUZ] = {3, -7, 240, NAN},
    [EG__ONNX_F8_E5M2] = {2, -14, 57344, INFINITY},
    [EG__ONNX_F8_E5M2FNUZ] = {2, -15, 57344, NAN},
    [EG__ONNX_F4] = {1, 0, 6, 6},
    [EG__ONNX_F6_E2M3] = {3, 0, 7.5, 7.5},
    [EG__ONNX_F6_E3M2] = {2, -2, 28, 28},
};

double eg__onnx_small_value(int64_t type, unsigned code)
{
    if (type == EG__ONNX_F8_E8M0) {
        return code == 255 ? (double)NAN : ldexp(1, (int)code - 127);
    }
    const int m = floats[type].mantissa, sign = eg__onnx_width(type) - 1;
    const unsigned magnitude = code & ((1u << sign) - 1), fraction = code & ((1u << m) - 1), exponent = magnitude >> m;
    const bool negative = code >> sign & 1, fnuz = type == EG__ONNX_F8_E4M3FNUZ || type == EG__ONNX_F8_E5M2FNUZ;
    double v = exponent ? ldexp((1u << m) + fraction, floats[type].least + (int)exponent - 1 - m)
                        : ldexp(fraction, floats[type].least - m);
    if (v > floats[type].largest) {
        v = isinf(floats[type].past) && !fraction ? (double)INFINITY : (double)NAN;
    }
    return fnuz && negative && !magnitude ? (double)NAN : negative ? -v : v;
}

/* A multiple of the distance of neighbours, a power of 2, halves to even; then no more than the largest. */
static eg_tensor *small_float(const eg_onnx_call *c, eg_tensor *x, int64_t type, bool saturate)
{
    const double largest = floats[type].largest;
    x = eg_dtype_of(x) == EG_F64 ? x : eg_cast(x, EG_F32);
    eg_tensor *exponent = eg_floor(eg_log2(eg_clamp(eg_abs(x), ldexp(1, floats[type].least), 2 * largest)));
    eg_tensor *distance = eg_exp2(eg_sub_scalar(exponent, floats[type].mantissa));
    eg_tensor *y = eg_mul(eg_round(eg_div(x, distance)), distance);
    if (floats[type].past == largest) { /* they have no NaN */
        y = eg_where(eg_isnan(y), eg_full_like(y, c->node->version < 24 ? largest : -0.0), y);
    }
    if (saturate) {
        return eg_cast(eg_clamp(y, -largest, largest), EG_F16);
    }
    eg_tensor *past = eg_mul_scalar(eg_sign(y), floats[type].past);
    return eg_cast(eg_where(eg_gt_scalar(eg_abs(y), largest), past, y), EG_F16);
}

/* 2^-127 .. 2^127 by the magnitude: the power below, above or next to it, halves up. Past them the last one; unless
 * held NaN, as 0 is. */
static eg_tensor *power_of_two(const eg_onnx_call *c, eg_tensor *x, bool saturate)
{
    static const char *const names[] = {"up", "down", "nearest"};
    const int how = eg__onnx_choice(c, "round_mode", names, EG__COUNT(names), 0);
    if (how < 0) {
        return NULL;
    }
    const double least = ldexp(1, -127), largest = ldexp(1, 127);
    eg_tensor *given = eg_abs(eg_cast(x, EG_F64));
    x = eg_clamp(given, least, largest);
    eg_tensor *y = eg_exp2(eg_floor(eg_log2(x)));
    y = eg_where(eg_gt(y, x), eg_mul_scalar(y, 0.5), y); /* a logarithm may be rounded up to a whole number */
    if (how != 1) {
        eg_tensor *above = how ? eg_ge(x, eg_mul_scalar(y, 1.5)) : eg_gt(x, y);
        y = eg_where(above, eg_mul_scalar(y, 2), y);
    }
    if (!saturate) {
        eg_tensor *past = eg_logical_or(eg_lt_scalar(given, least), eg_gt_scalar(given, largest));
        y = eg_where(past, eg_full_like(y, NAN), y);
    }
    return eg_cast(y, EG_F32);
}

static bool is_small_float(int64_t type)
{
    return type > 0 && type < EG__ONNX_TYPES && floats[type].largest > 0;
}

static bool is_small_integer(int64_t type)
{
    return type > 0 && type < EG__ONNX_TYPES && ranges[type].high > 0;
}

/* Past their range integers of 2 and 4 bits are not defined: before version 24 they are held, then, as the cases of
 * ONNX have it, they lose their higher bits, as other integers do. */
eg_tensor *eg__onnx_held(const eg_onnx_call *c, eg_tensor *x, int64_t type)
{
    const bool saturate = eg_onnx_int(c, "saturate", 1), small = is_small_float(type) || type == EG__ONNX_F8_E8M0;
    const bool real = eg_dtype_of(x) <= EG_BF16;
    if (small) {
        x = real ? x : eg_cast(x, EG_F64);
        return type == EG__ONNX_F8_E8M0 ? power_of_two(c, x, saturate) : small_float(c, x, type, saturate);
    }
    if (!real || !is_small_integer(type)) {
        return x;
    }
    if (c->node->version >= 24 && eg__onnx_width(type) < 8) {
        return eg_cast(x, EG_I32);
    }
    return eg_clamp(x, (double)ranges[type].low, (double)ranges[type].high);
}

eg_tensor *eg__onnx_in_range(eg_tensor *x, int64_t type)
{
    return is_small_integer(type) ? eg_clamp(x, (double)ranges[type].low, (double)ranges[type].high) : x;
}

/* ---- scales --------------------------------------------------------------------------------------------- */

/* Zero points; left out they are 0. */
static eg_tensor *zero_of(const eg_onnx_call *c, int i)
{
    eg_tensor *t = eg__onnx_in(c, i), *x = eg__onnx_in(c, 0);
    return t || !x ? t : eg_to(eg_scalar_int(0, EG_I32), eg_device_of(x));
}

/* Scales or zero points as they are broadcast to x: one, one for each place along "axis", or (from version 21 on) one
 * for each block of places. */
static eg_tensor *spread(const eg_onnx_call *c, eg_tensor *t, const eg_tensor *x)
{
    const int64_t block = eg_onnx_int(c, "block_size", 0);
    if (eg_numel(t) == 1) {
        return eg_reshape(t, EG_SCALAR);
    }
    const int axis = eg__onnx_axis(eg_onnx_int(c, "axis", 1), eg_ndim(x));
    if (axis < 0) {
        return NULL;
    }
    if (block > 0) {
        return eg_slice(eg_repeat_interleave(t, block < eg_size(x, axis) ? block : eg_size(x, axis), axis), axis, 0,
                        eg_size(x, axis), 1);
    }
    eg_shape line = {eg_ndim(x), {1, 1, 1, 1, 1, 1, 1, 1}};
    line.dim[axis] = eg_numel(t);
    return eg_reshape(t, line);
}

/* Whole numbers held in the range of a type, of its dtype here. `v` has their values before the zero points. */
static eg_tensor *held(eg_tensor *v, eg_tensor *zero, int64_t type)
{
    const double far = 1 << 20; /* past all ranges with all zero points */
    const range r = ranges[type];
    eg_tensor *whole = eg_cast(eg_clamp(eg_cast(eg_round(v), EG_F32), -far, far), EG_I32);
    whole = eg_clamp(eg_add(whole, eg_cast(zero, EG_I32)), (double)r.low, (double)r.high);
    const eg_dtype dtype = eg__onnx_dtype(type);
    return dtype == EG_I32 ? whole : eg_cast(whole, dtype);
}

/* Of the quotients, in a type that is known. */
static eg_tensor *quantized(const eg_onnx_call *c, eg_tensor *quotient, eg_tensor *zero, int64_t type)
{
    if (is_small_float(type)) {
        return small_float(c, quotient, type, eg_onnx_int(c, "saturate", 1));
    }
    if (is_small_integer(type)) {
        return held(quotient, zero, type);
    }
    eg_failf(EG_EDTYPE, eg__onnx_op_name, "type %lld is none that numbers are quantized to", (long long)type);
    return NULL;
}

/* Less the zero points, exactly: integers as i32, floats as they are. */
static eg_tensor *centred(eg_tensor *x, eg_tensor *zero)
{
    const eg_dtype dtype = eg_dtype_of(x) <= EG_BF16 ? eg_dtype_of(x) : EG_I32;
    return eg_sub(eg_cast(x, dtype), eg_cast(zero, dtype));
}

/* ---- QuantizeLinear and the other way ------------------------------------------------------------------- */

eg_status eg__onnx_run_quantize(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *scale = eg__onnx_in(c, 1), *zero = eg__onnx_in(c, 2);
    const int64_t precision = eg_onnx_int(c, "precision", 0), wanted = eg_onnx_int(c, "output_dtype", 0);
    const int64_t type = wanted ? wanted : zero ? eg__onnx_in_type(c, 2) : EG__ONNX_U8;
    const eg_dtype dtype = precision ? eg__onnx_dtype(precision) : eg_dtype_of(scale);
    if (dtype > EG_BF16) {
        return eg__onnx_bad(c, "the scale or precision is none of floats");
    }
    eg_tensor *quotient = eg_div(eg_cast(x, dtype), eg_cast(spread(c, scale, x), dtype));
    eg_tensor *y = quantized(c, quotient, spread(c, zero_of(c, 2), x), type);
    c->out_type[0] = (uint8_t)(y ? type : 0);
    return eg__onnx_give(c, y);
}

eg_status eg__onnx_run_dequantize(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *scale = eg__onnx_in(c, 1);
    const int64_t wanted = eg_onnx_int(c, "output_dtype", 0), of_scale = eg__onnx_in_type(c, 1);
    const int64_t type = wanted                         ? wanted
                         : of_scale == EG__ONNX_F8_E8M0 ? EG__ONNX_F32 /* results are none of its powers of two */
                                                        : of_scale;
    const eg_dtype own = eg_dtype_of(scale), dtype = eg__onnx_dtype(type);
    if (own > EG_BF16 || dtype > EG_BF16) {
        return eg__onnx_bad(c, "the scale or output_dtype is none of floats");
    }
    /* No factor loses digits that the result has. */
    const eg_dtype wide = own == dtype ? own : own == EG_F64 || dtype == EG_F64 ? EG_F64 : EG_F32;
    eg_tensor *y = eg_cast(centred(x, spread(c, zero_of(c, 2), x)), wide);
    y = eg_mul(y, eg_cast(spread(c, scale, x), wide));
    c->out_type[0] = (uint8_t)type;
    return eg__onnx_give(c, eg_cast(y, dtype));
}

/* To u8, by a scale and zero point with which 0 and all elements are in the range. */
eg_status eg__onnx_run_dynamic_quantize(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    eg_tensor *high = eg_max(x, .has_initial = true), *low = eg_min(x, .has_initial = true);
    eg_tensor *scale = eg_div_scalar(eg_sub(high, low), 255);
    scale = eg_where(eg_eq_scalar(scale, 0), eg_ones_like(scale), scale);
    eg_tensor *zero = held(eg_div(eg_neg(low), scale), zero_of(c, 1), EG__ONNX_U8);
    eg_status st = eg_onnx_give(c, 0, held(eg_div(x, scale), zero, EG__ONNX_U8));
    st = st ? st : eg_onnx_give(c, 1, scale);
    return st ? st : eg_onnx_give(c, 2, zero);
}

/* ---- products --------------------------------------------------------------------------------------------- */

/* Numbers for the rows of a matrix: a line of them becomes a column. */
static eg_tensor *for_rows(eg_tensor *t)
{
    return eg_ndim(t) == 1 && eg_numel(t) > 1 ? eg_unsqueeze(t, 1) : t;
}

/* One stands for a 0-dim one. */
static eg_tensor *single(eg_tensor *t)
{
    return eg_numel(t) == 1 ? eg_reshape(t, EG_SCALAR) : t;
}

eg_status eg__onnx_run_matmul_integer(eg_onnx_call *c)
{
    eg_tensor *a = centred(eg__onnx_in(c, 0), single(for_rows(zero_of(c, 2))));
    eg_tensor *b = centred(eg__onnx_in(c, 1), single(zero_of(c, 3)));
    c->out_type[0] = EG__ONNX_I32;
    return eg__onnx_give(c, eg_matmul(a, b));
}

/* Real numbers by a scale, in the type of the zero point. Their integers may be large: divided in f64, back in f32. */
static eg_status give_scaled(eg_onnx_call *c, eg_tensor *sum, eg_tensor *factor, int scale)
{
    const int type = eg__onnx_in_type(c, scale + 1);
    eg_tensor *multiplier = eg_div(eg_cast(factor, EG_F64), eg_cast(single(eg__onnx_in(c, scale)), EG_F64));
    eg_tensor *quotient = eg_mul(eg_cast(sum, EG_F64), multiplier);
    c->out_type[0] = (uint8_t)type;
    return eg__onnx_give(c, quantized(c, quotient, single(eg__onnx_in(c, scale + 1)), type));
}

eg_status eg__onnx_run_qlinear_matmul(eg_onnx_call *c)
{
    eg_tensor *a = centred(eg__onnx_in(c, 0), single(for_rows(eg__onnx_in(c, 2))));
    eg_tensor *b = centred(eg__onnx_in(c, 3), single(eg__onnx_in(c, 5)));
    eg_tensor *factor = eg_mul(single(for_rows(eg__onnx_in(c, 1))), single(eg__onnx_in(c, 4)));
    return give_scaled(c, eg_matmul(a, b), factor, 6);
}

/* What Conv makes of other tensors with the same attributes. In f64, which holds all sums of such integers. */
static eg_tensor *convolved(const eg_onnx_call *c, eg_tensor *x, eg_tensor *weight)
{
    const eg__onnx_row *conv = eg__onnx_find("Conv");
    eg__onnx_run_value values[2] = {{.t = eg_cast(x, EG_F64)}, {.t = eg_cast(weight, EG_F64)}};
    int in[2] = {0, 1};
    eg__onnx_node node = *c->node;
    eg_tensor *y = NULL;
    uint8_t type = 0;
    node.in = in;
    node.nin = EG__COUNT(in);
    node.nout = 1;
    eg_onnx_call inner = {.net = c->net, .node = &node, .values = values, .out = &y, .out_type = &type};
    if (!conv) {
        eg_fail(EG_ENOKERNEL, eg__onnx_op_name, "there is no Conv");
    }
    return !conv || !values[0].t || !values[1].t || conv->run(&inner) ? NULL : y;
}

/* A number for each output channel, of weights [O, ...] or of results [N, O, ...]. */
static eg_tensor *for_channels(eg_tensor *t, const eg_tensor *of, int axis)
{
    if (eg_numel(t) <= 1) {
        return single(t);
    }
    eg_shape line = {eg_ndim(of), {1, 1, 1, 1, 1, 1, 1, 1}};
    line.dim[axis] = eg_numel(t);
    return eg_reshape(t, line);
}

eg_status eg__onnx_run_conv_integer(eg_onnx_call *c)
{
    eg_tensor *w = eg__onnx_in(c, 1);
    w = centred(w, for_channels(zero_of(c, 3), w, 0));
    c->out_type[0] = EG__ONNX_I32;
    return eg__onnx_give(c, eg_cast(convolved(c, centred(eg__onnx_in(c, 0), single(zero_of(c, 2))), w), EG_I32));
}

/* The bias counts in units of both scales. */
eg_status eg__onnx_run_qlinear_conv(eg_onnx_call *c)
{
    eg_tensor *w = eg__onnx_in(c, 3), *bias = eg__onnx_in(c, 8);
    w = centred(w, for_channels(eg__onnx_in(c, 5), w, 0));
    eg_tensor *sum = convolved(c, centred(eg__onnx_in(c, 0), single(eg__onnx_in(c, 2))), w);
    if (!sum) {
        return eg__onnx_why();
    }
    sum = bias ? eg_add(sum, for_channels(bias, sum, 1)) : sum;
    eg_tensor *factor = eg_mul(single(eg__onnx_in(c, 1)), for_channels(eg__onnx_in(c, 4), sum, 1));
    return give_scaled(c, sum, factor, 6);
}
