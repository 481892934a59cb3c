/* infer.h - the inference functions that rows of ops.def name, one file per family defines them; and what they share.
 */
#ifndef EGRET_INFER_H
#define EGRET_INFER_H

#include "lib/ops/optable.h"

#define EG_OP(name, kernel, grad, cast, least, most, outputs, dtypes, flags, size, infer, ...) eg__infer infer;
#include "lib/ops/ops.def"
#undef EG_OP

/* That the device has memory for a result of this shape at all, or its limit allows it: where the parts it is made of
 * are large too, before they are made. */
eg_status eg__check_room(const char *op, uint8_t device, int ndim, const int64_t *shape, int dtype);

/* What can be said of options before there is an x. */
struct eg_pool_options;
struct eg_resize_options;
eg_status eg__check_pool_options(const char *op, int axes, const struct eg_pool_options *g);
eg_status eg__check_resize_options(eg_shape size, const struct eg_resize_options *g);

/* Lengths as contiguous i64 [rows], each in 0..most where they can be seen; NULL after NULL or words. */
eg_tensor *eg__lengths(const char *op, const char *name, eg_tensor *t, int64_t rows, int64_t most);

#endif
