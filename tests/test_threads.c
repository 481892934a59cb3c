/* test_threads.c - the same bits whatever the number of threads: each job, large enough to be shared, forwards and
 * backwards with several numbers of them. oneDNN's own sums (tensor.h) are asked for the same bits twice alone. */
#include "tests/egt.h"

enum { MOST = 5 };

typedef struct job {
    const char *name;
    eg_tensor *(*f)(eg_tensor *const *x, const struct job *k);
    eg_shape in[MOST];
    unsigned whole; /* bit i: input i is i64 in 0..9 and has no gradient */
    bool dnnl;      /* of f32: products that oneDNN shares among its threads */
    eg_conv_options conv;
} job;

#define JOB(name, call)                                       \
    static eg_tensor *name(eg_tensor *const *x, const job *k) \
    {                                                         \
        (void)k;                                              \
        return call;                                          \
    }

static eg_tensor *mixed(eg_rnn r)
{
    return r.y ? eg_add(r.y, eg_mul_scalar(r.h, 0.25)) : NULL;
}

static eg_tensor *sorted(eg_tensor *const *x, const job *k)
{
    eg_tensor *y = NULL;
    (void)k;
    return eg_sort(x[0], -1, false, &y, NULL) ? NULL : y;
}

JOB(conv, eg_conv2d_with(x[0], x[1], x[2], &k->conv))
JOB(conv3, eg_conv3d_with(x[0], x[1], x[2], &k->conv))
JOB(turned, eg_conv_transpose2d_with(x[0], x[1], x[2], &k->conv))
JOB(lstm, mixed(eg_lstm(x[0], x[1], x[2], .b_ih = x[3])))
JOB(gru, mixed(eg_gru(x[0], x[1], x[2], .b_ih = x[3])))
JOB(matmul, eg_matmul(x[0], x[1]))
JOB(linear, eg_linear(x[0], x[1], x[2], .activation = eg_gelu))
JOB(attention, eg_attention(x[0], x[1], x[2], .causal = true))
JOB(batch_norm, eg_batch_norm(x[0], x[1], x[2], NULL, NULL, .training = true))
JOB(last_norm, eg_batch_norm(eg_channels_last(x[0]), x[1], x[2], NULL, NULL, .training = true))
JOB(group_norm, eg_group_norm(x[0], 4, x[1], x[2]))
JOB(layer_norm, eg_layer_norm(x[0], x[1], x[2]))
JOB(rms_norm, eg_rms_norm(x[0], x[1]))
JOB(max_pool, eg_max_pool2d(x[0], .kernel = 3, .stride = 2, .padding = 1))
JOB(avg_pool, eg_avg_pool2d(x[0], .kernel = 3, .stride = 1, .padding = 1))
JOB(resize, eg_resize(x[0], EG_SHAPE(37, 61)))
JOB(grid, eg_grid_sample(x[0], x[1]))
JOB(embedding, eg_embedding(x[0], x[1]))
JOB(index_add, eg_index_add(x[0], 0, x[1], x[2]))
JOB(softmax, eg_softmax(x[0], -1))
JOB(cross_entropy, eg_cross_entropy(x[0], x[1]))
JOB(sum, eg_sum(x[0]))
JOB(mean, eg_mean(x[0], .axes = EG_AXES(0)))
JOB(deviation, eg_std(x[0], .axes = EG_AXES(1)))
JOB(middle, eg_sum(x[0], .axes = EG_AXES(1)))
JOB(cumsum, eg_cumsum(x[0], 0))
JOB(pointwise, eg_mul(eg_tanh(x[0]), eg_erf(eg_add(x[0], x[1]))))
JOB(inverse, eg_inverse(x[0]))

/* Sizes at which each way of computing is taken (lib/cpu/conv/conv.c, product.c choose), and odd ones. */
#define D(...)                           \
    {                                    \
        EG_COUNT_(int64_t, __VA_ARGS__), \
        {                                \
            __VA_ARGS__                  \
        }                                \
    }
#define CONV(...)                                    \
    {                                                \
        .size = sizeof(eg_conv_options), __VA_ARGS__ \
    }
