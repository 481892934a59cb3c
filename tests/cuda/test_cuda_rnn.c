/* test_cuda_rnn.c - recurrent layers on a CUDA device as the sweep does not see them: what a step costs, lengths that
 * kernels refuse, arithmetic of products, what goes wrong. */
#include <cublasLt.h>

#include <egret/step.h>

#include "tests/cuda/recurrent.h"

/* The layer and, if asked, gradients of everything. */
static void learn(const given *g, bool backward)
{
    EG_SCOPE {
        eg_tensor *of[5] = {g->x, g->w_ih, g->w_hh, g->b_ih, g->h0}, *dx[5];
        eg_tape tape = eg_tape_open();
        for (int i = 0; i < 5; i++) {
            EGT_OK(eg_tape_watch(tape, of[i]));
        }
        eg_rnn r = run(g);
        EGT_CHECK(r.y);
        if (backward) {
            EGT_OK(eg_tape_gradients(tape, eg_sum(r.y), of, 5, dx));
        } else {
            eg_tape_close(tape);
        }
    }
}

/* ---- what it costs --------------------------------------------------------------------------- */

/* What is launched, once all has run before. */
static int64_t launches(int gates, bool reset_before, int64_t steps, eg_dtype dtype, bool backward)
{
    int64_t n = 0;
    EG_SCOPE {
        given g = make(gates, steps, dtype);
        g.reset_before = reset_before;
        learn(&g, backward);
        learn(&g, backward);
        EGT_OK(eg_device_synchronize(cuda(0)));
        eg_fake_counts before = FAKE(eg_fake_read)();
        learn(&g, backward);
        eg_fake_counts after = FAKE(eg_fake_read)();
        n = after.launches - before.launches;
        EGT_EQ(after.syncs - before.syncs, 0);
        EGT_EQ(after.mallocs + after.creates - before.mallocs - before.creates, 0);
        EGT_EQ(after.heuristics - before.heuristics, 0);
        EGT_EQ(after.copies_in + after.copies_out - before.copies_in - before.copies_out, 0);
        EGT_EQ(after.records + after.queries - before.records - before.queries, 0);
    }
    return n;
}

/* A product and a kernel to a step, two of each where the reset gate comes first; halves are not copied. */
EGT(what_a_step_launches)
{
    static const eg_dtype dtypes[] = {EG_F32, EG_F64, EG_BF16};
    emulated(0);
    for (int i = 0; i < 3; i++) {
        EGT_EQ(launches(4, false, 9, dtypes[i], false) - launches(4, false, 4, dtypes[i], false), 5 * 2);
        EGT_EQ(launches(4, false, 9, dtypes[i], true) - launches(4, false, 4, dtypes[i], true), 5 * 4);
        EGT_EQ(launches(3, false, 9, dtypes[i], true) - launches(3, false, 4, dtypes[i], true), 5 * 4);
        EGT_EQ(launches(3, true, 9, dtypes[i], true) - launches(3, true, 4, dtypes[i], true), 5 * 8);
        EGT_EQ(launches(4, false, 4, dtypes[i], false), 2 + 1 + 4 * 2);
    }
}

/* The product with a first state of zeros is not made. */
EGT(zeros_are_not_multiplied)
{
    for (int gates = 3; gates <= 4; gates++) {
        EG_SCOPE {
            given g = make(gates, 1, EG_F32);
            g.h0 = g.c0 = NULL;
            int64_t before = FAKE(eg_fake_read)().products;
            EGT_CHECK(run(&g).y);
            EGT_EQ(FAKE(eg_fake_read)().products - before, 1);
        }
    }
}

/* ---- modules ---------------------------------------------------------------------------------- */

/* Reads sentences and writes others word by word, looking back: a table, layers both ways, attention. */
typedef struct translator {
    eg_module *table, *reader, *attention, *writer, *word, *all;
} translator;

enum { WORDS = 12, NARROW = 6, SENTENCE = 5 };

static translator translator_new(void)
{
    translator t = {
        .table = eg_embedding_new(WORDS, NARROW),
        .reader = eg_lstm_new(NARROW, WIDTH, .layers = 2, .bidirectional = true, .dropout = 0.2, .batch_first = true),
        .attention = eg_additive_attention_new(WIDTH, 2 * WIDTH, NARROW),
        .writer = eg_gru_new(2 * WIDTH + NARROW, WIDTH, .reset_before = true),
        .word = eg_linear_new(WIDTH, WORDS)};
    t.all = eg_module_list_new(t.table, t.reader, t.attention, t.writer, t.word);
    EGT_CHECK(t.all);
    return t;
}

