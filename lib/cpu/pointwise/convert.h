/* convert.h - rows of one element type turned into another; strides in bytes. */
#ifndef EGRET_CONVERT_H
#define EGRET_CONVERT_H

#include "lib/cpu/common/isa.h"

/* EG_F16 or EG_BF16 to contiguous f32 and back. */
void ISA(eg__halves_to_f32)(int64_t n, int type, const char *x, int64_t sx, float *y);
void ISA(eg__f32_to_halves)(int64_t n, int type, const float *x, char *y, int64_t sy);

/* n elements of 1, 2, 4 or 8 bytes, whatever they mean. */
void ISA(eg__copy_row)(int64_t n, int64_t bytes, const char *x, int64_t sx, char *y, int64_t sy);

/* A copy by tiles where source and target run along different axes; false if that is not so. Operand 0 is
 * the target, elements have `bytes` bytes. */
bool ISA(eg__transpose_copy)(const eg__iter *it, int64_t bytes);

#endif
