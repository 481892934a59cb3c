/* test_augment.c - augmentation: what golden numbers do not say (tests/golden/pictures.c). */
#include "tests/egt.h"

/* f32 [3, 12, 11] of 0..1. */
static eg_tensor *sample(void)
{
    return egt_random(EG_SHAPE(3, 12, 11), EG_F32, 0, 1);
}

static eg_tensor *inmost(eg_tensor *x)
{
    return eg_permute(eg_contiguous(eg_permute(x, EG_AXES(1, 2, 0))), EG_AXES(2, 0, 1));
}

/* A magnitude every change can have. */
static double plausible(eg_augment what)
{
    return what == EG_AUGMENT_POSTERIZE ? 5 : what == EG_AUGMENT_SOLARIZE ? 100 : what <= EG_AUGMENT_ROTATE ? 2 : 0.3;
}

/* ---- one change ------------------------------------------------------------------------------------ */

EGT(bytes_do_what_floats_do)
{
    eg_tensor *f = eg_image_to_float(eg_image_to_u8(sample())), *u = eg_image_to_u8(f), *before = eg_copy(u);
    for (int k = 0; k < EG_AUGMENT_COUNT; k++) {
        eg_augment what = (eg_augment)k;
        snprintf(egt_case, sizeof egt_case, "change %d", k);
        eg_tensor *want = eg_image_augment(f, what, plausible(what)), *got = eg_image_augment(u, what, plausible(what));
        eg_tensor *in = eg_image_augment(inmost(u), what, plausible(what));
        EGT_EQ(eg_dtype_of(got), EG_U8);
        EGT_EQ(egt_distance(got, in), 0);
        EGT_EQ(eg_stride(in, 0), 1);
        for (int i = 0; i < eg_numel(f); i++) {
            double off = fabs(eg_get(got, i) - 255 * eg_get(want, i));
            EGT_CHECK(off <= (k == EG_AUGMENT_POSTERIZE ? 8 : 0.51));
        }
    }
    EGT_EQ(egt_distance(u, before), 0);
}

EGT(each_image_of_a_batch_alone)
{
    eg_tensor *x = eg_image_to_u8(egt_random(EG_SHAPE(2, 3, 20, 18), EG_F32, 0, 0.6));
    for (int k = 0; k < EG_AUGMENT_COUNT; k++) {
        eg_tensor *all = eg_image_augment(x, (eg_augment)k, plausible((eg_augment)k));
        eg_tensor *one = eg_image_augment(eg_select(x, 0, 1), (eg_augment)k, plausible((eg_augment)k));
        EGT_EQ(egt_distance(eg_select(all, 0, 1), one), 0);
    }
}

EGT(levels)
{
    eg_tensor *ramp = eg_reshape(eg_arange(0, 256, 1, EG_U8), EG_SHAPE(1, 16, 16));
    EGT_EQ(egt_distance(eg_image_posterize(ramp, 8), ramp), 0);
    EGT_EQ(eg_item(eg_max(eg_cast(eg_image_posterize(ramp, 0), EG_F32))), 0);
    EGT_EQ(eg_get(eg_image_posterize(ramp, 3), 100), 96);
    EGT_EQ(eg_get(eg_image_solarize(ramp, 128), 127), 127);
    EGT_EQ(eg_get(eg_image_solarize(ramp, 128), 128), 127);
    EGT_EQ(eg_get(eg_image_solarize(ramp, 0), 0), 255);
    eg_tensor *dark = eg_cast(eg_mul_scalar(eg_cast(ramp, EG_F32), 0.25), EG_U8);
    eg_tensor *wide = eg_image_autocontrast(dark);
    EGT_EQ(eg_get(wide, 0), 0);
    EGT_EQ(eg_get(wide, 255), 255);
    eg_tensor *flat = eg_full(EG_SHAPE(3, 40, 40), 77, EG_U8);
    EGT_EQ(egt_distance(eg_image_autocontrast(flat), flat), 0);
    EGT_EQ(egt_distance(eg_image_equalize(flat), flat), 0);
    EGT_CHECK(egt_distance(eg_image_equalize(ramp), ramp) < 0.02);
    eg_tensor *skewed = eg_reshape(eg_square(eg_linspace(0, 1, 10000, EG_F32)), EG_SHAPE(1, 100, 100));
    eg_tensor *level = eg_image_equalize(skewed);
    EGT_CHECK(fabs(eg_item(eg_mean(level)) - 0.5) < 0.02 && fabs(eg_item(eg_mean(skewed)) - 0.5) > 0.1);
}

