/* test_rnn.c - what recurrent layers refuse, and what lengths, cells and both directions have to
 * agree with. */
#include "tests/egt.h"

typedef struct weights {
    eg_tensor *x, *w_ih, *w_hh, *b, *h, *c;
} weights;

/* Three rows of four steps, five inputs, two cells. */
static weights make(int gates)
{
    return (weights){.x = egt_random(EG_SHAPE(4, 3, 5), EG_F32, -1, 1),
                     .w_ih = egt_random(EG_SHAPE(2 * gates, 5), EG_F32, -1, 1),
                     .w_hh = egt_random(EG_SHAPE(2 * gates, 2), EG_F32, -1, 1),
                     .b = egt_random(EG_SHAPE(2 * gates), EG_F32, -1, 1),
                     .h = egt_random(EG_SHAPE(3, 2), EG_F32, -1, 1),
                     .c = egt_random(EG_SHAPE(3, 2), EG_F32, -1, 1)};
}

#define LENGTHS(...) eg_from_values(EG_SHAPE(EG_COUNT_(double, __VA_ARGS__)), EG_I32, (double[]){__VA_ARGS__})
#define ZEROS(...)   eg_zeros(EG_SHAPE(__VA_ARGS__), EG_F32)

EGT(refused_shapes)
{
    weights l = make(4), g = make(3);
    EGT_REFUSED(eg_lstm(NULL, l.w_ih, l.w_hh), EG_EINVAL, "x");
    EGT_REFUSED(eg_lstm(l.x, NULL, l.w_hh), EG_EINVAL, "lstm");
    EGT_REFUSED(eg_lstm(l.x, l.w_ih, NULL), EG_EINVAL, "lstm");
    EGT_REFUSED(eg_lstm(ZEROS(5), l.w_ih, l.w_hh), EG_ESHAPE, "[5]");
    EGT_REFUSED(eg_lstm(ZEROS(3, 6), l.w_ih, l.w_hh), EG_ESHAPE, "[3, 1, 6]");
    EGT_REFUSED(eg_lstm(ZEROS(3, 5), l.w_ih, l.w_hh, .h0 = ZEROS(1, 2)), EG_ESHAPE,
                "h0 is [1, 2] and should be of rank 1");
    EGT_REFUSED(eg_lstm(ZEROS(3, 5), l.w_ih, l.w_hh, .c0 = ZEROS(1, 2)), EG_ESHAPE, "c0 is [1, 2]");
    EGT_REFUSED(eg_lstm(ZEROS(3, 5), l.w_ih, l.w_hh, .lengths = eg_ones(EG_SHAPE(1), EG_I64)), EG_ESHAPE,
                "lengths is [1]");
    EGT_REFUSED(eg_lstm(ZEROS(4, 3, 6), l.w_ih, l.w_hh), EG_ESHAPE, "[4, 3, 6]");
    EGT_REFUSED(eg_lstm(l.x, ZEROS(9, 5), l.w_hh), EG_ESHAPE, "[9, 5]");
    EGT_REFUSED(eg_lstm(l.x, l.w_ih, ZEROS(8, 3)), EG_ESHAPE, "w_hh is [8, 3] and should be [8, 2]");
    EGT_REFUSED(eg_lstm(l.x, l.w_ih, ZEROS(6, 2)), EG_ESHAPE, "w_hh is [6, 2]");
    EGT_REFUSED(eg_lstm(l.x, l.w_ih, l.w_hh, .b_ih = ZEROS(6)), EG_ESHAPE, "b_ih is [6]");
    EGT_REFUSED(eg_lstm(l.x, l.w_ih, l.w_hh, .b_hh = ZEROS(8, 1)), EG_ESHAPE, "b_hh is [8, 1]");
    EGT_REFUSED(eg_lstm(l.x, l.w_ih, l.w_hh, .h0 = ZEROS(4, 2)), EG_ESHAPE, "h0 is [4, 2]");
    EGT_REFUSED(eg_lstm(l.x, l.w_ih, l.w_hh, .c0 = ZEROS(1, 3, 2)), EG_ESHAPE, "c0 is [1, 3, 2]");
    EGT_REFUSED(eg_lstm(l.x, l.w_ih, l.w_hh, .w_hr = ZEROS(3, 2)), EG_ESHAPE, "w_hh is [8, 2] and should be [8, 3]");
    EGT_REFUSED(eg_lstm(l.x, l.w_ih, l.w_hh, .w_hr = ZEROS(2)), EG_ESHAPE, "w_hr");
    EGT_REFUSED(eg_gru(g.x, l.w_ih, g.w_hh), EG_ESHAPE, "[8, 5]");
    EGT_REFUSED(eg_gru(g.x, g.w_ih, g.w_hh, .h0 = ZEROS(3, 3)), EG_ESHAPE, "h0 is [3, 3]");
    EGT_REFUSED(eg_lstm_cell(l.x, l.w_ih, l.w_hh), EG_ESHAPE, "lstm_cell");
    EGT_REFUSED(eg_gru_cell(NULL, g.w_ih, g.w_hh), EG_EINVAL, "gru_cell");
    EGT_REFUSED(eg_gru_cell(ZEROS(3, 5), g.w_ih, g.w_hh, .reverse = true), EG_EINVAL, "reverse");
}

