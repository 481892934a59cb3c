/* table.c - the operators by their names. */
#include <string.h>

#include <egret/error.h>
#include <egret/ops.h>

#include "nn/onnx/graph.h"
#include "nn/onnx/ops.h"

/* ---- one function of one tensor, or of two ------------------------------------------------------- */

#define UNARY(name, f)                                 \
    static eg_status run_##name(eg_onnx_call *c)       \
    {                                                  \
        return eg__onnx_give(c, f(eg__onnx_in(c, 0))); \
    }
#define BINARY(name, f, flags)                                                     \
    static eg_status run_##name(eg_onnx_call *c)                                   \
    {                                                                              \
        return eg__onnx_give(c, f(eg__onnx_in(c, 0), eg__onnx_second_operand(c))); \
    }
#define OP(...)
#include "nn/onnx/ops.def"
#undef UNARY
#undef BINARY
#undef OP

static const eg__onnx_row rows[] = {
#define UNARY(name, f)                           {#name, run_##name, 1, 1, ".", 0},
#define BINARY(name, f, flags)                   {#name, run_##name, 2, 2, ".", flags},
#define OP(name, run, least, most, roles, flags) {#name, eg__onnx_run_##run, least, most, roles, flags},
#include "nn/onnx/ops.def"
#undef UNARY
#undef BINARY
#undef OP
};

int eg__onnx_least(const eg__onnx_row *row, int version)
{
    static const struct {
        const char *name;
        int since, least;
    } later[] = {{"Pad", 11, 2},  {"Reshape", 5, 2},    {"Slice", 10, 3},
                 {"TopK", 10, 2}, {"Unsqueeze", 13, 2}, {"Upsample", 9, 2}};
    for (int i = 0; i < EG__COUNT(later); i++) {
        if (version >= later[i].since && !strcmp(row->name, later[i].name)) {
            return later[i].least;
        }
    }
    return row->least;
}

const eg__onnx_row *eg__onnx_find(const char *name)
{
    for (int i = 0; i < EG__COUNT(rows); i++) {
        if (!strcmp(rows[i].name, name)) {
            return &rows[i];
        }
    }
    return NULL;
}
