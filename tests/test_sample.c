/* test_sample.c - what reading images at points refuses, places that are nowhere, and values known
 * beforehand. */
#include <egret/ops/sample.h>

#include "tests/egt.h"

#define FROM(shape, ...) eg_from_values(shape, EG_F32, (double[]){__VA_ARGS__})
#define IDS(n, ...)      eg_from_values(EG_SHAPE(n), EG_I64, (double[]){__VA_ARGS__})

static eg_tensor *zeros(eg_shape s)
{
    return eg_zeros(s, EG_F32);
}

EGT(refused_grids)
{
    eg_tensor *x = zeros(EG_SHAPE(2, 3, 4, 5)), *g = zeros(EG_SHAPE(2, 3, 3, 2));
    EGT_REFUSED(eg_grid_sample(eg_cast(x, EG_I32), g), EG_EDTYPE, "i32");
    EGT_REFUSED(eg_grid_sample(x, eg_cast(g, EG_I64)), EG_EDTYPE, "grid of i64");
    EGT_REFUSED(eg_grid_sample(zeros(EG_SHAPE(3, 4, 5)), g), EG_ESHAPE, "[3, 4, 5]");
    EGT_REFUSED(eg_grid_sample(zeros(EG_SHAPE(2, 3, 0, 5)), g), EG_ESHAPE, "[2, 3, 0, 5]");
    EGT_REFUSED(eg_grid_sample(x, zeros(EG_SHAPE(2, 3, 3, 3))), EG_ESHAPE, "[2, 3, 3, 3]");
    EGT_REFUSED(eg_grid_sample(x, zeros(EG_SHAPE(3, 3, 3, 2))), EG_ESHAPE, "2 images");
    EGT_REFUSED(eg_grid_sample(x, g, .mode = (eg_sample_mode)3), EG_EINVAL, "mode 3");
    EGT_REFUSED(eg_grid_sample(x, g, .border = (eg_sample_border)-1), EG_EINVAL, "border -1");
    EGT_REFUSED(eg_affine_grid(zeros(EG_SHAPE(2, 3, 3)), 2, 2, false), EG_ESHAPE, "[2, 3, 3]");
    EGT_REFUSED(eg_affine_grid(zeros(EG_SHAPE(2, 2, 3)), 0, 2, false), EG_ESHAPE, "height 0");
}

