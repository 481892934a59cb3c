/* isa.h - kernels whose row says `isa` are compiled once per instruction set. A file of such kernels declares them
 * itself: eg__kernel ISA(eg__cpu_sum); */
#ifndef EGRET_ISA_H
#define EGRET_ISA_H

#include "lib/core/isa.h"
#include "lib/ops/dispatch.h"

#endif
