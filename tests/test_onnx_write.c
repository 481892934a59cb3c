/* test_onnx_write.c - forwards written as ONNX models, and what they give when they are read again. */
#define _POSIX_C_SOURCE 200809L
#include "tests/egt.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <egret/io.h>
#include <egret/models.h>
#include <egret/nn.h>
#include <egret/onnx.h>
#include <egret/ops.h>

/* The largest difference beside the largest number. */
static double off(const eg_tensor *a, const eg_tensor *b)
{
    double most = 0, largest = 1e-30;
    if (eg_numel(a) != eg_numel(b)) {
        return INFINITY;
    }
    for (int64_t i = 0; i < eg_numel(a); i++) {
        most = fmax(most, fabs(eg_get(a, i) - eg_get(b, i)));
        largest = fmax(largest, fabs(eg_get(a, i)));
    }
    return most / largest;
}

/* Writes the module, reads it and compares their results for x, and for another batch if it may have any size. */
static void there_and_back(eg_module *m, eg_tensor *x, eg_tensor *other)
{
    const char *path = egt_path("written.onnx");
    EGT_OK(eg_module_eval(m));
    EGT_OK(eg_onnx_save(m, x, path, .any_batch = other != NULL));
    eg_module *back = eg_onnx_load(path);
    EGT_CHECK(back);
    EGT_OK(eg_module_eval(back));
    EGT_NEAR(off(eg_module_forward(m, x), eg_module_forward(back, x)), 0, 1e-5);
    if (other) {
        EGT_NEAR(off(eg_module_forward(m, other), eg_module_forward(back, other)), 0, 1e-5);
    }
    EGT_OK(eg_module_free(back));
}

/* The same of a module that is freed then. */
static void layer(eg_module *m, eg_shape shape, bool any)
{
    EGT_CHECK(m);
    eg_scope s = eg_scope_push();
    eg_shape more = shape;
    more.dim[0]++;
    eg_tensor *x = egt_random(shape, EG_F32, -1, 1);
    there_and_back(m, x, any ? egt_random(more, EG_F32, -1, 1) : NULL);
    eg_scope_pop(s, NULL);
    EGT_OK(eg_module_free(m));
}

EGT(layers)
{
    layer(eg_sequential_new(eg_conv_transpose2d_new(6, 8, .kernel = 3, .stride = 2), eg_instance_norm_new(8),
                            eg_leaky_relu_new(0.1), eg_group_norm_new(2, 8), eg_activation_new(eg_silu)),
          EG_SHAPE(2, 6, 5, 7), true);
    layer(eg_sequential_new(eg_resize_new(EG_SHAPE(9, 12)), eg_avg_pool2d_new(.kernel = 2, .ceil_mode = true),
                            eg_activation_new(eg_gelu), eg_flatten_new(), eg_linear_new(120, 5)),
          EG_SHAPE(2, 4, 5, 7), true);
    layer(eg_sequential_new(eg_rms_norm_new(EG_SHAPE(16)), eg_layer_norm_new(EG_SHAPE(16)), eg_linear_new(16, 3)),
          EG_SHAPE(2, 5, 16), true);
    layer(eg_transformer_encoder_layer_new(32, 4, 64), EG_SHAPE(2, 7, 32), true);
    layer(eg_lstm_new(6, 8), EG_SHAPE(5, 3, 6), false);
    layer(eg_gru_new(6, 8), EG_SHAPE(5, 3, 6), false);
    layer(eg_bidirectional_new(eg_lstm_new(6, 8), eg_lstm_new(6, 8)), EG_SHAPE(5, 3, 6), false);
}

static eg_status two(eg_tensor *const *in, int nin, eg_tensor **out, int nout, void *user)
{
    (void)nin, (void)nout;
    out[0] = eg_add(eg_embedding(user, in[0]), in[1]);
    out[1] = eg_argmax(out[0], .axes = EG_AXES(-1));
    return EG_OK;
}

