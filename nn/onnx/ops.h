/* ops.h - what the operators have in common, and the function of each. */
#ifndef EGRET_ONNX_OPS_H
#define EGRET_ONNX_OPS_H

#include <egret/error.h>
#include <egret/ops.h>

#include "nn/onnx/graph.h"

#define UNARY(name, f)
#define BINARY(name, f, flags)
#define OP(name, run, least, most, roles, flags) eg_status eg__onnx_run_##run(eg_onnx_call *c);
#include "nn/onnx/ops.def"
#undef UNARY
#undef BINARY
#undef OP

/* Input 1 as it is broadcast to input 0: before version 7 along an axis of it, if at all. */
eg_tensor *eg__onnx_second_operand(const eg_onnx_call *c);
/* An axis counted from the front; -1 with words. */
int eg__onnx_axis(int64_t axis, int ndim);
/* Numbers as Cast makes a small type of them: rounded to one of its floats, with "saturate" no larger than its largest;
 * floats held in the range of its integers. Of other types as they are. */
eg_tensor *eg__onnx_held(const eg_onnx_call *c, eg_tensor *x, int64_t type);
/* Held in the range of an integer type that is smaller here than its dtype. */
eg_tensor *eg__onnx_in_range(eg_tensor *x, int64_t type);
/* What the bits of a float of 8 bits or less mean. */
double eg__onnx_small_value(int64_t type, unsigned code);
/* A list of n numbers from `least` to 2^31 - 1, each `otherwise` if it was left out. */
eg_status eg__onnx_per_axis(const eg_onnx_call *c, const char *name, int64_t otherwise, int64_t least, int64_t *to,
                            int n);
/* A number for an option whose 0 stands for something else. */
static inline double eg__nonzero(double x)
{
    return x == 0 ? EG_ZERO : x;
}
/* How many gates the layer of a row has that are in another order here, 0: none; and its weights [D, G H, I] and
 * [D, G H, H] or biases [D, 2 G H] in that. */
int eg__onnx_gates(const eg__onnx_row *row);
eg_tensor *eg__onnx_gates_in_order(const eg__onnx_row *row, eg_tensor *t);
/* Why the latest call failed. */
static inline eg_status eg__onnx_why(void)
{
    return eg_last_error()->code;
}

#endif
