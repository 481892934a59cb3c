/* sample.h - the kernels that read images at points, and add to them what was read. Plain C and CUDA. */
#ifndef EGRET_CUDA_SAMPLE_H
#define EGRET_CUDA_SAMPLE_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/divide.h"
#include "lib/ops/sample.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Strides are in elements: of images and pictures n, c, h, w, of points b, row, col. */
typedef struct eg__sampling {
    eg__sample_opts o;
    char *images, *pictures;
    const char *point[2]; /* x, y */
    char *moved[2];       /* their gradients, dense */
    const int64_t *image; /* of picture b at b * image_stride; NULL: b */
    int64_t image_stride, istride[4], ystride[4], pstride[2][3];
    int64_t channels, h, w, pixels; /* pixels: of all pictures */
    eg__divisor rows, cols;         /* of a picture */
    int64_t groups;                 /* of four channels */
    eg__divisor threads;            /* that share them, of a pixel, or of a place of the images */
    int last;                       /* channels lie side by side */
    int wide;                       /* and groups of four f32 are aligned */
    int f64;
} eg__sampling;

cudaError_t eg__launch_sample(const eg__sampling *k, cudaStream_t s);
cudaError_t eg__launch_sample_points(const eg__sampling *k, cudaStream_t s);

/* The adjoint has an entry for each pixel that a point reads, in the order of pictures: key is the place in all
 * images, or `places` for no weight, value the entry's number. Sorted by key, entries order[begin[p]..end[p]) add
 * up to place p, one after the other: the same bits every time. */
typedef struct eg__adding {
    eg__sampling k;
    unsigned *key;
    int *value;
    void *weight;
    const int *order;
    const unsigned *begin, *end;
    int64_t places;
    eg__divisor plane, width; /* pixels of an image, of a row of it */
    eg__divisor each;         /* entries of a pixel of a picture */
} eg__adding;
/* Pixels that a point reads. */
static inline int eg__sample_taps(int mode)
{
    return mode == 0 ? 4 : mode == 1 ? 1 : 16;
}

cudaError_t eg__launch_sample_entries(const eg__adding *k, cudaStream_t s);
cudaError_t eg__launch_sample_add(const eg__adding *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
