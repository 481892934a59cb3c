/* join.h - the kernels of concat, pad and slice_grad. Plain C and CUDA. */
#ifndef EGRET_CUDA_JOIN_H
#define EGRET_CUDA_JOIN_H

#include <cuda_runtime_api.h>

#include <egret/tensor.h>

#include "lib/cuda/common/divide.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Everything is in units of 1, 2, 4, 8 or 16 bytes, with axes merged as far as memory allows; strides are in
 * bytes. */

/* One input of a concat: copied from `from` to `start` bytes into y. */
typedef struct eg__piece {
    const char *from;
    int64_t start, n;
    eg__divisor size; /* along the axis */
    int64_t stride[EG_MAX_DIMS];
} eg__piece;

enum { EG__PIECES = 64 };
typedef struct eg__pieces {
    char *y;
    int ndim, axis, unit, count;
    eg__divisor shape[EG_MAX_DIMS]; /* but for the axis */
    int64_t stride[EG_MAX_DIMS];
    eg__piece piece[EG__PIECES];
} eg__pieces;
cudaError_t eg__launch_concat(const eg__pieces *k, cudaStream_t s);

/* y, n units in memory order; place i of an axis shows x's (i - before) / step, or what the mode says. */
typedef struct eg__padded {
    eg__divisor size;                /* of y */
    int64_t n, before, step, stride; /* of x */
} eg__padded;
typedef struct eg__padding {
    char *y;
    const char *x;
    int64_t n;
    uint64_t value; /* repeated to 8 bytes */
    int ndim, unit, mode;
    eg__padded axis[EG_MAX_DIMS];
} eg__padding;
cudaError_t eg__launch_pad(const eg__padding *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
