/* sort.h - order: sorting, the largest, the different ones, places in a sorted line, counting.
 *
 * Numbers come in rising order with NaN behind everything, so NaN is the largest; -0 equals 0. Of
 * equal elements the one with the lower index comes first, also in falling order and in eg_topk.
 * Functions with several results return a status; a result that is not wanted is asked for with
 * NULL, and after a failure all are NULL. Indices are i64. An axis may have at most 2^32 - 1
 * elements here (EG_ESHAPE). */
#ifndef EGRET_OPS_SORT_H
#define EGRET_OPS_SORT_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- order -------------------------------------------------------------------------------- */

/* x sorted along an axis, and where each element was: values = take_along(x, axis, indices).
 * Stable. Any dtype. grad: dy put back to the indices, which are saved. */
EG_API eg_status eg_sort(eg_tensor *x, int axis, bool descending, eg_tensor **values, eg_tensor **indices);
/* The indices alone. */
EG_API eg_tensor *eg_argsort(eg_tensor *x, int axis, bool descending);
/* The k first of eg_sort, descending for the largest and rising for the smallest. EG_EINVAL for k
 * outside 0..size of the axis. grad as for eg_sort. */
EG_API eg_status eg_topk(eg_tensor *x, int64_t k, int axis, bool largest, eg_tensor **values, eg_tensor **indices);
/* The k-th smallest, k = 1..size, without the axis. k = (size + 1) / 2 is the lower median. grad as
 * for eg_sort. */
EG_API eg_status eg_kthvalue(eg_tensor *x, int64_t k, int axis, eg_tensor **value, eg_tensor **index);
/* Whether x[i, targets[i]] is among the k largest of row i: fewer than k are larger. x [n,
 * classes], targets [n] i64, i32 or u8 -> bool [n]; false for NaN. EG_EINDEX: a target outside the
 * classes; EG_EINVAL: k < 0. */
EG_API eg_tensor *eg_in_topk(eg_tensor *x, eg_tensor *targets, int64_t k);

/* ---- the different ones --------------------------------------------------------------------- */

/* These wait for x's device, for it has to say how many there are. */

/* The different elements in rising order, 1-D; in x's shape which of them each is; how often each
 * is there. Every NaN is different. No gradient. */
EG_API eg_status eg_unique(eg_tensor *x, eg_tensor **values, eg_tensor **inverse, eg_tensor **counts);
/* The same for whole slices along an axis, ordered by their first difference; inverse is 1-D. */
EG_API eg_status eg_unique_slices(eg_tensor *x, int axis, eg_tensor **values, eg_tensor **inverse, eg_tensor **counts);
/* Runs of equal elements, in x's row-major order. */
EG_API eg_status eg_unique_consecutive(eg_tensor *x, eg_tensor **values, eg_tensor **inverse, eg_tensor **counts);

/* ---- places and counts ---------------------------------------------------------------------- */

/* Where each value would go in a sorted line to keep it sorted: before elements equal to it, or
 * behind them if `right`. line [n] for values of any shape, or [.., n] for values [.., m]. NaN goes
 * behind everything. i64 in values' shape; no gradient. EG_EINVAL: the line falls somewhere or has
 * a NaN; on a GPU said by the next call that waits for it. */
EG_API eg_tensor *eg_searchsorted(eg_tensor *line, eg_tensor *values, bool right);
/* y[i]: how often i is in x, or the sum of its weights: at least `least` long, and as long as the
 * largest needs. x is 1-D integers, weights NULL or of x's shape. i64, or the weights' dtype.
 * EG_EINDEX: a negative number, or one past 2^31 - 2. Waits for the device. grad (weights): dy[x]. */
EG_API eg_tensor *eg_bincount(eg_tensor *x, eg_tensor *weights, int64_t least);
/* How many elements lie in each of `bins` parts of low..high: the lower end belongs to a part, the
 * upper does not but for the last. Elements outside count nowhere. i64 [bins]. EG_EINVAL: bins < 1,
 * low not below high, not finite, or a NaN in x. */
EG_API eg_tensor *eg_histogram(eg_tensor *x, int64_t bins, double low, double high);

EG_END_DECLS

#endif
