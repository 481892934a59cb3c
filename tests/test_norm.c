/* test_norm.c - running statistics, layouts, large means, determinism, refusals of normalisation.
 */
#include "tests/egt.h"

EGT(one_value_per_channel_leaves_the_bias)
{
    eg_tensor *x = egt_random(EG_SHAPE(1, 3, 1, 1), EG_F32, -1, 1);
    eg_tensor *weight = egt_random(EG_SHAPE(3), EG_F32, 1, 2), *bias = egt_random(EG_SHAPE(3), EG_F32, 1, 2);
    eg_tensor *mean = eg_zeros(EG_SHAPE(3), EG_F32), *var = eg_ones(EG_SHAPE(3), EG_F32), *dx;
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    eg_tensor *y = eg_batch_norm(x, weight, bias, mean, var, .training = true, .momentum = 0.5);
    EGT_OK(eg_tape_gradients(tape, eg_sum(eg_square(y)), &x, 1, &dx));
    EGT_EQ(egt_distance(eg_reshape(y, EG_SHAPE(3)), bias), 0);
    EGT_EQ(eg_item(eg_sum(eg_abs(dx))), 0);
    EGT_EQ(eg_get(var, 2), 0.5);
    EGT_EQ(eg_get(mean, 1), eg_get(x, 1) * 0.5);
}

EGT(running_statistics_follow_the_batches)
{
    /* channel 0: 1, 3, 5, 7 (mean 4, unbiased variance 20/3); channel 1: constant 2 */
    eg_tensor *x = eg_from_values(EG_SHAPE(4, 2), EG_F64, (double[]){1, 2, 3, 2, 5, 2, 7, 2});
    for (int biased = 0; biased < 2; biased++) {
        eg_tensor *mean = eg_from_values(EG_SHAPE(2), EG_F32, (double[]){10, 0});
        eg_tensor *var = eg_ones(EG_SHAPE(2), EG_F64);
        EGT_CHECK(eg_batch_norm(x, NULL, NULL, mean, var, .training = true, .momentum = 0.25, .biased = biased));
        EGT_NEAR(eg_get(mean, 0), 10 * 0.75 + 4 * 0.25, 1e-6);
        EGT_NEAR(eg_get(mean, 1), 0.5, 1e-6);
        EGT_NEAR(eg_get(var, 0), 0.75 + 0.25 * (biased ? 5 : 20.0 / 3), 1e-12);
        EGT_NEAR(eg_get(var, 1), 0.75, 1e-12);
    }
    /* evaluation reads them and leaves them alone */
    eg_tensor *mean = eg_from_values(EG_SHAPE(2), EG_F64, (double[]){1, 2});
    eg_tensor *var = eg_from_values(EG_SHAPE(2), EG_F64, (double[]){4, 1});
    eg_tensor *y = eg_batch_norm(x, NULL, NULL, mean, var, .eps = 1e-12);
    EGT_NEAR(eg_get(y, 6), (7 - 1) / 2.0, 1e-9);
    EGT_NEAR(eg_get(y, 7), 0, 1e-9);
    EGT_EQ(eg_get(mean, 0), 1);
    EGT_EQ(eg_get(var, 0), 4);
}

EGT(an_empty_batch_changes_nothing)
{
    eg_tensor *mean = eg_full(EG_SHAPE(3), 5, EG_F32), *var = eg_ones(EG_SHAPE(3), EG_F32);
    eg_tensor *y = eg_batch_norm(eg_zeros(EG_SHAPE(0, 3, 2, 2), EG_F32), NULL, NULL, mean, var, .training = true);
    EGT_EQ(eg_numel(y), 0);
    EGT_CHECK(eg_batch_norm(eg_zeros(EG_SHAPE(2, 3, 0), EG_F32), NULL, NULL, mean, var, .training = true));
    EGT_EQ(eg_get(mean, 1), 5);
    EGT_EQ(eg_get(var, 1), 1);
    eg_tensor *w = eg_ones(EG_SHAPE(3), EG_F32), *dw;
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, w);
    y = eg_batch_norm(eg_zeros(EG_SHAPE(2, 3, 0), EG_F32), w, NULL, NULL, NULL, .training = true, .eps = EG_ZERO);
    EGT_OK(eg_tape_gradients(tape, eg_sum(y), &w, 1, &dw));
    EGT_EQ(eg_get(dw, 1), 0);
}

