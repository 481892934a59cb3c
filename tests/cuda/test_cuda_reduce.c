/* test_cuda_reduce.c - reductions, scans, softmax and cross entropy on an emulated device: what the sweep
 * cannot say. */
#include <math.h>

#include "tests/cuda/module.h"

typedef eg_tensor *function(eg_tensor *const *x, const void *user);

/* The value there of f and its gradient by x[0], beside the CPU's. */
static void same_there(function *f, eg_tensor *const *x, int n, const void *user, double tolerance)
{
    eg_tensor *y[2], *g[2];
    for (int there = 0; there < 2; there++) {
        eg_tensor *in[3] = {NULL};
        for (int i = 0; i < n; i++) {
            in[i] = there ? eg_to(x[i], emulated(0)) : x[i];
        }
        eg_tape tape = eg_tape_open();
        EGT_OK(eg_tape_watch(tape, in[0]));
        y[there] = f(in, user);
        EGT_CHECK(y[there] != NULL);
        eg_tensor *dy =
            eg_cast(eg_reshape(eg_arange(1, 1 + (double)eg_numel(y[there]), 1, EG_F32), eg_shape_of(y[there])),
                    eg_dtype_of(y[there]));
        dy = eg_add_scalar(eg_sin(dy), 0.5);
        EGT_OK(eg_tape_gradients(tape, y[there], &in[0], 1, &g[there], .dy = there ? eg_to(dy, emulated(0)) : dy));
    }
    EGT_NEAR(egt_distance(eg_to(y[1], eg_cpu()), y[0]), 0, tolerance);
    EGT_NEAR(egt_distance(eg_to(g[1], eg_cpu()), g[0]), 0, tolerance);
}

/* ---- softmax --------------------------------------------------------------------------------------- */

static eg_tensor *soft(eg_tensor *const *x, const void *axis)
{
    return eg_softmax(x[0], *(const int *)axis);
}

static eg_tensor *log_soft(eg_tensor *const *x, const void *axis)
{
    return eg_log_softmax(x[0], *(const int *)axis);
}

EGT(softmax_of_every_length)
{
    const eg_shape shapes[] = {EG_SHAPE(40, 3),   EG_SHAPE(9, 64),   EG_SHAPE(5, 101), EG_SHAPE(3, 1024),
                               EG_SHAPE(2, 4099), EG_SHAPE(2, 4600), EG_SHAPE(700, 5)};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int t = 0; t < 3; t++) {
            eg_tensor *x = egt_random(shapes[i], (eg_dtype[]){EG_F32, EG_F64, EG_BF16}[t], -3, 3);
            for (int axis = 0; axis < 2; axis++) {
                same_there(soft, &x, 1, &axis, t == 2 ? 2e-2 : 1e-5);
                same_there(log_soft, &x, 1, &axis, t == 2 ? 0.2 : 1e-4);
            }
        }
    }
}

/* ---- what is not finite ------------------------------------------------------------------------------ */

static bool both_nan_or_equal(const eg_tensor *a, const eg_tensor *b)
{
    for (int64_t i = 0; i < eg_numel(a); i++) {
        double v = eg_get(a, i), w = eg_get(b, i);
        if (!(v == w || (isnan(v) && isnan(w)) || fabs(v - w) < 1e-5)) {
            return false;
        }
    }
    return eg_numel(a) == eg_numel(b);
}

