/* optable.h - ids and descriptors of all ops, expanded from ops.def. Apart from dispatch.h, so that files
 * that do not name ops by id are not rebuilt when a row is added. */
#ifndef EGRET_OPTABLE_H
#define EGRET_OPTABLE_H

#include <egret/ops.h>

#include "lib/ops/dispatch.h"

enum {
#define EG_OP(name, ...) EG__ID_##name,
#include "lib/ops/ops.def"
#undef EG_OP
    EG__OP_COUNT
};
#define EG_OP(name, ...) extern const eg__op eg__op_##name;
#include "lib/ops/ops.def"
#undef EG_OP
/* What counts the multiply-adds of products. */
#define EG__MACS_keep(name)
#define EG__MACS_full(name)
#define EG__MACS_low(name)                   int64_t eg__macs_##name(const eg__call *c);
#define EG_OP(name, kernel, grad, cast, ...) EG__MACS_##cast(name)
#include "lib/ops/ops.def"
#undef EG_OP
extern const eg__op *const eg__ops[EG__OP_COUNT];

#endif
