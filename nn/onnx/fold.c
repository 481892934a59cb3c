/* fold.c - what depends on no input and no parameter, computed once while a model is read, as far as it is little.
 *
 * The numbers that a node takes and gives are estimated before it runs. One that may make many of few does not run now;
 * and all that run now together take and give no more than a few for each byte of the model's tensors, and a constant.
 * What is left is computed at each run, as other nodes. */
#include <math.h>

#include <egret/error.h>
#include <egret/ops.h>
#include <egret/tape.h>

#include "nn/onnx/ops.h"

enum {
    ALWAYS = 1 << 20,   /* so many numbers may come of few */
    TOTAL = 1 << 22,    /* numbers that all nodes together take and give, and */
    PER_BYTE = 8,       /* so many for each byte of the model's tensors */
    PRODUCTS = 1 << 28, /* multiplications of one product */
};

static bool foldable(const eg__onnx_net *net, const eg__onnx_node *n, bool weights_too)
{
    if (!n->row || n->row->flags & (EG__ONNX_RANDOM | EG__ONNX_LATE)) {
        return false;
    }
    for (int i = 0; i < n->nattributes; i++) {
        if (n->attributes[i].kind == EG__ONNX_GRAPH) {
            return false;
        }
    }
    for (int i = 0; i < n->nin; i++) {
        const eg__onnx_place *p = n->in[i] < 0 ? NULL : &net->places[n->in[i]];
        if (p && !(p->role == EG__ONNX_CONSTANT && !p->open) && !(weights_too && p->role != EG__ONNX_NOTHING)) {
            return false;
        }
    }
    return true;
}

/* ---- how much a node takes and gives ------------------------------------------------------------------- */

/* Estimates are rough: doubles, which do not overflow. */
static double numbers_of(const eg_onnx_call *c, int i)
{
    return (double)eg_numel(eg__onnx_in(c, i));
}

static double sum_of_inputs(const eg_onnx_call *c)
{
    double sum = 0;
    for (int i = 0; i < c->node->nin; i++) {
        sum += numbers_of(c, i);
    }
    return sum;
}

static double product_of_inputs(const eg_onnx_call *c)
{
    double product = 1;
    for (int i = 0; i < c->node->nin; i++) {
        product *= eg__onnx_in(c, i) ? numbers_of(c, i) + 1 : 1;
    }
    return product;
}

/* Of the shape to which all inputs are broadcast, and input `sizes` (-1: none), a list of sizes, with them. */
static double broadcast(const eg_onnx_call *c, int sizes)
{
    double numbers = 1;
    for (int back = 1; back <= EG_MAX_DIMS; back++) {
        double most = 1;
        for (int i = 0; i < c->node->nin; i++) {
            const eg_tensor *t = i == sizes ? NULL : eg__onnx_in(c, i);
            most = t && back <= eg_ndim(t) ? fmax(most, (double)eg_size(t, -back)) : most;
        }
        const eg_tensor *list = sizes < 0 ? NULL : eg__onnx_in(c, sizes);
        const int64_t n = eg_numel(list);
        most = back <= n ? fmax(most, eg_get(list, n - back)) : most;
        numbers *= most;
    }
    return numbers;
}

static double of_expand(const eg_onnx_call *c)
{
    return broadcast(c, 1);
}

/* Sizes, or how often each axis is repeated, in input i. */
static double product_of_numbers(const eg_onnx_call *c, int i)
{
    double product = 1;
    for (int64_t k = 0; k < eg_numel(eg__onnx_in(c, i)); k++) {
        product *= eg_get(eg__onnx_in(c, i), k);
    }
    return product;
}

static double of_fill(const eg_onnx_call *c)
{
    return product_of_numbers(c, 0);
}

static double of_tile(const eg_onnx_call *c)
{
    return numbers_of(c, 0) * product_of_numbers(c, 1);
}

static double of_range(const eg_onnx_call *c)
{
    return fabs((eg__onnx_number(c, 1, 0) - eg__onnx_number(c, 0, 0)) / eg__onnx_number(c, 2, 1));
}

static double of_one_hot(const eg_onnx_call *c)
{
    return numbers_of(c, 0) * fmax(eg__onnx_number(c, 1, 0), 1);
}

/* No more than each axis with all of the pads. */
static double of_pad(const eg_onnx_call *c)
{
    int64_t pads[2 * EG_MAX_DIMS];
    const int n = eg__onnx_list(c, c->node->version < 2 ? "paddings" : "pads", 1, pads, 2 * EG_MAX_DIMS);
    const eg_tensor *x = eg__onnx_in(c, 0);
    double more = 0, numbers = 1;
    for (int i = 0; i < n; i++) {
        more = fmax(more, (double)pads[i]);
    }
    for (int d = 0; d < eg_ndim(x); d++) {
        numbers *= (double)eg_size(x, d) + 2 * more;
    }
    return numbers;
}

static double of_gather(const eg_onnx_call *c)
{
    const eg_tensor *x = eg__onnx_in(c, 0);
    const int axis = eg__onnx_axis(eg_onnx_int(c, "axis", 0), eg_ndim(x));
    return axis < 0 ? 0 : numbers_of(c, 0) / (double)eg__max(eg_size(x, axis), 1) * numbers_of(c, 1);
}

