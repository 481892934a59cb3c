/* pool.h - between the kernels of pooling and their host side. Plain C and CUDA. */
#ifndef EGRET_CUDA_POOL_H
#define EGRET_CUDA_POOL_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/positions.h"
#include "lib/ops/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Images, all lying alike: `x` of cells, `y` of windows. A thread makes an element of the result. */
typedef struct eg__pooling {
    eg__pool_opts o;
    char *x, *y, *taps; /* taps: u8, or i32 if `large` */
    int64_t *places;
    int dtype; /* of x and y */
    int large;
    eg__positions positions; /* of the result */
} eg__pooling;

/* y and taps of x; _int: of i64. */
cudaError_t eg__launch_max_pool(const eg__pooling *k, cudaStream_t s);
cudaError_t eg__launch_max_pool_int(const eg__pooling *k, cudaStream_t s);
/* y of x and taps. */
cudaError_t eg__launch_max_pool_take(const eg__pooling *k, cudaStream_t s);
/* places of taps. */
cudaError_t eg__launch_max_pool_places(const eg__pooling *k, cudaStream_t s);
/* x of y and taps: every cell adds up what its windows give it, in their order. */
cudaError_t eg__launch_max_pool_grad(const eg__pooling *k, cudaStream_t s);
/* y of x, and x of y. */
cudaError_t eg__launch_avg_pool(const eg__pooling *k, cudaStream_t s);
cudaError_t eg__launch_avg_pool_grad(const eg__pooling *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
