/* write_pointwise.c - formulas of pointwise ops for which ONNX has no operator, or one that computes something else for
 * some dtype or value. Halves come as f32. */
#include <math.h>

#include <egret/ops.h>

#include "lib/ops/options.h"
#include "nn/onnx/write_rows.h"

#define PUT(...)   eg__put(w, __VA_ARGS__)
#define WHERE(...) eg__put_where(w, __VA_ARGS__)
/* A formula of x, of a and b, or of x and the row's parameters p. */
#define UNARY(name, ...)                                                                       \
    eg__val eg__point_##name(eg__onnx_writer *w, const eg_op_call *c, eg__val x, eg__val none) \
    {                                                                                          \
        (void)c, (void)none;                                                                   \
        return __VA_ARGS__;                                                                    \
    }
#define BINARY(name, ...)                                                                   \
    eg__val eg__point_##name(eg__onnx_writer *w, const eg_op_call *c, eg__val a, eg__val b) \
    {                                                                                       \
        (void)c;                                                                            \
        return __VA_ARGS__;                                                                 \
    }

static bool is_float(eg__val v)
{
    return v.dtype == EG_F32 || v.dtype == EG_F64 || v.dtype == EG_F16 || v.dtype == EG_BF16;
}

static eg__val number(double v)
{
    return eg__real(v);
}

bool eg__attribute_holds(double v, eg_dtype dtype)
{
    return dtype != EG_F64 || (double)(float)v == v;
}

/* ---- powers, exponentials and logarithms -------------------------------------------------------------- */

UNARY(square, PUT("Mul", x, x))
UNARY(rsqrt, PUT("Reciprocal", PUT("Sqrt", x)))

/* |x|^(1/3) with the sign of x; in f64, where the exponent is exact enough. */
UNARY(cbrt,
      PUT("Mul", PUT("Sign", x), eg__as(w, PUT("Pow", PUT("Abs", eg__as(w, x, EG_F64)), number(1.0 / 3)), x.dtype)))

/* 2 to the power, exactly where the exponent is whole. */
eg__val eg__point_exp2(eg__onnx_writer *w, const eg_op_call *c, eg__val x, eg__val none)
{
    (void)c, (void)none;
    return PUT("Pow", eg__as(w, number(2), x.dtype), x);
}

/* 2 t / (1 - t) with t = tanh(x / 2), which is exact where x is small; e^x - 1 elsewhere. */
static eg__val expm1_of(eg__onnx_writer *w, eg__val x)
{
    const eg__val t = PUT("Tanh", PUT("Mul", x, number(0.5)));
    const eg__val small = PUT("Div", PUT("Mul", t, number(2)), PUT("Sub", number(1), t));
    return WHERE(PUT("Less", PUT("Abs", x), number(1)), small, PUT("Sub", PUT("Exp", x), number(1)));
}
UNARY(expm1, expm1_of(w, x))

/* log(u) x / (u - 1) with u = 1 + x rounded: the errors of both factors cancel. */
static eg__val log1p_of(eg__onnx_writer *w, eg__val x)
{
    const eg__val u = PUT("Add", x, number(1)), d = PUT("Sub", u, number(1)), log = PUT("Log", u);
    const eg__val none = PUT("Equal", d, number(0));
    const eg__val share = PUT("Div", x, WHERE(none, number(1), d));
    return WHERE(PUT("Greater", PUT("Abs", x), number(1)), log, WHERE(none, x, PUT("Mul", log, share)));
}
UNARY(log1p, log1p_of(w, x))

UNARY(log2, PUT("Div", PUT("Log", x), number(0.69314718055994530942)))
UNARY(log10, PUT("Div", PUT("Log", x), number(2.30258509299404568402)))
UNARY(logit, PUT("Log", PUT("Div", x, PUT("Sub", number(1), x))))
UNARY(erfc, PUT("Sub", number(1), PUT("Erf", x)))

/* sin(pi x) / (pi x); the angle in f64. */
eg__val eg__point_sinc(eg__onnx_writer *w, const eg_op_call *c, eg__val x, eg__val none)
{
    (void)c, (void)none;
    const eg__val zero = PUT("Equal", x, number(0));
    const eg__val angle = PUT("Mul", eg__as(w, x, EG_F64), number(3.14159265358979323846));
    const eg__val y = PUT("Div", PUT("Sin", angle), WHERE(zero, number(1), angle));
    return eg__as(w, WHERE(zero, number(1), y), x.dtype);
}

/* ---- rounding and tests ------------------------------------------------------------------------------- */

