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

static eg_tensor *sorted(eg_tensor *x)
{
    eg_tensor *y = NULL;
    return eg_sort(x, 0, false, &y, NULL) ? NULL : y;
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
    eg_module *m = eg_activation_new(sorted), *drops = eg_dropout_new(0.5), *changes = eg_activation_new(in_place);
    EGT_REFUSED(eg_onnx_save(m, x, path), EG_ENOKERNEL, "sort");
    EGT_OK(eg_module_train(drops));
    EGT_REFUSED(eg_onnx_save(drops, x, path), EG_ENOKERNEL, "dropout");
    EGT_REFUSED(eg_onnx_save(changes, x, path), EG_ENOKERNEL, "in place");
    EGT_REFUSED(eg_onnx_save(m, NULL, path), EG_EINVAL, "x");
    EGT_EQ(egt_files("none.onnx"), 0);
    EGT_OK(eg_module_free(m));
    EGT_OK(eg_module_free(drops));
    EGT_OK(eg_module_free(changes));
    eg_scope_pop(s, NULL);
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