/* Both layouts give the same numbers, each in its own layout, forward and backward. */
EGT(layouts_agree_and_stay)
{
    static const eg_shape shapes[] = {
        {4, {3, 5, 7, 6}}, {4, {2, 64, 9, 9}}, {4, {2, 1, 8, 8}}, {3, {4, 600, 3}}, {5, {2, 3, 4, 3, 5}}};
    for (int k = 0; k < 10; k++) {
        eg_scope s = eg_scope_push();
        eg_shape shape = shapes[k / 2];
        bool group = k % 2;
        snprintf(egt_case, sizeof egt_case, "layouts, %s norm %d", group ? "instance" : "batch", k / 2);
        eg_tensor *x = egt_random(shape, EG_F32, -1, 3), *dy = egt_random(shape, EG_F32, -1, 1);
        eg_tensor *w = egt_random(EG_SHAPE(shape.dim[1]), EG_F32, 0.5, 2), *y[2], *g[2][2];
        for (int last = 0; last < 2; last++) {
            eg_tensor *in[2] = {last ? eg_channels_last(x) : x, w};
            eg_tape tape = eg_tape_open();
            eg_tape_watch(tape, in[0]);
            eg_tape_watch(tape, w);
            y[last] = group ? eg_instance_norm(in[0], w, NULL)
                            : eg_batch_norm(in[0], w, NULL, NULL, NULL, .training = true, .relu = true);
            EGT_CHECK(eg_is_channels_last(y[last]) == eg_is_channels_last(in[0]));
            EGT_OK(eg_tape_gradients(tape, y[last], in, 2, g[last], .dy = dy));
        }
        EGT_CHECK(egt_distance(y[0], y[1]) < 2e-6);
        EGT_CHECK(egt_distance(g[0][0], g[1][0]) < 1e-5);
        EGT_CHECK(egt_distance(g[0][1], g[1][1]) < 2e-5);
        eg_scope_pop(s, NULL);
    }
}

EGT(a_large_mean_costs_no_digits)
{
    eg_tensor *x = egt_random(EG_SHAPE(8, 4, 30, 30), EG_F32, -1, 1);
    eg_tensor *far = eg_add_scalar(x, 4096), *near = eg_sub_scalar(far, 4096); /* what f32 left of x */
    for (int last = 0; last < 2; last++) {
        eg_tensor *a = last ? eg_channels_last(far) : far, *b = last ? eg_channels_last(near) : near;
        EGT_CHECK(egt_distance(eg_batch_norm(a, NULL, NULL, NULL, NULL, .training = true),
                               eg_batch_norm(b, NULL, NULL, NULL, NULL, .training = true)) < 1e-3);
        EGT_CHECK(egt_distance(eg_instance_norm(a, NULL, NULL), eg_instance_norm(b, NULL, NULL)) < 1e-3);
    }
    eg_tensor *far_rows = eg_reshape(far, EG_SHAPE(32, 900)), *rows = eg_reshape(near, EG_SHAPE(32, 900));
    EGT_CHECK(egt_distance(eg_layer_norm(far_rows, NULL, NULL), eg_layer_norm(rows, NULL, NULL)) < 1e-3);
}

/* More than are summed side by side, over more rows than are summed at once. */
EGT(many_channels_agree_with_f64)
{
    eg_tensor *x[2] = {egt_random(EG_SHAPE(75, 3001), EG_F32, -1, 1)}, *y[2], *g[2];
    x[1] = eg_cast(x[0], EG_F64);
    for (int k = 0; k < 2; k++) {
        eg_tape tape = eg_tape_open();
        eg_tape_watch(tape, x[k]);
        y[k] = eg_batch_norm(x[k], NULL, NULL, NULL, NULL, .training = true);
        EGT_OK(eg_tape_gradients(tape, eg_sum(eg_mul(y[k], eg_square(x[k]))), &x[k], 1, &g[k]));
    }
    EGT_CHECK(egt_distance(eg_cast(y[0], EG_F64), y[1]) < 1e-5);
    EGT_CHECK(egt_distance(eg_cast(g[0], EG_F64), g[1]) < 1e-5);
}

