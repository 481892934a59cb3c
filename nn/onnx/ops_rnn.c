/* ops_rnn.c - RNN, GRU and LSTM: the ordinary ones as one op a direction, others step by step. */
#include <string.h>

#include "nn/onnx/ops.h"

enum { RNN_MOST_GATES = 4, RNN_MOST_STATES = 2, RNN_MOST_ACTIVATIONS = 3 };

/* ---- activations ------------------------------------------------------------------------------------ */

static eg_tensor *affine(eg_tensor *x, double alpha, double beta)
{
    return eg_add_scalar(eg_mul_scalar(x, alpha), beta);
}

static eg_tensor *hard_sigmoid(eg_tensor *x, double alpha, double beta)
{
    return eg_clamp(affine(x, alpha, beta), 0, 1);
}

static eg_tensor *scaled_tanh(eg_tensor *x, double alpha, double beta)
{
    return eg_mul_scalar(eg_tanh(eg_mul_scalar(x, beta)), alpha);
}

static eg_tensor *thresholded(eg_tensor *x, double alpha)
{
    return eg_threshold(x, alpha, 0);
}

/* A function of x alone, of x and alpha, or of both numbers. */
typedef struct activation {
    const char *name;
    eg_tensor *(*of_x)(eg_tensor *x);
    eg_tensor *(*of_alpha)(eg_tensor *x, double alpha);
    eg_tensor *(*of_both)(eg_tensor *x, double alpha, double beta);
    double alpha, beta;
} activation;

static const activation known[] = {
    {"Affine", .of_both = affine, .alpha = 1, .beta = 0},
    {"Elu", .of_alpha = eg_elu, .alpha = 1},
    {"HardSigmoid", .of_both = hard_sigmoid, .alpha = 0.2, .beta = 0.5},
    {"LeakyRelu", .of_alpha = eg_leaky_relu, .alpha = 0.01},
    {"Relu", .of_x = eg_relu},
    {"ScaledTanh", .of_both = scaled_tanh, .alpha = 1, .beta = 1},
    {"Sigmoid", .of_x = eg_sigmoid},
    {"Softplus", .of_x = eg_softplus},
    {"Softsign", .of_x = eg_softsign},
    {"Tanh", .of_x = eg_tanh},
    {"ThresholdedRelu", .of_alpha = thresholded, .alpha = 1},
};

/* ---- one direction ----------------------------------------------------------------------------------- */

typedef struct lane lane;

/* One of the three operators. */
typedef struct layer {
    int gates, states, activations;
    const char *usual[RNN_MOST_ACTIVATIONS]; /* activations */
    int order[RNN_MOST_GATES];               /* ONNX's gates as the op has them */
    eg_status (*step)(const lane *l, eg_tensor *x, eg_tensor *const *before, eg_tensor **after);
    eg_rnn (*whole)(const lane *l); /* the op for the usual; NULL: there is none */
} layer;

struct lane {
    const layer *kind;
    eg_tensor *x, *lengths;            /* x [T, N, I]; lengths may be NULL */
    eg_tensor *w, *r, *wb, *rb;        /* [G H, I], [G H, H] and their biases [G H], which may be NULL */
    eg_tensor *start[RNN_MOST_STATES]; /* h and c [N, H]; may be NULL */
    eg_tensor *peephole[3];            /* i, o, f [H], or NULL */
    activation f[RNN_MOST_ACTIVATIONS];
    int64_t hidden;
    double clip;                                           /* 0: none */
    bool reverse, unusual, coupled, reset_after, prepared; /* prepared: gates lie as the op has them */
};

/* What an activation is given, within limits. */
static eg_tensor *activated(const lane *l, int i, eg_tensor *x)
{
    const activation *f = &l->f[i];
    x = l->clip > 0 ? eg_clamp(x, -l->clip, l->clip) : x;
    return f->of_x ? f->of_x(x) : f->of_alpha ? f->of_alpha(x, f->alpha) : f->of_both(x, f->alpha, f->beta);
}

