/* test_recurrent.c - what is put around recurrent layers: sums with x, dropout, stacks, two directions. */
#include <stddef.h>

#include "tests/egt.h"

enum { T = 5, N = 3, WIDTH = 4, ACROSS = WIDTH / 2 };

static eg_module *lstm(int64_t in, int64_t hidden)
{
    return eg_lstm_new(in, hidden, .dtype = EG_F64);
}

static eg_tensor *sequence(void)
{
    return egt_random(EG_SHAPE(T, N, WIDTH), EG_F64, -1, 1);
}

static eg_tensor *states(int64_t count, int64_t width)
{
    return egt_random(EG_SHAPE(count, N, width), EG_F64, -1, 1);
}

/* On the CPU wherever x is. */
static eg_tensor *some_lengths(void)
{
    return eg_to(eg_from_values(EG_SHAPE(N), EG_I64, (double[]){3, 5, 0}), eg_cpu());
}

static eg_tensor *joined(eg_tensor *a, eg_tensor *b, int axis)
{
    return eg_concat((eg_tensor *[]){a, b}, 2, axis);
}

static double apart(eg_rnn a, eg_rnn b)
{
    double most = fmax(egt_distance(a.y, b.y), egt_distance(a.h, b.h));
    return !a.c != !b.c ? (double)INFINITY : a.c ? fmax(most, egt_distance(a.c, b.c)) : most;
}

/* Everything inside of everything: h and c [5, N, 2], x and y of 4 columns, two of which each direction makes. */
static eg_module *nested(void)
{
    eg_module *across =
        eg_bidirectional_new(lstm(WIDTH, ACROSS), eg_rnn_dropout_new(lstm(WIDTH, ACROSS), .input = 0.4));
    eg_module *low = eg_rnn_residual_new(eg_rnn_dropout_new(across, .output = 0.3, .variational = true));
    eg_module *narrow = eg_rnn_stack_new(lstm(WIDTH, ACROSS), eg_rnn_residual_new(lstm(ACROSS, ACROSS)));
    return eg_rnn_residual_new(eg_rnn_stack_new(low, eg_bidirectional_new(narrow, lstm(WIDTH, ACROSS))));
}

/* ---- sums with x ---------------------------------------------------------------------------------- */

EGT(x_is_added)
{
    eg_tensor *x = sequence(), *n = some_lengths();
    for (int k = 0; k < 2; k++) {
        eg_rnn_layer_options o = {.size = sizeof o, .layers = 2, .dtype = EG_F64};
        eg_module *inner = (k ? eg_lstm_new_with : eg_gru_new_with)(WIDTH, WIDTH, &o), *m = eg_rnn_residual_new(inner);
        eg_tensor *h0 = states(2, WIDTH), *c0 = k ? states(2, WIDTH) : NULL;
        eg_rnn plain = eg_rnn_forward(inner, x, .h0 = h0, .c0 = c0), r = eg_rnn_forward(m, x, .h0 = h0, .c0 = c0);
        EGT_EQ(apart(r, (eg_rnn){eg_add(x, plain.y), plain.h, plain.c}), 0);
        EGT_EQ(egt_distance(eg_module_forward(m, x), eg_add(x, eg_module_forward(inner, x))), 0);
        plain = eg_rnn_forward(inner, x, .lengths = n);
        r = eg_rnn_forward(m, x, .lengths = n);
        EGT_EQ(egt_distance(r.h, plain.h), 0);
        for (int64_t i = 0; i < T * N * WIDTH; i++) { /* 0 past the ends */
            bool there = i / WIDTH / N < eg_get(n, i / WIDTH % N);
            EGT_EQ(eg_get(r.y, i), there ? eg_get(x, i) + eg_get(plain.y, i) : 0);
        }
        eg_rnn small = eg_rnn_forward(m, x, .lengths = eg_cast(n, EG_U8));
        EGT_EQ(apart(small, r), 0);
        EGT_STR(eg_module_parameters(m).names[0], "rnn.weight_ih_l0");
        EGT_OK(eg_module_free(m));
    }
}

