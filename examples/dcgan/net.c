/* net.c - see net.h. */
#include "net.h"

static eg_module *norm(int64_t features, bool biased)
{
    return eg_batch_norm_new(features, .momentum = 0.01, .eps = 1e-3, .biased = biased);
}

/* Twice as wide and high with stride 2. */
static eg_module *widen(int64_t in, int64_t out, int64_t stride)
{
    return eg_conv_transpose2d_new(in, out, .kernel = 5, .stride = stride, .padding = EG_SAME, .no_bias = true);
}

static eg_module *begun(eg_module *net)
{
    if (net && eg_module_init(net, EG_GLOROT_UNIFORM) != EG_OK) {
        eg_module_free(net);
        return NULL;
    }
    return net;
}

eg_module *dcgan_generator(void)
{
    return begun(eg_sequential_new(eg_linear_new(NOISE, 7 * 7 * 64, .no_bias = true), norm(7 * 7 * 64, true),
                                   eg_activation_new(eg_relu), eg_unflatten_new(EG_SHAPE(64, 7, 7)), widen(64, 64, 1),
                                   norm(64, false), eg_activation_new(eg_relu), widen(64, 32, 2), norm(32, false),
                                   eg_activation_new(eg_relu), widen(32, 1, 2), eg_activation_new(eg_tanh)));
}

static eg_module *narrow(int64_t in, int64_t out)
{
    return eg_sequential_new(eg_conv2d_new(in, out, .kernel = 5, .stride = 2, .padding = EG_SAME),
                             eg_leaky_relu_new(0.2), eg_dropout_new(0.3));
}

eg_module *dcgan_discriminator(void)
{
    return begun(eg_sequential_new(narrow(1, 64), narrow(64, 128), eg_flatten_new(), eg_linear_new(128 * 7 * 7, 1)));
}

static eg_tensor *should_be(double answer, eg_tensor *logits)
{
    return logits ? eg_bce_with_logits(logits, eg_full(eg_shape_of(logits), answer, eg_dtype_of(logits))) : NULL;
}

dcgan_losses dcgan_play(eg_module *generator, eg_module *discriminator, eg_tensor *real, eg_tensor *noise)
{
    eg_tensor *made = eg_module_forward(generator, noise);
    eg_tensor *of_real = eg_module_forward(discriminator, real);
    eg_tensor *of_made = eg_module_forward(discriminator, made);
    return (dcgan_losses){.generator = should_be(1, of_made),
                          .discriminator = eg_add(should_be(1, of_real), should_be(0, of_made))};
}