/* Bit for bit the same for any number of threads. */
EGT(normalisation_does_not_depend_on_threads)
{
    int threads = eg_threads();
    eg_tensor *images = egt_random(EG_SHAPE(16, 24, 20, 20), EG_F32, -1, 1),
              *rows = eg_reshape(images, EG_SHAPE(-1, 600));
    eg_tensor *w = egt_random(EG_SHAPE(24), EG_F32, 0.5, 2), *v = egt_random(EG_SHAPE(600), EG_F32, 0.5, 2);
    for (int k = 0; k < 4; k++) {
        eg_tensor *y[2], *g[2][2];
        for (int one = 0; one < 2; one++) {
            eg_set_threads(one ? 1 : threads);
            eg_tensor *in[2] = {k == 3 ? rows : k == 1 ? eg_channels_last(images) : images, k == 3 ? v : w};
            eg_tape tape = eg_tape_open();
            eg_tape_watch(tape, in[0]);
            eg_tape_watch(tape, in[1]);
            y[one] = k == 3   ? eg_layer_norm(in[0], v, NULL)
                     : k == 2 ? eg_group_norm(in[0], 4, w, NULL)
                              : eg_batch_norm(in[0], w, NULL, NULL, NULL, .training = true);
            EGT_OK(eg_tape_gradients(tape, eg_sum(eg_square(y[one])), in, 2, g[one]));
        }
        eg_set_threads(threads);
        EGT_EQ(egt_distance(y[0], y[1]), 0);
        EGT_EQ(egt_distance(g[0][0], g[1][0]), 0);
        EGT_EQ(egt_distance(g[0][1], g[1][1]), 0);
    }
}

EGT(halves_take_f32_parameters)
{
    eg_tensor *x = egt_random(EG_SHAPE(4, 3, 5, 5), EG_F32, -1, 1), *h = eg_cast(x, EG_BF16);
    eg_tensor *w = egt_random(EG_SHAPE(3), EG_F32, 0.5, 2), *mean = eg_zeros(EG_SHAPE(3), EG_F32);
    eg_tensor *var = eg_ones(EG_SHAPE(3), EG_F32);
    eg_tensor *y = eg_batch_norm(h, w, NULL, mean, var, .training = true);
    EGT_EQ(eg_dtype_of(y), EG_BF16);
    EGT_CHECK(egt_distance(eg_cast(y, EG_F32), eg_batch_norm(x, w, NULL, NULL, NULL, .training = true)) < 2e-2);
    EGT_CHECK(eg_get(mean, 0) != 0);
    EGT_EQ(eg_dtype_of(eg_layer_norm(h, NULL, NULL)), EG_BF16);
}

