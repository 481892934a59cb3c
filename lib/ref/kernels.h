/* kernels.h - the reference kernels, declared from the table. */
#ifndef EGRET_REF_KERNELS_H
#define EGRET_REF_KERNELS_H

#include "lib/ops/optable.h"

#define EG_OP(name, ...) eg__kernel eg__ref_##name;
#include "lib/ops/ops.def"
#undef EG_OP

#endif
