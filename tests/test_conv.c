/* test_conv.c - convolutions: what the sweep does not see. Padding and crops against loops written
 * from their definition, adjoints, groups, layouts, weights that change, and what is refused. */
#include "tests/egt.h"

/* Plain one-axis convolution of one channel with zeros outside. */
static double convolve(const eg_tensor *x, const eg_tensor *w, int64_t at, int64_t dilation)
{
    double sum = 0;
    for (int64_t t = 0; t < eg_numel(w); t++) {
        int64_t i = at + t * dilation;
        sum += i >= 0 && i < eg_numel(x) ? eg_get(x, i) * eg_get(w, t) : 0;
    }
    return sum;
}

EGT(same_padding_of_every_small_size)
{
    for (int64_t in = 1; in <= 9; in++) {
        for (int64_t k = 1; k <= 5; k++) {
            for (int64_t stride = 1; stride <= 3; stride++) {
                int64_t dilation = 1 + (in + k + stride) % 2, reach = (k - 1) * dilation + 1;
                int64_t out = (in + stride - 1) / stride, total = (out - 1) * stride + reach - in;
                int64_t front = total > 0 ? total / 2 : 0;
                eg_scope s = eg_scope_push();
                eg_tensor *x = egt_random(EG_SHAPE(1, 1, in), EG_F64, -1, 1);
                eg_tensor *w = egt_random(EG_SHAPE(1, 1, k), EG_F64, -1, 1);
                eg_tensor *y = eg_conv1d(x, w, NULL, .stride = stride, .dilation = dilation, .padding = EG_SAME);
                EGT_EQ(eg_size(y, 2), out);
                for (int64_t p = 0; p < out; p++) {
                    EGT_NEAR(eg_get(y, p), convolve(x, w, p * stride - front, dilation), 1e-12);
                }
                eg_scope_pop(s, NULL);
            }
        }
    }
}

/* Transposed SAME convolutions are the full ones with these cells cut off in front and at the end.
 */
EGT(same_crops_of_transposed_convolutions)
{
    static const int64_t crops[][4] = {{4, 2, 1, 1}, {5, 2, 1, 2}, {5, 1, 2, 2},
                                       {3, 2, 0, 1}, {3, 1, 1, 1}, {2, 2, 0, 0}};
    for (int i = 0; i < 6; i++) {
        int64_t k = crops[i][0], stride = crops[i][1], front = crops[i][2], end = crops[i][3];
        for (eg_dtype t = EG_F32; t <= EG_F64; t++) {
            eg_scope s = eg_scope_push();
            eg_tensor *x = egt_random(EG_SHAPE(2, 3, 4, 5), t, -1, 1);
            eg_tensor *w = egt_random(EG_SHAPE(3, 2, k, k), t, -1, 1);
            eg_tensor *full = eg_conv_transpose2d(x, w, NULL, .stride = stride);
            eg_tensor *y = eg_conv_transpose2d(x, w, NULL, .stride = stride, .padding = EG_SAME);
            EGT_EQ(eg_size(full, 2), 3 * stride + k);
            EGT_EQ(eg_size(y, 2), 4 * stride);
            EGT_EQ(eg_size(y, 3), 5 * stride);
            for (int d = 2; d < 4; d++) {
                full = eg_slice(full, d, front, eg_size(full, d) - end, 1);
            }
            EGT_CHECK(egt_distance(y, full) < 1e-5);
            eg_scope_pop(s, NULL);
        }
    }
}

static double dot(eg_tensor *a, eg_tensor *b)
{
    return eg_item(eg_sum(eg_mul(eg_cast(a, EG_F64), eg_cast(b, EG_F64))));
}

/* <conv(x), y> = <x, transpose(y)> = <w, weight gradient>. */
static void check_adjoint(const eg_conv_options *o, eg_shape sx, eg_shape sw, eg_dtype t)
{
    eg_tensor *x = egt_random(sx, t, -1, 1), *w = egt_random(sw, t, -1, 1);
    eg_tensor *y = eg_conv2d_with(x, w, NULL, o), *dy = egt_random(eg_shape_of(y), t, -1, 1);
    double want = dot(y, dy), scale = 1 + sqrt((double)eg_numel(y));
    double allowed = (t == EG_F32 ? 1e-5 : 1e-12) * scale;
    EGT_NEAR(dot(x, eg_conv_data_with(dy, w, sx, o)), want, allowed);
    EGT_NEAR(dot(w, eg_conv_weight_with(x, dy, sw, o)), want, allowed);
}

