/* test_onnx_ops.c - operators of ONNX that are made of several ops: their gradients, and what they are equal to. */
#include "tests/onnx_models.h"

/* ---- Resize -------------------------------------------------------------------------------------------- */

static bytes resize_of(const char *mode, const char *grid)
{
    bytes a = {0};
    with_text(&a, "mode", mode);
    with_text(&a, "coordinate_transformation_mode", grid);
    return a;
}

EGT(resize_gradients)
{
    eg_tensor *in[] = {noise(EG_SHAPE(2, 5, 7)), F64(EG_SHAPE(6), 0, 0.1, -0.2, 1, 0.7, 0.9),
                       F32(EG_SHAPE(3), 1, 0.61, 1.7)};
    bytes a = resize_of("cubic", "half_pixel");
    with_int(&a, "exclude_outside", 1);
    check_gradients("Resize", 19, &a, in, 3, 1);
    a = resize_of("linear", "half_pixel");
    with_int(&a, "antialias", 1);
    check_gradients("Resize", 19, &a, in, 3, 1);
    check_gradients("Resize", 13, &(bytes){0}, in, 3, 1);
    a = resize_of("linear", "tf_crop_and_resize");
    with_float(&a, "extrapolation_value", 3);
    check_gradients("Resize", 19, &a, in, 3, 1);
}

/* The axes of images are one op, those of a tensor of 2 axes are not: the same comes out. */
EGT(resize_by_both_ways)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const grids[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                        "asymmetric"};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    eg_tensor *x = noise(EG_SHAPE(5, 6)), *image = eg_reshape(x, EG_SHAPE(1, 1, 5, 6));
    for (int i = 0; i < 3 * 5 * 4 * 3; i++) {
        bytes a = resize_of(modes[i % 3], grids[i / 3 % 5]);
        with_text(&a, "nearest_mode", roundings[i / 15 % 4]);
        const double scale[] = {1.5, 0.61, 2}, s = scale[i / 60];
        eg_tensor *flat = RUN("Resize", 19, &a, x, NULL, F32(EG_SHAPE(2), s, 2));
        eg_tensor *whole = RUN("Resize", 19, &a, image, NULL, F32(EG_SHAPE(4), 1, 1, s, 2));
        EGT_CHECK(flat && egt_distance(eg_reshape(whole, eg_shape_of(flat)), flat) < 1e-12);
    }
}

EGT(resize_of_old)
{
    eg_tensor *x = F32(EG_SHAPE(1, 1, 2, 4), 1, 2, 3, 4, 5, 6, 7, 8);
    eg_tensor *scales = F32(EG_SHAPE(4), 1, 1, 0.6, 0.6);
    EGT_EQ(egt_distance(RUN("Resize", 10, &none, x, scales), F32(EG_SHAPE(1, 1, 1, 2), 1, 3)), 0);
    bytes a = {0};
    with_text(&a, "mode", "linear");
    with_floats(&a, "scales", 4, (float[]){1, 1, 1, 2});
    eg_tensor *y = F32(EG_SHAPE(1, 1, 2, 8), 1, 1.5, 2, 2.5, 3, 3.5, 4, 4, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8);
    EGT_EQ(egt_distance(RUN("Upsample", 7, &a, x), y), 0);
    a = (bytes){0};
    with_text(&a, "mode", "bilinear");
    with_float(&a, "height_scale", 1);
    with_float(&a, "width_scale", 2);
    EGT_EQ(egt_distance(RUN("Upsample", 1, &a, x), y), 0);
}

