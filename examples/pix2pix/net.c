/* net.c - see net.h. */
#include "net.h"

enum { DEPTH = 8 };

static eg_module *norm(int64_t channels)
{
    return eg_batch_norm_new(channels, .momentum = 0.01, .eps = 1e-3);
}

static eg_module *begun(eg_module *net)
{
    if (net && eg_module_init(net, EG_NORMAL, .std = 0.02) != EG_OK) {
        eg_module_free(net);
        return NULL;
    }
    return net;
}

/* Half the sides. */
static eg_module *down(int64_t in, int64_t out, bool normed)
{
    return eg_sequential_new(eg_conv2d_new(in, out, .kernel = 4, .stride = 2, .padding = EG_SAME, .no_bias = true),
                             normed ? norm(out) : eg_identity_new(), eg_leaky_relu_new(0.2));
}

/* Twice the sides. */
static eg_module *up(int64_t in, int64_t out, bool dropped)
{
    return eg_sequential_new(
        eg_conv_transpose2d_new(in, out, .kernel = 4, .stride = 2, .padding = EG_SAME, .no_bias = true), norm(out),
        dropped ? eg_dropout_new(0.5) : eg_identity_new(), eg_activation_new(eg_relu));
}

/* ---- the generator --------------------------------------------------------------------------- */

/* Eight steps down to one cell, eight up again; each but the last joins what the way down had at its size. */
typedef struct u_net {
    eg_module base;
    eg_module *down, *up;
} u_net;

static eg_tensor *u_net_forward(eg_module *m, eg_tensor *x)
{
    u_net *u = (u_net *)m;
    eg_tensor *seen[DEPTH];
    for (int i = 0; i < DEPTH; i++) {
        x = seen[i] = eg_module_forward(eg_module_at(u->down, i), x);
    }
    for (int i = 0; i < DEPTH - 1; i++) {
        x = eg_module_forward(eg_module_at(u->up, i), x);
        x = eg_concat((eg_tensor *[]){x, seen[DEPTH - 2 - i]}, 2, 1);
    }
    return eg_tanh(eg_module_forward(eg_module_at(u->up, DEPTH - 1), x));
}

static void u_net_members(eg_module *m, eg_members *members)
{
    eg_member_child(members, "down", &((u_net *)m)->down);
    eg_member_child(members, "up", &((u_net *)m)->up);
}

static const eg_module_kind u_net_kind = {
    .size = sizeof(eg_module_kind), .name = "u_net", .forward = u_net_forward, .members = u_net_members};

eg_module *pix2pix_generator(int64_t width)
{
    const int64_t w = width;
    u_net *u = eg_module_new(sizeof *u, &u_net_kind);
    if (!u) {
        return NULL;
    }
    u->down = eg_module_list_new(down(3, w, false), down(w, 2 * w, true), down(2 * w, 4 * w, true),
                                 down(4 * w, 8 * w, true), down(8 * w, 8 * w, true), down(8 * w, 8 * w, true),
                                 down(8 * w, 8 * w, true), down(8 * w, 8 * w, true));
    u->up = eg_module_list_new(up(8 * w, 8 * w, true), up(16 * w, 8 * w, true), up(16 * w, 8 * w, true),
                               up(16 * w, 8 * w, false), up(16 * w, 4 * w, false), up(8 * w, 2 * w, false),
                               up(4 * w, w, false),
                               eg_conv_transpose2d_new(2 * w, 3, .kernel = 4, .stride = 2, .padding = EG_SAME));
    return begun(eg_module_finish(&u->base));
}

/* ---- the discriminator ----------------------------------------------------------------------- */

eg_module *pix2pix_discriminator(int64_t width)
{
    const int64_t w = width;
    return begun(eg_sequential_new(down(6, w, false), down(w, 2 * w, true), down(2 * w, 4 * w, true),
                                   eg_conv2d_new(4 * w, 8 * w, .kernel = 4, .padding = 1, .no_bias = true), norm(8 * w),
                                   eg_leaky_relu_new(0.2), eg_conv2d_new(8 * w, 1, .kernel = 4, .padding = 1)));
}

static eg_tensor *judged(eg_module *discriminator, eg_tensor *input, eg_tensor *image)
{
    return eg_module_forward(discriminator, eg_concat((eg_tensor *[]){input, image}, 2, 1));
}

static eg_tensor *should_be(double answer, eg_tensor *logits)
{
    return logits ? eg_bce_with_logits(logits, eg_full(eg_shape_of(logits), answer, eg_dtype_of(logits))) : NULL;
}

pix2pix_losses pix2pix_play(eg_module *generator, eg_module *discriminator, eg_tensor *input, eg_tensor *target)
{
    eg_tensor *made = eg_module_forward(generator, input);
    eg_tensor *of_real = judged(discriminator, input, target);
    eg_tensor *of_made = judged(discriminator, input, made);
    eg_tensor *far = eg_mul_scalar(eg_l1_loss(target, made), 100);
    return (pix2pix_losses){.generator = eg_add(should_be(1, of_made), far),
                            .discriminator = eg_add(should_be(1, of_real), should_be(0, of_made)),
                            .made = made};
}
