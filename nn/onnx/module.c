/* module.c - a model as a module. */
#include <stdlib.h>
#include <string.h>

#include <egret/error.h>
#include <egret/ops.h>
#include <egret/tape.h>

#include "nn/onnx/graph.h"

static const eg_module_kind kind;

/* ---- running ---------------------------------------------------------------------------------------- */

static eg__onnx_net *net_of(eg_module *m, const char *op)
{
    if (m && m->kind == &kind) {
        return (eg__onnx_net *)m;
    }
    eg_fail(EG_EINVAL, op, m ? "m is not an ONNX model" : "m is NULL");
    return NULL;
}

/* Values of all places before anything runs; to be freed. */
static eg__onnx_run_value *begin(const eg__onnx_net *net, eg_tensor *const *in, int nin)
{
    eg__onnx_run_value *values = calloc(net->nplaces + 1, sizeof *values);
    if (!values) {
        eg_fail(EG_ENOMEM, eg__onnx_op_name, "no memory for the values of a run");
        return NULL;
    }
    for (uint32_t i = 0; i < net->nplaces; i++) {
        values[i].t = net->places[i].t;
        values[i].type = net->places[i].type;
    }
    for (int i = 0; i < nin; i++) {
        if (in[i]) {
            values[net->graph->in[i]].t = in[i]; /* of the type that the model says */
        }
    }
    return values;
}

static eg_status check_inputs(const eg__onnx_net *net, eg_tensor *const *in, int nin)
{
    if (nin < net->required || nin > net->ninputs) {
        return eg_failf(EG_EINVAL, "eg_onnx_forward", "%d inputs were given, the model has %d%s", nin, net->required,
                        net->required < net->ninputs ? " and others with values of their own" : "");
    }
    for (int i = 0; i < nin; i++) {
        const eg_onnx_value *v = &net->inputs[i];
        if (!in[i] && i < net->required) {
            return eg_failf(EG_EINVAL, "eg_onnx_forward", "input %d, \"%.80s\", is NULL", i, v->name);
        }
        if (in[i] && eg_dtype_of(in[i]) != v->dtype) {
            return eg_failf(EG_EDTYPE, "eg_onnx_forward", "input \"%.80s\" is %s, must be %s", v->name,
                            eg_dtype_name(eg_dtype_of(in[i])), eg_dtype_name(v->dtype));
        }
        if (in[i] && v->ranked && eg_ndim(in[i]) != v->shape.ndim) {
            return eg_failf(EG_ESHAPE, "eg_onnx_forward", "input \"%.80s\" has %d axes, must have %d", v->name,
                            eg_ndim(in[i]), v->shape.ndim);
        }
    }
    return EG_OK;
}

static void end(const eg__onnx_net *net, eg__onnx_run_value *values)
{
    for (uint32_t i = 0; values && i < net->nplaces; i++) {
        eg__onnx_drop(&values[i]);
    }
    free(values);
}

static eg_status run(eg__onnx_net *net, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    eg__onnx_run_value *values = begin(net, in, nin);
    eg_status st = values ? eg__onnx_run_graph(net, net->graph, values) : EG_ENOMEM;
    for (int i = 0; i < nout && !st; i++) {
        eg__onnx_run_value *v = &values[net->graph->out[i]];
        /* Of the module itself or the caller: seen through a view of it, which the scope may free. */
        out[i] = v->owned ? eg_scope_adopt(eg_keep(v->t)) : eg_reshape(v->t, eg_shape_of(v->t));
        st = out[i] ? EG_OK : eg_last_error()->code;
    }
    end(net, values);
    return st;
}

eg_status eg_onnx_forward(eg_module *m, eg_tensor *const *in, int nin, eg_tensor **out)
{
    static const char op[] = "eg_onnx_forward";
    eg__onnx_net *net = net_of(m, op);
    if (net && out) {
        memset(out, 0, (size_t)net->noutputs * sizeof *out);
    }
    if (!net || nin < 0 || (nin && !in) || !out) {
        return net ? eg_fail(EG_EINVAL, op, "in or out is NULL, or nin below 0") : eg_last_error()->code;
    }
    eg_status st = check_inputs(net, in, nin);
    eg_scope s = st ? (eg_scope){0} : eg_scope_push();
    st = st ? st : s.depth ? run(net, in, nin, out, net->noutputs) : eg_last_error()->code;
    if (st) {
        memset(out, 0, (size_t)net->noutputs * sizeof *out);
    }
    if (s.depth) {
        const eg_status popped = eg_scope_pop_n(s, out, net->noutputs);
        st = st ? st : popped;
    }
    return st;
}

