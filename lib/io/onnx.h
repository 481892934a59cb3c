/* onnx.h - the numbers of ONNX's fields, and the names under which a model's tensors stand. Nothing here needs more
 * than this header, so that graphs can be read with it outside of the library. */
#ifndef EGRET_IO_ONNX_H
#define EGRET_IO_ONNX_H

#include <stdio.h>

#include <egret/base.h>

#include "lib/io/wire.h"

enum {
    EG__ONNX_NAME = 512, /* bytes of a name, with its 0 */
    EG__ONNX_DEPTH = 32, /* graphs inside each other */
};

/* ONNX's numbers of types (TensorProto.DataType). */
enum {
    EG__ONNX_F32 = 1,
    EG__ONNX_U8,
    EG__ONNX_I8,
    EG__ONNX_U16,
    EG__ONNX_I16,
    EG__ONNX_I32,
    EG__ONNX_I64,
    EG__ONNX_TEXT,
    EG__ONNX_BOOL,
    EG__ONNX_F16,
    EG__ONNX_F64,
    EG__ONNX_U32,
    EG__ONNX_U64,
    EG__ONNX_C64,
    EG__ONNX_C128,
    EG__ONNX_BF16,
    EG__ONNX_F8_E4M3,
    EG__ONNX_F8_E4M3FNUZ,
    EG__ONNX_F8_E5M2,
    EG__ONNX_F8_E5M2FNUZ,
    EG__ONNX_U4,
    EG__ONNX_I4,
    EG__ONNX_F4,
    EG__ONNX_F8_E8M0,
    EG__ONNX_U2,
    EG__ONNX_I2,
    EG__ONNX_F6_E2M3,
    EG__ONNX_F6_E3M2,
    EG__ONNX_TYPES,
};

/* onnx.proto: messages and their fields. */
enum {
    EG__ONNX_MODEL_IR = 1,
    EG__ONNX_MODEL_PRODUCER = 2,
    EG__ONNX_MODEL_GRAPH = 7,
    EG__ONNX_MODEL_OPSET = 8,
    EG__ONNX_MODEL_FUNCTION = 25,
    EG__ONNX_OPSET_DOMAIN = 1,
    EG__ONNX_OPSET_VERSION = 2,
    EG__ONNX_GRAPH_NODE = 1,
    EG__ONNX_GRAPH_NAME = 2,
    EG__ONNX_GRAPH_INITIALIZER = 5,
    EG__ONNX_GRAPH_INPUT = 11,
    EG__ONNX_GRAPH_OUTPUT = 12,
    EG__ONNX_GRAPH_SPARSE = 15,
    EG__ONNX_NODE_INPUT = 1,
    EG__ONNX_NODE_OUTPUT = 2,
    EG__ONNX_NODE_NAME = 3,
    EG__ONNX_NODE_OP = 4,
    EG__ONNX_NODE_ATTRIBUTE = 5,
    EG__ONNX_NODE_DOMAIN = 7,
    EG__ONNX_ATTR_NAME = 1,
    EG__ONNX_ATTR_FLOAT = 2,
    EG__ONNX_ATTR_INT = 3,
    EG__ONNX_ATTR_TEXT = 4,
    EG__ONNX_ATTR_TENSOR = 5,
    EG__ONNX_ATTR_GRAPH = 6,
    EG__ONNX_ATTR_FLOATS = 7,
    EG__ONNX_ATTR_INTS = 8,
    EG__ONNX_ATTR_TEXTS = 9,
    EG__ONNX_ATTR_TYPE = 20,
    EG__ONNX_ATTR_REFERENCE = 21,
    EG__ONNX_VALUE_NAME = 1,
    EG__ONNX_VALUE_TYPE = 2,
    EG__ONNX_FUNCTION_NAME = 1,
    EG__ONNX_FUNCTION_INPUT = 4,
    EG__ONNX_FUNCTION_OUTPUT = 5,
    EG__ONNX_FUNCTION_NODE = 7,
    EG__ONNX_FUNCTION_OPSET = 9,
    EG__ONNX_FUNCTION_DOMAIN = 10,
};

/* TensorProto. */
enum {
    EG__ONNX_TENSOR_DIMS = 1,
    EG__ONNX_TENSOR_TYPE = 2,
    EG__ONNX_TENSOR_FLOATS = 4,
    EG__ONNX_TENSOR_INT32S = 5,
    EG__ONNX_TENSOR_INT64S = 7,
    EG__ONNX_TENSOR_NAME = 8,
    EG__ONNX_TENSOR_RAW = 9,
    EG__ONNX_TENSOR_DOUBLES = 10,
    EG__ONNX_TENSOR_UINT64S = 11,
    EG__ONNX_TENSOR_EXTERNAL = 13,
    EG__ONNX_TENSOR_LOCATION = 14,
    EG__ONNX_PAIR_KEY = 1,
    EG__ONNX_PAIR_VALUE = 2,
};

