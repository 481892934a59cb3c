/* nets.c - see nets.h. Kernels are frames x features. */
#include "nets.h"

#include <egret/egret.h>
#include <string.h>

static eg_module *relu(void)
{
    return eg_activation_new(eg_relu);
}

static eg_module *dropout(void)
{
    return eg_dropout_new(0.5);
}

/* ---- a filter of rank 2 ---------------------------------------------------------------------- */

enum { RANK = 2, UNITS = 1280 };

/* UNITS sums over a clip, each of RANK filters over features, whose results have weights over time: what a convolution
 * as long as the clip is, from factors. */
typedef struct svdf {
    eg_module base;
    eg_module *features; /* [width] -> [UNITS RANK] of each frame */
    eg_tensor *time;     /* [frames, UNITS RANK] */
    eg_tensor *bias;     /* [UNITS] */
} svdf;

static eg_tensor *svdf_forward(eg_module *m, eg_tensor *x)
{
    svdf *f = (svdf *)m;
    eg_tensor *y = eg_module_forward(f->features, eg_squeeze(x, EG_AXES(1)));
    y = eg_sum(eg_mul(y, f->time), .axes = EG_AXES(1));
    return eg_add(eg_sum(eg_reshape(y, EG_SHAPE(-1, UNITS, RANK)), .axes = EG_AXES(2)), f->bias);
}

static void svdf_members(eg_module *m, eg_members *members)
{
    svdf *f = (svdf *)m;
    eg_member_child(members, "features", &f->features);
    eg_member_parameter(members, "time", &f->time);
    eg_member_parameter(members, "bias", &f->bias);
}

static const eg_module_kind svdf_kind = {
    .size = sizeof(eg_module_kind), .name = "svdf", .forward = svdf_forward, .members = svdf_members};

static eg_module *svdf_new(int64_t frames, int64_t width)
{
    svdf *f = eg_module_new(sizeof *f, &svdf_kind);
    if (!f) {
        return NULL;
    }
    f->features = eg_linear_new(width, UNITS * RANK, .no_bias = true);
    f->time = eg_parameter(eg_zeros(EG_SHAPE(frames, UNITS * RANK), EG_F32));
    f->bias = eg_parameter(eg_zeros(EG_SHAPE(UNITS), EG_F32));
    return eg_module_finish(&f->base);
}

/* ---- nets ------------------------------------------------------------------------------------ */

static int64_t half(int64_t n)
{
    return (n + 1) / 2;
}

/* 926,860 parameters. */
static eg_module *conv(int64_t frames, int64_t width, int64_t classes)
{
    return eg_sequential_new(eg_conv2d_new(1, 64, .kernels = {20, 8}, .padding = EG_SAME), relu(), dropout(),
                             eg_max_pool2d_new(.kernel = 2, .padding = EG_SAME),
                             eg_conv2d_new(64, 64, .kernels = {10, 4}, .padding = EG_SAME), relu(), dropout(),
                             eg_flatten_new(), eg_linear_new(64 * half(frames) * half(width), classes));
}

/* The first kernel is as long as the clip, so that few products are needed. 949,862 parameters. */
static eg_module *low_latency_conv(int64_t frames, int64_t width, int64_t classes)
{
    return eg_sequential_new(eg_conv2d_new(1, 186, .kernels = {frames, 8}), relu(), dropout(), eg_flatten_new(),
                             eg_linear_new(186 * (width - 7), 128), dropout(), eg_linear_new(128, 128), dropout(),
                             eg_linear_new(128, classes));
}

/* 751,372 parameters. */
static eg_module *low_latency_svdf(int64_t frames, int64_t width, int64_t classes)
{
    return eg_sequential_new(svdf_new(frames, width), relu(), dropout(), eg_linear_new(UNITS, 256), dropout(),
                             eg_linear_new(256, 256), dropout(), eg_linear_new(256, classes));
}

/* 47,052 parameters. */
static eg_module *single_fc(int64_t frames, int64_t width, int64_t classes)
{
    return eg_sequential_new(eg_flatten_new(), eg_linear_new(frames * width, classes));
}

/* 94,740 parameters. */
static eg_module *tiny_conv(int64_t frames, int64_t width, int64_t classes)
{
    return eg_sequential_new(eg_conv2d_new(1, 8, .kernels = {10, 8}, .stride = 2, .padding = EG_SAME), relu(),
                             dropout(), eg_flatten_new(), eg_linear_new(8 * half(frames) * half(width), classes));
}

static const struct net {
    const char *name;
    eg_module *(*make)(int64_t frames, int64_t width, int64_t classes);
    double std; /* of what its weights begin with, none beyond twice that; biases with 0 */
} nets[] = {
    {"conv", conv, 0.01},
    {"low_latency_conv", low_latency_conv, 0.01},
    {"low_latency_svdf", low_latency_svdf, 0.01},
    {"single_fc", single_fc, 0.001},
    {"tiny_conv", tiny_conv, 0.01},
};

eg_module *speech_net(const char *name, int64_t frames, int64_t width, int64_t classes)
{
    for (size_t i = 0; i < sizeof nets / sizeof nets[0]; i++) {
        if (strcmp(nets[i].name, name) == 0) {
            eg_module *m = nets[i].make(frames, width, classes);
            if (m && eg_module_init(m, EG_TRUNCATED_NORMAL, .std = nets[i].std)) {
                eg_module_free(m);
                m = NULL;
            }
            return m;
        }
    }
    eg_failf(EG_EINVAL, "speech", "no net is called %.40s", name);
    return NULL;
}
