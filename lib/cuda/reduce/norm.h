/* norm.h - between the kernels of normalisation and their host side. Plain C and CUDA. */
#ifndef EGRET_CUDA_NORM_H
#define EGRET_CUDA_NORM_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/axes.h"
#include "lib/cuda/common/divide.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One number per channel, `step` elements apart; p NULL: there is none. */
typedef struct eg__per_channel {
    const char *p;
    int64_t step;
} eg__per_channel;

/* Statistics that follow those of batches: s becomes s + (batch factor - s) momentum. */
typedef struct eg__running {
    char *p; /* NULL: there are none */
    int64_t step;
    int dtype;
    double momentum, factor;
} eg__running;

/* Images as they lie, [images, rows, channels, run], side by side: run is 1 where channels are innermost, rows
 * where they are not. Each group of channels of each image has its own statistics; of a batch that is one image
 * with a group for every channel. */
typedef struct eg__normed {
    const char *x, *dy;
    char *y;   /* or dx */
    int dtype; /* of these; the others are f64 beside f64, else f32 */
    int64_t n;
    int64_t images, groups;
    eg__divisor rows, channels, run;
    eg__per_channel weight, bias;
    char *mean, *var; /* [images, groups] */
    char *dweight, *dbias;
    eg__running running[2];
    double eps;
    int relu;
    int whole; /* fours of elements are aligned */
    /* How the elements of a channel are shared out: `splits` parts to an image, `lanes` threads to a part. */
    unsigned splits, lanes;
    int64_t part;
    char *states, *cells; /* [images, splits, channels]; [images, channels] */
} eg__normed;

enum { EG__NORM_STATE = 24, EG__NORM_CELL = 40 }; /* bytes, at most */

/* Mean and variance of each group, and running ones; then y. */
cudaError_t eg__launch_normalise(const eg__normed *k, cudaStream_t s);
/* dx, dweight and dbias. */
cudaError_t eg__launch_normalise_grad(const eg__normed *k, cudaStream_t s);
/* y = x weight + bias. */
cudaError_t eg__launch_scale(const eg__normed *k, cudaStream_t s);

/* Lines normalised each for itself; weight and bias have its length. l: x, y; or dy, x, dx. */
typedef struct eg__row_norm {
    eg__lines l;
    const char *weight, *bias;
    char *mean, *var;
    double eps;
    int root; /* the mean is taken as 0 */
} eg__row_norm;

cudaError_t eg__launch_row_norm(const eg__row_norm *k, cudaStream_t s);
/* dx alone. */
cudaError_t eg__launch_row_norm_grad(const eg__row_norm *k, cudaStream_t s);
/* dweight and dbias of lines, as one image whose channels are their elements and with statistics for each row. */
cudaError_t eg__launch_row_norm_sums(const eg__normed *k, int root, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
