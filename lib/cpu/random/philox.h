/* philox.h - words of a Philox stream in bulk. */
#ifndef EGRET_CPU_PHILOX_H
#define EGRET_CPU_PHILOX_H

#include "lib/cpu/common/isa.h"
#include "lib/math/philox.h"

enum { EG__WORDS = 1024 }; /* what fits well into the first cache beside what it is used on */

/* Fills out with the words of blocks first .. first + count; room for count rounded up to a multiple of 16. */
void ISA(eg__philox_words)(uint64_t seed, uint64_t first, int64_t count, uint32_t *out);

#endif
