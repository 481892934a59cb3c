/* test_step.c - steps on the CPU: the same results as without, in memory that is planned. */
#include <egret/step.h>

#include "tests/egt.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PLANS = 0 }; /* every block is the system's there */
#else
enum { PLANS = 1 };
#endif

enum { ROWS = 300, WIDTH = 400, CLASSES = 10 };

typedef struct trainer {
    eg_module *net;
    eg_optim *optim;
    int calls, extra; /* one call that asks for more memory than others */
    int capped;       /* one call that leaves no memory for a plan */
    bool fail;
    eg_tensor *held;
    bool hold;
} trainer;

static eg_status train(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    trainer *t = user;
    eg_tape tape = eg_tape_open();
    (void)nin;
    eg_tensor *hidden = eg_module_forward(t->net, in[0]);
    if (++t->calls == t->extra) {
        eg_mul(hidden, eg_zeros(EG_SHAPE(ROWS, CLASSES), EG_F32));
        eg_zeros(EG_SHAPE(1000, 1000), EG_F32);
    }
    if (t->hold) {
        eg_release(t->held);
        t->held = eg_keep(eg_mul(in[0], in[0]));
    }
    eg_tensor *loss = eg_cross_entropy(hidden, in[1]);
    eg_status st = t->fail ? eg_optim_step(t->optim, NULL) : eg_optim_minimize(t->optim, tape, loss);
    out[0] = loss;
    if (nout > 1) {
        out[1] = hidden;
    }
    if (t->calls == t->capped) {
        eg_debug_fail_alloc(3); /* two are for making the plan */
    }
    return st;
}

static trainer make(void)
{
    eg_seed(3);
    trainer t = {.net = eg_sequential_new(eg_linear_new(WIDTH, 350), eg_activation_new(eg_gelu), eg_dropout_new(0.1),
                                          eg_linear_new(350, 500), eg_activation_new(eg_relu),
                                          eg_linear_new(500, CLASSES))};
    t.optim = eg_adam_new(eg_module_parameters(t.net), .lr = 1e-3);
    return t;
}

static void end(trainer *t)
{
    eg_release(t->held);
    eg_optim_free(t->optim);
    eg_module_free(t->net);
}

static void batch(int i, int rows, eg_tensor **in)
{
    eg_random_state now = eg_random_get_state();
    eg_seed(50 + (uint64_t)i);
    in[0] = eg_normal(EG_SHAPE(rows, WIDTH), 0, 1, EG_F32);
    in[1] = eg_randint(EG_SHAPE(rows), 0, CLASSES, EG_I64);
    eg_random_set_state(now);
}

/* Steps of two trainers, of which the second plans: the same bits. */
static eg_step_info compare(trainer *a, trainer *b, int steps, int sizes, int nout)
{
    eg_step *plain = eg_step_new(train, a, .eager = true), *planned = eg_step_new(train, b);
    for (int i = 0; i < steps; i++) {
        eg_scope s = eg_scope_push();
        eg_tensor *in[2], *x[2], *y[2];
        batch(i, ROWS + i % sizes, in);
        eg_seed(1 + (uint64_t)i);
        EGT_OK(eg_step_run(plain, in, 2, x, nout));
        eg_seed(1 + (uint64_t)i);
        EGT_OK(eg_step_run(planned, in, 2, y, nout));
        snprintf(egt_case, sizeof egt_case, "step %d", i);
        EGT_CHECK(eg_item(x[0]) == eg_item(y[0]));
        eg_scope_pop(s, NULL);
    }
    eg_parameters p = eg_module_parameters(a->net), q = eg_module_parameters(b->net);
    for (int i = 0; i < p.count; i++) {
        EGT_EQ(memcmp(eg_data(p.tensors[i]), eg_data(q.tensors[i]),
                      (size_t)eg_numel(p.tensors[i]) * eg_dtype_size(eg_dtype_of(p.tensors[i]))),
               0);
    }
    eg_step_info info = eg_step_stats(planned);
    eg_step_free(plain);
    eg_step_free(planned);
    return info;
}

EGT(a_plan_changes_no_result)
{
    trainer a = make(), b = make();
    eg_step_info info = compare(&a, &b, 10, 1, 2);
    EGT_CHECK(info.planned > 0 || !PLANS);
    EGT_EQ(info.calls, 10);
    end(&a);
    end(&b);
}

