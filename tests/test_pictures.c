/* test_pictures.c - images as TensorFlow changes them, moved and mapped, and parts that show objects: what golden
 * numbers do not say (tests/golden/pictures.c). */
#include "tests/egt.h"

/* f32 [3, 6, 5]. */
static eg_tensor *sample(void)
{
    return egt_random(EG_SHAPE(3, 6, 5), EG_F32, 0, 1);
}

/* The same in memory that runs H, W, C. */
static eg_tensor *inmost(eg_tensor *x)
{
    return eg_permute(eg_contiguous(eg_permute(x, EG_AXES(1, 2, 0))), EG_AXES(2, 0, 1));
}

/* ---- colours --------------------------------------------------------------------------------------- */

/* Change number k, by an amount. */
static eg_tensor *changed(int k, eg_tensor *x, double by)
{
    return k == 0   ? eg_image_tf_brightness(x, by)
           : k == 1 ? eg_image_tf_contrast(x, by)
           : k == 2 ? eg_image_tf_saturation(x, by)
                    : eg_image_tf_hue(x, by);
}

EGT(colours_of_bytes_and_layouts)
{
    eg_tensor *f = eg_image_to_float(eg_image_to_u8(sample())), *u = eg_image_to_u8(f);
    for (int k = 0; k < 4; k++) {
        eg_tensor *want = changed(k, f, 0.4), *got = changed(k, u, 0.4), *in = changed(k, inmost(u), 0.4);
        EGT_EQ(eg_dtype_of(got), EG_U8);
        EGT_EQ(egt_distance(got, in), 0);
        EGT_EQ(eg_stride(in, 0), 1);
        EGT_CHECK(egt_distance(changed(k, inmost(f), 0.4), want) < 1e-6);
        EGT_CHECK(egt_distance(changed(k, eg_cast(f, EG_F64), 0.4), eg_cast(want, EG_F64)) < 1e-6);
        for (int i = 0; i < eg_numel(f); i++) {
            double v = fmin(1, fmax(0, eg_get(want, i)));
            EGT_CHECK(fabs(eg_get(got, i) - 255 * v) <= 0.5001);
        }
    }
}

EGT(each_image_of_a_batch_alone)
{
    eg_tensor *x = egt_random(EG_SHAPE(2, 3, 3, 70, 3), EG_F32, 0, 1);
    for (int k = 0; k < 4; k++) {
        eg_tensor *all = changed(k, x, 0.3);
        eg_tensor *one = changed(k, eg_select(eg_select(x, 0, 1), 0, 2), 0.3);
        EGT_CHECK(egt_distance(eg_select(eg_select(all, 0, 1), 0, 2), one) < 1e-6);
    }
    eg_tensor *all = eg_image_standardise(x), *one = eg_image_standardise(eg_select(eg_select(x, 0, 0), 0, 1));
    EGT_CHECK(egt_distance(eg_select(eg_select(all, 0, 0), 0, 1), one) < 1e-6);
}

EGT(instruction_sets_agree)
{
    static const char *const names[] = {"avx512", "avx2"};
    eg_tensor *x = egt_random(EG_SHAPE(3, 9, 31), EG_F32, -0.5, 1.5);
    const char *was = eg_cpu_isa();
    for (int i = 0; i < 2; i++) {
        for (int k = 2; k < 4; k++) {
            EGT_OK(eg_debug_isa("base"));
            eg_tensor *want = changed(k, x, 0.7);
            if (eg_debug_isa(names[i]) == EG_OK) {
                EGT_CHECK(egt_distance(changed(k, x, 0.7), want) < 1e-5);
            }
            eg_clear_error();
        }
    }
    EGT_OK(eg_debug_isa(was));
}

EGT(one_channel_has_no_colour)
{
    eg_tensor *x = egt_random(EG_SHAPE(1, 4, 4), EG_F32, 0, 1);
    EGT_EQ(egt_distance(eg_image_tf_hue(x, 0.3), x), 0);
    EGT_EQ(egt_distance(eg_image_tf_saturation(x, 0.3), x), 0);
    EGT_CHECK(egt_distance(eg_image_tf_contrast(x, 0.3), x) > 0.01);
}

