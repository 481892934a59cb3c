/* test_cuda_attention.c - attention on a CUDA device as the sweep does not see it: more than a tile of everything,
 * beside the composition on the CPU; memory and launches. */
#include <cudnn_graph.h>

#include "tests/cuda/module.h"

typedef struct how {
    eg_shape lead, shared; /* axes in front of q; of k and v */
    int64_t t, s, d, v;
    eg_dtype dtype;
    bool causal;
    double dropout;
    int mask;    /* 0: none, 1: seen, 2: added, 3: seen by each */
    bool packed; /* heads side by side, as a projection leaves them */
    eg_attention_corner corner;
    int64_t window;
    double softcap;
} how;

static eg_tensor *drawn(eg_shape shape, int64_t rows, int64_t columns, const how *h)
{
    shape.dim[shape.ndim++] = rows;
    shape.dim[shape.ndim++] = columns;
    return eg_cast(egt_random(shape, EG_F32, -1, 1), h->dtype);
}

/* On the device, laid out as asked. */
static eg_tensor *there(eg_tensor *x, const how *h)
{
    x = eg_to(x, cuda(0));
    int n = x ? eg_ndim(x) : 0;
    return h->packed && n > 2 ? eg_transpose(eg_contiguous(eg_transpose(x, n - 2, n - 3)), n - 2, n - 3) : x;
}

static eg_tensor *mask_of(const how *h)
{
    switch (h->mask) {
    case 1:
        return eg_ge_scalar(egt_random(EG_SHAPE(1, h->s), EG_F32, -1, 1), -0.5);
    case 2:
        return egt_random(EG_SHAPE(h->t, h->s), EG_F32, -1, 1);
    case 3:
        return eg_ge_scalar(egt_random(EG_SHAPE(h->t, h->s), EG_F32, -1, 1), -0.5);
    default:
        return NULL;
    }
}

/* y and the gradients of q, k, v. */
static void run(eg_tensor **x, eg_tensor *mask, const how *h, eg_tensor *dy, eg_tensor **out)
{
    eg_tape tape = eg_tape_open();
    eg_seed(9);
    for (int i = 0; i < 3; i++) {
        EGT_OK(eg_tape_watch(tape, x[i]));
    }
    out[3] = eg_attention(x[0], x[1], x[2], .mask = mask, .causal = h->causal, .dropout = h->dropout,
                          .corner = h->corner, .window = h->window, .softcap = h->softcap);
    EGT_CHECK(out[3] != NULL);
    EGT_OK(eg_tape_gradients(tape, out[3], x, 3, out, .dy = dy));
}

static void compare(const how *h)
{
    static const char *const names[] = {"dq", "dk", "dv", "y"};
    const double allowed = h->dtype == EG_F32 ? 2e-5 : h->dtype == EG_F64 ? 1e-12 : 3e-2;
    eg_tensor *x[3] = {drawn(h->lead, h->t, h->d, h), drawn(h->shared, h->s, h->d, h), drawn(h->shared, h->s, h->v, h)};
    eg_tensor *dy = drawn(h->lead, h->t, h->v, h), *mask = mask_of(h), *far[3], *wide[3], *got[4], *want[4];
    for (int i = 0; i < 3; i++) {
        far[i] = there(x[i], h);
        wide[i] = eg_cast(x[i], EG_F64);
    }
    run(far, mask ? eg_to(mask, cuda(0)) : NULL, h, eg_to(dy, cuda(0)), got);
    eg_random_state after = eg_random_get_state();
    run(wide, mask, h, eg_cast(dy, EG_F64), want);
    EGT_EQ(after.offset, eg_random_get_state().offset);
    for (int i = 0; i < 4; i++) {
        double d = egt_distance(eg_cast(eg_to(got[i], eg_cpu()), EG_F64), want[i]);
        if (!(d <= allowed)) {
            egt_fail(__FILE__, __LINE__, "%s is off by %g, %lld x %lld x %lld", names[i], d, (long long)h->t,
                     (long long)h->s, (long long)h->d);
        }
    }
}