EGT(bad_normalisations_are_refused)
{
    eg_tensor *x = eg_ones(EG_SHAPE(4, 3, 2), EG_F32), *three = eg_ones(EG_SHAPE(3), EG_F32);
    eg_tensor *two = eg_ones(EG_SHAPE(2), EG_F32), *none = eg_ones(EG_SHAPE(0), EG_F32);
    eg_tensor *ints = eg_ones(EG_SHAPE(3), EG_I32);
    eg_tensor *bad = eg_from_values(EG_SHAPE(3), EG_F32, (double[]){1, -1, 1});
    EGT_REFUSED(eg_batch_norm(x, two, NULL, NULL, NULL, .training = true), EG_ESHAPE, "weight is [2]");
    EGT_REFUSED(eg_batch_norm(x, NULL, none, NULL, NULL, .training = true), EG_ESHAPE, "bias is [0]");
    EGT_REFUSED(eg_batch_norm(x, NULL, NULL, two, three), EG_ESHAPE, "running_mean");
    EGT_REFUSED(eg_batch_norm(x, NULL, NULL, three, x), EG_ESHAPE, "running_var");
    EGT_REFUSED(eg_batch_norm(x, ints, NULL, NULL, NULL, .training = true), EG_EDTYPE, "weight is i32");
    EGT_REFUSED(eg_batch_norm(x, NULL, NULL, NULL, NULL), EG_EINVAL, "running_mean is NULL");
    EGT_REFUSED(eg_batch_norm(x, NULL, NULL, three, NULL), EG_EINVAL, "running_var is NULL");
    EGT_REFUSED(eg_batch_norm(x, NULL, NULL, three, bad), EG_EINVAL, "running_var[1] is -1");
    EGT_REFUSED(eg_batch_norm(x, NULL, NULL, three, three, .momentum = 2), EG_EINVAL, "momentum 2");
    EGT_REFUSED(eg_batch_norm(x, NULL, NULL, three, three, .eps = -1), EG_EINVAL, "eps -1");
    EGT_REFUSED(eg_batch_norm(x, NULL, NULL, three, three, .eps = (double)NAN), EG_EINVAL, "eps");
    EGT_REFUSED(eg_batch_norm(three, NULL, NULL, NULL, NULL, .training = true), EG_ESHAPE, "no channels");
    EGT_REFUSED(eg_batch_norm(eg_ones(EG_SHAPE(4, 3), EG_I64), NULL, NULL, NULL, NULL, .training = true), EG_EDTYPE,
                "i64");
    EGT_REFUSED(eg_batch_norm(NULL, NULL, NULL, NULL, NULL), EG_EINVAL, "x");
    EGT_REFUSED(eg_group_norm(x, 2, NULL, NULL), EG_ESHAPE, "2 groups");
    EGT_REFUSED(eg_group_norm(x, 0, NULL, NULL), EG_ESHAPE, "0 groups");
    EGT_REFUSED(eg_group_norm(eg_ones(EG_SHAPE(4, 3, 0), EG_F32), 1, NULL, NULL), EG_ESHAPE, "0 values");
    EGT_REFUSED(eg_instance_norm(eg_ones(EG_SHAPE(4, 3), EG_F32), NULL, NULL), EG_ESHAPE, "1 values");
    EGT_REFUSED(eg_layer_norm(x, three, NULL), EG_ESHAPE, "weight is [3]");
    EGT_REFUSED(eg_layer_norm(x, NULL, NULL, .axes = 4), EG_ESHAPE, "4 trailing axes");
    EGT_REFUSED(eg_layer_norm(x, NULL, NULL, .axes = -1), EG_ESHAPE, "-1 trailing axes");
    EGT_REFUSED(eg_layer_norm(eg_ones(EG_SHAPE(4, 0), EG_F32), NULL, NULL), EG_ESHAPE, "axis 1");
    EGT_REFUSED(eg_rms_norm(eg_scalar(1, EG_F32), NULL), EG_ESHAPE, "trailing");
    EGT_REFUSED(eg_local_response_norm(NULL), EG_EINVAL, "x");
    EGT_REFUSED(eg_local_response_norm(eg_ones(EG_SHAPE(3), EG_F32)), EG_ESHAPE, "[3]");
    EGT_REFUSED(eg_local_response_norm(x, .channels = -1), EG_EINVAL, "-1 channels");
    EGT_REFUSED(eg_local_response_norm(x, .alpha = (double)NAN), EG_EINVAL, "alpha nan");
    EGT_REFUSED(eg_scale_channels(x, two, NULL), EG_ESHAPE, "scale is [2]");
    EGT_REFUSED(eg_scale_channels(x, NULL, NULL), EG_EINVAL, "scale");
}

/* A refusal leaves the running statistics as they were. */
EGT(tracked_running_statistics_are_refused)
{
    eg_tensor *x = egt_random(EG_SHAPE(4, 3), EG_F32, -1, 1), *mean = eg_zeros(EG_SHAPE(3), EG_F32);
    eg_tensor *var = eg_ones(EG_SHAPE(3), EG_F32);
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, var);
    EGT_REFUSED(eg_batch_norm(x, NULL, NULL, mean, var, .training = true), EG_ESTATE, "batch_norm");
    EGT_OK(eg_tape_close(tape));
    EGT_EQ(eg_get(mean, 0), 0);
    EGT_EQ(eg_get(var, 0), 1);
}