EGT(refused_values)
{
    weights l = make(4), g = make(3);
    /* Devices say so when they are waited for. */
    EGT_REFUSED(eg_item(eg_sum(eg_lstm(l.x, l.w_ih, l.w_hh, .lengths = LENGTHS(4, 5, 1)).y)), EG_EINDEX,
                "length 5 of row 1");
    EGT_REFUSED(eg_item(eg_sum(eg_lstm(l.x, l.w_ih, l.w_hh, .lengths = LENGTHS(4, 1, -1)).y)), EG_EINDEX,
                "length -1 of row 2");
    EGT_REFUSED(eg_lstm(l.x, l.w_ih, l.w_hh, .lengths = LENGTHS(4, 1)), EG_ESHAPE, "lengths is [2]");
    EGT_REFUSED(eg_gru(g.x, g.w_ih, g.w_hh, .lengths = ZEROS(3)), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_lstm(l.x, l.w_ih, eg_cast(l.w_hh, EG_F64)), EG_EDTYPE, "f64");
    EGT_REFUSED(eg_lstm(eg_cast(l.x, EG_I32), l.w_ih, l.w_hh), EG_EDTYPE, "i32");
    EGT_REFUSED(eg_lstm(l.x, l.w_ih, l.w_hh, .clip = -1), EG_EINVAL, "clip");
    EGT_REFUSED(eg_lstm(l.x, l.w_ih, l.w_hh, .clip = NAN), EG_EINVAL, "clip");
    eg_rnn r = eg_lstm(l.x, l.w_ih, l.w_hh, .clip = -1);
    EGT_CHECK(!r.y && !r.h && !r.c && egt_said(EG_EINVAL, "clip"));
}

static eg_tensor *row(eg_tensor *t, int axis)
{
    return eg_select(t, axis, 1);
}

#define SAME(a, b)                            \
    do {                                      \
        EGT_EQ(eg_ndim(a), eg_ndim(b));       \
        EGT_CHECK(egt_distance(a, b) < 1e-6); \
    } while (0)

