/* inception_v1.c - GoogLeNet (Szegedy et al. 2014) and its successor with batch norm (Ioffe and Szegedy 2015), as
 * TF-Slim has them. */
#include "nn/models/vision/parts.h"

#define BRANCH(number, ...) eg_named("Branch_" #number, eg_sequential_new(__VA_ARGS__))

static eg__style style(const eg_model_options *o)
{
    eg__style s = eg__style_of(o, 1 - 0.9997, 1e-3, eg_relu);
    s.no_weight = true;
    return s;
}

/* ---- v1 ----------------------------------------------------------------------------------------- */

typedef struct mixed_v1 {
    const char *name;
    int64_t c1, c3[2], c5[2], pool; /* channels of each branch, and in front of it */
} mixed_v1;

static eg_module *module_v1(const eg__style *s, int64_t in, const mixed_v1 *m)
{
    return eg_named(m->name, eg_branches_new(BRANCH(0, eg__conv_new(s, "Conv2d_0a_1x1", in, m->c1, 1)),
                                             BRANCH(1, eg__conv_new(s, "Conv2d_0a_1x1", in, m->c3[0], 1),
                                                    eg__conv_new(s, "Conv2d_0b_3x3", m->c3[0], m->c3[1], 3)),
                                             BRANCH(2, eg__conv_new(s, "Conv2d_0a_1x1", in, m->c5[0], 1),
                                                    eg__conv_new(s, "Conv2d_0b_3x3", m->c5[0], m->c5[1], 3)),
                                             BRANCH(3, eg__max_pool_new(3, 1, EG_SAME),
                                                    eg__conv_new(s, "Conv2d_0b_1x1", in, m->pool, 1))));
}

eg_module *eg_inception_v1_new_with(const eg_model_options *given)
{
    static const mixed_v1 modules[] = {
        {"Mixed_3b", 64, {96, 128}, {16, 32}, 32},
        {"Mixed_3c", 128, {128, 192}, {32, 96}, 64},
        {"MaxPool_4a_3x3", .pool = 3},
        {"Mixed_4b", 192, {96, 208}, {16, 48}, 64},
        {"Mixed_4c", 160, {112, 224}, {24, 64}, 64},
        {"Mixed_4d", 128, {128, 256}, {24, 64}, 64},
        {"Mixed_4e", 112, {144, 288}, {32, 64}, 64},
        {"Mixed_4f", 256, {160, 320}, {32, 128}, 128},
        {"MaxPool_5a_2x2", .pool = 2},
        {"Mixed_5b", 256, {160, 320}, {32, 128}, 128},
        {"Mixed_5c", 384, {192, 384}, {48, 128}, 128},
    };
    eg_model_options o;
    if (!eg__model_options("inception_v1", given, 1001, 3, EG__TAKES_NOTHING, &o)) {
        return NULL;
    }
    eg__style s = style(&o);
    eg__stack net = {.count = 0};
    int64_t in = 192;
    eg__stack_add(&net, eg__conv_new(&s, "Conv2d_1a_7x7", o.channels, 64, 7, .stride = 2));
    eg__stack_add(&net, eg_named("MaxPool_2a_3x3", eg__max_pool_new(3, 2, EG_SAME)));
    eg__stack_add(&net, eg__conv_new(&s, "Conv2d_2b_1x1", 64, 64, 1));
    eg__stack_add(&net, eg__conv_new(&s, "Conv2d_2c_3x3", 64, 192, 3));
    eg__stack_add(&net, eg_named("MaxPool_3a_3x3", eg__max_pool_new(3, 2, EG_SAME)));
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        const mixed_v1 *m = &modules[i];
        if (m->c1) {
            eg__stack_add(&net, module_v1(&s, in, m));
            in = m->c1 + m->c3[1] + m->c5[1] + m->pool;
        } else {
            eg__stack_add(&net, eg_named(m->name, eg__max_pool_new(m->pool, 2, EG_SAME)));
        }
    }
    eg__stack_add(&net, eg__head_new("Logits", in, o.classes, 0.2, &o));
    return eg__begin(eg__stack_end(&net), EG_HE_NORMAL);
}

/* ---- v2 ----------------------------------------------------------------------------------------- */

typedef struct mixed_v2 {
    const char *name;
    int64_t c1, c3[2], d3[2], pool; /* c1 of 0: the places halve, and there is no convolution behind the pool */
    bool max;                       /* pool, else mean */
} mixed_v2;

