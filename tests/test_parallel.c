/* test_parallel.c - optimizers of several ranks: n ranks train as one, whatever is shared out among them. */
#define _DEFAULT_SOURCE
#include <math.h>

#include "tests/optimizers.h"
#include "tests/ranks.h"

enum { ROWS = 24, IN = 5, HIDDEN = 7, OUT = 3, PARAMETERS = 6, STEPS = 5, NUMBERS = 5 * 7 + 7 + 7 * 3 + 3 + 4 + 2 };

/* ---- a small net --------------------------------------------------------------------------------- */

/* Of these, `some` is used by rank 0 alone and `none` by nobody. */
typedef struct net {
    eg_tensor *p[PARAMETERS];
} net;
static const char *const names[PARAMETERS] = {"w1", "b1", "w2", "b2", "some", "none"};

typedef enum how { MINIMIZED, GATHERED, IN_HAND, HOW_COUNT, ASKED } how; /* ASKED: by rules that need the function */

/* What is trained. */
typedef struct plan {
    eg_optim *(*make)(eg_parameters p);
    eg_dtype dtype;
    int zero;
    how how;
    double clip;
    int64_t bucket;
    double density; /* of kernels from the third step on; 0: they are not pruned */
} plan;

/* What came of it. */
typedef struct result {
    double p[NUMBERS], average[NUMBERS], norm, loss[STEPS];
} result;

static bool net_new(net *m, eg_dtype dtype)
{
    const eg_shape shapes[PARAMETERS] = {EG_SHAPE(IN, HIDDEN), EG_SHAPE(HIDDEN), EG_SHAPE(HIDDEN, OUT),
                                         EG_SHAPE(OUT),        EG_SHAPE(4),      EG_SHAPE(2)};
    bool good = true;
    EG_SCOPE {
        for (int i = 0; i < PARAMETERS; i++) {
            m->p[i] = eg_parameter(numbers(shapes[i], dtype, i));
            good = good && m->p[i];
        }
    }
    return good;
}

static void net_free(net *m)
{
    for (int i = 0; i < PARAMETERS; i++) {
        eg_release(m->p[i]);
    }
}

static eg_parameters parameters(net *m)
{
    return (eg_parameters){m->p, names, PARAMETERS};
}

/* Of rows first..end-1 at that step; share: of `some`. */
static eg_tensor *loss_of(net *m, int step, int64_t first, int64_t end, double share)
{
    eg_dtype dtype = eg_dtype_of(m->p[0]) == EG_F64 ? EG_F64 : EG_F32;
    eg_tensor *x = eg_slice(numbers(EG_SHAPE(ROWS, IN), dtype, step), 0, first, end, 1);
    eg_tensor *t = eg_slice(numbers(EG_SHAPE(ROWS, OUT), dtype, step + 0.5), 0, first, end, 1);
    eg_tensor *w[PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++) {
        w[i] = eg_cast(m->p[i], dtype);
    }
    eg_tensor *y = eg_add(eg_matmul(eg_tanh(eg_add(eg_matmul(x, w[0]), w[1])), w[2]), w[3]);
    eg_tensor *loss = eg_mean(eg_square(eg_sub(y, t)));
    return share > 0 ? eg_add(loss, eg_mul_scalar(eg_sum(eg_square(w[4])), share)) : loss;
}

/* A step's loss, for rules that ask for it. */
typedef struct asked {
    net *m;
    int step;
    int64_t first, end;
    double share;
} asked;

static eg_tensor *asked_loss(void *user)
{
    const asked *a = user;
    return loss_of(a->m, a->step, a->first, a->end, a->share);
}

static eg_status step_of(eg_optim *o, net *m, const plan *p, int step, int64_t first, int64_t end, double share,
                         double *loss)
{
    if (p->how == ASKED) {
        eg_tensor *y = eg_optim_minimize_function(o, asked_loss, &(asked){m, step, first, end, share});
        *loss = y ? eg_item(y) : 0;
        return y ? EG_OK : eg_last_error()->code;
    }
    eg_tape tape = eg_tape_open();
    eg_tensor *y = loss_of(m, step, first, end, share), *g[PARAMETERS];
    *loss = eg_item(y);
    if (p->how == MINIMIZED) {
        return eg_optim_minimize(o, tape, y);
    }
    if (p->how == IN_HAND) {
        eg_status st = eg_tape_gradients(tape, y, m->p, PARAMETERS, g, .null_unconnected = true);
        return st ? st : eg_optim_step(o, g);
    }
    eg_status st = eg_optim_backward(o, tape, y);
    tape = eg_tape_open();
    st = st ? st : eg_optim_backward(o, tape, loss_of(m, step + 100, first, end, share));
    return st ? st : eg_optim_update(o);
}