EGT(sharpness)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(1, 5, 5), EG_F32);
    eg_set(x, 12, 0.65);
    eg_tensor *soft = eg_image_sharpness(x, 0);
    EGT_NEAR(eg_get(soft, 12), 0.25, 1e-6);
    EGT_NEAR(eg_get(soft, 6), 0.05, 1e-6);
    EGT_EQ(eg_get(soft, 0), 0);
    EGT_CHECK(egt_distance(eg_image_sharpness(x, 1), x) < 1e-6);
    EGT_NEAR(eg_get(eg_image_sharpness(x, 2), 12), 1, 1e-6); /* limited */
    eg_tensor *small = eg_image_crop(x, 1, 1, 2, 4);
    EGT_EQ(egt_distance(eg_image_sharpness(small, 0), small), 0);
}

/* ---- holes ----------------------------------------------------------------------------------------- */

EGT(cutout_leaves_squares)
{
    eg_tensor *x = eg_ones(EG_SHAPE(3, 10, 12), EG_F32), *u = eg_full(EG_SHAPE(2, 3, 10, 12), 9, EG_U8);
    double sum = 0;
    bool corner = false, full = false;
    for (int i = 0; i < 500; i++) {
        EG_SCOPE {
            eg_seed((uint64_t)i);
            eg_tensor *y = eg_image_cutout(x, 4);
            double gone = 120 - eg_item(eg_sum(eg_select(y, 0, 0)));
            EGT_EQ(egt_distance(eg_select(y, 0, 0), eg_select(y, 0, 2)), 0);
            EGT_CHECK(gone >= 4 && gone <= 16);
            corner |= gone == 4;
            full |= gone == 16;
            sum += gone;
        }
    }
    EGT_CHECK(corner && full && sum / 500 > 12 && sum / 500 < 15);
    eg_tensor *y = eg_image_cutout(u, 100, .fill = 3);
    EGT_EQ(eg_item(eg_max(eg_cast(y, EG_F32))), 3);
    EGT_EQ(eg_get(u, 0), 9);
    EGT_EQ(egt_distance(eg_image_cutout(x, 0), x), 0);
    EGT_CHECK(eg_item(eg_sum(eg_image_cutout(x, 3, .holes = 30))) < eg_item(eg_sum(eg_image_cutout(x, 3))));
}

/* ---- RandAugment ----------------------------------------------------------------------------------- */

EGT(rand_augment_repeats)
{
    eg_tensor *x = eg_image_to_u8(sample());
    int different = 0;
    for (int i = 0; i < 60; i++) {
        EG_SCOPE {
            eg_seed((uint64_t)i);
            eg_tensor *a = eg_image_rand_augment(x);
            eg_random_state after = eg_random_get_state();
            eg_seed((uint64_t)i);
            EGT_EQ(egt_distance(eg_image_rand_augment(x), a), 0);
            EGT_EQ(after.offset, 1); /* two words for each of two */
            EGT_EQ(eg_dtype_of(a), EG_U8);
            different += egt_distance(a, x) > 0;
        }
    }
    EGT_CHECK(different > 40 && different < 60);
    EGT_EQ(egt_distance(eg_image_rand_augment(x, .ops = EG_ZERO), x), 0);
    /* where magnitudes are 0 nothing moves or changes its colour */
    EGT_EQ(egt_distance(eg_image_augment(x, EG_AUGMENT_SHEAR_X, 0), x), 0);
}

