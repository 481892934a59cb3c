/* element.cuh - reading and writing elements in kernels: one at a time, or a group of eight in accesses of 16
 * bytes. The dtype is looked at where it runs: the same for all threads, so it costs nothing, and one kernel
 * serves f32, f16 and bf16. */
#ifndef EGRET_CUDA_ELEMENT_CUH
#define EGRET_CUDA_ELEMENT_CUH

#include <math.h>
#include <stdint.h>

#include "lib/cuda/common/elements.h"
#include "lib/cuda/common/launch.cuh"
#include "lib/math/half.h"
#ifndef EG_EMULATED
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

/* ---- halves: the processor's conversions where there are some ---------------------------------------- */

static __device__ __forceinline__ float eg__from_f16(uint16_t h)
{
#ifdef __CUDA_ARCH__
    return __half2float(__ushort_as_half(h));
#else
    return eg__f16_to_f32(h);
#endif
}

static __device__ __forceinline__ float eg__from_bf16(uint16_t h)
{
    return eg__bf16_to_f32(h);
}

static __device__ __forceinline__ uint16_t eg__to_f16(float f)
{
#ifdef __CUDA_ARCH__
    return __half_as_ushort(__float2half_rn(f));
#else
    return eg__f32_to_f16(f);
#endif
}

static __device__ __forceinline__ uint16_t eg__to_bf16(float f)
{
#ifdef __CUDA_ARCH__
    return __bfloat16_as_ushort(__float2bfloat16_rn(f));
#else
    return eg__f32_to_bf16(f);
#endif
}

/* ---- one element -------------------------------------------------------------------------------------- */

/* To an integer as eg_cast does: NaN is 0, what is out of range the nearest. */
static __device__ __forceinline__ int64_t eg__saturate(double v, double low, double high)
{
    if (v != v) {
        return 0;
    }
    if (high > 0x1p62) { /* int64, whose largest number is no double */
        return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
    }
    return (int64_t)(v < low ? low : v > high ? high : v);
}

/* An element as a number of class T; of integers for floats and the other way in casts only. */
template <class T> static __device__ __forceinline__ T eg__get(const char *p, int dtype);

template <> __device__ __forceinline__ float eg__get<float>(const char *p, int dtype)
{
    switch (dtype) {
    case EG_F32:
        return *(const float *)p;
    case EG_F16:
        return eg__from_f16(*(const uint16_t *)p);
    default:
        return eg__from_bf16(*(const uint16_t *)p);
    }
}

template <> __device__ __forceinline__ int64_t eg__get<int64_t>(const char *p, int dtype)
{
    switch (dtype) {
    case EG_I64:
        return *(const int64_t *)p;
    case EG_I32:
        return *(const int32_t *)p;
    case EG_U8:
        return *(const uint8_t *)p;
    default:
        return *(const uint8_t *)p != 0;
    }
}

template <> __device__ __forceinline__ double eg__get<double>(const char *p, int dtype)
{
    switch (dtype) {
    case EG_F64:
        return *(const double *)p;
    case EG_I64:
    case EG_I32:
    case EG_U8:
    case EG_BOOL:
        return (double)eg__get<int64_t>(p, dtype);
    default:
        return eg__get<float>(p, dtype);
    }
}

static __device__ __forceinline__ void eg__put(char *p, int dtype, double v)
{
    switch (dtype) {
    case EG_F64:
        *(double *)p = v;
        break;
    case EG_F32:
        *(float *)p = (float)v;
        break;
    case EG_F16:
        *(uint16_t *)p = eg__to_f16(eg__f64_to_f32_odd(v));
        break;
    case EG_BF16:
        *(uint16_t *)p = eg__to_bf16(eg__f64_to_f32_odd(v));
        break;
    case EG_I64:
        *(int64_t *)p = eg__saturate(v, -0x1p63, 0x1p63);
        break;
    case EG_I32:
        *(int32_t *)p = (int32_t)eg__saturate(v, INT32_MIN, INT32_MAX);
        break;
    case EG_U8:
        *(uint8_t *)p = (uint8_t)eg__saturate(v, 0, 255);
        break;
    default:
        *(uint8_t *)p = v != 0;
    }
}