EGT(resize_refusals)
{
    eg_tensor *x = noise(EG_SHAPE(2, 3));
    bytes a = resize_of("cubic", "sideways");
    EGT_REFUSED(RUN("Resize", 19, &a, x, NULL, F32(EG_SHAPE(2), 1, 1)), EG_EINVAL, "sideways");
    EGT_REFUSED(RUN("Resize", 19, &none, x, NULL, F32(EG_SHAPE(1), 1)), EG_EINVAL, "one for each axis");
    EGT_REFUSED(RUN("Resize", 19, &none, x, NULL, F32(EG_SHAPE(2), 1, -1)), EG_EINVAL, "-1");
    EGT_REFUSED(RUN("Resize", 19, &none, x, NULL, F32(EG_SHAPE(2), 1, NAN)), EG_EINVAL, "nan");
    EGT_REFUSED(RUN("Resize", 19, &none, x, NULL, F32(EG_SHAPE(2), 1, 1e30)), EG_ESHAPE, "2147483647");
    EGT_REFUSED(RUN("Resize", 19, &none, x, NULL, NULL, I64(EG_SHAPE(2), 1, -5)), EG_ESHAPE, "-5");
    EGT_REFUSED(RUN("Resize", 19, &none, x, NULL, NULL, I64(EG_SHAPE(2), 1, INT64_MAX)), EG_ESHAPE, "2147483647");
    a = resize_of("linear", "tf_crop_and_resize");
    EGT_REFUSED(RUN("Resize", 19, &a, x, NULL, F32(EG_SHAPE(2), 1, 2)), EG_EINVAL, "roi");
    a = resize_of("linear", "half_pixel");
    with_ints(&a, "axes", 1, (int64_t[]){2});
    EGT_REFUSED(RUN("Resize", 19, &a, x, NULL, F32(EG_SHAPE(1), 2)), EG_ESHAPE, "axis 2");
    /* A part of the input that is nowhere. */
    a = resize_of("cubic", "tf_crop_and_resize");
    eg_tensor *y = RUN("Resize", 19, &a, x, F64(EG_SHAPE(4), NAN, -1e300, INFINITY, 1e300), F32(EG_SHAPE(2), 2, 2));
    EGT_CHECK(eg_numel(y) == 24 && eg_get(y, 0) == 0);
}

/* ---- GridSample ------------------------------------------------------------------------------------------ */

static bytes sample_of(int mode, int border, int corners)
{
    static const char *const modes[] = {"linear", "nearest", "cubic"}, *const borders[] = {"zeros", "border",
                                                                                           "reflection"};
    bytes a = {0};
    with_text(&a, "mode", modes[mode]);
    with_text(&a, "padding_mode", borders[border]);
    with_int(&a, "align_corners", corners);
    return a;
}

EGT(grid_sample_gradients)
{
    eg_tensor *in[] = {noise(EG_SHAPE(2, 2, 4, 5)), egt_random(EG_SHAPE(2, 3, 2, 2), EG_F64, -0.9, 0.9)};
    eg_tensor *volume[] = {noise(EG_SHAPE(2, 2, 3, 4, 5)), egt_random(EG_SHAPE(2, 3, 1, 2, 3), EG_F64, -1.3, 1.3)};
    eg_tensor *line[] = {noise(EG_SHAPE(2, 2, 6)), egt_random(EG_SHAPE(2, 9, 1), EG_F64, -1.3, 1.3)};
    for (int i = 0; i < 18; i++) {
        bytes a = sample_of(i % 3, i / 3 % 3, i / 9);
        const unsigned which = i % 3 == 1 ? 1 : 3;
        check_gradients("GridSample", 20, &a, in, 2, which);
        check_gradients("GridSample", 20, &a, volume, 2, which);
        check_gradients("GridSample", 20, &a, line, 2, which);
    }
}

/* A volume of one plane, read in its middle, is an image. */
EGT(grid_sample_of_any_axes)
{
    eg_tensor *x = noise(EG_SHAPE(2, 3, 4, 5)), *grid = egt_random(EG_SHAPE(2, 6, 7, 2), EG_F64, -1.7, 1.7);
    eg_tensor *parts[] = {grid, eg_zeros(EG_SHAPE(2, 6, 7, 1), EG_F64)};
    eg_tensor *deep = eg_unsqueeze(eg_concat(parts, 2, -1), 1);
    for (int i = 0; i < 18; i++) {
        bytes a = sample_of(i % 3, i / 3 % 3, i / 9);
        eg_tensor *flat = RUN("GridSample", 20, &a, x, grid);
        eg_tensor *y = RUN("GridSample", 20, &a, eg_unsqueeze(x, 2), deep);
        EGT_CHECK(y && egt_distance(eg_squeeze(y, EG_AXES(2)), flat) < 1e-12);
    }
    EGT_REFUSED(RUN("GridSample", 20, &none, x, deep), EG_EINVAL, "grid");
}

/* ---- DeformConv -------------------------------------------------------------------------------------------- */

