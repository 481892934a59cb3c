/* test_cuda_capture.c - steps captured as graphs: the same numbers as without, what they cost, and what is done
 * where something cannot be captured. */
#define _XOPEN_SOURCE 700
#include <math.h>
#include <pthread.h>

#include <egret/step.h>

#include "tests/cuda/module.h"

enum { ROWS = 12, WIDTH = 10, CLASSES = 4 };

typedef struct trainer trainer;
struct trainer {
    eg_module *net;
    eg_optim *optim;
    eg_scaler *scaler;
    eg_ema *ema;
    eg_dtype low;
    void (*also)(trainer *t, eg_tensor *loss); /* in each step */
    eg_tensor *other;
    double seen;
};

static eg_status train(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    trainer *t = user;
    eg_tape tape = eg_tape_open();
    (void)nin;
    if (eg_autocast(t->low)) {
        return eg_last_error()->code;
    }
    eg_tensor *logits = eg_module_forward(t->net, in[0]);
    eg_tensor *loss = eg_cross_entropy(logits, in[1]);
    if (!loss) {
        return eg_last_error()->code;
    }
    if (t->also) {
        t->also(t, loss);
    }
    out[0] = loss;
    if (nout > 1) {
        out[1] = eg_slice(logits, 0, 1, 3, 1);
    }
    eg_status st =
        t->scaler ? eg_scaler_minimize(t->scaler, t->optim, tape, loss) : eg_optim_minimize(t->optim, tape, loss);
    return st || !t->ema ? st : eg_ema_update(t->ema);
}

static trainer make(eg_device *d, eg_dtype low, bool everything)
{
    trainer t = {.low = low};
    eg_seed(5);
    t.net = eg_sequential_new(eg_linear_new(WIDTH, 16), eg_batch_norm_new(16), eg_activation_new(eg_gelu),
                              eg_dropout_new(0.25), eg_linear_new(16, CLASSES));
    EGT_OK(eg_module_to_device(t.net, d));
    t.optim = eg_adam_new(eg_module_parameters(t.net), .lr = 1e-2, .weight_decay = 1e-2);
    EGT_OK(eg_optim_group(t.optim, .max_axes = 1, .lr_scale = 0.5));
    if (everything) {
        EGT_OK(eg_optim_clip_norm(t.optim, 0.5));
        EGT_OK(eg_optim_follow(t.optim, &EG_SCHEDULE(.kind = EG_RATE_COSINE, .lr = 1e-2, .steps = 40, .warm_up = 5)));
        t.ema = eg_ema_new(eg_module_parameters(t.net), .warm_up = true);
        t.scaler = eg_scaler_new(.start = 64, .interval = 3);
    }
    return t;
}

static void end(trainer *t)
{
    eg_ema_free(t->ema);
    eg_scaler_free(t->scaler);
    eg_optim_free(t->optim);
    eg_module_free(t->net);
}

/* The i-th batch, of this many rows. */
static void batch(eg_device *d, int i, int rows, eg_tensor **in)
{
    eg_random_state now = eg_random_get_state();
    eg_device *before = eg_use_device(eg_cpu());
    eg_seed(100 + (uint64_t)i);
    in[0] = eg_to(eg_normal(EG_SHAPE(rows, WIDTH), 0, 1, EG_F32), d);
    in[1] = eg_to(eg_randint(EG_SHAPE(rows), 0, CLASSES, EG_I64), d);
    eg_use_device(before);
    eg_random_set_state(now);
}

static void same_bits(eg_tensor *a, eg_tensor *b)
{
    char x[4096], y[4096];
    size_t bytes = (size_t)eg_numel(a) * eg_dtype_size(eg_dtype_of(a));
    EGT_CHECK(bytes <= sizeof x && eg_numel(b) == eg_numel(a));
    EGT_OK(eg_copy_out(eg_contiguous(a), x, bytes));
    EGT_OK(eg_copy_out(eg_contiguous(b), y, bytes));
    EGT_EQ(memcmp(x, y, bytes), 0);
}

