/* net.c - see net.h. */
#include "net.h"

#include <math.h>

static eg_module *begun(eg_module *net)
{
    if (net && eg_module_init(net, EG_GLOROT_UNIFORM) != EG_OK) {
        eg_module_free(net);
        return NULL;
    }
    return net;
}

eg_module *cvae_encoder(void)
{
    return begun(eg_sequential_new(eg_conv2d_new(1, 32, .kernel = 3, .stride = 2), eg_activation_new(eg_relu),
                                   eg_conv2d_new(32, 64, .kernel = 3, .stride = 2), eg_activation_new(eg_relu),
                                   eg_flatten_new(), eg_linear_new(64 * 6 * 6, 2 * LATENT)));
}

static eg_module *widen(int64_t in, int64_t out, int64_t stride)
{
    return eg_conv_transpose2d_new(in, out, .kernel = 3, .stride = stride, .padding = EG_SAME);
}

eg_module *cvae_decoder(void)
{
    return begun(eg_sequential_new(eg_linear_new(LATENT, 32 * 7 * 7), eg_activation_new(eg_relu),
                                   eg_unflatten_new(EG_SHAPE(32, 7, 7)), widen(32, 64, 2), eg_activation_new(eg_relu),
                                   widen(64, 32, 2), eg_activation_new(eg_relu), widen(32, 1, 1)));
}

/* log N(z; mean, e^log_var) of each row; without them of the standard normal. */
static eg_tensor *log_normal(eg_tensor *z, eg_tensor *mean, eg_tensor *log_var)
{
    eg_tensor *off = eg_square(mean ? eg_sub(z, mean) : z);
    if (log_var) {
        off = eg_add(eg_mul(off, eg_exp(eg_neg(log_var))), log_var);
    }
    return eg_sum(eg_mul_scalar(eg_add_scalar(off, log(2 * acos(-1))), -0.5), .axes = EG_AXES(1));
}

eg_tensor *cvae_loss(eg_module *encoder, eg_module *decoder, eg_tensor *x, eg_tensor *noise)
{
    eg_tensor *code[2];
    if (eg_chunk(eg_module_forward(encoder, x), 2, 1, code) != EG_OK) {
        return NULL;
    }
    eg_tensor *mean = code[0], *log_var = code[1];
    eg_tensor *z = eg_add(mean, eg_mul(eg_exp(eg_mul_scalar(log_var, 0.5)), noise));
    eg_tensor *logits = eg_module_forward(decoder, z);
    eg_tensor *pixels = eg_bce_with_logits(logits, x, .reduction = EG_NONE);
    eg_tensor *log_px = eg_neg(eg_sum(pixels, .axes = EG_AXES(1, 2, 3)));
    eg_tensor *log_pz = log_normal(z, NULL, NULL), *log_qz = log_normal(z, mean, log_var);
    return eg_neg(eg_mean(eg_sub(eg_add(log_px, log_pz), log_qz)));
}
