/* trunk.c - see trunk.h. */
#include "trunk.h"

#include <math.h>

typedef struct style {
    double width, norm_decay;
} style;

static int64_t wide(double width, int64_t channels)
{
    return (int64_t)fmax(4, round(width * (double)channels));
}

/* A convolution without bias, a norm without weight, a relu. `in` is as it comes, `out` as published. */
typedef struct conv_options {
    int64_t kernel, stride;
    bool valid;
} conv_options;

static eg_module *conv_new(const style *s, const char *name, int64_t in, int64_t out, conv_options o)
{
    eg_module *conv = eg_conv2d_new(in, wide(s->width, out), .kernel = o.kernel, .stride = o.stride,
                                    .padding = o.valid ? EG_VALID : EG_SAME, .no_bias = true);
    eg_module *norm = eg_batch_norm_new(wide(s->width, out), .momentum = 1 - s->norm_decay, .eps = 1e-3,
                                        .no_weight = true, .relu = true);
    return eg_named(name, eg_sequential_new(eg_named("conv", conv), eg_named("norm", norm)));
}

#define CONV(name, in, out, ...)           CONV_(name, in, out, __VA_ARGS__, )
#define CONV_(name, in, out, kernel_, ...) conv_new(s, name, in, out, (conv_options){.kernel = kernel_, __VA_ARGS__})
#define W(channels)                        wide(s->width, channels)
#define BRANCH(number, ...)                eg_named("Branch_" #number, eg_sequential_new(__VA_ARGS__))

static eg_module *pool_new(const char *name)
{
    return eg_named(name, eg_max_pool2d_new(.kernel = 3, .stride = 2));
}

/* 1 x 1, 5 x 5, two of 3 x 3, a mean. */
static eg_module *mixed_new(const style *s, const char *name, int64_t in, int64_t pool)
{
    eg_module *branches = eg_branches_new(
        BRANCH(0, CONV("Conv2d_0a_1x1", in, 64, 1)),
        BRANCH(1, CONV("Conv2d_0a_1x1", in, 48, 1), CONV("Conv2d_0b_5x5", W(48), 64, 5)),
        BRANCH(2, CONV("Conv2d_0a_1x1", in, 64, 1), CONV("Conv2d_0b_3x3", W(64), 96, 3),
               CONV("Conv2d_0c_3x3", W(96), 96, 3)),
        BRANCH(3, eg_avg_pool2d_new(.kernel = 3, .stride = 1, .padding = EG_SAME), CONV("Conv2d_0b_1x1", in, pool, 1)));
    return eg_named(name, branches);
}

static int64_t mixed_channels(double width, int64_t pool)
{
    return 2 * wide(width, 64) + wide(width, 96) + wide(width, pool);
}

int64_t trunk_channels(double width)
{
    return mixed_channels(width, 64);
}

int64_t trunk_side(int64_t side)
{
    int64_t k = (side - 3) / 2 + 1 - 2; /* two convolutions without padding, one of which strides */
    k = (k - 3) / 2 + 1 - 2;            /* a pool, and another such convolution */
    return (k - 3) / 2 + 1;
}

eg_module *trunk_new(double width, double norm_decay)
{
    const style given = {width, norm_decay}, *s = &given;
    eg_module *trunk = eg_sequential_new(
        CONV("Conv2d_1a_3x3", 3, 32, 3, .stride = 2, .valid = true), CONV("Conv2d_2a_3x3", W(32), 32, 3, .valid = true),
        CONV("Conv2d_2b_3x3", W(32), 64, 3), pool_new("MaxPool_3a_3x3"), CONV("Conv2d_3b_1x1", W(64), 80, 1),
        CONV("Conv2d_4a_3x3", W(80), 192, 3, .valid = true), pool_new("MaxPool_5a_3x3"),
        mixed_new(s, "Mixed_5b", W(192), 32), mixed_new(s, "Mixed_5c", mixed_channels(width, 32), 64),
        mixed_new(s, "Mixed_5d", mixed_channels(width, 64), 64));
    if (trunk && eg_module_init(trunk, EG_HE_NORMAL)) {
        eg_module_free(trunk);
        return NULL;
    }
    return trunk;
}
