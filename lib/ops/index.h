/* index.h - what the files of the index family share. */
#ifndef EGRET_OPS_INDEX_INTERNAL_H
#define EGRET_OPS_INDEX_INTERNAL_H

#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* index as contiguous i64 in 0..size-1: values checked, negative ones counted from the end unless
 * strict. Borrowed; NULL with words. */
eg_tensor *eg__checked_index(const char *op, eg_tensor *index, int64_t size, bool strict);
/* An index of any integers as i64 or i32, which the row checked_index takes. Borrowed; NULL with words. */
eg_tensor *eg__wide_index(const char *op, eg_tensor *index);
/* The same for index_select and index_add, where most indices go straight to kernels of devices, which is noted in
 * o; filled: there are elements to be written for each, so that the kernel will look at them. */
eg_tensor *eg__index_for(const char *op, eg_tensor *index, int64_t size, bool strict, bool filled, eg__index_opts *o);
/* t, or a 0-dim one as a line of one, which it is along axis 0. */
static inline eg_tensor *eg__as_line(eg_tensor *t)
{
    return t && unlikely(!t->ndim) ? eg_reshape(t, EG_SHAPE(1)) : t;
}
/* y in the shape of a 0-dim t that was taken as a line. */
static inline eg_tensor *eg__as_was(eg_tensor *y, const eg_tensor *t)
{
    return y && unlikely(!t->ndim) ? eg_reshape(y, EG_SCALAR) : y;
}
/* The rank with 0-dim tensors so taken. */
static inline int eg__line_rank(const eg_tensor *t)
{
    return t->ndim ? t->ndim : 1;
}
/* Brings x and source to one dtype; when they are to be summed, halves to f32. */
eg_status eg__same_dtype(eg_tensor **x, eg_tensor **source, bool sum);
/* source put at index, copies or sums, into base (or zeros of size o->size along o->axis). */
eg_tensor *eg__index_add(eg_tensor *source, eg_tensor *index, eg_tensor *base, const eg__index_opts *o);
eg_tensor *eg__scatter(const eg__op *op, eg_tensor *source, eg_tensor *index, eg_tensor *base,
                       const eg__scatter_opts *o);

#endif
