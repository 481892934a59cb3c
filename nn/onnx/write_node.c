/* write_node.c - nodes of the graph that is written, and the dtypes that ONNX defines operators for. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <egret/error.h>
#include <egret/ops.h>

#include "lib/io/onnx.h"
#include "nn/onnx/graph.h"
#include "nn/onnx/write.h"
#include "nn/onnx/write_rows.h"

/* ---- operators -------------------------------------------------------------------------------------- */

#define D(name) (1u << EG_##name)
enum {
    REAL = D(F16) | D(F32) | D(F64),
    FLOAT = REAL | D(BF16),
    INDEX = D(I32) | D(I64),
    NUMBER = FLOAT | INDEX,
    BYTES = NUMBER | D(U8),
    ANY = BYTES | D(BOOL),
};

/* An operator of version 20: the dtypes that it is written for, which are among those that ONNX defines it for; its
 * inputs (T: of the dtype, which is the same for all; I: I64; B: bool; A: any; the last one goes on) and outputs. */
typedef struct operator_row {
    const char *name;
    unsigned types;
    const char *in, *out;
} operator_row;

static const operator_row operators[] = {
#define OPERATOR(name, types, in, out) {#name, types, in, out},
#include "nn/onnx/write_operators.def"
#undef OPERATOR
};

static int by_name(const void *key, const void *row)
{
    return strcmp(key, ((const operator_row *)row)->name);
}

/* The dtype to work in: the given one, or the next wider one of its category. */
static int working(unsigned types, eg_dtype dtype)
{
    static const eg_dtype wider[][4] = {
        [EG_F32] = {EG_F32, EG_F32, EG_F32, EG_F32}, [EG_F64] = {EG_F64, EG_F64, EG_F64, EG_F64},
        [EG_F16] = {EG_F16, EG_F32, EG_F32, EG_F32}, [EG_BF16] = {EG_BF16, EG_F32, EG_F32, EG_F32},
        [EG_I64] = {EG_I64, EG_I64, EG_I64, EG_I64}, [EG_I32] = {EG_I32, EG_I64, EG_I64, EG_I64},
        [EG_U8] = {EG_U8, EG_I32, EG_I64, EG_I64},   [EG_BOOL] = {EG_BOOL, EG_I32, EG_I64, EG_U8}};
    for (int i = 0; i < 4; i++) {
        if (types >> wider[dtype][i] & 1) {
            return (int)wider[dtype][i];
        }
    }
    return -1;
}

/* ---- initializers of literals ------------------------------------------------------------------------- */

static eg__val literal(eg__onnx_writer *w, eg__val v, eg_dtype dtype)
{
    eg_scope s = eg_scope_push();
    const eg__val made = eg__constant(w, !s.depth             ? NULL
                                         : v.kind == EG__REAL ? eg_scalar(v.real, dtype)
                                                              : eg_cast(eg_scalar_int(v.whole, EG_I64), dtype));
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return made;
}

eg__val eg__filled(eg__onnx_writer *w, eg_shape shape, double v, eg_dtype dtype)
{
    eg_scope s = eg_scope_push();
    const eg__val made = eg__constant(w, s.depth ? eg_full(shape, v, dtype) : NULL);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return made;
}

/* ---- nodes -------------------------------------------------------------------------------------------- */

static size_t begin_attribute(eg__onnx_writer *w, const char *name, eg__onnx_kind kind)
{
    const size_t began = eg__bytes_begin(&w->attributes, EG__ONNX_NODE_ATTRIBUTE);
    eg__bytes_text(&w->attributes, EG__ONNX_ATTR_NAME, name);
    eg__bytes_int(&w->attributes, EG__ONNX_ATTR_TYPE, kind);
    return began;
}

void eg__set_int(eg__onnx_writer *w, const char *name, int64_t v)
{
    const size_t began = begin_attribute(w, name, EG__ONNX_INT);
    eg__bytes_int(&w->attributes, EG__ONNX_ATTR_INT, v);
    eg__bytes_end(&w->attributes, began);
}

void eg__set_float(eg__onnx_writer *w, const char *name, double v)
{
    const size_t began = begin_attribute(w, name, EG__ONNX_FLOAT);
    eg__bytes_float(&w->attributes, EG__ONNX_ATTR_FLOAT, v);
    eg__bytes_end(&w->attributes, began);
}

void eg__set_text(eg__onnx_writer *w, const char *name, const char *v)
{
    const size_t began = begin_attribute(w, name, EG__ONNX_STRING_);
    eg__bytes_text(&w->attributes, EG__ONNX_ATTR_TEXT, v);
    eg__bytes_end(&w->attributes, began);
}

void eg__set_ints(eg__onnx_writer *w, const char *name, const int64_t *v, int n)
{
    const size_t began = begin_attribute(w, name, EG__ONNX_INTS);
    for (int i = 0; i < n; i++) {
        eg__bytes_int(&w->attributes, EG__ONNX_ATTR_INTS, v[i]);
    }
    eg__bytes_end(&w->attributes, began);
}

