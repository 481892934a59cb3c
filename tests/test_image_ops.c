/* test_image_ops.c - image operations against torchvision's numbers and their own formulas. */
#include "tests/egt.h"

/* f32 [3, 3, 4] of 0..1. */
static eg_tensor *sample(void)
{
    eg_tensor *t = eg_empty(EG_SHAPE(3, 3, 4), EG_F32);
    for (int i = 0; i < 36; i++) {
        eg_set(t, i, i * 37 % 101 / 100.0);
    }
    return t;
}

/* Row 1 of every channel is this. */
static void check_rows(eg_tensor *y, const double *want)
{
    EGT_CHECK(y && eg_dtype_of(y) == EG_F32);
    y = eg_select(y, 1, 1);
    for (int i = 0; i < eg_numel(y); i++) {
        EGT_NEAR(eg_get(y, i), want[i], 1e-5);
    }
}

/* Numbers of torchvision 0.29. */
EGT(colours_are_torchvisions)
{
    static const double bright[] = {0.658, 1, 0.28, 0.798, 1, 0.322, 0.84, 1, 0.364, 0.882, 1, 0.504};
    static const double contrast[] = {0.478703, 0.663703, 0.343703, 0.528703, 0.678703, 0.358703,
                                      0.543703, 0.728703, 0.373703, 0.558703, 0.743703, 0.423703};
    static const double saturation[] = {0.364593, 1, 0.037010, 0.464598, 0.964594, 0.116047,
                                        0.637010, 1, 0.049593, 0.716047, 1,        0.149598};
    static const double hue[] = {0.26, 0.84, 0.52, 0.36, 0.87, 0.379, 0.2, 0.97, 0.599, 0.23, 1, 0.699};
    static const double gray[] = {0.680813, 0.457906, 0.525980, 0.780803};
    eg_tensor *x = sample();
    check_rows(eg_image_brightness(x, 1.4), bright);
    check_rows(eg_image_contrast(x, 0.5), contrast);
    check_rows(eg_image_saturation(x, 1.5), saturation);
    check_rows(eg_image_hue(x, 0.15), hue);
    check_rows(eg_image_gray(x), gray);
    eg_tensor *two = eg_stack((eg_tensor *[]){x, eg_mul_scalar(x, 0.5)}, 2, 0);
    check_rows(eg_select(eg_image_contrast(two, 0.5), 0, 0), contrast); /* a mean for each */
    check_rows(eg_select(eg_image_hue(two, 0.15), 0, 0), hue);
}

/* u8 does what floats do, rounded, and leaves its argument alone. */
EGT(colours_of_bytes)
{
    eg_tensor *x = eg_image_to_u8(sample()), *f = eg_image_to_float(x), *before = eg_copy(x);
    x = eg_permute(eg_contiguous(eg_permute(x, EG_AXES(1, 2, 0))), EG_AXES(2, 0, 1));
    eg_tensor *got[] = {eg_image_brightness(x, 1.4), eg_image_contrast(x, 0.5), eg_image_saturation(x, 1.5),
                        eg_image_hue(x, 0.15), eg_image_gray(x)};
    eg_tensor *want[] = {eg_image_brightness(f, 1.4), eg_image_contrast(f, 0.5), eg_image_saturation(f, 1.5),
                         eg_image_hue(f, 0.15), eg_image_gray(f)};
    for (int k = 0; k < 5; k++) {
        EGT_EQ(eg_dtype_of(got[k]), EG_U8);
        EGT_CHECK(k == 4 || eg_stride(got[k], 0) == 1);
        for (int i = 0; i < eg_numel(want[k]); i++) {
            EGT_CHECK(fabs(eg_get(got[k], i) - 255 * eg_get(want[k], i)) <= 0.5001);
        }
    }
    EGT_EQ(egt_distance(x, before), 0);
    EGT_EQ(egt_distance(eg_image_to_u8(eg_image_to_float(x)), x), 0);
}