/* Part i of those that lie one behind the other along the last axis. */
static eg_tensor *part_of(const lane *l, eg_tensor *all, int i)
{
    return eg_slice(all, -1, i * l->hidden, (i + 1) * l->hidden, 1);
}

/* ONNX's gate i. */
static eg_tensor *gate(const lane *l, eg_tensor *all, int i)
{
    int at = i;
    for (int k = 0; l->prepared && k < l->kind->gates; k++) {
        at = l->kind->order[k] == i ? k : at;
    }
    return part_of(l, all, at);
}

/* Gates in the op's order along an axis, on which they may be there several times. */
static eg_tensor *in_order(const layer *kind, eg_tensor *t, int axis)
{
    eg_tensor *part[2 * RNN_MOST_GATES];
    const int times = axis && eg_ndim(t) == 2 ? 2 : 1, n = times * kind->gates; /* both biases */
    const int64_t hidden = eg_size(t, axis) / n;
    for (int i = 0; i < n; i++) {
        const int from = i / kind->gates * kind->gates + kind->order[i % kind->gates];
        part[i] = eg_slice(t, axis, from * hidden, (from + 1) * hidden, 1);
    }
    return eg_concat(part, n, axis);
}

static eg_tensor *reordered(const lane *l, eg_tensor *t)
{
    return t && !l->prepared ? in_order(l->kind, t, 0) : t;
}

/* ---- RNN --------------------------------------------------------------------------------------------- */

static eg_status rnn_step(const lane *l, eg_tensor *x, eg_tensor *const *before, eg_tensor **after)
{
    after[0] = activated(l, 0, eg_add(x, eg_linear(before[0], l->r, l->rb)));
    return after[0] ? EG_OK : eg__onnx_why();
}

static const layer rnn = {.gates = 1, .states = 1, .activations = 1, .usual = {"Tanh"}, .step = rnn_step};

/* ---- GRU: z, r, h ------------------------------------------------------------------------------------ */

static eg_tensor *rows_of(const lane *l, eg_tensor *t, int first, int end)
{
    return t ? eg_slice(t, 0, first * l->hidden, end * l->hidden, 1) : NULL;
}

static eg_status gru_step(const lane *l, eg_tensor *x, eg_tensor *const *before, eg_tensor **after)
{
    eg_tensor *h = before[0];
    eg_tensor *both = eg_linear(h, rows_of(l, l->r, 0, 2), rows_of(l, l->rb, 0, 2));
    eg_tensor *z = activated(l, 0, eg_add(gate(l, x, 0), gate(l, both, 0)));
    eg_tensor *r = activated(l, 0, eg_add(gate(l, x, 1), gate(l, both, 1)));
    eg_tensor *w = rows_of(l, l->r, 2, 3), *b = rows_of(l, l->rb, 2, 3);
    eg_tensor *part = l->reset_after ? eg_mul(r, eg_linear(h, w, b)) : eg_linear(eg_mul(r, h), w, b);
    eg_tensor *n = activated(l, 1, eg_add(gate(l, x, 2), part));
    after[0] = eg_add(n, eg_mul(z, eg_sub(h, n)));
    return after[0] ? EG_OK : eg__onnx_why();
}

static eg_rnn gru_whole(const lane *l)
{
    return eg_gru(l->x, reordered(l, l->w), reordered(l, l->r), .h0 = l->start[0], .b_ih = reordered(l, l->wb),
                  .b_hh = reordered(l, l->rb), .lengths = l->lengths, .reverse = l->reverse,
                  .reset_before = !l->reset_after);
}

static const layer gru = {.gates = 3,
                          .states = 1,
                          .activations = 2,
                          .usual = {"Sigmoid", "Tanh"},
                          .order = {1, 0, 2},
                          .step = gru_step,
                          .whole = gru_whole};

/* ---- LSTM: i, o, f, c -------------------------------------------------------------------------------- */

