/* work_basic.c - matrix products, pointwise ops, reductions, copies. */
#include "work.h"

#include <string.h>

#define INT(key) bench_int(w->c, key)

static int64_t step_f1(work *w)
{
    eg_scope scope = eg_scope_push();
    return work_done(scope, w->f1(w->x[0]));
}

static int64_t step_f2(work *w)
{
    eg_scope scope = eg_scope_push();
    return work_done(scope, w->f2(w->x[0], w->x[1]));
}

/* A random [rows, cols] (batched: [b, rows, cols]), stored transposed if asked. */
static eg_tensor *matrix(int64_t b, int64_t rows, int64_t cols, bool transposed)
{
    int64_t r = transposed ? cols : rows, c = transposed ? rows : cols;
    eg_tensor *t = work_random(b == 1 ? EG_SHAPE(r, c) : EG_SHAPE(b, r, c), -0.5, 0.5);
    return transposed ? eg_transpose(t, -1, -2) : t;
}

static bool make_matmul(work *w)
{
    int64_t b = INT("b"), k = INT("k");
    w->x[0] = matrix(b, INT("m"), k, INT("ta"));
    w->x[1] = matrix(b, k, INT("n"), INT("tb"));
    w->f2 = eg_matmul;
    w->step = step_f2;
    return w->x[0] && w->x[1];
}

typedef struct named_op {
    const char *name;
    eg_tensor *(*f1)(eg_tensor *);
    eg_tensor *(*f2)(eg_tensor *, eg_tensor *);
} named_op;

static const named_op named[] = {
    {"relu", eg_relu, NULL},       {"exp", eg_exp, NULL},
    {"log", eg_log, NULL},         {"tanh", eg_tanh, NULL},
    {"sigmoid", eg_sigmoid, NULL}, {"gelu", eg_gelu, NULL},
    {"silu", eg_silu, NULL},       {"sqrt", eg_sqrt, NULL},
    {"square", eg_square, NULL},   {"gelu_tanh", eg_gelu_tanh, NULL},
    {"add", NULL, eg_add},         {"mul", NULL, eg_mul},
    {"div", NULL, eg_div},         {"maximum", NULL, eg_maximum},
};

/* Sets f1 and f2 from the key f. */
static bool choose(work *w)
{
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (bench_is(w->c, "f", named[i].name)) {
            w->f1 = named[i].f1;
            w->f2 = named[i].f2;
        }
    }
    return w->f1 || w->f2;
}

static bool make_unary(work *w)
{
    bool positive = bench_is(w->c, "f", "log") || bench_is(w->c, "f", "sqrt");
    w->x[0] = work_random(EG_SHAPE(INT("n")), positive ? 0.1 : -0.5, positive ? 1.1 : 0.5);
    w->step = step_f1;
    if (!choose(w) || !w->f1 || !w->x[0]) {
        return false;
    }
    return bench_is(w->c, "dir", "fwd") || (work_watch(w, 1) && work_walk(w, w->f1(w->x[0])));
}

static bool make_binary(work *w)
{
    w->x[0] = work_random(EG_SHAPE(INT("n")), -0.5, 0.5);
    w->x[1] = work_random(EG_SHAPE(INT("n")), 0.5, 1.5);
    w->step = step_f2;
    return choose(w) && w->f2 && w->x[0] && w->x[1];
}

static bool make_bias(work *w)
{
    w->x[0] = work_random(EG_SHAPE(INT("rows"), INT("cols")), -0.5, 0.5);
    w->x[1] = work_random(EG_SHAPE(INT("cols")), -0.5, 0.5);
    w->f2 = eg_add;
    w->step = step_f2;
    return w->x[0] && w->x[1];
}

typedef struct reduction {
    const char *name;
    eg_tensor *(*run)(eg_tensor *, const eg_reduce_options *);
} reduction;

/* The variance has options of its own. */
static eg_tensor *variance(eg_tensor *x, const eg_reduce_options *options)
{
    return eg_var(x, .axes = options->axes);
}

static const reduction reductions[] = {
    {"sum", eg_sum_with},       {"mean", eg_mean_with},           {"max", eg_max_with},
    {"argmax", eg_argmax_with}, {"logsumexp", eg_logsumexp_with}, {"var", variance},
};

static int64_t step_reduce(work *w)
{
    eg_scope scope = eg_scope_push();
    int64_t axis = INT("axis");
    eg_reduce_options options = {.size = sizeof options};
    options.axes = axis < 0 ? (eg_axes){0} : EG_AXES((int)axis);
    return work_done(scope, w->reduce(w->x[0], &options));
}

static bool make_reduce(work *w)
{
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
        if (bench_is(w->c, "f", reductions[i].name)) {
            w->reduce = reductions[i].run;
        }
    }
    w->x[0] = work_random(EG_SHAPE(INT("rows"), INT("cols")), -0.5, 0.5);
    w->step = step_reduce;
    return w->reduce && w->x[0];
}