UNARY(floor, is_float(x) ? PUT("Floor", x) : x)
UNARY(ceil, is_float(x) ? PUT("Ceil", x) : x)
UNARY(round, is_float(x) ? PUT("Round", x) : x)

static eg__val trunc_of(eg__onnx_writer *w, eg__val x)
{
    return is_float(x) ? WHERE(PUT("Less", x, number(0)), PUT("Ceil", x), PUT("Floor", x)) : x;
}
UNARY(trunc, trunc_of(w, x))

/* Integers have neither; as f32 they are finite. */
static eg__val test(eg__onnx_writer *w, const char *op, eg__val x)
{
    return eg__put(w, op, is_float(x) ? x : eg__as(w, x, EG_F32));
}
UNARY(isnan, test(w, "IsNaN", x))
UNARY(isinf, test(w, "IsInf", x))
UNARY(isfinite, PUT("Not", PUT("Or", test(w, "IsNaN", x), test(w, "IsInf", x))))
UNARY(frac, WHERE(PUT("IsInf", x), PUT("Mul", PUT("Sign", x), number(0)), PUT("Sub", x, trunc_of(w, x))))

/* -0 has a sign, which its reciprocal shows. */
static eg__val signbit_of(eg__onnx_writer *w, eg__val x)
{
    const eg__val below = PUT("Less", x, eg__whole(0));
    if (!is_float(x)) {
        return below;
    }
    const eg__val zero = PUT("Equal", x, number(0));
    return PUT("Or", below, PUT("And", zero, PUT("Less", PUT("Reciprocal", x), number(0))));
}
UNARY(signbit, signbit_of(w, x))

static eg__val truth(eg__onnx_writer *w, eg__val x)
{
    return eg__as(w, x, EG_BOOL);
}
UNARY(logical_not, PUT("Not", truth(w, x)))
BINARY(logical_and, PUT("And", truth(w, a), truth(w, b)))
BINARY(logical_or, PUT("Or", truth(w, a), truth(w, b)))
BINARY(logical_xor, PUT("Xor", truth(w, a), truth(w, b)))
UNARY(bitwise_not, x.dtype == EG_BOOL ? PUT("Not", x) : PUT("BitwiseNot", x))
BINARY(bitwise_and, a.dtype == EG_BOOL ? PUT("And", a, b) : PUT("BitwiseAnd", a, b))
BINARY(bitwise_or, a.dtype == EG_BOOL ? PUT("Or", a, b) : PUT("BitwiseOr", a, b))
BINARY(bitwise_xor, a.dtype == EG_BOOL ? PUT("Xor", a, b) : PUT("BitwiseXor", a, b))
BINARY(ne, PUT("Not", PUT("Equal", a, b)))

/* ---- limits and activations --------------------------------------------------------------------------- */

static double p_of(const eg_op_call *c)
{
    return ((const eg__params *)c->options)->p;
}

static double q_of(const eg_op_call *c)
{
    return ((const eg__params *)c->options)->q;
}

/* Limits that there are, those of integers as integers; where they cross, the high one holds. */
static eg__val clip(eg__onnx_writer *w, eg__val x, eg__val low, eg__val high)
{
    const bool real = is_float(x), both = low.kind != EG__NAMED && high.kind != EG__NAMED;
    if (both && (real ? !(low.real <= high.real) : low.whole > high.whole)) {
        x = WHERE(PUT("Less", x, low), low, x);
        return WHERE(PUT("Greater", x, high), high, x);
    }
    low = real && low.kind == EG__REAL
    &&low.real == -(double)INFINITY ? eg__none() : low;
    high = real && high.kind == EG__REAL
    &&high.real == (double)INFINITY ? eg__none() : high;
    return PUT("Clip", x, low, high);
}

/* The first parameter of the row, or the second. */
static eg__val limit(const eg_op_call *c, eg__val x, bool second)
{
    const eg__params *o = c->options;
    return is_float(x) ? eg__real(second ? o->q : o->p) : eg__whole(second ? o->iq : o->ip);
}
UNARY(clamp, clip(w, x, limit(c, x, false), limit(c, x, true)))
UNARY(clamp_min, clip(w, x, limit(c, x, false), eg__none()))
UNARY(clamp_max, clip(w, x, eg__none(), limit(c, x, false)))
UNARY(relu6, PUT("Clip", x, eg__whole(0), eg__whole(6)))

/* An operator with alpha, which is f32, or else what there is of x >= 0 and below. */
static eg__val with_alpha(eg__onnx_writer *w, const char *op, eg__val x, double alpha)
{
    eg__set_float(w, "alpha", alpha);
    return eg__put(w, op, x);
}

