/* conv.h - between the kernels of convolutions and their host side. Plain C and CUDA. */
#ifndef EGRET_CUDA_CONV_H
#define EGRET_CUDA_CONV_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/positions.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Cells of an axis are counted in 32 bits. Strides, in elements: batch, channels, three axes. */
typedef struct eg__convolved {
    const char *x, *w, *y, *bias; /* one of x, w, y is the result; bias may be NULL */
    int64_t bias_step;
    int dtype;
    int64_t n, each, outs; /* batch; channels of x and of y in a group */
    int in[3], out[3], k[3], stride[3], dilation[3], before[3];
    int64_t sx[5], sw[5], sy[5];
    eg__positions positions; /* of x or y, the result; of y for w */
    int64_t weights;         /* elements of w */
    eg__divisor whole[4];    /* w: each, and its three axes */
} eg__convolved;

/* Any convolution and its gradients, element by element. */
cudaError_t eg__launch_conv(const eg__convolved *k, cudaStream_t s);
cudaError_t eg__launch_conv_data(const eg__convolved *k, cudaStream_t s);
cudaError_t eg__launch_conv_weight(const eg__convolved *k, cudaStream_t s);

/* Those where every channel of x is a group: x and y are channels-last without gaps, w is dense.
 * `lanes` threads of a block of 256 are at neighbouring channels, of which each has `group`. */
enum { EG__DEPTHWISE_AT_ONCE = 4, EG__DEPTHWISE_SHARED = 48 << 10 };
typedef struct eg__depthwise {
    eg__convolved c;
    int64_t channels;  /* of the result; of y for w */
    int64_t positions; /* places of all images of the result; of y for w */
    int group, lanes;  /* 8 or 1; a power of 2 */
    int shared;        /* bytes: the weights of a block's channels */
    int kernel;        /* 3, 5 or 7, by runs: taps along the last axis, where steps are 1; 0: any */
    int64_t all_runs;  /* by runs: of EG__DEPTHWISE_AT_ONCE positions of a line, the last may be less */
    eg__divisor runs;  /* of a line */
    unsigned splits;   /* w: the parts positions or runs are in, of `part` each */
    int64_t part;
    char *sums; /* w: [splits, taps, channels], f32 or f64 */
} eg__depthwise;

cudaError_t eg__launch_depthwise(const eg__depthwise *k, cudaStream_t s);
cudaError_t eg__launch_depthwise_data(const eg__depthwise *k, cudaStream_t s);
cudaError_t eg__launch_depthwise_weight(const eg__depthwise *k, cudaStream_t s);
/* The same by runs. */
cudaError_t eg__launch_runs(const eg__depthwise *k, cudaStream_t s);
cudaError_t eg__launch_runs_data(const eg__depthwise *k, cudaStream_t s);
cudaError_t eg__launch_runs_weight(const eg__depthwise *k, cudaStream_t s);
/* w from the sums of all parts, the end of both ways. */
cudaError_t eg__launch_depthwise_join(const eg__depthwise *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
