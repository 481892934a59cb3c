/* isa.h - kernels whose row says `isa` are compiled once per instruction set; EG_ISA is its name. */
#ifndef EGRET_ISA_H
#define EGRET_ISA_H

#include "lib/internal.h"

#ifndef EG_ISA
#define EG_ISA base
#endif
#define EG__PASTE_(a, b)  a##_##b
#define EG__PASTE(a, b)   EG__PASTE_(a, b)
#define ISA(name)         EG__PASTE(name, EG_ISA)

/* How a row's kernel column names the tuned kernel. */
#define EG__TUNED_ref(name) eg__ref_##name
#define EG__TUNED_cpu(name) eg__cpu_##name
#define EG__TUNED_isa(name) ISA(eg__cpu_##name)
#define EG_OP(name, kernel, ...) eg__kernel EG__TUNED_##kernel(name);
#include "lib/ops/ops.def"
#undef EG_OP

#endif