/* ---- batches --------------------------------------------------------------------------------------- */

EGT(mixtures_and_their_labels)
{
    eg_tensor *x = egt_random(EG_SHAPE(4, 3, 6, 5), EG_F32, 0, 1),
              *y = eg_from(EG_SHAPE(4), EG_I64, (int64_t[]){0, 2, 1, 2});
    eg_tensor *mixed, *soft, *again, *labels;
    EGT_OK(eg_mixup(x, y, 3, &mixed, &soft, .share = 0.75));
    EGT_NEAR(eg_get(mixed, 0), 0.75 * eg_get(x, 0) + 0.25 * eg_get(x, 3 * 90), 1e-6);
    EGT_NEAR(eg_get(soft, 0), 0.75, 1e-6);
    EGT_NEAR(eg_get(soft, 2), 0.25, 1e-6);
    EGT_EQ(eg_dtype_of(soft), EG_F32);
    EGT_OK(eg_mixup(x, soft, 3, &again, &labels, .share = EG_ZERO)); /* all of the others' */
    EGT_EQ(egt_distance(eg_roll(soft, 1, 0), labels), 0);
    eg_tensor *u = eg_image_to_u8(x);
    for (int i = 0; i < 50; i++) {
        EG_SCOPE {
            eg_seed((uint64_t)i);
            EGT_OK(eg_cutmix(u, y, 3, &mixed, &soft));
            EGT_EQ(eg_dtype_of(mixed), EG_U8);
            double kept = 0;
            for (int k = 0; k < 30; k++) {
                bool mine = eg_get(mixed, k) == eg_get(u, k);
                EGT_CHECK(mine || eg_get(mixed, k) == eg_get(u, 270 + k));
                kept += mine;
            }
            EGT_NEAR(eg_get(soft, 0), kept / 30, 0.04);
            EGT_NEAR(eg_item(eg_sum(soft)), 4, 1e-6);
        }
    }
}

/* Shares have the mean and variance of Beta(a, a). */
EGT(shares_are_drawn_from_beta)
{
    static const double alphas[] = {0.2, 1, 4};
    eg_tensor *x = eg_from(EG_SHAPE(2, 1), EG_F32, (float[]){1, 0}), *y = eg_zeros(EG_SHAPE(2), EG_I64), *mixed, *soft;
    for (int k = 0; k < 3; k++) {
        double sum = 0, squares = 0, a = alphas[k];
        eg_seed(3);
        for (int i = 0; i < 4000; i++) {
            EG_SCOPE {
                EGT_OK(eg_mixup(x, y, 1, &mixed, &soft, .alpha = a));
                double share = eg_get(mixed, 0);
                EGT_CHECK(share >= 0 && share <= 1);
                sum += share;
                squares += (share - 0.5) * (share - 0.5);
            }
        }
        EGT_CHECK(fabs(sum / 4000 - 0.5) < 0.025);
        EGT_NEAR(squares / 4000 * 4 * (2 * a + 1), 1, 0.06);
    }
    EGT_OK(eg_mixup(x, y, 1, &mixed, &soft, .alpha = 1e-3));
    double share = eg_get(mixed, 0);
    EGT_CHECK(share < 1e-6 || share > 1 - 1e-6);
}

EGT(soft_labels_train)
{
    eg_tensor *x = egt_random(EG_SHAPE(3, 4), EG_F32, -1, 1), *y = eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){0, 3, 1});
    eg_tensor *mixed, *soft, *dx;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    EGT_OK(eg_mixup(x, y, 4, &mixed, &soft, .share = 0.75));
    eg_tensor *loss = eg_cross_entropy(mixed, soft);
    EGT_OK(eg_tape_gradients(tape, loss, &x, 1, &dx));
    EGT_CHECK(isfinite(eg_item(loss)) && eg_item(eg_sum(eg_square(dx))) > 1e-4);
}

/* ---- refusals -------------------------------------------------------------------------------------- */

