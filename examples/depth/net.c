/* net.c - see net.h. */
#include "net.h"

#include <egret/egret.h>

enum { DOWN = 7 };

/* Without a scale, as TensorFlow's slim has norms. */
static eg_module *normed(eg_module *conv, int64_t channels)
{
    return eg_sequential_new(eg_named("conv", conv), eg_named("norm", eg_batch_norm_new(channels, .no_weight = true,
                                                                                        .eps = 1e-3, .relu = true)));
}

static eg_module *conv(int64_t in, int64_t out, int64_t kernel, int64_t stride)
{
    return normed(eg_conv2d_new(in, out, .kernel = kernel, .stride = stride, .padding = EG_SAME, .no_bias = true), out);
}

/* ---- depth ------------------------------------------------------------------------------------- */

/* Seven pairs of convolutions halve the frame; on the way back each level sees what was there before, and the last four
 * say disparities, which the next one sees too. */
typedef struct depth_net {
    eg_module base;
    eg_module *down[DOWN][2], *up[DOWN], *join[DOWN], *say[SCALES]; /* 0: of the largest maps */
} depth_net;

static const char *const down_names[DOWN][2] = {{"cnv1", "cnv1b"}, {"cnv2", "cnv2b"}, {"cnv3", "cnv3b"},
                                                {"cnv4", "cnv4b"}, {"cnv5", "cnv5b"}, {"cnv6", "cnv6b"},
                                                {"cnv7", "cnv7b"}};
static const char *const up_names[DOWN] = {"upcnv1", "upcnv2", "upcnv3", "upcnv4", "upcnv5", "upcnv6", "upcnv7"};
static const char *const join_names[DOWN] = {"icnv1", "icnv2", "icnv3", "icnv4", "icnv5", "icnv6", "icnv7"};
static const char *const say_names[SCALES] = {"disp1", "disp2", "disp3", "disp4"};

static void depth_members(eg_module *m, eg_members *members)
{
    depth_net *d = (depth_net *)m;
    for (int i = 0; i < DOWN; i++) {
        eg_member_child(members, down_names[i][0], &d->down[i][0]);
        eg_member_child(members, down_names[i][1], &d->down[i][1]);
    }
    for (int i = DOWN - 1; i >= 0; i--) {
        eg_member_child(members, up_names[i], &d->up[i]);
        eg_member_child(members, join_names[i], &d->join[i]);
        if (i < SCALES) {
            eg_member_child(members, say_names[i], &d->say[i]);
        }
    }
}

static const eg_module_kind depth_kind = {
    .size = sizeof(eg_module_kind), .name = "depth_net", .members = depth_members};

/* Says that all is far away to begin with: where disparities are large, their steps weigh more in the loss than what
 * they explain, and all becomes flat. */
static eg_module *say_new(int64_t in)
{
    eg_module *m = eg_conv2d_new(in, 1, .kernel = 3, .padding = EG_SAME);
    if (m && eg_init(eg_module_parameters(m).tensors[1], EG_CONSTANT, .value = -2.5)) {
        eg_module_free(m);
        m = NULL;
    }
    return m;
}

static eg_module *depth_new(int64_t narrower)
{
    static const int64_t widths[DOWN] = {32, 64, 128, 256, 512, 512, 512}, ups[DOWN] = {16, 32, 64, 128, 256, 512, 512};
    depth_net *d = eg_module_new(sizeof *d, &depth_kind);
    if (!d) {
        return NULL;
    }
    int64_t in = 3;
    for (int i = 0; i < DOWN; i++) {
        const int64_t kernel = i == 0 ? 7 : i == 1 ? 5 : 3, out = widths[i] / narrower;
        d->down[i][0] = conv(in, out, kernel, 2);
        d->down[i][1] = conv(out, out, kernel, 1);
        in = out;
    }
    for (int i = DOWN - 1; i >= 0; i--) {
        const int64_t out = ups[i] / narrower, beside = i ? widths[i - 1] / narrower : 0, said = i < SCALES - 1;
        d->up[i] = normed(
            eg_conv_transpose2d_new(in, out, .kernel = 3, .stride = 2, .padding = EG_SAME, .no_bias = true), out);
        d->join[i] = conv(out + beside + said, out, 3, 1);
        if (i < SCALES) {
            d->say[i] = say_new(out);
        }
        in = out;
    }
    return eg_module_finish(&d->base);
}