static eg_status values_of(eg_tensor *const *t, double *to)
{
    eg_status st = EG_OK;
    for (int i = 0; i < PARAMETERS && !st; i++) {
        st = eg_to_values(t[i], to);
        to += eg_numel(t[i]);
    }
    return st;
}

/* The run of rank i of n; comm NULL: of all of them. `at` is where it begins and ends; maps: what it begins from, or
 * leaves, NULL: nothing. */
static eg_status train(eg_comm *comm, int i, int n, const plan *p, int from, int to, const eg_tensors *begin,
                       eg_tensors **end, result *out)
{
    net m;
    const int64_t first = comm ? ROWS * i / n : 0, last = comm ? ROWS * (i + 1) / n : ROWS;
    const double share = !comm ? 1.0 / n : i == 0 ? 1 : 0;
    eg_status st = net_new(&m, p->dtype) ? EG_OK : eg_last_error()->code;
    for (int k = 0; k < PARAMETERS && begin && !st; k++) {
        st = eg_copy_(m.p[k], eg_tensors_get(begin, names[k])) ? EG_OK : eg_last_error()->code;
    }
    eg_optim *o = st ? NULL : p->make(parameters(&m));
    eg_ema *ema = o ? eg_ema_new(parameters(&m), .decay = 0.5) : NULL;
    st = st || ema ? st : eg_last_error()->code;
    st = st || p->how == ASKED ? st : eg_optim_clip_norm(o, p->clip);
    st = st || !comm ? st : eg_optim_parallel(o, comm, .zero = p->zero, .bucket = p->bucket, .check_every = 2);
    st = st || p->density == 0 ? st : eg_optim_prune(o, NULL, .density = p->density, .begin = 2, .global = true);
    if (begin && !st) {
        eg_tensors *map = eg_tensors_new();
        for (int k = 0; k < eg_tensors_count(begin) && !st; k++) {
            const char *name = eg_tensors_name(begin, k);
            st = strncmp(name, "o/", 2) ? EG_OK : eg_tensors_set(map, name + 2, eg_tensors_get(begin, name));
        }
        st = st ? st : eg_optim_load_state(o, map);
        eg_tensors_free(map);
    }
    for (int s = from; s < to && !st; s++) {
        EG_SCOPE {
            st = step_of(o, &m, p, s, first, last, share, &out->loss[s]);
            st = st ? st : eg_ema_update(ema);
        }
    }
    out->norm = o && p->clip > 0 ? eg_optim_grad_norm(o) : 0;
    if (end && !st) {
        eg_tensors *map = eg_optim_state(o);
        *end = map ? eg_tensors_new() : NULL;
        for (int k = 0; *end && k < eg_tensors_count(map) && !st; k++) {
            char name[64];
            snprintf(name, sizeof name, "o/%s", eg_tensors_name(map, k));
            EG_SCOPE {
                st = eg_tensors_set(*end, name, eg_copy(eg_tensors_get(map, eg_tensors_name(map, k))));
            }
        }
        for (int k = 0; *end && k < PARAMETERS && !st; k++) {
            st = eg_tensors_set(*end, names[k], m.p[k]);
        }
        eg_tensors_free(map);
        st = st || *end ? st : eg_last_error()->code;
    }
    st = st ? st : values_of(m.p, out->p);
    st = st ? st : eg_ema_swap(ema);
    st = st ? st : values_of(m.p, out->average);
    eg_ema_free(ema);
    eg_optim_free(o);
    net_free(&m);
    return st;
}

/* ---- as one -------------------------------------------------------------------------------------- */

static const plan *now;
static double tolerance;

/* How many elements of both kernels are not zero. */
static int left_of(const result *r)
{
    int left = 0;
    for (int i = 0; i < HIDDEN * (IN + OUT); i++) {
        left += r->p[i < IN * HIDDEN ? i : i + HIDDEN] != 0; /* a bias is between them */
    }
    return left;
}

static void train_and_compare(rank *r)
{
    static _Thread_local result one, mine;
    RANK_CHECK(!train(NULL, 0, r->n, now, 0, STEPS, NULL, NULL, &one));
    RANK_CHECK(!train(r->comm, r->i, r->n, now, 0, STEPS, NULL, NULL, &mine));
    RANK_CHECK(apart(mine.p, one.p, NUMBERS) <= tolerance);
    RANK_CHECK(apart(mine.average, one.average, NUMBERS) <= tolerance);
    RANK_CHECK(apart(&mine.norm, &one.norm, 1) <= tolerance);
    RANK_CHECK(now->density == 0 || left_of(&mine) == (int)(now->density * (IN * HIDDEN + HIDDEN * OUT) + 0.5));
}