EGT(hue_walks_round)
{
    eg_tensor *x = sample();
    eg_tensor *third = eg_image_hue(x, 1 / 3.0);
    for (int c = 0; c < 3; c++) { /* red becomes green, green blue, blue red */
        EGT_CHECK(egt_distance(eg_select(third, 0, (c + 1) % 3), eg_select(x, 0, c)) < 1e-5);
    }
    EGT_CHECK(egt_distance(eg_image_hue(eg_image_hue(x, 0.4), -0.4), x) < 1e-5);
    EGT_EQ(egt_distance(eg_image_hue(x, 0), x) < 1e-6, 1);
}

EGT(rotation_is_torchvisions)
{
    static const double thirty[] = {0.099586, 0.512515, 0.423454, 0.361324, 0.191856, 0.696542,
                                    0.343458, 0.242873, 0.367677, 0.616546, 0.406818, 0.183776};
    static const double nearest[] = {0.94, 0.47, 0.37, 0, 0.3, 0.84, 0.2, 0.74, 0, 0.67, 0.57, 0.1};
    static const double wide[] = {0, 0.134923, 0.326881, 0.702754, 0.296264, 0};
    eg_tensor *x = sample(), *a = eg_image_rotate(x, 30), *b = eg_image_rotate(x, -50, .nearest = true),
              *c = eg_image_rotate(x, 30, .expand = true);
    for (int i = 0; i < 12; i++) {
        EGT_NEAR(eg_get(a, i), thirty[i], 1e-5);
        EGT_NEAR(eg_get(b, i), nearest[i], 1e-6);
    }
    EGT_EQ(eg_size(c, 1), 5);
    EGT_EQ(eg_size(c, 2), 6);
    for (int i = 0; i < 6; i++) {
        EGT_NEAR(eg_get(eg_select(eg_select(c, 0, 2), 0, 1), i), wide[i], 1e-5);
    }
    eg_tensor *filled = eg_image_rotate(x, 45, .fill = 7, .nearest = true);
    EGT_EQ(eg_get(filled, 0), 7);
    eg_tensor *bytes = eg_image_rotate(eg_image_to_u8(x), 30);
    for (int i = 0; i < 12; i++) {
        EGT_CHECK(fabs(eg_get(bytes, i) - 255 * thirty[i]) <= 1.01);
    }
}

EGT(turns_and_flips)
{
    eg_tensor *x = sample(), *square = eg_image_crop(x, 0, 1, 3, 3);
    for (int q = -5; q <= 5; q++) {
        eg_tensor *turned = eg_image_turn(square, q);
        EGT_CHECK(egt_distance(turned, eg_image_rotate(square, 90 * q)) < 1e-5);
    }
    EGT_EQ(eg_get(eg_image_turn(x, 1), 0), eg_get(x, 3)); /* the right upper corner comes left */
    EGT_EQ(eg_get(eg_image_flip_horizontal(x), 0), eg_get(x, 3));
    EGT_EQ(eg_get(eg_image_flip_vertical(x), 0), eg_get(x, 8));
    int across = 0, down = 0;
    eg_seed(5);
    for (int i = 0; i < 400; i++) {
        eg_tensor *y = eg_image_random_flip(x, 0.5, 0.25);
        across += eg_get(y, 0) == eg_get(x, 3) || eg_get(y, 0) == eg_get(x, 11);
        down += eg_get(y, 0) == eg_get(x, 8) || eg_get(y, 0) == eg_get(x, 11);
    }
    EGT_CHECK(across > 150 && across < 250 && down > 60 && down < 140);
    EGT_EQ(egt_distance(eg_image_random_flip(x, 0, 0), x), 0);
}

EGT(crops)
{
    eg_tensor *x = egt_random(EG_SHAPE(2, 3, 11, 14), EG_F32, 0, 1);
    eg_tensor *c = eg_image_crop(x, 2, 3, 4, 5);
    EGT_EQ(eg_get(c, 0), eg_get(x, 2 * 14 + 3));
    EGT_EQ(eg_size(c, 2), 4);
    EGT_EQ(eg_size(c, 3), 5);
    c = eg_image_center_crop(x, 6, 5); /* 2.5 and 4.5, to even */
    EGT_EQ(eg_get(c, 0), eg_get(x, 2 * 14 + 4));
    bool seen[8] = {false};
    eg_seed(1);
    for (int i = 0; i < 200; i++) {
        eg_tensor *r = eg_image_random_crop(x, 4, 14);
        for (int top = 0; top < 8; top++) {
            seen[top] |= eg_get(r, 0) == eg_get(x, top * 14);
        }
    }
    for (int top = 0; top < 8; top++) {
        EGT_CHECK(seen[top]);
    }
    eg_tensor *p = eg_image_pad(x, 1, 0, 2, 0, EG_PAD_CONSTANT, 9);
    EGT_EQ(eg_size(p, 2), 12);
    EGT_EQ(eg_get(p, 0), 9);
    EGT_EQ(eg_get(p, 16 + 2), eg_get(x, 0));
}

