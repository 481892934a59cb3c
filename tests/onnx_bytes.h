/* onnx_bytes.h - ONNX models of one node, made in the test. */
#ifndef EGRET_TESTS_ONNX_BYTES_H
#define EGRET_TESTS_ONNX_BYTES_H

#include "tests/egt.h"

#include <egret/onnx.h>

typedef struct bytes {
    size_t n;
    uint8_t at[4096];
} bytes;

static inline void put_varint(bytes *b, uint64_t x)
{
    do {
        b->at[b->n++] = (uint8_t)(x & 127) | (x > 127 ? 128 : 0);
        x >>= 7;
    } while (x);
}

static inline void put_int(bytes *b, int field, int64_t x)
{
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, (uint64_t)x);
}

static inline void put_float(bytes *b, int field, float x)
{
    put_varint(b, (uint64_t)field << 3 | 5);
    memcpy(b->at + b->n, &x, sizeof x);
    b->n += sizeof x;
}

static inline void put_text(bytes *b, int field, const char *text)
{
    const size_t n = strlen(text);
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, n);
    memcpy(b->at + b->n, text, n);
    b->n += n;
}

static inline void put_part(bytes *b, int field, const bytes *part)
{
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, part->n);
    memcpy(b->at + b->n, part->at, part->n);
    b->n += part->n;
}

/* ---- attributes of a node ------------------------------------------------------------------------------ */

static inline void with_int(bytes *node, const char *name, int64_t x)
{
    bytes a = {0};
    put_text(&a, 1, name);
    put_int(&a, 3, x);
    put_int(&a, 20, 2);
    put_part(node, 5, &a);
}

static inline void with_float(bytes *node, const char *name, float x)
{
    bytes a = {0};
    put_text(&a, 1, name);
    put_float(&a, 2, x);
    put_int(&a, 20, 1);
    put_part(node, 5, &a);
}

static inline void with_text(bytes *node, const char *name, const char *text)
{
    bytes a = {0};
    put_text(&a, 1, name);
    put_text(&a, 4, text);
    put_int(&a, 20, 3);
    put_part(node, 5, &a);
}

static inline void with_ints(bytes *node, const char *name, int n, const int64_t *x)
{
    bytes a = {0};
    put_text(&a, 1, name);
    for (int i = 0; i < n; i++) {
        put_int(&a, 8, x[i]);
    }
    put_int(&a, 20, 7);
    put_part(node, 5, &a);
}

static inline void with_floats(bytes *node, const char *name, int n, const float *x)
{
    bytes a = {0};
    put_text(&a, 1, name);
    for (int i = 0; i < n; i++) {
        put_float(&a, 7, x[i]);
    }
    put_int(&a, 20, 6);
    put_part(node, 5, &a);
}

/* ---- the model ------------------------------------------------------------------------------------------- */

static inline void put_value(bytes *graph, int field, const char *name, const eg_tensor *like)
{
    static const uint8_t types[EG_DTYPE_COUNT] = {
        [EG_F32] = 1, [EG_F64] = 11, [EG_F16] = 10, [EG_BF16] = 16,
        [EG_I64] = 7, [EG_I32] = 6,  [EG_U8] = 2,   [EG_BOOL] = 9,
    };
    bytes value = {0}, type = {0}, tensor = {0};
    put_int(&tensor, 1, like ? types[eg_dtype_of(like)] : 1);
    put_part(&type, 1, &tensor);
    put_text(&value, 1, name);
    put_part(&value, 2, &type);
    put_part(graph, field, &value);
}

/* The module of a node of this operator with these attributes; an input that is NULL is left out. */
static inline eg_module *one_node(const char *op, int version, const bytes *attributes, eg_tensor *const *in, int nin,
                                  int nout)
{
    bytes node = {0}, graph = {0}, imported = {0}, model = {0};
    put_text(&node, 4, op);
    for (int i = 0; i < nin; i++) {
        char name[2] = {(char)('a' + i)};
        put_text(&node, 1, in[i] ? name : "");
        if (in[i]) {
            put_value(&graph, 11, name, in[i]);
        }
    }
    for (int i = 0; i < nout; i++) {
        char name[2] = {(char)('A' + i)};
        put_text(&node, 2, name);
        put_value(&graph, 12, name, NULL);
    }
    memcpy(node.at + node.n, attributes->at, attributes->n);
    node.n += attributes->n;
    put_text(&graph, 2, "g");
    put_part(&graph, 1, &node);
    put_int(&imported, 2, version);
    put_int(&model, 1, 8);
    put_part(&model, 7, &graph);
    put_part(&model, 8, &imported);
    const char *path = egt_path("node.onnx");
    egt_write(path, model.at, model.n);
    return eg_onnx_load(path);
}

/* Its first output; NULL as refused. */
static inline eg_tensor *run_node(const char *op, int version, const bytes *attributes, eg_tensor *const *in, int nin)
{
    eg_tensor *out = NULL, *given[8];
    int n = 0;
    for (int i = 0; i < nin; i++) {
        if (in[i]) {
            given[n++] = in[i];
        }
    }
    eg_module *net = one_node(op, version, attributes, in, nin, 1);
    if (net) {
        eg_onnx_forward(net, given, n, &out);
    }
    eg_module_free(net);
    return out;
}

#endif
