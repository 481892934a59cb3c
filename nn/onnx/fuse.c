/* fuse.c - what a frozen model runs instead of nodes that follow each other: factors and sums by channel go into the
 * weights of the convolution or product before them, an activation behind it into its call, x sigmoid(x) becomes one
 * node, and gates of recurrent layers lie as Egret has them. */
#include <string.h>

#include <egret/device.h>
#include <egret/error.h>
#include <egret/ops.h>
#include <egret/tape.h>

#include "nn/onnx/ops.h"

typedef struct fuser {
    eg__onnx_net *net;
    eg__onnx_graph *g;
    int known;  /* places that there were at first */
    int *uses;  /* how often nodes, those of nested graphs too, and outputs take a place */
    int *maker; /* the node of g that makes it; -1 */
} fuser;

/* ---- who takes what ----------------------------------------------------------------------------------- */

static void count_uses(fuser *f, const eg__onnx_graph *g)
{
    for (int i = 0; i < g->nnodes; i++) {
        const eg__onnx_node *n = &g->nodes[i];
        for (int k = 0; k < n->nin; k++) {
            if (n->in[k] >= 0) {
                f->uses[n->in[k]]++;
            }
        }
        for (int k = 0; k < n->nattributes; k++) {
            if (n->attributes[k].kind == EG__ONNX_GRAPH) {
                count_uses(f, n->attributes[k].graph);
            }
        }
        if (n->function) {
            count_uses(f, n->function);
        }
    }
    for (int i = 0; i < g->nout; i++) {
        if (g->out[i] >= 0) {
            f->uses[g->out[i]]++;
        }
    }
}

static bool is(const eg__onnx_node *n, const char *name)
{
    return n && n->row && !strcmp(n->row->name, name);
}

/* The node whose only result is input i of n and goes nowhere else; NULL. */
static eg__onnx_node *before(const fuser *f, const eg__onnx_node *n, int i)
{
    const int place = i < n->nin ? n->in[i] : -1;
    if (place < 0 || place >= f->known || f->uses[place] != 1 || f->maker[place] < 0) {
        return NULL;
    }
    eg__onnx_node *m = &f->g->nodes[f->maker[place]];
    return m->row && m->nout == 1 ? m : NULL;
}

/* An input that is there before anything runs and nothing changes, of a float dtype; NULL. */
static eg_tensor *constant(const fuser *f, const eg__onnx_node *n, int i)
{
    const eg__onnx_place *p = i < n->nin && n->in[i] >= 0 ? &f->net->places[n->in[i]] : NULL;
    return p && p->role != EG__ONNX_NOTHING && !p->type && eg_dtype_of(p->t) <= EG_BF16 ? p->t : NULL;
}

/* ---- changing nodes ------------------------------------------------------------------------------------- */

/* Where a tensor goes that is to be input i of n: over what is there, if nobody else takes it, or to a place that has
 * no value any more (spare, or -1), so that it is the module's buffer; else to a new one. */
static int place_for(fuser *f, const eg__onnx_node *n, int i, int spare)
{
    eg__onnx_net *net = f->net;
    const int old = i < n->nin ? n->in[i] : -1;
    if (old >= 0 && (old >= f->known || f->uses[old] == 1)) {
        return old;
    }
    if (old < 0 && spare >= 0) {
        return spare;
    }
    if (!eg__onnx_grow(net, &net->places, net->nplaces, &net->cplaces, sizeof *net->places)) {
        return -1;
    }
    net->places[net->nplaces] = (eg__onnx_place){.name = NULL};
    return (int)net->nplaces++;
}

/* A tensor as input i of a node. */
static eg_status set_input(fuser *f, eg__onnx_node *n, int i, eg_tensor *t, int spare)
{
    int *in = eg__onnx_memory(f->net, (size_t)(n->nin + i + 1) * sizeof *in);
    t = t ? eg_keep(eg_detach(t)) : NULL;
    const int at = in && t ? place_for(f, n, i, spare) : -1;
    if (at < 0) {
        eg_release(t);
        return eg_last_error()->code;
    }
    memcpy(in, n->in, (size_t)n->nin * sizeof *in);
    for (int k = n->nin; k < i; k++) {
        in[k] = -1;
    }
    eg__onnx_place *p = &f->net->places[at];
    eg_release(p->t);
    *p = (eg__onnx_place){
        .name = p->name, .t = t, .role = p->name ? EG__ONNX_WEIGHT : EG__ONNX_CONSTANT, .buffer = true};
    in[i] = at;
    n->in = in;
    n->nin = n->nin > i ? n->nin : i + 1;
    return EG_OK;
}

