/* conv.c - convolution layers over one, two or three axes, and their transposes. */
#include "lib/ops/conv.h"
#include "lib/ops/optable.h"
#include "nn/nn.h"

typedef eg_tensor *conv_fn(eg_tensor *x, eg_tensor *weight, eg_tensor *bias, const eg_conv_options *options);

typedef struct conv {
    eg_module base;
    eg_tensor *weight, *bias;
    bool no_bias;
    conv_fn *function;
    eg_conv_options options;
} conv;

static eg_tensor *conv_forward(eg_module *m, eg_tensor *x)
{
    conv *c = (conv *)m;
    return c->function(x, c->weight, c->bias, &c->options);
}

static void conv_members(eg_module *m, eg_members *members)
{
    conv *c = (conv *)m;
    eg_member_parameter(members, "weight", &c->weight);
    if (!c->no_bias) {
        eg_member_parameter(members, "bias", &c->bias);
    }
}

#define KIND(name_)                                                                                     \
    {                                                                                                   \
        .size = sizeof(eg_module_kind), .name = name_, .forward = conv_forward, .members = conv_members \
    }

/* By transposed and number of axes less one. */
static const struct {
    eg_module_kind kind;
    conv_fn *function;
} ways[2][3] = {
    {{KIND("conv1d"), eg_conv1d_with}, {KIND("conv2d"), eg_conv2d_with}, {KIND("conv3d"), eg_conv3d_with}},
    {{KIND("conv_transpose1d"), eg_conv_transpose1d_with},
     {KIND("conv_transpose2d"), eg_conv_transpose2d_with},
     {KIND("conv_transpose3d"), eg_conv_transpose3d_with}},
};

/* The weight's shape, and the fan that PyTorch's layers begin by: axis 1 times the kernel's cells. */
static eg_status weight_shape(const char *op, int axes, int64_t from, int64_t to, const eg_conv_layer_options *o,
                              eg_shape *shape, int64_t *fan)
{
    int64_t groups = o->groups ? o->groups : 1, n;
    if (from < 1 || to < 1 || groups < 1 || from % groups || to % groups) {
        return eg__fail(EG_EINVAL, op,
                        "channels %lld and %lld in %lld groups: at least 1 of each, and "
                        "the groups divide both",
                        (long long)from, (long long)to, (long long)groups);
    }
    *shape = (eg_shape){axes + 2, {to, from / groups}};
    *fan = from / groups;
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
        *fan *= shape->dim[d + 2];
    }
    return st;
}

/* A layer's options begin as the op's do. */
enum { OF_THE_OP = offsetof(eg_conv_options, activation) };
_Static_assert(offsetof(eg_conv_layer_options, stride) == offsetof(eg_conv_options, stride) &&
                   offsetof(eg_conv_layer_options, output_padding) == offsetof(eg_conv_options, output_padding) &&
                   offsetof(eg_conv_layer_options, kernel) == OF_THE_OP,
               "the same members in the same order");

static eg_module *make(bool transposed, int axes, int64_t in, int64_t out, const eg_conv_layer_options *given)
{
    const eg_module_kind *kind = &ways[transposed][axes - 1].kind;
    eg_conv_layer_options o;
    eg_shape shape;
    int64_t fan = 1;
    eg__options(&o, sizeof o, given);
    eg_conv_options options = {.size = sizeof options};
    memcpy((char *)&options + sizeof options.size, (const char *)&o + sizeof o.size, OF_THE_OP - sizeof options.size);
    if (eg__check_conv_options(kind->name, axes, transposed, &options) ||
        weight_shape(kind->name, axes, transposed ? out : in, transposed ? in : out, &o, &shape, &fan)) {
        return NULL;
    }
    conv *c = eg_module_new(sizeof *c, kind);
    if (!c) {
        return NULL;
    }
    c->no_bias = o.no_bias;
    c->function = ways[transposed][axes - 1].function;
    c->options = options;
    c->weight = eg__init_uniform(shape, fan, o.dtype);
    if (c->weight && !o.no_bias) {
        c->bias = eg__init_uniform(EG_SHAPE(out), fan, o.dtype);
    }
    return eg_module_finish(&c->base);
}

#define CONV(name, transposed, axes)                                                                      \
    eg_module *eg_##name##axes##d_new_with(int64_t in, int64_t out, const eg_conv_layer_options *options) \
    {                                                                                                     \
        return make(transposed, axes, in, out, options);                                                  \
    }
CONV(conv, false, 1)
CONV(conv, false, 2)
CONV(conv, false, 3)
CONV(conv_transpose, true, 1)
CONV(conv_transpose, true, 2)
CONV(conv_transpose, true, 3)