/* With channel counts that meet each of the kernels, on every instruction set there is. */
EGT(the_transpose_is_the_adjoint)
{
    static const struct {
        int64_t c, o, groups, k, stride, dilation, padding;
    } all[] = {{3, 5, 1, 3, 1, 1, 1},    {16, 32, 1, 3, 1, 1, 1}, {16, 32, 1, 1, 1, 1, 0}, {1, 20, 1, 5, 2, 1, 2},
               {3, 20, 1, 4, 2, 1, 1},   {4, 33, 1, 3, 3, 2, 4},  {6, 9, 3, 3, 2, 1, 1},   {24, 24, 24, 3, 1, 1, 1},
               {35, 35, 35, 5, 2, 1, 2}, {8, 24, 8, 3, 1, 2, 2},  {19, 17, 1, 2, 2, 1, 0}, {40, 40, 40, 3, 1, 2, 5},
               {33, 33, 33, 4, 3, 2, 3}, {2, 2, 2, 2, 2, 3, 0},   {5, 5, 5, 1, 2, 1, 1}};
    static const char *const sets[] = {"base", "avx2", "avx512"};
    const char *was = eg_cpu_isa();
    for (int set = 0; set < 3; set++) {
        if (eg_debug_isa(sets[set])) {
            eg_clear_error();
            continue;
        }
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            for (eg_dtype t = EG_F32; t <= EG_F64; t++) {
                const eg_conv_options o = {.size = sizeof o,
                                           .stride = all[i].stride,
                                           .dilation = all[i].dilation,
                                           .groups = all[i].groups,
                                           .padding = all[i].padding};
                int64_t c = all[i].c, k = all[i].k;
                snprintf(egt_case, sizeof egt_case, "the_transpose_is_the_adjoint %d %s %s", (int)i, eg_dtype_name(t),
                         sets[set]);
                EG_SCOPE {
                    check_adjoint(&o, EG_SHAPE(2, c, 12, 11), EG_SHAPE(all[i].o, c / all[i].groups, k, k), t);
                }
            }
        }
    }
    EGT_OK(eg_debug_isa(was));
}

/* The tuned kernels against the reference loops on shapes with borders of every kind. */
EGT(every_instruction_set_agrees_with_the_reference)
{
    static const struct {
        int64_t c, o, groups, h, w, k, stride, dilation, before, after;
    } all[] = {{40, 40, 40, 9, 13, 3, 1, 1, 1, 1}, {37, 37, 37, 7, 9, 5, 2, 1, 1, 2}, {17, 17, 17, 5, 5, 3, 3, 2, 2, 3},
               {11, 11, 11, 9, 14, 5, 1, 1, 2, 2}, {44, 44, 44, 8, 9, 3, 1, 1, 1, 1}, {8, 8, 8, 7, 9, 3, 2, 1, 0, 1},
               {5, 5, 5, 9, 13, 3, 1, 1, 1, 1},    {3, 3, 3, 6, 7, 5, 1, 1, 2, 2},    {64, 64, 64, 3, 2, 3, 1, 1, 1, 1},
               {1, 37, 1, 13, 17, 5, 2, 1, 1, 2},  {3, 16, 1, 16, 12, 4, 2, 1, 1, 1}, {4, 40, 1, 9, 9, 7, 1, 1, 3, 3},
               {2, 9, 1, 11, 7, 3, 2, 2, 5, 4},    {8, 10, 1, 24, 23, 4, 1, 1, 1, 2}, {4, 64, 1, 4, 4, 4, 2, 1, 1, 1},
               {16, 24, 1, 5, 6, 1, 1, 1, 0, 0}};
    static const char *const sets[] = {"base", "avx2", "avx512"};
    const char *was = eg_cpu_isa();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const eg_conv_options o = {.size = sizeof o,
                                   .stride = all[i].stride,
                                   .dilation = all[i].dilation,
                                   .groups = all[i].groups,
                                   .pads = {{all[i].before, all[i].after}, {all[i].before, all[i].after}}};
        eg_shape sx = EG_SHAPE(3, all[i].c, all[i].h, all[i].w);
        eg_shape sw = EG_SHAPE(all[i].o, all[i].c / all[i].groups, all[i].k, all[i].k);
        eg_tensor *x = egt_random(sx, EG_F32, -1, 1), *w = egt_random(sw, EG_F32, -1, 1);
        eg_tensor *b = egt_random(EG_SHAPE(all[i].o), EG_F32, -1, 1);
        EGT_OK(eg_debug("ref"));
        eg_tensor *y = eg_conv2d_with(x, w, b, &o), *dy = egt_random(eg_shape_of(y), EG_F32, -1, 1);
        eg_tensor *dx = eg_conv_data_with(dy, w, sx, &o), *dw = eg_conv_weight_with(x, dy, sw, &o);
        EGT_OK(eg_debug(NULL));
        for (int set = 0; set < 3; set++) {
            if (eg_debug_isa(sets[set])) {
                eg_clear_error();
                continue;
            }
            snprintf(egt_case, sizeof egt_case, "every_instruction_set_agrees %d %s", (int)i, sets[set]);
            EGT_CHECK(egt_distance(eg_conv2d_with(x, w, b, &o), y) < 1e-5);
            EGT_CHECK(egt_distance(eg_conv_data_with(dy, w, sx, &o), dx) < 1e-5);
            EGT_CHECK(egt_distance(eg_conv_weight_with(x, dy, sw, &o), dw) < 2e-5);
        }
        EGT_OK(eg_debug_isa(was));
    }
}

