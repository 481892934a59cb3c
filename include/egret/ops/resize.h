/* resize.h - images, signals and volumes at another size. */
#ifndef EGRET_OPS_RESIZE_H
#define EGRET_OPS_RESIZE_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef enum eg_resize_mode {
    EG_RESIZE_LINEAR,        /* linear, bilinear, trilinear */
    EG_RESIZE_NEAREST,       /* floor(o in / out): PyTorch's nearest; with EG_GRID_CORNERS rounded */
    EG_RESIZE_NEAREST_EXACT, /* floor((o + 1/2) in / out): the centre's pixel */
    EG_RESIZE_CUBIC,         /* Keys 1981, 4 taps per axis */
    EG_RESIZE_AREA,          /* the mean of pixels floor(o in / out) to ceil((o + 1) in / out) */
    EG_RESIZE_LANCZOS3,      /* sinc(x) sinc(x / 3), 6 taps per axis, normalised */
} eg_resize_mode;

/* Where output pixel o lies in the input. */
typedef enum eg_resize_grid {
    EG_GRID_HALF_PIXEL, /* (o + 1/2) in / out - 1/2: pixels are areas; PyTorch, TensorFlow 2 */
    EG_GRID_CORNERS,    /* o (in - 1) / (out - 1): corner pixels stay; align_corners */
    EG_GRID_ORIGIN,     /* o in / out: TensorFlow 1 without align_corners */
} eg_resize_grid;

typedef struct eg_resize_options {
    size_t size;
    eg_resize_mode mode;
    eg_resize_grid grid;
    bool antialias;  /* linear, cubic, Lanczos: widen the filter by in / out where that is above 1 */
    double cubic;    /* the cubic's a; 0: -0.75, or -0.5 with antialias, as PyTorch; TensorFlow 2: -0.5 */
    double scale[3]; /* per axis, not 0: take 1 / scale for in / out on the grid, however sizes round */
} eg_resize_options;

/* x [N, C, spatial], or [C, spatial], with 1 to 3 spatial axes to the sizes of `size`, one per spatial axis; -1
 * stands for floor(in scale). Per axis y[o] = sum over taps of w x[i], taps past the border read
 * the border pixel (or, with antialias and Lanczos, are left out and the rest normalised).
 * Channels-last stays. All dtypes for the nearest modes, floats for the others. grad: the adjoint;
 * saves nothing. EG_ESHAPE for a rank that does not fit `size`, an empty spatial axis, sizes outside 1..2^31 -
 * 1; EG_EINVAL for options that do not go together. */
EG_API eg_tensor *eg_resize_with(eg_tensor *x, eg_shape size, const eg_resize_options *options);
#define eg_resize(...)            EG_RESIZE_(__VA_ARGS__, )
#define EG_RESIZE_(x, shape, ...) eg_resize_with(x, shape, EG_OPTIONS_(eg_resize_options, __VA_ARGS__))

EG_END_DECLS

#endif
