/* index.h - elements by their number: picking them, putting them, masks.
 *
 * Index tensors are i64, i32 or u8 (EG_EDTYPE otherwise). Unless a line says otherwise an index counts
 * from the end when negative, -size..size-1; anything else is EG_EINDEX and names the position, the
 * value and the range, before anything is computed; on a device it is found later (device.h), named without
 * its position, and taken for 0 until then. All gradients save the index as i64 and nothing
 * else where no line says more; sums of f16 and bf16 are taken in f32. Results are the same for any
 * number of threads. Where an axis is named a 0-dim tensor, index or source counts as a line of one: axis 0, or -1,
 * is one it has. */
#ifndef EGRET_OPS_INDEX_H
#define EGRET_OPS_INDEX_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- picking ------------------------------------------------------------------------------ */

/* y[.., i, ..] = x[.., index[i], ..]: the axes of index, any number of them, take the place of the
 * axis. Any dtype. grad: eg_index_add of dy into zeros. */
EG_API eg_tensor *eg_index_select(eg_tensor *x, int axis, eg_tensor *index);
/* x's elements by row-major position, in the shape of index. */
EG_API eg_tensor *eg_take(eg_tensor *x, eg_tensor *index);
/* y[i, j, k] = x[i, index[i, j, k], k] for axis 1 of three: y has index's shape; index has x's rank
 * and is nowhere larger but along the axis (PyTorch's gather). Any dtype. grad: eg_scatter_add of
 * dy. */
EG_API eg_tensor *eg_gather(eg_tensor *x, int axis, eg_tensor *index);
/* The same after x and index are broadcast to each other along the other axes (NumPy's
 * take_along_axis). */
EG_API eg_tensor *eg_take_along(eg_tensor *x, int axis, eg_tensor *index);
/* y[..] = x[index[.., 0], index[.., 1], ...]: the last axis of index, at most x's rank, holds
 * places; y has its other axes and then x's axes that are left. */
EG_API eg_tensor *eg_gather_nd(eg_tensor *x, eg_tensor *index);

/* Rows of a table. `padding` is an id whose row gets no gradient, if `padded`. */
typedef struct eg_embedding_options {
    size_t size;
    bool padded;
    int64_t padding;
} eg_embedding_options;

/* table [V, ...] and ids of any shape give ids' axes, then the table's others: rows of the table.
 * Ids are 0..V-1; none counts from the end. grad: each row the sum of its dy, in order of the ids.
 * EG_EINDEX: an id or the padding outside. */
EG_API eg_tensor *eg_embedding_with(eg_tensor *table, eg_tensor *ids, const eg_embedding_options *options);
#define EG_EMBEDDING_(table, ids, ...) eg_embedding_with(table, ids, EG_OPTIONS_(eg_embedding_options, __VA_ARGS__))
#define eg_embedding(table, ...)       EG_EMBEDDING_(table, __VA_ARGS__, )

/* ---- putting: results are new tensors ------------------------------------------------------ */

/* x and source are brought to one dtype (eg_promote). Where one place is written twice the later
 * source, in row-major order, stays, and the earlier one gets no gradient. */

/* y = x but y[.., index[i], ..] = source[.., i, ..]; index is 1-D, source has its length along the
 * axis. grad: dx is 0 there, dsource = dy[.., index[i], ..]. */
EG_API eg_tensor *eg_index_copy(eg_tensor *x, int axis, eg_tensor *index, eg_tensor *source);
EG_API eg_tensor *eg_index_fill(eg_tensor *x, int axis, eg_tensor *index, double value);
/* y = x + source at its places, repeated ones each time. Numbers. grad: dy; dy at the places. */
EG_API eg_tensor *eg_index_add(eg_tensor *x, int axis, eg_tensor *index, eg_tensor *source);
/* y = x but y[i, index[i, j, k], k] = source[i, j, k] for axis 1 of three; source has the shape of
 * index, which has x's rank and is nowhere larger but along the axis. */
EG_API eg_tensor *eg_scatter(eg_tensor *x, int axis, eg_tensor *index, eg_tensor *source);
/* The same, added. Numbers. grad: dy; eg_gather of dy. */
EG_API eg_tensor *eg_scatter_add(eg_tensor *x, int axis, eg_tensor *index, eg_tensor *source);

