/* test_cuda_step.c - whole training steps on a device: what they ask of the driver once warm, in full and mixed
 * precision, and that they come to the CPU's numbers. */
#include <math.h>

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
    t.net = eg_sequential_new(eg_embedding_new(COUNT, WIDTH), eg_activation_new(mean_of_words),
                              eg_linear_new(WIDTH, 32), eg_activation_new(eg_gelu), eg_dropout_new(0.1),
                              eg_linear_new(32, CLASSES));
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
    snprintf(egt_case, sizeof egt_case, "%s: %lld launches, %lld products", eg_dtype_name(low),
             (long long)c.launches, (long long)c.products);
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
