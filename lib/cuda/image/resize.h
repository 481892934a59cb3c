/* resize.h - between the kernels of resizing and their host side. Plain C and CUDA. */
#ifndef EGRET_CUDA_RESIZE_H
#define EGRET_CUDA_RESIZE_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/positions.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result r along an axis is the sum of weight[r * width + k] times source first[r] + k; width 0: they are the same. */
typedef struct eg__tap_table {
    const int32_t *first;
    const double *weight;
    int width;
} eg__tap_table;

typedef struct eg__resizing {
    const char *x;
    char *y;
    int dtype, size;
    int copies; /* one tap of weight 1 each: elements are moved as they are */
    int64_t source[3];
    eg__positions positions; /* of the result */
    eg__tap_table axis[3];
} eg__resizing;

cudaError_t eg__launch_resize(const eg__resizing *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
