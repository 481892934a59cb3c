/* loops.h - loops over pixels that are built once per instruction set, and choosing among them. */
#ifndef EGRET_LOOPS_H
#define EGRET_LOOPS_H

#include <egret/debug.h>

#include "lib/core/isa.h"

#ifdef EG_HAVE_AVX2
#define EG__IF_AVX2(...) __VA_ARGS__
#else
#define EG__IF_AVX2(...)
#endif
#ifdef EG_HAVE_AVX512
#define EG__IF_AVX512(...) __VA_ARGS__
#else
#define EG__IF_AVX512(...)
#endif

/* Declares the loop `name` of each instruction set and defines best(), which gives the one for this machine. */
#define EG__LOOP(type, name, best)                                           \
    type name##_base;                                                        \
    EG__IF_AVX2(type name##_avx2;)                                           \
    EG__IF_AVX512(type name##_avx512;)                                       \
    static type *best(void)                                                  \
    {                                                                        \
        const char *isa = eg_cpu_isa();                                      \
        (void)isa;                                                           \
        EG__IF_AVX512(if (!strcmp(isa, "avx512")) { return name##_avx512; }) \
        EG__IF_AVX2(if (!strcmp(isa, "avx2")) { return name##_avx2; })       \
        return name##_base;                                                  \
    }

#endif
