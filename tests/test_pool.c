/* test_pool.c - maxima, places, NaN, layouts and refusals of pooling. */
#include "tests/egt.h"

EGT(maxima_and_their_places)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(1, 1, 3, 4), EG_F32, (double[]){1, 2, 3, 4, 8, 7, 6, 5, 9, 9, 1, 0});
    eg_tensor *at, *y = eg_max_pool2d(x, .kernel = 2, .stride = 1, .indices = &at);
    static const double want[] = {8, 7, 6, 9, 9, 6}, place[] = {4, 5, 6, 8, 9, 6};
    EGT_EQ(eg_dtype_of(at), EG_I64);
    for (int i = 0; i < 6; i++) {
        EGT_EQ(eg_get(y, i), want[i]);
        EGT_EQ(eg_get(at, i), place[i]);
    }
    eg_tensor *back = eg_max_unpool(y, at, EG_SHAPE(3, 4));
    EGT_EQ(eg_get(back, 4), 8);
    EGT_EQ(eg_get(back, 6), 6); /* two windows share it */
    EGT_EQ(eg_get(back, 0), 0);
}

/* Of several values for one place the last stays, and it alone has a gradient. */
EGT(unpooling_to_one_place)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(1, 1, 4), EG_F32, (double[]){1, 2, 3, 4}), *dx;
    eg_tensor *at = eg_from(EG_SHAPE(1, 1, 4), EG_I64, (int64_t[]){2, 0, 2, 2});
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *y = eg_max_unpool(x, at, EG_SHAPE(3));
    EGT_OK(eg_tape_gradients(tape, eg_sum(eg_square(y)), &x, 1, &dx));
    static const double want[] = {2, 0, 4}, slope[] = {0, 4, 0, 8};
    for (int i = 0; i < 4; i++) {
        EGT_EQ(eg_get(dx, i), slope[i]);
        EGT_CHECK(i == 3 || eg_get(y, i) == want[i]);
    }
}

/* Rows of cells between the taps of the first windows belong to later ones: planes say what pixels say. */
EGT(dilation_beyond_the_stride)
{
    eg_tensor *two = eg_from_values(EG_SHAPE(1, 1, 2, 1), EG_F32, (double[]){10, 20});
    two = eg_max_pool2d(two, .kernels = {2, 1}, .strides = {1, 1}, .dilations = {2, 1}, .pads = {{1, 1}, {0, 0}});
    EGT_CHECK(eg_get(two, 0) == 20 && eg_get(two, 1) == 10);
    for (int way = 0; way < 3 * 3 * 3 * 3 * 2; way++) {
        EG_SCOPE {
            const int64_t kernel = 1 + way % 3, stride = 1 + way / 3 % 3, dilation = 1 + way / 9 % 3;
            const int64_t pad = way / 27 % 3;
            const bool deep = way / 81;
            if (pad > (kernel - 1) * dilation) {
                continue;
            }
            const eg_shape shape = deep ? EG_SHAPE(1, 2, 6, 7, 5) : EG_SHAPE(2, 3, 9, 7);
            eg_tensor *x = egt_random(shape, EG_F32, -1, 1), *y[2], *g[2];
            snprintf(egt_case, sizeof egt_case, "kernel %d, stride %d, dilation %d, padding %d", (int)kernel,
                     (int)stride, (int)dilation, (int)pad);
            for (int i = 0; i < 2; i++) {
                eg_tensor *in = i ? eg_channels_last(x) : x;
                eg_tape tape = eg_tape_open();
                EGT_OK(eg_tape_watch(tape, in));
                y[i] = (deep ? eg_max_pool3d_with
                             : eg_max_pool2d_with)(in, &(eg_pool_options){.size = sizeof(eg_pool_options),
                                                                          .kernel = kernel,
                                                                          .stride = stride,
                                                                          .dilation = dilation,
                                                                          .padding = pad});
                if (y[i]) {
                    EGT_OK(eg_tape_gradients(tape, eg_sum(eg_square(y[i])), &in, 1, &g[i]));
                }
            }
            EGT_EQ(y[0] != NULL, y[1] != NULL);
            eg_clear_error(); /* a window may hold nothing but padding */
            EGT_CHECK(!y[0] || (egt_distance(y[0], y[1]) == 0 && egt_distance(g[0], g[1]) < 1e-6));
        }
    }
}