EGT(functions_of_several_tensors)
{
    static const char *const names[] = {"ids", "more"}, *const results[] = {"sum", "place"};
    const char *path = egt_path("two.onnx");
    eg_tensors *named = eg_tensors_new();
    eg_scope s = eg_scope_push();
    eg_tensor *table = egt_random(EG_SHAPE(9, 4), EG_F32, -1, 1);
    eg_tensor *in[] = {eg_from_values(EG_SHAPE(3), EG_I64, (double[]){7, 0, 2}),
                       egt_random(EG_SHAPE(3, 4), EG_F32, -1, 1)};
    eg_tensor *out[2], *wanted[2];
    EGT_OK(eg_tensors_set(named, "table", table));
    EGT_OK(eg_onnx_save_function(two, table, named, in, 2, 2, path, .input_names = names, .input_names_count = 2,
                                 .output_names = results, .output_names_count = 2));
    eg_module *m = eg_onnx_load(path);
    EGT_EQ(eg_onnx_inputs(m), 2);
    EGT_STR(eg_onnx_input_at(m, 0).name, "ids");
    EGT_EQ(eg_onnx_input_at(m, 0).dtype, EG_I64);
    EGT_STR(eg_onnx_output_at(m, 1).name, "place");
    EGT_EQ(eg_module_parameters(m).count, 1);
    EGT_STR(eg_module_parameters(m).names[0], "table");
    EGT_OK(two(in, 2, wanted, 2, table));
    EGT_OK(eg_onnx_forward(m, in, 2, out));
    EGT_EQ(egt_distance(out[0], wanted[0]), 0);
    EGT_EQ(egt_distance(out[1], wanted[1]), 0);
    EGT_REFUSED(eg_onnx_forward(m, in, 1, out), EG_EINVAL, "2");
    EGT_REFUSED(eg_onnx_forward(m, (eg_tensor *[]){in[1], in[0]}, 2, out), EG_EDTYPE, "ids");
    eg_fail(EG_EUSER, "test", "earlier words"); /* success leaves them */
    EGT_CHECK(eg_onnx_forward(m, in, 2, out) == EG_OK && eg_last_error()->code == EG_EUSER);
    eg_clear_error();
    EGT_OK(eg_module_free(m));
    eg_scope_pop(s, NULL);
    eg_tensors_free(named);
}

static eg_tensor *products(eg_tensor *x)
{
    return eg_cumprod(x, 0);
}

static eg_tensor *read_on_host(eg_tensor *x)
{
    return eg_mul_scalar(x, eg_item(eg_sum(x)));
}

static eg_tensor *in_place(eg_tensor *x)
{
    return eg_relu_(eg_neg(x));
}

EGT(what_cannot_be_written_is_named)
{
    const char *path = egt_path("none.onnx");
    eg_scope s = eg_scope_push();
    eg_tensor *x = egt_random(EG_SHAPE(4, 4), EG_F32, -1, 1);
    eg_module *m = eg_activation_new(products), *drops = eg_dropout_new(0.5), *changes = eg_activation_new(in_place);
    eg_module *reads = eg_activation_new(read_on_host);
    EGT_REFUSED(eg_onnx_save(m, x, path), EG_ENOKERNEL, "cumprod");
    EGT_OK(eg_module_train(drops));
    EGT_REFUSED(eg_onnx_save(drops, x, path), EG_ENOKERNEL, "dropout");
    EGT_REFUSED(eg_onnx_save(changes, x, path), EG_ENOKERNEL, "in place");
    EGT_REFUSED(eg_onnx_save(reads, x, path), EG_ENOKERNEL, "eg_item");
    EGT_REFUSED(eg_onnx_save(m, NULL, path), EG_EINVAL, "x");
    EGT_EQ(egt_files("none.onnx"), 0);
    EGT_OK(eg_module_free(m));
    EGT_OK(eg_module_free(drops));
    EGT_OK(eg_module_free(changes));
    EGT_OK(eg_module_free(reads));
    eg_scope_pop(s, NULL);
}

/* ---- single calls -------------------------------------------------------------------------------------- */

