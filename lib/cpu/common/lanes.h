/* lanes.h - vectors as wide as the instruction set's registers, in the language of gcc and clang: +
 * and * act on every lane. For loops that must keep sums in registers, where arrays would go to
 * memory. */
#ifndef EGRET_LANES_H
#define EGRET_LANES_H

#include "lib/cpu/common/isa.h"

#if defined(__AVX512F__)
enum { EG__VECTOR_BYTES = 64, EG__VECTORS = 32 };
#elif defined(__AVX2__)
enum { EG__VECTOR_BYTES = 32, EG__VECTORS = 16 };
#else
enum { EG__VECTOR_BYTES = 16, EG__VECTORS = 16 };
#endif
/* Loaded from and stored to any address that suits an element. */
typedef float eg__f32s __attribute__((vector_size(EG__VECTOR_BYTES), aligned(4), may_alias));
typedef double eg__f64s __attribute__((vector_size(EG__VECTOR_BYTES), aligned(8), may_alias));
typedef float eg__f32s_half __attribute__((vector_size(EG__VECTOR_BYTES / 2), aligned(4), may_alias));
typedef double eg__f64s_half __attribute__((vector_size(EG__VECTOR_BYTES / 2), aligned(8), may_alias));

#define EG__INLINE inline __attribute__((always_inline))

#endif