static eg__val below_zero(eg__onnx_writer *w, eg__val x, eg__val y)
{
    return WHERE(PUT("Less", x, number(0)), y, x);
}
UNARY(leaky_relu, eg__attribute_holds(p_of(c), x.dtype) ? with_alpha(w, "LeakyRelu", x, p_of(c))
                                                        : below_zero(w, x, PUT("Mul", x, number(p_of(c)))))
UNARY(elu, x.dtype != EG_F64 ? with_alpha(w, "Elu", x, p_of(c))
                             : below_zero(w, x, PUT("Mul", expm1_of(w, x), number(p_of(c)))))
UNARY(celu, x.dtype != EG_F64 && p_of(c) > 0
                ? with_alpha(w, "Celu", x, p_of(c))
                : below_zero(w, x, PUT("Mul", expm1_of(w, PUT("Div", x, number(p_of(c)))), number(p_of(c)))))
UNARY(selu, x.dtype != EG_F64 ? PUT("Selu", x)
                              : PUT("Mul", below_zero(w, x, PUT("Mul", expm1_of(w, x), number(1.6732632423543772848))),
                                    number(1.0507009873554804934)))

static eg__val gelu_of(eg__onnx_writer *w, eg__val x, const char *how)
{
    eg__set_text(w, "approximate", how);
    return PUT("Gelu", x);
}
UNARY(gelu, gelu_of(w, x, "none"))
UNARY(gelu_tanh, gelu_of(w, x, "tanh"))
UNARY(log_sigmoid, PUT("Neg", PUT("Softplus", PUT("Neg", x))))
UNARY(silu, PUT("Mul", x, PUT("Sigmoid", x)))

static eg__val hardsigmoid_of(eg__onnx_writer *w, eg__val x)
{
    if (x.dtype == EG_F64) {
        return PUT("Clip", PUT("Add", PUT("Div", x, number(6)), number(0.5)), number(0), number(1));
    }
    eg__set_float(w, "beta", 0.5);
    return with_alpha(w, "HardSigmoid", x, 1.0 / 6);
}
UNARY(hardsigmoid, hardsigmoid_of(w, x))
/* not Shrink, of which NaN is 0 */
UNARY(hardshrink, WHERE(PUT("And", PUT("GreaterOrEqual", x, number(-p_of(c))), PUT("LessOrEqual", x, number(p_of(c)))),
                        number(0), x))
UNARY(softshrink, WHERE(PUT("Greater", x, number(p_of(c))), PUT("Sub", x, number(p_of(c))),
                        WHERE(PUT("Less", x, number(-p_of(c))), PUT("Add", x, number(p_of(c))),
                              WHERE(PUT("IsNaN", x), x, number(0)))))
UNARY(tanhshrink, PUT("Sub", x, PUT("Tanh", x)))
UNARY(threshold, WHERE(PUT("LessOrEqual", x, number(p_of(c))), number(q_of(c)), x))

eg__val eg__put_act(eg__onnx_writer *w, int act, eg__val x)
{
    return act == EG__ACT_RELU        ? PUT("Relu", x)
           : act == EG__ACT_TANH      ? PUT("Tanh", x)
           : act == EG__ACT_SIGMOID   ? PUT("Sigmoid", x)
           : act == EG__ACT_GELU      ? gelu_of(w, x, "none")
           : act == EG__ACT_GELU_TANH ? gelu_of(w, x, "tanh")
           : act == EG__ACT_SILU      ? PUT("Mul", x, PUT("Sigmoid", x))
                                      : x;
}

/* ---- division ----------------------------------------------------------------------------------------- */

/* C's fmod. Integers have 0 for divisors of 0 and -1, which processors divide by at their peril. */
static eg__val fmod_of(eg__onnx_writer *w, eg__val a, eg__val b)
{
    eg__set_int(w, "fmod", 1);
    if (is_float(a)) {
        return PUT("Mod", a, b);
    }
    w->attributes.n = 0;
    const eg__val none = PUT("Equal", b, eg__whole(0));
    const eg__val odd = PUT("Or", none, PUT("Equal", b, eg__whole(-1))), by = WHERE(odd, eg__whole(1), b);
    return PUT("Sub", a, PUT("Mul", PUT("Div", a, by), by)); /* a - trunc(a / b) b */
}

static eg__val below(eg__onnx_writer *w, eg__val x)
{
    return PUT("Less", x, eg__whole(0));
}

