/* linear.h - matrix products. */
#ifndef EGRET_OPS_LINEAR_H
#define EGRET_OPS_LINEAR_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* [..., m, k] x [..., k, n] -> [..., m, n]; batch axes broadcast; a 1-D operand is a row on the left, a
 * column on the right, and its axis goes. Transposed views are taken as they are. k = 0 gives zeros.
 * grad: da = dy b^T, db = a^T dy, summed over broadcast batches    saves a and b */
EG_API eg_tensor *eg_matmul(eg_tensor *a, eg_tensor *b);

EG_END_DECLS

#endif
