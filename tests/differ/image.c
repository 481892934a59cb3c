/* image.c - resizing, sampling at places, boxes. */
#include "tests/differ/differ.h"

OPTIONS(eg_resize_options,
        INT32(eg_resize_options, mode, EG_RESIZE_LINEAR, EG_RESIZE_NEAREST, EG_RESIZE_NEAREST_EXACT, EG_RESIZE_CUBIC,
              EG_RESIZE_AREA, EG_RESIZE_LANCZOS3),
        INT32(eg_resize_options, grid, EG_GRID_HALF_PIXEL, EG_GRID_HALF_PIXEL, EG_GRID_CORNERS, EG_GRID_ORIGIN),
        BOOL(eg_resize_options, antialias), DOUBLE(eg_resize_options, cubic, 0, EG_ZERO, -0.5, -0.75),
        DOUBLE(eg_resize_options, scale, 0))

static eg_shape image(draw *d, int naxes)
{
    eg_shape s = EG_SHAPE(chance(d, 2) ? 0 : pick(d, 1, 3), chance(d, 2)    ? 0
                                                            : chance(d, 75) ? pick(d, 1, 4)
                                                                            : PICK(d, int64_t, 8, 16, 19));
    for (int a = 0; a < naxes; a++) {
        s = shape_with(s, chance(d, 1) ? 0 : pick(d, 1, naxes == 3 ? 6 : 12));
    }
    return s;
}

static void draw_resize(draw *d)
{
    int naxes = (int)pick(d, 1, 3);
    eg_resize_options *o = DRAW_OPTIONS(d, eg_resize_options);
    bool nearest = o->mode == EG_RESIZE_NEAREST || o->mode == EG_RESIZE_NEAREST_EXACT;
    bool filters = o->mode == EG_RESIZE_LINEAR || o->mode == EG_RESIZE_CUBIC || o->mode == EG_RESIZE_LANCZOS3;
    operand(d, image(d, naxes), nearest ? draw_any(d) : draw_float(d));
    if (chance(d, 95)) { /* what does not go together is refused */
        o->antialias = o->antialias && filters && o->grid == EG_GRID_HALF_PIXEL;
        o->cubic = o->mode == EG_RESIZE_CUBIC ? o->cubic : 0;
        o->grid = o->mode == EG_RESIZE_AREA || o->mode == EG_RESIZE_NEAREST_EXACT || o->mode == EG_RESIZE_LANCZOS3
                      ? EG_GRID_HALF_PIXEL
                      : o->grid;
    }
    bool scaled = o->grid != EG_GRID_CORNERS && o->mode != EG_RESIZE_AREA && chance(d, 25);
    for (int a = 0; a < naxes; a++) {
        int64_t to = chance(d, 2) ? 0 : pick(d, 1, naxes == 3 ? 7 : 14);
        if (scaled) {
            o->scale[a] = PICK(d, double, 0.5, 0.75, 1.5, 2, 2.3);
            to = chance(d, 50) && (double)d->t[0].shape.dim[a + 2] * o->scale[a] >= 1 ? -1 : to;
        }
        d->s[0] = shape_with(d->s[0], to);
    }
    d->no_options = d->no_options && !scaled;
}
DIFFER(resize, draw_resize, 0, 8, eg_resize_with(T0, S0, O0))

/* ---- sampling --------------------------------------------------------------------------------- */

#define MODES   EG_SAMPLE_BILINEAR, EG_SAMPLE_NEAREST, EG_SAMPLE_BICUBIC
#define BORDERS EG_SAMPLE_ZEROS, EG_SAMPLE_EDGE, EG_SAMPLE_REFLECT
OPTIONS(eg_grid_sample_options, INT32(eg_grid_sample_options, mode, MODES),
        INT32(eg_grid_sample_options, border, BORDERS), BOOL(eg_grid_sample_options, align_corners))
OPTIONS(eg_crop_and_resize_options, INT32(eg_crop_and_resize_options, mode, EG_SAMPLE_BILINEAR, EG_SAMPLE_NEAREST),
        DOUBLE(eg_crop_and_resize_options, extrapolation, 0, 1, -3))