EGT(deform_conv_gradients)
{
    bytes a = {0};
    with_int(&a, "group", 2);
    with_int(&a, "offset_group", 2);
    with_ints(&a, "strides", 2, (int64_t[]){2, 1});
    with_ints(&a, "pads", 4, (int64_t[]){1, 0, 1, 2});
    with_ints(&a, "dilations", 2, (int64_t[]){1, 2});
    eg_tensor *in[] = {noise(EG_SHAPE(2, 4, 5, 6)), noise(EG_SHAPE(6, 2, 3, 2)), noise(EG_SHAPE(2, 24, 3, 6)),
                       noise(EG_SHAPE(6)), noise(EG_SHAPE(2, 12, 3, 6))};
    check_gradients("DeformConv", 19, &a, in, 5, 31);
}

/* Without offsets it is a convolution, over any number of axes. */
EGT(deform_conv_of_no_offsets)
{
    eg_tensor *x = noise(EG_SHAPE(2, 3, 5, 6, 4)), *w = noise(EG_SHAPE(4, 3, 2, 3, 2)), *y;
    y = RUN("DeformConv", 19, &none, x, w, eg_zeros(EG_SHAPE(2, 36, 4, 4, 3), EG_F64));
    EGT_CHECK(y && egt_distance(y, eg_conv3d(x, w, NULL)) < 1e-12);
    x = eg_select(x, 4, 0), w = eg_select(w, 4, 0);
    y = RUN("DeformConv", 19, &none, x, w, eg_zeros(EG_SHAPE(2, 12, 4, 4), EG_F64));
    EGT_CHECK(y && egt_distance(y, eg_conv2d(x, w, NULL)) < 1e-12);
    x = eg_select(x, 3, 0), w = eg_select(w, 3, 0);
    y = RUN("DeformConv", 19, &none, x, w, eg_zeros(EG_SHAPE(2, 2, 4), EG_F64));
    EGT_CHECK(y && egt_distance(y, eg_conv1d(x, w, NULL)) < 1e-12);
    EGT_REFUSED(RUN("DeformConv", 19, &none, x, w, eg_zeros(EG_SHAPE(2, 2, 5), EG_F64)), EG_EINVAL, "size");
    EGT_REFUSED(RUN("DeformConv", 19, &none, x, w, eg_zeros(EG_SHAPE(2, 3, 4), EG_F64)), EG_ESHAPE, "");
}

/* ---- boxes ---------------------------------------------------------------------------------------------------- */

EGT(max_roi_pool)
{
    eg_tensor *in[] = {noise(EG_SHAPE(2, 2, 6, 8)),
                       F64(EG_SHAPE(3, 5), 1, 2, 4, 13, 11, 0, -3, -3, 5, 5, 0, 14, 10, 14, 10)};
    bytes a = {0};
    with_ints(&a, "pooled_shape", 2, (int64_t[]){2, 3});
    with_float(&a, "spatial_scale", 0.5);
    eg_tensor *y = RUN("MaxRoiPool", 1, &a, in[0], in[1]);
    EGT_EQ(eg_numel(y), 3 * 2 * 2 * 3);
    /* Rows 2..6 and columns 1..7 of image 1: cells of 2.5 rows and 2 1/3 columns. */
    eg_tensor *cell = eg_index(in[0], "1, 1, 4:6, 5:8");
    EGT_EQ(eg_get(y, 6 + 5), eg_item(eg_max(cell)));
    /* A box of one pixel is that pixel in each cell. */
    EGT_EQ(eg_get(y, 2 * 12 + 3), eg_item(eg_index(in[0], "0, 0, 5, 7")));
    check_gradients("MaxRoiPool", 1, &a, in, 2, 1);
    in[1] = F64(EG_SHAPE(1, 5), 2, 0, 0, 1, 1);
    EGT_REFUSED(RUN("MaxRoiPool", 1, &a, in[0], in[1]), EG_EINDEX, "");
    in[1] = F64(EG_SHAPE(1, 5), 0, NAN, -1e300, INFINITY, 1e300);
    EGT_EQ(eg_numel(RUN("MaxRoiPool", 1, &a, in[0], in[1])), 12);
}

