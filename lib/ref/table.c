/* table.c - the reference kernel of every op. */
#include "lib/ref/kernels.h"

const eg__kernel_table eg__ref_kernels = {
#define EG_OP(name, ...) eg__ref_##name,
#include "lib/ops/ops.def"
#undef EG_OP
};