/* Padding is below everything, NaN above everything, whatever the layout. */
EGT(special_values_in_windows)
{
    for (int k = 0; k < 4; k++) {
        eg_scope s = eg_scope_push();
        snprintf(egt_case, sizeof egt_case, "special values, %s, %s", k & 1 ? "channels-last" : "planes",
                 k & 2 ? "f64" : "f32");
        eg_tensor *x = eg_full(EG_SHAPE(1, 3, 4, 4), -(double)INFINITY, k & 2 ? EG_F64 : EG_F32);
        eg_set(x, 5, (double)NAN);
        eg_set(x, 16 + 5, -3);
        x = k & 1 ? eg_channels_last(x) : x;
        eg_tensor *at, *y = eg_max_pool2d(x, .kernel = 3, .stride = 2, .padding = 1, .indices = &at);
        EGT_CHECK(isnan(eg_get(y, 0)) && eg_get(at, 0) == 5);
        EGT_CHECK(eg_get(y, 4) == -3 && eg_get(at, 4) == 5);
        EGT_CHECK(eg_get(y, 8) == -(double)INFINITY && eg_get(at, 8) == 0);
        EGT_CHECK(eg_get(y, 11) == -(double)INFINITY && eg_get(at, 11) == 5);
        eg_scope_pop(s, NULL);
    }
}

EGT(a_mean_counts_what_it_says)
{
    eg_tensor *x = eg_ones(EG_SHAPE(1, 1, 3, 3), EG_F32);
    EGT_NEAR(eg_get(eg_avg_pool2d(x, .kernel = 2, .stride = 2, .padding = 1), 0), 0.25, 1e-7);
    EGT_NEAR(eg_get(eg_avg_pool2d(x, .kernel = 2, .stride = 2, .padding = 1, .exclude_pad = true), 0), 1, 1e-7);
    EGT_NEAR(eg_get(eg_avg_pool2d(x, .kernel = 2, .padding = EG_SAME), 3), 1, 1e-7);
    EGT_NEAR(eg_get(eg_avg_pool2d(x, .kernel = 2, .ceil_mode = true), 3), 1, 1e-7); /* behind is not counted */
}

EGT(pooling_keeps_the_layout_and_the_numbers)
{
    int threads = eg_threads();
    eg_tensor *x = egt_random(EG_SHAPE(4, 19, 33, 30), EG_F32, -1, 1), *last = eg_channels_last(x);
    for (int k = 0; k < 3; k++) {
        eg_tensor *y[3], *g[3];
        for (int i = 0; i < 3; i++) {
            eg_tensor *in = i ? last : x;
            eg_set_threads(i == 2 ? 1 : threads);
            eg_tape tape = eg_tape_open();
            eg_tape_watch(tape, in);
            y[i] = k == 0   ? eg_max_pool2d(in, .kernel = 3, .stride = 2, .padding = 1)
                   : k == 1 ? eg_avg_pool2d(in, .kernel = 3, .stride = 2, .padding = EG_SAME)
                            : eg_adaptive_avg_pool(in, EG_SHAPE(7, 4));
            EGT_CHECK(eg_is_channels_last(y[i]) == (i > 0));
            EGT_OK(eg_tape_gradients(tape, eg_sum(eg_square(y[i])), &in, 1, &g[i]));
        }
        eg_set_threads(threads);
        EGT_CHECK(egt_distance(y[0], y[1]) < 1e-6 && egt_distance(g[0], g[1]) < 1e-5);
        EGT_EQ(egt_distance(y[1], y[2]), 0);
        EGT_EQ(egt_distance(g[1], g[2]), 0);
    }
}

EGT(a_large_mean_loses_no_digits)
{
    eg_tensor *x = eg_full(EG_SHAPE(1, 20, 300, 200), 0.1, EG_F32);
    EGT_NEAR(eg_get(eg_adaptive_avg_pool(x, EG_SHAPE(1, 1)), 3), (double)0.1f, 1e-6);
    EGT_NEAR(eg_get(eg_adaptive_avg_pool(eg_channels_last(x), EG_SHAPE(1, 1)), 3), (double)0.1f, 1e-6);
}

