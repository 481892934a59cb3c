/* look.c - what a model says of itself, and what its nodes make of an input. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

/* ---- check -------------------------------------------------------------------------------------------- */

static void print_ends(eg_module *m)
{
    char type[200];
    for (int i = 0; i < eg_onnx_inputs(m); i++) {
        const eg_onnx_value v = eg_onnx_input_at(m, i);
        printf("input   %s: %s%s\n", v.name, onnx_type(&v, type), v.optional ? ", has a value" : "");
    }
    for (int i = 0; i < eg_onnx_outputs(m); i++) {
        const eg_onnx_value v = eg_onnx_output_at(m, i);
        printf("output  %s: %s\n", v.name, onnx_type(&v, type));
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const eg_onnx_node *)a)->op, ((const eg_onnx_node *)b)->op);
}

/* Each operator and how often it is there. */
static eg_status print_operators(eg_module *m)
{
    const int n = eg_onnx_nodes(m);
    eg_onnx_node *nodes = calloc((size_t)n + 1, sizeof *nodes);
    if (!nodes) {
        return eg_fail(EG_ENOMEM, "egret-onnx", "no memory for the nodes");
    }
    for (int i = 0; i < n; i++) {
        nodes[i] = eg_onnx_node_at(m, i);
    }
    qsort(nodes, (size_t)n, sizeof *nodes, by_name);
    for (int i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && !strcmp(nodes[i].op, nodes[k].op); k++) {
        }
        printf("%7d %s%s%s\n", k - i, nodes[i].domain, *nodes[i].domain ? "::" : "", nodes[i].op);
    }
    free(nodes);
    return EG_OK;
}

eg_status onnx_check(char *const *paths, const void *options)
{
    const onnx_options *o = options;
    eg_module *m = onnx_open(paths[0], o);
    if (!m) {
        return eg_last_error()->code;
    }
    const eg_onnx_info about = eg_onnx_about(m);
    printf("%s: IR version %d, operators of version %d%s%s\n", paths[0], about.ir, about.opset,
           *about.producer ? ", made by " : "", about.producer);
    print_ends(m);
    eg_status st = print_operators(m);
    printf("%d nodes run, %d parameters of %" PRId64 " numbers\n", eg_onnx_nodes(m), eg_module_parameters(m).count,
           eg_module_numel(m));
    eg_module_free(m);
    return st;
}

/* ---- summary ------------------------------------------------------------------------------------------ */

typedef struct table {
    eg_module *m;
    int64_t parameters;
    int width, most; /* of operators and names, in letters */
} table;

static void print_node(int i, const eg_tensor *first, void *user)
{
    table *t = user;
    char shape[200] = "";
    const eg_onnx_node node = eg_onnx_node_at(t->m, i);
    if (first) {
        tool_shape(eg_shape_of(first), shape);
    }
    printf("%-*s  %-*s  %-20s  %10" PRId64 "\n", t->width, node.op, t->most, node.name, shape, node.parameters);
    t->parameters += node.parameters;
}

static int wider(const char *name, int than)
{
    const int n = (int)strlen(name);
    return n > than && n < 60 ? n : than;
}

eg_status onnx_summary(char *const *paths, const void *options)
{
    const onnx_options *o = options;
    table t = {.m = onnx_open(paths[0], o), .width = 8, .most = 4};
    if (!t.m) {
        return eg_last_error()->code;
    }
    for (int i = 0; i < eg_onnx_nodes(t.m); i++) {
        t.width = wider(eg_onnx_node_at(t.m, i).op, t.width);
        t.most = wider(eg_onnx_node_at(t.m, i).name, t.most);
    }
    eg_scope s = eg_scope_push();
    int n;
    eg_tensor **in = s.depth ? onnx_inputs(t.m, o, &n) : NULL;
    eg_status st = in ? EG_OK : eg_last_error()->code;
    if (!st) {
        printf("%-*s  %-*s  %-20s  %10s\n", t.width, "operator", t.most, "node", "output", "parameters");
        st = eg_onnx_follow(t.m, in, n, print_node, &t);
    }
    if (!st) {
        printf("%d nodes take %" PRId64 " numbers of parameters\n", eg_onnx_nodes(t.m), t.parameters);
    }
    free(in);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    eg_module_free(t.m);
    return st;
}