EGT(several_sizes_share_the_memory)
{
    trainer a = make(), b = make();
    eg_step_info info = compare(&a, &b, 16, 3, 1);
    EGT_CHECK(info.planned > 0 || !PLANS);
    end(&a);
    end(&b);
}

EGT(a_call_that_turns_out_otherwise_is_no_trouble)
{
    for (int extra = 2; extra < 9; extra++) {
        trainer a = make(), b = make();
        a.extra = b.extra = extra;
        compare(&a, &b, 10, 1, 1);
        end(&a);
        end(&b);
    }
}

/* What a call made may stay, be it in the arena or not, also beyond the step. */
EGT(what_is_held_stays)
{
    for (int late = 0; late < 2; late++) {
        trainer a = make(), b = make();
        a.hold = b.hold = !late;
        eg_step *step = eg_step_new(train, &b);
        for (int i = 0; i < 8; i++) {
            eg_scope s = eg_scope_push();
            eg_tensor *in[2], *loss;
            batch(i, ROWS, in);
            b.hold |= late && i > 4;
            EGT_OK(eg_step_run(step, in, 2, &loss, 1));
            if (b.held) {
                EGT_CHECK(eg_item(eg_max(eg_abs(eg_sub(b.held, eg_mul(in[0], in[0]))))) == 0);
            }
            eg_scope_pop(s, NULL);
        }
        eg_step_free(step);
        eg_tensor *in[2];
        batch(7, ROWS, in);
        EGT_CHECK(eg_item(eg_max(eg_abs(eg_sub(b.held, eg_mul(in[0], in[0]))))) == 0);
        end(&a);
        end(&b);
    }
}

EGT(a_warm_step_takes_no_memory)
{
    trainer t = make();
    eg_step *step = eg_step_new(train, &t);
    eg_tensor *in[2], *loss;
    batch(0, ROWS, in);
    int64_t calls = 0, reserved = 0;
    for (int i = 0; i < 12; i++) {
        eg_scope s = eg_scope_push();
        EGT_OK(eg_step_run(step, in, 2, &loss, 1));
        eg_scope_pop(s, NULL);
        eg_memory m = eg_memory_stats();
        if (i == 7) {
            calls = m.system_calls;
            reserved = m.reserved_bytes;
        }
        EGT_CHECK(i <= 7 || !PLANS || (m.system_calls == calls && m.reserved_bytes == reserved));
    }
    eg_step_reset(step);
    EGT_EQ(eg_step_stats(step).planned, 0);
    EGT_OK(eg_step_run(step, in, 2, &loss, 1));
    eg_step_free(step);
    end(&t);
}

EGT(failures_are_the_functions)
{
    trainer t = make();
    eg_step *step = eg_step_new(train, &t);
    eg_tensor *in[2], *loss = NULL;
    batch(0, ROWS, in);
    for (int i = 0; i < 9; i++) {
        t.fail = i == 2 || i == 5;
        EGT_CHECK((eg_step_run(step, in, 2, &loss, 1) != EG_OK) == t.fail);
        EGT_CHECK((loss == NULL) == t.fail);
        eg_clear_error();
    }
    EGT_EQ(eg_step_run(step, in, 17, &loss, 1), EG_EINVAL);
    EGT_EQ(eg_step_run(step, NULL, 1, &loss, 1), EG_EINVAL);
    EGT_EQ(eg_step_run(NULL, in, 2, &loss, 1), EG_EINVAL);
    eg_clear_error();
    eg_step_free(step);
    end(&t);
}

EGT(no_allocation_is_needed_to_survive)
{
    for (int n = 1; n < 300; n += 3) {
        trainer t = make();
        eg_step *step = eg_step_new(train, &t, .warmup = 1);
        eg_tensor *in[2], *loss;
        batch(0, ROWS, in);
        eg_debug_fail_alloc(n);
        for (int i = 0; i < 4; i++) {
            eg_status st = step ? eg_step_run(step, in, 2, &loss, 1) : EG_ENOMEM;
            EGT_CHECK(st == EG_OK || st == EG_ENOMEM || st == EG_EINVAL);
        }
        eg_debug_fail_alloc(0);
        eg_clear_error();
        eg_step_free(step);
        end(&t);
    }
}

