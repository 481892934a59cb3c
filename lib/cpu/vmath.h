/* vmath.h - single-precision functions that compilers vectorise: no branches, no tables, no calls.
 * Polynomials are Chebyshev interpolants of the remainder after the leading terms, fitted for this file;
 * errors stay under 3 ulp (tests/test_vmath.c measures them). What has no fast form goes to libm. */
#ifndef EGRET_VMATH_H
#define EGRET_VMATH_H

#include "lib/half.h"
#include "lib/ref/scalar.h"

#define EG__LN2_HIGH 0.693359375f /* few bits, so that n * EG__LN2_HIGH is exact */
#define EG__LN2_LOW  -2.12194440e-4f
#define EG__LOG2E    1.44269504f
#define EG__ROUNDER  12582912.0f /* 1.5 * 2^23: adding it rounds to an integer in the low bits */

static inline float eg__f32_select(int c, float a, float b)
{
    return c ? a : b;
}

/* 2^n for n in -126..127. */
static inline float eg__f32_pow2(int32_t n)
{
    return eg__bits_float((uint32_t)(n + 127) << 23);
}

/* x = n ln2 + r: n, and e^r - 1. */
static inline int32_t eg__f32_exp_parts(float x, float *em1)
{
    float t = x * EG__LOG2E + EG__ROUNDER, n = t - EG__ROUNDER;
    float r = (x - n * EG__LN2_HIGH) - n * EG__LN2_LOW;
    float p = 1.392625039e-03f;
    p = p * r + 8.363232948e-03f;
    p = p * r + 4.166655242e-02f;
    p = p * r + 1.666657627e-01f;
    p = p * r + 5.000000000e-01f;
    *em1 = r + r * r * p;
    return (int32_t)(eg__float_bits(t) - eg__float_bits(EG__ROUNDER));
}

static inline float eg__f32_exp(float x)
{
    float em1, z = x > 89.0f ? 89.0f : x;
    z = z < -104.0f ? -104.0f : z;
    int32_t n = eg__f32_exp_parts(z, &em1), half = n >> 1;
    return (em1 + 1) * eg__f32_pow2(half) * eg__f32_pow2(n - half);
}

static inline float eg__f32_expm1(float x)
{
    float em1, z = x > 89.0f ? 89.0f : x;
    z = z < -40.0f ? -40.0f : z;
    int32_t n = eg__f32_exp_parts(z, &em1), top = n > 127 ? 127 : n;
    float s = eg__f32_pow2(top), y = s * em1 + (s - 1);
    return eg__f32_select(x > 40, eg__f32_exp(x), y); /* the 1 is lost, and 2^128 has no float */
}

/* x = m 2^e with m in [sqrt(1/2), sqrt(2)): log(m), and e. Subnormals are scaled up first. */
static inline float eg__f32_log_parts(float x, float *e)
{
    int tiny = x < 1.17549435e-38f;
    uint32_t u = eg__float_bits(tiny ? x * 8388608.0f : x), v = u - 0x3f3504f3u;
    int32_t k = (int32_t)v >> 23;
    float f = eg__bits_float((v & 0x007fffffu) + 0x3f3504f3u) - 1, z = f * f;
    float p = 6.971611828e-02f;
    p = p * f - 1.147973388e-01f;
    p = p * f + 1.168541983e-01f;
    p = p * f - 1.242568716e-01f;
    p = p * f + 1.424905807e-01f;
    p = p * f - 1.666780263e-01f;
    p = p * f + 2.000071555e-01f;
    p = p * f - 2.499999702e-01f;
    p = p * f + 3.333333135e-01f;
    *e = (float)(k - (tiny ? 23 : 0));
    return f * z * p - 0.5f * z + f;
}

static inline float eg__f32_log(float x)
{
    float e, m = eg__f32_log_parts(x, &e);
    float y = e * EG__LN2_HIGH + (m + e * EG__LN2_LOW);
    y = x > 3.40282347e38f ? x : y;
    y = x == 0 ? -(float)INFINITY : y;
    return x < 0 || x != x ? (float)NAN : y;
}

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
    y = u > 3.40282347e38f ? u : y;
    return u == 0 ? -(float)INFINITY : y;
}

static inline float eg__f32_abs(float x)
{
    return eg__bits_float(eg__float_bits(x) & 0x7fffffffu);
}