eg_status eg_onnx_follow(eg_module *m, eg_tensor *const *in, int nin,
                         void (*told)(int i, const eg_tensor *first, void *user), void *user)
{
    static const char op[] = "eg_onnx_follow";
    eg__onnx_net *net = net_of(m, op);
    if (!net || nin < 0 || (nin && !in) || !told) {
        return net ? eg_fail(EG_EINVAL, op, "in or told is NULL, or nin below 0") : eg_last_error()->code;
    }
    eg_status st = check_inputs(net, in, nin);
    eg_scope s = st ? (eg_scope){0} : eg_scope_push();
    eg__onnx_run_value *values = s.depth ? begin(net, in, nin) : NULL;
    st = st ? st : values ? EG_OK : eg_last_error()->code;
    for (int i = 0; i < net->graph->nnodes && !st; i++) {
        const eg__onnx_graph one = {.nodes = &net->graph->nodes[i], .nnodes = 1};
        st = eg__onnx_run_graph(net, &one, values);
        if (!st) {
            const int place = one.nodes->nout ? one.nodes->out[0] : -1;
            told(i, place < 0 ? NULL : values[place].t, user);
        }
    }
    end(net, values);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

static eg_tensor *forward(eg_module *m, eg_tensor *x)
{
    eg_tensor *few[8], **out = few;
    const int n = ((eg__onnx_net *)m)->noutputs;
    if (n > EG__COUNT(few) && !(out = calloc((size_t)n, sizeof *out))) {
        eg_fail(EG_ENOMEM, eg__onnx_op_name, "no memory for the outputs");
        return NULL;
    }
    eg_tensor *y = eg_onnx_forward(m, &x, 1, out) ? NULL : out[0];
    if (out != few) {
        free(out);
    }
    return y;
}

/* ---- members ---------------------------------------------------------------------------------------- */

static void members(eg_module *m, eg_members *all)
{
    eg__onnx_net *net = (eg__onnx_net *)m;
    for (uint32_t i = 0; i < net->nplaces; i++) {
        eg__onnx_place *p = &net->places[i];
        if (p->role == EG__ONNX_WEIGHT && p->buffer) {
            eg_member_buffer(all, p->name, &p->t);
        } else if (p->role == EG__ONNX_WEIGHT) {
            eg_member_parameter(all, p->name, &p->t);
        }
    }
}

static void free_net(eg_module *m)
{
    eg__onnx_net *net = (eg__onnx_net *)m;
    for (uint32_t i = 0; i < net->nplaces; i++) {
        if (net->places[i].role == EG__ONNX_CONSTANT) {
            eg_release(net->places[i].t);
        }
    }
    for (eg__onnx_block *b = net->memory; b;) {
        eg__onnx_block *next = b->next;
        eg_release(b->memory);
        b = next;
    }
}

static const eg_module_kind kind = {
    .size = sizeof(eg_module_kind),
    .name = "onnx",
    .forward = forward,
    .members = members,
    .free = free_net,
};

/* ---- loading ---------------------------------------------------------------------------------------- */

/* Operators of the user's, with their names. */
static eg_status copy_ops(eg__onnx_net *net, const eg_onnx_options *o)
{
    if (o->op_count < 0 || (o->op_count && !o->ops)) {
        return eg_fail(EG_EINVAL, "eg_onnx_load", "op_count is below 0, or ops is NULL");
    }
    eg_onnx_op *ops = eg__onnx_memory(net, (size_t)o->op_count * sizeof *ops);
    if (!ops) {
        return EG_ENOMEM;
    }
    for (int i = 0; i < o->op_count; i++) {
        const char *texts[] = {o->ops[i].domain ? o->ops[i].domain : "", o->ops[i].name};
        char *copy[2];
        for (int k = 0; k < 2; k++) {
            if (!texts[k] || !o->ops[i].run) {
                return eg_fail(EG_EINVAL, "eg_onnx_load", "an operator without a name or a function");
            }
            copy[k] = eg__onnx_memory(net, strlen(texts[k]) + 1);
            if (!copy[k]) {
                return EG_ENOMEM;
            }
            memcpy(copy[k], texts[k], strlen(texts[k]));
        }
        ops[i] = o->ops[i];
        ops[i].domain = copy[0];
        ops[i].name = copy[1];
    }
    net->ops = ops;
    net->nops = o->op_count;
    return EG_OK;
}

/* Parameters of the module instead of tensors of the file. */
static eg_status make_weights(eg__onnx_net *net, bool frozen)
{
    for (uint32_t i = 0; i < net->nplaces; i++) {
        eg__onnx_place *p = &net->places[i];
        if (p->role != EG__ONNX_WEIGHT || p->buffer || frozen) {
            p->buffer = true;
            continue;
        }
        eg_scope s = eg_scope_push();
        eg_tensor *t = s.depth ? eg_parameter(eg_copy(p->t)) : NULL;
        if (t) {
            eg_release(p->t);
            p->t = t;
        }
        if (s.depth) {
            eg_scope_pop(s, NULL);
        }
        if (!t) {
            return eg_last_error()->code;
        }
    }
    return EG_OK;
}

eg_module *eg_onnx_load_with(const char *path, const eg_onnx_options *options)
{
    eg_onnx_options o;
    eg__options(&o, sizeof o, options);
    if (!path) {
        eg_fail(EG_EINVAL, "eg_onnx_load", "path is NULL");
        return NULL;
    }
    eg__onnx_net *net = eg_module_new(sizeof *net, &kind);
    if (!net) {
        return NULL;
    }
    eg_status st = copy_ops(net, &o);
    st = st ? st : eg__onnx_read(net, path);
    if (o.frozen) { /* values of inputs are what they are, too */
        net->ninputs = net->required;
    }
    st = st ? st : eg__onnx_fold(net, o.frozen);
    st = st || !o.frozen ? st : eg__onnx_fuse(net);
    st = st ? st : make_weights(net, o.frozen);
    if (!st) {
        return eg_module_finish(&net->base);
    }
    eg_module_free(&net->base);
    return NULL;
}

/* ---- what it takes and gives -------------------------------------------------------------------------- */

static eg_onnx_value value_at(const eg_onnx_value *values, int count, int i, const char *op)
{
    if (i < 0 || i >= count) {
        eg_failf(EG_EINDEX, op, "there are %d, so no %d", count, i);
        return (eg_onnx_value){.name = NULL};
    }
    return values[i];
}

int eg_onnx_inputs(eg_module *m)
{
    const eg__onnx_net *net = net_of(m, "eg_onnx_inputs");
    return net ? net->ninputs : 0;
}

eg_onnx_value eg_onnx_input_at(eg_module *m, int i)
{
    const eg__onnx_net *net = net_of(m, "eg_onnx_input_at");
    return net ? value_at(net->inputs, net->ninputs, i, "eg_onnx_input_at") : (eg_onnx_value){.name = NULL};
}

int eg_onnx_outputs(eg_module *m)
{
    const eg__onnx_net *net = net_of(m, "eg_onnx_outputs");
    return net ? net->noutputs : 0;
}

eg_onnx_value eg_onnx_output_at(eg_module *m, int i)
{
    const eg__onnx_net *net = net_of(m, "eg_onnx_output_at");
    return net ? value_at(net->outputs, net->noutputs, i, "eg_onnx_output_at") : (eg_onnx_value){.name = NULL};
}

/* ---- its nodes ---------------------------------------------------------------------------------------- */

eg_onnx_info eg_onnx_about(eg_module *m)
{
    const eg__onnx_net *net = net_of(m, "eg_onnx_about");
    return net ? net->info : (eg_onnx_info){.producer = NULL};
}

int eg_onnx_nodes(eg_module *m)
{
    const eg__onnx_net *net = net_of(m, "eg_onnx_nodes");
    return net ? net->graph->nnodes : 0;
}

eg_onnx_node eg_onnx_node_at(eg_module *m, int i)
{
    const eg__onnx_net *net = net_of(m, "eg_onnx_node_at");
    if (!net || i < 0 || i >= net->graph->nnodes) {
        if (net) {
            eg_failf(EG_EINDEX, "eg_onnx_node_at", "there are %d, so no %d", net->graph->nnodes, i);
        }
        return (eg_onnx_node){.name = NULL};
    }
    const eg__onnx_node *n = &net->graph->nodes[i];
    eg_onnx_node about = {n->domain, n->op, n->name, 0};
    for (int k = 0; k < n->nin; k++) {
        const eg__onnx_place *p = n->in[k] < 0 ? NULL : &net->places[n->in[k]];
        about.parameters += p && p->role == EG__ONNX_WEIGHT && !p->buffer ? eg_numel(p->t) : 0;
    }
    return about;
}