EGT(groups_are_convolutions_side_by_side)
{
    eg_tensor *x = egt_random(EG_SHAPE(2, 6, 7, 5), EG_F32, -1, 1);
    eg_tensor *w = egt_random(EG_SHAPE(4, 3, 3, 3), EG_F32, -1, 1);
    eg_tensor *y = eg_conv2d(x, w, NULL, .groups = 2, .padding = 1);
    for (int g = 0; g < 2; g++) {
        eg_tensor *part =
            eg_conv2d(eg_slice(x, 1, 3 * g, 3 * g + 3, 1), eg_slice(w, 0, 2 * g, 2 * g + 2, 1), NULL, .padding = 1);
        EGT_CHECK(egt_distance(eg_slice(y, 1, 2 * g, 2 * g + 2, 1), part) < 1e-5);
    }
}

EGT(results_lie_channels_last_whatever_comes_in)
{
    eg_tensor *x = egt_random(EG_SHAPE(2, 3, 8, 6), EG_F32, -1, 1);
    eg_tensor *w = egt_random(EG_SHAPE(5, 3, 3, 3), EG_F32, -1, 1);
    eg_tensor *last = eg_channels_last(x), *turned = eg_transpose(eg_contiguous(eg_transpose(x, 2, 3)), 2, 3);
    eg_tensor *y = eg_conv2d(x, w, NULL, .padding = EG_SAME);
    EGT_CHECK(eg_is_contiguous(x) && eg_is_channels_last(y));
    EGT_CHECK(egt_distance(eg_conv2d(last, w, NULL, .padding = EG_SAME), y) < 1e-6);
    EGT_CHECK(egt_distance(eg_conv2d(turned, w, NULL, .padding = EG_SAME), y) < 1e-6);
    EGT_CHECK(egt_distance(eg_conv2d(x, eg_channels_last(w), NULL, .padding = EG_SAME), y) < 1e-6);
    EGT_CHECK(eg_is_channels_last(eg_conv_data(y, w, eg_shape_of(x), .padding = EG_SAME)));
    EGT_CHECK(eg_is_contiguous(eg_conv_weight(x, y, eg_shape_of(w), .padding = EG_SAME)));
    EGT_CHECK(eg_is_channels_last(eg_conv1d(eg_select(x, 2, 0), eg_select(w, 2, 0), NULL)));
}

/* Weights are rearranged once and remembered: a change in place must be seen. */
EGT(a_weight_changed_in_place_counts_at_once)
{
    eg_tensor *x = egt_random(EG_SHAPE(2, 16, 10, 10), EG_F32, -1, 1);
    eg_tensor *w = egt_random(EG_SHAPE(32, 16, 3, 3), EG_F32, -1, 1);
    for (int step = 0; step < 4; step++) {
        for (int again = 0; again < 2; again++) {
            eg_scope s = eg_scope_push();
            eg_tensor *y = eg_conv2d(x, w, NULL), *same = eg_conv2d(x, eg_copy(w), NULL);
            eg_tensor *dx = eg_conv_data(y, w, eg_shape_of(x));
            EGT_CHECK(egt_distance(y, same) < 1e-6);
            EGT_CHECK(egt_distance(dx, eg_conv_data(y, eg_copy(w), eg_shape_of(x))) < 1e-6);
            eg_scope_pop(s, NULL);
        }
        EGT_CHECK(eg_mul_scalar_(w, -0.5) == w);
    }
}

EGT(only_what_is_asked_for_is_saved)
{
    eg_tensor *x = egt_random(EG_SHAPE(1, 2, 4, 4), EG_F32, -1, 1), *d;
    eg_tensor *w = egt_random(EG_SHAPE(3, 2, 3, 3), EG_F32, -1, 1);
    eg_tensor *b = egt_random(EG_SHAPE(3), EG_F32, -1, 1);
    /* The bias alone: x and the weight may change. */
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, b));
    eg_tensor *y = eg_conv2d(x, w, b);
    eg_mul_scalar_(x, 2);
    eg_mul_scalar_(w, 2);
    EGT_OK(eg_tape_gradients(tape, y, &b, 1, &d, .dy = eg_ones_like(y)));
    EGT_NEAR(eg_get(d, 0), 4, 1e-6);
    /* The input alone saves the weight. */
    tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    y = eg_conv2d(x, w, b);
    eg_mul_scalar_(w, 2);
    EGT_REFUSED(eg_tape_gradients(tape, y, &x, 1, &d, .dy = eg_ones_like(y)), EG_ESTATE, "conv");
}

