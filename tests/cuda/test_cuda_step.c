/* test_cuda_step.c - whole training steps on a device: what they ask of the driver once warm, in full and mixed
 * precision, and that they come to the CPU's numbers. */
#include <math.h>

#include <egret/step.h>

#include "tests/cuda/module.h"

enum { ROWS = 24, WORDS = 6, COUNT = 50, WIDTH = 16, CLASSES = 5 };

typedef struct trainer {
    eg_module *net;
    eg_optim *optim;
    eg_tensor *words, *labels;
} trainer;

static eg_tensor *mean_of_words(eg_tensor *x)
{
    return eg_mean(x, .axes = EG_AXES(1));
}

/* The same on every device. */
static trainer make(eg_device *d)
{
    trainer t;
    eg_seed(5);
    t.net =
        eg_sequential_new(eg_embedding_new(COUNT, WIDTH), eg_activation_new(mean_of_words), eg_linear_new(WIDTH, 32),
                          eg_activation_new(eg_gelu), eg_dropout_new(0.1), eg_linear_new(32, CLASSES));
    t.words = eg_keep(eg_to(eg_randint(EG_SHAPE(ROWS, WORDS), 0, COUNT, EG_I64), d));
    t.labels = eg_keep(eg_to(eg_randint(EG_SHAPE(ROWS), 0, CLASSES, EG_I64), d));
    EGT_OK(eg_module_to_device(t.net, d));
    t.optim = eg_adam_new(eg_module_parameters(t.net), .lr = 1e-2, .weight_decay = 1e-2);
    EGT_OK(eg_optim_clip_norm(t.optim, 1));
    return t;
}

static void end(trainer *t)
{
    eg_optim_free(t->optim);
    eg_module_free(t->net);
    EGT_OK(eg_release(t->words));
    EGT_OK(eg_release(t->labels));
}

/* Steps; the loss of the last, still on its device, when asked for. */
static double train(trainer *t, int steps, eg_dtype low, bool ask)
{
    double last = (double)NAN;
    for (int i = 0; i < steps; i++) {
        eg_scope s = eg_scope_push();
        eg_tape tape = eg_tape_open();
        EGT_OK(eg_autocast(low));
        eg_tensor *loss = eg_cross_entropy(eg_module_forward(t->net, t->words), t->labels);
        EGT_OK(eg_optim_minimize(t->optim, tape, loss));
        last = ask && i == steps - 1 ? eg_item(loss) : last;
        eg_scope_pop(s, NULL);
    }
    return last;
}

/* A fusion that is lost, or a wait that comes in, is seen here first. */
static void check_warm(eg_dtype low, int64_t launches, int64_t products)
{
    trainer t = make(emulated(0));
    train(&t, 4, low, false);
    FAKE(eg_fake_zero)();
    train(&t, 3, low, false);
    eg_fake_counts c = FAKE(eg_fake_read)();
    snprintf(egt_case, sizeof egt_case, "%s: %lld launches, %lld products", eg_dtype_name(low), (long long)c.launches,
             (long long)c.products);
    EGT_EQ(c.mallocs + c.creates + c.host_allocs, 0);
    EGT_EQ(c.syncs + c.queries, 0);
    EGT_EQ(c.copies_in + c.copies_out, 0);
    EGT_EQ(c.streams + c.events, 0);
    EGT_EQ(c.heuristics, 0);
    EGT_CHECK(c.launches <= 3 * launches);
    EGT_EQ(c.products, 3 * products);
    end(&t);
}

EGT(a_warm_step_only_queues)
{
    check_warm(EG_F32, 30, 6);
    check_warm(EG_BF16, 50, 6); /* and the casts of parameters, activations and slopes */
}

EGT(steps_come_to_the_numbers_of_the_cpu)
{
    trainer here = make(eg_cpu()), there = make(cuda(0));
    for (int i = 0; i < 3; i++) {
        eg_seed(i);
        double a = train(&here, 4, EG_F32, true);
        eg_seed(i);
        double b = train(&there, 4, EG_F32, true);
        snprintf(egt_case, sizeof egt_case, "%d: %.9g on the CPU, %.9g here", i, a, b);
        EGT_CHECK(fabs(a - b) <= 2e-4 * a);
    }
    end(&here);
    end(&there);
}

/* ---- captured, with many optimizers ------------------------------------------------------------------------ */

enum { OPTIMIZERS = 17 }; /* one more than a capture has room for */

typedef struct crowd {
    int n;
    eg_tensor *p[OPTIMIZERS];
    eg_optim *o[OPTIMIZERS];
} crowd;

static eg_status move_all(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    crowd *c = user;
    (void)nin;
    (void)nout;
    for (int i = 0; i < c->n; i++) {
        if (eg_optim_step(c->o[i], in)) {
            return eg_last_error()->code;
        }
    }
    out[0] = eg_mul_scalar(in[0], 2);
    return EG_OK;
}

static crowd crowd_of(int n)
{
    crowd c = {.n = n};
    for (int i = 0; i < n; i++) {
        c.p[i] = eg_parameter(eg_to(eg_full(EG_SHAPE(5), 1 + i, EG_F32), cuda(0)));
        c.o[i] = eg_adam_new(((eg_parameters){&c.p[i], NULL, 1}), .lr = 0.1);
        EGT_OK(eg_optim_clip_norm(c.o[i], i % 5 == 1)); /* of some, the last among them */
    }
    return c;
}

EGT(more_optimizers_than_there_is_room_for)
{
    for (int n = OPTIMIZERS - 1; n <= OPTIMIZERS; n++) {
        crowd a = crowd_of(n), b = crowd_of(n);
        eg_step *plain = eg_step_new(move_all, &a, .device = cuda(0), .eager = true);
        eg_step *fast = eg_step_new(move_all, &b, .device = cuda(0));
        for (int i = 0; i < 8; i++) {
            eg_scope s = eg_scope_push();
            eg_tensor *x = eg_full(EG_SHAPE(5), i - 2, EG_F32), *y;
            EGT_OK(eg_step_run(plain, &x, 1, &y, 1));
            EGT_OK(eg_step_run(fast, &x, 1, &y, 1));
            eg_scope_pop(s, NULL);
        }
        for (int i = 0; i < n; i++) {
            EGT_EQ(egt_distance(eg_to(a.p[i], eg_cpu()), eg_to(b.p[i], eg_cpu())), 0);
            EGT_EQ(eg_optim_steps(b.o[i]), 8);
        }
        eg_step_info info = eg_step_stats(fast);
        EGT_EQ(info.graphs, n < OPTIMIZERS);
        EGT_CHECK(n < OPTIMIZERS || (info.why && strstr(info.why, "room")));
        eg_step_free(plain);
        eg_step_free(fast);
        for (int i = 0; i < n; i++) {
            eg_optim_free(a.o[i]);
            eg_optim_free(b.o[i]);
            EGT_OK(eg_release(a.p[i]));
            EGT_OK(eg_release(b.p[i]));
        }
    }
}
