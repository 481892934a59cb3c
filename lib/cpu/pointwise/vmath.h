/* vmath.h - single-precision functions that compilers vectorise: no branches, no tables, no calls.
 * Polynomials are Chebyshev interpolants of the remainder after the leading terms, quotients of
 * polynomials have least relative error; all were fitted for this file. Errors stay under 3 ulp, of
 * tanh and erf near 1 under 6 (tests/test_vmath.c measures them). What has no form here goes to the
 * C library, whose vector functions (under 4 ulp) compilers call where it has them. */
#ifndef EGRET_VMATH_H
#define EGRET_VMATH_H

#include "lib/math/half.h"
#include "lib/math/scalar.h"

/* glibc's vector functions: gcc calls them once it is told of them. */
#ifdef EG_HAVE_MVEC
#define EG__MVEC_1(name)                                             \
    extern double name(double) __attribute__((simd("notinbranch"))); \
    extern float name##f(float) __attribute__((simd("notinbranch")));
#define EG__MVEC_2(name)                                                     \
    extern double name(double, double) __attribute__((simd("notinbranch"))); \
    extern float name##f(float, float) __attribute__((simd("notinbranch")));
EG__MVEC_1(exp)
EG__MVEC_1(exp2)
EG__MVEC_1(expm1)
EG__MVEC_1(log)
EG__MVEC_1(log2)
EG__MVEC_1(log10)
EG__MVEC_1(log1p)
EG__MVEC_1(sin)
EG__MVEC_1(cos)
EG__MVEC_1(tan)
EG__MVEC_1(asin)
EG__MVEC_1(acos)
EG__MVEC_1(atan)
EG__MVEC_1(sinh)
EG__MVEC_1(cosh)
EG__MVEC_1(tanh)
EG__MVEC_1(asinh)
EG__MVEC_1(acosh)
EG__MVEC_1(atanh)
EG__MVEC_1(erf)
EG__MVEC_1(erfc)
EG__MVEC_1(cbrt)
EG__MVEC_2(pow)
EG__MVEC_2(atan2)
EG__MVEC_2(hypot)
#undef EG__MVEC_1
#undef EG__MVEC_2
#endif

#define EG__LN2_HIGH 0.693359375f /* few bits, so that n * EG__LN2_HIGH is exact */
#define EG__LN2_LOW  -2.12194440e-4f
#define EG__LOG2E    1.44269504f
/* 1.5 * 2^23 + 254: adding it rounds to an integer, whose low bits are that integer and twice the
 * bias of an exponent. */
#define EG__ROUNDER 12583166.0f

/* c ? a : b for a c of 0 or 1, without a branch that a compiler could move code into. */
static inline float eg__f32_select(int c, float a, float b)
{
    uint32_t all = 0u - (uint32_t)c;
    return eg__bits_float((eg__float_bits(a) & all) | (eg__float_bits(b) & ~all));
}

static inline float eg__f32_limit(float x, float low, float high)
{
    return eg__f32_select(x < low, low, eg__f32_select(x > high, high, x));
}

static inline float eg__f32_abs(float x)
{
    return eg__bits_float(eg__float_bits(x) & 0x7fffffffu);
}

/* Of a magnitude, or what has the sign of x but where it is 0. */
static inline float eg__f32_sign_of(float magnitude, float x)
{
    return eg__bits_float(eg__float_bits(magnitude) | (eg__float_bits(x) & 0x80000000u));
}

/* 2^n for n in -126..127. */
static inline float eg__f32_pow2(int32_t n)
{
    return eg__bits_float((uint32_t)(n + 127) << 23);
}

/* x = n ln2 + r: n in the low bits of *bits (see EG__ROUNDER), and (e^r - 1 - r) / r^2. */
static inline float eg__f32_exp_parts(float x, float *r, uint32_t *bits)
{
    float t = x * EG__LOG2E + EG__ROUNDER, n = t - EG__ROUNDER;
    *bits = eg__float_bits(t);
    *r = (x - n * EG__LN2_HIGH) - n * EG__LN2_LOW;
    float p = 1.392625039e-03f;
    p = p * *r + 8.363232948e-03f;
    p = p * *r + 4.166655242e-02f;
    p = p * *r + 1.666657627e-01f;
    return p * *r + 5.000000000e-01f;
}

/* e^r 2^n in two steps, for 2^n may have no float. */
static inline float eg__f32_exp(float x)
{
    float z = eg__f32_select(x > 89.0f, 89.0f, x), r;
    uint32_t n, half;
    z = eg__f32_select(z < -104.0f, -104.0f, z);
    float p = eg__f32_exp_parts(z, &r, &n);
    half = n >> 1;
    return ((p * r + 1) * r + 1) * eg__bits_float(half << 23) * eg__bits_float((n - half) << 23);
}