EGT(not_finite)
{
    const double inf = (double)INFINITY, rows[5][6] = {{1, inf, 2, -inf, 0, 3},
                                                       {-inf, -inf, -inf, -inf, -inf, -inf},
                                                       {1, (double)NAN, inf, (double)NAN, 0, 2},
                                                       {-inf, -1000, 5, -inf, 5, 1},
                                                       {inf, inf, 1, 1, 1, 1}};
    for (int t = 0; t < 2; t++) {
        eg_tensor *x = eg_from_values(EG_SHAPE(5, 6), t ? EG_F64 : EG_F32, rows[0]);
        for (int turn = 0; turn < 2; turn++) {
            eg_tensor *c = turn ? eg_contiguous(eg_transpose(x, 0, 1)) : x, *d = eg_to(c, emulated(0));
            const int axis = !turn;
#define SAME(...)                                                         \
    do {                                                                  \
        eg_tensor *in = c, *here = __VA_ARGS__;                           \
        in = d;                                                           \
        EGT_CHECK(both_nan_or_equal(here, eg_to(__VA_ARGS__, eg_cpu()))); \
    } while (0)
            SAME(eg_max(in, .axes = EG_AXES(axis)));
            SAME(eg_min(in, .axes = EG_AXES(axis)));
            SAME(eg_argmax(in, .axes = EG_AXES(axis)));
            SAME(eg_argmin(in, .axes = EG_AXES(axis)));
            SAME(eg_logsumexp(in, .axes = EG_AXES(axis)));
            SAME(eg_norm(in, .axes = EG_AXES(axis), .p = INFINITY));
            SAME(eg_sum(in, .axes = EG_AXES(axis)));
            SAME(eg_var(in, .axes = EG_AXES(axis)));
            SAME(eg_softmax(in, axis));
            SAME(eg_log_softmax(in, axis));
            SAME(eg_cumsum(in, axis));
        }
    }
    eg_tensor *none = eg_to(eg_zeros(EG_SHAPE(2, 0), EG_F32), emulated(0));
    EGT_CHECK(isnan(eg_item(eg_mean(none))) && isnan(eg_item(eg_var(none))));
    EGT_EQ(eg_item(eg_logsumexp(none)), -inf);
    EGT_EQ(eg_item(eg_prod(none)), 1);
    EGT_CHECK(isnan(eg_item(eg_var(eg_to(eg_ones(EG_SHAPE(1), EG_F32), emulated(0))))));
}

/* ---- views that begin anywhere, lines the other way round ---------------------------------------------- */

EGT(views)
{
    const eg_dtype dtypes[] = {EG_F32, EG_F16, EG_F64, EG_I64, EG_I32, EG_U8, EG_BOOL};
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++) {
        eg_tensor *x = eg_cast(egt_random(EG_SHAPE(3, 1200), EG_F32, 0, 3), dtypes[t]);
        eg_tensor *d = eg_to(x, emulated(0));
        for (int from = 0; from < 5; from++) {
            eg_tensor *a = eg_slice(x, 1, from, EG_END, 1), *b = eg_slice(d, 1, from, EG_END, 1);
            EGT_NEAR(eg_item(eg_sum(b)), eg_item(eg_sum(a)), eg_item(eg_sum(a)) * 2e-3);
            EGT_EQ(egt_distance(eg_to(eg_max(b, .axes = EG_AXES(1)), eg_cpu()), eg_max(a, .axes = EG_AXES(1))), 0);
            eg_tensor *turned = eg_slice(b, 1, EG_END, EG_END, -1);
            EGT_EQ(eg_item(eg_count_nonzero(turned)), eg_item(eg_count_nonzero(a)));
            EGT_EQ(egt_distance(eg_to(eg_argmax(turned, .axes = EG_AXES(1)), eg_cpu()),
                                eg_argmax(eg_slice(a, 1, EG_END, EG_END, -1), .axes = EG_AXES(1))),
                   0);
        }
    }
    eg_tensor *spread = eg_expand(eg_to(eg_arange(0, 50, 1, EG_F32), emulated(0)), EG_SHAPE(30, 50));
    EGT_EQ(eg_item(eg_sum(spread)), 30 * 1225);
    EGT_EQ(eg_get(eg_sum(spread, .axes = EG_AXES(0)), 7), 210);
}

/* Sums into the same bits again, and results that few kernels make. */
EGT(launches)
{
    eg_tensor *x = eg_to(egt_random(EG_SHAPE(300000), EG_F32, -1, 1), emulated(0));
    eg_tensor *rows = eg_reshape(x, EG_SHAPE(3000, 100));
    EGT_OK(eg_device_synchronize(emulated(0)));
    FAKE(eg_fake_zero)();
    eg_tensor *sum = eg_sum(x);
    EGT_EQ(FAKE(eg_fake_read)().launches, 2);
    eg_tensor *y = eg_sum(rows, .axes = EG_AXES(1));
    EGT_EQ(FAKE(eg_fake_read)().launches, 3);
    EGT_CHECK(y && eg_softmax(rows, 1));
    EGT_EQ(FAKE(eg_fake_read)().launches, 4);
    EGT_EQ(FAKE(eg_fake_read)().syncs, 0);
    EGT_EQ(eg_item(sum), eg_item(eg_sum(x)));
}