/* What is not a number beyond the end of a row stays there, and gets no gradient. */
EGT(padding_is_not_read)
{
    eg_module *m = eg_rnn_residual_new(lstm(WIDTH, WIDTH));
    eg_tensor *x = sequence(), *n = some_lengths(), *dx;
    eg_tensor *bad = eg_copy(x);
    EGT_OK(eg_set(bad, (T * N - N) * WIDTH, (double)NAN)); /* the last step of row 0 */
    EGT_EQ(apart(eg_rnn_forward(m, bad, .lengths = n), eg_rnn_forward(m, x, .lengths = n)), 0);
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    EGT_OK(eg_tape_gradients(tape, eg_sum(eg_rnn_forward(m, x, .lengths = n).y), &x, 1, &dx));
    for (int64_t i = 0; i < T * N; i++) {
        bool there = i / N < eg_get(n, i % N);
        EGT_EQ(eg_item(eg_sum(eg_abs(eg_select(eg_reshape(dx, EG_SHAPE(T * N, WIDTH)), 0, i)))) > 0, there);
    }
    EGT_OK(eg_module_free(m));
}

/* ---- dropout -------------------------------------------------------------------------------------- */

/* 0 and 1 where y was dropped and kept. */
static eg_tensor *kept(eg_tensor *y)
{
    return eg_cast(eg_ne_scalar(y, 0), EG_F64);
}

static bool always_or_never(eg_tensor *often)
{
    return eg_item(eg_sum(eg_sub(often, eg_square(often)))) == 0;
}

EGT(dropout_of_what_goes_in_and_out)
{
    eg_tensor *x = egt_random(EG_SHAPE(8, 50, 20), EG_F64, 1, 2), *dx;
    for (int k = 0; k < 4; k++) {
        bool variational = k & 1, first = k & 2;
        const int steps = first ? 1 : 0;
        eg_tensor *in = first ? eg_transpose(x, 0, 1) : x;
        eg_module *inner = eg_lstm_new(20, 20, .dtype = EG_F64, .batch_first = first);
        eg_module *m = eg_rnn_dropout_new(inner, .output = 0.25, .variational = variational);
        eg_rnn calm = eg_rnn_forward(inner, in), r = eg_rnn_forward(m, in);
        EGT_EQ(egt_distance(r.h, calm.h), 0);
        EGT_EQ(egt_distance(r.c, calm.c), 0);
        EGT_CHECK(egt_distance(r.y, eg_mul(eg_mul_scalar(calm.y, 4.0 / 3), kept(r.y))) < 1e-14);
        EGT_NEAR(eg_item(eg_mean(kept(r.y))), 0.75, 0.04);
        /* how often a row's column is kept: in all steps or in none, or in some */
        eg_tensor *often = eg_mean(kept(r.y), .axes = EG_AXES(steps));
        EGT_EQ(always_or_never(often), variational);
        EGT_CHECK(eg_item(eg_std(eg_mean(often, .axes = EG_AXES(0)))) > 0); /* rows differ */
        EGT_CHECK(egt_distance(eg_module_forward(m, in), r.y) > 0.01);      /* each call draws */
        EGT_OK(eg_module_eval(m));
        EGT_EQ(apart(eg_rnn_forward(m, in), calm), 0);
        EGT_OK(eg_module_free(m));
        m = eg_rnn_dropout_new(eg_lstm_new(20, 20, .dtype = EG_F64, .batch_first = first), .input = 0.25,
                               .variational = variational);
        eg_tape tape = eg_tape_open(); /* a gradient of 0 has what was dropped on its way in */
        EGT_OK(eg_tape_watch(tape, in));
        EGT_OK(eg_tape_gradients(tape, eg_sum(eg_module_forward(m, in)), &in, 1, &dx));
        EGT_NEAR(eg_item(eg_mean(kept(dx))), 0.75, 0.04);
        often = eg_mean(kept(dx), .axes = EG_AXES(steps));
        EGT_EQ(always_or_never(often), variational);
        EGT_OK(eg_module_free(m));
    }
}

EGT(dropout_at_its_ends)
{
    eg_tensor *x = sequence();
    for (int k = 0; k < 2; k++) {
        eg_module *none = eg_rnn_dropout_new(lstm(WIDTH, WIDTH), .variational = k);
        EGT_EQ(egt_distance(eg_module_forward(none, x), eg_module_forward(eg_module_find(none, "rnn"), x)), 0);
        eg_module *all = eg_rnn_dropout_new(lstm(WIDTH, 2), .output = 1, .variational = k);
        EGT_EQ(egt_distance(eg_module_forward(all, x), eg_zeros(EG_SHAPE(T, N, 2), EG_F64)), 0);
        EGT_OK(eg_module_free(none));
        EGT_OK(eg_module_free(all));
    }
}

