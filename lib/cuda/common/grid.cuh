/* grid.cuh - grids of one thread per element, and moving an element whatever it means. */
#ifndef EGRET_CUDA_GRID_CUH
#define EGRET_CUDA_GRID_CUH

#include "lib/cuda/common/launch.cuh"

#include <stdint.h>

enum { EG__BLOCK = 256 };

/* The blocks that n threads make. */
static inline unsigned eg__blocks(int64_t n)
{
    return (unsigned)((n + EG__BLOCK - 1) / EG__BLOCK);
}

/* This thread's number in the grid. */
static __device__ __forceinline__ int64_t eg__self(void)
{
    return (int64_t)blockIdx.x * EG__BLOCK + threadIdx.x;
}

/* Moves the bits of an element of 1, 2, 4, 8 or 16 bytes. */
static __device__ __forceinline__ void eg__move(char *to, const char *from, int size)
{
    switch (size) {
    case 1:
        *to = *from;
        break;
    case 2:
        *(uint16_t *)to = *(const uint16_t *)from;
        break;
    case 4:
        *(uint32_t *)to = *(const uint32_t *)from;
        break;
    case 8:
        *(uint64_t *)to = *(const uint64_t *)from;
        break;
    default:
        *(uint4 *)to = *(const uint4 *)from;
    }
}

#endif