/* TypeProto and what it consists of. */
enum {
    EG__ONNX_TYPE_TENSOR = 1,
    EG__ONNX_TYPE_SEQUENCE = 4,
    EG__ONNX_TYPE_MAP = 5,
    EG__ONNX_TYPE_SPARSE = 8,
    EG__ONNX_TYPE_OPTIONAL = 9,
    EG__ONNX_TENSOR_TYPE_ELEMENT = 1,
    EG__ONNX_TENSOR_TYPE_SHAPE = 2,
    EG__ONNX_SHAPE_DIM = 1,
    EG__ONNX_DIM_SIZE = 1,
};

/* ---- fields of messages ----------------------------------------------------------------------------- */

typedef enum eg__onnx_message {
    EG__ONNX_IN_MODEL,
    EG__ONNX_IN_OPSET,
    EG__ONNX_IN_GRAPH,
    EG__ONNX_IN_NODE,
    EG__ONNX_IN_ATTRIBUTE,
    EG__ONNX_IN_VALUE,
    EG__ONNX_IN_FUNCTION,
    EG__ONNX_IN_TENSOR,
    EG__ONNX_IN_PAIR,
    EG__ONNX_IN_TYPE,
    EG__ONNX_IN_TENSOR_TYPE,
    EG__ONNX_IN_SHAPE,
    EG__ONNX_IN_DIM,
    EG__ONNX_MESSAGES,
} eg__onnx_message;

/* Encoding of a field's value: one integer, one float, bytes (a text or a message), or lists of integers, floats or
 * doubles, each value in a field of its own or all packed into one. */
typedef enum eg__onnx_coding {
    EG__ONNX_UNUSED,
    EG__ONNX_AN_INT,
    EG__ONNX_A_FLOAT,
    EG__ONNX_BYTES,
    EG__ONNX_LIST_INT,
    EG__ONNX_LIST_FLOAT,
    EG__ONNX_LIST_DOUBLE,
} eg__onnx_coding;

