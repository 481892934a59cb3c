/* resnet.c - residual nets for large images: He et al. 2015 and 2016, as torchvision and as TF-Slim have them. */
#include "nn/models/vision/parts.h"

/* Units of each stage. */
typedef struct shape {
    int layers, units[4];
    bool bottleneck;
} shape;

typedef struct family {
    const char *name;
    int64_t classes;
    bool norm_first;   /* He et al. 2016 */
    bool last_strides; /* the last unit of a stage but the last one strides; else the first one of all but the first */
    shape shapes[5];
} family;

#define DEEP                                              \
    {50, {3, 4, 6, 3}, true}, {101, {3, 4, 23, 3}, true}, \
    {                                                     \
        152, {3, 8, 36, 3}, true                          \
    }
static const family torch = {
    "resnet", 1000, false, false, {{18, {2, 2, 2, 2}, false}, {34, {3, 4, 6, 3}, false}, DEEP}};
static const family slim_v1 = {"resnet_v1", 1000, false, true, {DEEP, {200, {3, 24, 36, 3}, true}}};
static const family slim_v2 = {"resnet_v2", 1001, true, true, {DEEP, {200, {3, 24, 36, 3}, true}}};

/* ---- units -------------------------------------------------------------------------------------- */

typedef struct unit {
    const eg__style *s;
    const family *f;
    int64_t in, inner, out, stride, rate;
    bool bottleneck;
} unit;

/* 3 x 3, the same number of cells on both sides whatever the stride. */
static eg_module *wide(const unit *u, const char *name, int64_t in, bool linear)
{
    return eg__conv_new(u->s, name, in, u->inner, 3, .stride = u->stride, .pad = u->rate, .dilation = u->rate,
                        .linear = linear);
}

static eg_module *body(const unit *u)
{
    if (u->bottleneck) {
        return eg_sequential_new(
            eg__conv_new(u->s, "conv1", u->in, u->inner, 1), wide(u, "conv2", u->inner, false),
            eg__conv_new(u->s, "conv3", u->inner, u->out, 1, .linear = true, .no_norm = u->f->norm_first));
    }
    unit second = *u;
    second.stride = 1;
    return eg_sequential_new(wide(u, "conv1", u->in, false), wide(&second, "conv2", u->inner, true));
}

static eg_module *shortcut(const unit *u)
{
    if (u->in != u->out) {
        return eg__conv_new(u->s, "projection", u->in, u->out, 1, .stride = u->stride, .linear = true,
                            .no_norm = u->f->norm_first);
    }
    return u->stride > 1 ? eg__max_pool_new(1, u->stride, EG_VALID) : eg_identity_new();
}

static eg_module *unit_new(const unit *u)
{
    if (!u->f->norm_first) {
        return eg_sequential_new(eg_named("unit", eg_residual_new(body(u), shortcut(u))), eg_activation_new(eg_relu));
    }
    eg_module *preact = eg_named("preact", eg__norm_new(u->s, u->in, false));
    if (u->in != u->out) { /* both sides read what the norm made */
        return eg_sequential_new(preact, eg_named("unit", eg_residual_new(body(u), shortcut(u))));
    }
    return eg_sequential_new(
        eg_named("unit", eg_residual_new(eg_sequential_new(preact, eg_named("convs", body(u))), shortcut(u))));
}

/* ---- nets --------------------------------------------------------------------------------------- */

/* Stages first .. last - 1 of units; beyond the stride that is asked for they are dilated. */
static int64_t stages(eg__stack *net, const eg__style *s, const family *f, const shape *of, int first, int last,
                      int64_t most)
{
    int64_t in = first ? (int64_t)(of->bottleneck ? 128 : 32) << first : 64, now = (int64_t)4 << first, rate = 1;
    for (int stage = first; stage < last; stage++) {
        int64_t inner = (int64_t)64 << stage, out = of->bottleneck ? 4 * inner : inner;
        for (int i = 0; i < of->units[stage]; i++) {
            bool strides = f->last_strides ? stage < 3 && i == of->units[stage] - 1 : stage > 0 && i == 0;
            bool dilates = strides && now == most;
            unit u = {s, f, in, inner, out, strides && !dilates ? 2 : 1, rate, of->bottleneck};
            char name[] = {'b', 'l', 'o', 'c', 'k', (char)('1' + stage), '_', 'u', 'n', 'i', 't', 0};
            eg__stack_add_numbered(net, name, i + 1, unit_new(&u));
            now *= u.stride;
            rate *= dilates ? 2 : 1;
            in = out;
        }
    }
    return in;
}

static const shape *shape_of(const family *f, int layers)
{
    for (int i = 0; i < 5; i++) {
        if (f->shapes[i].layers == layers && layers) {
            return &f->shapes[i];
        }
    }
    eg_failf(EG_EINVAL, f->name, "there is none of %d layers", layers);
    return NULL;
}

/* What is in front of the stages: a quarter of the sides. */
static void stem(eg__stack *net, const eg__style *s, const family *f, int64_t channels)
{
    eg__stack_add(net, eg__conv_new(s, "conv1", channels, 64, 7, .stride = 2, .pad = 3, .linear = f->norm_first,
                                    .no_norm = f->norm_first));
    eg__stack_add(net, eg_named("pool1", eg__max_pool_new(3, 2, f == &torch ? 1 : EG_SAME)));
}

static eg_module *make(const family *f, int layers, const eg_model_options *given)
{
    eg_model_options o;
    const shape *of = shape_of(f, layers);
    if (!of || !eg__model_options(f->name, given, f->classes, 3, EG__TAKES_STRIDE, &o)) {
        return NULL;
    }
    eg__style s = eg__style_of(&o, f == &torch ? 0.1 : 1 - 0.997, 1e-5, eg_relu);
    eg__stack net = {.count = 0};
    stem(&net, &s, f, o.channels);
    int64_t out = stages(&net, &s, f, of, 0, 4, o.output_stride ? o.output_stride : 32);
    if (f->norm_first) {
        eg__stack_add(&net, eg_named("postnorm", eg__norm_new(&s, out, false)));
    }
    eg__stack_add(&net, eg__head_new("logits", out, o.classes, 0, &o));
    return eg__begin(eg__stack_end(&net), EG_HE_NORMAL, .fan_out = f == &torch);
}

eg_module *eg__resnet_v1_stages_new(int layers, int first, int last, int64_t stride, int64_t channels)
{
    const shape *of = shape_of(&slim_v1, layers);
    const eg_model_options o = {.size = sizeof o};
    if (!of) {
        return NULL;
    }
    eg__style s = eg__style_of(&o, 1 - 0.997, 1e-5, eg_relu);
    eg__stack net = {.count = 0};
    if (!first) {
        stem(&net, &s, &slim_v1, channels);
    }
    stages(&net, &s, &slim_v1, of, first, last, stride);
    return eg__begin(eg__stack_end(&net), EG_HE_NORMAL);
}

eg_module *eg_resnet_new_with(int layers, const eg_model_options *options)
{
    return make(&torch, layers, options);
}

eg_module *eg_resnet_v1_new_with(int layers, const eg_model_options *options)
{
    return make(&slim_v1, layers, options);
}

eg_module *eg_resnet_v2_new_with(int layers, const eg_model_options *options)
{
    return make(&slim_v2, layers, options);
}
