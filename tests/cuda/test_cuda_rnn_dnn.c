/* test_cuda_rnn_dnn.c - recurrent layers by cuDNN, where a program asks for that: the same as without it, weights
 * packed and gradients unpacked, and what is left to other kernels. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <cudnn_graph.h>

#include "tests/cuda/recurrent.h"

enum { OPERANDS = 8 };

/* Results, gradients of all operands there are, and how many calls of cuDNN that took. */
typedef struct outcome {
    eg_tensor *all[3 + OPERANDS];
    int64_t calls, parts;
} outcome;

static outcome run_by(const char *way, const given *g)
{
    outcome o = {{NULL}, 0, 0};
    eg_tensor *of[OPERANDS] = {g->x, g->w_ih, g->w_hh, g->b_ih, g->b_hh, g->h0, g->gates == 4 ? g->c0 : NULL, g->w_hr};
    eg_tensor *there_are[OPERANDS], *dx[OPERANDS];
    int n = 0;
    eg_fake_counts before = FAKE(eg_fake_read)();
    EGT_EQ(setenv("EGRET_RNN", way, 1), 0);
    eg_tape tape = eg_tape_open();
    for (int i = 0; i < OPERANDS; i++) {
        if (of[i]) {
            EGT_OK(eg_tape_watch(tape, of[i]));
            there_are[n++] = of[i];
        }
    }
    eg_rnn r = run(g);
    EGT_CHECK(r.y && r.h);
    eg_tensor *sum = eg_add(eg_sum(eg_square(r.y)), eg_sum(r.h));
    sum = r.c ? eg_add(sum, eg_sum(eg_square(r.c))) : sum;
    EGT_OK(eg_tape_gradients(tape, sum, there_are, n, dx));
    EGT_EQ(unsetenv("EGRET_RNN"), 0);
    eg_tensor *results[3] = {r.y, r.h, r.c};
    for (int i = 0; i < 3 + n; i++) {
        eg_tensor *t = i < 3 ? results[i] : dx[i - 3];
        o.all[i] = t ? eg_cast(eg_to(t, eg_cpu()), EG_F64) : NULL;
    }
    eg_fake_counts after = FAKE(eg_fake_read)();
    o.calls = after.dnn_runs - before.dnn_runs;
    o.parts = after.dnn_parts - before.dnn_parts;
    return o;
}

/* The same by cuDNN, whose weights lie elsewhere and whose gradients come back from there. */
static void check_ways(const given *g, eg_dtype dtype)
{
    outcome own = run_by("own", g), dnn = run_by("cudnn", g);
    EGT_EQ(own.calls, 0);
    EGT_EQ(dnn.calls, 3);
    EGT_EQ(dnn.parts, 0);
    for (int i = 0; i < 3 + OPERANDS; i++) {
        EGT_CHECK(!own.all[i] == !dnn.all[i]);
        if (own.all[i]) {
            EGT_CHECK(egt_distance(dnn.all[i], own.all[i]) < (dtype == EG_F32 ? 1e-4 : dtype == EG_F16 ? 2e-2 : 1e-1));
        }
    }
}

EGT(weights_are_packed_and_unpacked)
{
    static const eg_dtype dtypes[] = {EG_F32, EG_F16, EG_BF16};
    emulated(0);
    for (int i = 0; i < 3; i++) {
        for (int gates = 3; gates <= 4; gates++) {
            EG_SCOPE {
                given g = make(gates, 5, dtypes[i]);
                check_ways(&g, dtypes[i]);
                g.b_ih = NULL; /* biases of zeros in its place */
                check_ways(&g, dtypes[i]);
                g.b_hh = g.h0 = g.c0 = NULL;
                check_ways(&g, dtypes[i]);
                g.lengths = eg_to(eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){2, 5, 1}), eg_cpu());
                check_ways(&g, dtypes[i]);
                g.lengths = eg_expand(eg_slice(g.lengths, 0, 1, 2, 1), EG_SHAPE(3));
                check_ways(&g, dtypes[i]);
            }
        }
        EG_SCOPE {
            given g = make(4, 4, dtypes[i]);
            g.w_hh = there(EG_SHAPE(4 * WIDTH, 5), dtypes[i]);
            g.w_hr = there(EG_SHAPE(5, WIDTH), dtypes[i]);
            g.h0 = there(EG_SHAPE(ROWS, 5), dtypes[i]);
            check_ways(&g, dtypes[i]);
        }
    }
}

