/* test_cuda_halves.c - what reads and writes halves on a CUDA device itself: values and gradients against those of the
 * CPU, in one launch where f32 takes one, and never by way of a copy in f32. */
#include "tests/cuda/module.h"

#define THERE(t) eg_to(t, cuda(0))

static const eg_dtype halves[] = {EG_F16, EG_BF16};

typedef eg_tensor *function(eg_tensor *x, eg_tensor *weight, eg_tensor *bias);

#define FUNCTION(name, call)                                         \
    static eg_tensor *name(eg_tensor *x, eg_tensor *w, eg_tensor *b) \
    {                                                                \
        (void)w, (void)b;                                            \
        return call;                                                 \
    }
FUNCTION(batch_norm, eg_batch_norm(x, w, b, NULL, NULL, .training = true))
FUNCTION(batch_norm_relu, eg_batch_norm(x, w, b, NULL, NULL, .training = true, .relu = true))
FUNCTION(group_norm, eg_group_norm(x, 2, w, b))
FUNCTION(scale_channels, eg_scale_channels(x, w, b))
FUNCTION(layer_norm, eg_layer_norm(x, NULL, NULL))
FUNCTION(max_pool, eg_max_pool2d(x, .kernel = 3, .stride = 2, .padding = 1))
FUNCTION(avg_pool, eg_avg_pool2d(x, .kernel = 3, .stride = 2, .padding = 1))

/* y and the gradients of x, weight and bias, on the CPU in f32. */
static void all_of(function *f, eg_tensor *x, eg_tensor *w, eg_tensor *b, bool second, eg_tensor **result)
{
    eg_tensor *in[3] = {x, w, b}, *g[3];
    eg_tape outer = {0}, tape = eg_tape_open();
    if (second) {
        outer = eg_tape_open(); /* the walk is recorded, and composed of other ops */
    }
    for (int i = 0; i < 3; i++) {
        EGT_OK(eg_tape_watch(tape, in[i]));
    }
    result[0] = f(x, w, b);
    eg_tensor *weighed = eg_mul(result[0], eg_cos(result[0]));
    EGT_OK(eg_tape_gradients(tape, weighed, in, 3, g, .dy = eg_ones_like(weighed)));
    for (int i = 0; i < 3; i++) {
        result[1 + i] = eg_cast(eg_to(g[i], eg_cpu()), EG_F32);
    }
    result[0] = eg_cast(eg_to(result[0], eg_cpu()), EG_F32);
    if (second) {
        eg_tape_close(outer);
    }
}

static void compare(function *f, bool channels_last)
{
    for (int h = 0; h < 2; h++) {
        eg_tensor *x = eg_cast(egt_random(EG_SHAPE(3, 4, 7, 5), EG_F32, -2, 2), halves[h]);
        eg_tensor *w = egt_random(EG_SHAPE(4), EG_F32, 0.5, 2), *b = egt_random(EG_SHAPE(4), EG_F32, -1, 1);
        x = channels_last ? eg_channels_last(x) : x;
        for (int second = 0; second < 2; second++) {
            eg_tensor *here[4], *there[4], *far = THERE(x);
            all_of(f, x, w, b, second, here);
            all_of(f, far, THERE(w), THERE(b), second, there);
            EGT_CHECK(eg_dtype_of(f(far, THERE(w), THERE(b))) == halves[h]);
            for (int i = 0; i < 4; i++) {
                double scale = eg_item(eg_max(eg_abs(here[i]))), d = egt_distance(there[i], here[i]);
                if (!(d <= (h ? 2e-2 : 3e-3) * (1 + scale))) {
                    egt_fail(__FILE__, __LINE__, "%s, result %d of %d: %g apart, up to %g", eg_dtype_name(halves[h]), i,
                             second, d, scale);
                }
            }
        }
    }
}