/* What a gate sees, with the cell through its peephole, i, o or f. */
static eg_tensor *seen(const lane *l, eg_tensor *all, int i, eg_tensor *cell)
{
    eg_tensor *x = gate(l, all, i);
    return l->peephole[i] ? eg_add(x, eg_mul(cell, l->peephole[i])) : x;
}

static eg_status lstm_step(const lane *l, eg_tensor *x, eg_tensor *const *before, eg_tensor **after)
{
    eg_tensor *all = eg_add(x, eg_linear(before[0], l->r, l->rb)), *c = before[1];
    eg_tensor *i = activated(l, 0, seen(l, all, 0, c));
    eg_tensor *f = l->coupled ? eg_add_scalar(eg_neg(i), 1) : activated(l, 0, seen(l, all, 2, c));
    c = eg_add(eg_mul(f, c), eg_mul(i, activated(l, 1, gate(l, all, 3))));
    eg_tensor *o = activated(l, 0, seen(l, all, 1, c));
    after[0] = eg_mul(o, activated(l, 2, c));
    after[1] = c;
    return after[0] ? EG_OK : eg__onnx_why();
}

static eg_rnn lstm_whole(const lane *l)
{
    return eg_lstm(l->x, reordered(l, l->w), reordered(l, l->r), .h0 = l->start[0], .c0 = l->start[1],
                   .b_ih = reordered(l, l->wb), .b_hh = reordered(l, l->rb), .lengths = l->lengths,
                   .reverse = l->reverse);
}

static const layer lstm = {.gates = 4,
                           .states = 2,
                           .activations = 3,
                           .usual = {"Sigmoid", "Tanh", "Tanh"},
                           .order = {0, 2, 3, 1},
                           .step = lstm_step,
                           .whole = lstm_whole};

/* ---- step by step ------------------------------------------------------------------------------------- */

/* One step; rows that are over, or backwards have not begun, keep their states and give zeros. */
static eg_status masked_step(const lane *l, eg_tensor *x, int64_t t, eg_tensor **states, eg_tensor **y)
{
    eg_tensor *after[RNN_MOST_STATES] = {0};
    eg_status st = l->kind->step(l, x, states, after);
    *y = after[0];
    if (!st && l->lengths) {
        eg_tensor *on = eg_unsqueeze(eg_to(eg_gt_int(l->lengths, t), eg_device_of(x)), -1);
        *y = eg_where(on, after[0], eg_zeros_like(after[0]));
        for (int i = 0; i < l->kind->states; i++) {
            after[i] = eg_where(on, after[i], states[i]);
        }
    }
    for (int i = 0; i < l->kind->states; i++) {
        states[i] = after[i];
        st = st ? st : after[i] && *y ? EG_OK : eg__onnx_why();
    }
    return st;
}

static eg_status walk(const lane *l, eg_tensor **states, eg_tensor **ys)
{
    const int64_t steps = eg_size(l->x, 0);
    eg_tensor *x = eg_linear(l->x, l->w, l->wb);
    eg_status st = x ? EG_OK : eg__onnx_why();
    for (int64_t k = 0; k < steps && !st; k++) {
        const int64_t t = l->reverse ? steps - 1 - k : k;
        eg_scope s = eg_scope_push();
        eg_tensor *out[RNN_MOST_STATES + 1] = {0}, *y = NULL;
        st = s.depth ? masked_step(l, eg_select(x, 0, t), t, states, &y) : eg__onnx_why();
        memcpy(out, states, RNN_MOST_STATES * sizeof *out);
        out[RNN_MOST_STATES] = y == states[0] ? NULL : y;
        ys[t] = y;
        if (s.depth) {
            const eg_status popped = eg_scope_pop_n(s, out, st ? 0 : RNN_MOST_STATES + 1);
            st = st ? st : popped;
        }
    }
    return st;
}

