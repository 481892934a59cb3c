/* assign.h - writing one map of tensors over another, for modules and optimizers that load their state. */
#ifndef EGRET_ASSIGN_H
#define EGRET_ASSIGN_H

#include <egret/io.h>

/* Writes each tensor of `from` over the one of the same name in `to`. All is checked first, so a refusal
 * changes nothing. */
eg_status eg__tensors_assign(const char *op, const eg_tensors *to, const eg_tensors *from,
                             bool allow_missing, bool allow_unexpected);

#endif
