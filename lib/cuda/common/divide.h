/* divide.h - division by numbers known at launch, of any size: by multiplication where both are below 2^31.
 * Plain C and CUDA. */
#ifndef EGRET_CUDA_DIVIDE_H
#define EGRET_CUDA_DIVIDE_H

#include <stdint.h>

typedef struct eg__divisor {
    int64_t d; /* 1 or more */
    unsigned magic, shift;
} eg__divisor;

/* i / d is (umulhi(i, magic) + i) >> shift for all i below 2^31 (Granlund and Montgomery 1994). */
static inline eg__divisor eg__divisor_of(int64_t d)
{
    eg__divisor v = {d > 1 ? d : 1, 0, 0};
    if (v.d >> 31 == 0) {
        v.shift = v.d > 1 ? 32 - (unsigned)__builtin_clz((unsigned)v.d - 1) : 0;
        v.magic = (unsigned)((((uint64_t)1 << 32) * (((uint64_t)1 << v.shift) - (uint64_t)v.d)) / (uint64_t)v.d + 1);
    }
    return v;
}

#ifdef EGRET_CUDA_LAUNCH_CUH
static __device__ __forceinline__ int64_t eg__divide(int64_t i, const eg__divisor &by)
{
    if ((i | by.d) >> 31) {
        return i / by.d;
    }
    return (int64_t)((__umulhi((unsigned)i, by.magic) + (unsigned)i) >> by.shift);
}
#endif

#endif
