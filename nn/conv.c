/* conv.c - convolution layers over one, two or three axes. */
#include "lib/optable.h"
#include "nn/nn.h"

typedef struct conv {
    eg_module base;
    eg_tensor *weight, *bias;
    bool no_bias;
    int axes;
    eg_conv_options options;
} conv;

static eg_tensor *conv_forward(eg_module *m, eg_tensor *x)
{
    conv *c = (conv *)m;
    switch (c->axes) {
    case 1:
        return eg_conv1d_with(x, c->weight, c->bias, &c->options);
    case 2:
        return eg_conv2d_with(x, c->weight, c->bias, &c->options);
    default:
        return eg_conv3d_with(x, c->weight, c->bias, &c->options);
    }
}

static void conv_members(eg_module *m, eg_members *members)
{
    conv *c = (conv *)m;
    eg_member_parameter(members, "weight", &c->weight);
    if (!c->no_bias) {
        eg_member_parameter(members, "bias", &c->bias);
    }
}

static const eg_module_kind conv_kind = {.size = sizeof(eg_module_kind), .name = "conv",
                                         .forward = conv_forward, .members = conv_members};

/* The weight's shape, and how many numbers make one output. */
static eg_status weight_shape(const char *op, int axes, int64_t in, int64_t out,
                              const eg_conv_layer_options *o, eg_shape *shape, int64_t *fan_in)
{
    int64_t groups = o->groups ? o->groups : 1, n;
    if (in < 1 || out < 1 || groups < 1 || in % groups || out % groups) {
        return eg__fail(EG_EINVAL, op, "%lld channels to %lld in %lld groups: at least 1 of each, and the "
                        "groups divide both", (long long)in, (long long)out, (long long)groups);
    }
    *shape = (eg_shape){axes + 2, {out, in / groups}};
    *fan_in = in / groups;
    for (int d = 0; d < 3; d++) {
        int64_t k = o->kernels[d] ? o->kernels[d] : o->kernel;
        if (d < axes ? k < 1 : o->kernels[d] != 0) {
            return eg__fail(EG_EINVAL, op, "the kernel's size along axis %d is %lld%s", d, (long long)k,
                            d < axes ? ", must be at least 1" : ": there is no such axis");
        }
        if (d < axes) {
            shape->dim[d + 2] = k;
        }
    }
    eg_status st = eg__check_shape(op, shape->ndim, shape->dim, (int)o->dtype, &n);
    for (int d = 0; d < axes && !st; d++) {
        *fan_in *= shape->dim[d + 2];
    }
    return st;
}

static eg_module *make(const char *op, int axes, int64_t in, int64_t out,
                       const eg_conv_layer_options *given)
{
    eg_conv_layer_options o;
    eg_shape shape;
    int64_t fan_in = 1;
    eg__options(&o, sizeof o, given);
    if (weight_shape(op, axes, in, out, &o, &shape, &fan_in)) {
        return NULL;
    }
    conv *c = eg_module_new(sizeof *c, &conv_kind);
    if (!c) {
        return NULL;
    }
    c->no_bias = o.no_bias;
    c->axes = axes;
    c->options = (eg_conv_options){.size = sizeof c->options, .stride = o.stride,
                                   .dilation = o.dilation, .groups = o.groups, .padding = o.padding};
    memcpy(c->options.strides, o.strides, sizeof o.strides);
    memcpy(c->options.dilations, o.dilations, sizeof o.dilations);
    memcpy(c->options.pads, o.pads, sizeof o.pads);
    c->weight = eg__init_uniform(shape, fan_in, o.dtype);
    if (c->weight && !o.no_bias) {
        c->bias = eg__init_uniform(EG_SHAPE(out), fan_in, o.dtype);
    }
    return eg_module_finish(&c->base);
}

eg_module *eg_conv1d_new_with(int64_t in, int64_t out, const eg_conv_layer_options *options)
{
    return make("conv1d", 1, in, out, options);
}

eg_module *eg_conv2d_new_with(int64_t in, int64_t out, const eg_conv_layer_options *options)
{
    return make("conv2d", 2, in, out, options);
}

eg_module *eg_conv3d_new_with(int64_t in, int64_t out, const eg_conv_layer_options *options)
{
    return make("conv3d", 3, in, out, options);
}