EGT(refused_boxes)
{
    eg_tensor *x = zeros(EG_SHAPE(2, 3, 4, 5)), *b = zeros(EG_SHAPE(2, 4)), *n = IDS(2, 0, 1);
    EGT_REFUSED(eg_crop_and_resize(x, zeros(EG_SHAPE(2, 5)), n, 2, 2), EG_ESHAPE, "[2, 5]");
    EGT_REFUSED(eg_crop_and_resize(x, b, IDS(3, 0, 1, 1), 2, 2), EG_ESHAPE, "[3]");
    EGT_REFUSED(eg_crop_and_resize(x, b, n, 0, 2), EG_ESHAPE, "height 0");
    EGT_REFUSED(eg_crop_and_resize(x, b, n, 2, -1), EG_ESHAPE, "width -1");
    EGT_REFUSED(eg_crop_and_resize(x, b, n, 2, 2, .mode = EG_SAMPLE_BICUBIC), EG_EINVAL, "mode 2");
    EGT_REFUSED(eg_crop_and_resize(x, b, IDS(2, 0, 2), 2, 2), EG_EINDEX, "2");
    EGT_REFUSED(eg_crop_and_resize(x, b, IDS(2, -1, 0), 2, 2), EG_EINDEX, "-1");
    EGT_REFUSED(eg_crop_and_resize(x, b, zeros(EG_SHAPE(2)), 2, 2), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_roi_align(x, b, IDS(2, 0, 2), 2, 2), EG_EINDEX, "2");
    EGT_REFUSED(eg_roi_align(x, b, n, 2, 2, .sampling_ratio = -1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_roi_align(x, b, n, 2, 2, .spatial_scale = NAN), EG_EINVAL, "nan");
    EGT_REFUSED(eg_roi_align(x, b, n, 2, 2, .spatial_scale = EG_ZERO), EG_EINVAL, "spatial_scale 0 is not");
    EGT_REFUSED(eg_roi_align(x, FROM(EG_SHAPE(2, 4), 0, 0, 1e9, 1, 0, 0, 1, 1), n, 2, 2), EG_EINVAL, "4096");
    EGT_REFUSED(eg_roi_align(x, FROM(EG_SHAPE(2, 4), 0, 0, INFINITY, 1, 0, 0, 1, 1), n, 2, 2), EG_EINVAL, "inf");
}

/* Points that are nowhere read nothing and pass nothing on, in every mode and border. */
EGT(nowhere)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30};
    for (int k = 0; k < 3 * 3 * 2 * 5; k++) {
        eg_sample_mode mode = (eg_sample_mode)(k % 3);
        eg_sample_border border = (eg_sample_border)(k / 3 % 3);
        double v = odd[k / 18];
        for (int last = 0; last < 2; last++) {
            eg_tensor *x = eg_full(EG_SHAPE(1, 2, 8, 9), 1, EG_F32), *grads[2];
            x = last ? eg_channels_last(x) : x;
            eg_tensor *g = FROM(EG_SHAPE(1, 1, 2, 2), v, 0, 0.1, 0.1);
            eg_tape tape = eg_tape_open();
            EGT_OK(eg_tape_watch(tape, x));
            EGT_OK(eg_tape_watch(tape, g));
            eg_tensor *y = eg_grid_sample(x, g, .mode = mode, .border = border, .align_corners = k / 9 % 2);
            EGT_CHECK(y);
            eg_tensor *both[] = {x, g}, *sum = eg_sum(y);
            EGT_OK(eg_tape_gradients(tape, sum, both, 2, grads));
            bool held = border == EG_SAMPLE_EDGE || (border == EG_SAMPLE_REFLECT && isfinite(v));
            EGT_NEAR(eg_get(y, 0), isnan(v) || !held ? 0 : 1, 1e-5);
            EGT_NEAR(eg_get(y, 1), 1, 1e-5);
            EGT_CHECK(fabs(eg_get(grads[1], 0)) < 1e-4 || (border == EG_SAMPLE_REFLECT && isfinite(v)));
            EGT_NEAR(eg_item(eg_sum(grads[0])), 2 * (1 + (isnan(v) || !held ? 0 : 1)), 1e-4);
        }
    }
}

/* A pixel without weight does not count, not even as infinity times 0. */
EGT(infinities)
{
    for (int last = 0; last < 2; last++) {
        eg_tensor *x = eg_full(EG_SHAPE(1, 2, 2, 2), 1, EG_F32);
        EGT_OK(eg_set(x, 3, INFINITY));
        x = last ? eg_channels_last(x) : x;
        eg_tensor *y = eg_grid_sample(x, FROM(EG_SHAPE(1, 1, 2, 2), -1, -1, 0, 0), .align_corners = true);
        EGT_CHECK(eg_get(y, 0) == 1 && isinf(eg_get(y, 1)) && eg_get(y, 2) == 1 && eg_get(y, 3) == 1);
    }
}

