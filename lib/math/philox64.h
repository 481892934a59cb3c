/* philox64.h - numbers of 64 bits made of Philox's words. As in philox.h every rounding is written out, so that
 * compilers and devices agree to the bit: products are added by fma only, and what functions of the C library
 * would round differently everywhere is series here. */
#ifndef EGRET_PHILOX64_H
#define EGRET_PHILOX64_H

#include "lib/math/philox.h"

EG__HD uint64_t eg__double_bits(double d)
{
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    return u;
}

EG__HD double eg__bits_double(uint64_t u)
{
    double d;
    memcpy(&d, &u, sizeof d);
    return d;
}

/* log(x) for a normal x in (0, 1]: of the power of two, and 2 atanh(s) of what is left in sqrt(1/2)..sqrt(2). */
EG__HD double eg__exact_log64(double x)
{
    const uint64_t root = 0x3fe6a09e667f3bcdu;
    uint64_t v = eg__double_bits(x) - root;
    double e = (double)((int64_t)v >> 52);
    double f = eg__bits_double((v & 0x000fffffffffffffu) + root) - 1, s = f / (2 + f), z = s * s;
    double p = 1.0 / 23;
    for (int k = 21; k >= 3; k -= 2) {
        p = fma(p, z, 1 / (double)k);
    }
    double rest = fma(-s, fma(-2 * z, p, f), f); /* 2 s = f - s f */
    return fma(e, 6.93147180369123816490e-01, fma(e, 1.90821492927058770002e-10, rest));
}

/* Two independent standard normal numbers of two words, as eg__normal_pair. */
EG__HD void eg__normal_pair64(uint64_t w0, uint64_t w1, double *a, double *b)
{
    double r = sqrt(-2 * eg__exact_log64(1 - eg__word_uniform64(w0)));
    /* The angle in turns: a quadrant, and what is left in -1/8..1/8. */
    uint32_t q = (uint32_t)((w1 >> 61) + 1) >> 1;
    double t = fma(-0.25, (double)q, eg__word_uniform64(w1)) * 6.283185307179586, z = t * t;
    double s = 0, c = 0;
    for (int k = 18; k >= 2; k -= 2) { /* 1 / 3! - z / 5! + .., 1 / 4! - z / 6! + .. */
        s = fma(-z, s, 1.0) / (double)(k * (k + 1));
        c = fma(-z, c, 1.0) / (double)((k + 1) * (k + 2));
    }
    s = fma(-t * z, s, t);
    c = fma(0.5 * z * z, c, fma(-0.5, z, 1.0));
    double x = q & 1 ? s : c, y = q & 1 ? c : s;
    *a = r * eg__bits_double(eg__double_bits(x) ^ (uint64_t)((q + 1) >> 1 & 1) << 63);
    *b = r * eg__bits_double(eg__double_bits(y) ^ (uint64_t)(q >> 1 & 1) << 63);
}

/* A standard normal number z within two sigma, as eg__truncated: that is improved by steps of Newton on the
 * distribution function. With its density d(z) and d(0) = 1 / sqrt(2 pi), both series of positive terms,
 *   P(0..z) = d(z) (z + z^3 / 3 + z^5 / (3 5) + ..),  d(0) / d(z) = exp(z^2 / 2). */
EG__HD double eg__truncated64(uint64_t w)
{
    const double share = 0.95449973610364159 * 2.5066282746310005; /* within two sigma; 1 / d(0) */
    double target = (eg__word_uniform64(w) - 0.5) * share;
    double z = eg__truncated((uint32_t)(w >> 32) ^ 0x80000000u);
    for (int step = 0; step < 2; step++) {
        double y = z * z, sum = 1, grown = 1;
        for (int k = 51; k >= 3; k -= 2) {
            sum = fma(y / (double)k, sum, 1.0);
        }
        for (int k = 25; k >= 1; k--) {
            grown = fma(0.5 * y / (double)k, grown, 1.0);
        }
        z -= fma(z, sum, -(target * grown));
    }
    return z > 2 ? 2 : z < -2 ? -2 : z;
}

EG__HD double eg__between64(double u, double low, double range, double last)
{
    double v = fma(range, u, low);
    return v > last ? last : v;
}

#endif