#define MAKER(name, op, form, made)               \
    static eg_optim *make_##name(eg_parameters p) \
    {                                             \
        return made;                              \
    }
OPTIMIZERS(MAKER)

#define LISTED(name, op, form, made) {#name, make_##name},
static const struct rule {
    const char *name;
    eg_optim *(*make)(eg_parameters p);
} rules[] = {OPTIMIZERS(LISTED)};

/* Every rule, and nothing, states and gradients shared out. */
EGT(every_rule)
{
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        for (int zero = 0; zero <= 2; zero++) {
            const plan p = {.make = rules[k].make, .dtype = EG_F64, .zero = zero, .clip = 0.5, .bucket = 100};
            now = &p;
            tolerance = 1e-12;
            on_ranks(3, 20, train_and_compare);
        }
    }
}

/* What has been pruned stays so on all ranks, and all prune alike. */
EGT(pruned_alike)
{
    for (int zero = 0; zero <= 2; zero++) {
        for (int h = 0; h < HOW_COUNT; h++) {
            const plan p = {.make = h == IN_HAND ? make_momentum : make_adam,
                            .dtype = EG_F64,
                            .zero = zero,
                            .how = h,
                            .clip = 0.3,
                            .bucket = 100,
                            .density = 0.4};
            now = &p;
            tolerance = 1e-12;
            on_ranks(3, 20, train_and_compare);
        }
    }
}

EGT(any_number_of_ranks)
{
    static const int counts[] = {1, 2, 4, 8};
    static const int64_t buckets[] = {1, 300, 0};
    for (int k = 0; k < 4; k++) {
        for (int b = 0; b < 3; b++) {
            for (int zero = 0; zero <= 2; zero++) {
                for (int h = 0; h < HOW_COUNT; h++) {
                    const plan p = {.make = b == 1 ? make_momentum : make_adam,
                                    .dtype = EG_F64,
                                    .zero = zero,
                                    .how = h,
                                    .clip = b == 2 ? 0 : 0.3,
                                    .bucket = buckets[b]};
                    now = &p;
                    tolerance = 1e-12;
                    on_ranks(counts[k], 20, train_and_compare);
                }
            }
        }
    }
}

static eg_optim *make_lbfgs(eg_parameters p)
{
    return eg_lbfgs_new(p, .max_iter = 4, .strong_wolfe = true);
}

static eg_optim *make_lbfgs_straight(eg_parameters p)
{
    return eg_lbfgs_new(p, .max_iter = 3, .lr = 0.3);
}

/* The loss is everybody's: all look as far, and as often. */
EGT(rules_that_ask_for_the_loss)
{
    for (int n = 2; n <= 4; n++) {
        for (int k = 0; k < 2; k++) {
            const plan p = {.make = k ? make_lbfgs : make_lbfgs_straight, .dtype = EG_F64, .how = ASKED, .bucket = 100};
            now = &p;
            tolerance = 1e-10;
            on_ranks(n, 20, train_and_compare);
        }
    }
}

/* In f32 as far as sums in another order go, in halves as far as one rounding goes. */
EGT(other_precisions)
{
    static const struct {
        eg_dtype dtype;
        double most;
    } of[] = {{EG_F32, 2e-5}, {EG_F16, 2e-3}, {EG_BF16, 2e-2}};
    for (int k = 0; k < 3; k++) {
        for (int zero = 0; zero <= 2; zero++) {
            const plan p = {.make = make_momentum, .dtype = of[k].dtype, .zero = zero, .clip = 1, .bucket = 50};
            now = &p;
            tolerance = of[k].most;
            on_ranks(4, 20, train_and_compare);
        }
    }
}

/* ---- what was saved by some is loaded by others ------------------------------------------------------ */

static eg_tensors *saved; /* of the first half */

static void first_half(rank *r)
{
    result mine;
    eg_tensors *end = NULL;
    RANK_CHECK(!train(r->comm, r->i, r->n, now, 0, 2, NULL, &end, &mine));
    if (r->i == 0) {
        saved = end;
    } else {
        eg_tensors_free(end);
    }
}

static void second_half(rank *r)
{
    result mine, one;
    RANK_CHECK(!train(r->comm, r->i, r->n, now, 2, STEPS, saved, NULL, &mine));
    RANK_CHECK(!train(NULL, 0, r->n, now, 0, STEPS, NULL, NULL, &one));
    RANK_CHECK(apart(mine.p, one.p, NUMBERS - 6) <= 1e-12); /* the last two depend on the number of ranks */
}