/* A sequence [T, I] is one row, and nothing beside it has an axis of rows. */
EGT(sequences_without_rows)
{
    weights l = make(4), g = make(3);
    eg_tensor *x = row(l.x, 1), *h0 = row(l.h, 0), *c0 = row(l.c, 0);
    const int64_t two[] = {2, 2, 2};
    for (int k = 0; k < 4; k++) {
        bool reverse = k & 1, first = k & 2; /* there are no rows to be first */
        eg_rnn all = eg_lstm(l.x, l.w_ih, l.w_hh, .b_ih = l.b, .h0 = l.h, .c0 = l.c, .reverse = reverse);
        eg_rnn one =
            eg_lstm(x, l.w_ih, l.w_hh, .b_ih = l.b, .h0 = h0, .c0 = c0, .reverse = reverse, .batch_first = first);
        SAME(one.y, row(all.y, 1));
        SAME(one.h, row(all.h, 0));
        SAME(one.c, row(all.c, 0));
        all = eg_gru(g.x, g.w_ih, g.w_hh, .b_hh = g.b, .h0 = g.h, .reverse = reverse);
        one = eg_gru(row(g.x, 1), g.w_ih, g.w_hh, .b_hh = g.b, .h0 = row(g.h, 0), .reverse = reverse,
                     .batch_first = first);
        SAME(one.y, row(all.y, 1));
        SAME(one.h, row(all.h, 0));
        EGT_CHECK(!one.c);
    }
    eg_rnn all = eg_lstm(l.x, l.w_ih, l.w_hh, .lengths = eg_cast(eg_from(EG_SHAPE(3), EG_I64, two), EG_U8));
    SAME(eg_lstm(x, l.w_ih, l.w_hh, .lengths = eg_scalar(2, EG_U8)).y, row(all.y, 1));
    eg_rnn step = eg_lstm_cell(eg_select(l.x, 0, 0), l.w_ih, l.w_hh, .h0 = l.h, .c0 = l.c);
    eg_rnn one = eg_lstm_cell(eg_select(x, 0, 0), l.w_ih, l.w_hh, .h0 = h0, .c0 = c0);
    SAME(one.y, row(step.y, 0));
    SAME(one.c, row(step.c, 0));
    step = eg_gru_cell(eg_select(g.x, 0, 0), g.w_ih, g.w_hh);
    SAME(eg_gru_cell(eg_select(row(g.x, 1), 0, 0), g.w_ih, g.w_hh).h, row(step.h, 0));
    EGT_REFUSED(eg_gru_cell(ZEROS(1, 2, 5), g.w_ih, g.w_hh), EG_ESHAPE, "[N, I] or [I]");
}

/* Every row with a length is the same row alone. */
EGT(lengths_in_any_order)
{
    weights l = make(4);
    static const int64_t length[] = {2, 4, 0};
    for (int reverse = 0; reverse < 2; reverse++) {
        eg_rnn all = eg_lstm(l.x, l.w_ih, l.w_hh, .b_ih = l.b, .h0 = l.h, .c0 = l.c,
                             .lengths = eg_from(EG_SHAPE(3), EG_I64, length), .reverse = reverse);
        for (int n = 0; n < 3; n++) {
            eg_tensor *x = eg_slice(eg_slice(l.x, 1, n, n + 1, 1), 0, 0, length[n], 1);
            eg_rnn one = eg_lstm(x, l.w_ih, l.w_hh, .b_ih = l.b, .h0 = eg_slice(l.h, 0, n, n + 1, 1),
                                 .c0 = eg_slice(l.c, 0, n, n + 1, 1), .reverse = reverse);
            eg_tensor *y = eg_slice(all.y, 1, n, n + 1, 1);
            EGT_CHECK(egt_distance(eg_slice(y, 0, 0, length[n], 1), one.y) < 1e-6);
            EGT_EQ(eg_item(eg_sum(eg_abs(eg_slice(y, 0, length[n], EG_END, 1)))), 0);
            EGT_CHECK(egt_distance(eg_slice(all.h, 0, n, n + 1, 1), one.h) < 1e-6);
            EGT_CHECK(egt_distance(eg_slice(all.c, 0, n, n + 1, 1), one.c) < 1e-6);
        }
    }
}

EGT(cells_are_steps_of_a_layer)
{
    weights g = make(3), l = make(4);
    eg_rnn rg = {.h = g.h}, rl = {.h = l.h, .c = l.c};
    for (int t = 0; t < 4; t++) {
        rg = eg_gru_cell(eg_select(g.x, 0, t), g.w_ih, g.w_hh, .b_hh = g.b, .h0 = rg.h);
        rl = eg_lstm_cell(eg_select(l.x, 0, t), l.w_ih, l.w_hh, .b_ih = l.b, .h0 = rl.h, .c0 = rl.c);
        EGT_CHECK(rg.y == rg.h && !rg.c && rl.y == rl.h);
    }
    eg_rnn whole = eg_gru(g.x, g.w_ih, g.w_hh, .b_hh = g.b, .h0 = g.h);
    EGT_CHECK(egt_distance(rg.h, whole.h) < 1e-6);
    EGT_CHECK(egt_distance(eg_select(whole.y, 0, 3), whole.h) == 0);
    whole = eg_lstm(l.x, l.w_ih, l.w_hh, .b_ih = l.b, .h0 = l.h, .c0 = l.c);
    EGT_CHECK(egt_distance(rl.h, whole.h) < 1e-6 && egt_distance(rl.c, whole.c) < 1e-6);
}