EGT(roi_align_of_maxima)
{
    eg_tensor *in[] = {noise(EG_SHAPE(2, 2, 6, 8)), F64(EG_SHAPE(2, 4), 1, 2, 6, 5, 0, 0, 9, 3),
                       I64(EG_SHAPE(2), 1, 0)};
    bytes a = {0};
    with_text(&a, "mode", "max");
    with_int(&a, "output_height", 2);
    with_int(&a, "output_width", 2);
    check_gradients("RoiAlign", 16, &a, in, 3, 1);
    in[1] = F64(EG_SHAPE(2, 4), 0, 0, 1e9, 1, 0, 0, 1, 1);
    EGT_REFUSED(RUN("RoiAlign", 16, &a, in[0], in[1], in[2]), EG_EINVAL, "4096");
    in[1] = F64(EG_SHAPE(2, 4), 0, 0, -4, 1, 0, 0, 1, NAN);
    EGT_EQ(eg_get(RUN("RoiAlign", 16, &a, in[0], in[1], in[2]), 0), 0);
}

EGT(nms_of_nothing)
{
    eg_tensor *boxes = F32(EG_SHAPE(1, 2, 4), 0, 0, 1, 1, 0, 0, 2, 2), *scores = F32(EG_SHAPE(1, 1, 2), 0.5, 0.4);
    EGT_EQ(eg_size(RUN("NonMaxSuppression", 11, &none, boxes, scores), 0), 0);
    EGT_EQ(eg_size(RUN("NonMaxSuppression", 11, &none, boxes, scores, I64(EG_SHAPE(1), INT64_MAX)), 0), 1);
    EGT_EQ(eg_size(RUN("NonMaxSuppression", 11, &none, boxes, scores, I64(EG_SHAPE(1), 3), F32(EG_SHAPE(1), 0.5)), 0),
           2);
    eg_tensor *no_boxes = eg_zeros(EG_SHAPE(1, 0, 4), EG_F32), *no_scores = eg_zeros(EG_SHAPE(1, 1 << 30, 0), EG_F32);
    EGT_EQ(eg_size(RUN("NonMaxSuppression", 11, &none, no_boxes, no_scores, I64(EG_SHAPE(1), 3)), 1), 3);
}

/* ---- images and signals ------------------------------------------------------------------------------------------ */

/* The last window has one cell, and nothing behind it. */
EGT(lp_pool_rounded_up)
{
    bytes pool = {0};
    with_ints(&pool, "kernel_shape", 1, (const int64_t[]){2});
    with_ints(&pool, "strides", 1, (const int64_t[]){2});
    with_int(&pool, "ceil_mode", 1);
    eg_tensor *x = eg_reshape(eg_arange(1, 6, 1, EG_F64), EG_SHAPE(1, 1, 5));
    eg_tensor *y = RUN("LpPool", 18, &pool, x);
    EGT_EQ(eg_numel(y), 3);
    EGT_NEAR(eg_get(y, 0), sqrt(5), 1e-12);
    EGT_NEAR(eg_get(y, 1), 5, 1e-12);
    EGT_NEAR(eg_get(y, 2), 5, 1e-12);
}

EGT(col2im_undoes_frames)
{
    eg_tensor *in[] = {noise(EG_SHAPE(2, 6, 4)), I64(EG_SHAPE(1), 6), I64(EG_SHAPE(1), 3)};
    eg_tensor *y = RUN("Col2Im", 18, &none, in[0], in[1], in[2]);
    EGT_CHECK(y && eg_size(y, 1) == 2 && eg_size(y, 2) == 6);
    EGT_NEAR(eg_get(y, 1), eg_get(in[0], 1) + eg_get(in[0], 4), 1e-12);
    check_gradients("Col2Im", 18, &none, in, 3, 1);
    in[1] = I64(EG_SHAPE(1), 7);
    EGT_REFUSED(RUN("Col2Im", 18, &none, in[0], in[1], in[2]), EG_EINVAL, "blocks");
    in[1] = I64(EG_SHAPE(1), INT64_MAX);
    EGT_REFUSED(RUN("Col2Im", 18, &none, in[0], in[1], in[2]), EG_EINVAL, "blocks");
}