static void same_trainers(trainer *a, trainer *b)
{
    eg_parameters p = eg_module_parameters(a->net), q = eg_module_parameters(b->net);
    for (int i = 0; i < p.count; i++) {
        same_bits(p.tensors[i], q.tensors[i]);
    }
    EGT_EQ(eg_optim_steps(a->optim), eg_optim_steps(b->optim));
    EGT_CHECK(eg_optim_rate(a->optim) == eg_optim_rate(b->optim));
}

/* Two trainers side by side, one with graphs: each step must come to the same bits. */
static eg_step_info compare(eg_device *d, trainer *a, trainer *b, int steps, int rows, int nout)
{
    eg_step *plain = eg_step_new(train, a, .device = d, .eager = true), *fast = eg_step_new(train, b, .device = d);
    eg_random_state random = {7, 0};
    for (int i = 0; i < steps; i++) {
        eg_scope s = eg_scope_push();
        eg_tensor *in[2], *x[2] = {NULL}, *y[2] = {NULL};
        batch(i % 3 ? d : eg_cpu(), i, rows + (i % 4 == 3), in);
        snprintf(egt_case, sizeof egt_case, "step %d", i);
        eg_random_set_state(random);
        EGT_OK(eg_step_run(plain, in, 2, x, nout));
        const eg_random_state after = eg_random_get_state();
        eg_random_set_state(random);
        EGT_OK(eg_step_run(fast, in, 2, y, nout));
        random = eg_random_get_state();
        EGT_CHECK(random.offset == after.offset && random.seed == after.seed);
        for (int j = 0; j < nout; j++) {
            same_bits(x[j], y[j]);
        }
        eg_scope_pop(s, NULL);
    }
    same_trainers(a, b);
    eg_step_info info = eg_step_stats(fast);
    eg_step_free(plain);
    eg_step_free(fast);
    return info;
}

EGT(graphs_compute_what_calls_do)
{
    for (int everything = 0; everything < 2; everything++) {
        for (int low = 0; low < 3; low++) {
            eg_dtype dtype = (eg_dtype[]){EG_F32, EG_BF16, EG_F16}[low];
            trainer a = make(cuda(0), dtype, everything), b = make(cuda(0), dtype, everything);
            eg_step_info info = compare(cuda(0), &a, &b, 40, ROWS, 2);
            snprintf(egt_case, sizeof egt_case, "%s: %s", info.op ? info.op : "", info.why ? info.why : "");
            EGT_CHECK(info.op == NULL);
            EGT_EQ(info.graphs, 2);
            EGT_CHECK(info.replays >= 30);
            EGT_EQ(info.calls + info.replays, 40);
            end(&a);
            end(&b);
        }
    }
}

EGT(a_warm_step_is_one_launch)
{
    trainer t = make(emulated(0), EG_F32, true);
    eg_step *step = eg_step_new(train, &t, .device = cuda(0));
    eg_tensor *in[2], *loss;
    batch(cuda(0), 0, ROWS, in);
    for (int i = 0; i < 20; i++) {
        if (i == 5) {
            FAKE(eg_fake_zero)();
        }
        EGT_OK(eg_step_run(step, in, 2, &loss, 1));
    }
    eg_fake_counts c = FAKE(eg_fake_read)();
    snprintf(egt_case, sizeof egt_case, "%lld waits", (long long)c.syncs);
    EGT_EQ(c.graph_launches, 15);
    EGT_CHECK(c.launches <= 15 * 3); /* two inputs, a result */
    EGT_EQ(c.mallocs + c.creates + c.host_allocs + c.heuristics + c.products, 0);
    EGT_CHECK(c.copies_in <= 15 && c.copies_out <= 2); /* numbers; every 16 steps what became of them */
    EGT_CHECK(c.syncs <= 15 + 4);                      /* for a ring of pinned memory, long free, and those */
    eg_step_free(step);
    end(&t);
}

/* ---- what cannot be captured ------------------------------------------------------------------------ */

static void look(trainer *t, eg_tensor *loss)
{
    t->seen += eg_item(loss);
}

static void bring(trainer *t, eg_tensor *loss)
{
    float one = 1;
    (void)t;
    eg_add(loss, eg_from(EG_SHAPE(1), EG_F32, &one));
}

