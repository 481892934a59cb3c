/* padding.h - what windows that slide over an axis do at its ends; for convolutions and pooling.
 *
 *   EG_VALID   no padding: only windows that lie inside. This is 0, the default.
 *   n > 0      n cells on both sides
 *   EG_SAME    ceil(in / stride) windows. With k' = (k - 1) * dilation + 1 the axis gets
 *              max((out - 1) * stride + k' - in, 0) cells, half of them in front; the odd one goes
 * to the end, as in TensorFlow. */
#ifndef EGRET_OPS_PADDING_H
#define EGRET_OPS_PADDING_H

enum { EG_VALID = 0, EG_SAME = -1 };

#endif
