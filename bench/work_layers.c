/* work_layers.c - convolutions and the layers around them. Images lie channels-last, as Egret's
 * convolutions make them. */
#include "work.h"

#define INT(key) bench_int(w->c, key)

static eg_tensor *image(int64_t n, int64_t c, int64_t h)
{
    return eg_channels_last(work_random(EG_SHAPE(n, c, h, h), -0.5, 0.5));
}

static eg_conv_options conv_options(const work *w)
{
    eg_conv_options o = {.size = sizeof o, .stride = INT("s"), .padding = INT("p")};
    o.groups = INT("g");
    o.output_padding[0] = o.output_padding[1] = INT("po");
    return o;
}

static eg_tensor *conv(work *w)
{
    eg_conv_options o = conv_options(w);
    return eg_conv2d_with(w->x[0], w->x[1], NULL, &o);
}

static eg_tensor *conv_transpose(work *w)
{
    eg_conv_options o = conv_options(w);
    return eg_conv_transpose2d_with(w->x[0], w->x[1], NULL, &o);
}

static int64_t step_forward(work *w)
{
    eg_scope scope = eg_scope_push();
    return work_done(scope, w->forward(w));
}

/* Forward, or the walk to x or to the weight alone. */
static bool finish(work *w)
{
    w->step = step_forward;
    if (!w->x[0] || !w->x[1] || bench_is(w->c, "dir", "fwd")) {
        return w->x[0] && w->x[1];
    }
    eg_tensor *x = w->x[0], *weight = w->x[1];
    bool data = bench_is(w->c, "dir", "data");
    w->tape = eg_tape_open(.persistent = true);
    if (eg_tape_watch(w->tape, data ? x : weight) != EG_OK) {
        return false;
    }
    eg_tensor *y = w->forward(w);
    w->x[0] = data ? x : weight;
    w->wanted = 1;
    return work_walk(w, y);
}

static bool make_conv(work *w)
{
    int64_t k = INT("k"), groups = INT("g");
    w->x[0] = image(INT("n"), INT("ic"), INT("ih"));
    w->x[1] = work_random(EG_SHAPE(INT("oc"), INT("ic") / groups, k, k), -0.5, 0.5);
    w->forward = conv;
    return finish(w);
}

static bool make_convt(work *w)
{
    int64_t k = INT("k");
    w->x[0] = image(INT("n"), INT("ic"), INT("ih"));
    w->x[1] = work_random(EG_SHAPE(INT("ic"), INT("oc"), k, k), -0.5, 0.5);
    w->forward = conv_transpose;
    return finish(w);
}

static eg_tensor *linear(work *w)
{
    eg_linear_options o = {.size = sizeof o};
    o.activation = bench_is(w->c, "act", "relu") ? eg_relu : bench_is(w->c, "act", "gelu") ? eg_gelu : NULL;
    return eg_linear_with(w->x[0], w->x[1], w->x[2], &o);
}

static bool make_linear(work *w)
{
    w->x[0] = work_random(EG_SHAPE(INT("m"), INT("k")), -0.5, 0.5);
    w->x[1] = work_random(EG_SHAPE(INT("n"), INT("k")), -0.5, 0.5);
    w->x[2] = work_random(EG_SHAPE(INT("n")), -0.5, 0.5);
    w->forward = linear;
    w->step = step_forward;
    return w->x[0] && w->x[1] && w->x[2];
}

static eg_tensor *cells(work *w)
{
    return eg_conv2d(w->x[0], w->x[1], NULL);
}

static eg_tensor *plain_linear(work *w)
{
    return eg_linear(w->x[0], w->x[1], NULL);
}

static bool make_pruned(work *w)
{
    const int64_t k = INT("k"), n = INT("n");
    const bool conv = INT("ih") > 0;
    w->x[0] = conv ? image(INT("m"), k, INT("ih")) : work_random(EG_SHAPE(INT("m"), k), -0.5, 0.5);
    w->x[1] = work_random(conv ? EG_SHAPE(n, k, 1, 1) : EG_SHAPE(n, k), -0.5, 0.5);
    w->forward = conv ? cells : plain_linear;
    w->step = step_forward;
    const eg_parameters weight = {&w->x[1], NULL, 1};
    return w->x[0] && w->x[1] && !eg_prune(weight, .density = 0.01 * (double)INT("left"));
}

static eg_pool_options pool_options(const work *w)
{
    return (eg_pool_options){.kernel = INT("k"), .stride = INT("s"), .padding = INT("p")};
}