EGT(transforms_and_back)
{
    eg_tensor *x = noise(EG_SHAPE(2, 9, 3, 1)), *n = I64(EG_SCALAR, 9), *axis = I64(EG_SCALAR, 1);
    bytes half = {0}, back = {0}, whole = {0};
    with_int(&half, "onesided", 1);
    with_int(&back, "onesided", 1);
    with_int(&back, "inverse", 1);
    with_int(&whole, "inverse", 1);
    eg_tensor *y = RUN("DFT", 20, &half, x, NULL, axis);
    EGT_EQ(eg_size(y, 1), 5);
    EGT_CHECK(egt_distance(RUN("DFT", 20, &back, y, n, axis), x) < 1e-12);
    y = RUN("DFT", 20, &whole, RUN("DFT", 20, &none, x, NULL, axis), NULL, axis);
    EGT_CHECK(egt_distance(eg_slice(y, -1, 0, 1, 1), x) < 1e-12);
    eg_tensor *in[] = {x, NULL, axis};
    check_gradients("DFT", 20, &half, in, 3, 1);
    EGT_REFUSED(RUN("DFT", 20, &none, x, NULL, I64(EG_SCALAR, 3)), EG_EINVAL, "last axis");
    EGT_REFUSED(RUN("DFT", 20, &none, x, I64(EG_SCALAR, -1)), EG_EINVAL, "dft_length");
}

EGT(affine_grids)
{
    eg_tensor *theta = noise(EG_SHAPE(2, 2, 3)), *size = I64(EG_SHAPE(4), 2, 1, 3, 5);
    bytes corners = {0};
    with_int(&corners, "align_corners", 1);
    EGT_CHECK(egt_distance(RUN("AffineGrid", 20, &none, theta, size), eg_affine_grid(theta, 3, 5, false)) < 1e-12);
    EGT_CHECK(egt_distance(RUN("AffineGrid", 20, &corners, theta, size), eg_affine_grid(theta, 3, 5, true)) < 1e-12);
    eg_tensor *deep = F64(EG_SHAPE(1, 3, 4), 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 4);
    eg_tensor *y = RUN("AffineGrid", 20, &corners, deep, I64(EG_SHAPE(5), 1, 1, 2, 2, 1));
    const double wanted[] = {0, -2, 1, 0, 2, 1, 0, -2, 7, 0, 2, 7};
    EGT_EQ(egt_distance(y, eg_from_values(EG_SHAPE(1, 2, 2, 1, 3), EG_F64, wanted)), 0);
    EGT_REFUSED(RUN("AffineGrid", 20, &none, theta, I64(EG_SHAPE(4), 2, 1, INT64_MAX, 5)), EG_EINVAL, "outside");
    EGT_REFUSED(RUN("AffineGrid", 20, &none, deep, size), EG_EINVAL, "theta");
}

EGT(cut_and_padded_around_the_centre)
{
    eg_tensor *x = F64(EG_SHAPE(2, 4), 1, 2, 3, 4, 5, 6, 7, 8);
    eg_tensor *y = RUN("CenterCropPad", 18, &none, x, I64(EG_SHAPE(2), 5, 1));
    EGT_EQ(egt_distance(y, F64(EG_SHAPE(5, 1), 0, 2, 6, 0, 0)), 0);
    EGT_REFUSED(RUN("CenterCropPad", 18, &none, x, I64(EG_SHAPE(2), -1, 1)), EG_EINVAL, "below 0");
    EGT_REFUSED(RUN("CenterCropPad", 18, &none, x, I64(EG_SHAPE(1), 1)), EG_EINVAL, "each axis");
}

EGT(stft_of_real_numbers)
{
    eg_tensor *x = noise(EG_SHAPE(2, 20)), *window = noise(EG_SHAPE(8));
    eg_tensor *y = RUN("STFT", 17, &none, eg_unsqueeze(x, 2), I64(EG_SCALAR, 3), window);
    EGT_CHECK(y && egt_distance(y, eg_stft(x, 8, .hop = 3, .window = window)) < 1e-12);
}