/* A weight back to front, repeated along an axis or with gaps is what its copy is. */
static eg_tensor *turned(eg_tensor *w, int way)
{
    eg_shape once = eg_shape_of(w), all = once;
    once.dim[way % 2] = 1;
    return way < 2    ? eg_flip(w, EG_AXES(way))
           : way == 2 ? eg_flip(w, EG_AXES(-1))
           : way == 3 ? eg_flip(w, EG_AXES(0, 1, 2))
           : way < 6  ? eg_expand(eg_slice(w, way % 2, 0, 1, 1), all)
                      : eg_slice(eg_concat((eg_tensor *[]){w, w}, 2, -1), -1, 0, EG_END, 2);
}

EGT(weights_of_any_strides)
{
    typedef eg_tensor *conv(eg_tensor * x, eg_tensor * w, eg_tensor * b, const eg_conv_options *o);
    conv *const kinds[] = {eg_conv1d_with,           eg_conv2d_with,           eg_conv3d_with,
                           eg_conv_transpose1d_with, eg_conv_transpose2d_with, eg_conv_transpose3d_with};
    for (int kind = 0; kind < 6; kind++) {
        for (int way = 0; way < 7 * 2; way++) {
            EG_SCOPE {
                const int64_t taps = way / 7 ? 1 : 3;
                eg_shape in = EG_SHAPE(1, 8, 7, 6, 5), of = EG_SHAPE(8, 8, taps, taps, taps);
                in.ndim = of.ndim = 3 + kind % 3;
                eg_tensor *x = egt_random(in, EG_F32, -1, 1), *y[2], *g[2][2];
                eg_tensor *w = turned(egt_random(of, EG_F32, -1, 1), way % 7);
                snprintf(egt_case, sizeof egt_case, "conv %d, weight %d, %d taps", kind, way % 7, (int)taps);
                for (int i = 0; i < 2; i++) {
                    eg_tensor *operands[2] = {x, i ? eg_contiguous(w) : w};
                    eg_tape tape = eg_tape_open();
                    EGT_OK(eg_tape_watch(tape, x));
                    EGT_OK(eg_tape_watch(tape, operands[1]));
                    y[i] = kinds[kind](x, operands[1], NULL, NULL);
                    EGT_CHECK(y[i] != NULL);
                    EGT_OK(eg_tape_gradients(tape, eg_sum(y[i]), operands, 2, g[i]));
                }
                EGT_CHECK(egt_distance(y[0], y[1]) < 1e-5);
                EGT_CHECK(egt_distance(g[0][0], g[1][0]) < 1e-5 && egt_distance(g[0][1], g[1][1]) < 1e-5);
            }
        }
    }
}

EGT(mixed_dtypes_are_brought_to_one)
{
    eg_tensor *x = egt_random(EG_SHAPE(1, 2, 4, 4), EG_F16, -1, 1);
    eg_tensor *w = egt_random(EG_SHAPE(3, 2, 3, 3), EG_F32, -1, 1);
    eg_tensor *y = eg_conv2d(x, w, NULL);
    EGT_EQ(eg_dtype_of(y), EG_F32);
    EGT_CHECK(egt_distance(y, eg_conv2d(eg_cast(x, EG_F32), w, NULL)) < 1e-6);
    EGT_EQ(eg_dtype_of(eg_conv2d(x, eg_cast(w, EG_F16), NULL)), EG_F16);
}

