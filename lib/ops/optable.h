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
extern const eg__op *const eg__ops[EG__OP_COUNT];

#endif