static const job jobs[] = {
    {"3 x 3", conv, {D(4, 16, 33, 31), D(24, 16, 3, 3), D(24)}, 0, true, CONV(.padding = 1)},
    {"3 x 3 of many channels", conv, {D(5, 64, 14, 14), D(64, 64, 3, 3)}, 0, false, CONV(.padding = 1)},
    {"3 x 3 of large images", conv, {D(2, 64, 40, 44), D(64, 64, 3, 3)}, 0, false, CONV(.padding = 1)},
    {"3 x 3 of small images", conv, {D(3, 256, 5, 5), D(256, 256, 3, 3)}, 0, true, CONV(.padding = 1)},
    {"4 x 4, in twos", conv, {D(8, 32, 16, 16), D(64, 32, 4, 4)}, 0, true, CONV(.padding = 1, .stride = 2)},
    {"few windows", conv, {D(2, 128, 4, 4), D(256, 128, 3, 3)}, 0, true, CONV(.padding = 1)},
    {"1 x 1", conv, {D(6, 40, 19, 17), D(72, 40, 1, 1)}, 0, true, CONV(.padding = 0)},
    {"three colours", conv, {D(4, 3, 65, 63), D(16, 3, 5, 5)}, 0, true, CONV(.padding = 2)},
    {"in groups", conv, {D(4, 24, 20, 22), D(36, 6, 3, 3)}, 0, true, CONV(.padding = 1, .groups = 4)},
    {"depthwise", conv, {D(4, 37, 28, 27), D(37, 1, 3, 3)}, 0, false, CONV(.padding = 1, .groups = 37)},
    {"depthwise, in twos",
     conv,
     {D(4, 19, 57, 56), D(19, 1, 5, 5)},
     0,
     false,
     CONV(.padding = 2, .groups = 19, .stride = 2)},
    {"depthwise, few windows", conv, {D(2, 203, 7, 7), D(203, 1, 3, 3)}, 0, false, CONV(.padding = 1, .groups = 203)},
    {"depthwise by vectors", conv, {D(4, 64, 28, 28), D(64, 1, 3, 3)}, 0, true, CONV(.padding = 1, .groups = 64)},
    {"dilated", conv, {D(3, 16, 30, 30), D(16, 16, 3, 3)}, 0, true, CONV(.padding = 2, .dilation = 2)},
    {"3 x 3 x 3", conv3, {D(2, 8, 10, 12, 11), D(12, 8, 3, 3, 3)}, 0, true, CONV(.padding = 1)},
    {"turned", turned, {D(4, 48, 9, 9), D(48, 24, 4, 4)}, 0, true, CONV(.padding = 1, .stride = 2)},
    {"turned to colours", turned, {D(4, 32, 24, 24), D(32, 3, 4, 4)}, 0, true, CONV(.padding = 1, .stride = 2)},
    {"lstm", lstm, {D(7, 33, 50), D(268, 50), D(268, 67), D(268)}, 0, true, {0}},
    {"large lstm", lstm, {D(3, 64, 128), D(1024, 128), D(1024, 256), D(1024)}, 0, true, {0}},
    {"gru", gru, {D(7, 33, 50), D(201, 50), D(201, 67), D(201)}, 0, true, {0}},
    {"matmul", matmul, {D(127, 501), D(501, 93)}, 0, true, {0}},
    {"deep matmul", matmul, {D(10, 5003), D(5003, 17)}, 0, true, {0}},
    {"many matmuls", matmul, {D(9, 31, 65), D(9, 65, 30)}, 0, true, {0}},
    {"a flat matmul", matmul, {D(64, 20011), D(20011, 70)}, 0, true, {0}},
    {"a product for a weight", matmul, {D(512, 2048), D(2048, 300)}, 0, true, {0}},
    {"a vector", matmul, {D(1001, 703), D(703)}, 0, true, {0}},
    {"linear", linear, {D(130, 300), D(77, 300), D(77)}, 0, true, {0}},
    {"attention", attention, {D(3, 4, 65, 24), D(3, 4, 65, 24), D(3, 4, 65, 24)}, 0, true, {0}},
    {"batch norm", batch_norm, {D(9, 21, 23, 19), D(21), D(21)}, 0, false, {0}},
    {"batch norm, few channels", batch_norm, {D(9, 3, 43, 39), D(3), D(3)}, 0, false, {0}},
    {"batch norm, channels last", last_norm, {D(9, 21, 23, 19), D(21), D(21)}, 0, false, {0}},
    {"group norm", group_norm, {D(9, 20, 23, 19), D(20), D(20)}, 0, false, {0}},
    {"layer norm", layer_norm, {D(501, 129), D(129), D(129)}, 0, false, {0}},
    {"rms norm", rms_norm, {D(501, 129), D(129)}, 0, false, {0}},
    {"max pool", max_pool, {D(4, 12, 61, 59)}, 0, false, {0}},
    {"avg pool", avg_pool, {D(4, 12, 61, 59)}, 0, false, {0}},
    {"resize", resize, {D(4, 12, 61, 49)}, 0, false, {0}},
    {"grid", grid, {D(4, 12, 41, 39), D(4, 50, 51, 2)}, 0, false, {0}},
    {"embedding", embedding, {D(10, 131), D(900)}, 2, false, {0}},
    {"index_add", index_add, {D(10, 131), D(900), D(900, 131)}, 2, false, {0}},
    {"softmax", softmax, {D(301, 333)}, 0, false, {0}},
    {"cross entropy", cross_entropy, {D(3001, 11), D(3001)}, 2, false, {0}},
    {"sum", sum, {D(301, 1333)}, 0, false, {0}},
    {"mean", mean, {D(1301, 133)}, 0, false, {0}},
    {"std", deviation, {D(301, 1333)}, 0, false, {0}},
    {"sums of few columns", middle, {D(3, 300, 48)}, 0, false, {0}},
    {"cumsum", cumsum, {D(301, 333)}, 0, false, {0}},
    {"pointwise", pointwise, {D(317, 331), D(331)}, 0, false, {0}},
    {"sort", sorted, {D(3, 50021)}, 0, false, {0}},
    {"inverse", inverse, {D(33, 24, 24)}, 0, true, {0}},
};