/* Functions of x, each of which has an option, a dtype or a shape that ONNX sees in another way. */
#define CALLS(X)                                                                                                      \
    X(roll, EG_SHAPE(5, 3), EG_F32, eg_roll(x, 2, 0))                                                                 \
    X(roll_back, EG_SHAPE(5, 3), EG_I64, eg_roll(x, -4, -1))                                                          \
    X(circular, EG_SHAPE(2, 3), EG_F32, eg_pad(x, .mode = EG_PAD_CIRCULAR, .before = {5, -1}, .after = {-1, 4}))      \
    X(frames, EG_SHAPE(11), EG_F32, eg_frames(x, 4, 3))                                                               \
    X(strided, EG_SHAPE(3, 4), EG_F32, eg_as_strided(x, EG_SHAPE(2, 3), (int64_t[]){1, 4}, 1))                        \
    X(scaled, EG_SHAPE(1, 1, 4), EG_F32, eg_resize(x, EG_SHAPE(-1), .scale = {1.4}))                                  \
    X(smooth, EG_SHAPE(1, 2, 9, 8), EG_F32, eg_resize(x, EG_SHAPE(4, 3), .mode = EG_RESIZE_CUBIC, .antialias = true)) \
    X(area, EG_SHAPE(1, 2, 9, 8), EG_F32, eg_resize(x, EG_SHAPE(4, 3), .mode = EG_RESIZE_AREA))                       \
    X(nearest, EG_SHAPE(1, 2, 9, 8), EG_U8, eg_resize(x, EG_SHAPE(4, 3), .mode = EG_RESIZE_NEAREST))                  \
    X(window, EG_SHAPE(1, 1, 5, 2), EG_F32, eg_attention(x, x, x, .causal = true, .window = 1))                       \
    X(both_ways, EG_SHAPE(1, 1, 5, 2), EG_F32, eg_attention(x, x, x, .window = 2))                                    \
    X(slopes, EG_SHAPE(1, 2, 5, 2), EG_F32, eg_attention(x, x, x, .slopes = eg_full(EG_SHAPE(2), 0.3, EG_F32)))       \
    X(hidden, EG_SHAPE(1, 1, 2, 3), EG_F32, eg_attention(x, x, x, .mask = rows_mask()))                               \
    X(whole, EG_SHAPE(7), EG_F32, eg_floor_divide(x, eg_full(EG_SHAPE(1), 0.1, EG_F32)))                              \
    X(whole_numbers, EG_SHAPE(7), EG_I64, eg_floor_divide(x, eg_full(EG_SHAPE(1), -3, EG_I64)))                       \
    X(modulo, EG_SHAPE(7), EG_F16, eg_remainder(x, eg_full(EG_SHAPE(1), -0.3, EG_F16)))                               \
    X(not_of_numbers, EG_SHAPE(4), EG_F32, eg_logical_not(x))                                                         \
    X(less_of_bools, EG_SHAPE(4), EG_BOOL, eg_lt(x, eg_logical_not(x)))                                               \
    X(bytes, EG_SHAPE(3, 4), EG_U8, eg_add(eg_mul(x, x), eg_max(x)))                                                  \
    X(floor_of_integers, EG_SHAPE(4), EG_I32, eg_floor(x))                                                            \
    X(any_of, EG_SHAPE(3, 4), EG_F32, eg_any(x, .axes = EG_AXES(1)))                                                  \
    X(cut, EG_SHAPE(4, 2), EG_F32, eg_pad(x, .before = {-4}, .after = {3}, .value = 2))                               \
    X(cut_and_mirrored, EG_SHAPE(4), EG_F32, eg_pad(x, .mode = EG_PAD_REFLECT, .before = {-2}, .after = {3}))         \
    X(slope_of_f64, EG_SHAPE(4), EG_F64, eg_leaky_relu(x, 0.1))                                                       \
    X(small, EG_SHAPE(4), EG_F64, eg_expm1(eg_mul_scalar(x, 1e-9)))                                                   \
    X(sorted, EG_SHAPE(3, 5), EG_F32, eg_argsort(x, 1, true))                                                         \
    X(bits, EG_SHAPE(5), EG_I32, eg_shift_right(x, eg_full(EG_SHAPE(1), 2, EG_I32)))                                  \
    X(spectrum, EG_SHAPE(2, 7), EG_F32, eg_irfft(eg_rfft(x), .n = 7))                                                 \
    X(labels, EG_SHAPE(3), EG_I64,                                                                                    \
      eg_cross_entropy(eg_full(EG_SHAPE(3, 4), 0.5, EG_F32), eg_abs(x), .ignore = true, .ignore_index = 2))           \
    X(different, EG_SHAPE(6), EG_I64, eg_bincount(eg_abs(x), NULL, 4))                                                \
    X(slopes_of_one, EG_SHAPE(5, 2), EG_F32, eg_attention(x, x, x, .slopes = eg_full(EG_SHAPE(1), 0.3, EG_F32)))      \
    X(no_eps, EG_SHAPE(3, 2), EG_F32, eg_isnan(eg_layer_norm(eg_mul_scalar(x, 0), NULL, NULL, .eps = EG_ZERO)))       \
    X(infinite_slope, EG_SHAPE(1, 2), EG_F32, eg_isnan(eg_prelu(eg_relu(x), eg_full(EG_SHAPE(2), INFINITY, EG_F32)))) \
    X(mirrored_ties, EG_SHAPE(1, 2, 2, 4), EG_F32,                                                                    \
      eg_grid_sample(x, halves(), .mode = EG_SAMPLE_NEAREST, .border = EG_SAMPLE_REFLECT))                            \
    X(mirrored_ties_of_corners, EG_SHAPE(1, 2, 3, 5), EG_F32,                                                         \
      eg_grid_sample(x, halves(), .mode = EG_SAMPLE_NEAREST, .border = EG_SAMPLE_REFLECT, .align_corners = true))