/* e^x for an x that is not above 0 but for roundings, in one step: 0 where 2^n has no normal float. */
static inline float eg__f32_exp_down(float x)
{
    float z = eg__f32_select(x < -88.0f, -88.0f, x), r;
    uint32_t n;
    float p = eg__f32_exp_parts(z, &r, &n);
    return ((p * r + 1) * r + 1) * eg__bits_float((n - 127) << 23);
}

static inline float eg__f32_expm1(float x)
{
    float z = eg__f32_select(x > 89.0f, 89.0f, x), r;
    uint32_t n;
    z = eg__f32_select(z < -40.0f, -40.0f, z);
    float p = eg__f32_exp_parts(z, &r, &n), em1 = p * r * r + r;
    int32_t top = (int32_t)(n - eg__float_bits(EG__ROUNDER));
    float s = eg__f32_pow2(top > 127 ? 127 : top), y = s * em1 + (s - 1);
    y = eg__f32_select(x > 40, eg__f32_exp(x), y); /* the 1 is lost, and 2^128 has no float */
    return eg__f32_sign_of(y, x);
}

#ifdef EG_HAVE_MVEC /* half the steps of what follows */
static inline float eg__f32_log(float x)
{
    return logf(x);
}
#else
static inline float eg__f32_log(float x)
{
    int tiny = x < 1.17549435e-38f; /* subnormal: scaled up first */
    uint32_t u = eg__float_bits(tiny ? x * 8388608.0f : x), v = u - 0x3f3504f3u;
    /* x = (1 + f) 2^e with 1 + f in [sqrt(1/2), sqrt(2)) */
    float e = (float)(((int32_t)v >> 23) - (tiny ? 23 : 0));
    float f = eg__bits_float((v & 0x007fffffu) + 0x3f3504f3u) - 1;
    float p = 6.971611828e-02f;
    p = p * f - 1.147973388e-01f;
    p = p * f + 1.168541983e-01f;
    p = p * f - 1.242568716e-01f;
    p = p * f + 1.424905807e-01f;
    p = p * f - 1.666780263e-01f;
    p = p * f + 2.000071555e-01f;
    p = p * f - 2.499999702e-01f;
    p = p * f + 3.333333135e-01f;
    p = p * f - 0.5f;
    float y = e * EG__LN2_HIGH + (p * (f * f) + (e * EG__LN2_LOW + f));
    y = x > 3.40282347e38f ? x : y;
    y = x == 0 ? -(float)INFINITY : y;
    return x >= 0 ? y : (float)NAN;
}
#endif

static inline float eg__f32_log2(float x)
{
    return eg__f32_log(x) * EG__LOG2E;
}

static inline float eg__f32_log10(float x)
{
    return eg__f32_log(x) * 0.434294482f;
}

/* log(u) for u = 1 + x rounded, plus what the rounding lost. */
static inline float eg__f32_log1p(float x)
{
    float u = 1 + x, y = eg__f32_log(u) + (x - (u - 1)) / u;
    y = eg__f32_select(u > 3.40282347e38f, u, y);
    return eg__f32_sign_of(eg__f32_select(u == 0, -(float)INFINITY, y), x);
}

/* x P(x^2) / Q(x^2), with least relative error up to where the result is 1: exactly, for what takes it from 1. */
static inline float eg__f32_tanh(float x)
{
    float a = eg__f32_abs(x), t = eg__f32_select(a > 9.02f, 9.02f, a), z = t * t;
    float p = 1.331751795e-08f, q = 7.761384219e-07f;
    p = p * z + 2.058236756e-05f;
    q = q * z + 3.282983172e-04f;
    p = p * z + 3.493968210e-03f;
    q = q * z + 2.587082311e-02f;
    p = p * z + 1.337966290e-01f;
    q = q * z + 4.671297822e-01f;
    p = p * z + 9.999999792e-01f;
    q = q * z + 1;
    float y = t * p / q;
    return eg__f32_sign_of(eg__f32_select((y > 1) | (a > 9.02f), 1, y), x);
}

static inline float eg__f32_sigmoid(float x)
{
    return 1 / (1 + eg__f32_exp(-x));
}

/* Likewise. */
static inline float eg__f32_erf(float x)
{
    float a = eg__f32_abs(x), t = eg__f32_select(a > 3.93f, 3.93f, a), z = t * t;
    float p = 2.041956918e-06f, q = 3.800274595e-05f;
    p = p * z + 2.847858901e-04f;
    q = q * z + 1.165045860e-03f;
    p = p * z + 3.778986889e-03f;
    q = q * z + 1.499619191e-02f;
    p = p * z + 5.278832065e-02f;
    q = q * z + 1.142518511e-01f;
    p = p * z + 1.907705696e-01f;
    q = q * z + 5.023987381e-01f;
    p = p * z + 1.128379146e+00f;
    q = q * z + 1;
    float y = t * p / q;
    return eg__f32_sign_of(eg__f32_select((y > 1) | (a > 3.93f), 1, y), x);
}

