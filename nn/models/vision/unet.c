/* unet.c - U-Net (Ronneberger et al. 2015) with batch norm, as TensorFlow's segmentation example has it. */
#include <stdio.h>

#include "nn/models/vision/parts.h"

enum { LEVELS = 5, FIRST = 32 };

typedef struct unet {
    eg_module base;
    eg_module *down[LEVELS], *pool, *centre, *up[LEVELS], *norm[LEVELS], *convs[LEVELS], *head;
} unet;

/* Down with a picture of each level kept, up with it beside what comes from below. */
static eg_tensor *unet_forward(eg_module *m, eg_tensor *x)
{
    unet *u = (unet *)m;
    eg_tensor *level[LEVELS], *y = x;
    for (int i = 0; i < LEVELS; i++) {
        level[i] = eg_module_forward(u->down[i], y);
        y = eg_module_forward(u->pool, level[i]);
    }
    y = eg_module_forward(u->centre, y);
    for (int i = LEVELS - 1; i >= 0; i--) {
        eg_tensor *both[2] = {level[i], eg_module_forward(u->up[i], y)};
        y = eg_module_forward(u->convs[i], eg_module_forward(u->norm[i], eg_concat(both, 2, 1)));
    }
    return u->head ? eg_module_forward(u->head, y) : y;
}

static void unet_members(eg_module *m, eg_members *members)
{
    unet *u = (unet *)m;
    char name[16];
    eg_member_child(members, "pool", &u->pool);
    eg_member_child(members, "centre", &u->centre);
    if (u->head) {
        eg_member_child(members, "head", &u->head);
    }
    for (int i = 0; i < LEVELS; i++) {
        const struct {
            const char *name;
            eg_module **child;
        } parts[] = {{"down", &u->down[i]}, {"up", &u->up[i]}, {"norm", &u->norm[i]}, {"convs", &u->convs[i]}};
        for (int k = 0; k < 4; k++) {
            snprintf(name, sizeof name, "%s%d", parts[k].name, i);
            eg_member_child(members, name, parts[k].child);
        }
    }
}

static const eg_module_kind unet_kind = {
    .size = sizeof(eg_module_kind), .name = "unet", .forward = unet_forward, .members = unet_members};

/* 3 x 3 with a bias, though a norm follows: so the example counts its parameters. */
static eg_module *conv(const eg__style *s, const char *name, int64_t in, int64_t out)
{
    return eg_named(name, eg_sequential_new(eg_named("conv", eg_conv2d_new(in, out, .kernel = 3, .padding = EG_SAME)),
                                            eg_named("norm", eg__norm_new(s, out, false))));
}

static eg_module *two(const eg__style *s, int64_t in, int64_t out)
{
    return eg_sequential_new(conv(s, "conv1", in, out), conv(s, "conv2", out, out));
}

eg_module *eg_unet_new_with(const eg_model_options *given)
{
    eg_model_options o;
    if (!eg__model_options("unet", given, 1, 3, EG__TAKES_NO_DROPOUT | EG__TAKES_WHOLE | EG__TAKES_WIDTH, &o)) {
        return NULL;
    }
    eg__style s = eg__style_of(&o, 0.01, 1e-3, eg_relu);
    unet *u = eg_module_new(sizeof *u, &unet_kind);
    if (!u) {
        return NULL;
    }
    bool head = o.classes != EG_NO_CLASSES;
    int64_t first = o.width > 0 ? eg__max(1, (int64_t)(FIRST * o.width + 0.5)) : FIRST;
    u->pool = eg__max_pool_new(2, 2, EG_VALID);
    u->head = head ? eg_conv2d_new(first, o.classes, .kernel = 1) : NULL;
    u->centre = two(&s, first << (LEVELS - 1), first << LEVELS);
    for (int i = 0; i < LEVELS; i++) {
        int64_t channels = first << i;
        u->down[i] = two(&s, i ? channels / 2 : o.channels, channels);
        u->up[i] = eg_conv_transpose2d_new(2 * channels, channels, .kernel = 2, .stride = 2);
        u->norm[i] = eg__norm_new(&s, 2 * channels, false);
        u->convs[i] = two(&s, 2 * channels, channels);
    }
    bool good = u->head || !head;
    eg_module *net = eg_module_finish(&u->base);
    if (!good) {
        eg_module_free(net);
        return NULL;
    }
    return eg__begin(net, EG_GLOROT_UNIFORM);
}