/* ---- stacks --------------------------------------------------------------------------------------- */

EGT(stacks_hold_the_states_of_all)
{
    eg_module *deep = eg_lstm_new(WIDTH, 3, .layers = 2, .dtype = EG_F64), *top = eg_rnn_residual_new(lstm(3, 3));
    eg_module *m = eg_rnn_stack_new(deep, eg_named("top", top));
    eg_tensor *x = sequence(), *n = some_lengths(), *h0 = states(3, 3), *c0 = states(3, 3);
    eg_rnn low = eg_rnn_forward(deep, x, .h0 = eg_slice(h0, 0, 0, 2, 1), .c0 = eg_slice(c0, 0, 0, 2, 1), .lengths = n);
    eg_rnn high =
        eg_rnn_forward(top, low.y, .h0 = eg_slice(h0, 0, 2, 3, 1), .c0 = eg_slice(c0, 0, 2, 3, 1), .lengths = n);
    eg_rnn r = eg_rnn_forward(m, x, .h0 = h0, .c0 = c0, .lengths = n);
    EGT_EQ(apart(r, (eg_rnn){high.y, joined(low.h, high.h, 0), joined(low.c, high.c, 0)}), 0);
    EGT_EQ(egt_distance(eg_module_forward(m, x), eg_module_forward(top, eg_module_forward(deep, x))), 0);
    EGT_EQ(eg_module_count(m), 2);
    EGT_CHECK(eg_module_at(m, 1) == top && eg_module_find(m, "top") == top && eg_module_find(m, "0") == deep);
    EGT_STR(eg_module_parameters(m).names[8], "top.rnn.weight_ih_l0");
    eg_tensors *taps = eg_tensors_new();
    eg_tensor *y = eg_module_forward_taps(m, x, "**", taps);
    EGT_EQ(eg_tensors_count(taps), 3);
    EGT_EQ(egt_distance(eg_tensors_get(taps, "top"), y), 0);
    EGT_EQ(egt_distance(eg_add(eg_tensors_get(taps, "top.rnn"), eg_tensors_get(taps, "0")), y), 0);
    eg_tensors_free(taps);
    EGT_OK(eg_module_free(m));
    m = eg_rnn_stack_new(eg_gru_new(WIDTH, 3, .dtype = EG_F64));
    r = eg_rnn_forward(m, x, .h0 = eg_slice(h0, 0, 0, 1, 1));
    EGT_EQ(apart(r, eg_rnn_forward(eg_module_at(m, 0), x, .h0 = eg_slice(h0, 0, 0, 1, 1))), 0);
    EGT_CHECK(!r.c);
    EGT_OK(eg_module_free(m));
}

EGT(halves_of_a_sequence_make_the_whole)
{
    eg_module *m =
        eg_rnn_stack_new(eg_rnn_dropout_new(lstm(WIDTH, WIDTH), .input = 0.5, .output = 0.5, .variational = true),
                         eg_rnn_residual_new(eg_lstm_new(WIDTH, WIDTH, .layers = 2, .dtype = EG_F64)));
    EGT_OK(eg_module_eval(m));
    eg_tensor *x = sequence();
    eg_rnn whole = eg_rnn_forward(m, x), first = eg_rnn_forward(m, eg_slice(x, 0, 0, 2, 1));
    eg_rnn second = eg_rnn_forward(m, eg_slice(x, 0, 2, T, 1), .h0 = first.h, .c0 = first.c);
    EGT_CHECK(apart((eg_rnn){joined(first.y, second.y, 0), second.h, second.c}, whole) < 1e-14);
    EGT_OK(eg_module_free(m));
}

/* ---- two directions ------------------------------------------------------------------------------- */

static void copy_weights(eg_module *to, eg_module *const *from, int n)
{
    int at = 0;
    for (int i = 0; i < n; i++) {
        eg_parameters p = eg_module_parameters(from[i]), q = eg_module_parameters(to);
        for (int k = 0; k < p.count; k++) {
            EGT_CHECK(eg_copy_(q.tensors[at++], p.tensors[k]));
        }
    }
}

