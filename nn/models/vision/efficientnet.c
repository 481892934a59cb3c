/* efficientnet.c - nets grown along depth, width and side at once (Tan and Le 2019): as torchvision has them, and the
 * Lite ones for small machines, as TensorFlow has them. */
#include <math.h>

#include "nn/models/vision/parts.h"

static const struct stage {
    int64_t expand, kernel, stride, channels, units;
} stages[] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
              {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};

enum { STAGES = sizeof stages / sizeof *stages };

/* How far one net is grown. */
typedef struct growth {
    double width, depth, dropout;
} growth;

/* A net of either family. A Lite one has no gates, pads as TensorFlow does, and what is at both ends does not grow. */
typedef struct plan {
    eg__style style;
    growth by;
    bool lite;
} plan;

/* ---- sizes -------------------------------------------------------------------------------------- */

static int64_t channels_of(const plan *p, int stage)
{
    return eg__divisible((double)stages[stage].channels * p->by.width);
}

static int64_t units_of(const plan *p, int stage)
{
    bool end = stage == 0 || stage == STAGES - 1;
    return end && p->lite ? stages[stage].units : (int64_t)ceil((double)stages[stage].units * p->by.depth);
}

/* ---- the net ------------------------------------------------------------------------------------ */

/* An inverted residual, with a gate over channels but in Lite nets. */
static eg_module *unit(const plan *p, const struct stage *of, int64_t in, int64_t out, int64_t stride, double drop_path)
{
    const eg__style *s = &p->style;
    eg__stack body = {.count = 0};
    int64_t wide = of->expand * in;
    if (of->expand > 1) {
        eg__stack_add(&body, eg__conv_new(s, "expand", in, wide, 1));
    }
    eg__stack_add(&body, eg__conv_new(s, "depthwise", wide, wide, of->kernel, .stride = stride, .groups = wide,
                                      .pad = p->lite ? 0 : of->kernel / 2));
    if (!p->lite) {
        eg__stack_add(&body, eg_named("squeeze_excite",
                                      eg_squeeze_excite_new(wide, in > 4 ? in / 4 : 1, .activation = s->activation)));
    }
    eg__stack_add(&body, eg__conv_new(s, "project", wide, out, 1, .linear = true));
    if (stride > 1 || in != out) {
        return eg__stack_end(&body);
    }
    eg__stack_add(&body, eg_drop_path_new(drop_path));
    return eg_residual_new(eg__stack_end(&body), eg_identity_new());
}

static eg_module *make(const plan *p, const eg_model_options *o)
{
    double drop_path = eg__or(o->drop_path, 0.2);
    eg__stack net = {.count = 0};
    int64_t in = p->lite ? 32 : eg__divisible(32 * p->by.width), total = 0;
    int number = 0;
    for (int i = 0; i < STAGES; i++) {
        total += units_of(p, i);
    }
    eg__stack_add(&net, eg__conv_new(&p->style, "stem", o->channels, in, 3, .stride = 2, .pad = p->lite ? 0 : 1));
    for (int i = 0; i < STAGES; i++) {
        int64_t out = channels_of(p, i);
        for (int64_t k = 0; k < units_of(p, i); k++) {
            double drop = drop_path * number / (double)total;
            eg__stack_add_numbered(&net, "unit", number++,
                                   unit(p, &stages[i], in, out, k ? 1 : stages[i].stride, drop));
            in = out;
        }
    }
    int64_t last = p->lite ? 1280 : 4 * in;
    eg__stack_add(&net, eg__conv_new(&p->style, "top", in, last, 1));
    eg__stack_add(&net, eg__head_new("classifier", last, o->classes, p->by.dropout, o));
    return eg__begin(eg__stack_end(&net), EG_HE_NORMAL, .fan_out = true);
}

/* ---- both families ------------------------------------------------------------------------------ */

eg_module *eg_efficientnet_new_with(int b, const eg_model_options *given)
{
    static const growth grown[8] = {{1.0, 1.0, 0.2}, {1.0, 1.1, 0.2}, {1.1, 1.2, 0.3}, {1.2, 1.4, 0.3},
                                    {1.4, 1.8, 0.4}, {1.6, 2.2, 0.4}, {1.8, 2.6, 0.5}, {2.0, 3.1, 0.5}};
    eg_model_options o;
    if (b < 0 || b > 7) {
        eg_failf(EG_EINVAL, "efficientnet", "there is no B%d: 0..7", b);
        return NULL;
    }
    if (!eg__model_options("efficientnet", given, 1000, 3, EG__TAKES_DROP_PATH, &o)) {
        return NULL;
    }
    plan p = {.style = eg__style_of(&o, b < 5 ? 0.1 : 0.01, b < 5 ? 1e-5 : 1e-3, eg_silu), .by = grown[b]};
    return make(&p, &o);
}

eg_module *eg_efficientnet_lite_new_with(int lite, const eg_model_options *given)
{
    static const growth grown[5] = {
        {1.0, 1.0, 0.2}, {1.0, 1.1, 0.2}, {1.1, 1.2, 0.3}, {1.2, 1.4, 0.3}, {1.4, 1.8, 0.3}};
    eg_model_options o;
    if (lite < 0 || lite > 4) {
        eg_failf(EG_EINVAL, "efficientnet_lite", "there is no Lite%d: 0..4", lite);
        return NULL;
    }
    if (!eg__model_options("efficientnet_lite", given, 1000, 3, EG__TAKES_DROP_PATH, &o)) {
        return NULL;
    }
    plan p = {.style = eg__style_of(&o, 0.01, 1e-3, eg_relu6), .by = grown[lite], .lite = true};
    return make(&p, &o);
}
