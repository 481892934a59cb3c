/* index.h - what the files of the index family share. */
#ifndef EGRET_OPS_INDEX_INTERNAL_H
#define EGRET_OPS_INDEX_INTERNAL_H

#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* index as contiguous i64 in 0..size-1: values checked, negative ones counted from the end unless
 * strict. Borrowed; NULL with words. */
eg_tensor *eg__checked_index(const char *op, eg_tensor *index, int64_t size, bool strict);
/* The same for index_select and index_add, where most indices go straight to kernels of devices, which is noted in
 * o; filled: there are elements to be written for each, so that the kernel will look at them. */
eg_tensor *eg__index_for(const char *op, eg_tensor *index, int64_t size, bool strict, bool filled, eg__index_opts *o);
/* Brings x and source to one dtype; when they are to be summed, halves to f32. */
eg_status eg__same_dtype(eg_tensor **x, eg_tensor **source, bool sum);
/* source put at index, copies or sums, into base (or zeros of size o->size along o->axis). */
eg_tensor *eg__index_add(eg_tensor *source, eg_tensor *index, eg_tensor *base,
                         const eg__index_opts *o);
eg_tensor *eg__scatter(const eg__op *op, eg_tensor *source, eg_tensor *index, eg_tensor *base,
                       const eg__scatter_opts *o);

#endif
