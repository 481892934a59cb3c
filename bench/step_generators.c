/* step_generators.c - nets that make images: a pair of adversaries twice, a variational autoencoder. */
#include <math.h>

#include "step.h"

/* ---- adversaries ------------------------------------------------------------------------------ */

static eg_tensor *against(eg_tensor *logits, double target)
{
    return eg_bce_with_logits(logits, eg_full(eg_shape_of(logits), target, EG_F32));
}

/* Both losses from one forward, both gradients before either update. */
static eg_status duel(training *s, eg_tape tape, eg_tensor *generator_loss, eg_tensor *judge_loss)
{
    eg_status st = EG_OK;
    eg_tensor *g[2][64];
    for (int i = 0; i < 2 && !st; i++) {
        eg_parameters p = eg_module_parameters(s->net[i]);
        st = eg_tape_gradients(tape, i ? judge_loss : generator_loss, p.tensors, p.count, g[i]);
    }
    st = st ? st : eg_tape_close(tape);
    for (int i = 0; i < 2 && !st; i++) {
        st = eg_optim_step(s->optim[i], g[i]);
    }
    return st;
}

static eg_module *norm_leaky(int64_t channels)
{
    return eg_sequential_new(eg_batch_norm_new(channels), eg_leaky_relu_new(0.3));
}

static void dcgan(training *s)
{
    s->net[0] = eg_sequential_new(eg_linear_new(100, 7 * 7 * 256, .no_bias = true), norm_leaky(7 * 7 * 256),
                                  eg_unflatten_new(EG_SHAPE(256, 7, 7)),
                                  eg_conv_transpose2d_new(256, 128, .kernel = 5, .padding = 2, .no_bias = true),
                                  norm_leaky(128),
                                  eg_conv_transpose2d_new(128, 64, .kernel = 5, .stride = 2, .padding = 2,
                                                          .output_padding = {1, 1}, .no_bias = true),
                                  norm_leaky(64),
                                  eg_conv_transpose2d_new(64, 1, .kernel = 5, .stride = 2, .padding = 2,
                                                          .output_padding = {1, 1}, .no_bias = true),
                                  eg_activation_new(eg_tanh));
    s->net[1] =
        eg_sequential_new(eg_conv2d_new(1, 64, .kernel = 5, .stride = 2, .padding = 2), eg_leaky_relu_new(0.3),
                          eg_dropout_new(0.3), eg_conv2d_new(64, 128, .kernel = 5, .stride = 2, .padding = 2),
                          eg_leaky_relu_new(0.3), eg_dropout_new(0.3), eg_flatten_new(), eg_linear_new(6272, 1));
    for (int i = 0; i < 2; i++) {
        s->optim[i] = eg_adam_new(eg_module_parameters(s->net[i]), .lr = 1e-4);
    }
    s->x[0] = step_random(EG_SHAPE(step_size(256, 2), 1, 28, 28));
}

static eg_status dcgan_step(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open(.persistent = true);
    eg_tensor *noise = eg_normal(EG_SHAPE(eg_size(s->x[0], 0), 100), 0, 1, EG_F32);
    eg_tensor *fake = eg_module_forward(s->net[0], noise);
    eg_tensor *real = eg_module_forward(s->net[1], s->x[0]);
    eg_tensor *judged = eg_module_forward(s->net[1], fake);
    eg_tensor *generator_loss = against(judged, 1);
    eg_tensor *judge_loss = eg_add(against(real, 1), against(judged, 0));
    *loss = generator_loss;
    return duel(s, tape, generator_loss, judge_loss);
}

/* ---- pix2pix ---------------------------------------------------------------------------------- */

static eg_module *down(int64_t in, int64_t out, bool norm)
{
    eg_module *conv = eg_conv2d_new(in, out, .kernel = 4, .stride = 2, .padding = 1, .no_bias = true);
    return norm ? eg_sequential_new(conv, norm_leaky(out)) : eg_sequential_new(conv, eg_leaky_relu_new(0.3));
}

static eg_module *up(int64_t in, int64_t out, bool drop)
{
    return eg_sequential_new(eg_conv_transpose2d_new(in, out, .kernel = 4, .stride = 2, .padding = 1, .no_bias = true),
                             eg_batch_norm_new(out), drop ? eg_dropout_new(0.5) : eg_identity_new(),
                             eg_activation_new(eg_relu));
}

enum { DEPTH = 8 };

/* The innermost map is 1 x 1: PyTorch refuses to normalise it in training, so neither side does. */
static eg_module *u_net(void)
{
    const int64_t w = step_size(64, 4);
    const int64_t c[DEPTH + 1] = {3, w, 2 * w, 4 * w, 8 * w, 8 * w, 8 * w, 8 * w, 8 * w};
    eg_module *downs[DEPTH], *ups[DEPTH];
    for (int i = 0; i < DEPTH; i++) {
        downs[i] = down(c[i], c[i + 1], i > 0 && i < DEPTH - 1);
        int64_t in = i == 0 ? c[DEPTH] : 2 * c[DEPTH - i];
        ups[i] = i < DEPTH - 1 ? up(in, c[DEPTH - 1 - i], i < 3)
                               : eg_conv_transpose2d_new(in, 3, .kernel = 4, .stride = 2, .padding = 1);
    }
    return eg_module_list_new(eg_module_list_new_with(downs, DEPTH), eg_module_list_new_with(ups, DEPTH));
}

