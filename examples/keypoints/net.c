/* net.c - see net.h. */
#include "net.h"

typedef struct keypoint_net {
    eg_module base;
    keypoint_net_options o;
    eg_module *trunk, *place, *depth, *orientation;
} keypoint_net;

/* ---- layers -------------------------------------------------------------------------------------- */

static const int64_t dilations[] = {1, 1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 1};
enum { LAYERS = sizeof dilations / sizeof *dilations };

static eg_module *conv_new(int64_t in, int64_t out)
{
    return eg_conv2d_new(in, out, .kernel = 3, .padding = EG_SAME);
}

/* 12 dilated convolutions; `last`, if there is one, comes behind them. */
static eg_module *trunk_new(int64_t in, int64_t filters, double momentum, eg_module *last)
{
    eg_module *all[3 * LAYERS + 1];
    int n = 0;
    for (int i = 0; i < LAYERS; i++) {
        all[n++] = eg_conv2d_new(i ? filters : in, filters, .kernel = 3, .padding = EG_SAME, .dilation = dilations[i],
                                 .no_bias = true);
        all[n++] = eg_batch_norm_new(filters, .momentum = momentum, .eps = 1e-3, .no_weight = true);
        all[n++] = eg_leaky_relu_new(0.1);
    }
    all[n] = last;
    return eg_sequential_new_with(all, last ? n + 1 : n);
}

/* ---- maps ---------------------------------------------------------------------------------------- */

/* u, v and u^2 + v^2 of each pixel's middle, [H W, 3]. */
static eg_tensor *grid_of(eg_tensor *like)
{
    const int64_t height = eg_size(like, 2), width = eg_size(like, 3);
    const double half = (double)height / 2, wide = (double)width / 2;
    eg_tensor *u = eg_add_scalar(eg_mul_scalar(eg_arange(0.5, (double)width, 1, eg_dtype_of(like)), 1 / wide), -1);
    eg_tensor *v = eg_add_scalar(eg_mul_scalar(eg_arange(0.5, (double)height, 1, eg_dtype_of(like)), -1 / half), 1);
    u = eg_flatten(eg_expand(eg_unsqueeze(u, 0), EG_SHAPE(height, width)), 0, 1);
    v = eg_flatten(eg_expand(eg_unsqueeze(v, 1), EG_SHAPE(height, width)), 0, 1);
    return eg_stack((eg_tensor *[]){u, v, eg_add(eg_square(u), eg_square(v))}, 3, 1);
}

/* Softmax over all places of a map, [N, K, H W]. */
static eg_tensor *maps_of(eg_tensor *logits)
{
    return eg_softmax(eg_flatten(logits, 2, 3), 2);
}

/* ---- the net ------------------------------------------------------------------------------------- */

eg_tensor *keypoints_facing(eg_tensor *axis)
{
    eg_tensor *u = eg_select(axis, 2, 0);
    return eg_cast(eg_gt(eg_select(u, 1, 0), eg_select(u, 1, 1)), eg_dtype_of(axis));
}

/* The pictures with a fourth channel of which way the object looks. */
static eg_tensor *with_facing(eg_tensor *pictures, eg_tensor *facing)
{
    const int64_t n = eg_size(pictures, 0);
    eg_tensor *told = eg_reshape(facing, EG_SHAPE(n, 1, 1, 1));
    told = eg_expand(told, EG_SHAPE(n, 1, eg_size(pictures, 2), eg_size(pictures, 3)));
    return eg_channels_last(eg_concat((eg_tensor *[]){pictures, told}, 2, 1));
}

keypoints keypoint_net_find(eg_module *m, eg_tensor *pictures, eg_tensor *facing)
{
    const keypoint_net *net = (const keypoint_net *)m;
    keypoints k = {0};
    eg_tensor *ways = eg_module_forward(net->orientation, pictures), *grid = ways ? grid_of(ways) : NULL;
    if (!grid) {
        return k;
    }
    k.axis = eg_slice(eg_matmul(maps_of(ways), grid), 2, 0, 2, 1);
    eg_tensor *x = eg_module_forward(net->trunk, with_facing(pictures, facing ? facing : keypoints_facing(k.axis)));
    k.maps = maps_of(eg_module_forward(net->place, x));
    eg_tensor *depths = eg_add_scalar(eg_module_forward(net->depth, x), -net->o.distance);
    eg_tensor *z = eg_sum(eg_mul(k.maps, eg_flatten(depths, 2, 3)), .axes = EG_AXES(2), .keepdim = true);
    eg_tensor *moments = eg_matmul(k.maps, grid), *uv = eg_slice(moments, 2, 0, 2, 1);
    k.uvz = eg_concat((eg_tensor *[]){uv, z}, 2, 2);
    k.variance = eg_sub(eg_select(moments, 2, 2), eg_sum(eg_square(uv), .axes = EG_AXES(2)));
    return k.uvz && k.variance ? k : (keypoints){0};
}

static void members(eg_module *m, eg_members *walk)
{
    keypoint_net *net = (keypoint_net *)m;
    eg_member_child(walk, "trunk", &net->trunk);
    eg_member_child(walk, "place", &net->place);
    eg_member_child(walk, "depth", &net->depth);
    eg_member_child(walk, "orientation", &net->orientation);
}

static const eg_module_kind kind = {.size = sizeof(eg_module_kind), .name = "keypoint_net", .members = members};

eg_module *keypoint_net_new(const keypoint_net_options *o)
{
    keypoint_net *net = eg_module_new(sizeof *net, &kind);
    if (!net) {
        return NULL;
    }
    net->o = *o;
    net->trunk = trunk_new(4, o->filters, o->momentum, NULL);
    net->place = conv_new(o->filters, o->keypoints);
    net->depth = conv_new(o->filters, o->keypoints);
    net->orientation = trunk_new(3, o->filters / 2, o->momentum, conv_new(o->filters / 2, 2));
    eg_module *m = eg_module_finish(&net->base);
    if (m && eg_module_init(m, EG_GLOROT_UNIFORM)) {
        eg_module_free(m);
        return NULL;
    }
    return m;
}