EGT(bad_pools_are_refused)
{
    eg_tensor *x = eg_ones(EG_SHAPE(1, 2, 5, 6), EG_F32), *at;
    EGT_REFUSED(eg_max_pool2d(NULL, .kernel = 2), EG_EINVAL, "x");
    EGT_REFUSED(eg_max_pool2d(x, .stride = 1), EG_EINVAL, "no kernel");
    EGT_REFUSED(eg_max_pool2d(x, .kernel = -1), EG_EINVAL, "kernel is -1");
    EGT_REFUSED(eg_max_pool2d(x, .kernel = 2, .stride = -2), EG_EINVAL, "stride is -2");
    EGT_REFUSED(eg_max_pool2d(x, .kernel = 2, .padding = -2), EG_EINVAL, "padding is -2");
    EGT_REFUSED(eg_max_pool2d(x, .kernel = 2, .dilation = INT64_MAX), EG_EINVAL, "dilation");
    EGT_REFUSED(eg_max_pool2d(x, .kernels = {2, 2, 2}), EG_EINVAL, "spatial axis 2");
    EGT_REFUSED(eg_max_pool2d(x, .kernel = 2, .padding = 1, .pads = {{1, 1}}), EG_EINVAL, "both");
    EGT_REFUSED(eg_max_pool2d(x, .kernel = 7), EG_ESHAPE, "window of 7 cells");
    EGT_REFUSED(eg_max_pool2d(x, .kernel = 2, .padding = 2, .ceil_mode = true), EG_ESHAPE, "padding be smaller");
    EGT_REFUSED(eg_max_pool1d(eg_ones(EG_SHAPE(1, 1, 1), EG_F32), .kernel = 2, .dilation = 3, .padding = 2), EG_ESHAPE,
                "nothing but padding");
    EGT_REFUSED(eg_max_pool2d(x, .kernel = INT32_MAX, .padding = EG_SAME), EG_ESHAPE, "too large");
    EGT_REFUSED(eg_max_pool1d(x, .kernel = 2), EG_ESHAPE, "1 spatial");
    EGT_REFUSED(eg_max_pool3d(eg_ones(EG_SHAPE(2, 5, 6), EG_F32), .kernel = 2), EG_ESHAPE, "3 spatial");
    EGT_REFUSED(eg_max_pool2d(x, .kernel = 2, .exclude_pad = true), EG_EINVAL, "exclude_pad");
    EGT_REFUSED(eg_avg_pool2d(x, .kernel = 2, .dilation = 2), EG_EINVAL, "dilation");
    EGT_REFUSED(eg_avg_pool2d(x, .kernel = 2, .indices = &at), EG_EINVAL, "indices");
    EGT_REFUSED(eg_adaptive_avg_pool(x, EG_SHAPE(0, 1)), EG_ESHAPE, "size 0");
    EGT_REFUSED(eg_adaptive_max_pool(x, EG_SHAPE(2, -1)), EG_ESHAPE, "size -1");
    EGT_REFUSED(eg_adaptive_max_pool(x, EG_SHAPE(2)), EG_ESHAPE, "1 spatial");
    EGT_REFUSED(eg_adaptive_max_pool(x, EG_SCALAR), EG_ESHAPE, "0 sizes");
    EGT_EQ(eg_size(eg_adaptive_avg_pool(x, EG_SHAPE(8, 9)), 3), 9); /* windows may repeat cells */
}

/* An argmax that points outside is refused by what follows it. */
EGT(bad_places_are_refused)
{
    eg_tensor *y = eg_ones(EG_SHAPE(1, 1, 2, 2), EG_F32);
    static const double bad[] = {20, -21, 9e15, -9e15};
    for (int i = 0; i < 4; i++) {
        eg_tensor *at = eg_zeros(EG_SHAPE(1, 1, 2, 2), EG_I64);
        eg_set(at, 2, bad[i]);
        EGT_REFUSED(eg_max_unpool(y, at, EG_SHAPE(4, 5)), EG_EINDEX, "");
    }
    EGT_REFUSED(eg_max_unpool(y, eg_zeros(EG_SHAPE(1, 1, 2), EG_I64), EG_SHAPE(4, 5)), EG_ESHAPE, "indices");
    EGT_REFUSED(eg_max_unpool(y, eg_zeros(EG_SHAPE(1, 1, 2, 2), EG_F32), EG_SHAPE(4, 5)), EG_EDTYPE, "");
    EGT_REFUSED(eg_max_unpool(y, eg_full(EG_SHAPE(1, 1, 2, 2), -1, EG_I64), EG_SHAPE(4, 5)), EG_EINDEX, "-1");
    EGT_REFUSED(eg_max_unpool(y, NULL, EG_SHAPE(4, 5)), EG_EINVAL, "indices");
    EGT_REFUSED(eg_max_unpool(y, eg_zeros(EG_SHAPE(1, 1, 2, 2), EG_I64), EG_SHAPE(4, -5)), EG_ESHAPE, "negative");
}

#define BOTH(call_all, call_one)                                     \
    do {                                                             \
        eg_tensor *want = call_all, *have = call_one;                \
        EGT_EQ(eg_ndim(have), eg_ndim(want) - 1);                    \
        EGT_EQ(egt_distance(have, eg_squeeze(want, EG_AXES(0))), 0); \
    } while (0)

