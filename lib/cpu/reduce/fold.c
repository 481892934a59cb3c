/* fold.c - folds of one word: a map of each element, and an operation that joins them. Rows run in as many
 * independent lanes as registers hold, joined as a tree every few thousand elements; columns take four
 * rows at a time. So f32 sums stay close to exact, as each short stretch ends in a double. */
#include <math.h>

#include "lib/cpu/common/lanes.h"
#include "lib/cpu/reduce/fold.h"
#include "lib/math/half.h"

enum { COLS = EG__FOLD_COLS };

typedef enum map { SAME, TRUTH, MAGNITUDE, SQUARE, POWER } map;
typedef enum join { PLUS, TIMES, HIGHER, LOWER } join;

#define NAN_IN(v) ((v) != (v))

/* ---- loops: elements, what they are joined as ------------------------------------------------ */

#define LOAD(v)      (v)
#define WORD         d
#define JOINED_WORDS joined_f64_f64
#define T            double
#define A            double
#define FN(name)     name##_f64_f64
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN
#define T        float
#define A        float
#define FN(name) name##_f32_f32
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN
#define T        float
#define A        double
#define FN(name) name##_f32_f64
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN
#undef LOAD
#define LOAD(v)  eg__f16_to_f32(v)
#define T        uint16_t
#define A        float
#define FN(name) name##_f16_f32
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN
#undef LOAD
#define LOAD(v)  eg__bf16_to_f32(v)
#define T        uint16_t
#define A        float
#define FN(name) name##_bf16_f32
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN
#define T        uint16_t
#define A        double
#define FN(name) name##_bf16_f64
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN
#undef LOAD
#define LOAD(v) (v)
#undef WORD
#define WORD i
#undef JOINED_WORDS
#define JOINED_WORDS joined_i64_i64
#define T            int64_t
#define A            int64_t
#define FN(name)     name##_i64_i64
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN
#define T        int64_t
#define A        int32_t
#define FN(name) name##_i64_i32
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN
#define T        int32_t
#define A        int64_t
#define FN(name) name##_i32_i64
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN
#define T        int32_t
#define A        int32_t
#define FN(name) name##_i32_i32
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN
#define T        uint8_t
#define A        int64_t
#define FN(name) name##_u8_i64
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN
#define T        uint8_t
#define A        int32_t
#define FN(name) name##_u8_i32
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN
#define T        uint8_t
#define A        uint8_t
#define FN(name) name##_u8_u8
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN
#define T        float
#define A        int32_t
#define FN(name) name##_f32_i32
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN
#define T        double
#define A        int32_t
#define FN(name) name##_f64_i32
#include "lib/cpu/reduce/fold_loops.h"
#undef T
#undef A
#undef FN

static EG__INLINE void join_doubles(join j, int64_t cols, eg__word *w, const eg__word *later)
{
    for (int64_t c = 0; c < cols; c++) {
        w[c].d = joined_f64_f64(j, w[c].d, later[c].d);
    }
}

static EG__INLINE void join_integers(join j, int64_t cols, eg__word *w, const eg__word *later)
{
    for (int64_t c = 0; c < cols; c++) {
        w[c].i = joined_i64_i64(j, w[c].i, later[c].i);
    }
}

#define JOINER(name, join_words, j)                                    \
    static void name(int64_t cols, eg__word *w, const eg__word *later) \
    {                                                                  \
        join_words(j, cols, w, later);                                 \
    }
JOINER(plus_d, join_doubles, PLUS)
JOINER(plus_i, join_integers, PLUS)
JOINER(times_d, join_doubles, TIMES)
JOINER(times_i, join_integers, TIMES)
JOINER(higher_d, join_doubles, HIGHER)
JOINER(higher_i, join_integers, HIGHER)
JOINER(lower_d, join_doubles, LOWER)
JOINER(lower_i, join_integers, LOWER)

/* A fold over `pair`, the name of a pair of types above. */
#define FOLD(name, pair, m, j, start)                          \
    static void name##_row(const eg__tile *t, eg__word *w)     \
    {                                                          \
        row_##pair(m, j, start, t, w);                         \
    }                                                          \
    static void name##_columns(const eg__tile *t, eg__word *w) \
    {                                                          \
        columns_##pair(m, j, t, w);                            \
    }

/* ---- sums ------------------------------------------------------------------------------------ */