/* ---- cross entropy ------------------------------------------------------------------------------------- */

static eg_cross_entropy_options moved(const eg_cross_entropy_options *o, const eg_tensor *x)
{
    eg_cross_entropy_options there = *o;
    there.weight = o->weight ? eg_to(o->weight, eg_device_of(x)) : NULL;
    return there;
}

static eg_tensor *cross_entropy(eg_tensor *const *x, const void *o)
{
    const eg_cross_entropy_options there = moved(o, x[0]);
    return eg_cross_entropy_with(x[0], x[1], &there);
}

static eg_tensor *nll(eg_tensor *const *x, const void *o)
{
    const eg_cross_entropy_options there = moved(o, x[0]);
    return eg_nll_loss_with(eg_log_softmax(x[0], 1), x[1], &there);
}

/* The gradient as a composition: the walk itself is recorded. */
static eg_tensor *slope_of_slope(eg_tensor *const *x, const void *o)
{
    eg_tape tape = eg_tape_open();
    eg_tensor *g = NULL, *y;
    EGT_OK(eg_tape_watch(tape, x[0]));
    y = cross_entropy(x, o);
    EGT_OK(eg_tape_gradients(tape, y, &x[0], 1, &g, .dy = eg_ones_like(y)));
    return eg_square(g);
}

EGT(losses_of_labels)
{
    eg_tensor *weight = egt_random(EG_SHAPE(37), EG_F32, 0.5, 2);
    const eg_cross_entropy_options o[] = {{0},
                                          {.reduction = EG_SUM},
                                          {.reduction = EG_NONE, .label_smoothing = 0.1},
                                          {.weight = weight},
                                          {.ignore = true, .ignore_index = 3},
                                          {.weight = weight, .ignore = true, .ignore_index = 3, .label_smoothing = 0.2},
                                          {.reduction = EG_BATCH_MEAN, .weight = weight}};
    eg_tensor *x = egt_random(EG_SHAPE(9, 37), EG_F32, -4, 4);
    eg_tensor *labels = eg_from(EG_SHAPE(9), EG_I64, (int64_t[]){3, 0, 36, 7, 3, 12, 1, 35, 3});
    for (size_t i = 0; i < sizeof o / sizeof *o; i++) {
        same_there(cross_entropy, (eg_tensor *[]){x, labels}, 2, &o[i], 1e-5);
        same_there(cross_entropy, (eg_tensor *[]){x, eg_cast(labels, EG_U8)}, 2, &o[i], 1e-5);
        same_there(nll, (eg_tensor *[]){x, labels}, 2, &o[i], 1e-5);
        same_there(slope_of_slope, (eg_tensor *[]){x, labels}, 2, &o[i], 1e-5);
    }
    /* All are ignored. */
    const eg_cross_entropy_options all = {.ignore = true, .ignore_index = -100};
    eg_tensor *none = eg_to(eg_full(EG_SHAPE(9), -100, EG_I64), emulated(0));
    EGT_EQ(eg_item(cross_entropy((eg_tensor *[]){eg_to(x, emulated(0)), none}, &all)), 0);
    EGT_EQ(eg_item(nll((eg_tensor *[]){eg_to(x, emulated(0)), none}, &all)), 0);
    /* Long rows that begin at odd places. */
    eg_tensor *odd = egt_random(EG_SHAPE(4, 5003), EG_F32, -4, 4);
    eg_tensor *four = eg_from(EG_SHAPE(4), EG_I64, (int64_t[]){5002, 0, 1, 2500});
    same_there(cross_entropy, (eg_tensor *[]){odd, four}, 2, &o[0], 1e-5);
    same_there(cross_entropy, (eg_tensor *[]){odd, four}, 2, &o[2], 1e-5);
}

