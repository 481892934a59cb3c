/* onnx_models.h - models made in the test, run on numbers, and their gradients against differences. */
#ifndef EGRET_TESTS_ONNX_MODELS_H
#define EGRET_TESTS_ONNX_MODELS_H

#include "tests/onnx_bytes.h"

#include <egret/ops.h>

#define F64(shape, ...) eg_from_values(shape, EG_F64, (double[]){__VA_ARGS__})
#define F32(shape, ...) eg_from_values(shape, EG_F32, (double[]){__VA_ARGS__})
#define I64(shape, ...) eg_from(shape, EG_I64, (int64_t[]){__VA_ARGS__})
#define RUN(op, version, attributes, ...)                           \
    run_node(op, version, attributes, (eg_tensor *[]){__VA_ARGS__}, \
             (int)(sizeof(eg_tensor *[]){__VA_ARGS__} / sizeof(eg_tensor *)))

static const bytes none __attribute__((unused));

static inline eg_tensor *noise(eg_shape shape)
{
    return egt_random(shape, EG_F64, -1, 1);
}

/* ONNX's numbers of types. */
enum {
    FLOAT = 1,
    UINT8,
    INT8,
    UINT16,
    INT16,
    INT32,
    INT64,
    BOOL = 9,
    DOUBLE = 11,
    UINT32,
    UINT64,
    E4M3 = 17,
    E5M2 = 19
};
enum { UINT4 = 21, INT4, F4, E8M0, UINT2, INT2, F6_E2M3, F6_E3M2 };

#define VALUES(t, ...) \
    same_values(t, (const double[]){__VA_ARGS__}, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)))
static inline bool same_values(const eg_tensor *t, const double *wanted, int n)
{
    bool same = t && eg_numel(t) == n;
    for (int i = 0; same && i < n; i++) {
        const double x = eg_get(t, i);
        same = isnan(wanted[i]) ? isnan(x) : x == wanted[i] && !signbit(x) == !signbit(wanted[i]);
    }
    return same;
}

/* Nodes one after the other, from "x", of an ONNX type, to "y"; NULL as refused. */
static inline eg_tensor *chain(int version, int type, eg_tensor *x, const spec *nodes, int count)
{
    bytes graph = {.n = 0};
    eg_tensor *y = NULL;
    for (int i = 0; i < count; i++) {
        put_spec(&graph, &nodes[i]);
    }
    put_text(&graph, 2, "g");
    put_value_of(&graph, 11, "x", type);
    put_value_of(&graph, 12, "y", FLOAT);
    eg_module *m = eg_onnx_load(write_graph(&graph, version));
    if (m) {
        eg_onnx_forward(m, &x, 1, &y);
    }
    eg_module_free(m);
    return y;
}

/* The first outputs of a node. */
static inline eg_status run_some(const char *op, int version, const bytes *attributes, eg_tensor *const *in, int nin,
                                 eg_tensor **out, int nout)
{
    eg_tensor *given[8];
    int n = 0;
    for (int i = 0; i < nin; i++) {
        if (in[i]) {
            given[n++] = in[i];
        }
    }
    eg_module *m = one_node(op, version, attributes, in, nin, nout);
    eg_status st = m ? eg_onnx_forward(m, given, n, out) : eg_last_error()->code;
    eg_module_free(m);
    return st;
}

/* ---- gradients --------------------------------------------------------------------------------------- */

typedef struct node {
    const char *op;
    int version;
    const bytes *attributes;
    eg_tensor **in, *dy;
    int nin;
} node;

static inline double sum_of(const node *n)
{
    eg_tensor *y = run_node(n->op, n->version, n->attributes, n->in, n->nin);
    return eg_item(eg_sum(eg_mul(y, n->dy)));
}

/* A few elements of the gradient of input i against differences. */
static inline void compare(node *n, int i, const eg_tensor *gradient)
{
    eg_tensor *x = n->in[i];
    const int64_t all = eg_numel(x), step = all / 7 + 1;
    const double h = 1e-6;
    for (int64_t k = all / 11; k < all; k += step) {
        EG_SCOPE {
            eg_tensor *up = eg_copy(x), *down = eg_copy(x);
            EGT_OK(eg_set(up, k, eg_get(x, k) + h));
            EGT_OK(eg_set(down, k, eg_get(x, k) - h));
            n->in[i] = up;
            const double above = sum_of(n);
            n->in[i] = down;
            EGT_NEAR(eg_get(gradient, k), (above - sum_of(n)) / (2 * h), 1e-6);
        }
        n->in[i] = x;
    }
}

/* Of the inputs that the bits of `which` name. */
static inline void check_gradients(const char *op, int version, const bytes *attributes, eg_tensor **in, int nin,
                                   unsigned which)
{
    node n = {op, version, attributes, in, NULL, nin};
    eg_tensor *learn[8], *given[8] = {0};
    int count = 0;
    eg_tape tape = eg_tape_open();
    for (int i = 0; i < nin; i++) {
        if (which >> i & 1) {
            EGT_OK(eg_tape_watch(tape, in[i]));
            learn[count++] = in[i];
        }
    }
    eg_tensor *y = run_node(op, version, attributes, in, nin);
    EGT_CHECK(y && eg_numel(y) > 0);
    n.dy = noise(eg_shape_of(y));
    EGT_OK(eg_tape_gradients(tape, y, learn, count, given, .dy = n.dy));
    for (int i = 0, k = 0; i < nin; i++) {
        if (which >> i & 1) {
            compare(&n, i, given[k++]);
        }
    }
}

#endif