EGT(two_directions_are_a_bidirectional_layer)
{
    eg_tensor *x = sequence(), *n = some_lengths();
    for (int k = 0; k < 4; k++) {
        bool cells = k & 1, first = k & 2;
        eg_module *(*layer)(int64_t, int64_t, const eg_rnn_layer_options *) =
            cells ? eg_lstm_new_with : eg_gru_new_with;
        eg_rnn_layer_options o = {.size = sizeof o, .batch_first = first, .dtype = EG_F64};
        eg_module *part[2] = {layer(WIDTH, 3, &o), layer(WIDTH, 3, &o)}, *m = eg_bidirectional_new(part[0], part[1]);
        o.bidirectional = true;
        eg_module *both = layer(WIDTH, 3, &o);
        copy_weights(both, part, 2);
        eg_tensor *in = first ? eg_transpose(x, 0, 1) : x, *h0 = states(2, 3), *c0 = cells ? states(2, 3) : NULL;
        EGT_EQ(apart(eg_rnn_forward(m, in, .h0 = h0, .c0 = c0), eg_rnn_forward(both, in, .h0 = h0, .c0 = c0)), 0);
        eg_rnn r = eg_rnn_forward(m, in, .h0 = h0, .c0 = c0, .lengths = n);
        EGT_EQ(apart(r, eg_rnn_forward(both, in, .h0 = h0, .c0 = c0, .lengths = n)), 0);
        EGT_EQ(egt_distance(eg_module_forward(m, in), eg_module_forward(both, in)), 0);
        EGT_OK(eg_module_free(m));
        EGT_OK(eg_module_free(both));
    }
}

/* Deep parts, with lengths: each row by itself, turned round in memory. */
EGT(each_row_is_read_back_from_its_own_end)
{
    eg_module *there = eg_rnn_stack_new(lstm(WIDTH, 3), eg_rnn_residual_new(lstm(3, 3)));
    eg_module *back = eg_lstm_new(WIDTH, 3, .layers = 2, .dtype = EG_F64), *m = eg_bidirectional_new(there, back);
    eg_tensor *x = sequence(), *n = some_lengths(), *h0 = states(4, 3), *c0 = states(4, 3);
    eg_rnn r = eg_rnn_forward(m, x, .h0 = h0, .c0 = c0, .lengths = n);
    for (int i = 0; i < N; i++) {
        int64_t steps = (int64_t)eg_get(n, i);
        eg_tensor *row = eg_slice(eg_select(x, 1, i), 0, 0, steps, 1), *h = eg_select(h0, 1, i),
                  *c = eg_select(c0, 1, i);
        eg_rnn a = eg_rnn_forward(there, row, .h0 = eg_slice(h, 0, 0, 2, 1), .c0 = eg_slice(c, 0, 0, 2, 1));
        eg_rnn b = eg_rnn_forward(back, eg_flip(row, EG_AXES(0)), .h0 = eg_slice(h, 0, 2, 4, 1),
                                  .c0 = eg_slice(c, 0, 2, 4, 1));
        eg_tensor *y = eg_select(r.y, 1, i), *both = joined(a.y, eg_flip(b.y, EG_AXES(0)), 1);
        EGT_CHECK(egt_distance(eg_slice(y, 0, 0, steps, 1), both) < 1e-14);
        EGT_EQ(eg_item(eg_sum(eg_abs(eg_slice(y, 0, steps, T, 1)))), 0);
        EGT_CHECK(egt_distance(eg_select(r.h, 1, i), joined(a.h, b.h, 0)) < 1e-14);
        EGT_CHECK(egt_distance(eg_select(r.c, 1, i), joined(a.c, b.c, 0)) < 1e-14);
    }
    EGT_OK(eg_module_free(m));
}