EGT(known_values)
{
    eg_tensor *x = FROM(EG_SHAPE(1, 1, 2, 3), 0, 1, 2, 3, 4, 5);
    eg_tensor *same =
        eg_grid_sample(x, eg_affine_grid(FROM(EG_SHAPE(1, 2, 3), 1, 0, 0, 0, 1, 0), 2, 3, true), .align_corners = true);
    EGT_CHECK(egt_distance(same, x) < 1e-6);
    eg_tensor *whole = eg_crop_and_resize(x, FROM(EG_SHAPE(2, 4), 0, 0, 1, 1, 1, 1, 0, 0), IDS(2, 0, 0), 2, 3);
    EGT_EQ(egt_distance(whole, FROM(EG_SHAPE(2, 1, 2, 3), 0, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 0)), 0);
    eg_tensor *out =
        eg_crop_and_resize(x, FROM(EG_SHAPE(2, 4), -1, 0, 1, 1, NAN, 0, 1, 1), IDS(2, 0, 0), 3, 1, .extrapolation = 7);
    EGT_EQ(egt_distance(out, FROM(EG_SHAPE(2, 1, 3, 1), 7, 1, 4, 7, 7, 7)), 0);
    eg_tensor *roi = eg_roi_align(x, FROM(EG_SHAPE(1, 4), 0, 0, 2, 1), IDS(1, 0), 1, 1, .sampling_ratio = 1);
    EGT_EQ(eg_item(roi), 2.5);
    /* Boxes without size and with NaN have no points to count. */
    roi = eg_roi_align(x, FROM(EG_SHAPE(2, 4), 1, 1, 0, 0, NAN, 0, 2, 1), IDS(2, 0, 0), 1, 1, .aligned = true);
    EGT_EQ(egt_distance(roi, zeros(EG_SHAPE(2, 1, 1, 1))), 0);
    EGT_CHECK(!eg_grid_sample(NULL, x) && !eg_roi_align(x, NULL, IDS(1, 0), 1, 1));
    eg_clear_error();
}

EGT(layout_and_dtype)
{
    eg_tensor *x = eg_channels_last(egt_random(EG_SHAPE(2, 3, 4, 5), EG_F16, -1, 1));
    eg_tensor *y = eg_grid_sample(x, egt_random(EG_SHAPE(2, 3, 3, 2), EG_F32, -1, 1));
    EGT_CHECK(eg_is_channels_last(y) && eg_dtype_of(y) == EG_F16);
}

/* Where the gradient of the points' gradient is asked for, it is refused in words. */
EGT(no_second_order_of_points)
{
    eg_tensor *x = egt_random(EG_SHAPE(1, 2, 3, 4), EG_F32, -1, 1), *d;
    eg_tensor *g = egt_random(EG_SHAPE(1, 2, 2, 2), EG_F32, -1, 1);
    eg_tape outer = eg_tape_open(), inner;
    EGT_OK(eg_tape_watch(outer, g));
    inner = eg_tape_open();
    EGT_OK(eg_tape_watch(inner, g));
    eg_tensor *y = eg_sum(eg_grid_sample(x, g));
    EGT_OK(eg_tape_gradients(inner, y, &g, 1, &d));
    eg_tensor *again;
    EGT_REFUSED(eg_tape_gradients(outer, eg_sum(d), &g, 1, &again), EG_EINVAL, "second order");
}

/* Whatever vectors there are, and however long the last of a stretch is. */
EGT(every_instruction_set)
{
    static const char *const sets[] = {"base", "avx2", "avx512"};
    const char *was = eg_cpu_isa();
    eg_tensor *x = egt_random(EG_SHAPE(2, 3, 9, 8), EG_F32, -1, 1), *y[EG_SAMPLE_BICUBIC + 1];
    eg_tensor *g = egt_random(EG_SHAPE(2, 11, 13, 2), EG_F32, -1.2, 1.2);
    EGT_OK(eg_set(x, 5, INFINITY));
    for (int set = 0; set < 3; set++) {
        if (eg_debug_isa(sets[set])) {
            eg_clear_error();
            continue;
        }
        for (int mode = 0; mode <= EG_SAMPLE_BICUBIC; mode++) {
            eg_tensor *now = eg_grid_sample(x, g, .mode = (eg_sample_mode)mode);
            y[mode] = set ? y[mode] : now;
            eg_tensor *finite = eg_isfinite(now), *zero = eg_zeros_like(now);
            EGT_EQ(eg_item(eg_all(eg_eq(finite, eg_isfinite(y[mode])))), 1);
            EGT_CHECK(egt_distance(eg_where(finite, now, zero), eg_where(finite, y[mode], zero)) < 1e-5);
        }
    }
    EGT_OK(eg_debug_isa(was));
}
