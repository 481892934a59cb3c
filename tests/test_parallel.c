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

typedef enum how { MINIMIZED, GATHERED, IN_HAND, HOW_COUNT } how;

/* What is trained. */
typedef struct plan {
    eg_optim *(*make)(eg_parameters p);
    eg_dtype dtype;
    int zero;
    how how;
    double clip;
    int64_t bucket;
} plan;

/* What came of it. */
typedef struct result {
    double p[NUMBERS], average[NUMBERS], norm, loss[STEPS];
} result;

static eg_tensor *numbers(eg_shape shape, eg_dtype dtype, double from)
{
    double v[ROWS * IN];
    int64_t n = 1;
    for (int d = 0; d < shape.ndim; d++) {
        n *= shape.dim[d];
    }
    for (int64_t i = 0; i < n; i++) {
        v[i] = sin(from + 1.7 * (double)i);
    }
    return eg_from_values(shape, dtype, v);
}

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

static eg_status step_of(eg_optim *o, net *m, const plan *p, int step, int64_t first, int64_t end, double share,
                         double *loss)
{
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
    st = st ? st : eg_optim_clip_norm(o, p->clip);
    st = st || !comm ? st : eg_optim_parallel(o, comm, .zero = p->zero, .bucket = p->bucket, .check_every = 2);
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

static double apart(const double *a, const double *b, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        const double d = fabs(a[i] - b[i]) / (1 + fabs(b[i]));
        most = d > most || isnan(d) ? d : most;
    }
    return most;
}

/* ---- as one -------------------------------------------------------------------------------------- */

static const plan *now;
static double tolerance;

static void train_and_compare(rank *r)
{
    static _Thread_local result one, mine;
    RANK_CHECK(!train(NULL, 0, r->n, now, 0, STEPS, NULL, NULL, &one));
    RANK_CHECK(!train(r->comm, r->i, r->n, now, 0, STEPS, NULL, NULL, &mine));
    RANK_CHECK(apart(mine.p, one.p, NUMBERS) <= tolerance);
    RANK_CHECK(apart(mine.average, one.average, NUMBERS) <= tolerance);
    RANK_CHECK(apart(&mine.norm, &one.norm, 1) <= tolerance);
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
    EGT_REFUSED(eg_optim_parallel(lbfgs, two), EG_ESTATE, "function");
    EGT_OK(eg_optim_parallel(adam, alone, .zero = 2));
    eg_optim_free(adam);
    eg_optim_free(lazy);
    eg_optim_free(lbfgs);
    eg_comm_free(two);
    eg_comm_free(alone);
    net_free(&m);
}

/* ---- batch norm over all ranks ----------------------------------------------------------------------------- */

enum { CHANNELS = 3, PLACES = 4 };

/* A net with two of them, which learns on rows first..end-1; its parameters, running numbers and one gradient of x. */
static eg_status normed(eg_comm *comm, int64_t first, int64_t end, bool relu, double *to)
{
    eg_seed(5);
    eg_module *m = eg_sequential_new(eg_conv2d_new(CHANNELS, CHANNELS, .kernel = 1),
                                     eg_batch_norm_new(CHANNELS, .relu = relu), eg_batch_norm_new(CHANNELS));
    eg_status st = m ? eg_module_to(m, EG_F64) : eg_last_error()->code;
    eg_optim *o = st ? NULL : eg_sgd_new(eg_module_parameters(m), .lr = 0.1, .momentum = 0.9);
    st = st || !comm ? st : eg_sync_batch_norm(m, comm);
    st = st || !comm ? st : eg_optim_parallel(o, comm, .bucket = 1);
    for (int s = 0; s < 3 && !st; s++) {
        EG_SCOPE {
            eg_tensor *x = eg_reshape(numbers(EG_SHAPE(8 * CHANNELS * PLACES), EG_F64, s), EG_SHAPE(8, CHANNELS, 2, 2));
            eg_tensor *own = eg_slice(x, 0, first, end, 1);
            eg_tape tape = eg_tape_open();
            eg_tensor *y = eg_module_forward(m, eg_add_scalar(own, 10));
            eg_tensor *t = eg_slice(eg_cos(eg_mul_scalar(x, 3)), 0, first, end, 1);
            st = eg_optim_minimize(o, tape, eg_mean(eg_square(eg_sub(y, t))));
        }
    }
    eg_tensors *state = st ? NULL : eg_module_state(m);
    for (int64_t i = 0; i < eg_tensors_count(state) && !st; i++) {
        eg_tensor *t = eg_tensors_at(state, i);
        st = eg_to_values(t, to);
        to += eg_numel(t);
    }
    eg_tensors_free(state);
    eg_optim_free(o);
    eg_module_free(m);
    return st;
}