/* Of a signal of complex numbers each part is transformed. */
EGT(stft_of_complex_numbers)
{
    eg_tensor *x = noise(EG_SHAPE(2, 20, 2)), *window = noise(EG_SHAPE(8)), *hop = I64(EG_SCALAR, 3);
    bytes whole = {0};
    with_int(&whole, "onesided", 0);
    eg_tensor *y = RUN("STFT", 17, &whole, x, hop, window);
    eg_tensor *real = RUN("STFT", 17, &whole, eg_slice(x, -1, 0, 1, 1), hop, window);
    eg_tensor *other = RUN("STFT", 17, &whole, eg_slice(x, -1, 1, 2, 1), hop, window);
    eg_tensor *i = F64(EG_SHAPE(2), 0, 1);
    EGT_CHECK(y && egt_distance(eg_add(real, eg_complex_mul(other, i)), y) < 1e-12);
    eg_tensor *in[] = {x, hop, window};
    check_gradients("STFT", 17, &whole, in, 3, 5);
    EGT_REFUSED(RUN("STFT", 17, &whole, x, hop, window, I64(EG_SCALAR, 7)), EG_EINVAL, "window");
}

EGT(windows_and_filters)
{
    bytes symmetric = {0};
    with_int(&symmetric, "periodic", 0);
    EGT_EQ(eg_item(RUN("HannWindow", 17, &symmetric, I64(EG_SCALAR, 1))), 1);
    EGT_EQ(eg_numel(RUN("BlackmanWindow", 17, &none, I64(EG_SCALAR, 0))), 0);
    EGT_REFUSED(RUN("HammingWindow", 17, &none, I64(EG_SCALAR, -1)), EG_EINVAL, "below 0");
    eg_tensor *bins = I64(EG_SCALAR, 8), *length = I64(EG_SCALAR, 16), *rate = I64(EG_SCALAR, 8192);
    /* Edges above the highest frequency fall outside. */
    eg_tensor *y = RUN("MelWeightMatrix", 17, &none, bins, length, rate, F32(EG_SCALAR, 0), F32(EG_SCALAR, 1e9));
    EGT_CHECK(eg_size(y, 0) == 9 && eg_size(y, 1) == 8);
    y = RUN("MelWeightMatrix", 17, &none, bins, length, I64(EG_SCALAR, 0), F32(EG_SCALAR, 0), F32(EG_SCALAR, 99));
    EGT_EQ(eg_numel(y), 72);
    EGT_REFUSED(RUN("MelWeightMatrix", 17, &none, bins, length, rate, F32(EG_SCALAR, -800), F32(EG_SCALAR, 99)),
                EG_EINVAL, "edge");
}

/* ---- attention ------------------------------------------------------------------------------------------------------
 */

EGT(attention_gradients)
{
    bytes a = {0};
    with_int(&a, "is_causal", 1);
    with_float(&a, "softcap", 2);
    eg_tensor *in[] = {noise(EG_SHAPE(2, 4, 3, 5)), noise(EG_SHAPE(2, 2, 3, 5)), noise(EG_SHAPE(2, 2, 3, 6)), NULL,
                       noise(EG_SHAPE(2, 2, 4, 5)), noise(EG_SHAPE(2, 2, 4, 6))};
    check_gradients("Attention", 23, &a, in, 6, 1 | 2 | 4 | 16 | 32);
    in[3] = noise(EG_SHAPE(3, 7));
    check_gradients("Attention", 23, &a, in, 6, 1 | 2 | 4 | 8 | 16 | 32);
    /* Of fewer keys than queries the causal ones go by the first. */
    eg_tensor *y = RUN("Attention", 23, &a, in[0], eg_slice(in[1], 2, 0, 2, 1), eg_slice(in[2], 2, 0, 2, 1));
    EGT_NEAR(eg_get(y, 0), eg_get(in[2], 0), 1e-12);
    EGT_REFUSED(RUN("Attention", 23, &a, eg_select(in[0], 0, 0), in[1], in[2]), EG_EINVAL, "q_num_heads");
}

/* Queries of 4 heads, keys of 2, features side by side. */
EGT(attention_by_heads)
{
    bytes a = {0};
    with_int(&a, "q_num_heads", 4);
    with_int(&a, "kv_num_heads", 2);
    eg_tensor *q = noise(EG_SHAPE(2, 3, 20)), *k = noise(EG_SHAPE(2, 6, 10)), *mask = noise(EG_SHAPE(3, 5));
    eg_tensor *heads = eg_transpose(eg_reshape(q, EG_SHAPE(2, 3, 4, 5)), 1, 2);
    eg_tensor *keys = eg_repeat_interleave(eg_transpose(eg_reshape(k, EG_SHAPE(2, 6, 2, 5)), 1, 2), 2, 1);
    eg_tensor *all = eg_pad(mask, .after = {0, 1}, .value = -INFINITY); /* the last key is in no mask */
    eg_tensor *y = eg_flatten(eg_transpose(eg_attention(heads, keys, keys, .mask = all), 1, 2), 2, 3);
    EGT_CHECK(egt_distance(RUN("Attention", 23, &a, q, k, k, mask), y) < 1e-12);
}

