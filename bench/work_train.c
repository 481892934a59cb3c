/* work_train.c - recurrent layers over sequences, losses, and optimizer steps. */
#include "work.h"

#define INT(key) bench_int(w->c, key)

enum { MANY = 1024 };

static eg_tensor *lstm(work *w)
{
    return eg_lstm(w->x[0], w->x[1], w->x[2], .b_ih = w->x[3], .b_hh = w->x[4]).y;
}

static eg_tensor *gru(work *w)
{
    return eg_gru(w->x[0], w->x[1], w->x[2], .b_ih = w->x[3], .b_hh = w->x[4]).y;
}

static int64_t step_forward(work *w)
{
    eg_scope scope = eg_scope_push();
    return work_done(scope, w->forward(w));
}

/* Forward and the gradients of the input and all weights. */
static int64_t step_train(work *w)
{
    eg_scope scope = eg_scope_push();
    eg_tensor *out[WORK_TENSORS];
    int64_t made = 0;
    eg_tape tape = eg_tape_open();
    for (int i = 0; i < w->wanted; i++) {
        eg_tape_watch(tape, w->x[i]);
    }
    eg_tensor *y = w->forward(w);
    eg_status status = eg_tape_gradients(tape, y, w->x, w->wanted, out, .dy = w->dy);
    for (int i = 0; status == EG_OK && i < w->wanted; i++) {
        made += eg_numel(out[i]);
    }
    eg_scope_pop(scope, NULL);
    return status == EG_OK ? made : -1;
}

static bool make_recurrent(work *w, int64_t gates, eg_tensor *(*forward)(work *w))
{
    int64_t t = INT("t"), n = INT("n"), in = INT("i"), h = INT("h");
    w->x[0] = work_random(EG_SHAPE(t, n, in), -0.5, 0.5);
    w->x[1] = work_random(EG_SHAPE(gates * h, in), -0.05, 0.05);
    w->x[2] = work_random(EG_SHAPE(gates * h, h), -0.05, 0.05);
    w->x[3] = work_random(EG_SHAPE(gates * h), -0.05, 0.05);
    w->x[4] = work_random(EG_SHAPE(gates * h), -0.05, 0.05);
    w->dy = work_random(EG_SHAPE(t, n, h), -0.5, 0.5);
    w->wanted = 5;
    w->forward = forward;
    w->step = bench_is(w->c, "dir", "fwd") ? step_forward : step_train;
    return w->x[0] && w->x[1] && w->x[2] && w->x[3] && w->x[4] && w->dy;
}

static bool make_lstm(work *w)
{
    return make_recurrent(w, 4, lstm);
}

static bool make_gru(work *w)
{
    return make_recurrent(w, 3, gru);
}

static eg_tensor *cross_entropy(work *w)
{
    return eg_cross_entropy(w->x[0], w->x[1]);
}

static bool make_cross_entropy(work *w)
{
    int64_t rows = INT("rows"), cols = INT("cols");
    w->x[0] = work_random(EG_SHAPE(rows, cols), -0.5, 0.5);
    w->x[1] = work_indices(rows, cols);
    w->wanted = 1;
    w->forward = cross_entropy;
    w->step = bench_is(w->c, "dir", "fwd") ? step_forward : step_train;
    return w->x[0] && w->x[1];
}

static eg_tensor *ctc(work *w)
{
    return eg_ctc_loss(w->x[0], w->x[1]);
}

static bool make_ctc(work *w)
{
    const eg_shape s = EG_SHAPE(INT("t"), INT("n"), INT("classes"));
    const int64_t labels = INT("n") * INT("labels");
    w->x[0] = eg_log_softmax(work_random(s, -0.5, 0.5), 2);
    w->x[1] = eg_add_scalar(work_indices(labels, INT("classes") - 1), 1);
    w->x[1] = eg_reshape(w->x[1], EG_SHAPE(INT("n"), INT("labels")));
    w->wanted = 1;
    w->forward = ctc;
    w->step = bench_is(w->c, "dir", "fwd") ? step_forward : step_train;
    return w->x[0] && w->x[1];
}

static eg_tensor *sum_of_two(work *w)
{
    return eg_add(w->x[0], w->x[1]);
}

static bool make_taped(work *w)
{
    w->x[0] = work_random(EG_SHAPE(INT("n")), -0.5, 0.5);
    w->x[1] = work_random(EG_SHAPE(INT("n")), -0.5, 0.5);
    w->dy = work_random(EG_SHAPE(INT("n")), -0.5, 0.5);
    w->wanted = 2;
    w->forward = sum_of_two;
    w->step = step_train;
    return w->x[0] && w->x[1] && w->dy;
}

/* Parameters and their gradients live as long as the case, the optimizer until it is dropped. */
static eg_tensor *parameters[MANY], *gradients[MANY];

static int64_t step_optimizer(work *w)
{
    return eg_optim_step(w->optim, gradients) == EG_OK ? 0 : -1;
}

static eg_parameters make_parameters(work *w)
{
    int count = (int)INT("tensors");
    bool ok = count > 0 && count <= MANY;
    for (int i = 0; ok && i < count; i++) {
        parameters[i] = work_random(EG_SHAPE(INT("each")), -0.5, 0.5);
        gradients[i] = work_random(EG_SHAPE(INT("each")), -0.5, 0.5);
        ok = gradients[i] && eg_parameter(parameters[i]);
        eg_release(ok ? parameters[i] : NULL);
    }
    w->step = step_optimizer;
    return (eg_parameters){.tensors = ok ? parameters : NULL, .count = count};
}

static bool make_sgd(work *w)
{
    w->optim = eg_sgd_new(make_parameters(w), .lr = 1e-4, .momentum = 0.9);
    return w->optim != NULL;
}

static bool make_adam(work *w)
{
    w->optim = eg_adam_new(make_parameters(w), .lr = 1e-4);
    return w->optim != NULL;
}

const work_op work_train[] = {
    {"sgd", make_sgd},
    {"adam", make_adam},
    {"lstm", make_lstm},
    {"gru", make_gru},
    {"cross_entropy", make_cross_entropy},
    {"ctc", make_ctc},
    {"taped", make_taped},
    {NULL, NULL},
};