static void mix(trainer *t, eg_tensor *loss)
{
    eg_mul(loss, t->other);
}

static void hold(trainer *t, eg_tensor *loss)
{
    eg_tensor *before = t->other;
    t->other = eg_keep(eg_mul_scalar(loss, 2));
    eg_release(before);
}

static void begin_anew(trainer *t, eg_tensor *loss)
{
    (void)t;
    (void)loss;
    eg_seed(3);
}

static void wait(trainer *t, eg_tensor *loss)
{
    (void)t;
    eg_device_synchronize(eg_device_of(loss));
}

static void elsewhere(trainer *t, eg_tensor *loss)
{
    (void)t;
    eg_add_scalar(eg_to(loss, cuda(1)), 1);
}

EGT(what_cannot_be_captured_is_called_as_ever)
{
    static const struct {
        void (*also)(trainer *t, eg_tensor *loss);
        const char *op, *why;
    } cases[] = {
        {look, "eg_item", "asks for values"},
        {bring, "from", "copies from the host"},
        {mix, "mul", "CPU"},
        {hold, "mul", "outlives"},
        {begin_anew, "eg_seed", "anew"},
        {wait, "eg_device_synchronize", "waits"},
        {elsewhere, "to", "another device"},
    };
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        snprintf(egt_case, sizeof egt_case, "%s", cases[i].op);
        trainer a = make(cuda(0), EG_F32, true), b = make(cuda(0), EG_F32, true);
        a.also = b.also = cases[i].also;
        if (a.also == mix) {
            a.other = b.other = eg_scalar(3, EG_F32);
        }
        eg_device *before = eg_use_device(cuda(0));
        eg_step_info info = compare(cuda(0), &a, &b, 8, ROWS, 1);
        eg_use_device(before);
        EGT_EQ(info.graphs, 0);
        EGT_EQ(info.calls, 8);
        EGT_CHECK(info.op && info.why);
        snprintf(egt_case, sizeof egt_case, "%s, not %s: %s", cases[i].op, info.op, info.why);
        EGT_CHECK(info.op && strstr(info.op, cases[i].op) && strstr(info.why, cases[i].why));
        EGT_CHECK(a.seen == b.seen);
        if (a.also == hold) {
            same_bits(a.other, b.other);
            EGT_OK(eg_release(a.other));
            EGT_OK(eg_release(b.other));
        }
        end(&a);
        end(&b);
    }
}

/* Not even a driver that refuses to capture loses a step. */
EGT(a_refused_capture_is_a_call)
{
    static const char *const functions[] = {"cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphInstantiate"};
    for (int i = 0; i < 3; i++) {
        snprintf(egt_case, sizeof egt_case, "%s", functions[i]);
        trainer a = make(emulated(0), EG_F32, true), b = make(cuda(0), EG_F32, true);
        eg_step *fast = eg_step_new(train, &b, .device = cuda(0));
        eg_random_state random = {7, 0};
        for (int k = 0; k < 6; k++) {
            eg_scope s = eg_scope_push();
            eg_tensor *in[2], *x, *y;
            batch(cuda(0), k, ROWS, in);
            eg_random_set_state(random);
            EGT_OK(train(&a, in, 2, &x, 1));
            eg_random_set_state(random);
            if (k == 2) {
                FAKE(eg_fake_fail)(functions[i], 1, cudaErrorNotSupported);
            }
            EGT_OK(eg_step_run(fast, in, 2, &y, 1));
            EGT_EQ(eg_last_error()->code, EG_OK);
            random = eg_random_get_state();
            same_bits(x, y);
            eg_scope_pop(s, NULL);
        }
        same_trainers(&a, &b);
        eg_step_info info = eg_step_stats(fast);
        EGT_EQ(info.graphs, 0);
        EGT_CHECK(info.why && strstr(info.why, "driver"));
        FAKE(eg_fake_mend)();
        eg_step_free(fast);
        end(&a);
        end(&b);
    }
}