/* Ops along the last axis of [rows, cols]. */
static eg_tensor *running_sum(eg_tensor *x)
{
    return eg_cumsum(x, 1);
}

static eg_tensor *softmax(eg_tensor *x)
{
    return eg_softmax(x, 1);
}

static eg_tensor *log_softmax(eg_tensor *x)
{
    return eg_log_softmax(x, 1);
}

static bool along(work *w, eg_tensor *(*f)(eg_tensor *))
{
    w->x[0] = work_random(EG_SHAPE(INT("rows"), INT("cols")), -0.5, 0.5);
    w->f1 = f;
    w->step = step_f1;
    if (!w->x[0] || !bench_is(w->c, "dir", "bwd")) {
        return w->x[0];
    }
    return work_watch(w, 1) && work_walk(w, f(w->x[0]));
}

static bool make_cumsum(work *w)
{
    return along(w, running_sum);
}

static bool make_softmax(work *w)
{
    return along(w, softmax);
}

static bool make_log_softmax(work *w)
{
    return along(w, log_softmax);
}

static eg_tensor *to_bf16(eg_tensor *x)
{
    return eg_cast(x, EG_BF16);
}

static bool make_cast(work *w)
{
    w->x[0] = work_random(EG_SHAPE(INT("n")), -0.5, 0.5);
    w->f1 = to_bf16;
    w->step = step_f1;
    return bench_is(w->c, "to", "bf16") && w->x[0];
}

static eg_tensor *transposed_copy(eg_tensor *x)
{
    return eg_contiguous(eg_transpose(x, 0, 1));
}

static bool make_transpose(work *w)
{
    w->x[0] = work_random(EG_SHAPE(INT("rows"), INT("cols")), -0.5, 0.5);
    w->f1 = transposed_copy;
    w->step = step_f1;
    return w->x[0];
}

static eg_tensor *nhwc_copy(eg_tensor *x)
{
    return eg_contiguous(eg_permute(x, EG_AXES(0, 2, 3, 1)));
}

static bool make_nhwc(work *w)
{
    w->x[0] = work_random(EG_SHAPE(INT("n"), INT("c"), INT("h"), INT("h")), -0.5, 0.5);
    w->f1 = nhwc_copy;
    w->step = step_f1;
    return w->x[0];
}

static eg_tensor *every_second(eg_tensor *x)
{
    return eg_contiguous(eg_slice(x, 0, 0, EG_END, 2));
}

static bool make_every_second(work *w)
{
    w->x[0] = work_random(EG_SHAPE(2 * INT("n")), -0.5, 0.5);
    w->f1 = every_second;
    w->step = step_f1;
    return w->x[0];
}

static eg_tensor *dropout(eg_tensor *x)
{
    return eg_dropout(x, 0.5, true);
}

static bool make_dropout(work *w)
{
    w->x[0] = work_random(EG_SHAPE(INT("n")), -0.5, 0.5);
    w->f1 = dropout;
    w->step = step_f1;
    return w->x[0];
}

static int64_t step_uniform(work *w)
{
    eg_scope scope = eg_scope_push();
    return work_done(scope, eg_uniform(EG_SHAPE(INT("n")), 0, 1, EG_F32));
}

static bool make_uniform(work *w)
{
    w->step = step_uniform;
    return true;
}

static int64_t step_normal(work *w)
{
    eg_scope scope = eg_scope_push();
    return work_done(scope, eg_normal(EG_SHAPE(INT("n")), 0, 1, EG_F32));
}

static bool make_normal(work *w)
{
    w->step = step_normal;
    return true;
}

static eg_tensor *lookup(eg_tensor *table, eg_tensor *ids)
{
    return eg_embedding(table, ids);
}

static bool make_embedding(work *w)
{
    int64_t vocab = INT("vocab");
    w->x[0] = work_random(EG_SHAPE(vocab, INT("width")), -0.5, 0.5);
    w->x[1] = work_indices(INT("ids"), vocab);
    w->f2 = lookup;
    w->step = step_f2;
    if (!w->x[0] || !w->x[1] || bench_is(w->c, "dir", "fwd")) {
        return w->x[0] && w->x[1];
    }
    return work_watch(w, 1) && work_walk(w, lookup(w->x[0], w->x[1]));
}

static int64_t step_index_add(work *w)
{
    eg_scope scope = eg_scope_push();
    return work_done(scope, eg_index_add(w->x[0], 0, w->x[1], w->x[2]));
}

static bool make_index_add(work *w)
{
    w->x[0] = work_random(EG_SHAPE(INT("rows"), INT("cols")), -0.5, 0.5);
    w->x[1] = work_indices(INT("ids"), INT("rows"));
    w->x[2] = work_random(EG_SHAPE(INT("ids"), INT("cols")), -0.5, 0.5);
    w->step = step_index_add;
    return w->x[0] && w->x[1] && w->x[2];
}

