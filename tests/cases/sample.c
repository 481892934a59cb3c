/* sample.c - images read at points: every mode and border, in and outside of the image, channels innermost and in
 * planes, boxes on shared images, regions of several points per cell. */
#include <egret/ops/sample.h>

#include "tests/cases.h"

/* A case in its user pointer. */
#define AS(mode, border, corners) \
    (void *)(uintptr_t)((unsigned)(mode) | (unsigned)(border) << 2 | (unsigned)(corners) << 4)

static eg_tensor *grid(eg_tensor *const *x, int n, void *user)
{
    unsigned is = (unsigned)(uintptr_t)user;
    (void)n;
    return eg_grid_sample(x[0], x[1], .mode = (eg_sample_mode)(is & 3), .border = (eg_sample_border)(is >> 2 & 3),
                          .align_corners = is >> 4 & 1);
}

CASE_FUNCTION(affine, eg_affine_grid(x[0], 3, 4, false))
CASE_FUNCTION(affine_corners, eg_affine_grid(x[0], 1, 5, true))
CASE_FUNCTION(warp, eg_grid_sample(x[0], eg_affine_grid(x[1], 4, 3, false)))
CASE_FUNCTION(crop, eg_crop_and_resize(x[0], x[1], x[2], 3, 5, .extrapolation = 0.5))
CASE_FUNCTION(crop_middle, eg_crop_and_resize(x[0], x[1], x[2], 1, 1))
CASE_FUNCTION(crop_nearest, eg_crop_and_resize(x[0], x[1], x[2], 4, 3, .mode = EG_SAMPLE_NEAREST))
CASE_FUNCTION(crop_nothing, eg_crop_and_resize(x[0], x[1], x[2], 2, 2))
CASE_FUNCTION(roi, eg_roi_align(x[0], x[1], x[2], 2, 3, .sampling_ratio = 2))
CASE_FUNCTION(roi_aligned,
              eg_roi_align(x[0], x[1], x[2], 2, 2, .spatial_scale = 0.5, .sampling_ratio = 3, .aligned = true))
CASE_FUNCTION(roi_each, eg_roi_align(x[0], x[1], x[2], 2, 3))
CASE_FUNCTION(roi_each_aligned, eg_roi_align(x[0], x[1], x[2], 3, 2, .spatial_scale = 1.5, .aligned = true))

#define IN(...)                     \
    {                               \
        DIMS(__VA_ARGS__), -1, 1, 0 \
    }
#define GRID(...)                       \
    {                                   \
        DIMS(__VA_ARGS__), -1.4, 1.4, 0 \
    }
#define BOXES(...)                      \
    {                                   \
        DIMS(__VA_ARGS__), -0.1, 1.2, 0 \
    }
#define ROIS(...)                            \
    {                                        \
        DIMS(__VA_ARGS__), -2, 9, 1 + EG_F64 \
    }
#define OF(n, b)                  \
    {                             \
        DIMS(b), 0, n, 1 + EG_I64 \
    }
#define OF32(n, b)                \
    {                             \
        DIMS(b), 0, n, 1 + EG_I32 \
    }

/* A case of any of them, and one of grids; points have no second order, and rounding boxes to halves moves them too
 * far, as it does what nearest picks. */
#define READ  "grid_sample grid_sample_grad"
#define MOVED "grid_sample grid_sample_grad grid_sample_points"
#define CASE(ops, name, f, ...)                      \
    {                                                \
        ops, name, f, __VA_ARGS__, .tolerance = 1e-4 \
    }
#define ROWS(name, as, ...) CASE(MOVED, name, grid, {__VA_ARGS__}, .flags = EGT_NO_SECOND, .user = as)
#define NEAREST(name, as, ...) \
    CASE(READ, name, grid, {__VA_ARGS__}, .flags = EGT_NO_HALF | EGT_NO_SECOND, .skip = 2, .user = as)
#define BOX(ops, f, ...)  CASE(ops, #f, f, __VA_ARGS__, .flags = EGT_NO_HALF | EGT_NO_SECOND)
#define ROI(f, name, ...) CASE(READ, name, f, __VA_ARGS__)
#define LINEAR            EG_SAMPLE_BILINEAR
#define CUBIC             EG_SAMPLE_BICUBIC
#define ZEROS             EG_SAMPLE_ZEROS
#define EDGE              EG_SAMPLE_EDGE
#define MIRROR            EG_SAMPLE_REFLECT