static eg_module *module_v2(const eg__style *s, int64_t in, const mixed_v2 *m)
{
    eg_module *pool = m->max ? eg__max_pool_new(3, 1, EG_SAME) : eg__avg_pool_new(3, 1, EG_SAME);
    return eg_named(m->name, eg_branches_new(BRANCH(0, eg__conv_new(s, "Conv2d_0a_1x1", in, m->c1, 1)),
                                             BRANCH(1, eg__conv_new(s, "Conv2d_0a_1x1", in, m->c3[0], 1),
                                                    eg__conv_new(s, "Conv2d_0b_3x3", m->c3[0], m->c3[1], 3)),
                                             BRANCH(2, eg__conv_new(s, "Conv2d_0a_1x1", in, m->d3[0], 1),
                                                    eg__conv_new(s, "Conv2d_0b_3x3", m->d3[0], m->d3[1], 3),
                                                    eg__conv_new(s, "Conv2d_0c_3x3", m->d3[1], m->d3[1], 3)),
                                             BRANCH(3, pool, eg__conv_new(s, "Conv2d_0b_1x1", in, m->pool, 1))));
}

static eg_module *reduction_v2(const eg__style *s, int64_t in, const mixed_v2 *m)
{
    return eg_named(m->name,
                    eg_branches_new(BRANCH(0, eg__conv_new(s, "Conv2d_0a_1x1", in, m->c3[0], 1),
                                           eg__conv_new(s, "Conv2d_1a_3x3", m->c3[0], m->c3[1], 3, .stride = 2)),
                                    BRANCH(1, eg__conv_new(s, "Conv2d_0a_1x1", in, m->d3[0], 1),
                                           eg__conv_new(s, "Conv2d_0b_3x3", m->d3[0], m->d3[1], 3),
                                           eg__conv_new(s, "Conv2d_1a_3x3", m->d3[1], m->d3[1], 3, .stride = 2)),
                                    BRANCH(2, eg__max_pool_new(3, 2, EG_SAME))));
}

/* 7 x 7 of each channel to 8, then 1 x 1 over all of them, with a bias and no norm. */
static eg_module *stem_v2(int64_t channels)
{
    int64_t multiplier = 64 / channels > 8 ? 8 : 64 / channels > 0 ? 64 / channels : 1;
    return eg_named("Conv2d_1a_7x7",
                    eg_sequential_new(eg_named("conv", eg_separable_conv2d_new(channels, 64, multiplier, .kernel = 7,
                                                                               .stride = 2, .padding = EG_SAME)),
                                      eg_activation_new(eg_relu)));
}

eg_module *eg_inception_v2_new_with(const eg_model_options *given)
{
    static const mixed_v2 modules[] = {
        {"Mixed_3b", 64, {64, 64}, {64, 96}, 32, false},       {"Mixed_3c", 64, {64, 96}, {64, 96}, 64, false},
        {"Mixed_4a", 0, {128, 160}, {64, 96}, 0, true},        {"Mixed_4b", 224, {64, 96}, {96, 128}, 128, false},
        {"Mixed_4c", 192, {96, 128}, {96, 128}, 128, false},   {"Mixed_4d", 160, {128, 160}, {128, 160}, 96, false},
        {"Mixed_4e", 96, {128, 192}, {160, 192}, 96, false},   {"Mixed_5a", 0, {128, 192}, {192, 256}, 0, true},
        {"Mixed_5b", 352, {192, 320}, {160, 224}, 128, false}, {"Mixed_5c", 352, {192, 320}, {192, 224}, 128, true},
    };
    eg_model_options o;
    if (!eg__model_options("inception_v2", given, 1001, 3, EG__TAKES_NOTHING, &o)) {
        return NULL;
    }
    eg__style s = style(&o);
    eg__stack net = {.count = 0};
    int64_t in = 192;
    eg__stack_add(&net, stem_v2(o.channels));
    eg__stack_add(&net, eg_named("MaxPool_2a_3x3", eg__max_pool_new(3, 2, EG_SAME)));
    eg__stack_add(&net, eg__conv_new(&s, "Conv2d_2b_1x1", 64, 64, 1));
    eg__stack_add(&net, eg__conv_new(&s, "Conv2d_2c_3x3", 64, 192, 3));
    eg__stack_add(&net, eg_named("MaxPool_3a_3x3", eg__max_pool_new(3, 2, EG_SAME)));
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        const mixed_v2 *m = &modules[i];
        eg__stack_add(&net, m->c1 ? module_v2(&s, in, m) : reduction_v2(&s, in, m));
        in = m->c3[1] + m->d3[1] + (m->c1 ? m->c1 + m->pool : in);
    }
    eg__stack_add(&net, eg__head_new("Logits", in, o.classes, 0.2, &o));
    return eg__begin(eg__stack_end(&net), EG_HE_NORMAL);
}