/* Of small integers 64 rows or 8192 elements fit 32 bits. */
FOLD(sum_f32, f32_f32, SAME, PLUS, 0)
FOLD(sum_f64, f64_f64, SAME, PLUS, 0)
FOLD(sum_f16, f16_f32, SAME, PLUS, 0)
FOLD(sum_bf16, bf16_f32, SAME, PLUS, 0)
FOLD(sum_i64, i64_i64, SAME, PLUS, 0)
FOLD(sum_i32, i32_i64, SAME, PLUS, 0)
FOLD(sum_u8, u8_i32, SAME, PLUS, 0)
FOLD(count_f32, f32_i32, TRUTH, PLUS, 0)
FOLD(count_f64, f64_i32, TRUTH, PLUS, 0)
FOLD(count_i64, i64_i32, TRUTH, PLUS, 0)
FOLD(count_i32, i32_i32, TRUTH, PLUS, 0)
FOLD(count_u8, u8_i32, TRUTH, PLUS, 0)
FOLD(abs_f32, f32_f32, MAGNITUDE, PLUS, 0)
FOLD(abs_f64, f64_f64, MAGNITUDE, PLUS, 0)
FOLD(wide_sum_f32, f32_f64, SAME, PLUS, 0)
FOLD(wide_sum_bf16, bf16_f64, SAME, PLUS, 0)
FOLD(wide_abs_f32, f32_f64, MAGNITUDE, PLUS, 0)
FOLD(square_f32, f32_f64, SQUARE, PLUS, 0)
FOLD(square_f64, f64_f64, SQUARE, PLUS, 0)
FOLD(power_f32, f32_f64, POWER, PLUS, 0)
FOLD(power_f64, f64_f64, POWER, PLUS, 0)

#define SUM_D(name, c, wide)                                              \
    {                                                                     \
        1, c, false, {{.d = 0}}, name##_row, name##_columns, plus_d, wide \
    }
#define SUM_I(name)                                                       \
    {                                                                     \
        1, 1, false, {{.i = 0}}, name##_row, name##_columns, plus_i, NULL \
    }
static const eg__fold wide_sum_f32 = SUM_D(wide_sum_f32, 1, NULL), wide_sum_bf16 = SUM_D(wide_sum_bf16, 1, NULL),
                      wide_abs_f32 = SUM_D(wide_abs_f32, 1, NULL);
const eg__fold ISA(eg__fold_sum)[EG_DTYPE_COUNT] = {
    [EG_F32] = SUM_D(sum_f32, 1, &wide_sum_f32),
    [EG_F64] = SUM_D(sum_f64, 1, NULL),
    [EG_F16] = SUM_D(sum_f16, 1, NULL),
    [EG_I64] = SUM_I(sum_i64),
    [EG_BF16] = SUM_D(sum_bf16, 1, &wide_sum_bf16),
    [EG_I32] = SUM_I(sum_i32),
    [EG_U8] = SUM_I(sum_u8),
    [EG_BOOL] = SUM_I(count_u8),
};
const eg__fold ISA(eg__fold_count)[EG_DTYPE_COUNT] = {
    [EG_F32] = SUM_I(count_f32), [EG_F64] = SUM_I(count_f64), [EG_I64] = SUM_I(count_i64),
    [EG_I32] = SUM_I(count_i32), [EG_U8] = SUM_I(count_u8),   [EG_BOOL] = SUM_I(count_u8),
};
const eg__fold ISA(eg__fold_abs)[EG_DTYPE_COUNT] = {
    [EG_F32] = SUM_D(abs_f32, 1, &wide_abs_f32), [EG_F64] = SUM_D(abs_f64, 1, NULL)};
const eg__fold ISA(eg__fold_square)[EG_DTYPE_COUNT] = {
    [EG_F32] = SUM_D(square_f32, 1, NULL), [EG_F64] = SUM_D(square_f64, 1, NULL)};
const eg__fold ISA(eg__fold_power)[EG_DTYPE_COUNT] = {
    [EG_F32] = SUM_D(power_f32, 32, NULL), [EG_F64] = SUM_D(power_f64, 32, NULL)};

/* ---- products -------------------------------------------------------------------------------- */

FOLD(prod_f32, f32_f64, SAME, TIMES, 1)
FOLD(prod_f64, f64_f64, SAME, TIMES, 1)
FOLD(prod_i64, i64_i64, SAME, TIMES, 1)
FOLD(prod_i32, i32_i64, SAME, TIMES, 1)
FOLD(prod_u8, u8_i64, SAME, TIMES, 1)
FOLD(prod_b8, u8_i64, TRUTH, TIMES, 1)