#define ONE   \
    {         \
        1,    \
        {     \
            2 \
        }     \
    }
#define NONE  \
    {         \
        0,    \
        {     \
            0 \
        }     \
    }

EGT(more_than_a_tile)
{
    static const how ways[] = {
        {ONE, ONE, 70, 130, 20, 33, EG_F32, .causal = true},
        {ONE, ONE, 130, 70, 16, 16, EG_F16, .mask = 1, .dropout = 0.2},
        {NONE, NONE, 65, 64, 100, 129, EG_F32, .dropout = 0.1},
        {NONE, NONE, 64, 66, 150, 8, EG_BF16, .causal = true},
        {NONE, NONE, 40, 90, 70, 100, EG_F16, .causal = true, .dropout = 0.2},
        {NONE, NONE, 33, 70, 40, 70, EG_F64, .causal = true, .dropout = 0.3},
        {NONE, NONE, 67, 67, 9, 7, EG_F16, .causal = true, .mask = 3},
        {{2, {2, 3}}, {2, {2, 3}}, 70, 70, 32, 32, EG_BF16, .causal = true, .packed = true},
        {{2, {2, 2}}, {2, {2, 1}}, 20, 80, 24, 24, EG_F32, .mask = 2},
        {{2, {2, 2}}, {2, {1, 2}}, 20, 80, 24, 24, EG_F32, .mask = 2, .packed = true},
        {NONE, NONE, 70, 190, 9, 9, EG_F32, .causal = true, .corner = EG_UPPER_LEFT},
        {NONE, NONE, 190, 70, 8, 9, EG_F32, .causal = true},
        {NONE, NONE, 190, 70, 8, 9, EG_F16, .causal = true, .corner = EG_UPPER_LEFT, .dropout = 0.2},
        {NONE, NONE, 200, 200, 8, 8, EG_F32, .causal = true, .window = 5},
        {NONE, NONE, 200, 130, 8, 8, EG_F64, .window = 40, .softcap = 0.7},
        {NONE, NONE, 130, 200, 16, 16, EG_BF16, .window = 70, .corner = EG_UPPER_LEFT},
        {NONE, NONE, 66, 300, 16, 8, EG_F16, .causal = true, .window = 3, .softcap = 2, .mask = 3},
    };
    cuda(0);
    for (int i = 0; i < (int)(sizeof ways / sizeof *ways); i++) {
        EG_SCOPE {
            compare(&ways[i]);
        }
    }
}

/* ---- cuDNN --------------------------------------------------------------------------------------------- */

/* So many runs of its plans, forward and backward. */
static int64_t runs_of(const how *h)
{
    __typeof__(eg_fake_read) *read = FAKE(eg_fake_read);
    int64_t before = read().dnn_runs;
    EG_SCOPE {
        compare(h);
    }
    return read().dnn_runs - before;
}

EGT(taken_by_cudnn)
{
    const how way = {{2, {2, 3}}, {2, {2, 3}}, 20, 20, 16, 24, EG_BF16, .causal = true};
    how h = way;
    cuda(0);
    EGT_EQ(runs_of(&h), 1 + 2); /* on the emulated card 4 kB of scores at a time, here 3 matrices */
    h.packed = true;
    EGT_EQ(runs_of(&h), 1 + 2);
    h.causal = false;
    h.dtype = EG_F16;
    h.s = 12;
    EGT_EQ(runs_of(&h), 1 + 1);
    h.t = 71;
    h.s = 35; /* each for itself, rows of stats at odd places */
    EGT_EQ(runs_of(&h), 1 + 6);
    h.shared = (eg_shape){2, {2, 1}}; /* keys that are repeated */
    EGT_EQ(runs_of(&h), 1 + 6);
    h.lead = (eg_shape){3, {2, 1, 3}};
    h.shared = (eg_shape){3, {2, 1, 1}};
    EGT_EQ(runs_of(&h), 1 + 6);
    h.lead = h.shared = (eg_shape){0};
    EGT_EQ(runs_of(&h), 2);
}

