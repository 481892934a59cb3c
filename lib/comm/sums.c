/* sums.c - what ranks have, made one: in the order of the ranks, whatever came first. */
#include "lib/comm/comm.h"
#include "lib/math/half.h"

enum { BLOCK = 512 };

#define AS_IT_IS(v)      (v)
#define ADDED(a, b)      ((a) + (b))
#define WRAPPED(T, a, b) ((T)((uint64_t)(a) + (uint64_t)(b)))
#define WRAPPED_64(a, b) WRAPPED(int64_t, a, b)
#define WRAPPED_32(a, b) WRAPPED(int32_t, a, b)
#define WRAPPED_8(a, b)  WRAPPED(uint8_t, a, b)

/* T: a type of elements, which are added as A. */
#define REDUCED(name, T, A, LOAD, STORE, ADD)                                                                      \
    static void name(eg_comm_reduction how, int ranks, const char *parts, int64_t apart, int64_t count, char *out) \
    {                                                                                                              \
        for (int64_t at = 0; at < count; at += BLOCK) {                                                            \
            const int64_t n = eg__min(BLOCK, count - at);                                                          \
            A all[BLOCK];                                                                                          \
            for (int r = 0; r < ranks; r++) {                                                                      \
                const T *x = (const T *)(parts + r * apart) + at;                                                  \
                for (int64_t i = 0; !r && i < n; i++) {                                                            \
                    all[i] = LOAD(x[i]);                                                                           \
                }                                                                                                  \
                for (int64_t i = 0; r && how != EG_COMM_MAX && i < n; i++) {                                       \
                    all[i] = ADD(all[i], LOAD(x[i]));                                                              \
                }                                                                                                  \
                for (int64_t i = 0; r && how == EG_COMM_MAX && i < n; i++) {                                       \
                    const A v = LOAD(x[i]);                                                                        \
                    all[i] = v > all[i] || v != v ? v : all[i];                                                    \
                }                                                                                                  \
            }                                                                                                      \
            T *y = (T *)out + at;                                                                                  \
            const A share = how == EG_COMM_MEAN ? (A)ranks : 1;                                                    \
            for (int64_t i = 0; i < n; i++) {                                                                      \
                y[i] = STORE(all[i] / share);                                                                      \
            }                                                                                                      \
        }                                                                                                          \
    }
REDUCED(reduce_f32, float, float, AS_IT_IS, AS_IT_IS, ADDED)
REDUCED(reduce_f64, double, double, AS_IT_IS, AS_IT_IS, ADDED)
REDUCED(reduce_f16, uint16_t, float, eg__f16_to_f32, eg__f32_to_f16, ADDED)
REDUCED(reduce_bf16, uint16_t, float, eg__bf16_to_f32, eg__f32_to_bf16, ADDED)
REDUCED(reduce_i64, int64_t, int64_t, AS_IT_IS, AS_IT_IS, WRAPPED_64)
REDUCED(reduce_i32, int32_t, int32_t, AS_IT_IS, AS_IT_IS, WRAPPED_32)
REDUCED(reduce_u8, uint8_t, uint8_t, AS_IT_IS, AS_IT_IS, WRAPPED_8)

void eg__comm_reduce(eg_dtype dtype, eg_comm_reduction how, int ranks, const char *parts, int64_t apart, int64_t count,
                     char *out)
{
    static void (*const reduce[EG_DTYPE_COUNT])(eg_comm_reduction, int, const char *, int64_t, int64_t, char *) = {
        [EG_F32] = reduce_f32, [EG_F64] = reduce_f64, [EG_F16] = reduce_f16, [EG_BF16] = reduce_bf16,
        [EG_I64] = reduce_i64, [EG_I32] = reduce_i32, [EG_U8] = reduce_u8,   [EG_BOOL] = reduce_u8,
    };
    reduce[dtype](how, ranks, parts, apart, count, out);
}