/* x times polynomials in w = -log(1 - x^2) and, further out, its root. */
static inline float eg__f32_erfinv(float x)
{
    float w = -eg__f32_log((1 - x) * (1 + x)), s = sqrtf(w), t = w - 2.5f, u = s - 3;
    float p = -8.941414096e-09f;
    p = p * t + 2.326480014e-08f;
    p = p * t + 4.682669737e-07f;
    p = p * t - 3.463093070e-06f;
    p = p * t - 4.973069670e-06f;
    p = p * t + 2.183458868e-04f;
    p = p * t - 1.252725227e-03f;
    p = p * t - 4.177388474e-03f;
    p = p * t + 2.466402785e-01f;
    p = p * t + 1.501409360e+00f;
    float q = 9.912202688e-05f;
    q = q * u - 2.926045908e-04f;
    q = q * u - 3.265674678e-05f;
    q = q * u + 1.463335323e-03f;
    q = q * u - 3.610364941e-03f;
    q = q * u + 5.695574125e-03f;
    q = q * u - 7.634374807e-03f;
    q = q * u + 9.444245212e-03f;
    q = q * u + 1.001674772e+00f;
    q = q * u + 2.832976819e+00f;
    float y = x * eg__f32_select(w < 5, p, q);
    return eg__f32_select(eg__f32_abs(x) == 1, x * (float)INFINITY, y);
}

/* log(x / (1 - x)); from the odds less 1 where those are near 1. */
static inline float eg__f32_logit(float x)
{
    return eg__f32_select(x < 0.3f, eg__f32_log(x / (1 - x)), eg__f32_log1p((2 * x - 1) / (1 - x)));
}

static inline float eg__f32_signbit(float x)
{
    return (float)(eg__float_bits(x) >> 31);
}
static inline float eg__f32_copysign(float a, float b)
{
    return eg__f32_sign_of(eg__f32_abs(a), b);
}
static inline float eg__f32_isinf(float x)
{
    return eg__f32_abs(x) == (float)INFINITY;
}
static inline float eg__f32_isfinite(float x)
{
    return eg__f32_abs(x) < (float)INFINITY;
}
static inline float eg__f32_bitnot(float x)
{
    return x;
}
static inline float eg__f32_digamma(float x)
{
    return (float)eg__f64_digamma(x);
}
static inline float eg__f32_trigamma(float x)
{
    return (float)eg__f64_trigamma(x);
}
static inline float eg__f32_polygamma(float x, float n)
{
    return (float)eg__f64_polygamma(x, n);
}
static inline float eg__f32_remainder(float a, float b)
{
    float r = fmodf(a, b);
    return r == 0 ? eg__f32_copysign(0, b) : (r < 0) != (b < 0) ? r + b : r;
}

static inline float eg__f32_floor_divide(float a, float b)
{
    return (float)eg__f64_floor_divide((double)a, (double)b);
}

#define EG__LIBM(name)                          \
    static inline float eg__f32_##name(float x) \
    {                                           \
        return name##f(x);                      \
    }
EG__LIBM(sqrt)
EG__LIBM(cbrt)
EG__LIBM(exp2)
EG__LIBM(sin)
EG__LIBM(cos)
EG__LIBM(tan)
EG__LIBM(asin)
EG__LIBM(acos)
EG__LIBM(atan)
EG__LIBM(sinh)
EG__LIBM(cosh)
EG__LIBM(asinh)
EG__LIBM(acosh)
EG__LIBM(atanh)
EG__LIBM(erfc)
EG__LIBM(lgamma)
EG__LIBM(floor)
EG__LIBM(ceil)
EG__LIBM(rint)
EG__LIBM(trunc)
#undef EG__LIBM
static inline float eg__f32_fmod(float a, float b)
{
    return fmodf(a, b);
}
static inline float eg__f32_pow(float a, float b)
{
    return powf(a, b);
}
static inline float eg__f32_atan2(float a, float b)
{
    return atan2f(a, b);
}
static inline float eg__f32_hypot(float a, float b)
{
    return hypotf(a, b);
}

/* sin(pi x) / (pi x), the sine of the distance to the nearest integer, which is exact. */
static inline float eg__f32_sinc(float x)
{
    float n = rintf(x), s = sinf((float)EG__PI * (x - n)), half = 0.5f * n;
    float odd = eg__f32_select(half != floorf(half), -0.0f, 0);
    float y = eg__bits_float(eg__float_bits(s) ^ eg__float_bits(odd)) / ((float)EG__PI * x);
    return eg__f32_select(x == 0, 1, y);
}

#endif