EGT(refused_options)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 4, 6, 5), EG_F32), *w = eg_zeros(EG_SHAPE(6, 4, 3, 3), EG_F32);
    EGT_REFUSED(eg_conv2d(x, w, NULL, .stride = -1), EG_EINVAL, "stride is -1");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .strides = {1, -2}), EG_EINVAL, "strides is -2");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .stride = INT64_MAX), EG_EINVAL, "stride is 9223372036854775807");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .dilation = -1), EG_EINVAL, "dilation is -1");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .dilations = {-3, 1}), EG_EINVAL, "dilations is -3");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .dilation = INT32_MAX), EG_ESHAPE, "larger than spatial axis 0");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .groups = -1), EG_EINVAL, "groups is -1");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .groups = 5), EG_ESHAPE, "5 groups do not divide");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .padding = -2), EG_EINVAL, "padding is -2");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .padding = INT64_MAX), EG_EINVAL, "padding is 9223372036854775807");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .pads = {{0, -1}}), EG_EINVAL, "pads is -1");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .pads = {{0, 1}}, .padding = 1), EG_EINVAL, "both padding and pads");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .pads = {{0, 1}}, .padding = EG_SAME), EG_EINVAL, "both");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .strides = {1, 1, 1}), EG_EINVAL, "spatial axis 2 of 2");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .output_padding = {1}), EG_EINVAL, "transposed");
    EGT_REFUSED(eg_conv_transpose2d(x, eg_transpose(w, 0, 1), NULL, .stride = 2, .output_padding = {0, 2}), EG_EINVAL,
                "output_padding 2 of axis 1");
    EGT_REFUSED(
        eg_conv_transpose2d(x, eg_transpose(w, 0, 1), NULL, .stride = 2, .padding = EG_SAME, .output_padding = {1}),
        EG_EINVAL, "SAME");
    EGT_REFUSED(eg_conv_transpose2d(x, eg_transpose(w, 0, 1), NULL, .padding = 4), EG_ESHAPE, "nothing");
}

EGT(refused_shapes)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 4, 6, 5), EG_F32), *w = eg_zeros(EG_SHAPE(6, 4, 3, 3), EG_F32);
    EGT_REFUSED(eg_conv2d(NULL, w, NULL), EG_EINVAL, "x is NULL");
    EGT_REFUSED(eg_conv2d(x, NULL, NULL), EG_EINVAL, "weight is NULL");
    EGT_REFUSED(eg_conv1d(x, w, NULL), EG_ESHAPE, "conv1d");
    EGT_REFUSED(eg_conv3d(x, w, NULL), EG_ESHAPE, "must have 5 axes");
    EGT_REFUSED(eg_conv2d(x, eg_zeros(EG_SHAPE(6, 3, 3, 3), EG_F32), NULL), EG_ESHAPE, "has 4 channels");
    EGT_REFUSED(eg_conv2d(x, w, NULL, .groups = 2), EG_ESHAPE, "has 4 channels");
    EGT_REFUSED(eg_conv2d(x, eg_zeros(EG_SHAPE(6, 4, 0, 3), EG_F32), NULL), EG_ESHAPE, "axis 0 of the kernel");
    EGT_REFUSED(eg_conv2d(x, eg_zeros(EG_SHAPE(6, 4, 3, 0), EG_F32), NULL, .padding = EG_SAME), EG_ESHAPE,
                "axis 1 of the kernel");
    EGT_REFUSED(eg_conv2d(x, eg_zeros(EG_SHAPE(6, 4, 3, 6), EG_F32), NULL), EG_ESHAPE, "larger than spatial");
    EGT_REFUSED(eg_conv2d(x, w, eg_zeros(EG_SHAPE(5), EG_F32)), EG_ESHAPE, "bias is [5], must be [6]");
    EGT_REFUSED(eg_conv2d(x, w, eg_zeros(EG_SHAPE(6, 1), EG_F32)), EG_ESHAPE, "bias is [6, 1]");
    EGT_REFUSED(eg_conv2d(eg_cast(x, EG_I32), eg_cast(w, EG_I32), NULL), EG_EDTYPE, "i32");
    EGT_REFUSED(eg_conv_transpose2d(x, w, NULL), EG_ESHAPE, "has 4 channels");
    EGT_REFUSED(eg_conv_transpose2d(x, eg_zeros(EG_SHAPE(4, 3, 0, 3), EG_F32), NULL), EG_ESHAPE, "kernel");
    EGT_REFUSED(eg_conv_transpose2d(eg_zeros(EG_SHAPE(0, 1, INT64_MAX / 2, 1), EG_F32),
                                    eg_zeros(EG_SHAPE(1, 1, 1, 1), EG_F32), NULL, .stride = 9),
                EG_ESHAPE, "64 bits");
    EGT_REFUSED(eg_conv2d(eg_zeros(EG_SHAPE(0, 1, INT64_MAX, 1), EG_F32), eg_zeros(EG_SHAPE(1, 1, 1, 1), EG_F32), NULL,
                          .padding = 1),
                EG_ESHAPE, "larger than spatial");
}

