/* write_rnn.c - recurrent layers as nodes of ONNX, and small parts that all of these files use. */
#include <string.h>

#include <egret/error.h>
#include <egret/ops.h>

#include "lib/ops/options.h"
#include "nn/onnx/graph.h"
#include "nn/onnx/write_rows.h"

/* ---- parts ---------------------------------------------------------------------------------------------- */

static eg__onnx_temp end_node(eg__onnx_writer *w, eg_tensor *y)
{
    eg__onnx_temp t = {""};
    if (y) {
        eg__onnx_to(w, y);
    } else {
        t = eg__onnx_to_temp(w);
    }
    eg__onnx_end(w);
    return t;
}

eg__onnx_temp eg__onnx_node_ints(eg__onnx_writer *w, const char *op, const char *x, const int64_t *v, int n,
                                 eg_tensor *y)
{
    eg__onnx_begin(w, op);
    eg__onnx_from_name(w, x ? x : "");
    eg__onnx_from_ints(w, v, n);
    return end_node(w, y);
}

eg__onnx_temp eg__onnx_node_names(eg__onnx_writer *w, const char *op, const char *a, const char *b, eg_tensor *y)
{
    eg__onnx_begin(w, op);
    eg__onnx_from_name(w, a ? a : "");
    if (b) {
        eg__onnx_from_name(w, b);
    }
    return end_node(w, y);
}

eg__onnx_temp eg__onnx_constant_name(eg__onnx_writer *w, eg_tensor *t)
{
    eg__onnx_temp name;
    snprintf(name.name, sizeof name.name, "/%u", w->serial++);
    if (t) {
        eg__onnx_initializer(w, t, name.name);
    } else if (!w->status) {
        w->status = eg_last_error()->code;
    }
    return name;
}

eg__onnx_temp eg__onnx_number_name(eg__onnx_writer *w, double v, eg_dtype dtype)
{
    eg_scope s = eg_scope_push();
    const eg__onnx_temp name = eg__onnx_constant_name(w, s.depth ? eg_scalar(v, dtype) : NULL);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return name;
}

/* ---- recurrent layers ----------------------------------------------------------------------------------- */

/* Gates one behind the other, in ONNX's order, as an initializer: t is [gates * H] or [gates * H, ..]. */
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
static void weights(eg__onnx_writer *w, const eg_op_call *c, const int *order, int gates, eg__onnx_temp name[3])
{
    eg_scope s = eg_scope_push();
    eg_tensor *const *in = c->in;
    for (int i = 0; i < 2 && s.depth; i++) {
        name[i] = eg__onnx_constant_name(w, eg_unsqueeze(in_order(in[EG__RNN_W_IH + i], order, gates), 0));
    }
    eg_tensor *both[2];
    for (int i = 0; i < 2 && s.depth; i++) {
        eg_tensor *b = c->nin > EG__RNN_B_IH + i ? in[EG__RNN_B_IH + i] : NULL;
        both[i] = b ? in_order(b, order, gates)
                    : eg_zeros(EG_SHAPE(eg_size(in[EG__RNN_W_IH], 0)), eg_dtype_of(in[EG__RNN_X]));
    }
    name[2] = eg__onnx_constant_name(w, s.depth ? eg_unsqueeze(eg_concat(both, 2, 0), 0) : NULL);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
}

/* A state [N, H] as [1, N, H]; "" if there is none. */
static eg__onnx_temp state(eg__onnx_writer *w, const eg_op_call *c, int i)
{
    eg_tensor *t = c->nin > i ? c->in[i] : NULL;
    return t ? eg__onnx_node_ints(w, "Unsqueeze", eg__onnx_name_of(w, t), (const int64_t[]){0}, 1, NULL)
             : (eg__onnx_temp){""};
}

static eg__onnx_temp lengths(eg__onnx_writer *w, const eg_op_call *c)
{
    eg_tensor *t = c->nin > EG__RNN_LENGTHS ? c->in[EG__RNN_LENGTHS] : NULL;
    eg__onnx_temp name = {""};
    if (t) {
        eg__onnx_begin(w, "Cast");
        eg__onnx_from(w, t);
        eg__onnx_set_int(w, "to", EG__ONNX_I32);
        name = eg__onnx_to_temp(w);
        eg__onnx_end(w);
    }
    return name;
}

static bool depends(const eg__onnx_writer *w, const eg_op_call *c)
{
    for (int i = EG__RNN_W_IH; i <= EG__RNN_B_HH && i < c->nin; i++) {
        const eg__onnx_seen *s = eg__onnx_seen_of(w, c->in[i]);
        if (s && s->is == EG__ONNX_VALUE) {
            return true;
        }
    }
    return false;
}

static eg_status layer(eg__onnx_writer *w, const eg_op_call *c, const char *op, const int *order, int gates)
{
    const eg__rnn_opts *o = c->options;
    const bool lstm = gates == 4;
    eg__onnx_temp name[3], y[3] = {{""}};
    if (eg_ndim(c->in[EG__RNN_X]) != 3 || o->clip != 0 || (c->nin > EG__RNN_W_HR && c->in[EG__RNN_W_HR])) {
        return eg__onnx_cannot(c, "it is of one sequence without an axis for the batch, clips cells or projects");
    }
    if (depends(w, c)) {
        return eg__onnx_cannot(c, "its weights come from an input");
    }
    weights(w, c, order, gates, name);
    const eg__onnx_temp n = lengths(w, c), h = state(w, c, EG__RNN_H0);
    const eg__onnx_temp cells = lstm ? state(w, c, EG__RNN_C0) : (eg__onnx_temp){""};
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[EG__RNN_X]);
    for (int i = 0; i < 3; i++) {
        eg__onnx_from_name(w, name[i].name);
    }
    eg__onnx_from_name(w, n.name);
    eg__onnx_from_name(w, h.name);
    if (lstm) {
        eg__onnx_from_name(w, cells.name);
    } else {
        eg__onnx_set_int(w, "linear_before_reset", !o->reset_before);
    }
    eg__onnx_set_int(w, "hidden_size", eg_size(c->in[EG__RNN_W_HH], 1));
    eg__onnx_set_text(w, "direction", o->reverse ? "reverse" : "forward");
    for (int i = 0; i < 2 + lstm; i++) {
        y[i] = eg__onnx_to_temp(w);
    }
    eg__onnx_end(w);
    for (int i = 0; i < 2 + lstm; i++) { /* the axis of directions goes: of y the second, of states the first */
        eg__onnx_node_ints(w, "Squeeze", y[i].name, (const int64_t[]){i == 0}, 1, c->out[i]);
    }
    return EG_OK;
}

/* Gates i f g o as i o f g. */
eg_status eg__onnx_write_lstm(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    return layer(w, c, op, (const int[]){0, 3, 1, 2}, 4);
}

/* Gates r z n as z r n. */
eg_status eg__onnx_write_gru(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    return layer(w, c, op, (const int[]){1, 0, 2}, 3);
}