EGT(augmentation_refuses)
{
    eg_tensor *x = sample(), *flat = eg_zeros(EG_SHAPE(3, 4), EG_F32), *two = eg_zeros(EG_SHAPE(2, 4, 4), EG_F32), *m,
              *s;
    eg_tensor *batch = eg_zeros(EG_SHAPE(2, 3, 4, 4), EG_F32), *y = eg_zeros(EG_SHAPE(2), EG_I64);
    EGT_REFUSED(eg_image_posterize(x, 9), EG_EINVAL, "9");
    EGT_REFUSED(eg_image_posterize(flat, 4), EG_ESHAPE, "[3, 4]");
    EGT_REFUSED(eg_image_solarize(x, (double)NAN), EG_EINVAL, "nan");
    EGT_REFUSED(eg_image_autocontrast(eg_cast(x, EG_I64)), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_image_equalize(NULL), EG_EINVAL, "x");
    EGT_REFUSED(eg_image_sharpness(two, 1), EG_ESHAPE, "2 channels");
    EGT_REFUSED(eg_image_sharpness(x, -1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_image_cutout(x, -1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_image_cutout(x, 1, .holes = -2), EG_EINVAL, "-2");
    EGT_REFUSED(eg_image_augment(x, (eg_augment)99, 0), EG_EINVAL, "99");
    EGT_REFUSED(eg_image_augment(x, EG_AUGMENT_BRIGHTNESS, -2), EG_EINVAL, "-1");
    EGT_REFUSED(eg_image_augment(x, EG_AUGMENT_POSTERIZE, 1e300), EG_EINVAL, "9");
    EGT_REFUSED(eg_image_rand_augment(x, .magnitude = 31), EG_EINVAL, "31");
    EGT_REFUSED(eg_image_rand_augment(x, .ops = -1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_image_rand_augment(two), EG_ESHAPE, "2 channels");
    EGT_REFUSED(eg_mixup(batch, y, 2, NULL, &s), EG_EINVAL, "mixed");
    EGT_REFUSED(eg_mixup(batch, y, 2, &m, &s, .share = 2), EG_EINVAL, "share");
    EGT_REFUSED(eg_mixup(batch, y, 2, &m, &s, .alpha = -1), EG_EINVAL, "alpha");
    EGT_REFUSED(eg_mixup(batch, eg_zeros(EG_SHAPE(3), EG_I64), 2, &m, &s), EG_ESHAPE, "[3]");
    EGT_REFUSED(eg_mixup(eg_cast(batch, EG_U8), y, 2, &m, &s), EG_EDTYPE, "u8");
    EGT_REFUSED(eg_mixup(batch, eg_full(EG_SHAPE(2), 7, EG_I64), 2, &m, &s), EG_EINDEX, "7");
    EGT_CHECK(!m && !s);
    EGT_REFUSED(eg_cutmix(flat, eg_zeros(EG_SHAPE(3), EG_I64), 2, &m, &s), EG_ESHAPE, "[3, 4]");
    EGT_REFUSED(eg_cutmix(x, eg_zeros(EG_SHAPE(3), EG_I64), 2, &m, &s), EG_ESHAPE, "batch");
}

static bool augment_all(void *user)
{
    bool ok = true;
    for (int k = 0; k < EG_AUGMENT_COUNT && ok; k++) {
        EG_SCOPE {
            ok = eg_image_augment(user, (eg_augment)k, plausible((eg_augment)k)) != NULL;
        }
    }
    EG_SCOPE {
        eg_tensor *m, *s;
        ok = ok && eg_image_cutout(user, 3) && eg_image_rand_augment(user) &&
             !eg_cutmix(eg_unsqueeze(user, 0), eg_zeros(EG_SHAPE(1), EG_I64), 2, &m, &s);
    }
    return ok;
}

EGT(memory_that_runs_out)
{
    EGT_CHECK(egt_fail_allocations(augment_all, eg_image_to_u8(sample())) > 30);
}