static __device__ __forceinline__ void eg__put(char *p, int dtype, float v)
{
    switch (dtype) {
    case EG_F32:
        *(float *)p = v;
        break;
    case EG_F16:
        *(uint16_t *)p = eg__to_f16(v);
        break;
    case EG_BF16:
        *(uint16_t *)p = eg__to_bf16(v);
        break;
    case EG_BOOL:
        *(uint8_t *)p = v != 0;
        break;
    default:
        eg__put(p, dtype, (double)v);
    }
}

/* Integers wrap around. */
static __device__ __forceinline__ void eg__put(char *p, int dtype, int64_t v)
{
    switch (dtype) {
    case EG_I64:
        *(int64_t *)p = v;
        break;
    case EG_I32:
        *(int32_t *)p = (int32_t)(uint32_t)v;
        break;
    case EG_U8:
        *(uint8_t *)p = (uint8_t)v;
        break;
    case EG_BOOL:
        *(uint8_t *)p = v != 0;
        break;
    case EG_F32:
        *(float *)p = (float)v;
        break;
    case EG_F64:
        *(double *)p = (double)v;
        break;
    default:
        eg__put(p, dtype, eg__i64_to_f64_odd(v));
    }
}

/* The number an operand stands for. */
template <class T> static __device__ __forceinline__ T eg__number(const eg__operand &o)
{
    return (T)o.number;
}

template <> __device__ __forceinline__ int64_t eg__number<int64_t>(const eg__operand &o)
{
    return o.whole;
}

/* ---- a group of eight, floats -------------------------------------------------------------------------- */

static __device__ __forceinline__ void eg__get_group(const char *p, int dtype, float v[EG__GROUP])
{
    if (dtype == EG_F32) {
        const float4 a = ((const float4 *)p)[0], b = ((const float4 *)p)[1];
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
        v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
        return;
    }
    const uint4 u = *(const uint4 *)p;
    const uint32_t w[4] = {u.x, u.y, u.z, u.w};
    if (dtype == EG_F16) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            v[2 * i] = eg__from_f16((uint16_t)w[i]);
            v[2 * i + 1] = eg__from_f16((uint16_t)(w[i] >> 16));
        }
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            v[2 * i] = eg__bits_float(w[i] << 16);
            v[2 * i + 1] = eg__bits_float(w[i] & 0xffff0000u);
        }
    }
}

static __device__ __forceinline__ void eg__put_group(char *p, int dtype, const float v[EG__GROUP])
{
    uint32_t w[4];
    switch (dtype) {
    case EG_F32:
        ((float4 *)p)[0] = make_float4(v[0], v[1], v[2], v[3]);
        ((float4 *)p)[1] = make_float4(v[4], v[5], v[6], v[7]);
        return;
    case EG_BOOL:
#pragma unroll
        for (int i = 0; i < 2; i++) {
            w[i] = (v[4 * i] != 0) | (v[4 * i + 1] != 0) << 8 | (v[4 * i + 2] != 0) << 16 |
                   (uint32_t)(v[4 * i + 3] != 0) << 24;
        }
        *(uint2 *)p = make_uint2(w[0], w[1]);
        return;
    case EG_F16:
#pragma unroll
        for (int i = 0; i < 4; i++) {
            w[i] = eg__to_f16(v[2 * i]) | (uint32_t)eg__to_f16(v[2 * i + 1]) << 16;
        }
        break;
    default:
#pragma unroll
        for (int i = 0; i < 4; i++) {
            w[i] = eg__to_bf16(v[2 * i]) | (uint32_t)eg__to_bf16(v[2 * i + 1]) << 16;
        }
    }
    *(uint4 *)p = make_uint4(w[0], w[1], w[2], w[3]);
}

/* ---- where they lie -------------------------------------------------------------------------------------- */

/* Byte offsets of element i in each of N operands. */
template <int N> static __device__ __forceinline__ void eg__offsets(const eg__elements &e, unsigned i, int64_t at[N])
{
#pragma unroll
    for (int k = 0; k < N; k++) {
        at[k] = 0;
    }
#pragma unroll
    for (int d = EG_MAX_DIMS - 1; d >= 0; d--) {
        if (d < e.ndim) {
            unsigned q = d ? (__umulhi(i, e.magic[d]) + i) >> e.shift[d] : 0;
            unsigned r = i - q * e.shape[d];
#pragma unroll
            for (int k = 0; k < N; k++) {
                at[k] += (int64_t)r * e.at[k].stride[d];
            }
            i = q;
        }
    }
}

#endif
