/* recurrent.h - layers the tests of recurrent layers on devices have in common. */
#ifndef EGRET_TESTS_CUDA_RECURRENT_H
#define EGRET_TESTS_CUDA_RECURRENT_H

#include "tests/cuda/module.h"

/* A layer on the device: of 4 gates an LSTM, of 3 a GRU. */
typedef struct given {
    int gates;
    eg_tensor *x, *w_ih, *w_hh, *b_ih, *b_hh, *h0, *c0, *lengths, *w_hr;
    bool reset_before;
} given;

enum { ROWS = 3, INPUTS = 6, WIDTH = 8 };

static inline eg_tensor *there(eg_shape shape, eg_dtype dtype)
{
    return eg_to(egt_random(shape, dtype, -0.5, 0.5), cuda(0));
}

static inline given make(int gates, int64_t steps, eg_dtype dtype)
{
    return (given){.gates = gates,
                   .x = there(EG_SHAPE(steps, ROWS, INPUTS), dtype),
                   .w_ih = there(EG_SHAPE(gates * WIDTH, INPUTS), dtype),
                   .w_hh = there(EG_SHAPE(gates * WIDTH, WIDTH), dtype),
                   .b_ih = there(EG_SHAPE(gates * WIDTH), dtype),
                   .b_hh = there(EG_SHAPE(gates * WIDTH), dtype),
                   .h0 = there(EG_SHAPE(ROWS, WIDTH), dtype),
                   .c0 = there(EG_SHAPE(ROWS, WIDTH), dtype)};
}

static inline eg_rnn run(const given *g)
{
    return g->gates == 4 ? eg_lstm(g->x, g->w_ih, g->w_hh, .b_ih = g->b_ih, .b_hh = g->b_hh, .h0 = g->h0, .c0 = g->c0,
                                   .lengths = g->lengths, .w_hr = g->w_hr)
                         : eg_gru(g->x, g->w_ih, g->w_hh, .b_ih = g->b_ih, .b_hh = g->b_hh, .h0 = g->h0,
                                  .lengths = g->lengths, .reset_before = g->reset_before);
}

#endif