static eg_tensor *rows_mask(void)
{
    return eg_from_values(EG_SHAPE(1, 1, 2, 2), EG_BOOL, (double[]){1, 1, 0, 0});
}

/* Points [1, 9, 9, 2], many of them as near to one pixel as to another. */
static eg_tensor *halves(void)
{
    eg_tensor *line = eg_linspace(-2, 2, 9, EG_F32), *x = eg_expand(line, EG_SHAPE(9, 9));
    return eg_unsqueeze(eg_stack((eg_tensor *[]){x, eg_transpose(x, 0, 1)}, 2, -1), 0);
}

#define CALL(name, shape, dtype, call)          \
    static eg_tensor *call_##name(eg_tensor *x) \
    {                                           \
        return call;                            \
    }
CALLS(CALL)
#undef CALL

static eg_status call_of(eg_tensor *const *in, int nin, eg_tensor **out, int nout, void *user)
{
    eg_tensor *(*const *f)(eg_tensor *) = user;
    (void)nin, (void)nout;
    out[0] = (*f)(in[0]);
    return out[0] ? EG_OK : eg_last_error()->code;
}

static void compare_call(eg_tensor *(*f)(eg_tensor *), eg_tensor *x, eg_tensor *other)
{
    const char *path = egt_path("call.onnx");
    eg_tensor *y;
    EGT_OK(eg_onnx_save_function(call_of, &f, NULL, &x, 1, 1, path));
    eg_module *m = eg_onnx_load(path);
    EGT_CHECK(m);
    for (int i = 0; i < 2; i++) {
        EGT_OK(eg_onnx_forward(m, i ? &other : &x, 1, &y));
        EGT_EQ(eg_dtype_of(y), eg_dtype_of(f(x)));
        EGT_CHECK(egt_distance(y, f(i ? other : x)) <= 2e-6);
    }
    EGT_OK(eg_module_free(m));
}

EGT(single_calls_give_what_the_function_does)
{
    static const struct {
        const char *name;
        eg_tensor *(*f)(eg_tensor *);
        eg_shape shape;
        eg_dtype dtype;
    } calls[] = {
#define CALL(name, shape, dtype, call) {#name, call_##name, shape, dtype},
        CALLS(CALL)
#undef CALL
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        snprintf(egt_case, sizeof egt_case, "%s", calls[i].name);
        eg_scope s = eg_scope_push();
        eg_tensor *x[2];
        for (int k = 0; k < 2; k++) {
            const bool real = calls[i].dtype <= EG_BF16;
            const double low = calls[i].dtype == EG_U8 || calls[i].dtype == EG_BOOL ? 0 : -3;
            eg_tensor *v = egt_random(calls[i].shape, EG_F64, low, calls[i].dtype == EG_BOOL ? 2 : 4);
            x[k] = eg_cast(real ? v : eg_floor(v), calls[i].dtype);
        }
        compare_call(calls[i].f, x[0], x[1]);
        eg_scope_pop(s, NULL);
    }
    egt_case[0] = '\0';
}