/* Modules without states, and layers whose states cannot be joined, have y alone. */
EGT(two_directions_of_other_modules)
{
    eg_tensor *x = sequence(), *rows_first = eg_transpose(x, 0, 1);
    for (int k = 0; k < 4; k++) {
        bool first = k == 3;
        eg_tensor *in = first ? rows_first : x;
        eg_axes steps = EG_AXES(first ? 1 : 0);
        eg_module *there = eg_lstm_new(WIDTH, 3, .dtype = EG_F64, .batch_first = first);
        eg_module *back = k == 0   ? eg_gru_new(WIDTH, 3, .dtype = EG_F64)
                          : k == 1 ? eg_sequential_new(lstm(WIDTH, 3))
                                   : eg_lstm_new(WIDTH, 2, .dtype = EG_F64, .batch_first = first);
        eg_module *m = eg_bidirectional_new(there, back);
        eg_tensor *turned = eg_flip(eg_module_forward(back, eg_flip(in, steps)), steps);
        EGT_EQ(egt_distance(eg_module_forward(m, in), joined(eg_module_forward(there, in), turned, -1)), 0);
        EGT_EQ(eg_size(eg_module_forward(m, eg_select(x, 1, 0)), 0), T); /* a sequence alone */
        EGT_REFUSED(eg_rnn_forward(m, in).y, EG_EINVAL, "bidirectional is no recurrent");
        EGT_REFUSED(eg_rnn_residual_new(m), EG_EINVAL, "bidirectional is no recurrent");
    }
}

/* ---- inside each other ---------------------------------------------------------------------------- */

EGT(turned_round_is_flipped)
{
    eg_module *m = nested();
    EGT_OK(eg_module_eval(m));
    eg_tensor *x = sequence(), *h0 = states(5, ACROSS), *c0 = states(5, ACROSS);
    eg_rnn back = eg_rnn_forward(m, x, .h0 = h0, .c0 = c0, .reverse = true);
    eg_rnn flipped = eg_rnn_forward(m, eg_flip(x, EG_AXES(0)), .h0 = h0, .c0 = c0);
    flipped.y = eg_flip(flipped.y, EG_AXES(0));
    EGT_CHECK(apart(back, flipped) < 1e-14);
    EGT_CHECK(apart(back, eg_rnn_forward(m, x, .h0 = h0, .c0 = c0)) > 1e-3);
    EGT_OK(eg_module_free(m));
}

/* A caller built before there was a .reverse: it is not read, and parts that read backwards are told so nonetheless. */
EGT(the_start_of_an_older_caller)
{
    eg_module *m = nested();
    EGT_OK(eg_module_eval(m));
    eg_tensor *x = sequence(), *n = some_lengths();
    eg_rnn_start older = {.size = offsetof(eg_rnn_start, reverse), .lengths = n, .reverse = true};
    EGT_EQ(apart(eg_rnn_forward_with(m, x, &older), eg_rnn_forward(m, x, .lengths = n)), 0);
    EGT_OK(eg_module_free(m));
}

EGT(rows_do_not_meet)
{
    eg_module *m = nested();
    EGT_OK(eg_module_eval(m));
    eg_tensor *x = sequence(), *n = some_lengths(), *h0 = states(5, ACROSS), *c0 = states(5, ACROSS);
    eg_rnn all = eg_rnn_forward(m, x, .h0 = h0, .c0 = c0, .lengths = n);
    for (int i = 0; i < N; i++) { /* a row is what it is alone, without an axis N */
        eg_rnn r = eg_rnn_forward(m, eg_select(x, 1, i), .h0 = eg_select(h0, 1, i), .c0 = eg_select(c0, 1, i),
                                  .lengths = eg_select(n, 0, i));
        EGT_CHECK(apart(r, (eg_rnn){eg_select(all.y, 1, i), eg_select(all.h, 1, i), eg_select(all.c, 1, i)}) < 1e-14);
    }
    EGT_OK(eg_module_train(m));
    EGT_CHECK(eg_rnn_forward(m, eg_select(x, 1, 0)).y);
    EGT_EQ(eg_numel(eg_rnn_forward(m, eg_zeros(EG_SHAPE(0, N, WIDTH), EG_F64)).y), 0);
    EGT_OK(eg_module_free(m));
}

