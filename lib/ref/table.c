/* table.c - the reference kernel of every op. */
#include "lib/ref/kernels.h"

eg__kernel *const eg__ref_kernels[EG__OP_COUNT] = {
#define EG_OP(name, ...) eg__ref_##name,
#include "lib/ops/ops.def"
#undef EG_OP
};