#define PROD_D(name)                                                       \
    {                                                                      \
        1, 1, false, {{.d = 1}}, name##_row, name##_columns, times_d, NULL \
    }
#define PROD_I(name)                                                       \
    {                                                                      \
        1, 1, false, {{.i = 1}}, name##_row, name##_columns, times_i, NULL \
    }
const eg__fold ISA(eg__fold_prod)[EG_DTYPE_COUNT] = {
    [EG_F32] = PROD_D(prod_f32), [EG_F64] = PROD_D(prod_f64), [EG_I64] = PROD_I(prod_i64),
    [EG_I32] = PROD_I(prod_i32), [EG_U8] = PROD_I(prod_u8),   [EG_BOOL] = PROD_I(prod_b8),
};

/* ---- extremes -------------------------------------------------------------------------------- */

#define TOP ((float)INFINITY)
FOLD(max_f32, f32_f32, SAME, HIGHER, -TOP)
FOLD(max_f64, f64_f64, SAME, HIGHER, -TOP)
FOLD(max_i64, i64_i64, SAME, HIGHER, INT64_MIN)
FOLD(max_i32, i32_i32, SAME, HIGHER, INT32_MIN)
FOLD(max_u8, u8_u8, SAME, HIGHER, 0)
FOLD(max_b8, u8_u8, TRUTH, HIGHER, 0)
FOLD(min_f32, f32_f32, SAME, LOWER, TOP)
FOLD(min_f64, f64_f64, SAME, LOWER, TOP)
FOLD(min_i64, i64_i64, SAME, LOWER, INT64_MAX)
FOLD(min_i32, i32_i32, SAME, LOWER, INT32_MAX)
FOLD(min_u8, u8_u8, SAME, LOWER, 255)
FOLD(min_b8, u8_u8, TRUTH, LOWER, 1)
FOLD(abs_max_f32, f32_f32, MAGNITUDE, HIGHER, 0)
FOLD(abs_max_f64, f64_f64, MAGNITUDE, HIGHER, 0)
FOLD(abs_min_f32, f32_f32, MAGNITUDE, LOWER, TOP)
FOLD(abs_min_f64, f64_f64, MAGNITUDE, LOWER, TOP)

#define MAX_D(name, start)                                                      \
    {                                                                           \
        1, 1, false, {{.d = start}}, name##_row, name##_columns, higher_d, NULL \
    }
#define MAX_I(name)                                                                 \
    {                                                                               \
        1, 1, false, {{.i = INT64_MIN}}, name##_row, name##_columns, higher_i, NULL \
    }
#define MIN_D(name)                                                          \
    {                                                                        \
        1, 1, false, {{.d = TOP}}, name##_row, name##_columns, lower_d, NULL \
    }
#define MIN_I(name)                                                                \
    {                                                                              \
        1, 1, false, {{.i = INT64_MAX}}, name##_row, name##_columns, lower_i, NULL \
    }
const eg__fold ISA(eg__fold_max)[EG_DTYPE_COUNT] = {
    [EG_F32] = MAX_D(max_f32, -TOP), [EG_F64] = MAX_D(max_f64, -TOP), [EG_I64] = MAX_I(max_i64),
    [EG_I32] = MAX_I(max_i32),       [EG_U8] = MAX_I(max_u8),         [EG_BOOL] = MAX_I(max_b8),
};
const eg__fold ISA(eg__fold_min)[EG_DTYPE_COUNT] = {
    [EG_F32] = MIN_D(min_f32), [EG_F64] = MIN_D(min_f64), [EG_I64] = MIN_I(min_i64),
    [EG_I32] = MIN_I(min_i32), [EG_U8] = MIN_I(min_u8),   [EG_BOOL] = MIN_I(min_b8),
};
const eg__fold ISA(eg__fold_abs_max)[EG_DTYPE_COUNT] = {
    [EG_F32] = MAX_D(abs_max_f32, 0), [EG_F64] = MAX_D(abs_max_f64, 0)};
const eg__fold ISA(eg__fold_abs_min)[EG_DTYPE_COUNT] = {[EG_F32] = MIN_D(abs_min_f32), [EG_F64] = MIN_D(abs_min_f64)};