EGT(states_of_other_ranks)
{
    static const int counts[][2] = {{4, 2}, {1, 3}, {3, 1}, {2, 8}};

    if (getenv("EGT_MPI")) {
        return;
    }
    for (int k = 0; k < 4; k++) {
        for (int zero = 0; zero <= 2; zero++) {
            const plan before = {.make = make_adam, .dtype = EG_F64, .zero = zero, .bucket = 100};
            const plan after = {.make = make_adam, .dtype = EG_F64, .zero = 2 - zero, .bucket = 200};
            now = &before;
            on_ranks(counts[k][0], 20, first_half);
            now = &after;
            on_ranks(counts[k][1], 20, second_half);
            eg_tensors_free(saved);
        }
    }
}

/* ---- losses are scaled: all skip the same steps -------------------------------------------------------- */

static void scaled(rank *r)
{
    net m;
    RANK_CHECK(net_new(&m, EG_F32));
    eg_optim *o = eg_adam_new(parameters(&m));
    eg_scaler *scaler = eg_scaler_new(.start = 1024);
    RANK_CHECK(!eg_optim_parallel(o, r->comm, .zero = r->n % 3));
    for (int s = 0; s < 6; s++) {
        EG_SCOPE {
            const double bad = s == 2 && r->i == 1 ? (double)INFINITY : 1; /* on one rank alone */
            eg_tape tape = eg_tape_open();
            eg_tensor *loss = eg_mul_scalar(loss_of(&m, s, 0, 4, 0), bad);
            RANK_CHECK(!eg_scaler_minimize(scaler, o, tape, loss));
        }
    }
    RANK_CHECK(eg_scaler_skipped(scaler) == 1 && eg_scaler_scale(scaler) == 512);
    RANK_CHECK(eg_optim_steps(o) == 5);
    eg_scaler_free(scaler);
    eg_optim_free(o);
    net_free(&m);
}

