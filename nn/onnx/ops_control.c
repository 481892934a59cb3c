/* ops_control.c - graphs that run by the values there are: If, Loop and Scan. */
#include <string.h>

#include "nn/onnx/ops.h"

static const eg__onnx_graph *graph_of(const eg_onnx_call *c, const char *name)
{
    const eg__onnx_attribute *a = eg__onnx_attribute_of(c, name, EG__ONNX_GRAPH);
    if (!a) {
        eg_failf(EG_EFORMAT, eg__onnx_op_name, "there is no %s", name);
    }
    return a ? a->graph : NULL;
}

/* Hands a value of the graph to the scope, and to the output. */
static eg_status give_value(eg_onnx_call *c, int i, const eg__onnx_run_value *v)
{
    if (!v->t) {
        return eg_failf(EG_EINVAL, eg__onnx_op_name, "result %d of the graph has no value", i);
    }
    if (i < c->node->nout) {
        c->out_type[i] = v->type;
    }
    return eg_onnx_give(c, i, eg_scope_adopt(eg_keep(v->t)));
}

eg_status eg__onnx_run_if_(eg_onnx_call *c)
{
    const eg__onnx_graph *g = graph_of(c, eg__onnx_number(c, 0, 0) != 0 ? "then_branch" : "else_branch");
    eg_status st = g ? eg__onnx_run_graph(c->net, g, c->values) : eg__onnx_why();
    for (int i = 0; !st && i < g->nout && i < c->node->nout; i++) {
        st = give_value(c, i, &c->values[g->out[i]]);
    }
    return st;
}

/* An output is of the type of a value of the graph. */
static void same_type(eg_onnx_call *c, int i, const eg__onnx_run_value *v)
{
    if (i < c->node->nout) {
        c->out_type[i] = v->t ? v->type : 0;
    }
}

/* ---- what is gathered step by step ------------------------------------------------------------------ */

typedef struct gathered {
    eg_tensor **t; /* kept */
    int64_t count, room;
    eg_tensor *memory; /* of t; kept */
} gathered;

static eg_status make_room(gathered *g)
{
    const int64_t more = g->room ? 2 * g->room : 16;
    if (more > INT32_MAX) {
        return eg_fail(EG_EINVAL, eg__onnx_op_name, "more than 1073741824 steps whose results are kept");
    }
    eg_tensor *memory = eg_keep(eg_to(eg_zeros(EG_SHAPE(more * (int64_t)sizeof *g->t), EG_U8), eg_cpu()));
    eg_tensor **t = memory ? eg_data_mut(memory) : NULL;
    if (!t) {
        return eg__onnx_why();
    }
    if (g->count) {
        memcpy(t, g->t, (size_t)g->count * sizeof *t);
    }
    eg_release(g->memory);
    *g = (gathered){t, g->count, more, memory};
    return EG_OK;
}

static eg_status gather(gathered *g, eg_tensor *t)
{
    if (g->count == g->room && make_room(g)) {
        return eg__onnx_why();
    }
    g->t[g->count] = eg_keep(t);
    return g->t[g->count] ? (g->count++, EG_OK) : eg__onnx_why();
}

static void let_go(gathered *all, int n)
{
    for (int i = 0; all && i < n; i++) {
        for (int64_t k = 0; k < all[i].count; k++) {
            eg_release(all[i].t[k]);
        }
        eg_release(all[i].memory);
    }
}

/* One behind the other along a new axis; of no steps nothing of the dtype that is expected. */
static eg_tensor *stacked(const gathered *g, int axis, bool backwards)
{
    for (int64_t k = 0; backwards && k < g->count / 2; k++) {
        eg_tensor *t = g->t[k];
        g->t[k] = g->t[g->count - 1 - k];
        g->t[g->count - 1 - k] = t;
    }
    return g->count ? eg_stack(g->t, (int)g->count, axis) : eg_zeros(EG_SHAPE(0), EG_F32);
}

/* ---- Loop ------------------------------------------------------------------------------------------- */

/* The body's inputs get what its outputs had: condition and states, which come first in both. */
static eg_status carry(eg_onnx_call *c, const eg__onnx_graph *g, int from, int to, int n)
{
    eg__onnx_run_value few[64];
    if (n > 64) {
        return eg__onnx_bad(c, "more than 64 values go from step to step");
    }
    for (int i = 0; i < n; i++) { /* an output may be an input, as it came */
        few[i] = c->values[g->out[from + i]];
        few[i].t = eg_keep(few[i].t);
    }
    eg_status st = EG_OK;
    for (int i = 0; i < n; i++) {
        eg_status now = few[i].t && !st ? eg__onnx_put(&c->values[g->in[to + i]], few[i].t, few[i].type) : EG_OK;
        st = st ? st : !few[i].t ? eg__onnx_bad(c, "a result of the body has no value") : now;
        eg_release(few[i].t);
    }
    return st;
}