static eg_tensor *u_net_forward(eg_module *net, eg_tensor *x)
{
    eg_module *downs = eg_module_at(net, 0), *ups = eg_module_at(net, 1);
    eg_tensor *skip[DEPTH];
    for (int i = 0; i < DEPTH; i++) {
        x = skip[i] = eg_module_forward(eg_module_at(downs, i), x);
    }
    for (int i = 0; i < DEPTH; i++) {
        x = eg_module_forward(eg_module_at(ups, i), x);
        x = i < DEPTH - 1 ? eg_concat((eg_tensor *[]){x, skip[DEPTH - 2 - i]}, 2, 1) : x;
    }
    return eg_tanh(x);
}

static void pix2pix(training *s)
{
    const int64_t w = step_size(64, 4);
    s->net[0] = u_net();
    s->net[1] = eg_sequential_new(down(6, w, false), down(w, 2 * w, true), down(2 * w, 4 * w, true),
                                  eg_conv2d_new(4 * w, 8 * w, .kernel = 4, .padding = 1, .no_bias = true),
                                  norm_leaky(8 * w), eg_conv2d_new(8 * w, 1, .kernel = 4, .padding = 1));
    for (int i = 0; i < 2; i++) {
        s->optim[i] = eg_adam_new(eg_module_parameters(s->net[i]), .lr = 2e-4, .beta1 = 0.5);
    }
    s->x[0] = step_random(EG_SHAPE(1, 3, 256, 256));
    s->x[1] = step_random(EG_SHAPE(1, 3, 256, 256));
}

static eg_tensor *judge(training *s, eg_tensor *image)
{
    return eg_module_forward(s->net[1], eg_concat((eg_tensor *[]){s->x[0], image}, 2, 1));
}

static eg_status pix2pix_step(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open(.persistent = true);
    eg_tensor *fake = u_net_forward(s->net[0], s->x[0]);
    eg_tensor *real = judge(s, s->x[1]), *judged = judge(s, fake);
    eg_tensor *generator_loss = eg_add(against(judged, 1), eg_mul_scalar(eg_l1_loss(s->x[1], fake), 100));
    eg_tensor *judge_loss = eg_add(against(real, 1), against(judged, 0));
    *loss = generator_loss;
    return duel(s, tape, generator_loss, judge_loss);
}

/* ---- variational autoencoder -------------------------------------------------------------------- */

static void cvae(training *s)
{
    s->net[0] = eg_module_list_new(
        eg_sequential_new(eg_conv2d_new(1, 32, .kernel = 3, .stride = 2), eg_activation_new(eg_relu),
                          eg_conv2d_new(32, 64, .kernel = 3, .stride = 2), eg_activation_new(eg_relu), eg_flatten_new(),
                          eg_linear_new(2304, 100)),
        eg_sequential_new(
            eg_linear_new(50, 1568), eg_activation_new(eg_relu), eg_unflatten_new(EG_SHAPE(32, 7, 7)),
            eg_conv_transpose2d_new(32, 64, .kernel = 3, .stride = 2, .padding = 1, .output_padding = {1, 1}),
            eg_activation_new(eg_relu),
            eg_conv_transpose2d_new(64, 32, .kernel = 3, .stride = 2, .padding = 1, .output_padding = {1, 1}),
            eg_activation_new(eg_relu), eg_conv_transpose2d_new(32, 1, .kernel = 3, .padding = 1)));
    s->optim[0] = eg_adam_new(eg_module_parameters(s->net[0]), .lr = 1e-4);
    eg_scope scope = eg_scope_push();
    s->x[0] = eg_keep(eg_round(eg_uniform(EG_SHAPE(step_size(100, 2), 1, 28, 28), 0, 1, EG_F32)));
    eg_scope_pop(scope, NULL);
}

/* log N(z; mean, e^log_var), summed over the latent axis; NULLs: the standard normal. */
static eg_tensor *log_normal(eg_tensor *z, eg_tensor *mean, eg_tensor *log_var)
{
    eg_tensor *d = eg_square(mean ? eg_sub(z, mean) : z);
    d = log_var ? eg_add(eg_mul(d, eg_exp(eg_neg(log_var))), log_var) : d;
    return eg_sum(eg_mul_scalar(eg_add_scalar(d, log(2 * acos(-1))), -0.5), .axes = EG_AXES(1));
}

static eg_status cvae_step(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    eg_tensor *code[2];
    if (eg_chunk(eg_module_forward(eg_module_at(s->net[0], 0), s->x[0]), 2, 1, code) != EG_OK) {
        return eg_last_error()->code;
    }
    eg_tensor *noise = eg_normal(EG_SHAPE(eg_size(s->x[0], 0), 50), 0, 1, EG_F32);
    eg_tensor *z = eg_add(eg_mul(noise, eg_exp(eg_mul_scalar(code[1], 0.5))), code[0]);
    eg_tensor *logits = eg_module_forward(eg_module_at(s->net[0], 1), z);
    eg_tensor *px = eg_neg(eg_sum(eg_bce_with_logits(logits, s->x[0], .reduction = EG_NONE), .axes = EG_AXES(1, 2, 3)));
    eg_tensor *elbo = eg_sub(eg_add(px, log_normal(z, NULL, NULL)), log_normal(z, code[0], code[1]));
    eg_tensor *l = eg_neg(eg_mean(elbo));
    *loss = l;
    return eg_optim_minimize(s->optim[0], tape, l);
}

const step_model step_generators[] = {
    {"dcgan", dcgan, dcgan_step},
    {"cvae", cvae, cvae_step},
    {"pix2pix", pix2pix, pix2pix_step},
    {NULL, NULL, NULL},
};