static eg_tensor *tiled(eg_tensor *x)
{
    return eg_tile(x, EG_SHAPE(2, 3));
}

EGT(results_without_elements_are_constants)
{
    eg_scope s = eg_scope_push();
    eg_tensor *x = eg_zeros(EG_SHAPE(0, 2), EG_F32);
    compare_call(tiled, x, x);
    eg_scope_pop(s, NULL);
}

/* ---- any batch ------------------------------------------------------------------------------------------ */

static eg_tensor *turned_rows(eg_tensor *x)
{
    return eg_flip(x, EG_AXES(0));
}

static eg_tensor *less_the_mean(eg_tensor *x)
{
    return eg_sub(x, eg_mean(x, .axes = EG_AXES(0)));
}

static eg_tensor *spread(eg_tensor *x)
{
    return eg_var(x, .axes = EG_AXES(0));
}

static eg_tensor *by_columns(eg_tensor *x)
{
    return eg_transpose(eg_softmax(eg_transpose(x, 0, 1), 0), 0, 1);
}

static eg_tensor *own_rows(eg_tensor *x)
{
    return eg_add(x, eg_ones(EG_SHAPE(eg_size(x, 0), 1), EG_F32));
}

static eg_tensor *gram(eg_tensor *x)
{
    return eg_matmul(eg_transpose(x, 0, 1), x);
}

EGT(any_batch_holds_for_other_sizes_or_is_refused)
{
    static const struct {
        eg_tensor *(*f)(eg_tensor *);
        const char *why;
    } calls[] = {{turned_rows, "along the batch"},
                 {less_the_mean, NULL},
                 {spread, "along the batch"},
                 {by_columns, NULL},
                 {own_rows, "as many"},
                 {gram, "matmul"}};
    const char *path = egt_path("batch.onnx");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        eg_scope s = eg_scope_push();
        eg_module *m = eg_activation_new(calls[i].f);
        eg_tensor *x = egt_random(EG_SHAPE(3, 3), EG_F32, -1, 1);
        if (calls[i].why) {
            EGT_REFUSED(eg_onnx_save(m, x, path, .any_batch = true), EG_ENOKERNEL, calls[i].why);
            EGT_OK(eg_onnx_save(m, x, path));
        } else {
            there_and_back(m, x, egt_random(EG_SHAPE(5, 3), EG_F32, -1, 1));
        }
        EGT_REFUSED(eg_onnx_save(m, eg_zeros(EG_SHAPE(0, 3), EG_F32), path, .any_batch = true), EG_EINVAL, "row");
        EGT_OK(eg_module_free(m));
        eg_scope_pop(s, NULL);
    }
}

/* Of each node's output, 2. */
static void count_rows(int i, const eg_tensor *t, void *user)
{
    (void)i;
    *(int *)user += t ? (int)eg_size(t, 0) : 0;
}

