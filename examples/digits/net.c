/* net.c - see net.h. */
#include "net.h"

/* A convolution that keeps or halves the sides, normalised. */
static eg_module *layer(int64_t in, int64_t out, int64_t stride)
{
    return eg_sequential_new(eg_conv2d_new(in, out, .kernel = 3, .stride = stride, .padding = EG_SAME, .no_bias = true),
                             eg_batch_norm_new(out), eg_activation_new(eg_relu));
}

eg_module *digits_net(void)
{
    return eg_sequential_new(layer(1, 32, 1), layer(32, 32, 2), layer(32, 64, 1), layer(64, 64, 2), eg_flatten_new(),
                             eg_dropout_new(0.4), eg_linear_new(64 * 7 * 7, 10));
}