static double of_window(const eg_onnx_call *c)
{
    return eg__onnx_number(c, 0, 0);
}

/* Result sizes of operators whose results are larger than their inputs. */
static const struct {
    eg_status (*run)(eg_onnx_call *c);
    double (*gives)(const eg_onnx_call *c);
} growing[] = {
    {eg__onnx_run_expand, of_expand},
    {eg__onnx_run_constant_of_shape, of_fill},
    {eg__onnx_run_tile, of_tile},
    {eg__onnx_run_range, of_range},
    {eg__onnx_run_one_hot, of_one_hot},
    {eg__onnx_run_pad, of_pad},
    {eg__onnx_run_gather, of_gather},
    {eg__onnx_run_blackman_window, of_window},
    {eg__onnx_run_hamming_window, of_window},
    {eg__onnx_run_hann_window, of_window},
};

/* The numbers that a node takes and gives; INFINITY if it is not to run now. */
static double estimate(const eg_onnx_call *c)
{
    const eg__onnx_row *row = c->node->row;
    const double taken = sum_of_inputs(c);
    if (row->flags & EG__ONNX_PRODUCT) {
        const double product = product_of_inputs(c);
        return product <= PRODUCTS ? taken + product / (PRODUCTS / ALWAYS) : (double)INFINITY;
    }
    double given = broadcast(c, -1);
    for (int i = 0; i < EG__COUNT(growing); i++) {
        given = growing[i].run == row->run ? growing[i].gives(c) : given;
    }
    return given <= fmax(taken, ALWAYS) ? taken + given : (double)INFINITY; /* NaN is INFINITY too */
}

/* Returns whether a node may be computed at load, and subtracts its cost from the remaining budget. */
static bool affordable(eg__onnx_net *net, const eg__onnx_node *n, eg__onnx_run_value *values, double *left)
{
    for (int i = 0; i < n->nin; i++) {
        if (n->in[i] >= 0 && !values[n->in[i]].t) {
            return true; /* it is refused in words */
        }
    }
    const double cost = estimate(&(eg_onnx_call){.net = net, .node = n, .values = values});
    if (!(cost <= *left)) {
        return false;
    }
    *left -= cost;
    return true;
}

/* ---- the nodes --------------------------------------------------------------------------------------------- */

static void set_inputs(const eg__onnx_net *net, const eg__onnx_node *n, eg__onnx_run_value *values, bool there)
{
    for (int i = 0; i < n->nin; i++) {
        const eg__onnx_place *p = n->in[i] < 0 ? NULL : &net->places[n->in[i]];
        if (p) {
            values[n->in[i]] = there ? (eg__onnx_run_value){p->t, p->type, false} : (eg__onnx_run_value){0};
        }
    }
}

/* Runs a node and keeps its results as constants. */
static eg_status fold_node(eg__onnx_net *net, eg__onnx_node *n, eg__onnx_run_value *values)
{
    const int ndead = n->ndead;
    n->ndead = 0;
    eg_status st = eg__onnx_run_node(net, n, values);
    n->ndead = ndead;
    for (int i = 0; i < n->nout; i++) {
        eg__onnx_run_value *v = n->out[i] < 0 ? NULL : &values[n->out[i]];
        if (v && !st) {
            eg__onnx_place *p = &net->places[n->out[i]];
            *p = (eg__onnx_place){
                .name = p->name, .t = eg_keep(eg_detach(v->t)), .role = EG__ONNX_CONSTANT, .type = v->type};
            st = p->t ? EG_OK : eg_last_error()->code;
        }
        if (v) {
            eg__onnx_drop(v);
        }
    }
    return st;
}

static double bytes_of_tensors(const eg__onnx_net *net)
{
    double bytes = 0;
    for (uint32_t i = 0; i < net->nplaces; i++) {
        const eg_tensor *t = net->places[i].t;
        bytes += t ? (double)eg_numel(t) * (double)eg_dtype_size(eg_dtype_of(t)) : 0;
    }
    return bytes;
}

eg_status eg__onnx_fold(eg__onnx_net *net, bool weights_too)
{
    eg__onnx_run_value *values = eg__onnx_memory(net, (net->nplaces + 1) * sizeof *values);
    eg__onnx_graph *g = net->graph;
    eg_status st = values ? EG_OK : eg_last_error()->code;
    double left = TOTAL + PER_BYTE * bytes_of_tensors(net);
    int stay = 0;
    eg_scope s = eg_scope_push();
    st = s.depth ? st : eg_last_error()->code;
    for (int i = 0; i < g->nnodes && !st; i++) {
        eg__onnx_node *n = &g->nodes[i];
        bool now = foldable(net, n, weights_too);
        if (now) {
            set_inputs(net, n, values, true);
            now = affordable(net, n, values, &left);
            st = now ? fold_node(net, n, values) : EG_OK;
            set_inputs(net, n, values, false);
        }
        if (!now) {
            g->nodes[stay++] = *n;
        }
    }
    g->nnodes = st ? g->nnodes : stay;
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}