/* Pairs side by side are complex numbers, turned by others. */
EGT(rotation_of_pairs)
{
    eg_tensor *x = noise(EG_SHAPE(2, 3, 4, 6)), *cos = noise(EG_SHAPE(2, 4, 3)), *sin = noise(EG_SHAPE(2, 4, 3));
    eg_tensor *parts[] = {cos, sin};
    bytes a = {0};
    with_int(&a, "interleaved", 1);
    eg_tensor *pairs = eg_reshape(x, EG_SHAPE(2, 3, 4, 3, 2));
    eg_tensor *y = eg_complex_mul(pairs, eg_unsqueeze(eg_stack(parts, 2, -1), 1));
    EGT_CHECK(egt_distance(RUN("RotaryEmbedding", 23, &a, x, cos, sin), eg_reshape(y, eg_shape_of(x))) < 1e-12);
    /* And in halves one behind the other. */
    x = eg_reshape(eg_transpose(pairs, 3, 4), eg_shape_of(x));
    y = eg_reshape(eg_transpose(y, 3, 4), eg_shape_of(x));
    EGT_CHECK(egt_distance(RUN("RotaryEmbedding", 23, &none, x, cos, sin), y) < 1e-12);
}

EGT(norm_and_rotation)
{
    eg_tensor *in[] = {noise(EG_SHAPE(2, 3, 4)), noise(EG_SHAPE(3, 1))}, *x = noise(EG_SHAPE(2, 3, 4, 6));
    bytes a = {0}, turned = {0};
    with_int(&a, "axis", 1);
    check_gradients("RMSNormalization", 23, &a, in, 2, 3);
    eg_tensor *y = eg_mul(eg_rms_norm(in[0], NULL, .axes = 2), in[1]);
    EGT_CHECK(egt_distance(RUN("RMSNormalization", 23, &a, in[0], in[1]), y) < 1e-12);
    with_int(&turned, "interleaved", 1);
    with_int(&turned, "rotary_embedding_dim", 4);
    eg_tensor *all[] = {x, noise(EG_SHAPE(9, 2)), noise(EG_SHAPE(9, 2)), I64(EG_SHAPE(2, 4), 0, 3, 4, 8, 1, 1, 2, 5)};
    check_gradients("RotaryEmbedding", 23, &turned, all, 4, 7);
    with_int(&turned, "num_heads", 0);
    EGT_REFUSED(RUN("RotaryEmbedding", 23, &turned, eg_select(x, 1, 0), all[1], all[2]), EG_EINVAL, "num_heads");
}

/* ---- memory
 * ------------------------------------------------------------------------------------------------------------ */

static bool run_once(void *user)
{
    const node *n = user;
    return run_node(n->op, n->version, n->attributes, n->in, n->nin) != NULL;
}