enum { NORMED = CHANNELS * CHANNELS + CHANNELS + 2 * (4 * CHANNELS + 1) };

static void norms_as_one(rank *r)
{
    for (int relu = 0; relu < 2; relu++) {
        double one[NORMED], mine[NORMED];
        RANK_CHECK(!normed(NULL, 0, 8, relu, one));
        RANK_CHECK(!normed(r->comm, 8 * r->i / r->n, 8 * (r->i + 1) / r->n, relu, mine));
        RANK_CHECK(apart(mine, one, NORMED) <= 1e-12);
    }
}

EGT(norms_of_all_ranks)
{
    for (int n = 1; n <= 8; n *= 2) {
        on_ranks(n, 20, norms_as_one);
    }
}

/* Forwards with batches of different sizes, one of them empty; and a second derivative, which goes over ranks as well.
 */
static void uneven(rank *r)
{
    static const int64_t ends[] = {0, 5, 5, 8};
    eg_module *norm = eg_batch_norm_new(CHANNELS);
    RANK_CHECK(norm && !eg_module_to(norm, EG_F64) && !eg_sync_batch_norm(norm, r->comm));
    EG_SCOPE {
        eg_tensor *x = numbers(EG_SHAPE(8, CHANNELS), EG_F64, 1), *dx, *g;
        eg_tensor *want =
            eg_slice(eg_batch_norm(x, NULL, NULL, NULL, NULL, .training = true), 0, ends[r->i], ends[r->i + 1], 1);
        eg_tensor *own = eg_copy(eg_slice(x, 0, ends[r->i], ends[r->i + 1], 1));
        RANK_CHECK(egt_distance(eg_module_forward(norm, own), want) < 1e-12);
        eg_tape outer = eg_tape_open();
        eg_tape_watch(outer, own);
        eg_tape inner = eg_tape_open();
        RANK_CHECK(!eg_tape_gradients(inner, eg_sum(eg_exp(eg_module_forward(norm, own))), &own, 1, &dx));
        RANK_CHECK(!eg_tape_gradients(outer, eg_sum(eg_square(dx)), &own, 1, &g));
        RANK_CHECK(eg_numel(g) == eg_numel(own));
    }
    eg_module_free(norm);
}

EGT(norms_of_uneven_batches)
{
    on_ranks(3, 20, uneven);
}

/* ---- layers whose parameters are shared out -------------------------------------------------------------- */

enum { LAYERS = 3, OF_LAYERS = 5 * 9 + 9 + 9 * 9 + 9 + 9 * 2 + 2 };

/* A net of layers, each a shard of comm, unless that is NULL; the weights, as one vector, when it has learned; and the
 * whole states of net and optimizer in `maps`, from which it begins if they are there. */
