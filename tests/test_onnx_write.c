/* test_onnx_write.c - forwards written as ONNX models, and what they give when they are read again. */
#include "tests/egt.h"

#include <math.h>

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
