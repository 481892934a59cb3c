/* softmax.h - between the kernels of softmax and their host side. Plain C and CUDA. */
#ifndef EGRET_CUDA_SOFTMAX_H
#define EGRET_CUDA_SOFTMAX_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/axes.h"
#include "lib/cuda/common/elements.h"

/* Lines up to that long are held in registers by a block at most. */
enum { EG__SOFTMAX_HELD = 4096 };

#ifdef __cplusplus
extern "C" {
#endif

/* Of x into y; of y and dy into dx. */
cudaError_t eg__launch_softmax(const eg__lines *l, int logarithm, cudaStream_t s);
cudaError_t eg__launch_softmax_grad(const eg__lines *l, int logarithm, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
