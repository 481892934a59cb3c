/* draws.cuh - words of a random stream in kernels. */
#ifndef EGRET_CUDA_DRAWS_CUH
#define EGRET_CUDA_DRAWS_CUH

#include "lib/cuda/common/launch.cuh"
#include "lib/cuda/random/random.h"
#include "lib/math/philox.h"

static __device__ __forceinline__ uint64_t eg__seed_of(const eg__draws &d)
{
    return d.now ? d.now[0] : d.seed;
}

static __device__ __forceinline__ uint64_t eg__offset_of(const eg__draws &d)
{
    return d.now ? d.now[1] + d.offset : d.offset;
}

/* Block b, four words. */
static __device__ __forceinline__ void eg__words_of(const eg__draws &d, int64_t b, uint32_t w[4])
{
    eg__philox_block(eg__seed_of(d), eg__offset_of(d), b, w);
}

static __device__ __forceinline__ uint64_t eg__word64_of(const eg__draws &d, int64_t i)
{
    return eg__philox_word64(eg__seed_of(d), eg__offset_of(d), i);
}

#endif