/* A remainder that has another sign than the divisor. */
static eg__val against(eg__onnx_writer *w, eg__val r, eg__val b)
{
    return PUT("And", PUT("Not", PUT("Equal", r, eg__whole(0))), PUT("Xor", below(w, r), below(w, b)));
}

/* u8, which is wide enough for itself alone, and signs of it. */
static eg__val signed_of(eg__onnx_writer *w, eg__val x)
{
    return x.dtype == EG_U8 || x.dtype == EG_BOOL ? eg__as(w, x, EG_I32) : x;
}

BINARY(fmod, fmod_of(w, signed_of(w, a), signed_of(w, b)))

static eg__val remainder_of(eg__onnx_writer *w, eg__val a, eg__val b)
{
    const eg__val r = fmod_of(w, a, b);
    return WHERE(against(w, r, b), PUT("Add", r, b), r);
}
BINARY(remainder, remainder_of(w, signed_of(w, a), signed_of(w, b)))

/* Floats: (a - r) / b is whole but for its rounding, where r = fmod(a, b). */
static eg__val floor_divide_of(eg__onnx_writer *w, eg__val a, eg__val b)
{
    if (is_float(a)) {
        const eg__val r = fmod_of(w, a, b), less = WHERE(against(w, r, b), number(1), number(0));
        const eg__val q = PUT("Round", PUT("Sub", PUT("Div", PUT("Sub", a, r), b), less));
        return WHERE(PUT("Equal", b, number(0)), PUT("Div", a, b), WHERE(PUT("IsNaN", r), r, q));
    }
    const eg__val none = PUT("Equal", b, eg__whole(0)), minus = PUT("Equal", b, eg__whole(-1));
    const eg__val by = WHERE(PUT("Or", none, minus), eg__whole(1), b), q = PUT("Div", a, by);
    const eg__val r = PUT("Sub", a, PUT("Mul", q, by)), y = WHERE(against(w, r, by), PUT("Sub", q, eg__whole(1)), q);
    return WHERE(none, eg__whole(0), WHERE(minus, PUT("Neg", a), y));
}
BINARY(floor_divide, floor_divide_of(w, signed_of(w, a), signed_of(w, b)))

/* ---- of two tensors ------------------------------------------------------------------------------------ */

/* The other one where one is NaN. */
static eg__val extreme(eg__onnx_writer *w, const char *than, eg__val a, eg__val b)
{
    const eg__val takes = eg__put(w, than, a, b);
    return WHERE(is_float(b) ? PUT("Or", takes, PUT("IsNaN", b)) : takes, a, b);
}
BINARY(fmax, extreme(w, "Greater", a, b))
BINARY(fmin, extreme(w, "Less", a, b))

static eg__val with_sign(eg__onnx_writer *w, eg__val size, eg__val b)
{
    return WHERE(signbit_of(w, b), PUT("Neg", size), size);
}
BINARY(copysign, with_sign(w, PUT("Abs", a), b))

static eg__val heaviside_of(eg__onnx_writer *w, eg__val a, eg__val b)
{
    const eg__val step = eg__as(w, PUT("Greater", a, eg__whole(0)), a.dtype);
    return WHERE(PUT("Equal", a, eg__whole(0)), b, is_float(a) ? WHERE(PUT("IsNaN", a), a, step) : step);
}
BINARY(heaviside, heaviside_of(w, a, b))

static bool is_finite_constant(const eg__onnx_writer *w, const eg_tensor *t)
{
    const eg__onnx_seen *s = eg__onnx_seen_of(w, t);
    bool finite = !s || s->is < EG__ONNX_VALUE;
    for (int64_t i = 0; i < eg_numel(t) && finite; i++) {
        finite = isfinite(eg_get(t, i));
    }
    return finite;
}

/* PRelu broadcasts its slope alone, and gives 0 for 0 times an infinite slope. */
static bool is_prelu(const eg__onnx_writer *w, const eg_op_call *c)
{
    return eg_numel(c->out[0]) == eg_numel(c->in[0]) && eg_ndim(c->out[0]) == eg_ndim(c->in[0]) &&
           is_finite_constant(w, c->in[1]);
}
BINARY(rectify, is_prelu(w, c) ? PUT("PRelu", a, b) : WHERE(PUT("Greater", a, number(0)), a, PUT("Mul", a, b)))

static eg__val log_sum(eg__onnx_writer *w, eg__val a, eg__val b, double unit)
{
    const eg__val same = PUT("Equal", a, b), apart = PUT("Abs", PUT("Sub", a, b));
    const eg__val far = WHERE(same, number(0), apart); /* of infinities NaN */
    const eg__val rest = log1p_of(w, PUT("Exp", PUT("Mul", far, number(-unit))));
    return WHERE(same, PUT("Add", a, number(0.69314718055994530942 / unit)),
                 PUT("Add", PUT("Max", a, b), PUT("Div", rest, number(unit))));
}
BINARY(logaddexp, log_sum(w, a, b, 1))
BINARY(logaddexp2, log_sum(w, a, b, 0.69314718055994530942))

