/* math.cuh - the functions formulas of unary.def and binary.def name, by the type of their argument: double and
 * int64_t as the reference loops have them, float as the device has them. */
#ifndef EGRET_CUDA_MATH_CUH
#define EGRET_CUDA_MATH_CUH

#include "lib/cuda/common/launch.cuh"
#include "lib/math/scalar.h"

#define FN(name) eg__fn_##name

#define EG__FN __device__ __forceinline__

/* name, and what it is called for floats. */
#define EG__REAL(name, single)                   \
    static EG__FN float eg__fn_##name(float x)   \
    {                                            \
        return single(x);                        \
    }                                            \
    static EG__FN double eg__fn_##name(double x) \
    {                                            \
        return eg__f64_##name(x);                \
    }
EG__REAL(sqrt, sqrtf)
EG__REAL(cbrt, cbrtf)
EG__REAL(exp, expf)
EG__REAL(exp2, exp2f)
EG__REAL(expm1, expm1f)
EG__REAL(log, logf)
EG__REAL(log2, log2f)
EG__REAL(log10, log10f)
EG__REAL(log1p, log1pf)
EG__REAL(sin, sinf)
EG__REAL(cos, cosf)
EG__REAL(tan, tanf)
EG__REAL(asin, asinf)
EG__REAL(acos, acosf)
EG__REAL(atan, atanf)
EG__REAL(sinh, sinhf)
EG__REAL(cosh, coshf)
EG__REAL(tanh, tanhf)
EG__REAL(asinh, asinhf)
EG__REAL(acosh, acoshf)
EG__REAL(atanh, atanhf)
EG__REAL(erf, erff)
EG__REAL(erfc, erfcf)
EG__REAL(erfinv, erfinvf)
EG__REAL(lgamma, lgammaf)
EG__REAL(digamma, (float)eg__f64_digamma)
EG__REAL(trigamma, (float)eg__f64_trigamma)
#undef EG__REAL

/* Those integers have too. */
#define EG__ANY_NUMBER(name, single)               \
    static EG__FN float eg__fn_##name(float x)     \
    {                                              \
        return single(x);                          \
    }                                              \
    static EG__FN double eg__fn_##name(double x)   \
    {                                              \
        return eg__f64_##name(x);                  \
    }                                              \
    static EG__FN int64_t eg__fn_##name(int64_t x) \
    {                                              \
        return eg__i64_##name(x);                  \
    }
EG__ANY_NUMBER(abs, fabsf)
EG__ANY_NUMBER(floor, floorf)
EG__ANY_NUMBER(ceil, ceilf)
EG__ANY_NUMBER(rint, rintf)
EG__ANY_NUMBER(trunc, truncf)
EG__ANY_NUMBER(isinf, isinf)
EG__ANY_NUMBER(isfinite, isfinite)
EG__ANY_NUMBER(signbit, signbit)
#undef EG__ANY_NUMBER
static EG__FN int64_t eg__fn_bitnot(int64_t x)
{
    return ~x;
}

static EG__FN float eg__fn_sigmoid(float x)
{
    float e = expf(-fabsf(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}
static EG__FN double eg__fn_sigmoid(double x)
{
    return eg__f64_sigmoid(x);
}

static EG__FN float eg__fn_logit(float x)
{
    return x < 0.3f ? logf(x / (1 - x)) : log1pf((2 * x - 1) / (1 - x));
}
static EG__FN double eg__fn_logit(double x)
{
    return eg__f64_logit(x);
}

static EG__FN float eg__fn_sinc(float x)
{
    float n = rintf(x), s = sinf((float)EG__PI * (x - n)), half = 0.5f * n;
    return x == 0 ? 1 : (half != floorf(half) ? -s : s) / ((float)EG__PI * x);
}
static EG__FN double eg__fn_sinc(double x)
{
    return eg__f64_sinc(x);
}

static EG__FN float eg__fn_remainder(float a, float b)
{
    float r = fmodf(a, b);
    return r == 0 ? copysignf(0, b) : (r < 0) != (b < 0) ? r + b : r;
}

/* eg__f64_floor_divide of floats: past 2^22 a float quotient may round to the next integer. */
static EG__FN float eg__fn_floor_divide(float a, float b)
{
    float r = fmodf(a, b);
    if (b == 0 || r != r) {
        return b == 0 ? a / b : r;
    }
    double q = rint(((double)a - r) / b - (r != 0 && (r < 0) != (b < 0) ? 1 : 0));
    return q == 0 ? copysignf(0, a / b) : (float)q;
}

static EG__FN float eg__fn_limit(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}
static EG__FN double eg__fn_limit(double x, double low, double high)
{
    return eg__f64_limit(x, low, high);
}

#define EG__PAIR(name, single)                             \
    static EG__FN float eg__fn_##name(float a, float b)    \
    {                                                      \
        return single(a, b);                               \
    }                                                      \
    static EG__FN double eg__fn_##name(double a, double b) \
    {                                                      \
        return eg__f64_##name(a, b);                       \
    }
EG__PAIR(fmod, fmodf)
EG__PAIR(pow, powf)
EG__PAIR(atan2, atan2f)
EG__PAIR(hypot, hypotf)
EG__PAIR(copysign, copysignf)
EG__PAIR(polygamma, (float)eg__f64_polygamma)
#undef EG__PAIR
static EG__FN double eg__fn_remainder(double a, double b)
{
    return eg__f64_remainder(a, b);
}
static EG__FN double eg__fn_floor_divide(double a, double b)
{
    return eg__f64_floor_divide(a, b);
}

#define EG__INT_PAIR(name)                                    \
    static EG__FN int64_t eg__fn_##name(int64_t a, int64_t b) \
    {                                                         \
        return eg__i64_##name(a, b);                          \
    }
EG__INT_PAIR(fmod)
EG__INT_PAIR(remainder) EG__INT_PAIR(floor_divide) EG__INT_PAIR(pow) EG__INT_PAIR(shift_left) EG__INT_PAIR(shift_right)
#undef EG__INT_PAIR

#endif