#define COMPARE(name)         \
    EGT(name##_of_halves)     \
    {                         \
        compare(name, false); \
        compare(name, true);  \
    }
COMPARE(batch_norm)
COMPARE(batch_norm_relu)
COMPARE(group_norm)
COMPARE(scale_channels)
COMPARE(layer_norm)
COMPARE(max_pool)
COMPARE(avg_pool)

/* Sums of many elements, more than one part of a channel has. */
EGT(large_batches)
{
    eg_tensor *x = eg_cast(egt_random(EG_SHAPE(4, 3, 40, 41), EG_F32, 0, 4), EG_BF16);
    for (int last = 0; last < 2; last++) {
        eg_tensor *in = last ? eg_channels_last(x) : x;
        eg_tensor *here = eg_batch_norm(in, NULL, NULL, NULL, NULL, .training = true);
        eg_tensor *there = eg_batch_norm(THERE(in), NULL, NULL, NULL, NULL, .training = true);
        EGT_CHECK(egt_distance(eg_cast(eg_to(there, eg_cpu()), EG_F32), eg_cast(here, EG_F32)) < 2e-2);
    }
}

EGT(cross_entropy_of_halves)
{
    for (int h = 0; h < 2; h++) {
        eg_tensor *x = eg_cast(egt_random(EG_SHAPE(6, 37), EG_F32, -4, 4), halves[h]), *g[2];
        eg_tensor *labels = eg_cast(egt_random(EG_SHAPE(6), EG_F32, 0, 37), EG_I64);
        eg_tensor *all[2] = {x, THERE(x)}, *of[2] = {labels, THERE(labels)};
        double loss[2];
        for (int i = 0; i < 2; i++) {
            eg_tape tape = eg_tape_open();
            EGT_OK(eg_tape_watch(tape, all[i]));
            EG_AUTOCAST(halves[h]) {
                eg_tensor *y = eg_cross_entropy(all[i], of[i], .label_smoothing = 0.1);
                EGT_CHECK(eg_dtype_of(y) == EG_F32);
                loss[i] = eg_item(y);
                EGT_OK(eg_tape_gradients(tape, y, &all[i], 1, &g[i]));
            }
            EGT_CHECK(eg_dtype_of(g[i]) == halves[h]);
            g[i] = eg_cast(eg_to(g[i], eg_cpu()), EG_F32);
        }
        EGT_NEAR(loss[0], loss[1], 1e-5);
        EGT_CHECK(egt_distance(g[0], g[1]) < 1e-3);
        EGT_CHECK(eg_dtype_of(eg_cross_entropy(all[1], of[1])) == halves[h]);
    }
}

static int64_t launches_of(eg_dtype dtype, int what)
{
    eg_tensor *x = eg_cast(eg_to(egt_random(EG_SHAPE(2, 4, 6, 6), EG_F32, -1, 1), emulated(0)), dtype);
    eg_tensor *w = THERE(eg_ones(EG_SHAPE(4), EG_F32)), *rows = eg_reshape(x, EG_SHAPE(48, 6)), *y = NULL, *g;
    eg_tensor *labels = THERE(eg_zeros(EG_SHAPE(48), EG_I64)), *in = what == 3 || what == 4 ? rows : x;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, in));
    FAKE(eg_fake_zero)();
    switch (what) {
    case 0:
        y = batch_norm(x, w, w);
        break;
    case 1:
        y = max_pool(x, w, w);
        break;
    case 2:
        y = avg_pool(x, w, w);
        break;
    case 3:
        y = layer_norm(rows, NULL, NULL);
        break;
    default:
        EG_AUTOCAST(EG_BF16) {
            y = eg_cross_entropy(rows, labels, .reduction = EG_NONE);
        }
    }
    EGT_OK(eg_tape_gradients(tape, y, &in, 1, &g, .dy = y));
    EGT_CHECK(eg_dtype_of(g) == dtype);
    return FAKE(eg_fake_read)().launches;
}

EGT(halves_take_no_more_launches)
{
    for (int what = 0; what < 5; what++) {
        EGT_EQ(launches_of(EG_BF16, what), launches_of(EG_F32, what));
    }
}
