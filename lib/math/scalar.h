/* scalar.h - the functions formulas in unary.def and binary.def name, in double and in int64: the
 * specification's arithmetic. */
#ifndef EGRET_MATH_SCALAR_H
#define EGRET_MATH_SCALAR_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lib/math/hd.h"

#define EG__PI 3.14159265358979323846

/* ---- double -------------------------------------------------------------------------------- */

EG__HD double eg__f64_abs(double x)
{
    return fabs(x);
}
EG__HD double eg__f64_sigmoid(double x)
{
    double e = exp(-fabs(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

/* c ? a : b without a branch: compilers then see that two of it are one. */
EG__HD double eg__f64_select(int c, double a, double b)
{
    uint64_t all = 0 - (uint64_t)c, u, v;
    memcpy(&u, &a, sizeof u);
    memcpy(&v, &b, sizeof v);
    u = (u & all) | (v & ~all);
    memcpy(&a, &u, sizeof a);
    return a;
}

EG__HD double eg__f64_limit(double x, double low, double high)
{
    return eg__f64_select(x < low, low, eg__f64_select(x > high, high, x));
}

/* a + w (b - a), from the nearer of the two: a weight of 1 gives b, and neither is lost beside a much larger one. The
 * difference is halved, so that it stays within the range. */
EG__HD double eg__f64_lerp(double a, double b, double w)
{
    const double half = b / 2 - a / 2;
    return eg__f64_select(w < 0.5, a + 2 * w * half, b - (2 - 2 * w) * half);
}

EG__HD double eg__f64_isinf(double x)
{
    return isinf(x) != 0;
}
EG__HD double eg__f64_isfinite(double x)
{
    return isfinite(x) != 0;
}
EG__HD double eg__f64_signbit(double x)
{
    return signbit(x) != 0;
}
EG__HD double eg__f64_bitnot(double x)
{
    return x;
}

/* The logarithmic derivative of the gamma function for x > 0: recurrence up to 8, then the asymptotic series
 * (Abramowitz and Stegun 6.3.5, 6.3.18). */
EG__HD double eg__f64_digamma_above(double x)
{
    double r = 0;
    for (; x < 8; x++) {
        r -= 1 / x;
    }
    double z = 1 / (x * x);
    return r + log(x) - 0.5 / x -
           z * (1.0 / 12 -
                z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
}

/* Reflection below 0 (6.3.7), from the distance to the nearest integer, which is exact. */
EG__HD double eg__f64_digamma(double x)
{
    if (x <= 0 && x == floor(x)) {
        return x == 0 ? copysign((double)INFINITY, -x) : (double)NAN;
    }
    return x < 0 ? eg__f64_digamma_above(1 - x) - EG__PI / tan(EG__PI * (x - rint(x))) : eg__f64_digamma_above(x);
}

/* Its derivative (6.4.6, 6.4.12, 6.4.7). */
EG__HD double eg__f64_trigamma_above(double x)
{
    double r = 0;
    for (; x < 10; x++) {
        r += 1 / (x * x);
    }
    double z = 1 / (x * x);
    return r + 1 / x + z / 2 +
           z / x *
               (1.0 / 6 -
                z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * (5.0 / 66 - z * (691.0 / 2730 - z * 7.0 / 6))))));
}

EG__HD double eg__f64_trigamma(double x)
{
    if (x <= 0 && x == floor(x)) {
        return x < -DBL_MAX ? (double)NAN : (double)INFINITY;
    }
    if (x < 0) {
        double s = sin(EG__PI * (x - rint(x)));
        return EG__PI * EG__PI / (s * s) - eg__f64_trigamma_above(1 - x);
    }
    return eg__f64_trigamma_above(x);
}

/* n! / q^(n+1) for q > 0; the logarithms where factors might leave the range on the way. */
EG__HD double eg__f64_polygamma_term(double n, double q)
{
    double r = 1 / q;
    if (n > 170) {
        return exp(lgamma(n + 1) - (n + 1) * log(q));
    }
    for (double k = 1; k <= n; k++) {
        r *= k / q;
    }
    return r;
}

/* n! (q^-s + (q+1)^-s + ...) for q > 0, s = n + 1 > 2: terms up to q + k = s + 8 or where they no longer count, then
 * the Euler-Maclaurin formula (23.1.30), B_2k / (2k)! the coefficients. Terms fall as exp(-s k / (q + k)) and q is
 * below s + 8: there are fewer than 200 of them, also where q + 1 is q. */
EG__HD double eg__f64_polygamma_above(double n, double q)
{
    const double b[] = {1.0 / 12,
                        -1.0 / 720,
                        1.0 / 30240,
                        -1.0 / 1209600,
                        1.0 / 47900160,
                        -691.0 / 1307674368000.0,
                        1.0 / 74724249600.0,
                        -3617.0 / 10670622842880000.0,
                        43867.0 / 5109094217170944000.0,
                        -174611.0 / 802857662698291200000.0};
    const double s = n + 1;
    double sum = 0, k = 0, part = 1; /* of q^-s */
    while (q + k < s + 8 && part > 1e-17 * sum) {
        sum += part;
        k += 1;
        part = exp(-s * log1p(k / q));
    }
    if (part > 1e-17 * sum) {
        const double a = q + k;
        double tail = a / n + 0.5, rising = s / a;
        for (int j = 0; j < 10; j++) {
            tail += b[j] * rising;
            rising *= (s + 2 * j + 1) / a * ((s + 2 * j + 2) / a);
        }
        sum += part * tail;
    }
    return eg__f64_polygamma_term(n, q) * sum;
}

/* The n-th derivative of digamma (6.4.1, 6.4.10). Below 0 the sum over k from 0 on of 1 / (x + k)^(n+1) is that over
 * all integers, of which only the distance f to the nearest counts, less those before 0. */
EG__HD double eg__f64_polygamma(double x, double n)
{
    if (n < 2) {
        return n < 1 ? eg__f64_digamma(x) : eg__f64_trigamma(x);
    }
    const double sign = fmod(n, 2.0) != 0 ? 1 : -1; /* (-1)^(n+1), the sign of 1 / (-1)^(n+1) too */
    double f = 0, sum = 0, last = x, weight = sign;
    int k = 2;
    if (!(x > 0)) {
        f = x - rint(x);
        if (!(fabs(f) > 0)) {
            return f == 0 ? sign * (double)INFINITY : x - x;
        }
        last = 1 - x;
        weight = -1;
        if (fabs(f) != 0.5 || sign > 0) { /* else all of them is 0, term by term */
            k = 0;
            sum = sign * (f < 0 ? sign : 1) * eg__f64_polygamma_term(n, fabs(f));
        }
    }
    if (x > DBL_MAX || fabs(sum) > DBL_MAX) {
        return x > 0 ? sign * 0 : sum;
    }
    for (; k < 3; k++) { /* a loop, so that the formula is there once: of a GPU it takes nearly all registers */
        sum += (k == 0   ? sign
                : k == 1 ? 1
                         : weight) *
               eg__f64_polygamma_above(n, k == 0   ? 1 + f
                                          : k == 1 ? 1 - f
                                                   : last);
    }
    return sum;
}

/* log(x / (1 - x)); from the odds less 1 where those are near 1. */
EG__HD double eg__f64_logit(double x)
{
    return x < 0.3 ? log(x / (1 - x)) : log1p((2 * x - 1) / (1 - x));
}

/* sin(pi x) / (pi x), the sine of the distance to the nearest integer, which is exact. */
EG__HD double eg__f64_sinc(double x)
{
    double n = rint(x), s = sin(EG__PI * (x - n));
    return x == 0 ? 1 : (fmod(n, 2.0) != 0 ? -s : s) / (EG__PI * x);
}

/* Winitzki's guess, good to 0.4 %, then Halley's steps, which cube the error; near 1 on erfc. */
EG__HD double eg__f64_erfinv(double y)
{
    const double a = fabs(y), c = 2 / (EG__PI * 0.147), l = log1p(-a) + log1p(a);
    if (!(a < 1)) {
        return a == 1 ? copysign((double)INFINITY, y) : (double)NAN;
    }
    double x = sqrt(fmax(0.0, sqrt((c + l / 2) * (c + l / 2) - l / 0.147) - (c + l / 2)));
    for (int i = 0; i < 3; i++) {
        double miss = a < 0.5 ? erf(x) - a : (1 - a) - erfc(x);
        double step = miss * exp(x * x) * 0.88622692545275801365;
        x -= step / (1 + x * step);
    }
    return copysign(x, y);
}

/* Python's modulo: the sign of the divisor, that of a zero too. */
EG__HD double eg__f64_remainder(double a, double b)
{
    double r = fmod(a, b);
    return r == 0 ? copysign(0.0, b) : (r < 0) != (b < 0) ? r + b : r;
}

/* The floor of the exact quotient, which a / b rounded may have passed: 1 by 0.1 is 9. A zero has the
 * quotient's sign. */
EG__HD double eg__f64_floor_divide(double a, double b)
{
    double r = fmod(a, b);
    if (b == 0 || r != r) {
        return b == 0 ? a / b : r;
    }
    double q = rint((a - r) / b - (r != 0 && (r < 0) != (b < 0) ? 1 : 0));
    return q == 0 ? copysign(0.0, a / b) : q;
}

#define EG__SAME(name)                     \
    EG__HD double eg__f64_##name(double x) \
    {                                      \
        return name(x);                    \
    }
EG__SAME(sqrt)
EG__SAME(cbrt)
EG__SAME(exp)
EG__SAME(exp2)
EG__SAME(expm1)
EG__SAME(log)
EG__SAME(log2)
EG__SAME(log10)
EG__SAME(log1p)
EG__SAME(sin)
EG__SAME(cos)
EG__SAME(tan)
EG__SAME(asin)
EG__SAME(acos)
EG__SAME(atan)
EG__SAME(sinh)
EG__SAME(cosh)
EG__SAME(tanh)
EG__SAME(asinh)
EG__SAME(acosh)
EG__SAME(atanh)
EG__SAME(erf)
EG__SAME(erfc)
EG__SAME(lgamma)
EG__SAME(floor)
EG__SAME(ceil)
EG__SAME(rint)
EG__SAME(trunc)
#undef EG__SAME
EG__HD double eg__f64_fmod(double a, double b)
{
    return fmod(a, b);
}
EG__HD double eg__f64_pow(double a, double b)
{
    return pow(a, b);
}
EG__HD double eg__f64_atan2(double a, double b)
{
    return atan2(a, b);
}
EG__HD double eg__f64_hypot(double a, double b)
{
    return hypot(a, b);
}
EG__HD double eg__f64_copysign(double a, double b)
{
    return copysign(a, b);
}

/* The power of two that brings numbers of which `largest` is the largest near 1, so that neither their sum overflows
 * nor a share of it is rounded to the spacing of subnormal numbers. */
EG__HD double eg__f64_near_one(double largest)
{
    int exponent = 0;
    frexp(largest < DBL_MAX ? largest : DBL_MAX, &exponent);
    return ldexp(1.0, exponent < -1000 ? 1000 : exponent > 1000 ? -1000 : -exponent);
}

/* ---- int64: wraps around, divides by zero to 0, shifts past the width to 0 (or the sign) ------ */

EG__HD int64_t eg__i64_abs(int64_t x)
{
    return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
}
EG__HD int64_t eg__i64_floor(int64_t x)
{
    return x;
}
EG__HD int64_t eg__i64_ceil(int64_t x)
{
    return x;
}
EG__HD int64_t eg__i64_rint(int64_t x)
{
    return x;
}
EG__HD int64_t eg__i64_trunc(int64_t x)
{
    return x;
}
EG__HD int64_t eg__i64_isinf(int64_t x)
{
    return (void)x, 0;
}
EG__HD int64_t eg__i64_isfinite(int64_t x)
{
    return (void)x, 1;
}
EG__HD int64_t eg__i64_signbit(int64_t x)
{
    return x < 0;
}
EG__HD int64_t eg__i64_bitnot(int64_t x)
{
    return ~x;
}

EG__HD int64_t eg__i64_fmod(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

EG__HD int64_t eg__i64_remainder(int64_t a, int64_t b)
{
    int64_t r = eg__i64_fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

EG__HD int64_t eg__i64_floor_divide(int64_t a, int64_t b)
{
    if (b == 0) {
        return 0;
    }
    if (b == -1) {
        return (int64_t)(0 - (uint64_t)a);
    }
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

EG__HD int64_t eg__i64_pow(int64_t a, int64_t b)
{
    if (b < 0) { /* integers for a = 1 and -1 alone */
        return a == 1 || a == -1 ? (b & 1 ? a : 1) : 0;
    }
    uint64_t r = 1, base = (uint64_t)a;
    for (; b > 0; b >>= 1) {
        r *= b & 1 ? base : 1;
        base *= base;
    }
    return (int64_t)r;
}

EG__HD int64_t eg__i64_shift_left(int64_t a, int64_t b)
{
    return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
}

EG__HD int64_t eg__i64_shift_right(int64_t a, int64_t b)
{
    return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b;
}

#endif