EGT(rows_or_steps_first)
{
    eg_module *m[2];
    for (int k = 0; k < 2; k++) {
        eg_rnn_layer_options o = {.size = sizeof o, .batch_first = k, .dtype = EG_F64};
        m[k] = eg_rnn_residual_new(eg_rnn_stack_new(
            eg_rnn_residual_new(eg_bidirectional_new(eg_gru_new_with(WIDTH, 2, &o), eg_gru_new_with(WIDTH, 2, &o))),
            eg_bidirectional_new(eg_gru_new_with(WIDTH, 2, &o), eg_gru_new_with(WIDTH, 2, &o))));
    }
    copy_weights(m[1], m, 1);
    eg_tensor *x = sequence(), *n = some_lengths(), *h0 = states(4, 2);
    eg_rnn a = eg_rnn_forward(m[0], x, .h0 = h0, .lengths = n);
    eg_rnn b = eg_rnn_forward(m[1], eg_transpose(x, 0, 1), .h0 = h0, .lengths = n);
    b.y = eg_transpose(b.y, 0, 1);
    EGT_CHECK(apart(a, b) < 1e-14);
    EGT_OK(eg_module_free(m[0]));
    EGT_OK(eg_module_free(m[1]));
}

typedef struct checking {
    eg_module *m;
    eg_tensor *lengths;
} checking;

/* All results as one; the masks of dropout are the same each time. */
static eg_tensor *everything(eg_tensor *const *in, int n, void *user)
{
    const checking *c = user;
    (void)n;
    eg_seed(11);
    eg_rnn r = eg_rnn_forward(c->m, in[0], .h0 = in[1], .c0 = in[2], .lengths = c->lengths);
    return eg_concat((eg_tensor *[]){eg_flatten(r.y, 0, -1), eg_flatten(r.h, 0, -1), eg_flatten(r.c, 0, -1)}, 3, 0);
}

EGT(gradients_are_the_slopes)
{
    eg_device *before = eg_use_device(eg_cpu()); /* where differences are taken */
    eg_module *m = nested();
    eg_parameters p = eg_module_parameters(m);
    for (int k = 0; k < 4; k++) { /* in both modes, rows whole or with lengths */
        checking c = {m, k & 1 ? some_lengths() : NULL};
        EGT_OK(k & 2 ? eg_module_eval(m) : eg_module_train(m));
        eg_tensor *in[9] = {sequence(), states(5, ACROSS), states(5, ACROSS)};
        for (int i = 3; i < 9; i++) {
            in[i] = p.tensors[(i - 3) * p.count / 6];
        }
        EGT_OK(eg_gradcheck(everything, in, 9, &c));
        if (k < 2) {
            EGT_OK(eg_gradcheck(everything, in, 3, &c, .second = true));
        }
    }
    EGT_OK(eg_module_free(m));
    eg_use_device(before);
}

/* ---- as modules ----------------------------------------------------------------------------------- */

EGT(copies_states_and_other_dtypes)
{
    eg_module *m = nested(), *copy = eg_module_copy(m), *fresh = nested();
    eg_tensor *x = sequence(), *n = some_lengths();
    eg_module *all[3] = {m, copy, fresh};
    eg_tensors *state = eg_module_state(m);
    EGT_EQ(eg_tensors_count(state), 20);
    EGT_CHECK(eg_tensors_get(state, "rnn.0.rnn.rnn.back.rnn.weight_hh_l0"));
    EGT_CHECK(eg_tensors_get(state, "rnn.1.there.1.rnn.bias_ih_l0"));
    EGT_OK(eg_module_load_state(fresh, state));
    eg_tensors_free(state);
    eg_rnn r[3];
    for (int i = 0; i < 3; i++) { /* the same numbers, and the same dropped */
        eg_seed(5);
        r[i] = eg_rnn_forward(all[i], x, .lengths = n);
        EGT_EQ(apart(r[i], r[0]), 0);
    }
    EGT_OK(eg_module_eval(m));
    EGT_OK(eg_module_to(copy, EG_F32));
    EGT_OK(eg_module_eval(copy));
    eg_rnn single = eg_rnn_forward(copy, eg_cast(x, EG_F32), .lengths = n);
    EGT_CHECK(egt_distance(eg_cast(single.y, EG_F64), eg_rnn_forward(m, x, .lengths = n).y) < 1e-5);
    EGT_CHECK(egt_distance(eg_rnn_forward(m, x, .lengths = n).y, r[0].y) > 1e-3);
    FILE *f = tmpfile();
    EGT_OK(eg_summary(f, fresh, x));
    fclose(f);
    for (int i = 0; i < 3; i++) {
        EGT_OK(eg_module_free(all[i]));
    }
}

