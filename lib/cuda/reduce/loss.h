/* loss.h - between the kernels of cross entropy and their host side. Plain C and CUDA. */
#ifndef EGRET_CUDA_LOSS_H
#define EGRET_CUDA_LOSS_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/axes.h"
#include "lib/cuda/common/elements.h"
#include "lib/cuda/runtime/fault.h"

/* Lines: rows of logits, and of their gradient; results, weight and dy are f64 beside f64, else f32. */
typedef struct eg__labelled {
    eg__lines l;
    const int64_t *labels;
    const char *weight; /* NULL: 1 */
    const char *dy;     /* of the gradient */
    char *loss, *rows;  /* rows: the largest logit, 1 / sum e^(x - largest), the label's weight */
    double smoothing;
    int ignore;
    int64_t ignore_index;
    eg__fault *fault; /* for labels out of range */
    int op;
} eg__labelled;

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t eg__launch_cross_entropy(const eg__labelled *k, cudaStream_t s);
cudaError_t eg__launch_cross_entropy_grad(const eg__labelled *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