static eg_tensor *loss_of(translator *t, eg_tensor *source, eg_tensor *lengths, eg_tensor *target)
{
    eg_rnn read = eg_rnn_forward(t->reader, eg_module_forward(t->table, source), .lengths = lengths);
    eg_tensor *state = eg_select(read.h, 0, 0), *total = NULL;
    for (int i = 0; i + 1 < SENTENCE; i++) {
        eg_tensor *before = eg_module_forward(t->table, eg_select(target, 1, i));
        eg_tensor *seen = eg_additive_attention_forward(t->attention, state, read.y, NULL, NULL).context;
        eg_tensor *x = eg_unsqueeze(eg_concat((eg_tensor *[]){seen, before}, 2, 1), 0);
        state = eg_squeeze(eg_rnn_forward(t->writer, x).h, EG_AXES(0));
        eg_tensor *loss = eg_cross_entropy(eg_module_forward(t->word, state), eg_select(target, 1, i + 1),
                                           .reduction = EG_SUM, .ignore = true);
        total = total ? eg_add(total, loss) : loss;
    }
    return total;
}

static void learn_words(translator *t, eg_optim *o, eg_tensor *source, eg_tensor *lengths, eg_tensor *target)
{
    EG_SCOPE {
        eg_tape tape = eg_tape_open();
        EGT_OK(eg_optim_minimize(o, tape, loss_of(t, source, lengths, target)));
    }
}

/* A step of learning asks the device for nothing and takes no memory, once all has run before. */
EGT(modules_do_not_wait)
{
    eg_device *d = cuda(0), *before = eg_use_device(d);
    eg_fake_counts first = {0}, last = {0};
    EG_SCOPE {
        translator t = translator_new();
        eg_optim *adam = eg_adam_new(eg_module_parameters(t.all), .lr = 1e-3);
        eg_tensor *source = eg_cast(egt_random(EG_SHAPE(ROWS, SENTENCE), EG_F32, 1, WORDS), EG_I64);
        eg_tensor *target = eg_cast(egt_random(EG_SHAPE(ROWS, SENTENCE), EG_F32, 0, WORDS), EG_I64);
        eg_tensor *lengths = eg_to(eg_from(EG_SHAPE(ROWS), EG_I64, (int64_t[]){5, 2, 3}), d);
        source = eg_to(source, d);
        target = eg_to(target, d);
        for (int i = 0; i < 4; i++) {
            if (i == 2) {
                EGT_OK(eg_device_synchronize(d));
                first = FAKE(eg_fake_read)();
            }
            learn_words(&t, adam, source, lengths, target);
            last = FAKE(eg_fake_read)();
        }
        eg_optim_free(adam);
        eg_module_free(t.all);
    }
    eg_use_device(before);
    EGT_EQ(last.syncs - first.syncs, 0);
    EGT_EQ(last.copies_in + last.copies_out - first.copies_in - first.copies_out, 0);
    EGT_EQ(last.mallocs + last.creates - first.mallocs - first.creates, 0);
    EGT_EQ(last.heuristics - first.heuristics, 0);
}

typedef struct learner {
    translator t;
    eg_optim *adam;
} learner;

static eg_status step_of_words(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    learner *l = user;
    eg_tape tape = eg_tape_open();
    (void)nin, (void)nout;
    out[0] = loss_of(&l->t, in[0], in[2], in[1]);
    return eg_optim_minimize(l->adam, tape, out[0]);
}

/* The loss after some steps, captured or not. */
static double learned(eg_device *d, bool eager, int64_t *replays)
{
    double loss = 0;
    EG_SCOPE {
        eg_seed(7);
        learner l = {.t = translator_new()};
        l.adam = eg_adam_new(eg_module_parameters(l.t.all), .lr = 1e-2);
        eg_step *step = eg_step_new(step_of_words, &l, .device = d, .eager = eager);
        eg_tensor *words = eg_remainder_scalar(eg_arange(0, 2 * ROWS * SENTENCE, 1, EG_I64), WORDS), *out;
        eg_tensor *in[3] = {eg_reshape(eg_slice(words, 0, 0, ROWS * SENTENCE, 1), EG_SHAPE(ROWS, SENTENCE)),
                            eg_reshape(eg_slice(words, 0, ROWS * SENTENCE, EG_END, 1), EG_SHAPE(ROWS, SENTENCE)),
                            eg_to(eg_from(EG_SHAPE(ROWS), EG_I64, (int64_t[]){5, 2, 3}), d)};
        for (int i = 0; i < 6; i++) {
            EGT_OK(eg_step_run(step, in, 3, &out, 1));
            loss = eg_item(out);
        }
        *replays = eg_step_stats(step).replays;
        eg_step_free(step);
        eg_optim_free(l.adam);
        eg_module_free(l.t.all);
    }
    return loss;
}

EGT(captured_steps)
{
    eg_device *d = cuda(0), *before = eg_use_device(d);
    int64_t replays, none;
    double captured = learned(d, false, &replays), as_usual = learned(d, true, &none);
    eg_use_device(before);
    EGT_EQ(captured, as_usual);
    EGT_CHECK(replays >= 3 && none == 0);
}

/* ---- lengths --------------------------------------------------------------------------------- */

