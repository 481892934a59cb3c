/* vgg.c - plain stacks of convolutions with dense layers behind them: VGG (Simonyan and Zisserman 2014), AlexNet
 * (Krizhevsky 2014), OverFeat (Sermanet et al. 2013), as TF-Slim has them. */
#include "nn/models/vision/parts.h"

enum { TAKES = EG__TAKES_NO_NORM };

static const eg__style plain = {.activation = eg_relu};

#define CONV(name, in, ...) eg__conv_new(&plain, name, in, __VA_ARGS__, .no_norm = true)

/* Dense layers over the places that the first one's kernel covers. */
static eg_module *dense(int64_t in, int64_t kernel, int64_t first, int64_t second, const eg_model_options *o)
{
    double dropout = eg__or(o->dropout, 0.5);
    eg_model_options last = *o;
    last.dropout = dropout > 0 ? dropout : EG_ZERO;
    return eg_named("classifier",
                    eg_sequential_new(eg__dense_conv_new("fc6", in, first, kernel), eg_dropout_new(dropout),
                                      eg__dense_conv_new("fc7", first, second, 1),
                                      eg__head_new("fc8", second, o->classes, dropout, &last)));
}

static eg_module *begun(eg_module *features, eg_module *classifier)
{
    return eg__begin(eg_sequential_new(features, classifier), EG_GLOROT_UNIFORM);
}

eg_module *eg_vgg_new_with(int layers, const eg_model_options *given)
{
    static const struct {
        int layers, convs[5];
    } nets[] = {{11, {1, 1, 2, 2, 2}}, {13, {2, 2, 2, 2, 2}}, {16, {2, 2, 3, 3, 3}}, {19, {2, 2, 4, 4, 4}}};
    static const int64_t channels[5] = {64, 128, 256, 512, 512};
    eg_model_options o;
    int at = 0;
    while (at < 4 && nets[at].layers != layers) {
        at++;
    }
    if (at == 4) {
        eg_failf(EG_EINVAL, "vgg", "there is none of %d layers: 11, 13, 16 or 19", layers);
        return NULL;
    }
    if (!eg__model_options("vgg", given, 1000, 3, TAKES, &o)) {
        return NULL;
    }
    eg__stack s = {.count = 0};
    int64_t in = o.channels;
    for (int stage = 0; stage < 5; stage++) {
        for (int i = 0; i < nets[at].convs[stage]; i++) {
            char name[] = {'c', 'o', 'n', 'v', (char)('1' + stage), '_', (char)('1' + i), 0};
            eg__stack_add(&s, CONV(name, in, channels[stage], 3));
            in = channels[stage];
        }
        eg__stack_add_numbered(&s, "pool", stage + 1, eg__max_pool_new(2, 2, EG_VALID));
    }
    return begun(eg_named("features", eg__stack_end(&s)), dense(512, 7, 4096, 4096, &o));
}

eg_module *eg_alexnet_v2_new_with(const eg_model_options *given)
{
    eg_model_options o;
    if (!eg__model_options("alexnet_v2", given, 1000, 3, TAKES, &o)) {
        return NULL;
    }
    eg_module *features = eg_sequential_new(
        CONV("conv1", o.channels, 64, 11, .stride = 4, .valid = true), eg__max_pool_new(3, 2, EG_VALID),
        CONV("conv2", 64, 192, 5), eg__max_pool_new(3, 2, EG_VALID), CONV("conv3", 192, 384, 3),
        CONV("conv4", 384, 384, 3), CONV("conv5", 384, 256, 3), eg__max_pool_new(3, 2, EG_VALID));
    return begun(eg_named("features", features), dense(256, 5, 4096, 4096, &o));
}

eg_module *eg_overfeat_new_with(const eg_model_options *given)
{
    eg_model_options o;
    if (!eg__model_options("overfeat", given, 1000, 3, TAKES, &o)) {
        return NULL;
    }
    eg_module *features = eg_sequential_new(
        CONV("conv1", o.channels, 64, 11, .stride = 4, .valid = true), eg__max_pool_new(2, 2, EG_VALID),
        CONV("conv2", 64, 256, 5, .valid = true), eg__max_pool_new(2, 2, EG_VALID), CONV("conv3", 256, 512, 3),
        CONV("conv4", 512, 1024, 3), CONV("conv5", 1024, 1024, 3), eg__max_pool_new(2, 2, EG_VALID));
    return begun(eg_named("features", features), dense(1024, 6, 3072, 4096, &o));
}
