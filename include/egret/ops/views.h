/* views.h - the same elements seen otherwise, and copies. Views share storage and cost no copy; their
 * gradient is the view of the gradient turned back; they save nothing. */
#ifndef EGRET_OPS_VIEWS_H
#define EGRET_OPS_VIEWS_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* The same elements in row-major order under another shape; one size may be -1 and is then found. A view
 * where the strides allow, else of a copy. EG_ESHAPE: two -1, another count, -1 beside a zero. */
EG_API eg_tensor *eg_reshape(eg_tensor *x, eg_shape shape);
/* Axes of size 1 repeated to `shape`, new axes in front, -1 keeps a size. A view: its elements share
 * memory, so it cannot be written in place. grad: dy summed over the repeated axes. */
EG_API eg_tensor *eg_expand(eg_tensor *x, eg_shape shape);
/* Output axis d is input axis axes[d]; every axis once. */
EG_API eg_tensor *eg_permute(eg_tensor *x, eg_axes axes);
/* Two axes exchanged. Here, in eg_squeeze and in eg_flip, eg_roll, eg_movedim and eg_repeat_interleave (join.h) a 0-dim
 * tensor counts as a line of one, whose axis is 0 or -1. */
EG_API eg_tensor *eg_transpose(eg_tensor *x, int axis0, int axis1);
/* Axes of size 1 dropped: those named (others stay), or all of them for (eg_axes){0}. */
EG_API eg_tensor *eg_squeeze(eg_tensor *x, eg_axes axes);
/* A new axis of size 1 before `axis` (of the result). */
EG_API eg_tensor *eg_unsqueeze(eg_tensor *x, int axis);
/* Axes first..last joined into one; a 0-dim tensor becomes [1]. */
EG_API eg_tensor *eg_flatten(eg_tensor *x, int first, int last);

/* As far as it goes, in eg_slice. */
#define EG_END INT64_MAX
/* x[..., start:stop:step, ...] along an axis with NumPy's rules: negative positions count from the end,
 * positions outside are clamped, a negative step walks backwards. A view. EG_EINVAL for step 0.
 * grad: dy written into zeros of x's shape. */
EG_API eg_tensor *eg_slice(eg_tensor *x, int axis, int64_t start, int64_t stop, int64_t step);
/* x[..., index, ...]: the axis goes. EG_EINDEX outside -size..size-1. */
EG_API eg_tensor *eg_select(eg_tensor *x, int axis, int64_t index);
/* NumPy's basic indexing: eg_index(x, "0, 1:-1, ::2, None, ..., -1"). A view. EG_EINDEX in words for what
 * does not parse or does not fit. */
EG_API eg_tensor *eg_index(eg_tensor *x, const char *expression);
/* x[..., i, ..., i + offset, ...]: the diagonal of two axes, which go; it becomes the last axis. offset is
 * positive above, negative below the main diagonal; past the corner it is empty. A view.
 * grad: dy on that diagonal of zeros. */
EG_API eg_tensor *eg_diagonal(eg_tensor *x, int64_t offset, int axis0, int axis1);
/* Any geometry over x's storage, in elements; EG_EINDEX if it leaves the storage. Never recorded:
 * gradients stop here. */
EG_API eg_tensor *eg_as_strided(eg_tensor *x, eg_shape shape, const int64_t *strides, int64_t offset);
/* The same tensor under another header; recorded, so that it is a node of its own. */
EG_API eg_tensor *eg_alias(eg_tensor *x);

/* A copy in the same layout. grad: dy. */
EG_API eg_tensor *eg_copy(eg_tensor *x);
/* x itself if it is row-major without gaps, else such a copy. */
EG_API eg_tensor *eg_contiguous(eg_tensor *x);
/* x itself if it lies channels-last, else such a copy; 3 to 5 axes. */
EG_API eg_tensor *eg_channels_last(eg_tensor *x);
/* x itself if it has the dtype, else converted. To floats: rounded once, to nearest even. Floats to
 * integers: truncated, out of range to the nearest end, NaN to 0. Between integers: wrapped. To bool:
 * not 0. grad: dy converted back; stops at integers. */
EG_API eg_tensor *eg_cast(eg_tensor *x, eg_dtype dtype);
/* Writes source (broadcast, converted) over x in place, as eg_data_mut would let; returns x. */
EG_API eg_tensor *eg_copy_(eg_tensor *x, eg_tensor *source);

EG_END_DECLS

#endif
