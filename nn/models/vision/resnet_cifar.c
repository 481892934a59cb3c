/* resnet_cifar.c - residual nets for 32 x 32 images (He et al. 2015, section 4.2; He et al. 2016), shortcuts without
 * parameters. */
#include "nn/models/vision/parts.h"

/* Means of stride x stride places, zeros for new channels, half of them in front: the paper's option A as TensorFlow's
 * example has it. */
typedef struct widen {
    eg_module base;
    int64_t stride, more;
} widen;

static eg_tensor *widen_forward(eg_module *m, eg_tensor *x)
{
    widen *w = (widen *)m;
    eg_tensor *means = eg_avg_pool2d(x, .kernel = w->stride, .stride = w->stride);
    return eg_pad(means, .before = {0, w->more / 2}, .after = {0, w->more - w->more / 2});
}

static const eg_module_kind widen_kind = {.size = sizeof(eg_module_kind), .name = "widen", .forward = widen_forward};

static eg_module *shortcut(int64_t in, int64_t out, int64_t stride)
{
    if (in == out) {
        return eg_identity_new();
    }
    widen *w = eg_module_new(sizeof *w, &widen_kind);
    if (w) {
        w->stride = stride;
        w->more = out - in;
    }
    return w ? &w->base : NULL;
}

static eg_module *unit_v1(const eg__style *s, int64_t in, int64_t out, int64_t stride)
{
    eg_module *body = eg_sequential_new(eg__conv_new(s, "conv1", in, out, 3, .stride = stride, .pad = 1),
                                        eg__conv_new(s, "conv2", out, out, 3, .linear = true));
    return eg_sequential_new(eg_named("unit", eg_residual_new(body, shortcut(in, out, stride))),
                             eg_activation_new(eg_relu));
}

/* Norm and relu in front of both convolutions; the second one's follow the first. */
static eg_module *unit_v2(const eg__style *s, int64_t in, int64_t out, int64_t stride)
{
    eg_module *last = eg_conv2d_new(out, out, .kernel = 3, .padding = EG_SAME, .no_bias = true);
    eg_module *body =
        eg_sequential_new(eg_named("preact", eg__norm_new(s, in, false)),
                          eg__conv_new(s, "conv1", in, out, 3, .stride = stride, .pad = 1), eg_named("conv2", last));
    return eg_named("unit", eg_residual_new(body, shortcut(in, out, stride)));
}

static eg_module *make(const char *op, int layers, bool norm_first, const eg_model_options *given)
{
    eg_model_options o;
    if (layers < 8 || (layers - 2) % 6) {
        eg_failf(EG_EINVAL, op, "there is none of %d layers: 6 n + 2, n at least 1", layers);
        return NULL;
    }
    if (!eg__model_options(op, given, 10, 3, EG__TAKES_NOTHING, &o)) {
        return NULL;
    }
    eg__style s = eg__style_of(&o, 1 - 0.997, 1e-5, eg_relu);
    eg__stack net = {.count = 0};
    int64_t in = 16;
    eg__stack_add(&net, norm_first ? eg_named("conv1", eg_conv2d_new(o.channels, 16, .kernel = 3, .padding = EG_SAME,
                                                                     .no_bias = true))
                                   : eg__conv_new(&s, "conv1", o.channels, 16, 3));
    for (int stage = 0; stage < 3; stage++) {
        for (int i = 0; i < (layers - 2) / 6; i++) {
            int64_t out = (int64_t)16 << stage, stride = stage && !i ? 2 : 1;
            char name[] = {'b', 'l', 'o', 'c', 'k', (char)('1' + stage), '_', 'u', 'n', 'i', 't', 0};
            eg__stack_add_numbered(&net, name, i + 1,
                                   norm_first ? unit_v2(&s, in, out, stride) : unit_v1(&s, in, out, stride));
            in = out;
        }
    }
    if (norm_first) {
        eg__stack_add(&net, eg_named("postnorm", eg__norm_new(&s, in, false)));
    }
    eg__stack_add(&net, eg__head_new("logits", in, o.classes, 0, &o));
    return eg__begin(eg__stack_end(&net), EG_GLOROT_UNIFORM);
}

eg_module *eg_resnet_cifar_v1_new_with(int layers, const eg_model_options *options)
{
    return make("resnet_cifar_v1", layers, false, options);
}

eg_module *eg_resnet_cifar_v2_new_with(int layers, const eg_model_options *options)
{
    return make("resnet_cifar_v2", layers, true, options);
}