EGT(bad_lengths_are_said_at_the_wait)
{
    eg_device *d = cuda(0);
    for (int gates = 3; gates <= 4; gates++) {
        EG_SCOPE {
            given g = make(gates, 4, EG_F32);
            g.lengths = eg_to(eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){1, 5, 0}), d);
            eg_rnn r = run(&g);
            EGT_CHECK(r.y);
            EGT_REFUSED(eg_device_synchronize(d), EG_EINDEX, "length 5 of row 1 is outside 0..4");
            /* It was taken for 4. */
            g.lengths = eg_to(eg_from(EG_SHAPE(3), EG_I32, (int32_t[]){1, 4, 0}), d);
            EGT_EQ(egt_distance(eg_to(run(&g).y, eg_cpu()), eg_to(r.y, eg_cpu())), 0);
            g.lengths = eg_to(eg_from(EG_SHAPE(3), EG_I32, (int32_t[]){1, 4, -1}), d);
            EGT_CHECK(run(&g).y);
            EGT_REFUSED(eg_device_synchronize(d), EG_EINDEX, "length -1 of row 2");
            EGT_OK(eg_device_synchronize(d));
        }
    }
}

EGT(operands_are_of_one_device)
{
    EG_SCOPE {
        given g = make(4, 4, EG_F32);
        g.h0 = eg_to(g.h0, eg_cpu());
        EGT_REFUSED(run(&g).y, EG_EDEVICE, "cpu");
    }
}

/* Then they are looked at before anything is done. */
EGT(lengths_may_stay_on_the_cpu)
{
    for (int gates = 3; gates <= 4; gates++) {
        EG_SCOPE {
            given g = make(gates, 4, EG_F32);
            eg_tensor *lengths = eg_to(eg_from(EG_SHAPE(3), EG_I32, (int32_t[]){4, 0, 3}), eg_cpu());
            g.lengths = eg_to(lengths, cuda(0));
            eg_tensor *want = eg_to(run(&g).y, eg_cpu());
            g.lengths = lengths;
            EGT_EQ(egt_distance(eg_to(run(&g).y, eg_cpu()), want), 0);
            learn(&g, true);
            g.lengths = eg_to(eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){1, 5, 0}), eg_cpu());
            EGT_REFUSED(run(&g).y, EG_EINDEX, "length 5 of row 1 is outside 0..4");
        }
    }
}

/* Where no row takes a step x may hold anything. */
EGT(padding_does_not_count)
{
    for (int gates = 3; gates <= 4; gates++) {
        EG_SCOPE {
            given g = make(gates, 4, EG_F32);
            g.w_hr = gates == 4 ? there(EG_SHAPE(WIDTH, WIDTH), EG_F32) : NULL;
            g.lengths = eg_to(eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){2, 1, 2}), cuda(0));
            EGT_CHECK(eg_add_scalar_(eg_slice(g.x, 0, 2, 4, 1), NAN));
            eg_tape tape = eg_tape_open();
            eg_tensor *of[2] = {g.w_hh, g.w_hr ? g.w_hr : g.h0}, *dx[2];
            for (int i = 0; i < 2; i++) {
                EGT_OK(eg_tape_watch(tape, of[i]));
            }
            eg_rnn r = run(&g);
            EGT_OK(eg_tape_gradients(tape, eg_add(eg_sum(r.y), eg_sum(r.h)), of, 2, dx));
            for (int i = 0; i < 2; i++) {
                EGT_CHECK(isfinite(eg_item(eg_sum(dx[i]))));
            }
        }
    }
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

EGT(modes_of_products)
{
    EG_SCOPE {
        given g = make(4, 5, EG_F32);
        eg_tensor *want = eg_to(run(&g).y, eg_cpu());
        EGT_OK(eg_set_math_mode(EG_MATH_TF32));
        double off = egt_distance(eg_to(run(&g).y, eg_cpu()), want);
        EGT_OK(eg_set_math_mode(EG_MATH_DEFAULT));
        EGT_CHECK(off > 1e-6 && off < 3e-3);
        EGT_EQ(egt_distance(eg_to(run(&g).y, eg_cpu()), want), 0);
    }
}

/* ---- going wrong ----------------------------------------------------------------------------- */

EGT(failing_products)
{
    emulated(0);
    EG_SCOPE {
        given g = make(4, 5, EG_F32);
        eg_tensor *want = eg_to(run(&g).y, eg_cpu());
        int64_t used = FAKE(eg_fake_alive)();
        for (int nth = 1; nth <= 6; nth++) {
            FAKE(eg_fake_fail)("cublasLtMatmul", nth, CUBLAS_STATUS_EXECUTION_FAILED);
            EGT_REFUSED(run(&g).y, EG_EFAULT, "failed to launch");
        }
        EGT_EQ(egt_distance(eg_to(run(&g).y, eg_cpu()), want), 0);
        EGT_EQ(FAKE(eg_fake_alive)(), used);
    }
}