static eg_tensor *max_pool(work *w)
{
    eg_pool_options o = pool_options(w);
    return eg_max_pool2d_with(w->x[0], &o);
}

static eg_tensor *avg_pool(work *w)
{
    eg_pool_options o = pool_options(w);
    return eg_avg_pool2d_with(w->x[0], &o);
}

/* Forward, or the walk to x. */
static bool finish_pool(work *w)
{
    w->x[0] = image(INT("n"), INT("c"), INT("h"));
    if (bench_is(w->c, "form", "nchw")) {
        w->x[0] = eg_contiguous(w->x[0]);
    }
    w->step = step_forward;
    return w->x[0] && (bench_is(w->c, "dir", "fwd") || (work_watch(w, 1) && work_walk(w, w->forward(w))));
}

static bool make_max_pool(work *w)
{
    w->forward = max_pool;
    return finish_pool(w);
}

static bool make_avg_pool(work *w)
{
    w->forward = avg_pool;
    return finish_pool(w);
}

static eg_tensor *grid_sample(work *w)
{
    return eg_grid_sample(w->x[0], w->x[1]);
}

/* Forward, or the walk to the images and the grid: as many points as pixels, anywhere. */
static bool make_grid_sample(work *w)
{
    w->forward = grid_sample;
    w->x[1] = work_random(EG_SHAPE(INT("n"), INT("h"), INT("h"), 2), -1, 1);
    w->x[0] = image(INT("n"), INT("c"), INT("h"));
    if (bench_is(w->c, "form", "nchw")) {
        w->x[0] = eg_contiguous(w->x[0]);
    }
    w->step = step_forward;
    return w->x[0] && w->x[1] && (bench_is(w->c, "dir", "fwd") || (work_watch(w, 2) && work_walk(w, w->forward(w))));
}

static eg_tensor *layer_norm(work *w)
{
    return eg_layer_norm(w->x[0], w->x[1], w->x[2]);
}

static eg_tensor *batch_norm(work *w)
{
    return eg_batch_norm(w->x[0], w->x[1], w->x[2], w->x[3], w->x[4], .training = !bench_is(w->c, "dir", "eval"));
}

/* Forward, or the walk to x, weight and bias. */
static bool finish_norm(work *w, int64_t channels)
{
    w->x[1] = work_random(EG_SHAPE(channels), 0.5, 1.5);
    w->x[2] = work_random(EG_SHAPE(channels), -0.5, 0.5);
    w->x[3] = eg_zeros(EG_SHAPE(channels), EG_F32);
    w->x[4] = eg_ones(EG_SHAPE(channels), EG_F32);
    w->step = step_forward;
    if (!w->x[0] || !w->x[1] || !w->x[2] || !w->x[3] || !w->x[4]) {
        return false;
    }
    return !bench_is(w->c, "dir", "bwd") || (work_watch(w, 3) && work_walk(w, w->forward(w)));
}

static bool make_layer_norm(work *w)
{
    w->x[0] = work_random(EG_SHAPE(INT("rows"), INT("cols")), -0.5, 0.5);
    w->forward = layer_norm;
    return finish_norm(w, INT("cols"));
}

static bool make_batch_norm(work *w)
{
    w->x[0] = image(INT("n"), INT("c"), INT("h"));
    w->forward = batch_norm;
    return finish_norm(w, INT("c"));
}

/* h heads of d columns, t queries and s keys; causal as is_causal of PyTorch where there are as many, all keys seen
 * where there is one query. */
static eg_tensor *attention(work *w)
{
    return eg_attention(w->x[0], w->x[1], w->x[2], .causal = INT("causal"));
}

static bool make_attention(work *w)
{
    for (int i = 0; i < 3; i++) {
        w->x[i] = work_random(EG_SHAPE(INT("n"), INT("h"), i ? INT("s") : INT("t"), INT("d")), -2, 2);
        if (!w->x[i]) {
            return false;
        }
    }
    w->forward = attention;
    w->step = step_forward;
    return bench_is(w->c, "dir", "fwd") || (work_watch(w, 3) && work_walk(w, w->forward(w)));
}

const work_op work_layers[] = {
    {"attention", make_attention},
    {"layer_norm", make_layer_norm},
    {"batch_norm", make_batch_norm},
    {"linear", make_linear},
    {"pruned", make_pruned},
    {"conv", make_conv},
    {"convt", make_convt},
    {"max_pool", make_max_pool},
    {"avg_pool", make_avg_pool},
    {"grid_sample", make_grid_sample},
    {NULL, NULL},
};