static int64_t step_sort(work *w)
{
    eg_scope scope = eg_scope_push();
    eg_tensor *values, *indices;
    eg_status status = eg_sort(w->x[0], 1, false, &values, &indices);
    eg_scope_pop(scope, NULL);
    return status == EG_OK ? 2 * eg_numel(w->x[0]) : -1;
}

static bool make_sort(work *w)
{
    w->x[0] = work_random(EG_SHAPE(INT("rows"), INT("cols")), -0.5, 0.5);
    w->step = step_sort;
    return w->x[0];
}

static int64_t step_fft(work *w)
{
    eg_scope scope = eg_scope_push();
    return work_done(scope, eg_fft(w->x[0]));
}

static bool make_fft(work *w)
{
    w->x[0] = work_random(EG_SHAPE(INT("rows"), INT("cols"), 2), -0.5, 0.5);
    w->step = step_fft;
    return w->x[0];
}

static int64_t step_rfft(work *w)
{
    eg_scope scope = eg_scope_push();
    return work_done(scope, eg_rfft(w->x[0]));
}

static bool make_rfft(work *w)
{
    w->x[0] = work_random(EG_SHAPE(INT("rows"), INT("cols")), -0.5, 0.5);
    w->step = step_rfft;
    return w->x[0];
}

static int64_t step_copy(work *w)
{
    eg_scope scope = eg_scope_push();
    return work_done(scope, eg_copy_(w->x[1], w->x[0]));
}

/* A part of random numbers, over and over: the whole may be larger than the host's memory. */
static bool make_copy(work *w)
{
    int64_t parts = (INT("n") >> 24) + 1;
    while (INT("n") % parts) {
        parts++;
    }
    const int64_t each = INT("n") / parts;
    w->x[0] = eg_empty(EG_SHAPE(parts, each), EG_F32);
    w->x[1] = eg_zeros(EG_SHAPE(parts, each), EG_F32);
    w->step = step_copy;
    return eg_copy_(w->x[0], work_random(EG_SHAPE(each), -0.5, 0.5)) && w->x[1];
}

static int64_t step_concat(work *w)
{
    eg_scope scope = eg_scope_push();
    return work_done(scope, eg_concat(w->x, 2, (int)INT("axis")));
}

static bool make_concat(work *w)
{
    w->x[0] = work_random(EG_SHAPE(INT("rows"), INT("cols")), -0.5, 0.5);
    w->x[1] = work_random(EG_SHAPE(INT("rows"), INT("cols")), -0.5, 0.5);
    w->step = step_concat;
    return w->x[0] && w->x[1];
}

static eg_tensor *svd(eg_tensor *a)
{
    eg_tensor *u, *s, *vh;
    return eg_svd(a, &u, &s, &vh) ? NULL : u;
}

static eg_tensor *eigh(eg_tensor *a)
{
    eg_tensor *w, *v;
    return eg_eigh(a, &w, &v) ? NULL : v;
}

/* Of b matrices of n rows: f, for solve with one right-hand side each. */
static bool make_matrices(work *w)
{
    static const named_op ops[] = {{"det", eg_det, NULL},
                                   {"inverse", eg_inverse, NULL},
                                   {"svd", svd, NULL},
                                   {"eigh", eigh, NULL},
                                   {"solve", NULL, eg_solve}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (bench_is(w->c, "f", ops[i].name)) {
            w->f1 = ops[i].f1;
            w->f2 = ops[i].f2;
        }
    }
    w->x[0] = work_random(EG_SHAPE(INT("b"), INT("n"), INT("n")), -0.5, 0.5);
    w->x[1] = work_random(EG_SHAPE(INT("b"), INT("n"), 1), -0.5, 0.5);
    w->step = w->f1 ? step_f1 : step_f2;
    return w->x[0] && w->x[1] && (w->f1 || w->f2);
}

const work_op work_basic[] = {
    {"matmul", make_matmul},
    {"unary", make_unary},
    {"binary", make_binary},
    {"bias", make_bias},
    {"cast", make_cast},
    {"reduce", make_reduce},
    {"transpose", make_transpose},
    {"nhwc", make_nhwc},
    {"every_second", make_every_second},
    {"dropout", make_dropout},
    {"uniform", make_uniform},
    {"normal", make_normal},
    {"cumsum", make_cumsum},
    {"softmax", make_softmax},
    {"log_softmax", make_log_softmax},
    {"embedding", make_embedding},
    {"concat", make_concat},
    {"index_add", make_index_add},
    {"sort", make_sort},
    {"copy", make_copy},
    {"matrices", make_matrices},
    {"fft", make_fft},
    {"rfft", make_rfft},
    {NULL, NULL},
};
