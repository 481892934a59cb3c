/* isa.h - files that are compiled once per instruction set; EG_ISA is its name. */
#ifndef EGRET_CORE_ISA_H
#define EGRET_CORE_ISA_H

#include "lib/core/base.h"

#ifndef EG_ISA
#define EG_ISA base
#endif
#define EG__PASTE_(a, b) a##_##b
#define EG__PASTE(a, b)  EG__PASTE_(a, b)
#define ISA(name)        EG__PASTE(name, EG_ISA)

/* Before a loop: no turn of it reads what another writes. (clang looks when it runs, and complains
 * about loops it is told so of and leaves alone.) */
#if defined(__clang__)
#define EG__EACH_ALONE
#else
#define EG__EACH_ALONE _Pragma("GCC ivdep")
#endif
/* Before a loop of few turns, their number a constant: none of it is left. (clang needs no word.) */
#if defined(__clang__)
#define EG__UNROLLED
#else
#define EG__UNROLLED _Pragma("GCC unroll 32")
#endif
/* Before a loop over the lanes of a vector: it stays a loop, for a compiler to make an instruction of. (gcc writes out
 * up to 16 turns before it looks for vectors.) */
#if defined(__clang__)
#define EG__LANEWISE
#else
#define EG__LANEWISE _Pragma("GCC unroll 1")
#endif

#endif