/* x [C, spatial...] is one image, and so are the result and its indices. */
EGT(images_without_a_batch)
{
    for (int last = 0; last < 2; last++) {
        eg_tensor *x = egt_random(EG_SHAPE(1, 3, 6, 5), EG_F32, -1, 1), *at[2];
        x = last ? eg_channels_last(x) : x;
        eg_tensor *one = eg_squeeze(x, EG_AXES(0)), *half = eg_cast(one, EG_BF16);
        eg_tensor *line = eg_select(x, 2, 1), *volume = eg_unsqueeze(x, 2);
        BOTH(eg_max_pool2d(x, .kernel = 2, .indices = &at[0]), eg_max_pool2d(one, .kernel = 2, .indices = &at[1]));
        BOTH(at[0], at[1]);
        BOTH(eg_max_unpool(eg_max_pool2d(x, .kernel = 2), at[0], EG_SHAPE(6, 5)),
             eg_max_unpool(eg_max_pool2d(one, .kernel = 2), at[1], EG_SHAPE(6, 5)));
        BOTH(eg_avg_pool2d(x, .kernel = 3, .padding = EG_SAME), eg_avg_pool2d(one, .kernel = 3, .padding = EG_SAME));
        BOTH(eg_adaptive_max_pool(x, EG_SHAPE(2, 3)), eg_adaptive_max_pool(one, EG_SHAPE(2, 3)));
        BOTH(eg_adaptive_avg_pool(x, EG_SHAPE(4, 1)), eg_adaptive_avg_pool(one, EG_SHAPE(4, 1)));
        BOTH(eg_max_pool1d(line, .kernel = 2), eg_max_pool1d(eg_select(line, 0, 0), .kernel = 2));
        BOTH(eg_avg_pool3d(volume, .kernels = {1, 2, 2}), eg_avg_pool3d(eg_select(volume, 0, 0), .kernels = {1, 2, 2}));
        EGT_EQ(eg_dtype_of(eg_max_pool2d(half, .kernel = 2)), EG_BF16);
    }
}

/* The largest stays what it is, beyond what doubles tell apart too; means are f32. */
EGT(integers)
{
    const int64_t far = ((int64_t)1 << 60) + 1;
    const int64_t values[] = {far - 1, far, -3, INT64_MIN, INT64_MIN + 1, 7, 2, 1, INT64_MIN, INT64_MIN, 9, INT64_MAX};
    eg_tensor *x = eg_from(EG_SHAPE(1, 1, 12), EG_I64, values), *at;
    eg_tensor *y = eg_max_pool1d(x, .kernel = 2, .indices = &at);
    const int64_t most[] = {far, -3, 7, 2, INT64_MIN, INT64_MAX}, where[] = {1, 2, 5, 6, 8, 11};
    EGT_EQ(eg_dtype_of(y), EG_I64);
    EGT_CHECK(!memcmp(eg_data(y), most, sizeof most));
    EGT_CHECK(!memcmp(eg_data(at), where, sizeof where));
    static const eg_dtype kinds[] = {EG_I64, EG_I32, EG_U8, EG_BOOL};
    for (int k = 0; k < 4; k++) {
        eg_tensor *f = eg_cast(egt_random(EG_SHAPE(2, 3, 5, 6), EG_U8, 0, 9), kinds[k]), *g = eg_cast(f, EG_F64);
        eg_tensor *p = eg_max_pool2d(f, .kernel = 3, .stride = 2, .padding = 1);
        EGT_EQ(eg_dtype_of(p), kinds[k]);
        EGT_EQ(egt_distance(eg_cast(p, EG_F64), eg_max_pool2d(g, .kernel = 3, .stride = 2, .padding = 1)), 0);
        p = eg_adaptive_max_pool(eg_channels_last(f), EG_SHAPE(2, 2));
        EGT_EQ(egt_distance(eg_cast(p, EG_F64), eg_adaptive_max_pool(g, EG_SHAPE(2, 2))), 0);
        p = eg_avg_pool2d(f, .kernel = 2);
        EGT_EQ(eg_dtype_of(p), EG_F32);
        EGT_NEAR(egt_distance(p, eg_cast(eg_avg_pool2d(g, .kernel = 2), EG_F32)), 0, 1e-6);
        EGT_EQ(eg_dtype_of(eg_adaptive_avg_pool(f, EG_SHAPE(1, 1))), EG_F32);
    }
    eg_tensor *all = eg_max_unpool(y, at, EG_SHAPE(12));
    EGT_CHECK(((const int64_t *)eg_data(all))[1] == far);
    EGT_REFUSED(eg_max_unpool(eg_cast(y, EG_BOOL), at, EG_SHAPE(12)), EG_EDTYPE, "bool");
}