/* The amount is found again: brightness of zeros is the delta, contrast of a known image the factor. */
EGT(chances_of_colours)
{
    eg_tensor *zeros = eg_zeros(EG_SHAPE(3, 2, 2), EG_F32), *two = eg_arange(0, 2, 1, EG_F32);
    two = eg_reshape(two, EG_SHAPE(1, 1, 2));
    double sum = 0, low = 9, high = -9, least = 9, most = -9;
    eg_seed(11);
    for (int i = 0; i < 2000; i++) {
        EG_SCOPE {
            double d = eg_get(eg_image_tf_random_brightness(zeros, 0.25), 0);
            double f = eg_get(eg_image_tf_random_contrast(two, 0.5, 1.5), 1) * 2 - 1;
            sum += d;
            low = fmin(low, d), high = fmax(high, d), least = fmin(least, f), most = fmax(most, f);
        }
    }
    EGT_CHECK(fabs(sum / 2000) < 0.01 && low >= -0.25 && low < -0.248 && high < 0.25 && high > 0.248);
    EGT_CHECK(least >= 0.4999 && least < 0.505 && most < 1.5001 && most > 1.495);
    eg_tensor *x = sample();
    for (int k = 0; k < 2; k++) {
        eg_seed(5);
        eg_tensor *a = k ? eg_image_tf_random_hue(x, 0.4) : eg_image_tf_random_saturation(x, 0.2, 0.9);
        eg_tensor *b = k ? eg_image_tf_random_hue(x, 0.4) : eg_image_tf_random_saturation(x, 0.2, 0.9);
        eg_seed(5);
        eg_tensor *c = k ? eg_image_tf_random_hue(x, 0.4) : eg_image_tf_random_saturation(x, 0.2, 0.9);
        EGT_EQ(egt_distance(a, c), 0);
        EGT_CHECK(egt_distance(a, b) > 1e-4);
    }
}

EGT(gradients_of_colours)
{
    eg_tensor *x = egt_random(EG_SHAPE(3, 3, 4), EG_F64, 0, 1), *dx;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *y = eg_image_standardise(eg_image_tf_contrast(eg_image_tf_brightness(x, 0.2), 1.5));
    EGT_OK(eg_tape_gradients(tape, eg_sum(eg_square(eg_slice(y, 0, 0, 1, 1))), &x, 1, &dx));
    EGT_CHECK(fabs(eg_get(dx, 5)) > 1e-6);
    EGT_CHECK(fabs(eg_item(eg_sum(dx))) < 1e-9); /* more light changes nothing */
}

/* ---- moved and mapped ------------------------------------------------------------------------------ */

EGT(an_image_and_its_mask_move_alike)
{
    eg_tensor *image = eg_image_to_u8(sample()), *mask = eg_cast(eg_gt_scalar(eg_slice(image, 0, 0, 1, 1), 100), EG_U8);
    for (int i = 0; i < 12; i++) {
        double right = i * 1.3 - 6, down = 5 - i * 0.9;
        eg_tensor *a = eg_image_translate(image, right, down, .nearest = true);
        eg_tensor *m = eg_image_translate(mask, right, down, .nearest = true);
        eg_tensor *again = eg_cast(eg_gt_scalar(eg_slice(a, 0, 0, 1, 1), 100), EG_U8);
        EGT_EQ(egt_distance(m, again), 0);
    }
    eg_tensor *back = eg_image_translate(eg_image_translate(image, 2, -1), -2, 1);
    eg_tensor *stays = eg_image_crop(image, 1, 0, 5, 3); /* what did not leave */
    EGT_EQ(egt_distance(eg_image_crop(back, 1, 0, 5, 3), stays), 0);
    EGT_EQ(eg_get(back, 0), 0);
    EGT_EQ(eg_get(eg_image_translate(image, 1, 0, .fill = 7), 0), 7);
    EGT_EQ(eg_item(eg_sum(eg_cast(eg_image_translate(image, 1e9, -1e18), EG_F32))), 0);
    eg_tensor *half = eg_image_translate(eg_ones(EG_SHAPE(1, 1, 3), EG_F32), 0.25, 0);
    EGT_NEAR(eg_get(half, 0), 0.75, 1e-6);
    EGT_NEAR(eg_get(half, 2), 1, 1e-6);
}