static eg_rnn step_by_step(const lane *l)
{
    const int64_t steps = eg_size(l->x, 0), n = eg_size(l->x, 1);
    const bool empty = !steps || !n || !l->hidden;
    eg_tensor *states[RNN_MOST_STATES] = {0}, *y = NULL;
    if (steps > INT32_MAX) {
        eg_failf(EG_EINVAL, eg__onnx_op_name, "%lld steps, at most 2147483647 are possible", (long long)steps);
        return (eg_rnn){.y = NULL};
    }
    eg_tensor **ys = eg__onnx_scratch(empty ? 0 : steps, sizeof *ys);
    if (!ys) {
        return (eg_rnn){.y = NULL};
    }
    for (int i = 0; i < l->kind->states; i++) {
        eg_tensor *zeros = l->start[i] ? NULL : eg_zeros(EG_SHAPE(n, l->hidden), eg_dtype_of(l->x));
        states[i] = l->start[i] ? l->start[i] : eg_to(zeros, eg_device_of(l->x));
    }
    if (empty) {
        y = eg_to(eg_zeros(EG_SHAPE(steps, n, l->hidden), eg_dtype_of(l->x)), eg_device_of(l->x));
    } else if (!walk(l, states, ys)) {
        y = eg_stack(ys, (int)steps, 0);
    }
    return y ? (eg_rnn){y, states[0], states[1]} : (eg_rnn){.y = NULL};
}

/* ---- the operators -------------------------------------------------------------------------------------- */

/* A part of an input for direction d, which axis 0 counts; NULL for one that was left out. */
static eg_tensor *of_direction(const eg_onnx_call *c, int input, int d)
{
    eg_tensor *t = eg__onnx_in(c, input);
    return t ? eg_select(t, 0, d) : NULL;
}

/* The activations of direction d. Numbers are handed out to those that take some, in order. */
static eg_status read_activations(const eg_onnx_call *c, lane *l, int d)
{
    const eg__onnx_attribute *names = eg__onnx_attribute_of(c, "activations", EG__ONNX_STRINGS);
    int nalpha, nbeta, a = 0, b = 0;
    const float *alpha = eg_onnx_floats(c, "activation_alpha", &nalpha);
    const float *beta = eg_onnx_floats(c, "activation_beta", &nbeta);
    const int n = l->kind->activations;
    if (names && names->count < n * (d + 1)) {
        return eg__onnx_bad(c, "activations does not have a name for each");
    }
    for (int i = 0; i < n * (d + 1); i++) {
        const char *usual = l->kind->usual[i % n], *name = names ? names->texts[i] : usual;
        int k = 0;
        while (k < EG__COUNT(known) && strcmp(known[k].name, name)) {
            k++;
        }
        if (k == EG__COUNT(known)) {
            return eg_failf(EG_EINVAL, eg__onnx_op_name, "activation \"%.40s\" is not known", name);
        }
        activation *f = &l->f[i % n];
        *f = known[k];
        f->alpha = !f->of_x && a < nalpha ? (double)alpha[a++] : f->alpha;
        f->beta = f->of_both && b < nbeta ? (double)beta[b++] : f->beta;
        l->unusual = (i % n && l->unusual) || strcmp(name, usual) != 0;
    }
    return EG_OK;
}

/* What all directions share is in l. */
static eg_status read_lane(const eg_onnx_call *c, lane *l, int d)
{
    const int gates = l->kind->gates;
    const bool batch_first = eg_onnx_int(c, "layout", 0);
    l->w = of_direction(c, 1, d);
    l->r = of_direction(c, 2, d);
    eg_tensor *b = of_direction(c, 3, d), *p = of_direction(c, 7, d);
    l->wb = b ? eg_slice(b, 0, 0, gates * l->hidden, 1) : NULL;
    l->rb = b ? eg_slice(b, 0, gates * l->hidden, 2 * gates * l->hidden, 1) : NULL;
    for (int i = 0; i < l->kind->states; i++) {
        eg_tensor *t = eg__onnx_in(c, 5 + i);
        l->start[i] = t ? eg_select(t, batch_first, d) : NULL;
        if (t && !l->start[i]) {
            return eg__onnx_why();
        }
    }
    for (int i = 0; p && i < 3; i++) {
        l->peephole[i] = part_of(l, p, i);
    }
    const bool lost = (eg__onnx_in(c, 3) && !l->rb) || (eg__onnx_in(c, 7) && !l->peephole[2]);
    eg_status st = !l->w || !l->r || lost ? eg__onnx_why() : EG_OK;
    st = st ? st : read_activations(c, l, d);
    l->unusual = l->unusual || l->clip > 0 || l->coupled || p;
    return st;
}

