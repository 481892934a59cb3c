/* half.h - f16 and bf16 to f32 and back, rounding to nearest even. Plain integer arithmetic, so that
 * compilers can vectorise it and every processor agrees. */
#ifndef EGRET_HALF_H
#define EGRET_HALF_H

#include <stdint.h>
#include <string.h>

#include "lib/math/hd.h"

EG__HD float eg__bits_float(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

EG__HD uint32_t eg__float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

EG__HD float eg__f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;
    /* Scaling by 2^112 moves the exponent's bias and makes subnormals normal in one step. */
    float f = eg__bits_float(rest) * 0x1p112f;
    uint32_t u = eg__float_bits(f);
    u |= rest >= 0x0f800000u ? 0x7f800000u : 0; /* infinity and NaN keep all exponent bits */
    return eg__bits_float(u | sign);
}

EG__HD uint16_t eg__f32_to_f16(float f)
{
    uint32_t u = eg__float_bits(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffffu;
    uint32_t normal = (a + 0xc8000fffu + (a >> 13 & 1)) >> 13; /* rebias, round half to even */
    /* Adding 0.5 lines a subnormal result up with the low mantissa bits; the adder rounds. */
    uint32_t tiny = eg__float_bits(eg__bits_float(a) + 0.5f) - 0x3f000000u;
    uint32_t r = a < 0x38800000u ? tiny : normal;
    r = a >= 0x477ff000u ? 0x7c00u : r;
    r = a > 0x7f800000u ? 0x7e00u : r;
    return (uint16_t)(r | sign);
}

EG__HD float eg__bf16_to_f32(uint16_t b)
{
    return eg__bits_float((uint32_t)b << 16);
}

EG__HD uint16_t eg__f32_to_bf16(float f)
{
    uint32_t u = eg__float_bits(f);
    uint32_t r = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16 | 0x40) : r);
}

/* Numbers on their way to halves, rounded once: what float or double cannot hold is kept as an odd last bit, which
 * is far beneath that of a half and tells rounding to which side of the middle they lie. */
EG__HD float eg__f64_to_f32_odd(double d)
{
    const float f = (float)d;
    const double near = (double)f;
    const uint32_t beyond = ((near > d) & (near > 0)) | ((near < d) & (near < 0));
    return eg__bits_float((eg__float_bits(f) - beyond) | (uint32_t)((near < d) | (near > d)));
}

EG__HD double eg__i64_to_f64_odd(int64_t v)
{
    const int64_t high = v >> 10 | ((v & 1023) != 0);
    return v < -((int64_t)1 << 53) || v > (int64_t)1 << 53 ? (double)high * 1024 : (double)v;
}

EG__HD uint16_t eg__f64_to_f16(double d)
{
    return eg__f32_to_f16(eg__f64_to_f32_odd(d));
}

EG__HD uint16_t eg__f64_to_bf16(double d)
{
    return eg__f32_to_bf16(eg__f64_to_f32_odd(d));
}

EG__HD uint16_t eg__i64_to_bf16(int64_t v)
{
    return eg__f64_to_bf16(eg__i64_to_f64_odd(v));
}

#endif
