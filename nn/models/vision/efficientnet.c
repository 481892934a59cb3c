/* efficientnet.c - nets grown along depth, width and side at once (Tan and Le 2019), as torchvision has them. */
#include <math.h>

#include "nn/models/vision/parts.h"

static const struct {
    double width, depth, dropout;
} grown[8] = {{1.0, 1.0, 0.2}, {1.0, 1.1, 0.2}, {1.1, 1.2, 0.3}, {1.2, 1.4, 0.3},
              {1.4, 1.8, 0.4}, {1.6, 2.2, 0.4}, {1.8, 2.6, 0.5}, {2.0, 3.1, 0.5}};

static const struct stage {
    int64_t expand, kernel, stride, channels, units;
} stages[7] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
               {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};

/* An inverted residual with a gate over channels. */
static eg_module *unit(const eg__style *s, const struct stage *of, int64_t in, int64_t out, int64_t stride,
                       double drop_path)
{
    eg__stack body = {.count = 0};
    int64_t wide = of->expand * in;
    if (of->expand > 1) {
        eg__stack_add(&body, eg__conv_new(s, "expand", in, wide, 1));
    }
    eg__stack_add(&body, eg__conv_new(s, "depthwise", wide, wide, of->kernel, .stride = stride, .groups = wide,
                                      .pad = of->kernel / 2));
    eg__stack_add(&body,
                  eg_named("squeeze_excite", eg_squeeze_excite_new(wide, in > 4 ? in / 4 : 1, .activation = eg_silu)));
    eg__stack_add(&body, eg__conv_new(s, "project", wide, out, 1, .linear = true));
    if (stride > 1 || in != out) {
        return eg__stack_end(&body);
    }
    eg__stack_add(&body, eg_drop_path_new(drop_path));
    return eg_residual_new(eg__stack_end(&body), eg_identity_new());
}

eg_module *eg_efficientnet_new_with(int b, const eg_model_options *given)
{
    eg_model_options o;
    if (b < 0 || b > 7) {
        eg_failf(EG_EINVAL, "efficientnet", "there is no B%d: 0..7", b);
        return NULL;
    }
    if (!eg__model_options("efficientnet", given, 1000, 3, EG__TAKES_DROP_PATH, &o)) {
        return NULL;
    }
    eg__style s = eg__style_of(&o, b < 5 ? 0.1 : 0.01, b < 5 ? 1e-5 : 1e-3, eg_silu);
    double drop_path = eg__or(o.drop_path, 0.2);
    eg__stack net = {.count = 0};
    int64_t in = eg__divisible(32 * grown[b].width);
    int total = 0, number = 0;
    for (int i = 0; i < 7; i++) {
        total += (int)ceil((double)stages[i].units * grown[b].depth);
    }
    eg__stack_add(&net, eg__conv_new(&s, "stem", o.channels, in, 3, .stride = 2, .pad = 1));
    for (int i = 0; i < 7; i++) {
        int64_t out = eg__divisible((double)stages[i].channels * grown[b].width);
        for (int k = 0; k < (int)ceil((double)stages[i].units * grown[b].depth); k++) {
            double drop = drop_path * number / total;
            eg__stack_add_numbered(&net, "unit", number++,
                                   unit(&s, &stages[i], in, out, k ? 1 : stages[i].stride, drop));
            in = out;
        }
    }
    eg__stack_add(&net, eg__conv_new(&s, "top", in, 4 * in, 1));
    eg__stack_add(&net, eg__head_new("classifier", 4 * in, o.classes, grown[b].dropout, &o));
    return eg__begin(eg__stack_end(&net), EG_HE_NORMAL, .fan_out = true);
}
