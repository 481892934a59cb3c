/* assign.h - writing one map of tensors over another, for modules and optimizers that load their state. */
#ifndef EGRET_ASSIGN_H
#define EGRET_ASSIGN_H

#include <egret/io.h>

/* Whether each tensor of `from` can be written over the one of the same name in `to`. */
eg_status eg__tensors_check(const char *op, const eg_tensors *to, const eg_tensors *from, bool allow_missing,
                            bool allow_unexpected);
/* Writes them. It takes no memory: after the check it cannot fail. */
eg_status eg__tensors_write(const char *op, const eg_tensors *to, const eg_tensors *from);
/* Both. A refusal changes nothing. */
eg_status eg__tensors_assign(const char *op, const eg_tensors *to, const eg_tensors *from, bool allow_missing,
                             bool allow_unexpected);
/* Writes one tensor over another of the same shape by a copying kernel: it takes no memory, and so fails
 * only for a tensor that an open tape follows. */
eg_status eg__overwrite(const char *op, eg_tensor *to, eg_tensor *from);

#endif