static inline float eg__f32_sign_of(float magnitude, float x)
{
    return eg__bits_float(eg__float_bits(magnitude) | (eg__float_bits(x) & 0x80000000u));
}

static inline float eg__f32_tanh(float x)
{
    float a = eg__f32_abs(x), z = x * x;
    float p = 2.214902779e-03f;
    p = p * z - 8.272456937e-03f;
    p = p * z + 2.174618654e-02f;
    p = p * z - 5.395634845e-02f;
    p = p * z + 1.333329082e-01f;
    p = p * z - 3.333333433e-01f;
    float small = a + a * z * p, big = 1 - 2 / (eg__f32_exp(2 * a) + 1);
    return eg__f32_sign_of(a < 0.65f ? small : big, x);
}

static inline float eg__f32_sigmoid(float x)
{
    return 1 / (1 + eg__f32_exp(-x));
}

static inline float eg__f32_erf(float x)
{
    float a = eg__f32_abs(x), z = x * x;
    float p = 7.875874871e-05f;
    p = p * z - 8.016864303e-04f;
    p = p * z + 5.189087242e-03f;
    p = p * z - 2.685421146e-02f;
    p = p * z + 1.128359437e-01f;
    p = p * z - 3.761262596e-01f;
    p = p * z + 1.283791661e-01f;
    float t = a > 4.0f ? 4.0f : a;
    float q = -7.306915251e-08f;
    q = q * t + 3.257018761e-06f;
    q = q * t - 6.163746730e-05f;
    q = q * t + 6.819785922e-04f;
    q = q * t - 5.050790031e-03f;
    q = q * t + 2.706571482e-02f;
    q = q * t - 1.110025495e-01f;
    q = q * t - 6.310039759e-01f;
    q = q * t - 1.130647063e+00f;
    q = q * t + 4.096634802e-04f;
    return a != a ? x : eg__f32_sign_of(a < 1 ? a + a * p : 1 - eg__f32_exp(q), x);
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
    float y = x * (w < 5 ? p : q);
    return eg__f32_abs(x) == 1 ? x * (float)INFINITY : y;
}

/* log(x / (1 - x)); from the odds less 1 where those are near 1. */
static inline float eg__f32_logit(float x)
{
    return x < 0.3f ? eg__f32_log(x / (1 - x)) : eg__f32_log1p((2 * x - 1) / (1 - x));
}

static inline float eg__f32_sinc(float x) { return (float)eg__f64_sinc(x); }
static inline float eg__f32_signbit(float x) { return (float)(eg__float_bits(x) >> 31); }
static inline float eg__f32_copysign(float a, float b)
{
    return eg__f32_sign_of(eg__f32_abs(a), b);
}
static inline float eg__f32_isinf(float x) { return eg__f32_abs(x) == (float)INFINITY; }
static inline float eg__f32_isfinite(float x) { return eg__f32_abs(x) < (float)INFINITY; }
static inline float eg__f32_bitnot(float x) { return x; }
static inline float eg__f32_digamma(float x) { return (float)eg__f64_digamma(x); }
static inline float eg__f32_trigamma(float x) { return (float)eg__f64_trigamma(x); }
static inline float eg__f32_remainder(float a, float b)
{
    float r = fmodf(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline float eg__f32_floor_divide(float a, float b)
{
    return (float)eg__f64_floor_divide((double)a, (double)b);
}

#define EG__LIBM(name)                                                                             \
    static inline float eg__f32_##name(float x) { return name##f(x); }
EG__LIBM(sqrt) EG__LIBM(cbrt) EG__LIBM(exp2) EG__LIBM(sin) EG__LIBM(cos) EG__LIBM(tan)
EG__LIBM(asin) EG__LIBM(acos) EG__LIBM(atan) EG__LIBM(sinh) EG__LIBM(cosh) EG__LIBM(asinh)
EG__LIBM(acosh) EG__LIBM(atanh) EG__LIBM(erfc) EG__LIBM(lgamma) EG__LIBM(floor) EG__LIBM(ceil)
EG__LIBM(rint) EG__LIBM(trunc)
#undef EG__LIBM
static inline float eg__f32_fmod(float a, float b) { return fmodf(a, b); }
static inline float eg__f32_pow(float a, float b) { return powf(a, b); }
static inline float eg__f32_atan2(float a, float b) { return atan2f(a, b); }
static inline float eg__f32_hypot(float a, float b) { return hypotf(a, b); }

#endif