/* Gradient ops called directly: every size must be the convolution's. */
EGT(refused_gradient_shapes)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 4, 6, 5), EG_F32), *w = eg_zeros(EG_SHAPE(6, 4, 3, 3), EG_F32);
    eg_tensor *dy = eg_conv2d(x, w, NULL, .stride = 2, .padding = 1);
    for (int d = 0; d < 4; d++) {
        for (int by = -1; by <= 1; by += 2) {
            eg_shape sx = eg_shape_of(x), sw = eg_shape_of(w), sy = eg_shape_of(dy);
            sx.dim[d] += d < 2 ? by : 2 * by; /* with stride 2 a cell more may give as many windows */
            sw.dim[d] += d < 2 ? by : 2 * by;
            sy.dim[d] += by;
            eg_tensor *bad = eg_zeros(sy, EG_F32);
            EGT_REFUSED(eg_conv_data(dy, w, sx, .stride = 2, .padding = 1), EG_ESHAPE, "conv_data");
            EGT_REFUSED(eg_conv_weight(x, dy, sw, .stride = 2, .padding = 1), EG_ESHAPE, "conv_weight");
            EGT_REFUSED(eg_conv_data(bad, w, eg_shape_of(x), .stride = 2, .padding = 1), EG_ESHAPE, "conv_data");
            EGT_REFUSED(eg_conv_weight(x, bad, eg_shape_of(w), .stride = 2, .padding = 1), EG_ESHAPE, "conv_weight");
        }
    }
    eg_tensor *flat = eg_flatten(dy, 2, 3), *nothing = eg_zeros(EG_SHAPE(0), EG_F32);
    eg_shape many = {.ndim = 99}, less = {.ndim = -1}, negative = EG_SHAPE(2, 4, -6, 5);
    EGT_REFUSED(eg_conv_data(flat, w, eg_shape_of(x), .stride = 2), EG_ESHAPE, "conv_data");
    EGT_REFUSED(eg_conv_data(nothing, w, eg_shape_of(x)), EG_ESHAPE, "conv_data");
    EGT_REFUSED(eg_conv_data(dy, w, many, .stride = 2), EG_ESHAPE, "x_shape");
    EGT_REFUSED(eg_conv_data(dy, w, less, .stride = 2), EG_ESHAPE, "x_shape");
    EGT_REFUSED(eg_conv_data(dy, w, negative, .stride = 2, .padding = EG_SAME), EG_ESHAPE, "conv_data");
    EGT_REFUSED(eg_conv_weight(x, flat, eg_shape_of(w), .stride = 2), EG_ESHAPE, "conv_weight");
    EGT_REFUSED(eg_conv_weight(x, nothing, eg_shape_of(w)), EG_ESHAPE, "conv_weight");
    EGT_REFUSED(eg_conv_weight(x, dy, many, .stride = 2), EG_ESHAPE, "w_shape");
    EGT_REFUSED(eg_conv_weight(x, dy, EG_SHAPE(6, 4, 0, 3), .stride = 2, .padding = 1), EG_ESHAPE, "kernel");
    EGT_REFUSED(eg_conv_weight(x, dy, eg_shape_of(w), .groups = 3), EG_ESHAPE, "w_shape");
    EGT_REFUSED(eg_conv_data(NULL, w, eg_shape_of(x)), EG_EINVAL, "dy is NULL");
    EGT_REFUSED(eg_conv_weight(x, NULL, eg_shape_of(w)), EG_EINVAL, "dy is NULL");
}

/* What is no number stays so, whoever applies the activation. */
EGT(activations_keep_nan)
{
    eg_tensor *x = eg_full(EG_SHAPE(1, 3, 4, 4), (double)NAN, EG_F32);
    eg_tensor *w = eg_ones(EG_SHAPE(8, 3, 3, 3), EG_F32), *b = eg_zeros(EG_SHAPE(8), EG_F32);
    eg_tensor *(*const f[])(eg_tensor *) = {eg_relu, eg_tanh, eg_sigmoid, eg_gelu};
    for (int i = 0; i < 4; i++) {
        eg_tensor *y = eg_conv2d(x, w, b, .activation = f[i]);
        EGT_CHECK(y && eg_item(eg_all(eg_isnan(y))) == 1);
        y = eg_conv2d(x, w, NULL, .activation = f[i]);
        EGT_CHECK(y && eg_item(eg_all(eg_isnan(y))) == 1);
        y = eg_conv_transpose2d(x, eg_ones(EG_SHAPE(3, 2, 2, 2), EG_F32), NULL, .activation = f[i]);
        EGT_CHECK(y && eg_item(eg_all(eg_isnan(y))) == 1);
    }
}

