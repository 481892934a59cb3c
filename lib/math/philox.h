/* philox.h - Philox 4x32-10 and the numbers made of its words, so that every engine makes the same ones.
 * (Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.)
 *
 * The stream of a seed: word w is word w % 4 of the block whose counter is w / 4 (low half first, upper two
 * counter words 0) under the key seed (low half first). An op of n elements taking k words each starts at
 * word 4 * offset of its thread's state and then moves the offset by ceil(n * k / 4).
 *
 * Every rounding is written out: products are added by fma only, so that no compiler can contract what
 * another does not, and sqrt is exactly rounded; results agree to the bit on all instruction sets. */
#ifndef EGRET_PHILOX_H
#define EGRET_PHILOX_H

#include <math.h>

#include "lib/math/half.h"

#define EG__PHILOX_M0 0xD2511F53u
#define EG__PHILOX_M1 0xCD9E8D57u
#define EG__PHILOX_W0 0x9E3779B9u
#define EG__PHILOX_W1 0xBB67AE85u

/* One block: four words of counter in c become four random words. */
EG__HD void eg__philox(uint64_t key, uint32_t c[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int r = 0; r < 10; r++) {
        uint64_t p0 = (uint64_t)EG__PHILOX_M0 * c[0], p1 = (uint64_t)EG__PHILOX_M1 * c[2];
        c[0] = (uint32_t)(p1 >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)p1;
        c[2] = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)p0;
        k0 += EG__PHILOX_W0;
        k1 += EG__PHILOX_W1;
    }
}

/* Block b of the stream that begins at block `offset`. */
EG__HD void eg__philox_block(uint64_t seed, uint64_t offset, int64_t b, uint32_t c[4])
{
    uint64_t at = offset + (uint64_t)b;
    c[0] = (uint32_t)at;
    c[1] = (uint32_t)(at >> 32);
    c[2] = c[3] = 0;
    eg__philox(seed, c);
}

/* Word w, and words 2 w (the upper half) and 2 w + 1. */
EG__HD uint32_t eg__philox_word(uint64_t seed, uint64_t offset, int64_t w)
{
    uint32_t c[4];
    eg__philox_block(seed, offset, w / 4, c);
    return c[w % 4];
}

EG__HD uint64_t eg__philox_word64(uint64_t seed, uint64_t offset, int64_t w)
{
    uint32_t c[4];
    eg__philox_block(seed, offset, w / 2, c);
    return (uint64_t)c[w % 2 * 2] << 32 | c[w % 2 * 2 + 1];
}

/* 0..range-1 of a word, each alike but for 1 in 2^64 / range; a range of 0 is 2^64. */
EG__HD uint64_t eg__below(uint64_t w, uint64_t range)
{
    return range ? (uint64_t)((unsigned __int128)w * range >> 64) : w;
}

/* 2^24 numbers in [0, 1). */
EG__HD float eg__word_uniform(uint32_t w)
{
    return (float)(int32_t)(w >> 8) * 0x1p-24f;
}

EG__HD double eg__word_uniform64(uint64_t w)
{
    return (double)(w >> 11) * 0x1p-53;
}

/* log(x) for a normal x in (0, 1]. */
EG__HD float eg__exact_log(float x)
{
    uint32_t v = eg__float_bits(x) - 0x3f3504f3u;
    float e = (float)((int32_t)v >> 23);
    float f = eg__bits_float((v & 0x007fffffu) + 0x3f3504f3u) - 1, z = f * f;
    float p = 6.971611828e-02f;
    p = fmaf(p, f, -1.147973388e-01f);
    p = fmaf(p, f, 1.168541983e-01f);
    p = fmaf(p, f, -1.242568716e-01f);
    p = fmaf(p, f, 1.424905807e-01f);
    p = fmaf(p, f, -1.666780263e-01f);
    p = fmaf(p, f, 2.000071555e-01f);
    p = fmaf(p, f, -2.499999702e-01f);
    p = fmaf(p, f, 3.333333135e-01f);
    p = fmaf(fmaf(p, f, -0.5f), z, f);
    return fmaf(e, 0.693359375f, fmaf(e, -2.12194440e-4f, p));
}

/* Two independent standard normal numbers of two words (Box and Muller 1958): radius and angle. */
EG__HD void eg__normal_pair(uint32_t w0, uint32_t w1, float *a, float *b)
{
    float u = fmaf((float)(int32_t)(w0 >> 1), 0x1p-31f, 0x1p-32f);
    float r = sqrtf(-2 * eg__exact_log(u));
    /* The angle w1 / 2^32 of a turn: a quadrant, and what is left in -1/8..1/8 turns. */
    uint32_t q = (w1 + 0x20000000u) >> 30;
    float t = (float)(int32_t)(w1 - (q << 30)) * 1.46291807927e-9f, z = t * t;
    float s = fmaf(fmaf(-1.958795037e-04f, z, 8.332748897e-03f), z, -1.666666418e-01f);
    float c = fmaf(fmaf(2.454797141e-05f, z, -1.388830366e-03f), z, 4.166666418e-02f);
    s = fmaf(t * z, s, t);
    c = fmaf(z * z, c, fmaf(-0.5f, z, 1));
    float x = q & 1 ? s : c, y = q & 1 ? c : s;
    *a = r * eg__bits_float(eg__float_bits(x) ^ ((q + 1) << 30 & 0x80000000u));
    *b = r * eg__bits_float(eg__float_bits(y) ^ (q << 30 & 0x80000000u));
}

/* A standard normal number cut off at two sigma: the inverse distribution function at a uniform v, as v times
 * a polynomial in -log(1 - x^2), x = v erf(sqrt 2), fitted for this file (error below 1e-7). */
EG__HD float eg__truncated(uint32_t w)
{
    float v = fmaf((float)(int32_t)w, 0x1p-31f, 0x1p-32f), x = v * 0.954499736f;
    float t = -eg__exact_log(fmaf(-x, x, 1));
    float p = -6.201177712e-06f;
    p = fmaf(p, t, 8.747493848e-05f);
    p = fmaf(p, t, -2.082174324e-04f);
    p = fmaf(p, t, -3.124970244e-03f);
    p = fmaf(p, t, 1.557994448e-02f);
    p = fmaf(p, t, 3.131889105e-01f);
    p = fmaf(p, t, 1.196287990e+00f);
    float y = v * p;
    return y > 2 ? 2 : y < -2 ? -2 : y;
}

/* low + (high - low) u, and never more than `last`, the number below high. */
EG__HD float eg__between(float u, float low, float range, float last)
{
    float v = fmaf(range, u, low);
    return v > last ? last : v;
}

/* Whether a word falls within probability p, given as eg__threshold(p). */
EG__HD uint32_t eg__threshold(double p)
{
    return (uint32_t)ceil(p * 0x1p24);
}

EG__HD uint32_t eg__chance(uint32_t w, uint32_t threshold)
{
    return (w >> 8) < threshold;
}

#endif