EGT(weights_beside_the_model_are_mapped_and_come_back)
{
    const char *path = egt_path("beside.onnx");
    char data[600];
    snprintf(data, sizeof data, "%s.data", path);
    eg_scope s = eg_scope_push();
    eg_module *m = eg_sequential_new(eg_linear_new(32, 33), eg_activation_new(eg_tanh), eg_linear_new(33, 33));
    eg_tensor *x = egt_random(EG_SHAPE(2, 32), EG_F32, -1, 1);
    EGT_CHECK(m);
    EGT_OK(eg_onnx_save(m, x, path, .beside = true));
    eg_module *back = eg_onnx_load(path);
    EGT_CHECK(back);
    EGT_EQ(eg_module_parameters(back).count, 4);
    EGT_EQ(egt_distance(eg_module_forward(m, x), eg_module_forward(back, x)), 0);
    EGT_OK(eg_module_free(back));
    /* 33 * 32 numbers, then 33 * 33 from the next multiple of 64 on: one mapping has both. Biases stay in the model. */
    eg_tensors *map = eg_tensors_open(path);
    const char *first = eg_data(eg_tensors_get(map, "0.weight")), *second = eg_data(eg_tensors_get(map, "2.weight"));
    EGT_CHECK(first && second);
    EGT_EQ((int64_t)((uintptr_t)second - (uintptr_t)first), 4224);
    EGT_EQ((int64_t)((uintptr_t)first % 64), 0);
    EGT_EQ(egt_distance(eg_tensors_get(map, "2.weight"), eg_module_parameters(m).tensors[2]), 0);
    eg_tensors_free(map);
    FILE *f = fopen(data, "rb");
    EGT_CHECK(f && !fseek(f, 0, SEEK_END));
    EGT_EQ(ftell(f), 4224 + 33 * 33 * 4);
    fclose(f);
    EGT_EQ(truncate(data, 4300), 0);
    EGT_REFUSED(eg_onnx_load(path), EG_EFORMAT, "beside.onnx.data");
    EGT_EQ(unlink(data), 0);
    EGT_REFUSED(eg_onnx_load(path), EG_EIO, "beside.onnx.data");
    EGT_OK(eg_onnx_save(m, x, path)); /* in one file again */
    back = eg_onnx_load(path);
    EGT_CHECK(back);
    EGT_OK(eg_module_free(back));
    EGT_EQ(egt_files("beside.onnx"), 1);
    EGT_OK(eg_module_free(m));
    eg_scope_pop(s, NULL);
}

EGT(what_a_model_says_of_itself)
{
    const char *path = egt_path("about.onnx");
    eg_scope s = eg_scope_push();
    eg_module *m = eg_sequential_new(eg_linear_new(6, 4), eg_activation_new(eg_relu));
    EGT_OK(eg_onnx_save(m, egt_random(EG_SHAPE(2, 6), EG_F32, -1, 1), path));
    eg_module *back = eg_onnx_load(path);
    EGT_STR(eg_onnx_about(back).producer, "egret");
    EGT_EQ(eg_onnx_about(back).ir, 9);
    EGT_EQ(eg_onnx_about(back).opset, 20);
    const int n = eg_onnx_nodes(back);
    int64_t parameters = 0;
    EGT_CHECK(n >= 3);
    for (int i = 0; i < n; i++) {
        parameters += eg_onnx_node_at(back, i).parameters;
    }
    EGT_EQ(parameters, 28);
    EGT_STR(eg_onnx_node_at(back, n - 1).op, "Identity");
    EGT_STR(eg_onnx_node_at(back, n - 2).op, "Relu");
    EGT_REFUSED(eg_onnx_node_at(back, n).op, EG_EINDEX, "there are");
    EGT_REFUSED(eg_onnx_about(m).producer, EG_EINVAL, "ONNX");
    int told = 0;
    eg_tensor *x = egt_random(EG_SHAPE(2, 6), EG_F32, -1, 1);
    EGT_OK(eg_onnx_follow(back, &x, 1, count_rows, &told));
    EGT_EQ(told, 2 * n);
    EGT_REFUSED(eg_onnx_follow(back, &x, 1, NULL, NULL), EG_EINVAL, "told");
    EGT_OK(eg_module_free(back));
    EGT_OK(eg_module_free(m));
    eg_scope_pop(s, NULL);
}

EGT(nets_of_images)
{
    static const struct {
        const char *name;
        int64_t side;
    } nets[] = {{"lenet", 28},        {"resnet_cifar_20", 32}, {"mobilenet_v2_035", 64},
                {"inception_v1", 64}, {"efficientnet_b0", 64}, {"resnet18", 64}};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        eg_model_info info = eg_model_find(nets[i].name);
        eg_module *m = eg_model_new(nets[i].name, .classes = 7, .side = info.sided ? nets[i].side : 0);
        EGT_CHECK(m);
        eg_scope s = eg_scope_push();
        eg_tensor *x = egt_random(EG_SHAPE(2, info.channels, nets[i].side, nets[i].side), EG_F32, -1, 1);
        eg_tensor *y = egt_random(EG_SHAPE(3, info.channels, nets[i].side, nets[i].side), EG_F32, -1, 1);
        there_and_back(m, x, y);
        eg_scope_pop(s, NULL);
        EGT_OK(eg_module_free(m));
    }
}
