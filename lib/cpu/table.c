/* table.c - the kernels of one instruction set: the tuned one where a row has one, else the reference. */
#include "lib/cpu/isa.h"

extern const eg__kernel_table ISA(eg__cpu_kernels);
const eg__kernel_table ISA(eg__cpu_kernels) = {
#define EG_OP(name, kernel, ...) EG__TUNED_##kernel(name),
#include "lib/ops/ops.def"
#undef EG_OP
};