OPTIONS(eg_roi_align_options, DOUBLE(eg_roi_align_options, spatial_scale, 0, EG_ZERO, 0.5, 1),
        INT(eg_roi_align_options, sampling_ratio, 0, 1, 2, 3), BOOL(eg_roi_align_options, aligned))

static void draw_grid_sample(draw *d)
{
    eg_shape s = image(d, 2);
    eg_dtype t = draw_float(d);
    operand(d, s, t);
    ranged(d, EG_SHAPE(s.dim[0], draw_size(d, 9), draw_size(d, 9), 2), chance(d, 90) ? t : draw_float(d), -1.4, 1.4);
    DRAW_OPTIONS(d, eg_grid_sample_options);
}
DIFFER(grid_sample, draw_grid_sample, SAME_DTYPE | KINKS, 10, eg_grid_sample_with(T0, T1, O0))

static void draw_affine_grid(draw *d)
{
    operand(d, EG_SHAPE(draw_size(d, 4), 2, 3), draw_float(d));
    d->i[0] = pick(d, chance(d, 97), 6);
    d->i[1] = pick(d, 1, 6);
    d->i[2] = pick(d, 0, 1);
}
DIFFER(affine_grid, draw_affine_grid, 0, 4, eg_affine_grid(T0, I0, I1, I2))

/* x, boxes of it, the image of each. */
static void regions(draw *d, double low, double high)
{
    eg_shape s = image(d, 2);
    int64_t n = draw_size(d, 5);
    eg_dtype t = draw_float(d);
    operand(d, s, t);
    ranged(d, EG_SHAPE(n, 4), t, low, high);
    indices(d, EG_SHAPE(n), s.dim[0], false);
    d->i[0] = pick(d, chance(d, 98), 5);
    d->i[1] = pick(d, 1, 5);
}
static void draw_crop(draw *d)
{
    regions(d, -0.2, 1.2);
    DRAW_OPTIONS(d, eg_crop_and_resize_options);
}
static void draw_roi(draw *d)
{
    regions(d, -1, 12);
    DRAW_OPTIONS(d, eg_roi_align_options);
    d->t[1].fixed = true; /* no gradient to boxes */
}
DIFFER(crop_and_resize, draw_crop, SAME_DTYPE | KINKS, 10, eg_crop_and_resize_with(T0, T1, T2, I0, I1, O0))
DIFFER(roi_align, draw_roi, SAME_DTYPE | KINKS, 10, eg_roi_align_with(T0, T1, T2, I0, I1, O0))

/* ---- boxes ------------------------------------------------------------------------------------ */

OPTIONS(eg_nms_options, DOUBLE(eg_nms_options, iou_threshold, 0, EG_ZERO, 0.25, 0.5, 1),
        DOUBLE(eg_nms_options, score_threshold, 0, EG_ZERO, 0.3), INT(eg_nms_options, max_output, 0, EG_ZERO, 1, 5))
OPTIONS(eg_box_code_options, DOUBLE(eg_box_code_options, weights, 0),
        DOUBLE(eg_box_code_options, clip, 0, EG_ZERO, 1, INFINITY))
OPTIONS(eg_anchors_options, DOUBLE(eg_anchors_options, sizes, 0), DOUBLE(eg_anchors_options, ratios, 0),
        DOUBLE(eg_anchors_options, stride, 0, 1, 4), DOUBLE(eg_anchors_options, offset, 0, 0.5, 3),
        BOOL(eg_anchors_options, rounded))

static eg_shape boxes(draw *d)
{
    return shape_with(draw_shape(d, 0, 3), 4 + chance(d, 1));
}
static void draw_boxes(draw *d)
{
    ranged(d, boxes(d), draw_float(d), -2, 9);
    d->x[0] = PICK(d, double, 0, 3, 7.5);
    d->x[1] = PICK(d, double, 0, 4, 5.5);
}
DIFFER(box_area, draw_boxes, 0, 4, eg_box_area(T0))
DIFFER(box_clip, draw_boxes, 0, 1, eg_box_clip(T0, X0, X1))

