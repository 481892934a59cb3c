/* layout.h - shapes, strides, and walks over operands of one shape. */
#ifndef EGRET_CORE_LAYOUT_H
#define EGRET_CORE_LAYOUT_H

#include "lib/core/tensor.h"

/* The one checked multiply: elements of a shape, whose bytes must fit int64. */
eg_status eg__check_shape(const char *op, int ndim, const int64_t *shape, int dtype, int64_t *n);
/* Axis in 0..ndim-1, or -1 with words. */
int eg__axis(const char *op, int ndim, int64_t axis);
/* The same where a 0-dim tensor counts as a line of one, whose axis is 0 or -1. */
int eg__line_axis(const char *op, int ndim, int64_t axis);
/* Axes, of 0-dim tensors too, as a bit mask; count 0 means all. Repeats are refused. */
eg_status eg__axes_mask(const char *op, int ndim, const eg_axes *axes, unsigned *mask);

void eg__desc_dense(eg__desc *d);                    /* n and dense from ndim and shape */
void eg__desc_like(eg__desc *d, const eg_tensor *t); /* shape, dtype, n; same packed order */
/* Dense strides for d's shape with the axes in the order t's lie in, if t is packed. */
void eg__desc_order(eg__desc *d, const eg_tensor *t);
uint8_t eg__layout_flags(int ndim, const int64_t *shape, const int64_t *strides);
/* Strides of `shape` in channels-last order (axis 1 innermost). */
void eg__channels_last(int ndim, const int64_t *shape, int64_t *strides);
bool eg__same_shape(const eg_tensor *a, const eg_tensor *b);
bool eg__same_strides(const eg_tensor *a, const eg_tensor *b);
eg_status eg__broadcast(const char *op, eg_tensor *const *in, int nin, eg__desc *d);
/* Offset in elements of row-major element i. */
int64_t eg__place(int ndim, const int64_t *shape, const int64_t *strides, int64_t i);

/* A walk over operands of one broadcast shape: axes in the order of operand 0's strides, axes of size
 * 1 dropped, mergeable axes merged, strides in bytes. */
enum { EG__ITER_MAX = 8 };
typedef struct eg__iter {
    int ndim, nops;
    int64_t n, shape[EG_MAX_DIMS];
    int64_t strides[EG__ITER_MAX][EG_MAX_DIMS];
    char *ptr[EG__ITER_MAX];
} eg__iter;
typedef void eg__iter_fn(void *ctx, int64_t n, char *const *ptr, const int64_t *strides);
/* Operand 0 gives the shape; the others broadcast to it. */
void eg__iter_init(eg__iter *it, eg_tensor *const *ops, int nops);
/* Calls fn for runs along the innermost axis, on all threads when there are many elements. */
void eg__iter_run(const eg__iter *it, int64_t grain, eg__iter_fn *fn, void *ctx);

#endif