/* Each allocation failing in turn: words, nothing left behind, and the next call works. */
EGT(out_of_memory)
{
    eg_tensor *x = egt_random(EG_SHAPE(2, 3, 9, 8), EG_F32, -1, 1), *y = NULL;
    eg_tensor *w = egt_random(EG_SHAPE(8, 3, 3, 3), EG_F32, -1, 1), *want = eg_conv2d(x, w, NULL);
    for (int n = 1; !y; n++) {
        eg_scope s = eg_scope_push();
        eg_tensor *fresh = eg_copy(w);
        eg_debug_fail_alloc(n);
        y = eg_conv2d(x, fresh, NULL);
        eg_tensor *dx = y ? eg_conv_data(y, fresh, eg_shape_of(x)) : NULL;
        y = dx ? eg_conv_weight(x, y, eg_shape_of(w)) : NULL;
        eg_debug_fail_alloc(0);
        EGT_CHECK(y || egt_said(EG_ENOMEM, "memory"));
        EGT_CHECK(egt_distance(eg_conv2d(x, fresh, NULL), want) < 1e-6);
        y = eg_scope_pop(s, y);
    }
}

#define ALONE(op, x, w, b, ...)                                                                      \
    do {                                                                                             \
        eg_tensor *all = op(eg_unsqueeze(x, 0), w, b, __VA_ARGS__), *one = op(x, w, b, __VA_ARGS__); \
        EGT_EQ(eg_ndim(one), eg_ndim(x));                                                            \
        EGT_EQ(egt_distance(one, eg_squeeze(all, EG_AXES(0))), 0);                                   \
    } while (0)

static eg_tensor *softmax0(eg_tensor *x)
{
    return eg_softmax(x, 0);
}

/* x [C, spatial...] is one image, and so is the result. */
EGT(images_without_a_batch)
{
    eg_tensor *line = egt_random(EG_SHAPE(4, 9), EG_F32, -1, 1), *b = egt_random(EG_SHAPE(4), EG_F32, -1, 1);
    eg_tensor *image = egt_random(EG_SHAPE(4, 6, 5), EG_F32, -1, 1);
    eg_tensor *volume = egt_random(EG_SHAPE(4, 3, 4, 5), EG_F32, -1, 1);
    eg_tensor *w1 = egt_random(EG_SHAPE(4, 4, 3), EG_F32, -1, 1);
    eg_tensor *w2 = egt_random(EG_SHAPE(4, 4, 3, 2), EG_F32, -1, 1);
    eg_tensor *w3 = egt_random(EG_SHAPE(4, 4, 2, 2, 2), EG_F32, -1, 1);
    ALONE(eg_conv1d, line, w1, b, .stride = 2);
    ALONE(eg_conv2d, image, w2, b, .padding = EG_SAME);
    ALONE(eg_conv2d, image, w2, NULL, .activation = eg_relu);
    ALONE(eg_conv2d, image, w2, b, .activation = eg_mish);
    ALONE(eg_conv3d, volume, w3, b, .padding = 1);
    ALONE(eg_conv_transpose1d, line, w1, NULL, .stride = 2, .output_padding = {1});
    ALONE(eg_conv_transpose2d, image, w2, b, .padding = EG_SAME, .stride = 2);
    ALONE(eg_conv_transpose3d, volume, w3, b, .stride = 3);
    /* An activation sees the result that leaves: [C, H, W]. */
    eg_tensor *y = eg_conv2d(image, w2, b, .activation = softmax0);
    EGT_NEAR(egt_distance(eg_sum(y, .axes = EG_AXES(0)), eg_ones(EG_SHAPE(4, 4), EG_F32)), 0, 1e-6);
    EGT_REFUSED(eg_conv1d(b, w1, NULL), EG_ESHAPE, "without a batch 2");
    EGT_REFUSED(eg_conv2d(eg_ones(EG_SHAPE(3, 6, 5), EG_F32), w2, NULL), EG_ESHAPE, "3 channels");
}

/* PyTorch's rule: below the stride or the dilation. */
EGT(output_padding_below_the_dilation)
{
    eg_tensor *x = eg_ones(EG_SHAPE(1, 1, 3), EG_F64), *w = eg_ones(EG_SHAPE(1, 1, 2), EG_F64);
    static const double want[] = {1, 1, 1, 1, 1, 1, 0, 0};
    eg_tensor *y = eg_conv_transpose1d(x, w, NULL, .dilation = 3, .output_padding = {2});
    EGT_EQ(egt_distance(y, eg_from(EG_SHAPE(1, 1, 8), EG_F64, want)), 0);
    /* What padding cut off comes back, then zeros follow, and the bias falls on all. */
    x = egt_random(EG_SHAPE(1, 2, 3), EG_F64, -1, 1), w = egt_random(EG_SHAPE(2, 3, 2), EG_F64, -1, 1);
    eg_tensor *b = egt_random(EG_SHAPE(3), EG_F64, -1, 1), *all = eg_conv_transpose1d(x, w, NULL, .dilation = 4);
    all = eg_add(eg_pad(all, .after = {0, 0, 2}), eg_reshape(b, EG_SHAPE(3, 1)));
    for (int more = 0; more < 4; more++) {
        y = eg_conv_transpose1d(x, w, b, .dilation = 4, .pads = {{2, 1}}, .output_padding = {more});
        EGT_CHECK(egt_distance(y, eg_slice(all, 2, 2, 6 + more, 1)) < 1e-12);
    }
    EGT_REFUSED(eg_conv_transpose1d(x, w, eg_ones(EG_SHAPE(1), EG_F64), .dilation = 4, .output_padding = {3}),
                EG_ESHAPE, "must be [3]");
    EGT_REFUSED(eg_conv_transpose1d(x, w, NULL, .dilation = 3, .output_padding = {3}), EG_EINVAL,
                "below the stride, 1, or the dilation, 3");
    EGT_REFUSED(eg_conv_transpose1d(x, w, NULL, .dilation = 3, .output_padding = {-1}), EG_EINVAL, "0 or more");
    EGT_REFUSED(eg_conv_transpose1d(x, w, NULL, .stride = 2, .output_padding = {2}), EG_EINVAL, "output_padding 2");
}

