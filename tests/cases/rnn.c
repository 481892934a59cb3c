/* rnn.c - recurrent layers: both directions, lengths, states, biases, projection, clipping, both
 * reset gates; y, h and c all count. */
#include "tests/cases.h"

/* What a case is, in its user pointer. */
enum {
    GRU_LAYER = 1,
    CELL = 2,
    ONLY_Y = 4,
    ONLY_STATE = 8,
    B_IH = 16, /* inputs behind x, w_ih and w_hh, in this order */
    B_HH = 32,
    H0 = 64,
    C0 = 128,
    PROJECT = 256,
    LENGTHS = 512,
    REVERSE = 1024,
    BATCH_FIRST = 2048,
    RESET_BEFORE = 4096,
    CLIP = 8192,
    NO_ROWS = 16384,
};

/* Sums of results that fit together, so that every one has its weight in the gradient. */
static eg_tensor *mixed(eg_rnn r, unsigned is)
{
    if (!r.y || is & ONLY_Y) {
        return r.y;
    }
    if (is & NO_ROWS) {
        return eg_add(r.y, eg_mul_scalar(eg_add(r.h, r.c ? r.c : r.h), 0.25));
    }
    eg_tensor *h = eg_sum(r.h, .axes = EG_AXES(1));
    eg_tensor *c = r.c ? eg_sum(r.c, .axes = EG_AXES(1)) : NULL;
    h = c ? eg_add(h, eg_mul_scalar(c, 0.5)) : h;
    if (is & ONLY_STATE) {
        return h;
    }
    /* [T, N, R] or [N, T, R] + [N] along the rows' axis */
    eg_shape rows = is & BATCH_FIRST ? EG_SHAPE(-1, 1, 1) : EG_SHAPE(1, -1, 1);
    h = is & CELL ? eg_unsqueeze(h, 1) : eg_reshape(h, rows);
    return eg_add(r.y, eg_mul_scalar(h, 0.25));
}

static eg_tensor *run(eg_tensor *const *x, int n, void *user)
{
    unsigned is = (unsigned)(uintptr_t)user;
    int k = 3;
    (void)n;
    eg_tensor *b_ih = is & B_IH ? x[k++] : NULL, *b_hh = is & B_HH ? x[k++] : NULL;
    eg_tensor *h0 = is & H0 ? x[k++] : NULL, *c0 = is & C0 ? x[k++] : NULL;
    eg_tensor *w_hr = is & PROJECT ? x[k++] : NULL, *lengths = is & LENGTHS ? x[k++] : NULL;
    if (is & GRU_LAYER) {
        eg_gru_options o = {.size = sizeof o,
                            .b_ih = b_ih,
                            .b_hh = b_hh,
                            .h0 = h0,
                            .lengths = lengths,
                            .reverse = is & REVERSE,
                            .batch_first = is & BATCH_FIRST,
                            .reset_before = is & RESET_BEFORE};
        return mixed((is & CELL ? eg_gru_cell_with : eg_gru_with)(x[0], x[1], x[2], &o), is);
    }
    eg_lstm_options o = {.size = sizeof o,
                         .b_ih = b_ih,
                         .b_hh = b_hh,
                         .h0 = h0,
                         .c0 = c0,
                         .w_hr = w_hr,
                         .lengths = lengths,
                         .reverse = is & REVERSE,
                         .batch_first = is & BATCH_FIRST,
                         .clip = is & CLIP ? 0.4 : 0};
    return mixed((is & CELL ? eg_lstm_cell_with : eg_lstm_with)(x[0], x[1], x[2], &o), is);
}

#define IN(...)                     \
    {                               \
        DIMS(__VA_ARGS__), -1, 1, 0 \
    }
#define BIG(...)                    \
    {                               \
        DIMS(__VA_ARGS__), -2, 2, 0 \
    }
#define SMALL(...)                      \
    {                                   \
        DIMS(__VA_ARGS__), -0.2, 0.2, 0 \
    } /* as weights of many cells are */
#define UP_TO(most, n)                   \
    {                                    \
        DIMS(n), 0, most + 1, 1 + EG_I64 \
    }
#define AS(is) (void *)(uintptr_t)(is)
#define LSTM(name, is, ...)                                                           \
    {                                                                                 \
        "lstm lstm_grad", name, run, {__VA_ARGS__}, .tolerance = 2e-5, .user = AS(is) \
    }
#define GRU(name, is, ...)                                                                        \
    {                                                                                             \
        "gru gru_grad", name, run, {__VA_ARGS__}, .tolerance = 2e-5, .user = AS(GRU_LAYER | (is)) \
    }