static eg_status loop_step(eg_onnx_call *c, const eg__onnx_graph *g, int64_t step, int states, gathered *all)
{
    eg_scope s = eg_scope_push();
    eg_tensor *number = s.depth ? eg_to(eg_scalar_int(step, EG_I64), eg_cpu()) : NULL;
    eg_status st = number ? eg__onnx_put(&c->values[g->in[0]], number, 0) : eg__onnx_why();
    st = st ? st : eg__onnx_run_graph(c->net, g, c->values);
    for (int i = 1 + states; i < g->nout && !st; i++) {
        st = gather(&all[i - 1 - states], c->values[g->out[i]].t);
    }
    st = st ? st : carry(c, g, 0, 1, 1 + states);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

eg_status eg__onnx_run_loop(eg_onnx_call *c)
{
    const eg__onnx_graph *g = graph_of(c, "body");
    const int states = c->node->nin > 2 ? c->node->nin - 2 : 0;
    if (!g || g->nin != 2 + states || g->nout < 1 + states) {
        return g ? eg__onnx_bad(c, "the body has not the inputs and outputs that a loop's has") : eg__onnx_why();
    }
    const int scans = g->nout - 1 - states;
    gathered *all = eg__onnx_scratch(scans, sizeof *all);
    if (!all) {
        return eg__onnx_why();
    }
    eg_status st = EG_OK;
    for (int i = 0; i < states && !st; i++) {
        eg_tensor *t = eg__onnx_in(c, 2 + i);
        st = t ? eg__onnx_put(&c->values[g->in[2 + i]], t, c->values[c->node->in[2 + i]].type)
               : eg__onnx_bad(c, "a state has no value");
    }
    eg_tensor *go_on = eg__onnx_in(c, 1);
    const int64_t most = eg__onnx_integer(c, 0, INT64_MAX);
    bool on = !go_on || eg__onnx_number(c, 1, 1) != 0;
    st = st ? st : eg__onnx_put(&c->values[g->in[1]], go_on ? go_on : eg_scalar(1, EG_BOOL), 0);
    for (int64_t step = 0; step < most && on && !st; step++) {
        st = loop_step(c, g, step, states, all);
        on = !st && eg_get(c->values[g->in[1]].t, 0) != 0;
    }
    for (int i = 0; i < states && !st; i++) {
        st = give_value(c, i, &c->values[g->in[2 + i]]);
    }
    for (int i = 0; i < scans && !st; i++) {
        st = states + i < c->node->nout ? eg_onnx_give(c, states + i, stacked(&all[i], 0, false)) : EG_OK;
        same_type(c, states + i, &c->values[g->out[1 + states + i]]);
    }
    let_go(all, scans);
    return st;
}

/* ---- Scan ------------------------------------------------------------------------------------------- */

typedef struct scanner {
    const eg__onnx_graph *body;
    int states, ins, outs, skip; /* inputs before the states: 1 in version 8 */
    const int64_t *in_axes, *out_axes, *in_backwards, *out_backwards;
    int nin_axes, nout_axes, nin_backwards, nout_backwards;
} scanner;

/* Step `t` of input i. */
static eg_tensor *part(const scanner *s, eg_tensor *x, int i, int64_t t)
{
    const int axis = s->nin_axes > i ? eg__onnx_axis(s->in_axes[i], eg_ndim(x)) : 0;
    const bool backwards = s->nin_backwards > i && s->in_backwards[i];
    return axis < 0 ? NULL : eg_select(x, axis, backwards ? eg_size(x, axis) - 1 - t : t);
}

static eg_status scan_step(eg_onnx_call *c, const scanner *s, eg_tensor *const *xs, int64_t t, gathered *all)
{
    const eg__onnx_graph *g = s->body;
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? EG_OK : eg__onnx_why();
    for (int i = 0; i < s->ins && !st; i++) {
        eg_tensor *x = part(s, xs[i], i, t);
        const uint8_t type = c->values[c->node->in[s->skip + s->states + i]].type;
        st = x ? eg__onnx_put(&c->values[g->in[s->states + i]], x, type) : eg__onnx_why();
    }
    st = st ? st : eg__onnx_run_graph(c->net, g, c->values);
    for (int i = 0; i < s->outs && !st; i++) {
        st = gather(&all[i], c->values[g->out[s->states + i]].t);
    }
    st = st ? st : carry(c, g, 0, 0, s->states);
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return st;
}

/* From the states to the results of all steps. */
static eg_status scan_over(eg_onnx_call *c, const scanner *s, eg_tensor *const *xs, eg_tensor *const *states,
                           eg_tensor **results)
{
    gathered *all = eg__onnx_scratch(s->outs, sizeof *all);
    eg_status st = all ? EG_OK : eg__onnx_why();
    const int axis = s->nin_axes > 0 ? eg__onnx_axis(s->in_axes[0], eg_ndim(xs[0])) : 0;
    for (int i = 0; i < s->states && !st; i++) {
        st = eg__onnx_put(&c->values[s->body->in[i]], states[i], c->values[c->node->in[s->skip + i]].type);
    }
    for (int64_t t = 0; !st && t < eg_size(xs[0], axis); t++) {
        st = scan_step(c, s, xs, t, all);
    }
    for (int i = 0; i < s->states && !st; i++) {
        results[i] = eg_scope_adopt(eg_keep(c->values[s->body->in[i]].t));
        same_type(c, i, &c->values[s->body->in[i]]);
        st = results[i] ? EG_OK : eg__onnx_why();
    }
    for (int i = 0; i < s->outs && !st; i++) {
        const int rank = all[i].count ? eg_ndim(all[i].t[0]) + 1 : 1;
        const int at = s->nout_axes > i ? eg__onnx_axis(s->out_axes[i], rank) : 0;
        if (at < 0) {
            st = eg__onnx_why();
            break;
        }
        results[s->states + i] = stacked(&all[i], at, s->nout_backwards > i && s->out_backwards[i]);
        same_type(c, s->states + i, &c->values[s->body->out[s->states + i]]);
        st = results[s->states + i] ? EG_OK : eg__onnx_why();
    }
    let_go(all, s->outs);
    return st;
}

/* Version 8: each sequence of a batch by itself. */
static eg_status scan_batch(eg_onnx_call *c, const scanner *s, eg_tensor *const *xs, eg_tensor *const *states)
{
    const int results = s->states + s->outs;
    const int64_t n = eg_size(xs[0], 0);
    gathered *rows = eg__onnx_scratch(results, sizeof *rows);
    eg_status st = rows ? EG_OK : eg__onnx_why();
    for (int64_t b = 0; b < n && !st; b++) {
        eg_tensor *x[64], *state[64], *result[EG__ONNX_MOST_OUT] = {0};
        for (int i = 0; i < s->ins; i++) {
            x[i] = eg_select(xs[i], 0, b);
        }
        for (int i = 0; i < s->states; i++) {
            state[i] = eg_select(states[i], 0, b);
        }
        st = scan_over(c, s, x, state, result);
        for (int i = 0; i < results && !st; i++) {
            st = gather(&rows[i], result[i]);
        }
    }
    for (int i = 0; i < results && !st; i++) {
        st = eg_onnx_give(c, i, stacked(&rows[i], 0, false));
    }
    let_go(rows, results);
    return st;
}

eg_status eg__onnx_run_scan(eg_onnx_call *c)
{
    const eg__onnx_graph *g = graph_of(c, "body");
    const bool older = c->node->version < 9;
    const int64_t ins = eg_onnx_int(c, "num_scan_inputs", 0);
    scanner s = {.body = g, .skip = older, .ins = ins > 0 && ins <= 64 ? (int)ins : 0};
    if (!g) {
        return eg__onnx_why();
    }
    s.states = c->node->nin - s.skip - s.ins;
    s.outs = g->nout - s.states;
    if (s.ins < 1 || s.states < 0 || s.outs < 0 || g->nin != s.states + s.ins || s.states > 64 ||
        g->nout > EG__ONNX_MOST_OUT) {
        return eg__onnx_bad(c, "the body has not the inputs and outputs that a scan's has");
    }
    s.in_axes = eg_onnx_ints(c, "scan_input_axes", &s.nin_axes);
    s.out_axes = eg_onnx_ints(c, "scan_output_axes", &s.nout_axes);
    s.in_backwards = eg_onnx_ints(c, older ? "directions" : "scan_input_directions", &s.nin_backwards);
    s.out_backwards = eg_onnx_ints(c, "scan_output_directions", &s.nout_backwards);
    eg_tensor *xs[64], *states[64], *results[EG__ONNX_MOST_OUT] = {0};
    for (int i = 0; i < s.states + s.ins; i++) {
        eg_tensor *t = eg__onnx_in(c, s.skip + i);
        if (!t) {
            return eg__onnx_bad(c, "an input has no value");
        }
        *(i < s.states ? &states[i] : &xs[i - s.states]) = t;
    }
    if (older) {
        return scan_batch(c, &s, xs, states);
    }
    eg_status st = scan_over(c, &s, xs, states, results);
    for (int i = 0; i < g->nout && !st; i++) {
        st = eg_onnx_give(c, i, results[i]);
    }
    return st;
}
