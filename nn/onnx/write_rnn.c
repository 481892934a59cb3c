/* write_rnn.c - recurrent layers as nodes of ONNX. */
#include <egret/error.h>
#include <egret/ops.h>

#include "lib/ops/options.h"
#include "nn/onnx/graph.h"
#include "nn/onnx/write_rows.h"

/* Gates one after the other, in ONNX's order: t is [gates * H] or [gates * H, ..]. */
static eg_tensor *in_order(eg_tensor *t, const int *order, int gates)
{
    eg_tensor *parts[4];
    const int64_t h = eg_size(t, 0) / gates;
    for (int i = 0; i < gates; i++) {
        parts[i] = eg_slice(t, 0, order[i] * h, (order[i] + 1) * h, 1);
    }
    return eg_concat(parts, gates, 0);
}

/* Weights [1, gates H, ..] and both biases [1, 2 gates H]. */
static void weights(eg__onnx_writer *w, const eg_op_call *c, const int *order, int gates, eg__val to[3])
{
    eg_scope s = eg_scope_push();
    eg_tensor *const *in = c->in, *both[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        to[i] = eg__constant(w, s.depth ? eg_unsqueeze(in_order(in[EG__RNN_W_IH + i], order, gates), 0) : NULL);
    }
    for (int i = 0; i < 2 && s.depth; i++) {
        eg_tensor *b = c->nin > EG__RNN_B_IH + i ? in[EG__RNN_B_IH + i] : NULL;
        both[i] = b ? in_order(b, order, gates)
                    : eg_zeros(EG_SHAPE(eg_size(in[EG__RNN_W_IH], 0)), eg_dtype_of(in[EG__RNN_X]));
    }
    to[2] = eg__constant(w, s.depth ? eg_unsqueeze(eg_concat(both, 2, 0), 0) : NULL);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
}

static eg_tensor *optional(const eg_op_call *c, int i)
{
    return c->nin > i ? c->in[i] : NULL;
}

/* A state [N, H] as [1, N, H]; none if there is none. */
static eg__val state(eg__onnx_writer *w, const eg_op_call *c, int i)
{
    eg_tensor *t = optional(c, i);
    return t ? eg__put_unsqueeze(w, eg__of(w, t), 0) : eg__none();
}

/* Sequences [T, N, I] and states [N, H] have the batch in their second axis from the end, or none has. */
static eg_status check(const eg__onnx_writer *w, const eg_op_call *c)
{
    const eg__rnn_opts *o = c->options;
    const eg__batch x = eg__batch_of(w, c->in[EG__RNN_X]);
    if (eg_ndim(c->in[EG__RNN_X]) != 3 || o->clip != 0 || optional(c, EG__RNN_W_HR)) {
        return eg__onnx_cannot(c, "it is of one sequence without an axis for the batch, clips cells or projects");
    }
    for (int i = 0; i < c->nin; i++) {
        const bool weight = i >= EG__RNN_W_IH && i <= EG__RNN_B_HH;
        const eg__batch b = eg__batch_of(w, c->in[i]);
        const int wanted = x.from_end && !weight ? i == EG__RNN_LENGTHS ? 1 : 2 : 0;
        if (weight && eg__onnx_depends(w, c->in[i])) {
            return eg__onnx_cannot(c, "its weights come from an input");
        }
        if (c->in[i] && (b.from_end != wanted || (wanted && b.times != x.times))) {
            return eg__onnx_cannot(c, "with .any_batch, sequences and states do not have the batch in one axis");
        }
    }
    return EG_OK;
}

static eg_status layer(eg__onnx_writer *w, const eg_op_call *c, const char *op, const int *order, int gates)
{
    const eg__rnn_opts *o = c->options;
    const bool lstm = gates == 4;
    eg__val in[7], y[3];
    eg_status st = check(w, c);
    if (st) {
        return st;
    }
    if (!eg_size(c->in[EG__RNN_X], 0)) {
        return eg__onnx_cannot(c, "the sequences have no steps");
    }
    in[0] = eg__of(w, c->in[EG__RNN_X]);
    weights(w, c, order, gates, &in[1]);
    in[4] = eg__of(w, optional(c, EG__RNN_LENGTHS));
    in[4] = in[4].name[0] ? eg__as(w, in[4], EG_I32) : in[4];
    in[5] = state(w, c, EG__RNN_H0);
    in[6] = lstm ? state(w, c, EG__RNN_C0) : eg__none();
    if (!lstm) {
        eg__set_int(w, "linear_before_reset", !o->reset_before);
    }
    eg__set_int(w, "hidden_size", eg_size(c->in[EG__RNN_W_HH], 1));
    eg__set_text(w, "direction", o->reverse ? "reverse" : "forward");
    eg__put_nodes(w, op, in, 6 + lstm, y, 2 + lstm);
    for (int i = 0; i < 2 + lstm; i++) { /* the axis of directions goes: of y the second, of states the first */
        const int64_t axis = i == 0;
        eg__set_output(w, c->out[i], eg__put(w, "Squeeze", y[i], eg__ints(w, &axis, 1)));
        eg__batch_set(w, c->out[i], eg__batch_of(w, c->in[EG__RNN_X]));
    }
    return EG_OK;
}

/* Gates i f g o as i o f g. */
eg_status eg__write_lstm(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    return layer(w, c, op, (const int[]){0, 3, 1, 2}, 4);
}

/* Gates r z n as z r n. */
eg_status eg__write_gru(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    return layer(w, c, op, (const int[]){1, 0, 2}, 3);
}
