/* matmul_int.h - the kernel of matrix products of integers and bools. Plain C and CUDA. */
#ifndef EGRET_CUDA_MATMUL_INT_H
#define EGRET_CUDA_MATMUL_INT_H

#include <cuda_runtime_api.h>

#include <egret/tensor.h>

#include "lib/cuda/common/divide.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[..., m, n] = a[..., m, k] b[..., k, n], y row-major; strides in elements, the innermost batch axis first. */
typedef struct eg__int_product {
    const char *a, *b;
    char *y;
    int dtype, nbatch;
    int64_t elements, k, ra, ca, rb, cb; /* elements: of y */
    eg__divisor m, n, batch[EG_MAX_DIMS];
    int64_t sa[EG_MAX_DIMS], sb[EG_MAX_DIMS];
} eg__int_product;

cudaError_t eg__launch_matmul_int(const eg__int_product *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