/* n is done by m, which comes before it and gives its result. */
static eg_status merge(fuser *f, eg__onnx_node *m, eg__onnx_node *n)
{
    int *dead = eg__onnx_memory(f->net, (size_t)(m->ndead + n->ndead) * sizeof *dead + 8);
    if (!dead) {
        return EG_ENOMEM;
    }
    const int between = m->out[0], count = m->ndead;
    m->ndead = 0;
    for (int i = 0; i < count + n->ndead; i++) {
        const int place = i < count ? m->dead[i] : n->dead[i - count];
        if (place != between) {
            dead[m->ndead++] = place;
        }
    }
    m->dead = dead;
    m->out = n->out;
    f->maker[n->out[0]] = (int)(m - f->g->nodes);
    n->row = NULL;
    n->nin = n->nout = 0; /* it goes */
    return EG_OK;
}

/* ---- layers --------------------------------------------------------------------------------------------- */

/* A convolution or product with a weight of its own. */
typedef struct layer {
    eg_tensor *weight, *bias; /* bias [outputs]; may be NULL */
    int axis;                 /* of the weight, its outputs */
    int ndim;                 /* of the result; 0: any */
    int channel;              /* the result's axis of them, from the end */
} layer;

static int64_t int_of(const eg__onnx_node *n, const char *name, int64_t otherwise)
{
    return eg_onnx_int(&(eg_onnx_call){.node = n}, name, otherwise);
}

static double float_of(const eg__onnx_node *n, const char *name, double otherwise)
{
    return eg_onnx_float(&(eg_onnx_call){.node = n}, name, otherwise);
}

/* Whether n is one to which something can be added. */
static bool layer_of(const fuser *f, const eg__onnx_node *n, layer *l)
{
    *l = (layer){.weight = n ? constant(f, n, 1) : NULL, .bias = n ? constant(f, n, 2) : NULL, .channel = 1};
    if (!l->weight || n->then || (n->nin > 2 && n->in[2] >= 0 && !l->bias)) {
        return false;
    }
    const int ndim = eg_ndim(l->weight);
    if (is(n, "Conv") || (is(n, "ConvTranspose") && int_of(n, "group", 1) == 1)) {
        l->axis = is(n, "ConvTranspose");
        l->ndim = ndim;
        l->channel = ndim - 1;
    } else if (is(n, "Gemm") && float_of(n, "alpha", 1) == 1 && float_of(n, "beta", 1) == 1) {
        l->axis = !int_of(n, "transB", 0);
        l->ndim = 2;
    } else if (is(n, "MatMul")) {
        l->axis = 1;
    } else {
        return false;
    }
    return ndim > l->axis && (l->ndim ? ndim == l->ndim : ndim == 2) &&
           (!l->bias || (eg_ndim(l->bias) == 1 && eg_numel(l->bias) == eg_size(l->weight, l->axis)));
}

/* The numbers of a tensor that is broadcast to the layer's result by its outputs, as [outputs]; NULL: they are others.
 */
static eg_tensor *by_output(const layer *l, eg_tensor *t)
{
    const int64_t outputs = eg_size(l->weight, l->axis);
    const int ndim = eg_ndim(t);
    bool fits = eg_dtype_of(t) == eg_dtype_of(l->weight) && ndim <= (l->ndim ? l->ndim : 1) &&
                eg_device_of(t) == eg_device_of(l->weight);
    for (int d = 0; d < ndim; d++) {
        fits = fits && (eg_size(t, d) == 1 || (d == ndim - l->channel && eg_size(t, d) == outputs));
    }
    return fits ? eg_expand(eg_reshape(t, EG_SHAPE(-1)), EG_SHAPE(outputs)) : NULL;
}