static inline eg__onnx_coding eg__onnx_coding_of(eg__onnx_message message, uint32_t number)
{
    static const uint8_t codings[EG__ONNX_MESSAGES][32] = {
        [EG__ONNX_IN_MODEL] = {[EG__ONNX_MODEL_IR] = EG__ONNX_AN_INT,
                               [EG__ONNX_MODEL_PRODUCER] = EG__ONNX_BYTES,
                               [EG__ONNX_MODEL_GRAPH] = EG__ONNX_BYTES,
                               [EG__ONNX_MODEL_OPSET] = EG__ONNX_BYTES,
                               [EG__ONNX_MODEL_FUNCTION] = EG__ONNX_BYTES},
        [EG__ONNX_IN_OPSET] = {[EG__ONNX_OPSET_DOMAIN] = EG__ONNX_BYTES, [EG__ONNX_OPSET_VERSION] = EG__ONNX_AN_INT},
        [EG__ONNX_IN_GRAPH] = {[EG__ONNX_GRAPH_NODE] = EG__ONNX_BYTES,
                               [EG__ONNX_GRAPH_NAME] = EG__ONNX_BYTES,
                               [EG__ONNX_GRAPH_INITIALIZER] = EG__ONNX_BYTES,
                               [EG__ONNX_GRAPH_INPUT] = EG__ONNX_BYTES,
                               [EG__ONNX_GRAPH_OUTPUT] = EG__ONNX_BYTES,
                               [EG__ONNX_GRAPH_SPARSE] = EG__ONNX_BYTES},
        [EG__ONNX_IN_NODE] = {[EG__ONNX_NODE_INPUT] = EG__ONNX_BYTES,
                              [EG__ONNX_NODE_OUTPUT] = EG__ONNX_BYTES,
                              [EG__ONNX_NODE_NAME] = EG__ONNX_BYTES,
                              [EG__ONNX_NODE_OP] = EG__ONNX_BYTES,
                              [EG__ONNX_NODE_ATTRIBUTE] = EG__ONNX_BYTES,
                              [EG__ONNX_NODE_DOMAIN] = EG__ONNX_BYTES},
        [EG__ONNX_IN_ATTRIBUTE] = {[EG__ONNX_ATTR_NAME] = EG__ONNX_BYTES,
                                   [EG__ONNX_ATTR_FLOAT] = EG__ONNX_A_FLOAT,
                                   [EG__ONNX_ATTR_INT] = EG__ONNX_AN_INT,
                                   [EG__ONNX_ATTR_TEXT] = EG__ONNX_BYTES,
                                   [EG__ONNX_ATTR_TENSOR] = EG__ONNX_BYTES,
                                   [EG__ONNX_ATTR_GRAPH] = EG__ONNX_BYTES,
                                   [EG__ONNX_ATTR_FLOATS] = EG__ONNX_LIST_FLOAT,
                                   [EG__ONNX_ATTR_INTS] = EG__ONNX_LIST_INT,
                                   [EG__ONNX_ATTR_TEXTS] = EG__ONNX_BYTES,
                                   [EG__ONNX_ATTR_TYPE] = EG__ONNX_AN_INT,
                                   [EG__ONNX_ATTR_REFERENCE] = EG__ONNX_BYTES},
        [EG__ONNX_IN_VALUE] = {[EG__ONNX_VALUE_NAME] = EG__ONNX_BYTES, [EG__ONNX_VALUE_TYPE] = EG__ONNX_BYTES},
        [EG__ONNX_IN_FUNCTION] = {[EG__ONNX_FUNCTION_NAME] = EG__ONNX_BYTES,
                                  [EG__ONNX_FUNCTION_INPUT] = EG__ONNX_BYTES,
                                  [EG__ONNX_FUNCTION_OUTPUT] = EG__ONNX_BYTES,
                                  [EG__ONNX_FUNCTION_NODE] = EG__ONNX_BYTES,
                                  [EG__ONNX_FUNCTION_OPSET] = EG__ONNX_BYTES,
                                  [EG__ONNX_FUNCTION_DOMAIN] = EG__ONNX_BYTES},
        [EG__ONNX_IN_TENSOR] = {[EG__ONNX_TENSOR_DIMS] = EG__ONNX_LIST_INT,
                                [EG__ONNX_TENSOR_TYPE] = EG__ONNX_AN_INT,
                                [EG__ONNX_TENSOR_FLOATS] = EG__ONNX_LIST_FLOAT,
                                [EG__ONNX_TENSOR_INT32S] = EG__ONNX_LIST_INT,
                                [EG__ONNX_TENSOR_INT64S] = EG__ONNX_LIST_INT,
                                [EG__ONNX_TENSOR_NAME] = EG__ONNX_BYTES,
                                [EG__ONNX_TENSOR_RAW] = EG__ONNX_BYTES,
                                [EG__ONNX_TENSOR_DOUBLES] = EG__ONNX_LIST_DOUBLE,
                                [EG__ONNX_TENSOR_UINT64S] = EG__ONNX_LIST_INT,
                                [EG__ONNX_TENSOR_EXTERNAL] = EG__ONNX_BYTES,
                                [EG__ONNX_TENSOR_LOCATION] = EG__ONNX_AN_INT},
        [EG__ONNX_IN_PAIR] = {[EG__ONNX_PAIR_KEY] = EG__ONNX_BYTES, [EG__ONNX_PAIR_VALUE] = EG__ONNX_BYTES},
        [EG__ONNX_IN_TYPE] = {[EG__ONNX_TYPE_TENSOR] = EG__ONNX_BYTES,
                              [EG__ONNX_TYPE_SEQUENCE] = EG__ONNX_BYTES,
                              [EG__ONNX_TYPE_MAP] = EG__ONNX_BYTES,
                              [EG__ONNX_TYPE_SPARSE] = EG__ONNX_BYTES,
                              [EG__ONNX_TYPE_OPTIONAL] = EG__ONNX_BYTES},
        [EG__ONNX_IN_TENSOR_TYPE] =
            {[EG__ONNX_TENSOR_TYPE_ELEMENT] = EG__ONNX_AN_INT, [EG__ONNX_TENSOR_TYPE_SHAPE] = EG__ONNX_BYTES},
        [EG__ONNX_IN_SHAPE] = {[EG__ONNX_SHAPE_DIM] = EG__ONNX_BYTES},
        [EG__ONNX_IN_DIM] = {[EG__ONNX_DIM_SIZE] = EG__ONNX_AN_INT},
    };
    return number < 32 ? (eg__onnx_coding)codings[message][number] : EG__ONNX_UNUSED;
}

/* The next field of a message that is read here, encoded as that field must be; one that is encoded otherwise makes
 * the message bad. All of this reader's loops over fields use it, so that none takes a field that another skips. */