EGT(sizes)
{
    eg_tensor *x = sample();
    eg_tensor *y = eg_image_resize(x, 6, 7, .grid = EG_GRID_CORNERS);
    EGT_EQ(eg_get(y, 0), eg_get(x, 0));
    EGT_EQ(eg_get(y, 41), eg_get(x, 11));
    eg_tensor *bytes = eg_image_resize(eg_image_to_u8(x), 6, 7, .mode = EG_RESIZE_CUBIC),
              *same = eg_image_resize(eg_image_to_float(eg_image_to_u8(x)), 6, 7, .mode = EG_RESIZE_CUBIC);
    for (int i = 0; i < eg_numel(bytes); i++) {
        double want = fmin(1, fmax(0, eg_get(same, i))) * 255;
        EGT_CHECK(fabs(eg_get(bytes, i) - want) <= 0.501);
    }
    y = eg_image_resize(eg_image_to_u8(x), 6, 8, .mode = EG_RESIZE_NEAREST);
    EGT_EQ(eg_get(y, 9), eg_get(eg_image_to_u8(x), 0));
    EGT_EQ(eg_ndim(eg_image_resize(eg_reshape(x, EG_SHAPE(3, 1, 1, 3, 4)), 5, 5)), 5);
}

EGT(jitter_repeats)
{
    eg_tensor *x = sample();
    EGT_EQ(egt_distance(eg_image_jitter(x), x), 0);
    eg_seed(3);
    eg_tensor *a = eg_image_jitter(x, .brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1);
    eg_tensor *b = eg_image_jitter(x, .brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1);
    eg_seed(3);
    eg_tensor *c = eg_image_jitter(x, .brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1);
    EGT_EQ(egt_distance(a, c), 0);
    EGT_CHECK(egt_distance(a, b) > 1e-3);
    EGT_REFUSED(eg_image_jitter(x, .hue = 0.6), EG_EINVAL, "0.6");
    EGT_REFUSED(eg_image_jitter(x, .contrast = -1), EG_EINVAL, "-1");
}

EGT(numbers_for_networks)
{
    eg_tensor *x = eg_image_to_u8(sample());
    eg_tensor *n = eg_image_normalise(x, EG_IMAGENET_MEAN, EG_IMAGENET_STD);
    eg_tensor *caffe = eg_image_preprocess(x, EG_KERAS_CAFFE);
    eg_tensor *tf = eg_image_preprocess(x, EG_KERAS_TF);
    EGT_CHECK(egt_distance(eg_image_preprocess(x, EG_KERAS_TORCH), n) < 1e-6);
    static const double bgr[] = {103.939, 116.779, 123.68};
    for (int c = 0; c < 3; c++) {
        for (int i = 0; i < 12; i++) {
            double v = eg_get(x, 12 * c + i);
            EGT_NEAR(eg_get(n, 12 * c + i), (v / 255 - EG_IMAGENET_MEAN[c]) / EG_IMAGENET_STD[c], 1e-5);
            EGT_NEAR(eg_get(tf, 12 * c + i), v / 127.5 - 1, 1e-6);
            EGT_NEAR(eg_get(caffe, 12 * c + i), eg_get(x, 12 * (2 - c) + i) - bgr[c], 1e-6);
        }
    }
}