EGT(affine_maps_contain_the_others)
{
    eg_tensor *x = sample();
    EGT_CHECK(egt_distance(eg_image_affine(x), x) < 1e-5);
    EGT_CHECK(egt_distance(eg_image_affine(x, .degrees = -30), eg_image_rotate(x, 30)) < 1e-5);
    EGT_CHECK(egt_distance(eg_image_affine(x, .right = 2, .down = -1), eg_image_translate(x, 2, -1)) < 1e-5);
    eg_tensor *twice = eg_image_affine(eg_ones(EG_SHAPE(1, 8, 8), EG_F32), .scale = 0.5);
    EGT_NEAR(eg_item(eg_sum(twice)), 16, 1e-5);
    eg_tensor *row = eg_reshape(eg_arange(0, 8, 1, EG_F32), EG_SHAPE(1, 1, 8));
    eg_tensor *sheared = eg_image_affine(eg_tile(row, EG_SHAPE(1, 5, 1)), .shear = {45, 0}, .nearest = true,
                                         .centre = {EG_ZERO, 0.5}, .fill = -1);
    for (int i = 0; i < 5; i++) { /* row i moves by i */
        for (int j = 0; j < 8; j++) {
            double got = eg_get(sheared, i * 8 + j);
            EGT_CHECK(got == j - i || got == j + i || got == -1);
        }
    }
    EGT_EQ(eg_get(sheared, 3), 3);
}

EGT(crop_or_pad_splits_odd_rests)
{
    eg_tensor *x = eg_reshape(eg_arange(1, 4, 1, EG_F32), EG_SHAPE(1, 1, 3));
    eg_tensor *y = eg_image_crop_or_pad(x, 2, 6);
    static const double want[] = {0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0};
    for (int i = 0; i < 12; i++) {
        EGT_EQ(eg_get(y, i), want[i]);
    }
    EGT_EQ(eg_get(eg_image_crop_or_pad(x, 1, 2), 0), 1);
}

/* ---- parts that show objects ----------------------------------------------------------------------- */

static double overlap(const int64_t *box, const float *object, int64_t height, int64_t width)
{
    int64_t top = (int64_t)(object[0] * (float)height), left = (int64_t)(object[1] * (float)width);
    int64_t bottom = (int64_t)(object[2] * (float)height), right = (int64_t)(object[3] * (float)width);
    double tall = fmin(bottom, box[0] + box[2]) - fmax(top, box[0]);
    double wide = fmin(right, box[1] + box[3]) - fmax(left, box[1]);
    return fmax(tall, 0) * fmax(wide, 0) / (double)((bottom - top) * (right - left));
}

/* Every part keeps what was asked for, unless it is the whole. */
EGT(distorted_boxes_keep_their_promises)
{
    static const float objects[] = {0.1f, 0.1f, 0.4f, 0.3f, 0.5f, 0.6f, 0.95f, 0.9f};
    eg_tensor *boxes = eg_from(EG_SHAPE(2, 4), EG_F32, objects);
    int whole = 0, drawn = 0;
    double areas = 0, ratios = 0;
    for (int i = 0; i < 3000; i++) {
        int64_t b[4], h = 40 + i % 300, w = 30 + i * 7 % 400;
        eg_seed((uint64_t)i);
        EGT_OK(eg_image_distorted_box(h, w, b, .boxes = boxes, .covered = 0.7, .area = {0.2, 0.6}, .ratio = {0.5, 2}));
        EGT_CHECK(b[0] >= 0 && b[1] >= 0 && b[2] > 0 && b[3] > 0 && b[0] + b[2] <= h && b[1] + b[3] <= w);
        if (b[2] == h && b[3] == w) {
            whole++;
            continue;
        }
        double area = (double)(b[2] * b[3]) / (double)(h * w), ratio = (double)b[3] / (double)b[2];
        EGT_CHECK(area >= 0.2 - 1e-6 && area <= 0.6 + 1e-6);
        EGT_CHECK(b[3] >= 0.5 * (double)b[2] - 1 && b[3] <= 2 * (double)b[2] + 1);
        EGT_CHECK(overlap(b, objects, h, w) >= 0.7 - 1e-6 || overlap(b, objects + 4, h, w) >= 0.7 - 1e-6);
        areas += area;
        ratios += log(ratio);
        drawn++;
    }
    EGT_CHECK(drawn > 2000 && whole < 1000);
    EGT_CHECK(areas / drawn > 0.3 && areas / drawn < 0.55 && fabs(ratios / drawn) < 0.4);
}