EGT(skipped_steps)
{
    for (int n = 2; n <= 4; n++) {
        on_ranks(n, 20, scaled);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------ */

enum { LAYERS = 24, WIDTH = 512 };
static int zero_level;

/* Three Adam steps of a chain of linear layers: 24 MiB of gradients in buckets of 64 KiB. */
static void deep_steps(rank *r)
{
    eg_tensor *w[LAYERS];
    for (int i = 0; i < LAYERS; i++) {
        EG_SCOPE {
            w[i] = eg_parameter(eg_mul_scalar(eg_eye(WIDTH, WIDTH, 0, EG_F32), 0.9));
        }
        RANK_CHECK(w[i]);
    }
    const eg_parameters all = {w, NULL, LAYERS};
    eg_optim *adam = eg_adam_new(all);
    RANK_CHECK(!eg_optim_parallel(adam, r->comm, .zero = zero_level, .bucket = 64 << 10));
    for (int s = 0; s < 3; s++) {
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            eg_tensor *x = eg_full(EG_SHAPE(2, WIDTH), r->i + 1, EG_F32);
            for (int i = 0; i < LAYERS; i++) {
                x = eg_matmul(x, w[i]);
            }
            RANK_CHECK(!eg_optim_minimize(adam, tape, eg_mean(eg_square(x))));
        }
    }
    eg_optim_free(adam);
    for (int i = 0; i < LAYERS; i++) {
        eg_release(w[i]);
    }
}

/* Per rank: 24 MiB of parameters and 48 MiB of states without sharding. With 4 ranks sharding states saves 36 MiB per
 * rank and sharding gradients 18 MiB more; the allocator reserves memory in units of 32 MiB. */
EGT(zero_levels_use_less_memory)
{
    const int64_t gradients = (int64_t)LAYERS * WIDTH * WIDTH * 4, ranks = 4;
    int64_t peak[3];
    if (getenv("EGT_MPI") || getenv("EGT_NCCL")) {
        egt_skip("peak memory is measured with ranks of one process on the CPU");
    }
    for (zero_level = 0; zero_level < 3; zero_level++) {
        eg_memory_trim();
        eg_memory_reset_peak();
        const int64_t before = eg_memory_stats().reserved_bytes;
        on_ranks((int)ranks, 20, deep_steps);
        peak[zero_level] = eg_memory_stats().peak_bytes - before;
    }
    EGT_CHECK(peak[0] - peak[1] > ranks * gradients);
    EGT_CHECK(peak[1] - peak[2] > ranks * gradients / 2);
}

/* ---- failures ---------------------------------------------------------------------------------------- */

static void different(rank *r)
{
    net m;
    RANK_CHECK(net_new(&m, EG_F32));
    RANK_CHECK(r->i != 1 || !eg_set(m.p[2], 3, 7));
    eg_optim *o = eg_adam_new(parameters(&m));
    RANK_CHECK(eg_optim_parallel(o, r->comm) == EG_ESTATE);
    RANK_CHECK(strstr(eg_last_error()->message, "\"w2\" of rank 1"));
    RANK_CHECK(!eg_comm_broadcast(r->comm, m.p, PARAMETERS - 1, 0));
    RANK_CHECK(!eg_optim_parallel(o, r->comm, .check_every = 1));
    RANK_CHECK(eg_optim_parallel(o, r->comm) == EG_ESTATE); /* it is */
    RANK_CHECK(r->i != 2 || !eg_set(m.p[3], 0, 7));
    EG_SCOPE {
        eg_tape tape = eg_tape_open();
        RANK_CHECK(eg_optim_minimize(o, tape, loss_of(&m, 0, 0, 4, 0)) == EG_ESTATE);
        RANK_CHECK(strstr(eg_last_error()->message, "\"b2\" of rank 2"));
    }
    eg_optim_free(o);
    net_free(&m);
}

EGT(parameters_that_differ)
{
    on_ranks(3, 20, different);
}

/* Its gradient fails in the middle of the walk. */
static eg_tensor *same(eg_tensor *const *in, int n, void *user)
{
    (void)n;
    (void)user;
    return eg_mul_scalar(in[0], 1);
}

static eg_status fails(eg_tensor *const *in, int n, eg_tensor *y, eg_tensor *dy, unsigned needed, eg_tensor **dx,
                       void *user)
{
    (void)in;
    (void)n;
    (void)y;
    (void)needed;
    dx[0] = dy;
    return *(bool *)user ? eg_fail(EG_EUSER, "fails", "the tape tore") : EG_OK;
}

static void one_fails(rank *r)
{
    net m;
    bool now_it_does = false, failed = false; /* the others learn of it while they may yet be in the step before */
    const eg_custom_op op = {
        .size = sizeof op, .name = "fails", .forward = same, .backward = fails, .user = &now_it_does};
    RANK_CHECK(net_new(&m, EG_F32));
    eg_optim *o = eg_adam_new(parameters(&m));
    RANK_CHECK(!eg_optim_parallel(o, r->comm, .bucket = 1));
    for (int s = 0; s < 2; s++) {
        EG_SCOPE {
            now_it_does = s == 1 && r->i == 1;
            eg_tape tape = eg_tape_open();
            eg_tensor *b = eg_custom(&op, &m.p[1], 1);
            eg_tensor *loss = eg_mean(eg_square(eg_add(eg_matmul(eg_tanh(b), m.p[2]), m.p[3])));
            eg_status st = eg_optim_minimize(o, tape, loss);
            failed = failed || st;
            RANK_CHECK(st ? strstr(eg_last_error()->message, "the tape tore") != NULL : s == 0);
        }
    }
    eg_optim_free(o);
    net_free(&m);
}

EGT(one_that_fails)
{
    on_ranks(3, 20, one_fails);
}

EGT(refused)
{
    net m;
    EGT_CHECK(net_new(&m, EG_F32));
    eg_comm *two = eg_comm_threads_new(2), *alone = eg_comm_threads_new(1);
    eg_optim *adam = eg_adam_new(parameters(&m)), *lazy = eg_adam_new(parameters(&m), .lazy = true);
    eg_optim *lbfgs = eg_lbfgs_new(parameters(&m));
    EGT_REFUSED(eg_optim_parallel(NULL, two), EG_EINVAL, "optim");
    EGT_REFUSED(eg_optim_parallel(adam, NULL), EG_EINVAL, "comm");
    EGT_REFUSED(eg_optim_parallel(adam, two, .zero = 4), EG_EINVAL, "zero is 4");
    EGT_REFUSED(eg_optim_parallel(adam, two, .bucket = -1), EG_EINVAL, "bucket");
    EGT_REFUSED(eg_optim_parallel(lazy, two, .zero = 1), EG_EINVAL, "whole rows");
    EGT_REFUSED(eg_optim_parallel(lbfgs, two, .zero = 1), EG_ESTATE, "function");
    EGT_OK(eg_optim_parallel(adam, alone, .zero = 2));
    eg_optim_free(adam);
    eg_optim_free(lazy);
    eg_optim_free(lbfgs);
    eg_comm_free(two);
    eg_comm_free(alone);
    net_free(&m);
}
