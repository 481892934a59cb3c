/* sample.h - images read at any places: along a grid of points, in boxes, in regions of interest.
 *
 * A place is a pair x, y in pixels: x goes along rows, pixel j of a row is at j, and between pixels
 * the value is interpolated. A place with a NaN in it, or that an infinity makes one, lies nowhere:
 * it has the value 0 (of eg_crop_and_resize: extrapolation) and passes no gradient. Pixels of
 * weight 0 do not count, not even infinite ones. Images are [N, C, H, W] of a float dtype with
 * planes of 1 to 2^31 - 1 pixels (EG_ESHAPE); the result has their dtype, lies channels-last if
 * they do, and places are computed in f64 for f64 images, else in f32. All sums have one order: the
 * same bits on every run. */
#ifndef EGRET_OPS_SAMPLE_H
#define EGRET_OPS_SAMPLE_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef enum eg_sample_mode {
    EG_SAMPLE_BILINEAR,
    EG_SAMPLE_NEAREST, /* halves to the even pixel; of eg_crop_and_resize away from 0 */
    EG_SAMPLE_BICUBIC, /* Keys 1981 with a = -0.75; 16 pixels */
} eg_sample_mode;

/* What lies outside of an image. */
typedef enum eg_sample_border {
    EG_SAMPLE_ZEROS,
    EG_SAMPLE_EDGE,    /* the nearest pixel of the border */
    EG_SAMPLE_REFLECT, /* the image mirrored: at the outer edge of the border, align_corners: at its
                          centres */
} eg_sample_border;

typedef struct eg_grid_sample_options {
    size_t size;
    eg_sample_mode mode;
    eg_sample_border border;
    bool align_corners; /* -1 and 1 are the centres of the border pixels, not their outer edges */
} eg_grid_sample_options;

/* x [N, C, H, W] at the points of grid [N, Ho, Wo, 2], whose last axis holds x and y from -1, the
 * left or upper border, to 1: y [N, C, Ho, Wo]. PyTorch's grid_sample. grad: both, of nearest 0 to
 * the grid; where a coordinate is on or past the border that holds it (EDGE, REFLECT) the grid gets
 * 0. Saves the grid, and x if the grid asks. Second order: through x; a gradient of the grid's
 * gradient is refused (EG_EINVAL). */
EG_API eg_tensor *eg_grid_sample_with(eg_tensor *x, eg_tensor *grid, const eg_grid_sample_options *options);
#define eg_grid_sample(...)           EG_GRID_SAMPLE_(__VA_ARGS__, )
#define EG_GRID_SAMPLE_(x, grid, ...) eg_grid_sample_with(x, grid, EG_OPTIONS_(eg_grid_sample_options, __VA_ARGS__))

/* The grid [N, height, width, 2] of theta [N, 2, 3]: point (x, y) of the output, each from -1 to 1,
 * is theta (x, y, 1) of the input (Jaderberg et al. 2015). A composition. EG_ESHAPE for another
 * shape of theta, a height or width below 1. */
EG_API eg_tensor *eg_affine_grid(eg_tensor *theta, int64_t height, int64_t width, bool align_corners);

typedef struct eg_crop_and_resize_options {
    size_t size;
    eg_sample_mode mode;  /* not bicubic */
    double extrapolation; /* the value of points outside the image */
} eg_crop_and_resize_options;

/* Boxes [B, 4] of x, each y1, x1, y2, x2 in parts of the image (0 the first pixel, 1 the last),
 * brought to one size: y [B, C, height, width], TensorFlow's crop_and_resize. Row i
 * reads (y1 + i (y2 - y1) / (height - 1)) (H - 1), a single row the middle; y1 > y2 flips.
 * box_image [B], i64, i32 or u8: the image of each box (EG_EINDEX; of tensors on a GPU said by the next
 * call that waits for it). No image is copied. grad: to x and, bilinear, to boxes; saves and second
 * order as eg_grid_sample. */
EG_API eg_tensor *eg_crop_and_resize_with(eg_tensor *x, eg_tensor *boxes, eg_tensor *box_image, int64_t height,
                                          int64_t width, const eg_crop_and_resize_options *options);
#define eg_crop_and_resize(...) EG_CROP_AND_RESIZE_(__VA_ARGS__, )
#define EG_CROP_AND_RESIZE_(x, boxes, box_image, height, width, ...) \
    eg_crop_and_resize_with(x, boxes, box_image, height, width, EG_OPTIONS_(eg_crop_and_resize_options, __VA_ARGS__))

typedef struct eg_roi_align_options {
    size_t size;
    double spatial_scale;   /* pixels of x per unit of the boxes; 0: 1 */
    int64_t sampling_ratio; /* points per cell and axis; 0: enough for one per pixel, which waits
                               for the device */
    bool aligned;           /* half a pixel further up and left, as pixels are areas */
} eg_roi_align_options;

/* Boxes [K, 4] of x, each x1, y1, x2, y2, as height x width cells, each the mean of bilinear points
 * spread over it (He et al. 2017, torchvision's roi_align): y [K, C, height, width]. box_image as
 * above. Points up to one pixel outside read the border, others are 0. Unless aligned, boxes are at
 * least one pixel large. grad: to x alone. Without a sampling_ratio the largest box says how much
 * memory places take, numbers for K (rows + columns) of points; EG_EINVAL: it would take more than
 * 4096 points per cell and axis. */
EG_API eg_tensor *eg_roi_align_with(eg_tensor *x, eg_tensor *boxes, eg_tensor *box_image, int64_t height, int64_t width,
                                    const eg_roi_align_options *options);
#define eg_roi_align(...) EG_ROI_ALIGN_(__VA_ARGS__, )
#define EG_ROI_ALIGN_(x, boxes, box_image, height, width, ...) \
    eg_roi_align_with(x, boxes, box_image, height, width, EG_OPTIONS_(eg_roi_align_options, __VA_ARGS__))

EG_END_DECLS

#endif