EGT(not_taken_by_cudnn)
{
    const how way = {{2, {2, 3}}, {2, {2, 3}}, 12, 12, 16, 24, EG_BF16, .causal = true};
    how h = way;
    cuda(0);
    h.dropout = 0.2;
    EGT_EQ(runs_of(&h), 0);
    h = way, h.mask = 1;
    EGT_EQ(runs_of(&h), 0);
    h = way, h.s = 13; /* causal, from the last query on */
    EGT_EQ(runs_of(&h), 0);
    h = way, h.window = 5;
    EGT_EQ(runs_of(&h), 0);
    h = way, h.softcap = 5;
    EGT_EQ(runs_of(&h), 0);
    h = way, h.window = 11, h.corner = EG_UPPER_LEFT; /* which hides nothing */
    EGT_EQ(runs_of(&h), 1 + 1);
    h = way, h.d = 12;
    EGT_EQ(runs_of(&h), 0);
    h = way, h.v = 1;
    EGT_EQ(runs_of(&h), 0);
    h = way, h.dtype = EG_F32;
    EGT_EQ(runs_of(&h), 0);
    h = way, h.lead = h.shared = (eg_shape){3, {1, 2, 2}}, h.packed = true; /* three axes that do not merge, with 1 */
    EGT_EQ(runs_of(&h), 2);
}

