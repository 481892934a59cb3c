/* dtype.c - element types: names, sizes, promotion, one element in and out. */
#include <math.h>

#include "lib/math/half.h"
#include "lib/core/dtype.h"

static const char *const names[EG_DTYPE_COUNT] = {"f32", "f64", "f16", "bf16", "i64", "i32", "u8", "bool"};
const uint8_t eg__dtype_sizes[EG_DTYPE_COUNT] = {4, 8, 2, 2, 8, 4, 1, 1};

size_t eg_dtype_size(eg_dtype dtype)
{
    return (unsigned)dtype < EG_DTYPE_COUNT ? eg__dtype_sizes[dtype] : 0;
}

const char *eg_dtype_name(eg_dtype dtype)
{
    return (unsigned)dtype < EG_DTYPE_COUNT ? names[dtype] : "?";
}

eg_dtype eg_promote(eg_dtype a, eg_dtype b)
{
    /* Widening order; f16 and bf16 are apart and meet in f32. */
    static const uint8_t rank[EG_DTYPE_COUNT] = {7, 8, 5, 6, 4, 3, 2, 1};
    if ((a == EG_F16 && b == EG_BF16) || (a == EG_BF16 && b == EG_F16)) {
        return EG_F32;
    }
    if ((unsigned)a >= EG_DTYPE_COUNT || (unsigned)b >= EG_DTYPE_COUNT) {
        return (unsigned)a < EG_DTYPE_COUNT ? a : b;
    }
    return rank[a] >= rank[b] ? a : b;
}

double eg__load(const void *p, int dtype, int64_t i)
{
    switch (dtype) {
    case EG_F32:
        return ((const float *)p)[i];
    case EG_F64:
        return ((const double *)p)[i];
    case EG_F16:
        return eg__f16_to_f32(((const uint16_t *)p)[i]);
    case EG_BF16:
        return eg__bf16_to_f32(((const uint16_t *)p)[i]);
    default:
        return (double)eg__load_int(p, dtype, i);
    }
}

int64_t eg__load_int(const void *p, int dtype, int64_t i)
{
    switch (dtype) {
    case EG_I64:
        return ((const int64_t *)p)[i];
    case EG_I32:
        return ((const int32_t *)p)[i];
    case EG_U8:
        return ((const uint8_t *)p)[i];
    case EG_BOOL:
        return ((const uint8_t *)p)[i] != 0;
    default: {
        double v = eg__load(p, dtype, i);
        return v != v ? 0 : v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
    }
    }
}

void eg__store(void *p, int dtype, int64_t i, double v)
{
    switch (dtype) {
    case EG_F32:
        ((float *)p)[i] = (float)v;
        break;
    case EG_F64:
        ((double *)p)[i] = v;
        break;
    case EG_F16:
        ((uint16_t *)p)[i] = eg__f64_to_f16(v);
        break;
    case EG_BF16:
        ((uint16_t *)p)[i] = eg__f64_to_bf16(v);
        break;
    case EG_I64:
        ((int64_t *)p)[i] = eg__load_int(&v, EG_F64, 0);
        break;
    case EG_I32:
        ((int32_t *)p)[i] = v != v ? 0 : (int32_t)fmax(INT32_MIN, fmin(INT32_MAX, v));
        break;
    case EG_U8:
        ((uint8_t *)p)[i] = v != v ? 0 : (uint8_t)fmax(0, fmin(255, v));
        break;
    case EG_BOOL:
        ((uint8_t *)p)[i] = v != 0;
        break;
    }
}

int64_t eg__least(int dtype)
{
    return dtype == EG_U8 || dtype == EG_BOOL ? 0 : dtype == EG_I32 ? INT32_MIN : INT64_MIN;
}

int64_t eg__most(int dtype)
{
    return dtype == EG_BOOL ? 1 : dtype == EG_U8 ? UINT8_MAX : dtype == EG_I32 ? INT32_MAX : INT64_MAX;
}

void eg__store_nearest(void *p, int dtype, int64_t i, int64_t v)
{
    const int64_t least = eg__least(dtype), most = eg__most(dtype);
    eg__store_int(p, dtype, i, dtype == EG_BOOL ? v : v < least ? least : v > most ? most : v);
}

void eg__store_int(void *p, int dtype, int64_t i, int64_t v)
{
    switch (dtype) {
    case EG_I64:
        ((int64_t *)p)[i] = v;
        break;
    case EG_I32:
        ((int32_t *)p)[i] = (int32_t)(uint32_t)v;
        break;
    case EG_U8:
        ((uint8_t *)p)[i] = (uint8_t)v;
        break;
    case EG_BOOL:
        ((uint8_t *)p)[i] = v != 0;
        break;
    case EG_F32:
        ((float *)p)[i] = (float)v;
        break;
    case EG_F64:
        ((double *)p)[i] = (double)v;
        break;
    default:
        eg__store(p, dtype, i, eg__i64_to_f64_odd(v));
    }
}