static inline bool eg__onnx_next(eg__wire *w, eg__onnx_message message, eg__wire_field *f)
{
    static const uint8_t single[] = {
        [EG__ONNX_AN_INT] = EG__WIRE_VARINT, [EG__ONNX_A_FLOAT] = EG__WIRE_32,
        [EG__ONNX_BYTES] = EG__WIRE_BYTES,   [EG__ONNX_LIST_INT] = EG__WIRE_VARINT,
        [EG__ONNX_LIST_FLOAT] = EG__WIRE_32, [EG__ONNX_LIST_DOUBLE] = EG__WIRE_64,
    };
    while (eg__wire_next(w, f)) {
        const eg__onnx_coding coding = eg__onnx_coding_of(message, f->number);
        if (coding == EG__ONNX_UNUSED) {
            continue;
        }
        w->bad =
            f->kind != (eg__wire_kind)single[coding] && !(coding >= EG__ONNX_LIST_INT && f->kind == EG__WIRE_BYTES);
        return !w->bad;
    }
    return false;
}

/* The next number of a list's field f of message w, which is bad if its packed numbers are damaged. */
static inline bool eg__onnx_next_number(eg__wire *w, eg__onnx_message message, eg__wire_field *f, uint64_t *v)
{
    const eg__onnx_coding coding = eg__onnx_coding_of(message, f->number);
    if (f->kind != EG__WIRE_BYTES) {
        *v = f->value;
        *f = (eg__wire_field){.number = f->number, .kind = EG__WIRE_BYTES}; /* there is no other */
        return true;
    }
    if (f->bytes.at >= f->bytes.end) {
        return false;
    }
    *v = coding == EG__ONNX_LIST_INT ? eg__wire_varint(&f->bytes)
                                     : eg__wire_fixed(&f->bytes, coding == EG__ONNX_LIST_FLOAT ? 4 : 8);
    w->bad = w->bad || f->bytes.bad;
    return !w->bad;
}

/* ---- names ------------------------------------------------------------------------------------------- */

/* An initializer stands under its name, the value of a Constant under that of its output, the tensor of another
 * attribute under "output.attribute"; inside of the graph of an attribute behind "output.attribute/", inside of a
 * function behind "domain::function/". "output" is the first of a node that has a name, or "_" and its number in the
 * graph. */

/* "path" + "node" + "." + attribute, into EG__ONNX_NAME bytes with room for one more; false: too long. */
static inline bool eg__onnx_join(char *to, const char *path, const char *node, const eg__wire *attribute)
{
    const size_t a = strlen(path), b = strlen(node), c = eg__wire_size(attribute);
    if (a + b + c + 3 > EG__ONNX_NAME) {
        return false;
    }
    memcpy(to, path, a);
    memcpy(to + a, node, b);
    to[a + b] = '.';
    memcpy(to + a + b + 1, c ? (const char *)attribute->at : "", c);
    to[a + b + c + 1] = '\0';
    return true;
}

/* The name of a node, into EG__ONNX_NAME bytes, and whether it is a Constant; false: it is damaged. */
static inline bool eg__onnx_node_name(const eg__wire *node, int64_t index, char *name, bool *constant)
{
    eg__wire w = *node;
    eg__wire_field f;
    *constant = false;
    name[0] = '\0';
    while (eg__onnx_next(&w, EG__ONNX_IN_NODE, &f)) {
        const size_t n = eg__wire_size(&f.bytes);
        if (f.number == EG__ONNX_NODE_OUTPUT && n && !name[0]) {
            if (n >= EG__ONNX_NAME || memchr(f.bytes.at, 0, n)) {
                return false;
            }
            memcpy(name, f.bytes.at, n);
            name[n] = '\0';
        } else if (f.number == EG__ONNX_NODE_OP) {
            *constant = eg__wire_is(&f.bytes, "Constant");
        }
    }
    if (!name[0]) {
        snprintf(name, EG__ONNX_NAME, "_%lld", (long long)index);
    }
    return !w.bad;
}

/* "domain::function/" likewise. */
static inline bool eg__onnx_function_path(const eg__wire *function, char *path)
{
    eg__wire w = *function, name = eg__wire_of("", 0), domain = name;
    eg__wire_field f;
    while (eg__onnx_next(&w, EG__ONNX_IN_FUNCTION, &f)) {
        name = f.number == EG__ONNX_FUNCTION_NAME ? f.bytes : name;
        domain = f.number == EG__ONNX_FUNCTION_DOMAIN ? f.bytes : domain;
    }
    const int n = (int)eg__wire_size(&name), m = (int)eg__wire_size(&domain);
    if (w.bad || n > 200 || m > 200) {
        return false;
    }
    snprintf(path, EG__ONNX_NAME, "%.*s::%.*s/", m, (const char *)domain.at, n, (const char *)name.at);
    return true;
}

#endif