EGT(a_failed_launch_moves_nothing)
{
    trainer t = make(emulated(0), EG_F32, true);
    eg_step *step = eg_step_new(train, &t, .device = cuda(0));
    eg_tensor *in[2], *loss = NULL;
    batch(cuda(0), 0, ROWS, in);
    for (int i = 0; i < 5; i++) {
        EGT_OK(eg_step_run(step, in, 2, &loss, 1));
    }
    eg_random_state before = eg_random_get_state();
    FAKE(eg_fake_fail)("cudaGraphLaunch", 1, cudaErrorNotSupported);
    EGT_CHECK(eg_step_run(step, in, 2, &loss, 1) != EG_OK);
    EGT_CHECK(loss == NULL);
    EGT_CHECK(eg_random_get_state().offset == before.offset);
    EGT_EQ(eg_optim_steps(t.optim), 5);
    FAKE(eg_fake_mend)();
    eg_clear_error();
    EGT_OK(eg_step_run(step, in, 2, &loss, 1));
    EGT_EQ(eg_optim_steps(t.optim), 6);
    eg_step_free(step);
    end(&t);
}

/* ---- around it ---------------------------------------------------------------------------------------- */

EGT(changes_from_outside_are_seen)
{
    trainer a = make(cuda(0), EG_F32, false), b = make(cuda(0), EG_F32, false);
    eg_step *plain = eg_step_new(train, &a, .device = cuda(0), .eager = true);
    eg_step *fast = eg_step_new(train, &b, .device = cuda(0));
    for (int i = 0; i < 10; i++) {
        eg_scope s = eg_scope_push();
        eg_tensor *in[2], *x, *y;
        batch(eg_cpu(), i, ROWS, in);
        eg_seed(1);
        EGT_OK(eg_step_run(plain, in, 2, &x, 1));
        eg_seed(1);
        EGT_OK(eg_step_run(fast, in, 2, &y, 1));
        same_bits(x, y);
        if (i == 5) {
            EGT_CHECK(eg_mul_(eg_module_parameters(a.net).tensors[0], eg_scalar(0.5, EG_F32)) != NULL);
            EGT_CHECK(eg_mul_(eg_module_parameters(b.net).tensors[0], eg_scalar(0.5, EG_F32)) != NULL);
            EGT_OK(eg_optim_set_rate(a.optim, 0.1));
            EGT_OK(eg_optim_set_rate(b.optim, 0.1));
        }
        eg_scope_pop(s, NULL);
    }
    same_trainers(&a, &b);
    EGT_CHECK(eg_step_stats(fast).replays > 0);
    eg_step_free(plain);
    eg_step_free(fast);
    end(&a);
    end(&b);
}

/* Steps whose gradients are not finite do nothing, and that is said by one of the next 16. */
EGT(late_news_come_from_the_step)
{
    trainer t = make(cuda(0), EG_F32, false);
    EGT_OK(eg_optim_clip_norm(t.optim, 1));
    eg_step *step = eg_step_new(train, &t, .device = cuda(0));
    eg_tensor *in[2], *loss;
    batch(cuda(0), 0, ROWS, in);
    for (int i = 0; i < 6; i++) {
        EGT_OK(eg_step_run(step, in, 2, &loss, 1));
    }
    EGT_CHECK(eg_copy_(in[0], eg_full(eg_shape_of(in[0]), (double)INFINITY, EG_F32)) != NULL);
    int said = 0;
    for (int i = 0; i < 20 && !said; i++) {
        said = eg_step_run(step, in, 2, &loss, 1) == EG_EINVAL;
    }
    EGT_CHECK(said);
    EGT_CHECK(strstr(eg_last_error()->message, "not finite") != NULL);
    eg_clear_error();
    EGT_EQ(eg_optim_steps(t.optim), 6);
    eg_step_free(step);
    end(&t);
}