/* The result and the gradients, n of them, kept. */
static int compute(const job *k, eg_dtype dtype, int threads, eg_tensor **made)
{
    eg_tensor *x[MOST] = {NULL}, *ask[MOST], *g[MOST];
    int n = 0;
    EGT_OK(eg_set_threads(threads));
    EG_SCOPE {
        eg_seed(7);
        eg_tape tape = eg_tape_open();
        for (int i = 0; i < MOST && k->in[i].ndim; i++) {
            bool whole = k->whole >> i & 1;
            x[i] = eg_uniform(k->in[i], 0, 1, EG_F64);
            x[i] =
                whole ? eg_cast(eg_floor(eg_mul_scalar(x[i], 10)), EG_I64) : eg_cast(eg_sub_scalar(x[i], 0.4), dtype);
            if (!whole) {
                EGT_OK(eg_tape_watch(tape, x[i]));
                ask[n++] = x[i];
            }
        }
        eg_tensor *y = k->f(x, k);
        eg_tensor *dy = y ? eg_cast(eg_uniform(eg_shape_of(y), 0, 1, EG_F64), eg_dtype_of(y)) : NULL;
        EGT_CHECK(dy);
        EGT_OK(eg_tape_gradients(tape, y, ask, n, g, .dy = dy));
        made[0] = eg_keep(y);
        for (int i = 0; i < n; i++) {
            made[i + 1] = g[i] ? eg_keep(g[i]) : NULL;
        }
    }
    return n + 1;
}

static const char *differs(eg_tensor *const *a, eg_tensor *const *b, int n)
{
    static char words[40];
    for (int i = 0; i < n; i++) {
        if (a[i] && egt_distance(a[i], b[i]) != 0) {
            snprintf(words, sizeof words, i ? "gradient %d" : "the result", i - 1);
            return words;
        }
    }
    return NULL;
}

static void release(eg_tensor **t, int n)
{
    for (int i = 0; i < n; i++) {
        eg_release(t[i]);
    }
}

static void check(const job *k, eg_dtype dtype)
{
    static const int counts[] = {1, 2, 3, 5, 8, 32};
    bool own = !k->dnnl || dtype == EG_F64;
    int before = eg_threads();
    const char *bad = NULL;
    for (size_t c = own; c < sizeof counts / sizeof *counts && !bad; c++) {
        eg_tensor *want[MOST + 1], *got[MOST + 1];
        snprintf(egt_case, sizeof egt_case, "%s, %s, %d threads", k->name, eg_dtype_name(dtype), counts[c]);
        int n = compute(k, dtype, own ? 1 : counts[c], want);
        compute(k, dtype, counts[c], got);
        bad = differs(got, want, n);
        release(want, n);
        release(got, n);
    }
    EGT_OK(eg_set_threads(before));
    if (bad) {
        egt_fail(__FILE__, __LINE__, "%s differs", bad);
    }
}

static const job *current;

static void run_current(void)
{
    check(current, EG_F32);
    check(current, EG_F64);
}

const egt_test *egt_next_case(void)
{
    static size_t next;
    static egt_test t = {NULL, run_current, NULL};
    if (next == sizeof jobs / sizeof *jobs) {
        return NULL;
    }
    current = &jobs[next++];
    t.name = current->name;
    return &t;
}