EGT_CASES(rnn, LSTM("plain", ONLY_Y, IN(3, 2, 3), IN(8, 3), IN(8, 2)),
          LSTM("all of it", B_IH | B_HH | H0 | C0, IN(3, 2, 3), IN(8, 3), IN(8, 2), IN(8), IN(8), IN(2, 2), IN(2, 2)),
          LSTM("state alone", ONLY_STATE | B_HH, IN(3, 2, 3), IN(8, 3), IN(8, 2), IN(8)),
          LSTM("backwards", REVERSE | H0 | C0, IN(3, 2, 2), IN(8, 2), IN(8, 2), IN(2, 2), IN(2, 2)),
          LSTM("lengths", H0 | C0 | LENGTHS, IN(4, 3, 2), IN(8, 2), IN(8, 2), IN(3, 2), IN(3, 2), UP_TO(4, 3)),
          LSTM("lengths, no states", LENGTHS, IN(4, 3, 2), IN(8, 2), IN(8, 2), UP_TO(4, 3)),
          LSTM("lengths backwards", REVERSE | H0 | C0 | LENGTHS, IN(4, 3, 2), IN(8, 2), IN(8, 2), IN(3, 2), IN(3, 2),
               UP_TO(4, 3)),
          LSTM("batch first", BATCH_FIRST | B_IH, IN(2, 3, 3), IN(8, 3), IN(8, 2), IN(8)),
          LSTM("no axis of rows", NO_ROWS | B_IH | H0 | C0, IN(3, 3), IN(8, 3), IN(8, 2), IN(8), IN(2), IN(2)),
          LSTM("projection", PROJECT | H0 | C0, IN(3, 2, 2), IN(12, 2), IN(12, 2), IN(2, 2), IN(2, 3), IN(2, 3)),
          LSTM("projection, lengths, backwards", PROJECT | REVERSE | H0 | C0 | LENGTHS, IN(4, 3, 2), IN(12, 2),
               IN(12, 2), IN(3, 2), IN(3, 3), IN(2, 3), UP_TO(4, 3)),
          LSTM("clip", CLIP | H0 | C0, IN(3, 2, 2), BIG(8, 2), BIG(8, 2), IN(2, 2), IN(2, 2)),
          LSTM("wide", B_IH | B_HH, IN(3, 5, 19), IN(148, 19), IN(148, 37), IN(148), IN(148)),
          LSTM("shared by threads", B_IH | LENGTHS, IN(3, 7, 11), IN(1204, 11), SMALL(1204, 301), IN(1204),
               UP_TO(3, 7)),
          LSTM("one of everything", ONLY_Y, IN(1, 1, 1), IN(4, 1), IN(4, 1)),
          LSTM("no steps", ONLY_STATE | H0 | C0, IN(0, 2, 3), IN(8, 3), IN(8, 2), IN(2, 2), IN(2, 2)),
          LSTM("no rows", ONLY_Y, IN(2, 0, 3), IN(8, 3), IN(8, 2)),
          LSTM("no inputs", B_IH | H0, IN(3, 2, 0), IN(8, 0), IN(8, 2), IN(8), IN(2, 2)),
          LSTM("no cells", ONLY_Y, IN(3, 2, 3), IN(0, 3), IN(0, 0)),
          LSTM("cell", CELL | B_IH | B_HH | H0 | C0, IN(2, 3), IN(8, 3), IN(8, 2), IN(8), IN(8), IN(2, 2), IN(2, 2)),
          GRU("plain", ONLY_Y, IN(3, 2, 3), IN(6, 3), IN(6, 2)),
          GRU("all of it", B_IH | B_HH | H0, IN(3, 2, 3), IN(6, 3), IN(6, 2), IN(6), IN(6), IN(2, 2)),
          GRU("state alone", ONLY_STATE | B_HH, IN(3, 2, 3), IN(6, 3), IN(6, 2), IN(6)),
          GRU("lengths", H0 | LENGTHS, IN(4, 3, 2), IN(6, 2), IN(6, 2), IN(3, 2), UP_TO(4, 3)),
          GRU("lengths backwards", REVERSE | B_HH | H0 | LENGTHS, IN(4, 3, 2), IN(6, 2), IN(6, 2), IN(6), IN(3, 2),
              UP_TO(4, 3)),
          GRU("no axis of rows", NO_ROWS | B_HH | H0, IN(3, 3), IN(6, 3), IN(6, 2), IN(6), IN(2)),
          GRU("reset before", RESET_BEFORE | B_IH | B_HH | H0, IN(3, 2, 3), IN(6, 3), IN(6, 2), IN(6), IN(6), IN(2, 2)),
          GRU("reset before, lengths, backwards", RESET_BEFORE | REVERSE | H0 | LENGTHS, IN(4, 3, 2), IN(6, 2),
              IN(6, 2), IN(3, 2), UP_TO(4, 3)),
          GRU("reset before, no state", RESET_BEFORE, IN(3, 2, 3), IN(6, 3), IN(6, 2)),
          GRU("batch first", BATCH_FIRST | B_IH, IN(2, 3, 3), IN(6, 3), IN(6, 2), IN(6)),
          GRU("wide", B_IH | B_HH, IN(3, 5, 19), IN(111, 19), IN(111, 37), IN(111), IN(111)),
          GRU("shared by threads", B_IH | LENGTHS, IN(3, 7, 11), IN(903, 11), SMALL(903, 301), IN(903), UP_TO(3, 7)),
          GRU("wide, reset before", RESET_BEFORE | B_IH, IN(3, 5, 19), IN(111, 19), IN(111, 37), IN(111)),
          GRU("no steps", ONLY_STATE | H0, IN(0, 2, 3), IN(6, 3), IN(6, 2), IN(2, 2)),
          GRU("no inputs", B_IH | H0, IN(3, 2, 0), IN(6, 0), IN(6, 2), IN(6), IN(2, 2)),
          GRU("no cells, reset before", RESET_BEFORE, IN(3, 2, 3), IN(0, 3), IN(0, 0)),
          GRU("cell", CELL | B_IH | B_HH | H0, IN(2, 3), IN(6, 3), IN(6, 2), IN(6), IN(6), IN(2, 2)))