/* The angle within an eighth of the circle, of the smaller of |a| and |b| by the larger, and which eighth it is. */
eg__val eg__point_atan2(eg__onnx_writer *w, const eg_op_call *c, eg__val a, eg__val b)
{
    (void)c;
    const eg__val p = PUT("Abs", a), q = PUT("Abs", b), most = PUT("Max", p, q), least = PUT("Min", p, q);
    const eg__val none = PUT("Equal", most, number(0));
    const eg__val share = PUT("Div", least, WHERE(none, number(1), most));
    const eg__val angle = PUT("Atan", WHERE(PUT("IsInf", least), number(1), share));
    const eg__val steep = WHERE(PUT("Greater", p, q), PUT("Sub", number(1.57079632679489661923), angle), angle);
    const eg__val turned = PUT("Sub", number(3.14159265358979323846), steep);
    return with_sign(w, WHERE(signbit_of(w, b), turned, steep), a);
}

/* m sqrt(1 + (n / m)^2) of the larger m and the smaller n. */
eg__val eg__point_hypot(eg__onnx_writer *w, const eg_op_call *c, eg__val a, eg__val b)
{
    (void)c;
    const eg__val p = PUT("Abs", a), q = PUT("Abs", b), m = PUT("Max", p, q), n = PUT("Min", p, q);
    const eg__val none = PUT("Equal", m, number(0)), share = PUT("Div", n, WHERE(none, number(1), m));
    const eg__val y = PUT("Mul", m, PUT("Sqrt", PUT("Add", PUT("Mul", share, share), number(1))));
    const eg__val far = PUT("Or", PUT("IsInf", a), PUT("IsInf", b));
    return WHERE(far, number(INFINITY), y);
}

/* 0 where a is 0, but for b that is NaN. */
BINARY(xlogy, WHERE(PUT("And", PUT("Equal", a, number(0)), PUT("Not", PUT("IsNaN", b))), number(0),
                    PUT("Mul", a, PUT("Log", b))))

/* From the nearer of the two. */
eg__val eg__point_lerp(eg__onnx_writer *w, const eg_op_call *c, eg__val a, eg__val b)
{
    const eg__val weight = eg__put_wide(w, eg__of(w, c->in[2])), far = PUT("Sub", b, a);
    const eg__val from_b = PUT("Sub", b, PUT("Mul", PUT("Sub", number(1), weight), far));
    return WHERE(PUT("Less", weight, number(0.5)), PUT("Add", a, PUT("Mul", weight, far)), from_b);
}

/* ---- shifts -------------------------------------------------------------------------------------------- */

/* 2^b of 0..63, and whether b is one of these. BitShift is of unsigned integers alone. */
static eg__val power_of_two(eg__onnx_writer *w, eg__val b, eg__val *within)
{
    int64_t powers[64];
    for (int i = 0; i < 64; i++) {
        powers[i] = (int64_t)(1ull << i);
    }
    b = eg__as(w, b, EG_I64);
    *within = PUT("And", PUT("GreaterOrEqual", b, eg__whole(0)), PUT("Less", b, eg__whole(64)));
    return PUT("Gather", eg__ints(w, powers, 64), WHERE(*within, b, eg__whole(0)));
}

eg__val eg__point_shift_left(eg__onnx_writer *w, const eg_op_call *c, eg__val a, eg__val b)
{
    eg__val within;
    const eg__val by = power_of_two(w, b, &within);
    (void)c;
    return WHERE(within, PUT("Mul", eg__as(w, a, EG_I64), by), eg__whole(0));
}

/* The quotient rounded down; by 2^63, which is negative, only the sign is left. */
eg__val eg__point_shift_right(eg__onnx_writer *w, const eg_op_call *c, eg__val a, eg__val b)
{
    eg__val within;
    const eg__val by = power_of_two(w, b, &within), x = eg__as(w, a, EG_I64);
    const eg__val sign = WHERE(below(w, x), eg__whole(-1), eg__whole(0));
    (void)c;
    const eg__val use = PUT("And", within, PUT("Greater", by, eg__whole(0)));
    return WHERE(use, floor_divide_of(w, x, WHERE(use, by, eg__whole(1))), eg__as(w, sign, EG_I64));
}
