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
    while (eg__wire_next(&w, &f)) {
        const size_t n = f.kind == EG__WIRE_BYTES ? eg__wire_size(&f.bytes) : 0;
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
    while (eg__wire_next(&w, &f)) {
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
