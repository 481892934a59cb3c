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
/* Some axes of a tensor of ndim axes, at most 8, counted from the front, each once. */
eg_status eg__onnx_axes(const int64_t *list, int n, int ndim, eg_axes *axes);
/* That a tensor may have so many axes; to be asked before its shape is filled. */
eg_status eg__onnx_check_rank(int ndim);
/* Indices that must not be below 0: such ones become `size`, which is outside too. */
eg_tensor *eg__onnx_not_negative(eg_tensor *index, int64_t size);
/* A float in a type in which sums and squares of halves keep their range and digits: f32 of f16 and bf16, of integers
 * f64. */
eg_tensor *eg__onnx_wide(eg_tensor *x);
/* Numbers as Cast makes a small type of them: rounded to one of its floats, with "saturate" no larger than its largest;
 * floats held in the range of its integers. Of other types as they are. */
eg_tensor *eg__onnx_held(const eg_onnx_call *c, eg_tensor *x, int64_t type);
/* Held in the range of an integer type that is smaller here than its dtype. */
eg_tensor *eg__onnx_in_range(eg_tensor *x, int64_t type);
/* What the bits of a float of 8 bits or less mean. */
double eg__onnx_small_value(int64_t type, unsigned code);
/* a / b, of integers towards 0. */
eg_tensor *eg__onnx_quotient(eg_tensor *a, eg_tensor *b);
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