/* Masks and ends of rows are made where x is, whatever the thread's device. */
EGT(on_the_device_of_x)
{
    eg_module *m = nested();
    eg_tensor *x = sequence(), *n = some_lengths();
    eg_device *there = eg_device_of(x), *before = eg_use_device(eg_cpu());
    eg_rnn r = eg_rnn_forward(m, x, .lengths = n);
    EGT_CHECK(eg_device_of(r.y) == there && eg_device_of(r.h) == there && eg_device_of(r.c) == there);
    EGT_OK(eg_module_eval(m));
    eg_tensor *calm = eg_rnn_forward(m, x, .lengths = n).y;
    EGT_OK(eg_module_to_device(m, eg_cpu()));
    EGT_CHECK(egt_distance(eg_rnn_forward(m, eg_to(x, eg_cpu()), .lengths = n).y, eg_to(calm, eg_cpu())) < 1e-12);
    EGT_OK(eg_module_free(m));
    eg_use_device(before);
}

static eg_status forward_step(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    eg_rnn r = eg_rnn_forward(user, in[0], .lengths = in[1]);
    (void)nin, (void)nout;
    out[0] = r.y;
    return r.y ? EG_OK : eg_failf(EG_EUSER, "step", "no y");
}

EGT(in_a_compiled_step)
{
    eg_module *m = nested();
    EGT_OK(eg_module_eval(m));
    eg_tensor *in[2] = {sequence(), some_lengths()}, *out;
    eg_step *step = eg_step_new(forward_step, m);
    for (int i = 0; i < 3; i++) {
        EGT_OK(eg_step_run(step, in, 2, &out, 1));
        EGT_EQ(egt_distance(out, eg_rnn_forward(m, in[0], .lengths = in[1]).y), 0);
    }
    eg_step_free(step);
    EGT_OK(eg_module_free(m));
}

/* ---- refusals ------------------------------------------------------------------------------------- */

EGT(what_cannot_be_put_around)
{
    EGT_REFUSED(eg_rnn_residual_new(NULL), EG_EINVAL, "rnn");
    EGT_REFUSED(eg_rnn_residual_new(eg_linear_new(2, 2)), EG_EINVAL, "a linear is no recurrent");
    EGT_REFUSED(eg_rnn_residual_new(lstm(3, 4)), EG_ESHAPE, "4 columns of 3");
    EGT_REFUSED(eg_rnn_residual_new(eg_lstm_new(4, 4, .projection = 2)), EG_ESHAPE, "2 columns of 4");
    EGT_REFUSED(eg_rnn_residual_new(eg_gru_new(4, 4, .bidirectional = true)), EG_ESHAPE, "8 columns of 4");
    EGT_REFUSED(eg_rnn_dropout_new(NULL, .input = 0.5), EG_EINVAL, "rnn");
    EGT_REFUSED(eg_rnn_dropout_new(eg_identity_new()), EG_EINVAL, "identity");
    EGT_REFUSED(eg_rnn_dropout_new(lstm(3, 4), .input = -0.1), EG_EINVAL, "-0.1");
    EGT_REFUSED(eg_rnn_dropout_new(lstm(3, 4), .output = 1.5), EG_EINVAL, "1.5");
    EGT_REFUSED(eg_rnn_dropout_new(lstm(3, 4), .output = (double)NAN), EG_EINVAL, "nan");
    EGT_REFUSED(eg_rnn_stack_new(lstm(3, 4), NULL), EG_EINVAL, "1");
    EGT_REFUSED(eg_rnn_stack_new(lstm(3, 4), eg_identity_new()), EG_EINVAL, "identity");
    EGT_REFUSED(eg_rnn_stack_new(lstm(3, 4), lstm(3, 4)), EG_ESHAPE, "layer 0 makes 4 columns, layer 1 reads 3");
    EGT_REFUSED(eg_rnn_stack_new(lstm(3, 4), lstm(4, 5)), EG_ESHAPE, "layer 0 have 4 and 4");
    EGT_REFUSED(eg_rnn_stack_new(lstm(3, 4), eg_gru_new(4, 4)), EG_ESHAPE, "layer 1 4 and 0");
    EGT_REFUSED(eg_rnn_stack_new(lstm(3, 4), eg_lstm_new(4, 4, .batch_first = true)), EG_EINVAL, "batch_first");
    EGT_REFUSED(eg_rnn_stack_new_with(NULL, 2), EG_EINVAL, "2 layers");
    EGT_REFUSED(eg_rnn_stack_new_with((eg_module *[]){NULL}, 0), EG_EINVAL, "1..64");
    EGT_REFUSED(eg_bidirectional_new(lstm(3, 4), NULL), EG_EINVAL, "back");
    EGT_REFUSED(eg_bidirectional_new(lstm(3, 4), eg_lstm_new(3, 4, .batch_first = true)), EG_EINVAL, "batch_first");
    eg_module *owned = lstm(4, 4), *m = eg_rnn_residual_new(owned);
    EGT_REFUSED(eg_rnn_residual_new(owned), EG_ESTATE, "belongs to a rnn_residual");
    EGT_REFUSED(eg_rnn_stack_new(m, m), EG_ESTATE, "belongs");
    m = lstm(4, 4);
    EGT_OK(eg_module_free(m));
    EGT_REFUSED(eg_rnn_residual_new(m), EG_ESTATE, "freed");
    EGT_REFUSED(eg_rnn_dropout_new(m), EG_ESTATE, "freed");
    EGT_REFUSED(eg_rnn_stack_new(m), EG_ESTATE, "freed");
}