EGT_CASES(sample, ROWS("zeros", AS(LINEAR, ZEROS, 0), IN(2, 3, 4, 5), GRID(2, 3, 4, 2)),
          ROWS("zeros corners", AS(LINEAR, ZEROS, 1), IN(2, 3, 4, 5), GRID(2, 3, 4, 2)),
          ROWS("edge", AS(LINEAR, EDGE, 0), IN(2, 3, 4, 5), GRID(2, 3, 4, 2)),
          ROWS("edge corners", AS(LINEAR, EDGE, 1), IN(2, 3, 4, 5), GRID(2, 3, 4, 2)),
          ROWS("reflect", AS(LINEAR, MIRROR, 0), IN(2, 3, 4, 5), GRID(2, 3, 4, 2)),
          ROWS("reflect corners", AS(LINEAR, MIRROR, 1), IN(2, 3, 4, 5), GRID(2, 3, 4, 2)),
          ROWS("reflect one pixel", AS(LINEAR, MIRROR, 1), IN(1, 2, 1, 3), GRID(1, 3, 2, 2)),
          ROWS("one channel", AS(LINEAR, ZEROS, 0), IN(2, 1, 3, 4), GRID(2, 2, 3, 2)),
          ROWS("wide channels", AS(LINEAR, ZEROS, 0), IN(1, 35, 3, 4), GRID(1, 3, 3, 2)),
          ROWS("four channels", AS(LINEAR, ZEROS, 0), IN(2, 4, 3, 4), GRID(2, 3, 3, 2)),
          ROWS("eight channels, cubic", AS(CUBIC, EDGE, 0), IN(1, 8, 3, 4), GRID(1, 2, 3, 2)),
          ROWS("cubic zeros", AS(CUBIC, ZEROS, 0), IN(2, 3, 4, 5), GRID(2, 3, 4, 2)),
          ROWS("cubic edge", AS(CUBIC, EDGE, 1), IN(2, 3, 4, 5), GRID(2, 3, 4, 2)),
          ROWS("cubic reflect", AS(CUBIC, MIRROR, 0), IN(2, 3, 4, 5), GRID(2, 3, 4, 2)),
          ROWS("cubic wide channels", AS(CUBIC, ZEROS, 0), IN(1, 19, 3, 4), GRID(1, 2, 3, 2)),
          NEAREST("nearest zeros", AS(EG_SAMPLE_NEAREST, ZEROS, 0), IN(2, 3, 4, 5), GRID(2, 3, 4, 2)),
          NEAREST("nearest edge", AS(EG_SAMPLE_NEAREST, EDGE, 1), IN(2, 3, 4, 5), GRID(2, 3, 4, 2)),
          NEAREST("nearest reflect", AS(EG_SAMPLE_NEAREST, MIRROR, 0), IN(2, 3, 4, 5), GRID(2, 3, 4, 2)),
          ROWS("no images", AS(LINEAR, ZEROS, 0), IN(0, 3, 4, 5), GRID(0, 3, 4, 2)),
          ROWS("no channels", AS(LINEAR, ZEROS, 0), IN(2, 0, 4, 5), GRID(2, 3, 4, 2)),
          ROWS("no points", AS(LINEAR, ZEROS, 0), IN(2, 3, 4, 5), GRID(2, 0, 4, 2)),
          ROWS("shared by threads", AS(LINEAR, ZEROS, 0), IN(1, 37, 13, 11), GRID(1, 17, 19, 2)),
          CASE(READ, "second order of images", grid, {IN(2, 3, 4, 5), GRID(2, 3, 4, 2)}, .skip = 2,
               .user = AS(LINEAR, EDGE, 0)),
          CASE(MOVED, "affine", warp, {IN(2, 2, 4, 5), IN(2, 2, 3)}, .flags = EGT_NO_SECOND | EGT_NO_HALF),
          CASE("add", "affine grid", affine, {IN(2, 2, 3)}),
          CASE("add", "affine grid corners", affine_corners, {IN(2, 2, 3)}),
          BOX(MOVED, crop, {IN(2, 3, 4, 5), BOXES(4, 4), OF(2, 4)}),
          BOX(MOVED, crop_middle, {IN(3, 2, 4, 5), BOXES(4, 4), OF32(3, 4)}),
          BOX(READ, crop_nearest, {IN(3, 2, 4, 5), BOXES(4, 4), OF(3, 4)}, .skip = 2),
          BOX(READ, crop_nothing, {IN(3, 2, 4, 5), BOXES(0, 4), OF(3, 0)}),
          ROI(roi, "roi", {IN(2, 3, 7, 6), ROIS(4, 4), OF(2, 4)}),
          ROI(roi_aligned, "roi aligned", {IN(2, 3, 5, 6), ROIS(4, 4), OF(2, 4)}),
          ROI(roi_aligned, "roi of four channels", {IN(2, 4, 5, 6), ROIS(4, 4), OF(2, 4)}),
          ROI(roi_each, "roi each", {IN(2, 3, 7, 6), ROIS(4, 4), OF(2, 4)}),
          ROI(roi_each_aligned, "roi each aligned", {IN(2, 17, 5, 6), ROIS(4, 4), OF32(2, 4)}))
