/* convert.c - copies and casts, where and halves. */
#include "lib/cpu/pointwise/convert.h"
#include "lib/cpu/common/lanes.h"
#include "lib/cpu/common/stream.h"
#include "lib/math/half.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_copy), ISA(eg__cpu_cast), ISA(eg__cpu_where);

/* ---- halves ---------------------------------------------------------------------------------- */

/* type: a constant, of two kinds of halves. */
static EG__INLINE float widened(int type, uint16_t h)
{
    return type == EG_F16 ? eg__f16_to_f32(h) : eg__bf16_to_f32(h);
}

static EG__INLINE uint16_t narrowed(int type, float v)
{
    return type == EG_F16 ? eg__f32_to_f16(v) : eg__f32_to_bf16(v);
}

static EG__INLINE void widen(int type, int64_t n, const char *x, int64_t sx, float *y)
{
    if (sx == 2) {
        const uint16_t *h = (const uint16_t *)x;
        for (int64_t i = 0; i < n; i++) {
            y[i] = widened(type, h[i]);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        y[i] = widened(type, *(const uint16_t *)(x + i * sx));
    }
}

static EG__INLINE void narrow(int type, int64_t n, const float *x, char *y, int64_t sy)
{
    if (sy == 2) {
        uint16_t *h = (uint16_t *)y;
        for (int64_t i = 0; i < n; i++) {
            h[i] = narrowed(type, x[i]);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        *(uint16_t *)(y + i * sy) = narrowed(type, x[i]);
    }
}

void ISA(eg__halves_to_f32)(int64_t n, int type, const char *x, int64_t sx, float *y)
{
    if (type == EG_F16) {
        widen(EG_F16, n, x, sx, y);
    } else {
        widen(EG_BF16, n, x, sx, y);
    }
}

void ISA(eg__f32_to_halves)(int64_t n, int type, const float *x, char *y, int64_t sy)
{
    if (type == EG_F16) {
        narrow(EG_F16, n, x, y, sy);
    } else {
        narrow(EG_BF16, n, x, y, sy);
    }
}

/* ---- copies and where: only the size of an element matters ----------------------------------- */

enum { STREAMED = 512 }; /* elements at a time that do not lie as they are written */

#define TEMPLATE "lib/cpu/pointwise/convert_words.h"
#include "lib/cpu/common/by_words.h"

static eg__iter_fn *const copy_rows[9] = {[1] = copy_row_8, [2] = copy_row_16, [4] = copy_row_32, [8] = copy_row_64};

void ISA(eg__copy_row)(int64_t n, int64_t bytes, const char *x, int64_t sx, char *y, int64_t sy)
{
    copy_rows[bytes](NULL, n, (char *[]){y, (char *)x}, (int64_t[]){sy, sx});
}

/* Rows of a few elements cost more than writing every few elements. */
static void lengthen_rows(eg__iter *it)
{
    int a = it->ndim - 2, b = it->ndim - 1;
    if (a >= 0 && it->shape[b] < 8 && it->shape[a] > it->shape[b] && it->strides[1][b] != 0 &&
        it->strides[1][b] != it->strides[0][b]) {
        for (int k = -1; k < it->nops; k++) {
            int64_t *v = k < 0 ? it->shape : it->strides[k], t = v[a];
            v[a] = v[b];
            v[b] = t;
        }
    }
}

eg_status ISA(eg__cpu_copy)(const eg__call *c)
{
    eg__iter it;
    int64_t bytes = (int64_t)eg__esize(c->in[0]);
    eg__iter_init(&it, (eg_tensor *[]){c->out[0], c->in[0]}, 2);
    lengthen_rows(&it);
    if (!it.n || !ISA(eg__transpose_copy)(&it, bytes)) {
        eg__iter_run(&it, EG__GRAIN, copy_rows[bytes], eg__streams(c->out[0]) ? &it : NULL);
    }
    return EG_OK;
}

/* ---- casts ----------------------------------------------------------------------------------- */

/* Floats to integers: NaN to 0, out of range to the nearest end. */
#define CLAMP(v, low, high) ((v) != (v) ? 0 : (v) <= (low) ? (low) : (v) >= (high) ? (high) : (v))
static inline int64_t to_i64(double v)
{
    return v != v ? 0 : v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
}

#define FROM_f32(p)  (*(const float *)(p))
#define FROM_f64(p)  (*(const double *)(p))
#define FROM_f16(p)  eg__f16_to_f32(*(const uint16_t *)(p))
#define FROM_bf16(p) eg__bf16_to_f32(*(const uint16_t *)(p))
#define FROM_i64(p)  (*(const int64_t *)(p))
#define FROM_i32(p)  (*(const int32_t *)(p))
#define FROM_u8(p)   (*(const uint8_t *)(p))
#define FROM_b8(p)   ((uint8_t)(*(const uint8_t *)(p) != 0))

/* What float cannot hold is rounded once; integers past its precision are infinite in f16. */
#define TO_F16(v) _Generic((v), double : eg__f64_to_f16, default : eg__f32_to_f16)((v))
#define TO_BF16(v)                      \
    _Generic((v), double                \
             : eg__f64_to_bf16, int32_t \
             : eg__f64_to_bf16, int64_t \
             : eg__i64_to_bf16, default \
             : eg__f32_to_bf16)((v))

#define STORE_f32(p, v)      (*(float *)(p) = (float)(v))
#define STORE_f64(p, v)      (*(double *)(p) = (double)(v))
#define STORE_f16(p, v)      (*(uint16_t *)(p) = TO_F16(v))
#define STORE_bf16(p, v)     (*(uint16_t *)(p) = TO_BF16(v))
#define STORE_b8(p, v)       (*(uint8_t *)(p) = (v) != 0)
#define STORE_REAL_i64(p, v) (*(int64_t *)(p) = to_i64((double)(v)))
#define STORE_REAL_i32(p, v) (*(int32_t *)(p) = (int32_t)CLAMP((double)(v), INT32_MIN, INT32_MAX))
#define STORE_REAL_u8(p, v)  (*(uint8_t *)(p) = (uint8_t)CLAMP((double)(v), 0, 255))
#define STORE_INT_i64(p, v)  (*(int64_t *)(p) = (int64_t)(v))
#define STORE_INT_i32(p, v)  (*(int32_t *)(p) = (int32_t)(uint32_t)(uint64_t)(v))
#define STORE_INT_u8(p, v)   (*(uint8_t *)(p) = (uint8_t)(v))

#define CAST_ROW(from, to, store, size_from, size_to)                                    \
    static void from##_to_##to(void *ctx, int64_t n, char *const *ptr, const int64_t *s) \
    {                                                                                    \
        char *y = ptr[0];                                                                \
        const char *x = ptr[1];                                                          \
        (void)ctx;                                                                       \
        if (s[0] == size_to && s[1] == size_from) {                                      \
            for (int64_t i = 0; i < n; i++) {                                            \
                store(y + i * size_to, FROM_##from(x + i * size_from));                  \
            }                                                                            \
        } else {                                                                         \
            for (int64_t i = 0; i < n; i++) {                                            \
                store(y + i * s[0], FROM_##from(x + i * s[1]));                          \
            }                                                                            \
        }                                                                                \
    }
#define CASTS_OF_REAL(from, size)                \
    CAST_ROW(from, f32, STORE_f32, size, 4)      \
    CAST_ROW(from, f64, STORE_f64, size, 8)      \
    CAST_ROW(from, f16, STORE_f16, size, 2)      \
    CAST_ROW(from, bf16, STORE_bf16, size, 2)    \
    CAST_ROW(from, i64, STORE_REAL_i64, size, 8) \
    CAST_ROW(from, i32, STORE_REAL_i32, size, 4) \
    CAST_ROW(from, u8, STORE_REAL_u8, size, 1)   \
    CAST_ROW(from, b8, STORE_b8, size, 1)
#define CASTS_OF_INT(from, size)                \
    CAST_ROW(from, f32, STORE_f32, size, 4)     \
    CAST_ROW(from, f64, STORE_f64, size, 8)     \
    CAST_ROW(from, f16, STORE_f16, size, 2)     \
    CAST_ROW(from, bf16, STORE_bf16, size, 2)   \
    CAST_ROW(from, i64, STORE_INT_i64, size, 8) \
    CAST_ROW(from, i32, STORE_INT_i32, size, 4) \
    CAST_ROW(from, u8, STORE_INT_u8, size, 1)   \
    CAST_ROW(from, b8, STORE_b8, size, 1)
CASTS_OF_REAL(f32, 4)
CASTS_OF_REAL(f64, 8)
CASTS_OF_REAL(f16, 2)
CASTS_OF_REAL(bf16, 2)
CASTS_OF_INT(i64, 8)
CASTS_OF_INT(i32, 4)
CASTS_OF_INT(u8, 1)
CASTS_OF_INT(b8, 1)

#define CASTS_FROM(from)                                                                                         \
    {                                                                                                            \
        from##_to_f32, from##_to_f64, from##_to_f16, from##_to_bf16, from##_to_i64, from##_to_i32, from##_to_u8, \
            from##_to_b8                                                                                         \
    }

eg_status ISA(eg__cpu_cast)(const eg__call *c)
{
    static eg__iter_fn *const rows[EG_DTYPE_COUNT][EG_DTYPE_COUNT] = {
        CASTS_FROM(f32), CASTS_FROM(f64), CASTS_FROM(f16), CASTS_FROM(bf16),
        CASTS_FROM(i64), CASTS_FROM(i32), CASTS_FROM(u8),  CASTS_FROM(b8)};
    eg__iter it;
    eg__iter_init(&it, (eg_tensor *[]){c->out[0], c->in[0]}, 2);
    eg__iter_run(&it, EG__GRAIN, rows[c->in[0]->dtype][c->out[0]->dtype], NULL);
    return EG_OK;
}

/* ---- where ----------------------------------------------------------------------------------- */

eg_status ISA(eg__cpu_where)(const eg__call *c)
{
    static eg__iter_fn *const rows[9] = {[1] = where_row_8, [2] = where_row_16, [4] = where_row_32, [8] = where_row_64};
    eg__iter it;
    eg__iter_init(&it, (eg_tensor *[]){c->out[0], c->in[0], c->in[1], c->in[2]}, 4);
    eg__iter_run(&it, EG__GRAIN, rows[eg__esize(c->out[0])], NULL);
    return EG_OK;
}