static eg_tensor *all_tail(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    return eg_conv_transpose2d(x[0], x[1], x[2], .dilations = {1, 5}, .pads = {{0, 0}, {3, 0}},
                               .output_padding = {0, 4});
}

/* Padding that cuts off all that the windows gave leaves zeros and the bias. */
EGT(output_padding_behind_nothing)
{
    eg_tensor *one = eg_ones(EG_SHAPE(1, 1, 1), EG_F32), *half = eg_full(EG_SHAPE(1), 0.5, EG_F32);
    for (int before = 1; before < 4; before++) {
        eg_tensor *y = eg_conv_transpose1d(one, one, before == 2 ? half : NULL, .dilation = 4, .pads = {{before, 0}},
                                           .output_padding = {3});
        eg_tensor *want = eg_full(EG_SHAPE(1, 1, 4 - before), before == 2 ? 0.5 : 0, EG_F32);
        EGT_CHECK(before == 3 || egt_distance(y, want) == 0);
        EGT_CHECK(before < 3 || (y && eg_size(y, 2) == 1 && eg_item(y) == 0));
    }
    EGT_REFUSED(eg_conv_transpose1d(one, one, NULL, .dilation = 4, .pads = {{4, 0}}, .output_padding = {3}), EG_ESHAPE,
                "0 cells");
    EGT_REFUSED(eg_conv_transpose1d(eg_ones(EG_SHAPE(1, 2, 1), EG_F32), one, NULL, .dilation = 4, .pads = {{2, 0}},
                                    .output_padding = {3}),
                EG_ESHAPE, "channels");
    eg_tensor *x[3] = {egt_random(EG_SHAPE(2, 3, 4, 3), EG_F64, -1, 1), egt_random(EG_SHAPE(3, 2, 2, 1), EG_F64, -1, 1),
                       egt_random(EG_SHAPE(2), EG_F64, -1, 1)};
    eg_tensor *y = all_tail(x, 3, NULL);
    EGT_CHECK(y && eg_size(y, 2) == 5 && eg_size(y, 3) == 4);
    EGT_CHECK(egt_distance(eg_sub(y, eg_reshape(x[2], EG_SHAPE(2, 1, 1))), eg_zeros_like(y)) == 0);
    if (eg_device_of(y) == eg_cpu()) { /* differences are taken there */
        EGT_OK(eg_gradcheck(all_tail, x, 3, NULL, .second = true));
    }
}

static eg_tensor *says_nothing(eg_tensor *x)
{
    (void)x;
    return NULL;
}

EGT(layers_and_activations_of_what_functions_take)
{
    eg_module *m = eg_conv_transpose1d_new(1, 1, .kernel = 2, .dilation = 3, .output_padding = {2});
    EGT_CHECK(m && eg_size(eg_module_forward(m, eg_ones(EG_SHAPE(1, 1, 4), EG_F32)), 2) == 9);
    eg_module_free(m);
    eg_tensor *x = eg_ones(EG_SHAPE(1, 1, 4), EG_F32), *alone = eg_ones(EG_SHAPE(1, 4), EG_F32);
    eg_tensor *w = eg_ones(EG_SHAPE(1, 1, 2), EG_F32);
    EGT_REFUSED(eg_conv1d(alone, w, NULL, .activation = says_nothing), EG_EUSER, "activation");
    EGT_REFUSED(eg_conv1d_with(x, w, NULL, &(eg_conv_options){.activation = says_nothing}), EG_EUSER, "activation");
    EGT_REFUSED(eg_conv_transpose1d(x, w, NULL, .dilation = 3, .output_padding = {2}, .activation = says_nothing),
                EG_EUSER, "activation");
}
