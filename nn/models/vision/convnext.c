/* convnext.c - ConvNeXt (Liu et al. 2022), as torchvision has it. */
#include "nn/models/vision/parts.h"

static const struct {
    int units[4];
    int64_t channels[4];
    double drop_path;
} nets[] = {
    [EG_CONVNEXT_TINY] = {{3, 3, 9, 3}, {96, 192, 384, 768}, 0.1},
    [EG_CONVNEXT_SMALL] = {{3, 3, 27, 3}, {96, 192, 384, 768}, 0.4},
    [EG_CONVNEXT_BASE] = {{3, 3, 27, 3}, {128, 256, 512, 1024}, 0.5},
    [EG_CONVNEXT_LARGE] = {{3, 3, 27, 3}, {192, 384, 768, 1536}, 0.5},
};

static eg_module *to_last(void)
{
    return eg_permute_new(EG_AXES(0, 2, 3, 1));
}

static eg_module *to_first(void)
{
    return eg_permute_new(EG_AXES(0, 3, 1, 2));
}

static eg_module *norm(int64_t channels, double eps)
{
    return eg_named("norm", eg_layer_norm_new(EG_SHAPE(channels), .eps = eps));
}

/* Over the channels of each place. */
static eg_module *norm_of_places(int64_t channels, double eps)
{
    return eg_sequential_new(to_last(), norm(channels, eps), to_first());
}

static eg_module *unit(int64_t channels, double drop_path, double eps)
{
    eg_module *body = eg_sequential_new(
        eg_named("depthwise", eg_conv2d_new(channels, channels, .kernel = 7, .padding = 3, .groups = channels)),
        to_last(), norm(channels, eps), eg_named("linear1", eg_linear_new(channels, 4 * channels)),
        eg_activation_new(eg_gelu), eg_named("linear2", eg_linear_new(4 * channels, channels)), to_first(),
        eg_named("scale", eg_layer_scale_new(channels, 1e-6)), eg_drop_path_new(drop_path));
    return eg_residual_new(body, eg_identity_new());
}

eg_module *eg_convnext_new_with(eg_convnext_size of, const eg_model_options *given)
{
    eg_model_options o;
    if ((int)of < EG_CONVNEXT_TINY || of > EG_CONVNEXT_LARGE) {
        eg_failf(EG_EINVAL, "convnext", "there is no size %d", (int)of);
        return NULL;
    }
    if (!eg__model_options("convnext", given, 1000, 3, EG__TAKES_DROP_PATH | EG__TAKES_WHOLE, &o)) {
        return NULL;
    }
    double drop_path = eg__or(o.drop_path, nets[of].drop_path), eps = o.bn_eps != 0 ? o.bn_eps : 1e-6;
    const int64_t *channels = nets[of].channels;
    eg__stack net = {.count = 0};
    int total = 0, number = 0;
    for (int stage = 0; stage < 4; stage++) {
        total += nets[of].units[stage];
    }
    for (int stage = 0; stage < 4; stage++) {
        int64_t in = stage ? channels[stage - 1] : o.channels, stride = stage ? 2 : 4;
        eg_module *conv = eg_named("conv", eg_conv2d_new(in, channels[stage], .kernel = stride, .stride = stride));
        eg__stack_add_numbered(&net, "down", stage,
                               stage ? eg_sequential_new(norm_of_places(in, eps), conv)
                                     : eg_sequential_new(conv, norm_of_places(channels[0], eps)));
        for (int i = 0; i < nets[of].units[stage]; i++) {
            double drop = drop_path * number / (total - 1);
            eg__stack_add_numbered(&net, "unit", number++, unit(channels[stage], drop, eps));
        }
    }
    eg__stack_add(&net, eg_global_avg_pool_new());
    eg__stack_add(&net, norm(channels[3], eps));
    eg__stack_add(&net, eg__head_new("classifier", channels[3], o.classes, 0, &o));
    return eg__begin(eg__stack_end(&net), EG_TRUNCATED_NORMAL, .std = 0.02);
}
