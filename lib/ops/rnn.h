/* rnn.h - where recurrent layers keep what. Kernels and gradient rules share it.
 *
 * The reserve is one block: of an LSTM the gates i, f, g, o after their activations [T, N, 4 H],
 * the states h [T + 1, N, R], the states c [T + 1, N, H]; of a GRU the gates r, z, n [T, N, 3 H],
 * what the reset gate met [T, N, H], the states h [T + 1, N, H]. Both directions keep time's order:
 * the step at time t leads from state eg__rnn_before to state eg__rnn_after.
 *
 * A device's engine may keep what it likes instead, in bytes: a packed reserve. The gradient rows then give the
 * gradients of x and h0 (and c0) and, as one line, those of w_ih, w_hh, b_ih, b_hh and w_hr, whichever of them there
 * are. */
#ifndef EGRET_RNN_H
#define EGRET_RNN_H

#include "lib/ops/options.h"

/* Of a bad one: the length, its row, the steps. */
#define EG__SAY_LENGTH "length %lld of row %lld is outside 0..%lld"

typedef struct eg__rnn_plan {
    int64_t steps, rows, inputs, width, state; /* T, N, I, H, R */
    bool reverse;
    const eg_tensor *lengths; /* NULL: all rows take all steps */
    int64_t met, h, c;        /* where these begin in the reserve, in elements; gates at 0 */
} eg__rnn_plan;

static inline eg__rnn_plan eg__rnn_plan_of(int64_t steps, int64_t rows, int64_t width, int64_t state, bool reverse,
                                           const eg_tensor *lengths)
{
    int64_t cells = steps * rows * width;
    return (eg__rnn_plan){.steps = steps,
                          .rows = rows,
                          .width = width,
                          .state = state,
                          .reverse = reverse,
                          .lengths = lengths,
                          .met = 3 * cells,
                          .h = 4 * cells,
                          .c = 4 * cells + (steps + 1) * rows * state};
}

static inline eg__rnn_plan eg__rnn_forward_plan(const eg__call *c, int gates)
{
    const eg__rnn_opts *o = c->opts;
    const eg_tensor *x = c->in[EG__RNN_X], *w_hh = c->in[EG__RNN_W_HH];
    eg__rnn_plan p = eg__rnn_plan_of(x->shape[0], x->shape[1], w_hh->shape[0] / gates, w_hh->shape[1], o->reverse,
                                     c->in[EG__RNN_LENGTHS]);
    p.inputs = x->shape[2];
    return p;
}

static inline eg__rnn_plan eg__rnn_backward_plan(const eg__call *c, int gates)
{
    const eg__rnn_grad_opts *o = c->opts;
    const eg_tensor *w_hh = c->in[EG__RNN_GRAD_W_HH];
    return eg__rnn_plan_of(o->steps, o->rows, w_hh->shape[0] / gates, w_hh->shape[1], o->forward.reverse,
                           c->in[EG__RNN_GRAD_LENGTHS]);
}

static inline bool eg__rnn_packed(const eg_tensor *reserve)
{
    return reserve->dtype == EG_U8;
}

/* Numbers of that line. */
static inline int64_t eg__rnn_weights(const eg_tensor *w_hh, int64_t inputs, const eg_tensor *w_hr)
{
    return w_hh->n + w_hh->shape[0] * (inputs + 2) + (w_hr ? w_hr->n : 0);
}

/* Time of the s-th step, and the states it leads from and to. */
static inline int64_t eg__rnn_time(const eg__rnn_plan *p, int64_t s)
{
    return p->reverse ? p->steps - 1 - s : s;
}

static inline int64_t eg__rnn_before(const eg__rnn_plan *p, int64_t t)
{
    return t + p->reverse;
}

static inline int64_t eg__rnn_after(const eg__rnn_plan *p, int64_t t)
{
    return t + !p->reverse;
}

static inline int64_t eg__rnn_first(const eg__rnn_plan *p)
{
    return p->reverse ? p->steps : 0;
}

static inline int64_t eg__rnn_last(const eg__rnn_plan *p)
{
    return p->reverse ? 0 : p->steps;
}

/* Whether row n takes the step at time t. */
static inline bool eg__rnn_takes(const eg__rnn_plan *p, int64_t n, int64_t t)
{
    return !p->lengths || t < eg__load_int(eg__ptr(p->lengths), p->lengths->dtype, n);
}

#endif
