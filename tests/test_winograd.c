/* test_winograd.c - convolutions of whole vectors of channels, which run in tiles, against those of
 * f64, which do not: kernels, steps, borders, channels, layouts, threads. */
#include "tests/egt.h"

typedef struct shape {
    int64_t n, c, o, h, w, k, step, before, after;
} shape;

/* Odd sizes, uneven borders, kernels in one part and in two, columns of every width, more tiles
 * than weights and fewer; all large enough for tiles to pay, whatever the gradient. */
static const shape shapes[] = {
    {6, 32, 32, 16, 16, 3, 1, 1, 1},  {9, 64, 32, 13, 17, 3, 1, 1, 1},   {3, 32, 48, 31, 33, 3, 1, 0, 0},
    {4, 64, 80, 14, 13, 3, 1, 2, 1},  {1, 192, 256, 23, 24, 3, 1, 1, 1}, {6, 64, 64, 22, 24, 2, 1, 0, 0},
    {5, 48, 112, 25, 24, 2, 1, 1, 0}, {5, 64, 64, 22, 23, 4, 1, 0, 0},   {4, 96, 32, 27, 26, 4, 1, 1, 2},
    {5, 48, 64, 32, 30, 4, 2, 1, 1},  {4, 64, 64, 47, 49, 4, 2, 0, 0},   {3, 64, 96, 41, 42, 4, 2, 2, 1},
    {6, 64, 128, 28, 28, 5, 2, 1, 2}, {4, 96, 64, 38, 45, 5, 2, 2, 2},   {3, 64, 48, 42, 41, 6, 2, 2, 2},
    {4, 64, 64, 33, 34, 6, 2, 3, 0},  {1, 128, 256, 46, 45, 4, 2, 1, 1},
};

static eg_tensor *in_f64(eg_tensor *t)
{
    return eg_cast(t, EG_F64);
}

/* Norm-wise: what f32 leaves of a sum of many. */
static void near(const char *what, eg_tensor *got, eg_tensor *want)
{
    double off = eg_get(eg_max(eg_abs(eg_sub(in_f64(got), want))), 0);
    double most = eg_get(eg_max(eg_abs(want)), 0);
    if (!(off <= 1e-5 * most)) {
        egt_fail(__FILE__, __LINE__, "%s is off by %g of %g", what, off, most);
    }
}

typedef struct wanted {
    eg_tensor *y, *dx, *dw, *up;
} wanted;

static wanted all(eg_tensor *x, eg_tensor *w, eg_tensor *dy, eg_tensor *bias, eg_tensor *back, const eg_conv_options *o)
{
    return (wanted){.y = eg_conv2d_with(x, w, bias, o),
                    .dx = eg_conv_data_with(dy, w, eg_shape_of(x), o),
                    .dw = eg_conv_weight_with(x, dy, eg_shape_of(w), o),
                    .up = eg_conv_transpose2d_with(dy, w, back, o)};
}

/* Once on one thread, once on all of a channels-last x, whose weight lies the other way round. */
static void agree(const shape *s, int threads)
{
    eg_conv_options o = {.size = sizeof o, .stride = s->step, .pads = {{s->before, s->after}, {s->before, s->after}}};
    eg_tensor *x = egt_random(EG_SHAPE(s->n, s->c, s->h, s->w), EG_F32, -1, 1);
    eg_tensor *w = egt_random(EG_SHAPE(s->o, s->c, s->k, s->k), EG_F32, -1, 1);
    eg_tensor *bias = egt_random(EG_SHAPE(s->o), EG_F32, -1, 1);
    eg_tensor *back = egt_random(EG_SHAPE(s->c), EG_F32, -1, 1);
    eg_tensor *dy = egt_random(eg_shape_of(eg_conv2d_with(x, w, bias, &o)), EG_F32, -1, 1);
    wanted want = all(in_f64(x), in_f64(w), in_f64(dy), in_f64(bias), in_f64(back), &o);
    for (int k = 0; k < 2; k++) {
        eg_set_threads(k ? threads : 1);
        wanted got = all(x, w, dy, bias, back, &o);
        near("the result", got.y, want.y);
        near("the gradient of x", got.dx, want.dx);
        near("the gradient of w", got.dw, want.dw);
        near("the transposed convolution", got.up, want.up);
        x = eg_channels_last(x);
        w = eg_transpose(eg_contiguous(eg_transpose(w, 2, 3)), 2, 3);
    }
}

EGT(tiles_agree_with_plain_sums)
{
    int threads = eg_threads();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const shape *s = &shapes[i];
        eg_scope scope = eg_scope_push();
        snprintf(egt_case, sizeof egt_case, "%lld x %lld to %lld of %lld x %lld, kernel %lld, step %lld",
                 (long long)s->n, (long long)s->c, (long long)s->o, (long long)s->h, (long long)s->w, (long long)s->k,
                 (long long)s->step);
        agree(s, threads);
        eg_scope_pop(scope, NULL);
    }
}
