/* dtype.h - types of elements: sets of them, sizes, and one element at a time. */
#ifndef EGRET_CORE_DTYPE_H
#define EGRET_CORE_DTYPE_H

#include <egret/tensor.h>

#include "lib/core/base.h"

/* Sets of dtypes. */
#define EG__D(t)     (1u << EG_##t)
#define EG__FLOATS   (EG__D(F32) | EG__D(F64) | EG__D(F16) | EG__D(BF16))
#define EG__INTS     (EG__D(I64) | EG__D(I32) | EG__D(U8))
#define EG__NUMBERS  (EG__FLOATS | EG__INTS)
#define EG__INTEGRAL (EG__INTS | EG__D(BOOL))
#define EG__ANY      (EG__NUMBERS | EG__D(BOOL))

static inline bool eg__is_float(int dtype)
{
    return EG__FLOATS >> dtype & 1;
}

extern const uint8_t eg__dtype_sizes[EG_DTYPE_COUNT];

/* Of n elements. Where that is beyond 64 bits (n was counted in a narrower dtype) the most there is: no memory
 * has it. */
static inline int64_t eg__bytes_of(int64_t n, int dtype)
{
    int64_t bytes;
    return __builtin_mul_overflow(n, eg__dtype_sizes[dtype], &bytes) ? INT64_MAX : bytes;
}

/* One element as double or int64, by dtype; storing rounds or saturates, of integers wraps (eg_cast). */
double eg__load(const void *p, int dtype, int64_t i);
void eg__store(void *p, int dtype, int64_t i, double v);
int64_t eg__load_int(const void *p, int dtype, int64_t i);
void eg__store_int(void *p, int dtype, int64_t i, int64_t v);
/* The same, what is out of range as the nearest end. */
void eg__store_nearest(void *p, int dtype, int64_t i, int64_t v);
/* The integers of a dtype are least..most; of a float's there are those of int64. */
int64_t eg__least(int dtype);
int64_t eg__most(int dtype);

#endif
