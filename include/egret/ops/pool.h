/* pool.h - the largest or the mean of windows that slide over one, two or three axes.
 *
 * x is [N, C, spatial...], y [N, C, out...] in the same layout: channels-last images are read and
 * written as they lie; both may lack N. f16 and bf16 are computed in f32; the largest of integers and
 * bools is one of them, their mean is f32, as eg_mean's. An axis has
 *
 *   out = (in + before + after - k') / stride + 1,   k' = (k - 1) * dilation + 1
 *
 * windows, rounded down, or up in ceil mode without windows that would begin behind the padding in
 * front and the cells; ceil(in / stride) for EG_SAME (padding.h). An empty axis stays empty. */
#ifndef EGRET_OPS_POOL_H
#define EGRET_OPS_POOL_H

#include <egret/ops/padding.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* A number for all axes or, where an entry of the array is not 0, one per axis. EG_EINVAL: no
 * kernel, a negative number other than EG_SAME, or an entry for an axis that is not there.
 * EG_ESHAPE: a kernel larger than the padded axis, or a window of nothing but padding. */
typedef struct eg_pool_options {
    size_t size;
    int64_t kernel;
    int64_t stride;   /* 0: as the kernel */
    int64_t dilation; /* max only; 0: 1 */
    int64_t padding;  /* cells on both sides of every axis, below k', or EG_SAME */
    int64_t kernels[3], strides[3], dilations[3];
    int64_t pads[3][2]; /* cells before and after each axis, instead of padding */
    bool ceil_mode;
    bool exclude_pad;    /* mean only: divide by the cells that are there; always so for EG_SAME */
    eg_tensor **indices; /* max only: receives where each maximum is, i64, in its plane row-major */
} eg_pool_options;
#define EG_POOL_(function, x, ...) function(x, EG_OPTIONS_(eg_pool_options, __VA_ARGS__))
#define EG_POOL(function, ...)     EG_POOL_(function, __VA_ARGS__, )

/* The largest of each window, the first of equals; NaN where one is. Padding never wins.
 * grad: dy to where the maximum was
 * saves one byte per result, four for windows of more than 256 cells */
EG_API eg_tensor *eg_max_pool1d_with(eg_tensor *x, const eg_pool_options *options);
EG_API eg_tensor *eg_max_pool2d_with(eg_tensor *x, const eg_pool_options *options);
EG_API eg_tensor *eg_max_pool3d_with(eg_tensor *x, const eg_pool_options *options);
#define eg_max_pool1d(...) EG_POOL(eg_max_pool1d_with, __VA_ARGS__)
#define eg_max_pool2d(...) EG_POOL(eg_max_pool2d_with, __VA_ARGS__)
#define eg_max_pool3d(...) EG_POOL(eg_max_pool3d_with, __VA_ARGS__)

/* The mean of each window, padding counted as zeros unless excluded (what lies behind the padding,
 * in ceil mode, is never counted).
 * grad: dy spread evenly    saves nothing */
EG_API eg_tensor *eg_avg_pool1d_with(eg_tensor *x, const eg_pool_options *options);
EG_API eg_tensor *eg_avg_pool2d_with(eg_tensor *x, const eg_pool_options *options);
EG_API eg_tensor *eg_avg_pool3d_with(eg_tensor *x, const eg_pool_options *options);
#define eg_avg_pool1d(...) EG_POOL(eg_avg_pool1d_with, __VA_ARGS__)
#define eg_avg_pool2d(...) EG_POOL(eg_avg_pool2d_with, __VA_ARGS__)
#define eg_avg_pool3d(...) EG_POOL(eg_avg_pool3d_with, __VA_ARGS__)

/* Windows that divide each axis into the sizes of `out` (one per spatial axis): window i is the
 * cells from i * in / out rounded down to (i + 1) * in / out rounded up. A 1 is the whole axis.
 * EG_ESHAPE unless there is one positive size per axis. */
EG_API eg_tensor *eg_adaptive_max_pool(eg_tensor *x, eg_shape out);
EG_API eg_tensor *eg_adaptive_avg_pool(eg_tensor *x, eg_shape out);

/* Zeros of the given spatial sizes with x [N, C, ...] or [C, ...], numbers, where indices of its shape point:
 * what eg_max_pool's maxima were taken from. Of several for one place, as windows that overlap have them,
 * the last in row-major order stays. EG_EINDEX for an index outside its plane.
 * grad: dy at the indices, 0 for what did not stay    saves indices */
EG_API eg_tensor *eg_max_unpool(eg_tensor *x, eg_tensor *indices, eg_shape spatial);

EG_END_DECLS

#endif