static eg_status learn_in_shards(eg_comm *comm, int i, int n, int from, int to, eg_tensors **maps, double *weights)
{
    static const int64_t sizes[LAYERS + 1] = {IN, 9, 9, 2};
    eg_module *layers[LAYERS];
    eg_seed(11);
    for (int k = 0; k < LAYERS; k++) {
        layers[k] = eg_sequential_new(eg_linear_new(sizes[k], sizes[k + 1]), eg_activation_new(eg_tanh));
        eg_status st = eg_module_to(layers[k], EG_F64);
        layers[k] = comm && !st ? eg_shard_new(layers[k], comm) : layers[k];
    }
    eg_module *all = eg_sequential_new_with(layers, LAYERS);
    eg_optim *o = all ? eg_adam_new(eg_module_parameters(all), .lr = 0.05) : NULL;
    eg_status st = o ? eg_optim_clip_norm(o, 0.2) : eg_last_error()->code;
    st = st || !comm ? st : eg_optim_parallel(o, comm, .zero = 3, .check_every = 1);
    if (maps && maps[0] && !st) {
        st = eg_shards_load_state(all, maps[0]);
        st = st ? st : eg_optim_load_state(o, maps[1]);
    }
    for (int s = from; s < to && !st; s++) {
        EG_SCOPE {
            eg_tensor *x = eg_slice(numbers(EG_SHAPE(ROWS, IN), EG_F64, s), 0, ROWS * i / n, ROWS * (i + 1) / n, 1);
            eg_tensor *t =
                eg_slice(numbers(EG_SHAPE(ROWS, 2), EG_F64, s + 0.5), 0, ROWS * i / n, ROWS * (i + 1) / n, 1);
            eg_tape tape = eg_tape_open();
            st = eg_optim_minimize(o, tape, eg_mean(eg_square(eg_sub(eg_module_forward(all, x), t))));
        }
    }
    eg_tensors *state = st ? NULL : eg_shards_state(all);
    for (int64_t k = 0; k < eg_tensors_count(state) && !st; k++) {
        EG_SCOPE {
            eg_tensor *t = eg_tensors_at(state, k);
            const int64_t own = comm ? sizes[k] * sizes[k + 1] + sizes[k + 1] : eg_numel(t);
            st = eg_to_values(eg_slice(eg_flatten(eg_detach(t), 0, -1), 0, 0, own, 1), weights);
            weights += own;
        }
    }
    if (maps && !maps[0] && !st) {
        maps[0] = state;
        maps[1] = eg_optim_state(o);
        st = maps[1] ? EG_OK : eg_last_error()->code;
    } else {
        eg_tensors_free(state);
    }
    eg_optim_free(o);
    eg_module_free(all);
    return st;
}

static void shards_as_one(rank *r)
{
    double one[OF_LAYERS], mine[OF_LAYERS];
    RANK_CHECK(!learn_in_shards(NULL, 0, 1, 0, 4, NULL, one));
    RANK_CHECK(!learn_in_shards(r->comm, r->i, r->n, 0, 4, NULL, mine));
    RANK_CHECK(apart(mine, one, OF_LAYERS) <= 1e-12);
}

EGT(layers_in_shards)
{
    for (int n = 1; n <= 8; n *= 2) {
        on_ranks(n, 20, shards_as_one);
    }
    on_ranks(3, 20, shards_as_one);
}

static eg_tensors *halfway[2];

static void first_shards(rank *r)
{
    double mine[OF_LAYERS];
    eg_tensors *maps[2] = {NULL, NULL};
    RANK_CHECK(!learn_in_shards(r->comm, r->i, r->n, 0, 2, maps, mine));
    for (int k = 0; k < 2; k++) {
        if (r->i == 0) {
            halfway[k] = maps[k];
        } else {
            eg_tensors_free(maps[k]);
        }
    }
}

static void other_shards(rank *r)
{
    double one[OF_LAYERS], mine[OF_LAYERS];
    RANK_CHECK(!learn_in_shards(NULL, 0, 1, 0, 4, NULL, one));
    RANK_CHECK(!learn_in_shards(r->comm, r->i, r->n, 2, 4, halfway, mine));
    RANK_CHECK(apart(mine, one, OF_LAYERS) <= 1e-12);
}

EGT(shards_of_other_ranks)
{
    static const int counts[][2] = {{4, 2}, {1, 3}, {3, 8}};
    for (int k = 0; k < 3 && !getenv("EGT_MPI"); k++) {
        on_ranks(counts[k][0], 20, first_shards);
        on_ranks(counts[k][1], 20, other_shards);
        eg_tensors_free(halfway[0]);
        eg_tensors_free(halfway[1]);
    }
}

EGT(shards_refused)
{
    eg_comm *seven = eg_comm_threads_new(7), *two = eg_comm_threads_new(2);
    EGT_REFUSED(eg_shard_new(eg_linear_new(2, 2), seven), EG_EINVAL, "7 ranks");
    EGT_REFUSED(eg_shard_new(eg_batch_norm_new(2), two), EG_EINVAL, "running_mean");
    EGT_REFUSED(eg_shard_new(eg_activation_new(eg_relu), two), EG_EINVAL, "no parameters");
    EGT_REFUSED(eg_shard_new(NULL, two), EG_EINVAL, "body");
    EGT_REFUSED(eg_shard_new(eg_linear_new(2, 2), NULL), EG_EINVAL, "comm");
    eg_comm_free(seven);
    eg_comm_free(two);
}