EGT(on_the_cpu_it_is_called)
{
    trainer t = make(eg_cpu(), EG_F32, true);
    eg_step *step = eg_step_new(train, &t, .device = eg_cpu());
    eg_tensor *in[2], *loss;
    batch(eg_cpu(), 0, ROWS, in);
    double first = 0, last = 0;
    for (int i = 0; i < 10; i++) {
        EGT_OK(eg_step_run(step, in, 2, &loss, 1));
        last = eg_item(loss);
        first = i ? first : last;
    }
    EGT_CHECK(last < first);
    EGT_EQ(eg_step_stats(step).calls, 10);
    EGT_EQ(eg_step_run(step, in, 17, &loss, 1), EG_EINVAL);
    EGT_EQ(eg_step_run(NULL, in, 2, &loss, 1), EG_EINVAL);
    eg_clear_error();
    EGT_CHECK(eg_step_new(NULL, NULL) == NULL);
    EGT_CHECK(eg_step_new(train, &t, .warmup = -1) == NULL);
    eg_clear_error();
    eg_step_free(step);
    eg_step_free(NULL);
    end(&t);
}

/* Every allocation of the first calls, the capture among them, may fail; the step then fails or is done, and the
 * next ones go on. */
EGT(no_allocation_is_needed_to_survive)
{
    for (int n = 1; n < 400; n += 7) {
        trainer t = make(cuda(0), EG_F32, true);
        eg_step *step = eg_step_new(train, &t, .device = cuda(0), .warmup = 1);
        eg_tensor *in[2], *loss;
        batch(cuda(0), 0, ROWS, in);
        EGT_OK(eg_step_run(step, in, 2, &loss, 1));
        eg_debug_fail_alloc(n);
        eg_status st = eg_step_run(step, in, 2, &loss, 1);
        eg_debug_fail_alloc(0);
        snprintf(egt_case, sizeof egt_case, "allocation %d: %.200s", n, eg_last_error()->message);
        EGT_CHECK(st == EG_OK || st == EG_ENOMEM);
        eg_clear_error();
        for (int i = 0; i < 3; i++) {
            EGT_OK(eg_step_run(step, in, 2, &loss, 1));
        }
        eg_step_free(step);
        end(&t);
    }
}

/* ---- averages and scalers -------------------------------------------------------------------------------- */

EGT(averages_that_are_swapped_in_are_refused)
{
    trainer t = make(cuda(0), EG_F32, true);
    eg_step *step = eg_step_new(train, &t, .device = cuda(0));
    eg_tensor *in[2], *loss;
    batch(cuda(0), 0, ROWS, in);
    for (int i = 0; i < 5; i++) {
        EGT_OK(eg_step_run(step, in, 2, &loss, 1));
    }
    EGT_CHECK(eg_step_stats(step).replays > 0);
    EGT_OK(eg_ema_swap(t.ema));
    EGT_REFUSED(eg_step_run(step, in, 2, &loss, 1), EG_ESTATE, "swap back");
    EGT_CHECK(!loss);
    EGT_EQ(eg_optim_steps(t.optim), 5);
    EGT_OK(eg_ema_swap(t.ema));
    eg_clear_error();
    EGT_OK(eg_step_run(step, in, 2, &loss, 1));
    EGT_EQ(eg_optim_steps(t.optim), 6);
    eg_step_free(step);
    end(&t);
}

EGT(the_state_of_a_scaler_is_loaded_in_place)
{
    trainer a = make(cuda(0), EG_F16, true), b = make(cuda(0), EG_F16, true);
    eg_step *plain = eg_step_new(train, &a, .device = cuda(0), .eager = true);
    eg_step *fast = eg_step_new(train, &b, .device = cuda(0));
    eg_tensors *state = eg_scaler_state(a.scaler);
    for (int i = 0; i < 12; i++) {
        eg_scope s = eg_scope_push();
        eg_tensor *in[2], *x, *y;
        batch(eg_cpu(), i, ROWS, in);
        eg_seed(1);
        EGT_OK(eg_step_run(plain, in, 2, &x, 1));
        eg_seed(1);
        EGT_OK(eg_step_run(fast, in, 2, &y, 1));
        same_bits(x, y);
        EGT_CHECK(eg_scaler_scale(a.scaler) == eg_scaler_scale(b.scaler));
        if (i == 7) {
            EGT_CHECK(eg_scaler_scale(a.scaler) > 64);
            EGT_OK(eg_scaler_load_state(a.scaler, state));
            EGT_OK(eg_scaler_load_state(b.scaler, state));
        }
        eg_scope_pop(s, NULL);
    }
    EGT_CHECK(eg_scaler_scale(a.scaler) > 64); /* it has grown again */
    same_trainers(&a, &b);
    EGT_CHECK(eg_step_stats(fast).replays > 5);
    eg_tensors_free(state);
    eg_step_free(plain);
    eg_step_free(fast);
    end(&a);
    end(&b);
}