EGT(both_directions_joined)
{
    weights g = make(3), l = make(4);
    eg_rnn a = eg_lstm(l.x, l.w_ih, l.w_hh), b = eg_lstm(l.x, l.w_ih, l.w_hh, .reverse = true);
    eg_rnn r = eg_rnn_join(a, b);
    EGT_CHECK(eg_size(r.y, 2) == 4 && eg_ndim(r.h) == 3 && eg_size(r.c, 0) == 2);
    EGT_EQ(egt_distance(eg_slice(r.y, 2, 2, 4, 1), b.y), 0);
    EGT_EQ(egt_distance(eg_select(r.c, 0, 0), a.c), 0);
    r = eg_rnn_join(eg_gru(g.x, g.w_ih, g.w_hh), eg_gru(g.x, g.w_ih, g.w_hh, .reverse = true));
    EGT_CHECK(r.y && r.h && !r.c);
    eg_clear_error();
    r = eg_rnn_join(a, (eg_rnn){NULL, NULL, NULL});
    EGT_CHECK(!r.y && !r.h && !r.c && egt_said(EG_EINVAL, ""));
}

/* A parameter's gradient through all results at once, against the sum of each alone. */
EGT(results_share_one_walk)
{
    weights l = make(4);
    eg_tensor *w = eg_parameter(l.w_hh), *each[3], *all;
    for (int k = 0; k < 4; k++) {
        eg_tape tape = eg_tape_open();
        eg_rnn r = eg_lstm(l.x, l.w_ih, w, .h0 = l.h, .c0 = l.c);
        eg_tensor *y = eg_sum(r.y), *h = eg_sum(r.h), *c = eg_sum(r.c);
        eg_tensor *loss = k == 0 ? y : k == 1 ? h : k == 2 ? c : eg_add(y, eg_add(h, c));
        EGT_OK(eg_tape_gradients(tape, loss, &w, 1, k < 3 ? &each[k] : &all));
    }
    EGT_CHECK(egt_distance(all, eg_add(each[0], eg_add(each[1], each[2]))) < 1e-5);
    eg_release(w);
}

/* Weights are packed where a call uses them often; that another call has used them before does not tell in the last
 * bits: a run that goes on from a checkpoint has not been judged before its next step. */
EGT(calls_before_do_not_tell)
{
    const int64_t rows[] = {1, 5, 8, 20, 40}, steps[] = {1, 2, 3, 5, 9};
    for (int i = 0; i < 5 * 5 * 2; i++) {
        int64_t N = rows[i % 5], T = steps[i / 5 % 5], I = 12, H = 24;
        bool lstm = i >= 25;
        eg_tensor *x = egt_random(EG_SHAPE(T, N, I), EG_F32, -1, 1), *h0 = egt_random(EG_SHAPE(N, H), EG_F32, -1, 1);
        eg_tensor *w_ih = egt_random(EG_SHAPE((lstm ? 4 : 3) * H, I), EG_F32, -1, 1);
        eg_tensor *w_hh = egt_random(EG_SHAPE((lstm ? 4 : 3) * H, H), EG_F32, -1, 1), *first = NULL;
        for (int n = 0; n < 5; n++) {
            eg_tensor *y =
                lstm ? eg_lstm(x, w_ih, w_hh, .h0 = h0).y : eg_gru(x, w_ih, w_hh, .h0 = h0, .reset_before = i % 2).y;
            first = first ? first : y;
            EGT_EQ(egt_distance(y, first), 0);
        }
    }
}