static void refused_later(const char *op)
{
    EGT_EQ(eg_device_synchronize(emulated(0)), EG_EINDEX);
    EGT_STR(eg_last_error()->op, op);
    EGT_CHECK(strstr(eg_last_error()->message, "is outside 0..4"));
    eg_clear_error();
}

/* Said when the host waits; the device goes on. */
EGT(labels_out_of_range)
{
    eg_device *d = emulated(0);
    eg_tensor *x = eg_to(egt_random(EG_SHAPE(3, 5), EG_F32, -1, 1), d);
    for (int which = 0; which < 4; which++) {
        const int64_t bad = (int64_t[]){5, -1, INT64_MAX, INT64_MIN}[which];
        eg_tensor *labels = eg_to(eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){1, bad, 4}), d);
        eg_tensor *y = eg_cross_entropy(x, labels);
        EGT_CHECK(y != NULL);
        refused_later("cross_entropy");
        y = eg_nll_loss(x, labels);
        EGT_CHECK(y != NULL);
        refused_later("nll_loss");
        /* Unless it is the one to ignore. */
        y = eg_cross_entropy(x, labels, .ignore = true, .ignore_index = bad);
        EGT_CHECK(isfinite(eg_item(y)));
    }
    eg_tensor *here = eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){0, 1, 2});
    EGT_REFUSED(eg_cross_entropy(x, here), EG_EDEVICE, "input 1 on cpu");
    EGT_REFUSED(eg_cross_entropy(x, eg_to(here, d), .weight = eg_ones(EG_SHAPE(5), EG_F32)), EG_EDEVICE,
                "weight is on cpu");
}

/* The mean of losses and its gradient: four kernels and nobody waits. */
EGT(launches_of_a_loss)
{
    eg_device *d = emulated(0);
    eg_tensor *x = eg_to(egt_random(EG_SHAPE(8, 40), EG_F32, -1, 1), d), *g;
    eg_tensor *labels = eg_to(eg_from(EG_SHAPE(8), EG_I64, (int64_t[]){1, 2, 3, 4, 5, 6, 7, 39}), d);
    EGT_OK(eg_device_synchronize(d));
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    FAKE(eg_fake_zero)();
    eg_tensor *y = eg_cross_entropy(x, labels);
    EGT_EQ(FAKE(eg_fake_read)().launches, 3);
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &g));
    EGT_CHECK(FAKE(eg_fake_read)().launches <= 7);
    EGT_EQ(FAKE(eg_fake_read)().syncs, 0);
}

/* ---- normalisation --------------------------------------------------------------------------------------------- */

EGT(running_statistics_follow_without_a_wait)
{
    eg_device *d = emulated(0);
    eg_tensor *x = egt_random(EG_SHAPE(6, 5, 3, 4), EG_F32, -1, 3), *y[2], *mean[2], *var[2];
    for (int i = 0; i < 2; i++) {
        eg_device *where = i ? d : eg_cpu();
        eg_tensor *there = eg_channels_last(eg_to(x, where));
        mean[i] = eg_to(eg_full(EG_SHAPE(5), 0.5, EG_F32), where);
        var[i] = eg_to(eg_full(EG_SHAPE(5), 2, EG_F64), where);
        FAKE(eg_fake_zero)();
        y[i] = eg_batch_norm(there, NULL, NULL, mean[i], var[i], .training = true, .relu = true);
        eg_fake_counts c = FAKE(eg_fake_read)();
        EGT_EQ(c.launches, i ? 3 : 0);
        EGT_EQ(c.syncs + c.copies_out + c.copies_in, 0);
    }
    EGT_CHECK(egt_distance(eg_to(y[1], eg_cpu()), y[0]) < 1e-5);
    EGT_CHECK(egt_distance(eg_to(mean[1], eg_cpu()), mean[0]) < 1e-6);
    EGT_CHECK(egt_distance(eg_to(var[1], eg_cpu()), var[0]) < 1e-6);
}