static eg_status read_layer(const eg_onnx_call *c, const layer *kind, lane *l, int *directions)
{
    const char *direction = eg_onnx_text(c, "direction", "forward");
    eg_tensor *x = eg__onnx_in(c, 0), *r = eg__onnx_in(c, 2), *lengths = eg__onnx_in(c, 4);
    *directions = strcmp(direction, "bidirectional") ? 1 : 2;
    *l = (lane){.kind = kind,
                .lengths = lengths,
                .hidden = eg_size(r, -1),
                .clip = eg_onnx_float(c, "clip", 0),
                .reverse = !strcmp(direction, "reverse"),
                .coupled = eg_onnx_int(c, "input_forget", 0),
                .reset_after = eg_onnx_int(c, "linear_before_reset", 0),
                .prepared = c->node->prepared};
    if (eg_ndim(x) != 3 || eg_ndim(eg__onnx_in(c, 1)) != 3 || eg_ndim(r) != 3 ||
        eg_size(r, 1) != kind->gates * l->hidden || eg_size(r, 0) != *directions) {
        return eg__onnx_bad(c, "X, W and R do not have the shapes of one layer");
    }
    l->x = eg_onnx_int(c, "layout", 0) ? eg_transpose(x, 0, 1) : x;
    if (lengths && (eg_ndim(lengths) != 1 || eg_numel(lengths) != eg_size(l->x, 1))) {
        return eg__onnx_bad(c, "sequence_lens does not have a length for each sequence");
    }
    return l->x ? EG_OK : eg__onnx_why();
}

static eg_status run(eg_onnx_call *c, const layer *kind)
{
    eg_tensor *y[2], *state[RNN_MOST_STATES][2];
    lane l;
    int directions;
    eg_status st = read_layer(c, kind, &l, &directions);
    for (int d = 0; d < directions && !st; d++) {
        l.reverse = l.reverse || d == 1;
        st = read_lane(c, &l, d);
        const eg_rnn all = st ? (eg_rnn){.y = NULL} : l.unusual || !kind->whole ? step_by_step(&l) : kind->whole(&l);
        y[d] = all.y;
        state[0][d] = all.h;
        state[1][d] = all.c;
        st = st ? st : all.y ? EG_OK : eg__onnx_why();
    }
    if (st) {
        return st;
    }
    const bool batch_first = eg_onnx_int(c, "layout", 0); /* [N, T, D, H] and [N, D, H] */
    eg_tensor *all = eg_stack(y, directions, 1);
    st = eg_onnx_give(c, 0, batch_first ? eg_permute(all, EG_AXES(2, 0, 1, 3)) : all);
    for (int i = 0; i < kind->states && !st; i++) {
        st = eg_onnx_give(c, 1 + i, eg_stack(state[i], directions, batch_first));
    }
    return st;
}

static const layer *layer_of(const eg__onnx_row *row)
{
    return row->run == eg__onnx_run_lstm ? &lstm : row->run == eg__onnx_run_gru ? &gru : NULL;
}

int eg__onnx_gates(const eg__onnx_row *row)
{
    const layer *kind = layer_of(row);
    return kind ? kind->gates : 0;
}

eg_tensor *eg__onnx_gates_in_order(const eg__onnx_row *row, eg_tensor *t)
{
    return in_order(layer_of(row), t, 1);
}

eg_status eg__onnx_run_rnn(eg_onnx_call *c)
{
    return run(c, &rnn);
}

eg_status eg__onnx_run_gru(eg_onnx_call *c)
{
    return run(c, &gru);
}

eg_status eg__onnx_run_lstm(eg_onnx_call *c)
{
    return run(c, &lstm);
}