/* ---- inputs --------------------------------------------------------------------------------------------- */

static eg_status add_one(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    (void)user;
    (void)nin;
    (void)nout;
    out[0] = eg_add_scalar(in[0], 1);
    return EG_OK;
}

/* From either side, in an order of their own or with gaps. */
EGT(inputs_lie_as_they_like)
{
    for (int gaps = 0; gaps < 2; gaps++) {
        eg_step *step = eg_step_new(add_one, NULL, .device = cuda(0));
        for (int i = 0; i < 8; i++) {
            eg_scope s = eg_scope_push();
            eg_tensor *x = eg_channels_last(egt_random(EG_SHAPE(2, 3, 4, 5), EG_F32, -1, 1)), *y;
            eg_tensor *use = eg_to(x, i % 2 ? cuda(0) : eg_cpu());
            if (gaps) {
                x = eg_slice(x, 3, 0, 5, 2);
                use = eg_slice(use, 3, 0, 5, 2);
            }
            EGT_OK(eg_step_run(step, &use, 1, &y, 1));
            EGT_CHECK(egt_distance(eg_to(y, eg_cpu()), eg_add_scalar(x, 1)) == 0);
            EGT_CHECK(gaps || eg_is_channels_last(y));
            eg_scope_pop(s, NULL);
        }
        EGT_EQ(eg_step_stats(step).replays, 5);
        eg_step_free(step);
    }
}

/* ---- other threads -------------------------------------------------------------------------------------- */

typedef struct meeting {
    pthread_barrier_t barrier;
    eg_tensor *made; /* by the thread that captures, before */
    int calls;
    bool good;
} meeting;

static eg_status meet(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    meeting *m = user;
    out[0] = eg_mul_scalar(in[0], 3);
    (void)nin;
    (void)nout;
    if (++m->calls == 3) {
        pthread_barrier_wait(&m->barrier);
        pthread_barrier_wait(&m->barrier);
    }
    return EG_OK;
}

static void *captures(void *user)
{
    meeting *m = user;
    EG_SCOPE {
        eg_step *step = eg_step_new(meet, m, .device = cuda(0));
        eg_tensor *x = eg_to(eg_full(EG_SHAPE(4), 2, EG_F32), cuda(0)), *y = NULL;
        m->made = eg_keep(eg_add_scalar(x, 5));
        m->good = m->made;
        for (int i = 0; i < 6; i++) {
            m->good &= !eg_step_run(step, &x, 1, &y, 1) && eg_item(eg_sum(y)) == 24;
        }
        eg_step_info info = eg_step_stats(step);
        m->good &= info.graphs == 1 && info.replays == 3 && !info.op;
        eg_step_free(step);
    }
    eg_thread_end();
    return NULL;
}

/* They read and write what this one has made, and do not become part of what it captures. */
EGT(other_threads_go_on_meanwhile)
{
    meeting m = {.calls = 0};
    pthread_t id;
    cuda(0);
    pthread_barrier_init(&m.barrier, NULL, 2);
    EGT_EQ(pthread_create(&id, NULL, captures, &m), 0);
    pthread_barrier_wait(&m.barrier);
    eg_tensor *y = m.made ? eg_mul_scalar(m.made, 2) : NULL;
    const bool read = y && eg_item(eg_sum(y)) == 56;
    const bool wrote = m.made && eg_add_(m.made, eg_scalar(1, EG_F32)) && eg_item(eg_sum(m.made)) == 32;
    pthread_barrier_wait(&m.barrier);
    pthread_join(id, NULL);
    EGT_CHECK(read);
    EGT_CHECK(wrote);
    EGT_CHECK(m.good);
    EGT_OK(eg_release(m.made));
    pthread_barrier_destroy(&m.barrier);
}
