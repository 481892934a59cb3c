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

EGT(nets_of_images)
{
    static const struct {
        const char *name;
        int64_t side;
    } nets[] = {{"lenet", 28},           {"resnet_cifar_20", 32}, {"mobilenet_v2_035", 64}, {"inception_v1", 64},
                {"efficientnet_b0", 64}, {"convnext_tiny", 64},   {"vit_tiny", 224},        {"unet", 64}};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        eg_model_info info = eg_model_find(nets[i].name);
        eg_module *m = info.name ? eg_model_new(nets[i].name, .classes = 7) : NULL;
        if (!m) {
            eg_error_print(stderr);
            continue;
        }
        eg_scope s = eg_scope_push();
        eg_tensor *x = egt_random(EG_SHAPE(2, info.channels, nets[i].side, nets[i].side), EG_F32, -1, 1);
        eg_tensor *y = egt_random(EG_SHAPE(3, info.channels, nets[i].side, nets[i].side), EG_F32, -1, 1);
        there_and_back(m, x, y);
        eg_scope_pop(s, NULL);
        EGT_OK(eg_module_free(m));
    }
}
