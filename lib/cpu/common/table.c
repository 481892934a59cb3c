/* table.c - the kernels of one instruction set: the tuned one where a row has one, else the reference. */
#include "lib/cpu/common/isa.h"
#include "lib/ops/optable.h"

/* How a row's kernel column names the kernel. */
#define EG__TUNED_ref(name)      eg__ref_##name
#define EG__TUNED_cpu(name)      eg__cpu_##name
#define EG__TUNED_isa(name)      ISA(eg__cpu_##name)
#define EG_OP(name, kernel, ...) eg__kernel EG__TUNED_##kernel(name);
#include "lib/ops/ops.def"
#undef EG_OP

extern eg__kernel *const ISA(eg__cpu_kernels)[];
eg__kernel *const ISA(eg__cpu_kernels)[EG__OP_COUNT] = {
#define EG_OP(name, kernel, ...) EG__TUNED_##kernel(name),
#include "lib/ops/ops.def"
#undef EG_OP
};