/* Without an engine, or where a plan cannot be made, own kernels do it. */
EGT(without_a_plan)
{
    const how h = {{2, {1, 2}}, {2, {1, 2}}, 9, 9, 8, 8, EG_F16, .causal = true};
    FAKE(eg_fake_fail)("cudnnBackendFinalize/graph", 1, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
    EGT_EQ(runs_of(&h), 1); /* its gradient has one */
    EGT_EQ(runs_of(&h), 1);
}

/* Plans are kept, and so is memory. */
EGT(warm_plans)
{
    const how h = {{2, {1, 2}}, {2, {1, 2}}, 16, 16, 8, 8, EG_BF16, .causal = true};
    __typeof__(eg_fake_read) *read = FAKE(eg_fake_read);
    eg_tensor *x[3], *dy = eg_to(drawn(h.lead, h.t, h.v, &h), cuda(0)), *out[4];
    for (int i = 0; i < 3; i++) {
        x[i] = eg_to(drawn(h.lead, h.t, 8, &h), cuda(0));
    }
    for (int warm = 0; warm < 3; warm++) {
        EG_SCOPE {
            const eg_fake_counts before = read();
            run(x, NULL, &h, dy, out);
            const eg_fake_counts after = read();
            EGT_EQ(after.dnn_runs - before.dnn_runs, 2);
            EGT_EQ(after.launches, before.launches);
            if (warm) {
                EGT_EQ(after.dnn_plans, before.dnn_plans);
                EGT_EQ(after.mallocs + after.creates, before.mallocs + before.creates);
                EGT_EQ(after.syncs, before.syncs);
            }
        }
    }
}

/* ---- more ---------------------------------------------------------------------------------------------- */

/* The same words drop the same weights: without a gradient too, and twice. */
EGT(the_same_every_time)
{
    const how h = {ONE, ONE, 70, 90, 16, 16, EG_F32, .causal = true, .dropout = 0.4};
    eg_tensor *x[3], *dy = eg_to(drawn(h.lead, h.t, h.v, &h), cuda(0)), *first[4], *again[4];
    for (int i = 0; i < 3; i++) {
        x[i] = eg_to(drawn(h.lead, i ? h.s : h.t, 16, &h), cuda(0));
    }
    run(x, NULL, &h, dy, first);
    run(x, NULL, &h, dy, again);
    for (int i = 0; i < 4; i++) {
        EGT_EQ(egt_distance(eg_to(first[i], eg_cpu()), eg_to(again[i], eg_cpu())), 0);
    }
}

/* Nothing of T x S is ever held, and nothing is asked of the driver once it is warm. */
EGT(memory_and_launches)
{
    __typeof__(eg_fake_read) *read = FAKE(eg_fake_read);
    __typeof__(eg_fake_peak) *peak = FAKE(eg_fake_peak);
    __typeof__(eg_fake_zero) *zero = FAKE(eg_fake_zero);
    const how h = {NONE, NONE, 1024, 1024, 8, 8, EG_F32, .causal = true};
    eg_tensor *x[3], *dy = eg_to(drawn(h.lead, h.t, h.v, &h), cuda(0)), *out[4];
    for (int i = 0; i < 3; i++) {
        x[i] = eg_to(drawn(h.lead, h.t, 8, &h), cuda(0));
    }
    const int64_t before = eg_device_memory(cuda(0)).live_bytes;
    for (int warm = 0; warm < 2; warm++) {
        EG_SCOPE {
            zero();
            run(x, NULL, &h, dy, out);
            EGT_OK(eg_device_synchronize(cuda(0)));
            const eg_fake_counts n = read();
            EGT_EQ(n.launches, 4);
            EGT_EQ(n.syncs, 1);
            /* y and three gradients of 1024 x 8, stats */
            EGT_EQ(eg_device_memory(cuda(0)).live_bytes - before, 4 * 1024 * 8 * 4);
            EGT_CHECK(peak(0) < 4 << 20);
            if (warm) {
                EGT_EQ(n.mallocs + n.creates + n.maps, 0);
            }
        }
    }
}

/* Weights that are asked for are there. */
EGT(weights_are_given)
{
    const how h = {ONE, ONE, 5, 6, 4, 4, EG_F32, .causal = true};
    eg_tensor *q = eg_to(drawn(h.lead, 5, 4, &h), cuda(0)), *k = eg_to(drawn(h.lead, 6, 4, &h), cuda(0)), *weights;
    eg_tensor *y = eg_attention(q, k, k, .causal = true, .weights = &weights);
    EGT_CHECK(y && weights);
    EGT_EQ(eg_numel(weights), 2 * 5 * 6);
    EGT_CHECK(egt_distance(eg_to(y, eg_cpu()), eg_to(eg_attention(q, k, k, .causal = true), eg_cpu())) < 1e-5);
}

/* A float mask that wants a gradient has it. */
EGT(gradient_of_a_mask)
{
    const how h = {ONE, ONE, 5, 6, 4, 4, EG_F64, .mask = 2};
    eg_tensor *x[2], *q = drawn(h.lead, 5, 4, &h), *k = drawn(h.lead, 6, 4, &h);
    eg_tensor *mask = drawn(h.shared, 1, 6, &h), *g[2];
    for (int side = 0; side < 2; side++) {
        eg_device *d = side ? cuda(0) : eg_cpu();
        x[0] = eg_to(mask, d);
        eg_tape tape = eg_tape_open();
        EGT_OK(eg_tape_watch(tape, x[0]));
        eg_tensor *y = eg_attention(eg_to(q, d), eg_to(k, d), eg_to(k, d), .mask = x[0]);
        eg_tensor *sum = eg_sum(eg_square(y));
        EGT_OK(eg_tape_gradients(tape, sum, x, 1, &g[side]));
    }
    EGT_CHECK(egt_distance(eg_to(g[1], eg_cpu()), g[0]) < 1e-12);
}

/* Products in low precision, masks and all. */
EGT(under_autocast)
{
    const how h = {ONE, ONE, 5, 6, 4, 4, EG_F32, .mask = 2};
    eg_tensor *q = drawn(h.lead, 5, 4, &h), *k = drawn(h.lead, 6, 4, &h), *mask = drawn(h.shared, 5, 6, &h);
    eg_tensor *want = eg_attention(q, k, k, .mask = mask), *y = NULL;
    EG_AUTOCAST(EG_BF16) {
        y = eg_attention(eg_to(q, cuda(0)), eg_to(k, cuda(0)), eg_to(k, cuda(0)), .mask = eg_to(mask, cuda(0)));
    }
    EGT_EQ(eg_dtype_of(y), EG_BF16);
    EGT_CHECK(egt_distance(eg_cast(eg_to(y, eg_cpu()), EG_F32), want) < 3e-2);
}

/* Keys that a large number hides: a query from which all are hidden alike sees all alike. */
EGT(masks_under_autocast)
{
    const how h = {ONE, ONE, 5, 6, 4, 4, EG_F32, .mask = 2};
    eg_tensor *q = drawn(h.lead, 5, 4, &h), *k = drawn(h.lead, 6, 4, &h);
    eg_tensor *mask = eg_mul_scalar(eg_cast(eg_ge_scalar(egt_random(EG_SHAPE(5, 6), EG_F32, -1, 1), 0), EG_F32), -1e9);
    EGT_CHECK(eg_copy_(eg_select(mask, 0, 2), eg_full(EG_SCALAR, -1e9, EG_F32)));
    eg_tensor *want = eg_attention(q, k, k, .mask = mask), *y = NULL;
    EG_AUTOCAST(EG_F16) {
        y = eg_attention(eg_to(q, cuda(0)), eg_to(k, cuda(0)), eg_to(k, cuda(0)), .mask = eg_to(mask, cuda(0)));
        EGT_EQ(eg_autocast_dtype(), EG_F16);
    }
    EGT_EQ(eg_dtype_of(y), EG_F16);
    EGT_CHECK(egt_distance(eg_cast(eg_to(y, eg_cpu()), EG_F32), want) < 3e-3);
}

/* ---- captured steps -------------------------------------------------------------------------------------- */

/* y and dq of attention with the dropout `user` says. */
static eg_status attend(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    eg_tensor *q = in[0];
    eg_tape tape = eg_tape_open();
    (void)nin, (void)nout;
    if (eg_tape_watch(tape, q)) {
        return eg_last_error()->code;
    }
    out[0] = eg_attention(q, in[1], in[1], .causal = true, .dropout = *(double *)user);
    return out[0] ? eg_tape_gradients(tape, out[0], &q, 1, &out[1], .dy = in[2]) : eg_last_error()->code;
}

/* A replayed step drops anew, and what it would have dropped uncaptured; cuDNN's plans are replayed, too. */
EGT(in_captured_steps)
{
    for (int way = 0; way < 3; way++) {
        const how h = {ONE, ONE, 16, 16, 8, 8, way ? EG_BF16 : EG_F32, .causal = true};
        double dropout = way < 2 ? 0.3 : 0;
        eg_tensor *in[3], *got[2], *want[2];
        cuda(0);
        for (int i = 0; i < 3; i++) {
            in[i] = eg_to(drawn(h.lead, 16, 8, &h), cuda(0));
        }
        eg_step *step = eg_step_new(attend, &dropout, .device = cuda(0));
        EGT_CHECK(step);
        for (int i = 0; i < 6; i++) {
            EG_SCOPE {
                const eg_random_state at = eg_random_get_state();
                EGT_OK(eg_step_run(step, in, 3, got, 2));
                eg_random_set_state(at);
                EGT_OK(attend(&dropout, in, 3, want, 2));
                for (int k = 0; k < 2; k++) {
                    EGT_EQ(egt_distance(eg_to(got[k], eg_cpu()), eg_to(want[k], eg_cpu())), 0);
                }
            }
        }
        EGT_CHECK(eg_step_stats(step).replays > 0);
        eg_step_free(step);
    }
}
