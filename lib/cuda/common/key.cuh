/* key.cuh - elements as integers in the order wanted, and lines of them. */
#ifndef EGRET_CUDA_KEY_CUH
#define EGRET_CUDA_KEY_CUH

#include "lib/cuda/common/launch.cuh"
#include "lib/cuda/index/sort.h"

/* A key and a position below it. */
typedef uint64_t eg__word;
typedef unsigned __int128 eg__wide_word;

/* Floats rise with their bits but for the sign; NaN is behind all, -0 equals 0. */
static __device__ __forceinline__ uint32_t eg__key32(const char *p, const eg__ordering &o)
{
    uint32_t u, most = 0xff000000u; /* twice the bits of infinity */
    switch (o.dtype) {
    case EG_F32:
        u = *(const uint32_t *)p;
        break;
    case EG_F16:
        u = (uint32_t) * (const uint16_t *)p << 16;
        most = 0xf8000000u;
        break;
    case EG_BF16:
        u = (uint32_t) * (const uint16_t *)p << 16;
        break;
    case EG_I32:
        u = *(const uint32_t *)p ^ 0x80000000u;
        return o.falling ? ~u : u;
    case EG_U8:
        u = (uint32_t) * (const uint8_t *)p << 24;
        return o.falling ? ~u & 0xff000000u : u;
    default:
        u = (uint32_t)(*(const uint8_t *)p != 0) << 31;
        return o.falling ? ~u & 0x80000000u : u;
    }
    const bool nan = u << 1 > most;
    u = u << 1 ? u : 0;
    u = nan ? 0xffffffffu : u ^ ((uint32_t)((int32_t)u >> 31) | 0x80000000u);
    return (o.falling ? ~u : u) & (o.dtype == EG_F32 ? 0xffffffffu : 0xffff0000u);
}

static __device__ __forceinline__ uint64_t eg__key64(const char *p, const eg__ordering &o)
{
    const uint64_t sign = (uint64_t)1 << 63;
    uint64_t u = *(const uint64_t *)p;
    if (o.dtype == EG_F64) {
        const bool nan = u << 1 > 0xffe0000000000000u;
        u = u << 1 ? u : 0;
        u = nan ? ~(uint64_t)0 : u ^ ((uint64_t)((int64_t)u >> 63) | sign);
    } else {
        u ^= sign;
    }
    return o.falling ? ~u : u;
}

template <class W> static __device__ __forceinline__ W eg__word_of(const char *p, uint32_t at, const eg__ordering &o);

template <> __device__ __forceinline__ eg__word eg__word_of<eg__word>(const char *p, uint32_t at, const eg__ordering &o)
{
    return (eg__word)eg__key32(p, o) << 32 | at;
}

template <>
__device__ __forceinline__ eg__wide_word eg__word_of<eg__wide_word>(const char *p, uint32_t at, const eg__ordering &o)
{
    return (eg__wide_word)eg__key64(p, o) << 32 | at;
}

/* The number of element `at` of a line, lines being `length` long in memory: o.n, or o.k for results. */
static __device__ __forceinline__ int64_t eg__element(const eg__ordering &o, int64_t line, int64_t length, int64_t at)
{
    const int64_t outer = eg__divide(line, o.inner);
    return (outer * length + at) * o.inner.d + (line - outer * o.inner.d);
}

/* Place `rank` of a line is its element `from`. */
static __device__ __forceinline__ void eg__put_rank(const eg__ordering &o, int64_t line, int64_t rank, uint32_t from)
{
    const int64_t y = eg__element(o, line, o.k, rank);
    const char *x = o.x + eg__element(o, line, o.n.d, from) * o.size;
    o.indices[y] = from;
    switch (o.size) {
    case 1:
        ((uint8_t *)o.values)[y] = *(const uint8_t *)x;
        break;
    case 2:
        ((uint16_t *)o.values)[y] = *(const uint16_t *)x;
        break;
    case 4:
        ((uint32_t *)o.values)[y] = *(const uint32_t *)x;
        break;
    default:
        ((uint64_t *)o.values)[y] = *(const uint64_t *)x;
    }
}

#endif