EGT(distorted_boxes_fall_back)
{
    int64_t b[4];
    /* an object too small to count, and none that fits */
    eg_tensor *dot = eg_from(EG_SHAPE(1, 4), EG_F32, (float[]){0.5f, 0.5f, 0.5001f, 0.5001f});
    EGT_OK(eg_image_distorted_box(50, 60, b, .boxes = dot));
    EGT_CHECK(b[0] == 0 && b[1] == 0 && b[2] == 50 && b[3] == 60);
    EGT_OK(eg_image_distorted_box(50, 60, b, .ratio = {9, 10}, .area = {0.9, 1}));
    EGT_CHECK(b[2] == 50 && b[3] == 60);
    eg_random_state before = eg_random_get_state();
    EGT_OK(eg_image_distorted_box(50, 60, b, .attempts = 5));
    EGT_EQ(eg_random_get_state().offset, before.offset + 5);
    eg_tensor *none = eg_zeros(EG_SHAPE(0, 4), EG_F32);
    EGT_REFUSED(eg_image_distorted_box(50, 60, b, .boxes = none), EG_EINVAL, "or_image");
    EGT_OK(eg_image_distorted_box(50, 60, b, .boxes = none, .or_image = true));
    EGT_OK(eg_image_distorted_box(1, INT32_MAX, b, .ratio = {1e-30, 1e30}));
    EGT_OK(eg_image_distorted_box(40000, 50000, b, .ratio = {1e9, 1e9}, .covered = EG_ZERO));
}

/* ---- refusals -------------------------------------------------------------------------------------- */

EGT(pictures_refuse)
{
    eg_tensor *x = sample(), *flat = eg_zeros(EG_SHAPE(3, 4), EG_F32), *ints = eg_zeros(EG_SHAPE(3, 4, 4), EG_I64),
              *two = eg_zeros(EG_SHAPE(2, 4, 4), EG_F32);
    int64_t b[4];
    EGT_REFUSED(eg_image_tf_brightness(flat, 1), EG_ESHAPE, "[3, 4]");
    EGT_REFUSED(eg_image_tf_brightness(x, (double)NAN), EG_EINVAL, "delta");
    EGT_REFUSED(eg_image_tf_contrast(ints, 1), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_image_tf_contrast(x, (double)INFINITY), EG_EINVAL, "factor");
    EGT_REFUSED(eg_image_tf_saturation(two, 1), EG_ESHAPE, "2 channels");
    EGT_REFUSED(eg_image_tf_saturation(x, -1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_image_tf_hue(x, 1.1), EG_EINVAL, "1.1");
    EGT_REFUSED(eg_image_tf_random_hue(x, 0.6), EG_EINVAL, "0.6");
    EGT_REFUSED(eg_image_tf_random_contrast(x, -0.1, 1), EG_EINVAL, "-0.1");
    EGT_REFUSED(eg_image_tf_random_saturation(x, 2, 1), EG_EINVAL, "rise");
    EGT_REFUSED(eg_image_tf_random_brightness(NULL, 1), EG_EINVAL, "x");
    EGT_REFUSED(eg_image_standardise(ints), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_image_crop_or_pad(x, 0, 4), EG_ESHAPE, "0 x 4");
    EGT_REFUSED(eg_image_translate(x, (double)NAN, 0), EG_EINVAL, "right");
    EGT_REFUSED(eg_image_translate(flat, 1, 1), EG_ESHAPE, "[3, 4]");
    EGT_REFUSED(eg_image_affine(x, .scale = -1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_image_affine(x, .shear = {0, (double)INFINITY}), EG_EINVAL, "shear[1]");
    EGT_REFUSED(eg_image_distorted_box(0, 5, b), EG_ESHAPE, "0 x 5");
    EGT_REFUSED(eg_image_distorted_box(1 << 20, 1 << 20, b), EG_ESHAPE, "1048576");
    EGT_REFUSED(eg_image_distorted_box(5, 5, b, .covered = -1), EG_EINVAL, "covered");
    EGT_REFUSED(eg_image_distorted_box(5, 5, b, .ratio = {2, 1}), EG_EINVAL, "ratio");
    EGT_REFUSED(eg_image_distorted_box(5, 5, b, .area = {0.1, 1.5}), EG_EINVAL, "area");
    EGT_REFUSED(eg_image_distorted_box(5, 5, b, .attempts = -1), EG_EINVAL, "attempts");
    EGT_REFUSED(eg_image_distorted_box(5, 5, b, .boxes = ints), EG_ESHAPE, "[3, 4, 4]");
    EGT_REFUSED(eg_image_distorted_box(5, 5, b, .boxes = eg_ones(EG_SHAPE(4), EG_F32)), EG_ESHAPE, "[4]");
    EGT_REFUSED(eg_image_distorted_box(5, 5, b, .boxes = eg_full(EG_SHAPE(1, 4), 1.5, EG_F32)), EG_EINVAL, "1.5");
}