typedef enum eg_scatter_mode {
    EG_SCATTER_MUL,
    EG_SCATTER_MEAN, /* of x's element and what falls on it */
    EG_SCATTER_MAX,  /* NaN if one is; equal ones share dy */
    EG_SCATTER_MIN,
} eg_scatter_mode;
/* The same, joined as the mode says. Numbers; the mean of integers is taken exactly and rounded down. All but MEAN
 * save x, source and y. */
EG_API eg_tensor *eg_scatter_reduce(eg_tensor *x, int axis, eg_tensor *index, eg_tensor *source, eg_scatter_mode mode);

/* Places as in eg_gather_nd; source has the shape eg_gather_nd would give. */
EG_API eg_tensor *eg_scatter_nd_add(eg_tensor *x, eg_tensor *index, eg_tensor *source);
EG_API eg_tensor *eg_scatter_nd_copy(eg_tensor *x, eg_tensor *index, eg_tensor *source);
/* The same, added to zeros of the given shape. */
EG_API eg_tensor *eg_scatter_nd(eg_tensor *index, eg_tensor *source, eg_shape shape);

/* Rows of x, summed by id: y[ids[i]] += x[i]. ids is 1-D with one id, 0..count-1, for each row. */
EG_API eg_tensor *eg_unsorted_segment_sum(eg_tensor *x, eg_tensor *ids, int64_t count);
/* The same for ids that never fall (EG_EINVAL); as many rows as the last id says. Waits for the device. */
EG_API eg_tensor *eg_segment_sum(eg_tensor *x, eg_tensor *ids);

/* ---- masks -------------------------------------------------------------------------------- */

/* Masks are tensors of any dtype, true where not 0; they and x broadcast to each other. They have no gradient. What
 * depends on how many are true (masked_select, masked_scatter, nonzero) waits for the device. */

/* value where the mask is true, else x. grad: dy where it is not. saves the mask */
EG_API eg_tensor *eg_masked_fill(eg_tensor *x, eg_tensor *mask, double value);
/* The elements of x where the mask is true, in row-major order, 1-D. */
EG_API eg_tensor *eg_masked_select(eg_tensor *x, eg_tensor *mask);
/* x with the elements where the mask is true replaced by the first ones of source. */
EG_API eg_tensor *eg_masked_scatter(eg_tensor *x, eg_tensor *mask, eg_tensor *source);
/* Places of the elements that are not 0, in row-major order: i64 [count, rank of x]. */
EG_API eg_tensor *eg_nonzero(eg_tensor *x);

/* `on` and `off` both 0 stand for 1 and 0, and EG_ZERO is 0; dtype f32. */
typedef struct eg_one_hot_options {
    size_t size;
    double on, off;
    eg_dtype dtype;
} eg_one_hot_options;
/* A new last axis of size depth with `on` at the id and `off` elsewhere. Ids are 0..depth-1. No
 * gradient. */
EG_API eg_tensor *eg_one_hot_with(eg_tensor *ids, int64_t depth, const eg_one_hot_options *options);
#define EG_ONE_HOT_(ids, depth, ...) eg_one_hot_with(ids, depth, EG_OPTIONS_(eg_one_hot_options, __VA_ARGS__))
#define eg_one_hot(ids, ...)         EG_ONE_HOT_(ids, __VA_ARGS__, )
/* A new last axis of size count, true where its position is less than the length: bool. */
EG_API eg_tensor *eg_sequence_mask(eg_tensor *lengths, int64_t count);

/* ---- numbers of places -------------------------------------------------------------------- */

/* Places in a tensor of the given shape, along the last axis of index, as row-major positions and
 * back: i64 [...] from [..., rank] and [..., rank] from [...]. EG_EINDEX outside; EG_ESHAPE for a
 * shape whose count is past int64. */
EG_API eg_tensor *eg_ravel_index(eg_tensor *index, eg_shape shape);
EG_API eg_tensor *eg_unravel_index(eg_tensor *index, eg_shape shape);

EG_END_DECLS

#endif
