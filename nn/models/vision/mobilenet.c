/* mobilenet.c - nets of separable convolutions for small machines: Howard et al. 2017, Sandler et al. 2018, as TF-Slim
 * has them. */
#include "nn/models/vision/parts.h"

/* The stride of a layer, or, beyond the one that is asked for, a dilation of those behind it. */
typedef struct strides {
    int64_t now, most, rate;
} strides;

static eg__conv stride_of(strides *s, int64_t stride)
{
    bool dilates = stride > 1 && s->now == s->most;
    eg__conv o = {.stride = dilates ? 1 : stride, .dilation = s->rate};
    s->now *= o.stride;
    s->rate *= dilates ? stride : 1;
    return o;
}

static eg_module *depthwise(const eg__style *s, int64_t channels, eg__conv o)
{
    o.groups = channels;
    return eg__conv_new_with(s, "depthwise", channels, channels, 3, o);
}

/* ---- v1 ----------------------------------------------------------------------------------------- */

eg_module *eg_mobilenet_v1_new_with(const eg_model_options *given)
{
    static const struct {
        int64_t stride, channels;
    } layers[] = {{1, 64},  {2, 128}, {1, 128}, {2, 256}, {1, 256},  {2, 512}, {1, 512},
                  {1, 512}, {1, 512}, {1, 512}, {1, 512}, {2, 1024}, {1, 1024}};
    eg_model_options o;
    if (!eg__model_options("mobilenet_v1", given, 1001, 3, EG__TAKES_WIDTH | EG__TAKES_STRIDE, &o)) {
        return NULL;
    }
    eg__style s = eg__style_of(&o, 1 - 0.9997, 1e-3, eg_relu6);
    double width = o.width != 0 ? o.width : 1;
    strides at = {2, o.output_stride ? o.output_stride : 32, 1};
    eg__stack net = {.count = 0};
    int64_t in = (int64_t)(32 * width) > 8 ? (int64_t)(32 * width) : 8;
    eg__stack_add(&net, eg__conv_new(&s, "Conv2d_0", o.channels, in, 3, .stride = 2));
    for (int i = 0; i < 13; i++) {
        int64_t wide = (int64_t)((double)layers[i].channels * width), out = wide > 8 ? wide : 8;
        eg_module *deep = depthwise(&s, in, stride_of(&at, layers[i].stride));
        eg__stack_add_numbered(&net, "Conv2d_", i + 1,
                               eg_sequential_new(deep, eg__conv_new(&s, "pointwise", in, out, 1)));
        in = out;
    }
    eg__stack_add(&net, eg__head_new("Logits", in, o.classes, 0.001, &o));
    return eg__begin(eg__stack_end(&net), EG_TRUNCATED_NORMAL, .std = 0.09);
}

/* ---- v2 ----------------------------------------------------------------------------------------- */

static eg_module *inverted_residual(const eg__style *s, int64_t in, int64_t out, int64_t expand, eg__conv o)
{
    eg__stack body = {.count = 0};
    if (expand > 1) {
        eg__stack_add(&body, eg__conv_new(s, "expand", in, expand * in, 1));
    }
    eg__stack_add(&body, depthwise(s, expand * in, o));
    eg__stack_add(&body, eg__conv_new(s, "project", expand * in, out, 1, .linear = true));
    return o.stride == 1 && in == out ? eg_residual_new(eg__stack_end(&body), eg_identity_new()) : eg__stack_end(&body);
}

eg_module *eg_mobilenet_v2_new_with(const eg_model_options *given)
{
    static const struct {
        int64_t expand, channels, units, stride;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    eg_model_options o;
    if (!eg__model_options("mobilenet_v2", given, 1001, 3, EG__TAKES_WIDTH | EG__TAKES_STRIDE, &o)) {
        return NULL;
    }
    eg__style s = eg__style_of(&o, 1 - 0.997, 1e-3, eg_relu6);
    double width = o.width != 0 ? o.width : 1;
    strides at = {2, o.output_stride ? o.output_stride : 32, 1};
    eg__stack net = {.count = 0};
    int64_t in = eg__divisible(32 * width), last = width > 1 ? eg__divisible(1280 * width) : 1280;
    int number = 0;
    eg__stack_add(&net, eg__conv_new(&s, "Conv", o.channels, in, 3, .stride = 2));
    for (int stage = 0; stage < 7; stage++) {
        int64_t out = eg__divisible((double)stages[stage].channels * width);
        for (int64_t i = 0; i < stages[stage].units; i++) {
            eg__conv way = stride_of(&at, i ? 1 : stages[stage].stride);
            eg__stack_add_numbered(&net, "expanded_conv_", number++,
                                   inverted_residual(&s, in, out, stages[stage].expand, way));
            in = out;
        }
    }
    eg__stack_add(&net, eg__conv_new(&s, "Conv_1", in, last, 1));
    eg__stack_add(&net, eg__head_new("Logits", last, o.classes, 0.2, &o));
    return eg__begin(eg__stack_end(&net), EG_TRUNCATED_NORMAL, .std = 0.09);
}