EGT(what_they_do_not_take)
{
    eg_module *m = nested(), *g = eg_rnn_residual_new(eg_gru_new(WIDTH, WIDTH, .dtype = EG_F64));
    eg_tensor *x = sequence();
    EGT_REFUSED(eg_rnn_forward(m, NULL).y, EG_EINVAL, "x");
    EGT_REFUSED(eg_rnn_forward(m, x, .h0 = states(4, ACROSS)).y, EG_ESHAPE, "must be [5, N");
    EGT_REFUSED(eg_rnn_forward(m, x, .c0 = states(5, 3)).y, EG_ESHAPE, "c0");
    EGT_REFUSED(eg_rnn_forward(g, x, .c0 = states(1, WIDTH)).y, EG_EINVAL, "c0 is for an lstm");
    EGT_REFUSED(eg_rnn_forward(m, sequence(), .lengths = eg_zeros(EG_SHAPE(2), EG_I64)).y, EG_ESHAPE, "lengths");
    EGT_REFUSED(eg_rnn_forward(g, x, .lengths = eg_full(EG_SHAPE(N), T + 1, EG_I64)).y, EG_EINDEX, "6");
    for (int k = 0; k < 2; k++) {
        EGT_REFUSED(eg_module_forward(k ? m : g, eg_zeros(EG_SHAPE(T, N, 3), EG_F64)), EG_ESHAPE, "x [5, 3, 3]");
        EGT_REFUSED(eg_module_forward(k ? m : g, eg_zeros(EG_SHAPE(T, N, 1), EG_F64)), EG_ESHAPE, "x [5, 3, 1]");
        EGT_REFUSED(eg_module_forward(k ? m : g, eg_zeros(EG_SHAPE(WIDTH), EG_F64)), EG_ESHAPE, "[4]");
        EGT_REFUSED(eg_module_forward(k ? m : g, eg_zeros(EG_SCALAR, EG_F64)), EG_ESHAPE, "x");
        EGT_REFUSED(eg_module_forward(k ? m : g, eg_zeros(EG_SHAPE(T, N, WIDTH), EG_I64)), EG_EDTYPE, "i64");
    }
    EGT_OK(eg_module_free(m));
    EGT_OK(eg_module_free(g));
}

static bool make_and_run(void *user)
{
    (void)user;
    eg_module *m = nested();
    eg_tensor *x = m ? eg_ones(EG_SHAPE(2, 1, WIDTH), EG_F64) : NULL;
    eg_tensor *n = x ? eg_ones(EG_SHAPE(1), EG_I64) : NULL, *s = n ? eg_ones(EG_SHAPE(5, 1, ACROSS), EG_F64) : NULL;
    eg_rnn r = s ? eg_rnn_forward(m, x, .h0 = s, .c0 = s, .lengths = n) : (eg_rnn){NULL, NULL, NULL};
    bool whole = r.y && r.h && r.c, none = !r.y && !r.h && !r.c;
    eg_module *copy = whole ? eg_module_copy(m) : NULL;
    eg_module_free(copy);
    eg_module_free(m);
    return copy || !(whole || none);
}

EGT(every_allocation_may_fail)
{
    EGT_CHECK(egt_fail_allocations(make_and_run, NULL) > 60);
}
