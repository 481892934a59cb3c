/* onnx_bytes.h - ONNX models made in the test: of one node, or of a few with weights. */
#ifndef EGRET_TESTS_ONNX_BYTES_H
#define EGRET_TESTS_ONNX_BYTES_H

#include "tests/egt.h"

#include <egret/onnx.h>

typedef struct bytes {
    size_t n;
    uint8_t at[1 << 14];
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

static inline void put_bytes(bytes *b, int field, const void *at, size_t n)
{
    EGT_CHECK(b->n + n + 16 < sizeof b->at);
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, n);
    memcpy(b->at + b->n, at, n);
    b->n += n;
}

static inline void put_text(bytes *b, int field, const char *text)
{
    put_bytes(b, field, text, strlen(text));
}

/* Words of a text, each as the field; "-" stands for an empty one. */
static inline void put_words(bytes *b, int field, const char *words)
{
    char word[64];
    for (int n = 0; sscanf(words, "%63s%n", word, &n) == 1; words += n) {
        put_text(b, field, strcmp(word, "-") ? word : "");
    }
}

static inline void put_part(bytes *b, int field, const bytes *part)
{
    put_bytes(b, field, part->at, part->n);
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

/* "name=value": a whole number, a number with a point, a text, or a list of one kind in brackets. */
static inline void with(bytes *node, const char *given)
{
    const char *value = strchr(given, '=') + 1;
    const bool list = *value == '[', number = strspn(value, "[]-+.,e0123456789") == strlen(value);
    const bool whole = number && !strchr(value, '.');
    bytes a = {.n = 0};
    put_bytes(&a, 1, given, (size_t)(value - 1 - given));
    put_int(&a, 20, (list ? 5 : 0) + (whole ? 2 : number ? 1 : 3));
    char word[64];
    for (value += list; *value && *value != ']'; value += *value == ',') {
        const size_t n = list ? strcspn(value, ",]") : strlen(value);
        snprintf(word, sizeof word, "%.*s", (int)n, value);
        value += n;
        if (whole) {
            put_int(&a, list ? 8 : 3, strtoll(word, NULL, 10));
        } else if (number) {
            put_float(&a, list ? 7 : 2, strtof(word, NULL));
        } else {
            put_text(&a, list ? 9 : 4, word);
        }
    }
    put_part(node, 5, &a);
}

/* ---- values ---------------------------------------------------------------------------------------------- */

/* ONNX's number of a tensor's dtype. */
static inline int onnx_type(const eg_tensor *like)
{
    static const uint8_t types[EG_DTYPE_COUNT] = {
        [EG_F32] = 1, [EG_F64] = 11, [EG_F16] = 10, [EG_BF16] = 16,
        [EG_I64] = 7, [EG_I32] = 6,  [EG_U8] = 2,   [EG_BOOL] = 9,
    };
    return types[eg_dtype_of(like)];
}

static inline void put_value_of(bytes *graph, int field, const char *name, int type)
{
    bytes value = {0}, kind = {0}, tensor = {0};
    put_int(&tensor, 1, type);
    put_part(&kind, 1, &tensor);
    put_text(&value, 1, name);
    put_part(&value, 2, &kind);
    put_part(graph, field, &value);
}

static inline void put_value(bytes *graph, int field, const char *name, const eg_tensor *like)
{
    put_value_of(graph, field, name, like ? onnx_type(like) : 1);
}

/* An initializer. */
static inline void put_tensor(bytes *graph, const char *name, eg_tensor *t)
{
    bytes tensor = {0};
    t = eg_to(t, eg_cpu());
    for (int d = 0; d < eg_ndim(t); d++) {
        put_int(&tensor, 1, eg_size(t, d));
    }
    put_int(&tensor, 2, onnx_type(t));
    put_text(&tensor, 8, name);
    put_bytes(&tensor, 9, eg_data(t), (size_t)eg_numel(t) * eg_dtype_size(eg_dtype_of(t)));
    put_part(graph, 5, &tensor);
}

/* ---- models ---------------------------------------------------------------------------------------------- */

static inline const char *write_graph(const bytes *graph, int version)
{
    bytes imported = {0}, model = {0};
    put_text(&imported, 1, "");
    put_int(&imported, 2, version);
    put_int(&model, 1, 8);
    put_part(&model, 7, graph);
    put_part(&model, 8, &imported);
    const char *path = egt_path("node.onnx");
    egt_write(path, model.at, model.n);
    return path;
}

/* A node: names of its inputs and outputs between spaces, "-" for one left out; attributes "name=value". */
typedef struct spec {
    const char *op;
    int version;
    const char *in, *out;
    const char *attributes[8];
    int types[8]; /* of inputs of a model of this node alone; 0: f32 */
} spec;

static inline void put_spec(bytes *graph, const spec *s)
{
    bytes node = {0};
    put_words(&node, 1, s->in);
    put_words(&node, 2, s->out);
    put_text(&node, 4, s->op);
    for (int i = 0; i < 8 && s->attributes[i]; i++) {
        with(&node, s->attributes[i]);
    }
    put_part(graph, 1, &node);
}

/* The module of a node of this operator with these attributes; an input that is NULL is left out. */
static inline eg_module *one_node(const char *op, int version, const bytes *attributes, eg_tensor *const *in, int nin,
                                  int nout)
{
    bytes node = {0}, graph = {0};
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
    return eg_onnx_load(write_graph(&graph, version));
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
