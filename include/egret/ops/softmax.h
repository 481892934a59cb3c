/* softmax.h - softmax and its logarithm. A 0-dim tensor counts as a line of one: axis 0, or -1. */
#ifndef EGRET_OPS_SOFTMAX_H
#define EGRET_OPS_SOFTMAX_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* e^x_i / sum e^x_j along the axis; any shape and layout, kept; floats, others become f32 first. The
 * largest element is taken off first, so nothing overflows. A row of -inf, or with +inf or NaN, is NaN.
 * grad: dx = y (dy - sum y dy)    saves y */
EG_API eg_tensor *eg_softmax(eg_tensor *x, int axis);

/* log(softmax(x)) = x_i - log sum e^x_j, exact where softmax would round to 0.
 * grad: dx = dy - e^y sum dy    saves y */
EG_API eg_tensor *eg_log_softmax(eg_tensor *x, int axis);

EG_END_DECLS

#endif