/* x1, y1, x2, y2 all over: some are no boxes. */
static void pairs(draw *d)
{
    eg_dtype t = draw_float(d);
    ranged(d, EG_SHAPE(draw_size(d, 9), 4), t, -3, 6);
    ranged(d, EG_SHAPE(draw_size(d, 9), 4), t, -3, 6);
}
DIFFER(box_iou, pairs, KINKS | SAME_DTYPE, 20, eg_box_iou(T0, T1))
DIFFER(box_giou, pairs, KINKS | SAME_DTYPE, 20, eg_box_giou(T0, T1))

static void draw_nms(draw *d)
{
    int64_t n = draw_size(d, 20);
    eg_dtype t = draw_float(d);
    ranged(d, EG_SHAPE(n, 4), t, 0, 6);
    ranged(d, EG_SHAPE(n), chance(d, 80) ? t : draw_float(d), 0, 1);
    indices(d, EG_SHAPE(n), 3, false);
    DRAW_OPTIONS(d, eg_nms_options);
}
static void draw_batched_nms(draw *d)
{
    draw_nms(d);
}
DIFFER(nms, draw_nms, SAME_DTYPE, 1, eg_nms_with(T0, T1, O0))
DIFFER(batched_nms, draw_batched_nms, SAME_DTYPE, 1, eg_batched_nms_with(T0, T1, T2, O0))

/* Anchors and what stands beside them: boxes of positive size, or codes. */
static void coded(draw *d, bool decodes)
{
    eg_shape s = boxes(d), other = s;
    eg_dtype t = draw_float(d);
    if (other.ndim > 1 && chance(d, 30)) {
        other.dim[0] = 1;
    }
    ranged(d, other, t, 0, 1);
    ranged(d, s, t, decodes ? -1 : 0, decodes ? 2 : 1);
    eg_box_code_options *o = DRAW_OPTIONS(d, eg_box_code_options);
    for (int i = 0; i < 4 && !d->no_options; i++) {
        o->weights[i] = chance(d, 50) && !i ? 0 : i && !o->weights[0] ? 0 : PICK(d, double, 1, 2, 10);
    }
    d->rough = true; /* sizes near 0 */
}
static void draw_encode(draw *d)
{
    coded(d, false);
}
static void draw_decode(draw *d)
{
    coded(d, true);
}
DIFFER(box_encode, draw_encode, SAME_DTYPE | KINKS, 20, eg_box_encode_with(T0, T1, O0))
DIFFER(box_decode, draw_decode, SAME_DTYPE | KINKS, 20, eg_box_decode_with(T0, T1, O0))

OPTIONS(eg_box_match_options, DOUBLE(eg_box_match_options, positive, 0, 0.25, 0.5, 1),
        DOUBLE(eg_box_match_options, negative, 0, EG_ZERO, 0.25, 0.6), BOOL(eg_box_match_options, best))
static void draw_match(draw *d)
{
    ranged(d, EG_SHAPE(draw_size(d, 12), draw_size(d, 6)), draw_float(d), 0, 1);
    DRAW_OPTIONS(d, eg_box_match_options);
}
DIFFER(box_match, draw_match, SAME_DTYPE | NO_GRAD, 1, eg_box_match_with(T0, O0))

static void draw_sample(draw *d)
{
    indices(d, EG_SHAPE(draw_size(d, 20)), 4, true);
    d->i[0] = pick(d, !chance(d, 2), 12);
    d->x[0] = PICK(d, double, 0, 0.25, 0.5, 1, 1.5);
}
DIFFER(box_sample, draw_sample, NO_GRAD, 1, eg_box_sample(T0, I0, X0))

static void draw_anchors(draw *d)
{
    d->i[0] = pick(d, chance(d, 97), 5);
    d->i[1] = pick(d, 1, 5);
    eg_anchors_options *o = DRAW_OPTIONS(d, eg_anchors_options);
    d->no_options = d->no_options && chance(d, 20);
    for (int i = 0, n = (int)pick(d, chance(d, 97), 3); i < n; i++) {
        o->sizes[i] = (double)pick(d, 1, 64);
    }
    for (int i = 0, n = (int)pick(d, 0, 3); i < n; i++) {
        o->ratios[i] = PICK(d, double, 0.5, 1, 2);
    }
}
DIFFER(anchors, draw_anchors, 0, 1, eg_anchors_with(I0, I1, O0))