EGT(memory_that_is_not_there)
{
    bytes crop = resize_of("cubic", "tf_crop_and_resize"), cubic = sample_of(2, 2, 0), largest = {0}, causal = {0};
    with_text(&largest, "mode", "max");
    with_ints(&largest, "pooled_shape", 2, (int64_t[]){2, 2});
    with_int(&causal, "is_causal", 1);
    with_int(&causal, "left_window_size", 1);
    eg_tensor *x = noise(EG_SHAPE(1, 2, 4, 4)), *q = noise(EG_SHAPE(1, 2, 3, 4)), *scores = noise(EG_SHAPE(1, 2, 4));
    eg_tensor *resize[] = {eg_select(x, 0, 0), F64(EG_SHAPE(6), 0, 0.1, -0.2, 1, 0.7, 0.9),
                           F32(EG_SHAPE(3), 1, 0.6, 2)};
    eg_tensor *sample[] = {noise(EG_SHAPE(1, 2, 5)), noise(EG_SHAPE(1, 4, 1))};
    eg_tensor *deform[] = {x, noise(EG_SHAPE(2, 2, 3, 3)), noise(EG_SHAPE(1, 18, 2, 2))};
    eg_tensor *pool[] = {x, F64(EG_SHAPE(2, 5), 0, 0, 0, 3, 3, 0, 1, 1, 2, 2)};
    eg_tensor *align[] = {x, F64(EG_SHAPE(2, 4), 0, 0, 3, 3, 1, 1, 2, 2), I64(EG_SHAPE(2), 0, 0)};
    eg_tensor *nms[] = {noise(EG_SHAPE(1, 4, 4)), scores, I64(EG_SCALAR, 2)};
    eg_tensor *col[] = {noise(EG_SHAPE(1, 6, 4)), I64(EG_SHAPE(1), 6), I64(EG_SHAPE(1), 3)};
    eg_tensor *mel[] = {I64(EG_SCALAR, 4), I64(EG_SCALAR, 16), I64(EG_SCALAR, 8000), F64(EG_SCALAR, 0),
                        F64(EG_SCALAR, 4000)};
    eg_tensor *attention[] = {q, q, q, noise(EG_SHAPE(3, 5)), noise(EG_SHAPE(1, 2, 2, 4)), noise(EG_SHAPE(1, 2, 2, 4))};
    node all[] = {
        {.op = "Resize", .version = 19, .attributes = &crop, .in = resize, .nin = 3},
        {.op = "GridSample", .version = 20, .attributes = &cubic, .in = sample, .nin = 2},
        {.op = "DeformConv", .version = 19, .attributes = &none, .in = deform, .nin = 3},
        {.op = "MaxRoiPool", .version = 1, .attributes = &largest, .in = pool, .nin = 2},
        {.op = "RoiAlign", .version = 16, .attributes = &largest, .in = align, .nin = 3},
        {.op = "NonMaxSuppression", .version = 11, .attributes = &none, .in = nms, .nin = 3},
        {.op = "Col2Im", .version = 18, .attributes = &none, .in = col, .nin = 3},
        {.op = "MelWeightMatrix", .version = 17, .attributes = &none, .in = mel, .nin = 5},
        {.op = "Attention", .version = 23, .attributes = &causal, .in = attention, .nin = 6},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        EGT_CHECK(egt_fail_allocations(run_once, &all[i]) > 3);
    }
}

/* A node of one input and one output; domain "d" for functions. */
static void put_call(bytes *to, int field, const char *op, const char *in, const char *out)
{
    bytes call = {0};
    put_text(&call, 1, in);
    put_text(&call, 2, out);
    put_text(&call, 4, op);
    put_text(&call, 7, *op == 'F' ? "d" : "");
    put_part(to, field, &call);
}

/* `deep` functions, each of which calls the next one twice; the last is Relu. */
static eg_module *calls_twice(int deep)
{
    bytes model = {0}, graph = {0}, imported = {0};
    put_int(&imported, 2, 13);
    put_value(&graph, 11, "a", NULL);
    put_value(&graph, 12, "b", NULL);
    put_call(&graph, 1, "F0", "a", "b");
    put_int(&model, 1, 8);
    put_part(&model, 7, &graph);
    put_part(&model, 8, &imported);
    for (int i = 0; i < deep; i++) {
        bytes f = {0};
        char name[12], next[12];
        snprintf(name, sizeof name, "F%d", i);
        snprintf(next, sizeof next, "F%d", i + 1);
        const char *called = i + 1 < deep ? next : "Relu";
        put_text(&f, 1, name);
        put_text(&f, 10, "d");
        put_text(&f, 4, "x");
        put_text(&f, 5, "y");
        put_call(&f, 7, called, "x", "m");
        put_call(&f, 7, called, "m", "y");
        put_part(&f, 9, &imported);
        put_part(&model, 25, &f);
    }
    const char *path = egt_path("calls.onnx");
    egt_write(path, model.at, model.n);
    return eg_onnx_load(path);
}

EGT(functions_call_others_but_not_without_bound)
{
    eg_scope s = eg_scope_push();
    eg_module *m = calls_twice(8);
    EGT_CHECK(m);
    EGT_EQ(eg_get(eg_module_forward(m, F32(EG_SHAPE(2), -3, 4)), 1), 4);
    EGT_OK(eg_module_free(m));
    EGT_REFUSED(calls_twice(28), EG_EFORMAT, "calls of functions");
    eg_scope_pop(s, NULL);
}