/* w's numbers times [outputs], and the bias' too; then shifted. Either may be NULL. Halves are computed in f32. */
static eg_status change(fuser *f, eg__onnx_node *n, const layer *l, eg_tensor *scale, eg_tensor *shift)
{
    const eg_dtype dtype = eg_dtype_of(l->weight);
    eg_shape line = {eg_ndim(l->weight), {1, 1, 1, 1, 1, 1, 1, 1}};
    line.dim[l->axis] = -1;
    scale = scale ? eg__onnx_wide(scale) : NULL;
    shift = shift ? eg__onnx_wide(shift) : NULL;
    eg_tensor *bias = l->bias ? eg__onnx_wide(l->bias) : NULL;
    bias = bias && scale ? eg_mul(bias, scale) : bias;
    bias = bias && shift ? eg_add(bias, shift) : shift ? shift : bias;
    eg_status st = EG_OK;
    if (scale) {
        eg_tensor *weight = eg_mul(eg__onnx_wide(l->weight), eg_reshape(scale, line));
        st = set_input(f, n, 1, eg_cast(weight, dtype), -1);
    }
    bias = bias && !st ? eg_cast(bias, dtype) : NULL;
    return st || !bias ? st : set_input(f, n, 2, eg_copy(bias), n->out[0]); /* which n will not give any more */
}

/* ---- rules ---------------------------------------------------------------------------------------------- */

/* A rule leaves n as it is, changes it, or has it done by a node before it. */
typedef eg_status rule(fuser *f, eg__onnx_node *n);

/* Layer, then x * by output or x + by output. */
static eg_status scale_or_shift(fuser *f, eg__onnx_node *n)
{
    const bool add = is(n, "Add");
    if ((!add && !is(n, "Mul")) || n->version < 7) {
        return EG_OK;
    }
    for (int i = 0; i < 2; i++) {
        eg__onnx_node *m = before(f, n, i);
        eg_tensor *t = constant(f, n, 1 - i);
        layer l;
        t = t && layer_of(f, m, &l) ? by_output(&l, t) : NULL;
        if (t) {
            const eg_status st = change(f, m, &l, add ? NULL : t, add ? t : NULL);
            return st ? st : merge(f, m, n);
        }
    }
    return EG_OK;
}

/* Layer, then (x - mean) / sqrt(var + eps) * weight + bias. */
static eg_status batch_norm(fuser *f, eg__onnx_node *n)
{
    eg__onnx_node *m = is(n, "BatchNormalization") && n->version >= 7 && n->nout == 1 ? before(f, n, 0) : NULL;
    eg_tensor *t[4];
    layer l;
    if (!layer_of(f, m, &l) || !l.ndim || (n->version >= 14 && int_of(n, "training_mode", 0))) {
        return EG_OK;
    }
    for (int i = 0; i < 4; i++) { /* weight, bias, mean, var */
        t[i] = constant(f, n, i + 1);
        if (!t[i] || eg_ndim(t[i]) != 1 || eg_numel(t[i]) != eg_size(l.weight, l.axis) ||
            eg_dtype_of(t[i]) != eg_dtype_of(l.weight)) {
            return EG_OK;
        }
    }
    for (int i = 0; i < 4; i++) {
        t[i] = eg__onnx_wide(t[i]);
    }
    eg_tensor *scale = eg_mul(t[0], eg_rsqrt(eg_add_scalar(t[3], float_of(n, "epsilon", 1e-5))));
    eg_tensor *shift = eg_sub(t[1], eg_mul(t[2], scale));
    const eg_status st = scale && shift ? change(f, m, &l, scale, shift) : eg_last_error()->code;
    return st ? st : merge(f, m, n);
}

/* x sigmoid(x) */
static eg_status swish(fuser *f, eg__onnx_node *n)
{
    for (int i = 0; i < 2 && is(n, "Mul") && n->version >= 7; i++) {
        eg__onnx_node *gate = before(f, n, i);
        if (!is(gate, "Sigmoid") || gate->then || gate->in[0] < 0 || gate->in[0] != n->in[1 - i]) {
            continue;
        }
        f->uses[gate->in[0]]--; /* n takes it once */
        n->in = gate->in;
        n->nin = 1;
        n->op = "Swish";
        n->row = eg__onnx_find(n->op);
        n->least = 1;
        gate->row = NULL;
        gate->nin = gate->nout = 0;
        break;
    }
    return EG_OK;
}