/* The node itself, with inputs that have their dtypes. */
static void emit(eg__onnx_writer *w, const char *op, const eg__val *in, int nin, eg__val *out, int nout)
{
    char name[24];
    while (nin && !in[nin - 1].name[0]) {
        nin--;
    }
    const size_t node = eg__bytes_begin(&w->nodes, EG__ONNX_GRAPH_NODE);
    eg__bytes_text(&w->nodes, EG__ONNX_NODE_OP, op);
    for (int i = 0; i < nin; i++) {
        eg__bytes_text(&w->nodes, EG__ONNX_NODE_INPUT, in[i].name);
    }
    for (int j = 0; j < nout; j++) {
        snprintf(name, sizeof name, "/%u", w->serial++);
        out[j].name = eg__onnx_text_new(w, name);
        eg__bytes_text(&w->nodes, EG__ONNX_NODE_OUTPUT, out[j].name);
    }
    eg__bytes_put(&w->nodes, w->attributes.s, w->attributes.n);
    w->nodes.failed = w->nodes.failed || w->attributes.failed;
    w->attributes.n = 0;
    eg__bytes_end(&w->nodes, node);
}

eg__val eg__as(eg__onnx_writer *w, eg__val v, eg_dtype dtype)
{
    if (v.kind != EG__NAMED) {
        return literal(w, v, dtype);
    }
    if (v.dtype == dtype || !v.name[0]) {
        return v;
    }
    const eg__bytes before = w->attributes; /* those of the node that this one comes before */
    w->attributes = (eg__bytes){0};
    eg__val y = {.dtype = dtype};
    eg__set_int(w, "to", eg__onnx_type_of_dtype(dtype));
    emit(w, "Cast", &v, 1, &y, 1);
    free(w->attributes.s);
    w->attributes = before;
    return y;
}

static eg_dtype dtype_of_letter(char letter, eg_dtype t)
{
    return letter == 'I' ? EG_I64 : letter == 'B' ? EG_BOOL : t;
}

void eg__put_nodes(eg__onnx_writer *w, const char *op, const eg__val *in, int nin, eg__val *out, int nout)
{
    const operator_row *row = bsearch(op, operators, sizeof operators / sizeof *operators, sizeof *operators, by_name);
    eg__val small[8], *use = nin <= 8 ? small : malloc((size_t)nin * sizeof *use);
    int t = -1;
    memset(out, 0, (size_t)nout * sizeof *out);
    for (int i = 0, at = 0; row && i < nin && t < 0; i++, at += row->in[at + 1] != '\0') {
        t = row->in[at] == 'T' && in[i].kind == EG__NAMED && in[i].name[0] ? working(row->types, in[i].dtype) : -1;
        t = row->in[at] == 'T' && in[i].kind == EG__NAMED && in[i].name[0] && t < 0 ? -2 : t;
        if (t == -2) {
            eg__onnx_failed(w, eg_failf(EG_ENOKERNEL, eg__onnx_save_name, "ONNX does not define %.60s for %s", op,
                                        eg_dtype_name(in[i].dtype)));
            break;
        }
    }
    if (!row) {
        eg__onnx_failed(w, eg_failf(EG_ENOKERNEL, eg__onnx_save_name, "%.60s is not in the table of operators", op));
    }
    if (!use) {
        eg__onnx_failed(w, eg_fail(EG_ENOMEM, eg__onnx_save_name, "no memory for the graph"));
    }
    for (int j = 0; j < nout; j++) {
        out[j].name = "";
    }
    if (!row || !use || t == -2) {
        w->attributes.n = 0;
        return; /* use is NULL or small: nin > 8 is Concat's alone, which takes any dtype */
    }
    for (int i = 0, at = 0; i < nin; i++, at += row->in[at + 1] != '\0') {
        const bool literal_here = in[i].kind != EG__NAMED;
        const eg_dtype wanted = row->in[at] == 'A' && !literal_here ? in[i].dtype
                                : t < 0 && row->in[at] == 'T'       ? EG_F32
                                                                    : dtype_of_letter(row->in[at], (eg_dtype)t);
        use[i] = eg__as(w, in[i], wanted);
    }
    for (int j = 0, at = 0; j < nout; j++, at += row->out[at + 1] != '\0') {
        out[j].dtype = dtype_of_letter(row->out[at], t < 0 ? EG_F32 : (eg_dtype)t);
    }
    emit(w, op, use, nin, out, nout);
    if (use != small) {
        free(use);
    }
}

eg__val eg__put_node(eg__onnx_writer *w, const char *op, const eg__val *in, int nin)
{
    eg__val out;
    eg__put_nodes(w, op, in, nin, &out, 1);
    return out;
}

void eg__set_output(eg__onnx_writer *w, eg_tensor *y, eg__val v)
{
    v = eg__as(w, v, eg_dtype_of(y));
    eg__onnx_see(w, y, v.name, EG__ONNX_VALUE);
}

void eg__put_output(eg__onnx_writer *w, eg_tensor *y, const char *name)
{
    const eg__val v = eg__of(w, y);
    const size_t node = eg__bytes_begin(&w->nodes, EG__ONNX_GRAPH_NODE);
    eg__bytes_text(&w->nodes, EG__ONNX_NODE_OP, "Identity");
    eg__bytes_text(&w->nodes, EG__ONNX_NODE_INPUT, v.name);
    eg__bytes_text(&w->nodes, EG__ONNX_NODE_OUTPUT, name);
    eg__bytes_end(&w->nodes, node);
}
