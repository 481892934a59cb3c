/* block.cuh - what the threads of a block compute together. */
#ifndef EGRET_CUDA_BLOCK_CUH
#define EGRET_CUDA_BLOCK_CUH

#include "lib/cuda/common/launch.cuh"

/* The sum of v over the threads before this one, in a block of N; total: over all of them. */
template <int N, class T> static __device__ T eg__block_scan(T v, T *total)
{
    __shared__ T sums[N / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    T sum = v;
    for (int d = 1; d < 32; d *= 2) {
        const T up = __shfl_up_sync(0xffffffffu, sum, d);
        sum += lane >= d ? up : 0;
    }
    if (lane == 31) {
        sums[warp] = sum;
    }
    __syncthreads();
    if (warp == 0) {
        T w = lane < N / 32 ? sums[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            const T up = __shfl_up_sync(0xffffffffu, w, d);
            w += lane >= d ? up : 0;
        }
        if (lane < N / 32) {
            sums[lane] = w;
        }
    }
    __syncthreads();
    const T before = sum - v + (warp ? sums[warp - 1] : 0);
    *total = sums[N / 32 - 1];
    __syncthreads(); /* sums may be wanted again at once */
    return before;
}

#endif
