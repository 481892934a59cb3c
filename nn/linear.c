/* linear.c - the fully connected layer. */
#include "lib/ops/optable.h"
#include "nn/nn.h"

typedef struct linear {
    eg_module base;
    eg_tensor *weight, *bias;
    bool no_bias;
} linear;

static eg_tensor *linear_forward(eg_module *m, eg_tensor *x)
{
    linear *l = (linear *)m;
    return eg_linear(x, l->weight, l->bias);
}

static void linear_members(eg_module *m, eg_members *members)
{
    linear *l = (linear *)m;
    eg_member_parameter(members, "weight", &l->weight);
    if (!l->no_bias) {
        eg_member_parameter(members, "bias", &l->bias);
    }
}

static const eg_module_kind linear_kind = {
    .size = sizeof(eg_module_kind), .name = "linear", .forward = linear_forward, .members = linear_members};

eg_module *eg_linear_new_with(int64_t in, int64_t out, const eg_linear_layer_options *given)
{
    eg_linear_layer_options o;
    eg__options(&o, sizeof o, given);
    if (in < 1 || out < 1) {
        return eg__fail_null(EG_EINVAL, "linear", "%lld inputs and %lld outputs: at least 1 of each", (long long)in,
                             (long long)out);
    }
    linear *l = eg_module_new(sizeof *l, &linear_kind);
    if (!l) {
        return NULL;
    }
    l->no_bias = o.no_bias;
    l->weight = eg__init_uniform(EG_SHAPE(out, in), in, o.dtype);
    if (l->weight && !o.no_bias) {
        l->bias = eg__init_uniform(EG_SHAPE(out), in, o.dtype);
    }
    return eg_module_finish(&l->base);
}