static eg_status square(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    (void)user;
    (void)nin;
    (void)nout;
    out[0] = eg_mul(in[0], in[0]);
    return out[0] ? EG_OK : eg_last_error()->code;
}

static eg_status another_step(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    return eg_step_run(user, in, nin, out, nout);
}

static double apart(eg_tensor *a, eg_tensor *b)
{
    return eg_item(eg_max(eg_abs(eg_sub(a, b))));
}

EGT(a_step_in_a_step_and_under_a_tape_is_a_call)
{
    eg_step *inner = eg_step_new(square, NULL, .warmup = 1);
    eg_step *outer = eg_step_new(another_step, inner, .warmup = 1);
    eg_tensor *x = egt_random(EG_SHAPE(ROWS, WIDTH), EG_F32, 1, 2), *y, *g;
    for (int i = 0; i < 5; i++) {
        eg_scope s = eg_scope_push();
        EGT_OK(eg_step_run(outer, &x, 1, &y, 1));
        EGT_CHECK(apart(y, eg_mul(x, x)) == 0);
        eg_scope_pop(s, NULL);
    }
    EGT_EQ(eg_step_stats(inner).calls, 5);
    eg_scope s = eg_scope_push();
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    EGT_OK(eg_step_run(inner, &x, 1, &y, 1));
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &g, .dy = eg_ones_like(y)));
    EGT_CHECK(apart(g, eg_mul_scalar(x, 2)) == 0);
    eg_scope_pop(s, NULL);
    eg_step_free(outer);
    eg_step_free(inner);
}

/* The memory of one plan has to make room for a larger one, for which there is none. */
EGT(a_plan_that_lost_its_memory_is_no_trouble)
{
    trainer t = make();
    eg_step *step = eg_step_new(train, &t, .warmup = 1);
    t.capped = 5;
    for (int i = 0; i < 10; i++) {
        eg_scope s = eg_scope_push();
        eg_tensor *in[2], *loss;
        batch(i, i == 3 || i == 4 ? ROWS + 50 : ROWS, in);
        EGT_OK(eg_step_run(step, in, 2, &loss, 1));
        eg_debug_fail_alloc(0);
        EGT_CHECK(i != 2 || !PLANS || eg_step_stats(step).planned > 0);
        EGT_CHECK(i != 4 || !PLANS || eg_step_stats(step).planned == 0);
        eg_scope_pop(s, NULL);
    }
    eg_step_free(step);
    end(&t);
}

/* ---- what outlives its plan --------------------------------------------------------------------------- */

typedef struct keeper {
    eg_tensor *held;
    bool keep, give;
    double off;
} keeper;

static eg_status twice_and_square(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    keeper *k = user;
    eg_scope s = eg_scope_push();
    eg_tensor *twice = eg_add(in[0], in[0]);
    (void)nin;
    (void)nout;
    if (k->keep) {
        k->held = eg_keep(twice);
    }
    if (!k->give) {
        eg_scope_pop(s, NULL);
        eg_mul(in[0], in[0]);
        out[0] = eg_scalar(1, EG_F32);
        return EG_OK;
    }
    EGT_OK(eg_release(k->held)); /* of another step's plan, where this one's gives back `twice` */
    eg_mul(in[0], in[0]);
    k->off = apart(twice, eg_mul_scalar(in[0], 2));
    eg_scope_pop(s, NULL);
    out[0] = eg_scalar(1, EG_F32);
    return EG_OK;
}

EGT(what_another_plan_gave_is_no_part_of_this_one)
{
    keeper k = {.off = -1};
    eg_tensor *x = egt_random(EG_SHAPE(ROWS, WIDTH), EG_F32, 1, 2), *one;
    for (int turn = 0; turn < 2; turn++) {
        eg_step *step = eg_step_new(twice_and_square, &k, .warmup = 1);
        for (int i = 0; i < 4; i++) {
            k.keep = turn == 0 && i == 3;
            k.give = turn == 1 && i == 3;
            EGT_OK(eg_step_run(step, &x, 1, &one, 1));
        }
        eg_step_free(step);
    }
    EGT_CHECK(k.off == 0);
}