/* The function that a node is of its input, if it is one that layers take; NULL. */
static eg_tensor *(*function_of(const fuser *f, const eg__onnx_node *n))(eg_tensor *)
{
    static const struct {
        const char *op, *approximate;
        eg_tensor *(*function)(eg_tensor *);
    } all[] = {{"Relu", "", eg_relu},          {"Tanh", "", eg_tanh},     {"Sigmoid", "", eg_sigmoid},
               {"Swish", "", eg_silu},         {"Gelu", "none", eg_gelu}, {"Gelu", "tanh", eg_gelu_tanh},
               {"HardSwish", "", eg_hardswish}};
    const char *approximate = eg_onnx_text(&(eg_onnx_call){.node = n}, "approximate", is(n, "Gelu") ? "none" : "");
    for (int i = 0; i < EG__COUNT(all); i++) {
        if (is(n, all[i].op) && !strcmp(approximate, all[i].approximate)) {
            return float_of(n, "alpha", 1) == 1 ? all[i].function : NULL;
        }
    }
    if (is(n, "Clip") && n->version >= 11) {
        const eg_tensor *low = constant(f, n, 1), *high = constant(f, n, 2);
        const bool numbers = low && high && eg_numel(low) == 1 && eg_numel(high) == 1;
        return numbers && eg_get(low, 0) == 0 && eg_get(high, 0) == 6 ? eg_relu6 : NULL;
    }
    return NULL;
}

/* Layer, then a function of each element. */
static eg_status activation(fuser *f, eg__onnx_node *n)
{
    eg_tensor *(*function)(eg_tensor *) = n->row && n->nin ? function_of(f, n) : NULL;
    eg__onnx_node *m = function ? before(f, n, 0) : NULL;
    layer l;
    if (!layer_of(f, m, &l)) {
        return EG_OK;
    }
    const eg_status st = merge(f, m, n);
    m->then = st ? NULL : function;
    return st;
}

/* Gates in the order of Egret's ops. */
static eg_status gates(fuser *f, eg__onnx_node *n)
{
    const int count = eg__onnx_gates(n->row);
    eg_tensor *t[3];
    eg_status st = EG_OK;
    for (int i = 0; i < 3; i++) {
        t[i] = constant(f, n, i + 1);
        if (!count || n->prepared || (i < 2 ? !t[i] || eg_ndim(t[i]) != 3 : !t[i] && n->nin > 3 && n->in[3] >= 0)) {
            return EG_OK;
        }
    }
    const int64_t all = count * eg_size(t[1], 2); /* of one direction; other sizes are refused where it runs */
    if (eg_size(t[0], 1) != all || eg_size(t[1], 1) != all ||
        (t[2] && (eg_ndim(t[2]) != 2 || eg_size(t[2], 1) != 2 * all))) {
        return EG_OK;
    }
    for (int i = 0; i < 3 && !st; i++) {
        st = t[i] ? set_input(f, n, i + 1, eg__onnx_gates_in_order(n->row, t[i]), -1) : EG_OK;
    }
    n->prepared = !st;
    return st;
}

static rule *const rules[] = {scale_or_shift, batch_norm, swish, activation, gates};

/* ---- all nodes -------------------------------------------------------------------------------------------- */

static eg_status fuse_node(fuser *f, eg__onnx_node *n)
{
    eg_status st = EG_OK;
    for (int r = 0; r < EG__COUNT(rules) && !st && n->row; r++) {
        eg_scope s = eg_scope_push();
        st = s.depth ? rules[r](f, n) : eg_last_error()->code;
        if (s.depth) {
            eg_scope_pop(s, NULL);
        }
    }
    return st;
}

static void drop_merged(eg__onnx_graph *g)
{
    int left = 0;
    for (int i = 0; i < g->nnodes; i++) {
        if (g->nodes[i].row || g->nodes[i].user || g->nodes[i].function) {
            g->nodes[left++] = g->nodes[i];
        }
    }
    g->nnodes = left;
}

eg_status eg__onnx_fuse(eg__onnx_net *net)
{
    const size_t places = (size_t)net->nplaces + 1;
    fuser f = {net, net->graph, (int)net->nplaces, eg__onnx_memory(net, places * sizeof *f.uses),
               eg__onnx_memory(net, places * sizeof *f.maker)};
    eg_status st = f.uses && f.maker ? EG_OK : eg_last_error()->code;
    for (size_t i = 0; i < places && !st; i++) {
        f.maker[i] = -1;
    }
    for (int i = 0; i < f.g->nnodes && !st; i++) {
        for (int k = 0; k < f.g->nodes[i].nout; k++) {
            if (f.g->nodes[i].out[k] >= 0) {
                f.maker[f.g->nodes[i].out[k]] = i;
            }
        }
    }
    if (!st) {
        count_uses(&f, f.g);
    }
    for (int i = 0; i < f.g->nnodes && !st; i++) {
        st = fuse_node(&f, &f.g->nodes[i]);
    }
    drop_merged(f.g);
    return st;
}