/* Weights that begin anywhere are moved element by element. */
EGT(weights_in_odd_places)
{
    emulated(0);
    EG_SCOPE {
        given g = make(3, 4, EG_F16);
        eg_tensor *block = there(EG_SHAPE(1 + 3 * WIDTH * INPUTS), EG_F16);
        g.w_ih = eg_reshape(eg_slice(block, 0, 1, EG_END, 1), EG_SHAPE(3 * WIDTH, INPUTS));
        check_ways(&g, EG_F16);
    }
}

static int64_t calls_of_cudnn(const given *g)
{
    int64_t before = FAKE(eg_fake_read)().dnn_runs;
    EGT_EQ(setenv("EGRET_RNN", "cudnn", 1), 0);
    eg_clear_error();
    EGT_CHECK(run(g).y && eg_last_error()->code == EG_OK);
    EGT_EQ(unsetenv("EGRET_RNN"), 0);
    return FAKE(eg_fake_read)().dnn_runs - before;
}

EGT(what_cudnn_does_not_have)
{
    emulated(0);
    EG_SCOPE {
        given f32 = make(3, 4, EG_F32), g = f32, f64 = make(4, 4, EG_F64);
        EGT_EQ(calls_of_cudnn(&f32), 1);
        EGT_EQ(calls_of_cudnn(&f64), 0);
        g.reset_before = true;
        EGT_EQ(calls_of_cudnn(&g), 0);
        g = f32;
        g.lengths = eg_to(eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){2, 4, 0}), eg_cpu());
        EGT_EQ(calls_of_cudnn(&g), 0);
        g.lengths = eg_slice(eg_to(eg_from(EG_SHAPE(6), EG_I64, (int64_t[]){2, 4, 4, 1, 0, 1}), eg_cpu()), 0, 0, 6, 2);
        EGT_EQ(calls_of_cudnn(&g), 0);
        g.lengths = eg_to(eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){2, 4, 1}), cuda(0));
        EGT_EQ(calls_of_cudnn(&g), 0);
        FAKE(eg_fake_fail)("cudnnSetRNNDescriptor_v8", 1, CUDNN_STATUS_NOT_SUPPORTED);
        EGT_EQ(calls_of_cudnn(&f32), 0);
        EGT_EQ(calls_of_cudnn(&f32), 1);
    }
}

EGT(cudnn_fails)
{
    static const char *const calls[] = {"cudnnRNNForward", "cudnnRNNBackwardData_v8", "cudnnRNNBackwardWeights_v8"};
    emulated(0);
    EG_SCOPE {
        given g = make(4, 3, EG_F32);
        int64_t parts = FAKE(eg_fake_read)().dnn_parts;
        EGT_EQ(setenv("EGRET_RNN", "cudnn", 1), 0);
        for (int i = 0; i < 3; i++) {
            eg_tensor *dx = NULL;
            eg_tape tape = eg_tape_open();
            EGT_OK(eg_tape_watch(tape, g.x));
            FAKE(eg_fake_fail)(calls[i], 1, CUDNN_STATUS_EXECUTION_FAILED);
            eg_clear_error();
            eg_rnn r = run(&g);
            EGT_CHECK(i ? r.y != NULL : !r.y);
            eg_status st = r.y ? eg_tape_gradients(tape, eg_sum(r.y), &g.x, 1, &dx) : eg_last_error()->code;
            EGT_CHECK(st == EG_EFAULT && egt_said(EG_EFAULT, "cuDNN"));
            if (!r.y) {
                eg_tape_close(tape);
            }
        }
        EGT_EQ(unsetenv("EGRET_RNN"), 0);
        EGT_EQ(FAKE(eg_fake_read)().dnn_parts, parts);
    }
}
