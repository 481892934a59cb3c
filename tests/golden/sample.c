/* sample.c - what the golden cases of reading images at points stand for. */
#include <egret/ops/sample.h>

#include "tests/golden/golden.h"

static eg_tensor *grid_sample(const golden_case *c)
{
    eg_grid_sample_options o = {.size = sizeof o};
    o.mode = golden_is(c, "mode", "nearest")   ? EG_SAMPLE_NEAREST
             : golden_is(c, "mode", "bicubic") ? EG_SAMPLE_BICUBIC
                                               : EG_SAMPLE_BILINEAR;
    o.border = golden_is(c, "border", "border")       ? EG_SAMPLE_EDGE
               : golden_is(c, "border", "reflection") ? EG_SAMPLE_REFLECT
                                                      : EG_SAMPLE_ZEROS;
    o.align_corners = golden_number(c, "align_corners", 0) != 0;
    return eg_grid_sample_with(c->x[0], c->x[1], &o);
}

static eg_tensor *affine_grid(const golden_case *c)
{
    eg_shape size = golden_shape(c, "size");
    return eg_affine_grid(c->x[0], size.dim[0], size.dim[1], golden_number(c, "align_corners", 0) != 0);
}

static eg_tensor *crop_and_resize(const golden_case *c)
{
    eg_shape size = golden_shape(c, "size");
    return eg_crop_and_resize(c->x[0], c->x[1], c->x[2], size.dim[0], size.dim[1],
                              .extrapolation = golden_number(c, "extrapolation", 0));
}

static eg_tensor *roi_align(const golden_case *c)
{
    eg_shape size = golden_shape(c, "size");
    return eg_roi_align(c->x[0], c->x[1], c->x[2], size.dim[0], size.dim[1],
                        .spatial_scale = golden_number(c, "scale", 1),
                        .sampling_ratio = (int64_t)golden_number(c, "sampling_ratio", 0),
                        .aligned = golden_number(c, "aligned", 0) != 0);
}

GOLDEN_ROWS(sample, {.op = "grid_sample", .one = grid_sample}, {.op = "affine_grid", .one = affine_grid},
            {.op = "crop_and_resize", .one = crop_and_resize}, {.op = "roi_align", .one = roi_align})
