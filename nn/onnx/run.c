/* run.c - running the nodes of a graph. */
#include <stdio.h>
#include <string.h>

#include <egret/device.h>
#include <egret/error.h>
#include <egret/ops.h>
#include <egret/tape.h>

#include "nn/onnx/graph.h"

/* ---- values --------------------------------------------------------------------------------------- */

void eg__onnx_drop(eg__onnx_run_value *v)
{
    if (v->owned) {
        eg_release(v->t);
    }
    *v = (eg__onnx_run_value){0};
}

eg_status eg__onnx_put(eg__onnx_run_value *v, eg_tensor *t, uint8_t type)
{
    t = eg_keep(t);
    if (!t) {
        return eg_last_error()->code;
    }
    eg__onnx_drop(v);
    *v = (eg__onnx_run_value){t, type, true};
    return EG_OK;
}

/* ---- one node -------------------------------------------------------------------------------------- */

/* The failure on record, told of the node. */
static eg_status tell(const eg__onnx_node *n)
{
    char words[sizeof eg_last_error()->message];
    const eg_status code = eg_last_error()->code;
    snprintf(words, sizeof words, "%s", eg_last_error()->message);
    return eg_failf(code ? code : EG_EUSER, eg__onnx_op_name, "%.60s \"%.80s\": %s", n->op, n->name,
                    code ? words : "failed without a word");
}

/* Numbers that were computed on the CPU, shapes above all, meet tensors of a device: they go over. */
static eg_status meet(eg_onnx_call *c)
{
    const eg__onnx_node *n = c->node;
    const char *roles = n->row ? n->row->roles : "";
    const size_t last = strlen(roles);
    eg_device *device = NULL;
    for (int i = 0; i < n->nin; i++) {
        eg_tensor *t = eg__onnx_in(c, i);
        if (t && eg_device_of(t) != eg_cpu()) {
            device = eg_device_of(t);
        }
    }
    for (int i = 0; device && i < n->nin; i++) {
        eg_tensor *t = eg__onnx_in(c, i);
        const char role = last ? roles[(size_t)i < last ? (size_t)i : last - 1] : '.';
        if (t && role != 'h' && eg_device_of(t) == eg_cpu()) {
            eg__onnx_run_value *v = &c->values[n->in[i]];
            eg_status st = eg__onnx_put(v, eg_to(t, device), v->type);
            if (st) {
                return st;
            }
        }
    }
    return EG_OK;
}

/* The small type that an output of this dtype goes on with, from the inputs. */
static uint8_t type_from_inputs(const eg_onnx_call *c, const eg_tensor *t)
{
    for (int i = 0; i < c->node->nin; i++) {
        const eg_tensor *x = eg__onnx_in(c, i);
        if (x && eg_dtype_of(x) == eg_dtype_of(t)) {
            return c->values[c->node->in[i]].type;
        }
    }
    return 0;
}

static eg_status run_function(eg_onnx_call *c)
{
    const eg__onnx_graph *g = c->node->function;
    eg_status st = EG_OK;
    for (int i = 0; i < g->nin && !st; i++) {
        eg_tensor *x = eg__onnx_in(c, i);
        st = x ? eg__onnx_put(&c->values[g->in[i]], x, c->values[c->node->in[i]].type) : EG_OK;
    }
    st = st ? st : eg__onnx_run_graph(c->net, g, c->values);
    for (int i = 0; i < g->nout && i < c->node->nout && !st; i++) {
        const eg__onnx_run_value *v = g->out[i] < 0 ? NULL : &c->values[g->out[i]];
        st = v && v->t ? eg_onnx_give(c, i, v->t) : EG_OK;
        c->out_type[i] = v ? v->type : 0;
    }
    return st;
}

/* Keeps what the call gave, in the places of the node's outputs. */
static eg_status keep_outputs(eg_onnx_call *c)
{
    const eg__onnx_node *n = c->node;
    eg_status st = EG_OK;
    for (int i = 0; i < n->nout && !st; i++) {
        if (n->out[i] < 0) {
            continue;
        }
        if (!c->out[i]) {
            return eg_failf(EG_EINVAL, eg__onnx_op_name, "output %d is wanted and was not given", i);
        }
        eg_tensor *t = c->out[i];
        uint8_t type = c->out_type[i];
        type = type ? type : type_from_inputs(c, t);
        if (type && n->row && n->row->flags & EG__ONNX_WRAPS) {
            t = eg__onnx_wrapped(t, type);
        }
        st = t ? eg__onnx_put(&c->values[n->out[i]], t, type) : eg_last_error()->code;
    }
    return st;
}

/* What is on record then is its own. */
static eg_status run_user(eg_onnx_call *c)
{
    eg_clear_error();
    return c->node->user->run(c, c->node->user->user);
}

/* That the inputs without which an operator has no meaning are there: a node may leave them out, and what a function
 * was not given has no value. */
static eg_status check_inputs(const eg_onnx_call *c)
{
    const eg__onnx_node *n = c->node;
    for (int i = 0; n->row && (i < n->nin || i < n->least); i++) {
        if (eg__onnx_is_required(n, i) && !eg__onnx_in(c, i)) {
            return eg_failf(EG_EINVAL, eg__onnx_op_name, "input %d is needed and has no value", i);
        }
    }
    return EG_OK;
}

eg_status eg__onnx_run_node(eg__onnx_net *net, const eg__onnx_node *n, eg__onnx_run_value *values)
{
    eg_tensor *out[EG__ONNX_MOST_OUT] = {0};
    uint8_t out_type[EG__ONNX_MOST_OUT] = {0};
    eg_onnx_call c = {.net = net, .node = n, .values = values, .out = out, .out_type = out_type};
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? meet(&c) : eg_last_error()->code;
    st = st ? st : check_inputs(&c);
    st = st ? st : n->function ? run_function(&c) : n->user ? run_user(&c) : n->row->run(&c);
    st = st ? st : keep_outputs(&c);
    st = st ? tell(n) : EG_OK;
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    for (int i = 0; i < n->ndead; i++) {
        eg__onnx_drop(&values[n->dead[i]]);
    }
    return st;
}

eg_status eg__onnx_run_graph(eg__onnx_net *net, const eg__onnx_graph *g, eg__onnx_run_value *values)
{
    eg_status st = EG_OK;
    for (int i = 0; i < g->nnodes && !st; i++) {
        st = eg__onnx_run_node(net, &g->nodes[i], values);
    }
    return st;
}