/* x as large as `like`, where halves were rounded up. */
static eg_tensor *fitted(eg_tensor *x, eg_tensor *like)
{
    const eg_shape size = EG_SHAPE(eg_size(like, 2), eg_size(like, 3));
    return x && like && (eg_size(x, 2) != eg_size(like, 2) || eg_size(x, 3) != eg_size(like, 3))
               ? eg_resize(x, size, .mode = EG_RESIZE_NEAREST)
               : x;
}

static eg_tensor *disparity_of(eg_module *say, eg_tensor *x)
{
    return eg_add_scalar(eg_mul_scalar(eg_sigmoid(eg_module_forward(say, x)), 10), 0.01);
}

static eg_tensor *joined(eg_tensor *up, eg_tensor *beside, eg_tensor *said)
{
    eg_tensor *parts[3] = {up};
    int n = 1;
    if (beside) {
        parts[n++] = beside;
    }
    if (said) {
        parts[n++] = eg_resize(said, EG_SHAPE(eg_size(up, 2), eg_size(up, 3)), .grid = EG_GRID_ORIGIN);
    }
    return eg_concat(parts, n, 1);
}

static eg_status depth_forward(const depth_net *d, eg_tensor *x, eg_tensor **disparities)
{
    eg_tensor *seen[DOWN], *said = NULL;
    for (int i = 0; i < DOWN; i++) {
        seen[i] = x = eg_module_forward(d->down[i][1], eg_module_forward(d->down[i][0], x));
    }
    for (int i = DOWN - 1; i >= 0 && x; i--) {
        eg_tensor *up = eg_module_forward(d->up[i], x), *beside = i ? seen[i - 1] : NULL;
        x = eg_module_forward(d->join[i], joined(i ? fitted(up, beside) : up, beside, said));
        if (i < SCALES) {
            disparities[i] = said = disparity_of(d->say[i], x);
        }
    }
    return x && said ? EG_OK : eg_last_error()->code;
}

/* ---- motion -------------------------------------------------------------------------------------- */

/* Of maps of few pixels, which in a small batch have no statistics. */
static eg_module *plain(int64_t in, int64_t out)
{
    return eg_sequential_new(eg_named("conv", eg_conv2d_new(in, out, .kernel = 3, .stride = 2, .padding = EG_SAME)),
                             eg_activation_new(eg_relu));
}

static eg_module *motion_new(int64_t narrower)
{
    const int64_t n = narrower;
    return eg_sequential_new(eg_named("cnv1", conv(3 * FRAMES, 16 / n, 7, 2)),
                             eg_named("cnv2", conv(16 / n, 32 / n, 5, 2)), eg_named("cnv3", conv(32 / n, 64 / n, 3, 2)),
                             eg_named("cnv4", conv(64 / n, 128 / n, 3, 2)),
                             eg_named("cnv5", conv(128 / n, 256 / n, 3, 2)), eg_named("cnv6", plain(256 / n, 256 / n)),
                             eg_named("cnv7", plain(256 / n, 256 / n)),
                             eg_named("pred", eg_conv2d_new(256 / n, (FRAMES - 1) * MOTION, .kernel = 1)),
                             eg_global_avg_pool_new(), eg_unflatten_new(EG_SHAPE(FRAMES - 1, MOTION)));
}

/* ---- both ---------------------------------------------------------------------------------------- */

typedef struct pair {
    eg_module base;
    eg_module *depth, *motion;
} pair;

static void pair_members(eg_module *m, eg_members *members)
{
    pair *p = (pair *)m;
    eg_member_child(members, "depth", &p->depth);
    eg_member_child(members, "motion", &p->motion);
}

static const eg_module_kind pair_kind = {.size = sizeof(eg_module_kind), .name = "vid2depth", .members = pair_members};

eg_module *nets_new(int64_t narrower)
{
    pair *p = eg_module_new(sizeof *p, &pair_kind);
    if (!p) {
        return NULL;
    }
    p->depth = depth_new(narrower);
    p->motion = motion_new(narrower);
    return eg_module_finish(&p->base);
}

eg_status nets_disparities(eg_module *nets, eg_tensor *images, eg_tensor **disparities)
{
    eg_scope scope = eg_scope_push();
    eg_status st = depth_forward((const depth_net *)((pair *)nets)->depth, images, disparities);
    if (st) {
        eg_scope_pop(scope, NULL);
        return st;
    }
    return eg_scope_pop_n(scope, disparities, SCALES);
}

/* Small numbers to begin with, as the first steps go astray otherwise. */
eg_tensor *nets_motions(eg_module *nets, eg_tensor *frames)
{
    return eg_mul_scalar(eg_module_forward(((pair *)nets)->motion, frames), 0.01);
}
