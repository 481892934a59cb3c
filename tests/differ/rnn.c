/* rnn.c - recurrent layers and their cells. */
#include "tests/differ/differ.h"

OPTIONS(eg_lstm_options, TENSOR(eg_lstm_options, h0), TENSOR(eg_lstm_options, c0), TENSOR(eg_lstm_options, b_ih),
        TENSOR(eg_lstm_options, b_hh), TENSOR(eg_lstm_options, w_hr), TENSOR(eg_lstm_options, lengths),
        DOUBLE(eg_lstm_options, clip, 0, 0, 0.3, 5), BOOL(eg_lstm_options, batch_first), BOOL(eg_lstm_options, reverse))
OPTIONS(eg_gru_options, TENSOR(eg_gru_options, h0), TENSOR(eg_gru_options, b_ih), TENSOR(eg_gru_options, b_hh),
        TENSOR(eg_gru_options, lengths), BOOL(eg_gru_options, batch_first), BOOL(eg_gru_options, reverse),
        BOOL(eg_gru_options, reset_before))

typedef struct sizes {
    int64_t t, n, in, cells, out; /* steps, rows, inputs, cells, outputs */
    eg_dtype dtype;
} sizes;

static sizes draw_sizes(draw *d)
{
    sizes z = {chance(d, 2) ? 0 : pick(d, 1, 6),
               chance(d, 2) ? 0 : pick(d, 1, 5),
               draw_size(d, 20),
               1 + draw_size(d, 20),
               0,
               draw_float(d)};
    z.out = z.cells;
    return z;
}

static eg_tensor *maybe(draw *d, eg_shape s, eg_dtype t)
{
    return chance(d, 50) ? slot(operand(d, s, t)) : NULL;
}

static void sequence(draw *d, const sizes *z, int64_t gates, bool cell, bool batch_first)
{
    operand(d,
            cell          ? EG_SHAPE(z->n, z->in)
            : batch_first ? EG_SHAPE(z->n, z->t, z->in)
                          : EG_SHAPE(z->t, z->n, z->in),
            z->dtype);
    operand(d, EG_SHAPE(gates * z->cells, z->in), z->dtype);
    operand(d, EG_SHAPE(gates * z->cells, z->out), z->dtype);
}

static eg_tensor *draw_lengths(draw *d, const sizes *z, bool cell)
{
    return !cell && chance(d, 35) ? slot(indices(d, EG_SHAPE(z->n), z->t + 1, false)) : NULL;
}

static void lstm(draw *d, bool cell)
{
    sizes z = draw_sizes(d);
    eg_lstm_options *o = DRAW_OPTIONS(d, eg_lstm_options);
    bool projects = chance(d, 25);
    o->batch_first = o->batch_first && !cell;
    o->reverse = o->reverse && !cell;
    z.out = projects ? 1 + draw_size(d, 9) : z.cells;
    sequence(d, &z, 4, cell, o->batch_first);
    if (d->no_options && projects) {
        d->no_options = false;
    }
    o->w_hr = projects ? slot(operand(d, EG_SHAPE(z.out, z.cells), z.dtype)) : NULL;
    o->h0 = maybe(d, EG_SHAPE(z.n, z.out), z.dtype);
    o->c0 = maybe(d, EG_SHAPE(z.n, z.cells), z.dtype);
    o->b_ih = maybe(d, EG_SHAPE(4 * z.cells), z.dtype);
    o->b_hh = maybe(d, EG_SHAPE(4 * z.cells), z.dtype);
    o->lengths = draw_lengths(d, &z, cell);
}

static void gru(draw *d, bool cell)
{
    sizes z = draw_sizes(d);
    eg_gru_options *o = DRAW_OPTIONS(d, eg_gru_options);
    o->batch_first = o->batch_first && !cell;
    o->reverse = o->reverse && !cell;
    sequence(d, &z, 3, cell, o->batch_first);
    o->h0 = maybe(d, EG_SHAPE(z.n, z.cells), z.dtype);
    o->b_ih = maybe(d, EG_SHAPE(3 * z.cells), z.dtype);
    o->b_hh = maybe(d, EG_SHAPE(3 * z.cells), z.dtype);
    o->lengths = draw_lengths(d, &z, cell);
}

static void lstm_layer(draw *d)
{
    lstm(d, false);
}
static void lstm_cell(draw *d)
{
    lstm(d, true);
}
static void gru_layer(draw *d)
{
    gru(d, false);
}
static void gru_cell(draw *d)
{
    gru(d, true);
}
DIFFER(lstm, lstm_layer, 0, 20, eg_lstm_with(T0, T1, T2, O0))
DIFFER(lstm_cell, lstm_cell, 0, 20, eg_lstm_cell_with(T0, T1, T2, O0))
DIFFER(gru, gru_layer, 0, 20, eg_gru_with(T0, T1, T2, O0))
DIFFER(gru_cell, gru_cell, 0, 20, eg_gru_cell_with(T0, T1, T2, O0))

/* Two directions' results as they are, or of one that is not there. */
static void draw_join(draw *d)
{
    int64_t t = pick(d, 1, 4), n = pick(d, 1, 4), r = pick(d, 1, 6), c = pick(d, 1, 6);
    eg_dtype dtype = draw_float(d);
    for (int i = 0; i < 2; i++) {
        operand(d, EG_SHAPE(t, n, r), dtype);
        operand(d, EG_SHAPE(n, r), dtype);
        operand(d, EG_SHAPE(n, c), dtype);
    }
    if (chance(d, 40)) {
        d->t[2].absent = d->t[5].absent = true;
    }
}
DIFFER(rnn_join, draw_join, 0, 1, eg_rnn_join((eg_rnn){T0, T1, T2}, (eg_rnn){T3, T4, T5}))