EGT(image_ops_refuse)
{
    eg_tensor *x = sample(), *flat = eg_zeros(EG_SHAPE(3, 4), EG_F32), *ints = eg_zeros(EG_SHAPE(3, 4, 4), EG_I64),
              *two = eg_zeros(EG_SHAPE(2, 4, 4), EG_F32);
    EGT_REFUSED(eg_image_crop(x, 1, 0, 3, 1), EG_EINDEX, "leave [3, 3, 4]");
    EGT_REFUSED(eg_image_crop(x, INT64_MAX, 0, 1, 1), EG_EINDEX, "leave");
    EGT_REFUSED(eg_image_center_crop(x, 4, 4), EG_EINDEX, "leave");
    EGT_REFUSED(eg_image_random_crop(x, 4, 4), EG_EINDEX, "leave");
    EGT_REFUSED(eg_image_turn(flat, 1), EG_ESHAPE, "[3, 4]");
    EGT_REFUSED(eg_image_brightness(ints, 1), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_image_brightness(x, -1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_image_contrast(x, (double)NAN), EG_EINVAL, "nan");
    EGT_REFUSED(eg_image_saturation(two, 1), EG_ESHAPE, "2 channels");
    EGT_REFUSED(eg_image_hue(x, 0.51), EG_EINVAL, "0.51");
    EGT_REFUSED(eg_image_hue(two, 0.1), EG_ESHAPE, "2 channels");
    EGT_REFUSED(eg_image_rotate(x, (double)INFINITY), EG_EINVAL, "inf");
    EGT_REFUSED(eg_image_rotate(flat, 1), EG_ESHAPE, "[3, 4]");
    EGT_REFUSED(eg_image_resize(x, 0, 4), EG_ESHAPE, "0 x 4");
    EGT_REFUSED(eg_image_normalise(x, EG_IMAGENET_MEAN, ((double[]){1, 0, 1})), EG_EINVAL, "channel 1");
    EGT_REFUSED(eg_image_normalise(x, NULL, EG_IMAGENET_STD), EG_EINVAL, "mean");
    EGT_REFUSED(eg_image_preprocess(two, EG_KERAS_TF), EG_ESHAPE, "3 channels");
    EGT_REFUSED(eg_image_preprocess(x, (eg_keras_mode)7), EG_EINVAL, "7");
    EGT_REFUSED(eg_image_random_flip(x, 1.5, 0), EG_EINVAL, "1.5");
    EGT_REFUSED(eg_image_gray(NULL), EG_EINVAL, "x");
}

/* ---- a random part, decoded, resized, normalised -------------------------------------------- */

/* Encoded, smooth, of the format this build has; NULL: none. */
static eg_tensor *photo(int height, int width, bool jpeg)
{
    eg_tensor *t = eg_empty(EG_SHAPE(3, height, width), EG_U8);
    uint8_t *p = eg_data_mut(t);
    for (int i = 0; i < 3 * height * width; i++) {
        int x = i % width, y = i / width % height, c = i / width / height;
        p[i] = (uint8_t)(128 + 60 * sin(0.04 * x * (c + 1)) + 60 * cos(0.05 * y + c));
    }
    t = jpeg ? eg_jpeg_encode(t, .quality = 95, .full_colour = true) : eg_png_encode(t);
    egt_need(t, jpeg ? "JPEG" : "PNG");
    return t;
}

static void check_middle(bool jpeg)
{
    static const int sizes[][2] = {{40, 24}, {64, 80}, {17, 90}, {200, 130}};
    eg_tensor *bytes = photo(120, 97, jpeg);
    const void *p = eg_data(bytes);
    size_t n = (size_t)eg_numel(bytes);
    eg_tensor *whole = eg_image_to_float(eg_image_decode(p, n));
    for (int k = 0; k < 4; k++) {
        int h = sizes[k][0], w = sizes[k][1];
        double rows = fmin(120, 97.0 * h / w) * 0.8;
        int ch = (int)rint(rows), cw = (int)rint(rows * w / h);
        eg_tensor *want =
            eg_image_resize(eg_image_crop(whole, (120 - ch) / 2, (97 - cw) / 2, ch, cw), h, w, .antialias = true);
        eg_tensor *got = eg_image_decode_crop(p, n, h, w, .centre = 0.8, .exact = true);
        EGT_EQ(eg_size(got, 1), h);
        EGT_EQ(eg_stride(got, 0), 1);
        EGT_CHECK(egt_distance(got, want) < (jpeg ? 0.02 : 1e-5));
        got = eg_image_decode_crop(p, n, h, w, .centre = 0.8, .mean = {0.4, 0.5, 0.6}, .std = {0.2, 0.3, 0.1});
        want = eg_image_normalise(want, (double[]){0.4, 0.5, 0.6}, (double[]){0.2, 0.3, 0.1});
        EGT_CHECK(eg_item(eg_mean(eg_abs(eg_sub(got, want)))) < 0.1);
    }
}

EGT(the_middle_of_a_png)
{
    check_middle(false);
}

EGT(the_middle_of_a_jpeg)
{
    check_middle(true);
}

static void check_chance(bool jpeg)
{
    eg_tensor *bytes = photo(150, 220, jpeg);
    const void *p = eg_data(bytes);
    size_t n = (size_t)eg_numel(bytes);
    int mirrored = 0;
    for (int i = 0; i < 40; i++) {
        EG_SCOPE {
            int64_t box[4];
            eg_seed((uint64_t)i);
            EGT_OK(eg_image_random_box(150, 220, (double[]){0.08, 1}, (double[]){0.75, 4 / 3.0}, box));
            eg_seed((uint64_t)i);
            eg_tensor *got = eg_image_decode_crop(p, n, 32, 40, .exact = true);
            eg_seed((uint64_t)i);
            EGT_EQ(egt_distance(got, eg_image_decode_crop(p, n, 32, 40, .exact = true)), 0);
            eg_tensor *want = eg_image_crop(eg_image_decode(p, n), box[0], box[1], box[2], box[3]);
            want = eg_image_resize(eg_image_to_float(want), 32, 40, .antialias = true);
            eg_tensor *turned = eg_image_flip_horizontal(want);
            double plain = eg_item(eg_mean(eg_abs(eg_sub(got, want))));
            double flipped = eg_item(eg_mean(eg_abs(eg_sub(got, turned))));
            EGT_CHECK(fmin(plain, flipped) < 0.002);
            mirrored += flipped < plain;
        }
    }
    EGT_CHECK(mirrored > 8 && mirrored < 32);
}

EGT(a_random_part_of_a_png)
{
    check_chance(false);
}

EGT(a_random_part_of_a_jpeg)
{
    check_chance(true);
}

EGT(boxes_stay_inside)
{
    static const int sizes[][2] = {{1, 1}, {3, 1000}, {1000, 3}, {480, 640}};
    int64_t b[4];
    for (int i = 0; i < 400; i++) {
        const int *s = sizes[i % 4];
        EGT_OK(eg_image_random_box(s[0], s[1], (double[]){0.08, 1}, (double[]){0.75, 4 / 3.0}, b));
        EGT_CHECK(b[0] >= 0 && b[1] >= 0 && b[2] > 0 && b[3] > 0);
        EGT_CHECK(b[0] + b[2] <= s[0] && b[1] + b[3] <= s[1]);
    }
    EGT_REFUSED(eg_image_random_box(0, 5, (double[]){0.1, 1}, (double[]){1, 1}, b), EG_ESHAPE, "0 x 5");
    EGT_REFUSED(eg_image_random_box(5, 5, (double[]){0.1, 2}, (double[]){1, 1}, b), EG_EINVAL, "2");
    eg_tensor *bytes = photo(8, 8, false);
    const void *p = eg_data(bytes);
    size_t n = (size_t)eg_numel(bytes);
    EGT_CHECK(eg_image_decode_crop(p, n, 300, 1));
    EGT_REFUSED(eg_image_decode_crop(p, n, 0, 8), EG_ESHAPE, "0 x 8");
    EGT_REFUSED(eg_image_decode_crop(p, n, 8, 8, .scale = {0.5, 0.1}), EG_EINVAL, "0.5");
    EGT_REFUSED(eg_image_decode_crop(p, n, 8, 8, .centre = 2), EG_EINVAL, "centre");
    EGT_REFUSED(eg_image_decode_crop(p, n, 8, 8, .max_pixels = 63), EG_EFORMAT, "8 x 8");
    EGT_REFUSED(eg_image_decode_crop(p, n - 30, 8, 8), EG_EFORMAT, "early");
}
