/* fold.c - folds of one word: a map of each element, and an operation that joins them. Rows run in as many
 * independent lanes as registers hold, joined as a tree every few thousand elements; columns take four
 * rows at a time. So f32 sums stay close to exact, as each short stretch ends in a double. */
#include <math.h>

#include "lib/cpu/reduce/extremes.h"
#include "lib/cpu/reduce/fold.h"
#include "lib/math/half.h"

enum { COLS = EG__FOLD_COLS };

/* One row in L lanes of type A, for stretches of at most 64 L elements, as long as L remain. */
#define STRETCH(L, E, A, field, MAP, JOIN)                                                         \
    while (n >= (L)) {                                                                             \
        _Alignas(64) A acc[L];                                                                     \
        int64_t k = eg__min(n / (L), 64);                                                          \
        for (int l = 0; l < (L); l++) {                                                            \
            acc[l] = (A)MAP(e[l]);                                                                 \
        }                                                                                          \
        for (int64_t i = 1; i < k; i++) {                                                          \
            const E *restrict v = e + i * (L);                                                     \
            for (int l = 0; l < (L); l++) {                                                        \
                const A m = (A)MAP(v[l]), so_far = acc[l];                                         \
                acc[l] = (A)JOIN(so_far, m);                                                       \
            }                                                                                      \
        }                                                                                          \
        for (int h = (L) / 2; h > 0; h /= 2) {                                                     \
            for (int l = 0; l < h; l++) {                                                          \
                acc[l] = (A)JOIN(acc[l], acc[l + h]);                                              \
            }                                                                                      \
        }                                                                                          \
        w->field = JOIN(w->field, acc[0]);                                                         \
        e += k * (L);                                                                              \
        n -= k * (L);                                                                              \
    }

#define ROW(name, E, A, field, START, MAP, JOIN)                                                   \
    static void name##_row(const eg__tile *t, eg__word *w)                                         \
    {                                                                                              \
        const char *x = t->x;                                                                      \
        const double p = t->p;                                                                     \
        const int64_t s = t->step;                                                                 \
        int64_t n = t->n;                                                                          \
        (void)p;                                                                                   \
        if (s == sizeof(E)) {                                                                      \
            const E *e = (const E *)x;                                                             \
            STRETCH((int)(256 / sizeof(A)), E, A, field, MAP, JOIN)                                \
            STRETCH(8, E, A, field, MAP, JOIN)                                                     \
            x = (const char *)e;                                                                   \
        }                                                                                          \
        while (n > 0) {                                                                            \
            A acc = START;                                                                         \
            int64_t k = eg__min(n, 64);                                                            \
            for (int64_t i = 0; i < k; i++, x += s) {                                              \
                const A m = (A)MAP(*(const E *)x);                                                 \
                acc = (A)JOIN(acc, m);                                                             \
            }                                                                                      \
            w->field = JOIN(w->field, acc);                                                        \
            n -= k;                                                                                \
        }                                                                                          \
    }

#define COLUMNS(name, E, A, field, MAP, JOIN)                                                      \
    static void name##_columns(const eg__tile *t, eg__word *w)                                     \
    {                                                                                              \
        _Alignas(64) A acc[COLS];                                                                  \
        const double p = t->p;                                                                     \
        const int64_t cols = t->cols, step = t->step, across = t->across;                          \
        (void)p;                                                                                   \
        for (int64_t r = 0; r < t->n; r += 128) {                                                  \
            const char *x = t->x + r * step;                                                       \
            int64_t k = eg__min(t->n - r, 128), j = 1;                                             \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                acc[c] = (A)MAP(*(const E *)(x + c * across));                                     \
            }                                                                                      \
            for (; across == sizeof(E) && j + 4 <= k; j += 4) {                                    \
                const E *e0 = (const E *)(x + j * step), *e1 = (const E *)(x + (j + 1) * step),    \
                        *e2 = (const E *)(x + (j + 2) * step),                                     \
                        *e3 = (const E *)(x + (j + 3) * step);                                     \
                for (int64_t c = 0; c < cols; c++) {                                               \
                    A m = (A)MAP(e0[c]);                                                           \
                    const A so_far = acc[c];                                                       \
                    m = (A)JOIN(m, (A)MAP(e1[c]));                                                 \
                    m = (A)JOIN(m, (A)MAP(e2[c]));                                                 \
                    m = (A)JOIN(m, (A)MAP(e3[c]));                                                 \
                    acc[c] = (A)JOIN(m, so_far);                                                   \
                }                                                                                  \
            }                                                                                      \
            for (; j < k; j++) {                                                                   \
                for (int64_t c = 0; c < cols; c++) {                                               \
                    const A m = (A)MAP(*(const E *)(x + j * step + c * across)), so_far = acc[c];  \
                    acc[c] = (A)JOIN(so_far, m);                                                   \
                }                                                                                  \
            }                                                                                      \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                w[c].field = JOIN(w[c].field, acc[c]);                                             \
            }                                                                                      \
        }                                                                                          \
    }

#define JOINER(name, field, JOIN)                                                                  \
    static void name(int64_t cols, eg__word *w, const eg__word *later)                             \
    {                                                                                              \
        for (int64_t c = 0; c < cols; c++) {                                                       \
            w[c].field = JOIN(w[c].field, later[c].field);                                         \
        }                                                                                          \
    }

#define SIMPLE(name, E, A, field, START, MAP, JOIN)                                                \
    ROW(name, E, A, field, START, MAP, JOIN)                                                       \
    COLUMNS(name, E, A, field, MAP, JOIN)

/* ---- joining and mapping ---------------------------------------------------------------------- */

#define PLUS(a, b)    ((a) + (b))
#define TIMES(a, b)   ((a) * (b))
#define HIGHER(a, b)  ((b) > (a) ? (b) : (a))
#define LOWER(a, b)   ((b) < (a) ? (b) : (a))

#define SAME(v)       (v)
#define TRUTH(v)      ((v) != 0)
#define MAGNITUDE(v)  ((v) < 0 ? -(v) : (v))
#define WIDE(v)       ((double)(v))
#define SQUARE(v)     ((double)(v) * (double)(v))
#define POWER(v)      pow(fabs((double)(v)), p)

JOINER(plus_d, d, PLUS)
JOINER(plus_i, i, PLUS)
JOINER(times_d, d, TIMES)
JOINER(times_i, i, TIMES)
JOINER(higher_d, d, eg__f64_higher)
JOINER(higher_i, i, HIGHER)
JOINER(lower_d, d, eg__f64_lower)
JOINER(lower_i, i, LOWER)

/* ---- sums -------------------------------------------------------------------------------------- */

/* Of small integers 64 rows or 8192 elements fit 32 bits. */
SIMPLE(sum_f32, float, float, d, 0, SAME, PLUS)
SIMPLE(sum_f64, double, double, d, 0, SAME, PLUS)
SIMPLE(sum_f16, uint16_t, float, d, 0, eg__f16_to_f32, PLUS)
SIMPLE(sum_bf16, uint16_t, float, d, 0, eg__bf16_to_f32, PLUS)
SIMPLE(sum_i64, int64_t, int64_t, i, 0, SAME, PLUS)
SIMPLE(sum_i32, int32_t, int64_t, i, 0, SAME, PLUS)
SIMPLE(sum_u8, uint8_t, int32_t, i, 0, SAME, PLUS)
SIMPLE(count_f32, float, int32_t, i, 0, TRUTH, PLUS)
SIMPLE(count_f64, double, int32_t, i, 0, TRUTH, PLUS)
SIMPLE(count_i64, int64_t, int32_t, i, 0, TRUTH, PLUS)
SIMPLE(count_i32, int32_t, int32_t, i, 0, TRUTH, PLUS)
SIMPLE(count_u8, uint8_t, int32_t, i, 0, TRUTH, PLUS)
SIMPLE(abs_f32, float, float, d, 0, MAGNITUDE, PLUS)
SIMPLE(abs_f64, double, double, d, 0, MAGNITUDE, PLUS)
SIMPLE(square_f32, float, double, d, 0, SQUARE, PLUS)
SIMPLE(square_f64, double, double, d, 0, SQUARE, PLUS)
SIMPLE(power_f32, float, double, d, 0, POWER, PLUS)
SIMPLE(power_f64, double, double, d, 0, POWER, PLUS)

#define SUM_D(name, c) {1, c, false, {{.d = 0}}, name##_row, name##_columns, plus_d}
#define SUM_I(name)    {1, 1, false, {{.i = 0}}, name##_row, name##_columns, plus_i}
const eg__fold ISA(eg__fold_sum)[EG_DTYPE_COUNT] = {
    [EG_F32] = SUM_D(sum_f32, 1), [EG_F64] = SUM_D(sum_f64, 1),   [EG_F16] = SUM_D(sum_f16, 1),
    [EG_I64] = SUM_I(sum_i64),    [EG_BF16] = SUM_D(sum_bf16, 1), [EG_I32] = SUM_I(sum_i32),
    [EG_U8] = SUM_I(sum_u8),      [EG_BOOL] = SUM_I(count_u8),
};
const eg__fold ISA(eg__fold_count)[EG_DTYPE_COUNT] = {
    [EG_F32] = SUM_I(count_f32), [EG_F64] = SUM_I(count_f64), [EG_I64] = SUM_I(count_i64),
    [EG_I32] = SUM_I(count_i32), [EG_U8] = SUM_I(count_u8),   [EG_BOOL] = SUM_I(count_u8),
};
const eg__fold ISA(eg__fold_abs)[EG_DTYPE_COUNT] = {
    [EG_F32] = SUM_D(abs_f32, 1), [EG_F64] = SUM_D(abs_f64, 1)};
const eg__fold ISA(eg__fold_square)[EG_DTYPE_COUNT] = {
    [EG_F32] = SUM_D(square_f32, 1), [EG_F64] = SUM_D(square_f64, 1)};
const eg__fold ISA(eg__fold_power)[EG_DTYPE_COUNT] = {
    [EG_F32] = SUM_D(power_f32, 32), [EG_F64] = SUM_D(power_f64, 32)};

/* ---- products ---------------------------------------------------------------------------------- */

SIMPLE(prod_f32, float, double, d, 1, WIDE, TIMES)
SIMPLE(prod_f64, double, double, d, 1, SAME, TIMES)
SIMPLE(prod_i64, int64_t, int64_t, i, 1, SAME, TIMES)
SIMPLE(prod_i32, int32_t, int64_t, i, 1, SAME, TIMES)
SIMPLE(prod_u8, uint8_t, int64_t, i, 1, SAME, TIMES)
SIMPLE(prod_b8, uint8_t, int64_t, i, 1, TRUTH, TIMES)

#define PROD_D(name) {1, 1, false, {{.d = 1}}, name##_row, name##_columns, times_d}
#define PROD_I(name) {1, 1, false, {{.i = 1}}, name##_row, name##_columns, times_i}
const eg__fold ISA(eg__fold_prod)[EG_DTYPE_COUNT] = {
    [EG_F32] = PROD_D(prod_f32), [EG_F64] = PROD_D(prod_f64), [EG_I64] = PROD_I(prod_i64),
    [EG_I32] = PROD_I(prod_i32), [EG_U8] = PROD_I(prod_u8),   [EG_BOOL] = PROD_I(prod_b8),
};

/* ---- extremes ---------------------------------------------------------------------------------- */

#define TOP ((float)INFINITY)
SIMPLE(max_f32, float, float, d, -TOP, SAME, eg__f32_higher)
SIMPLE(max_f64, double, double, d, -TOP, SAME, eg__f64_higher)
SIMPLE(max_i64, int64_t, int64_t, i, INT64_MIN, SAME, HIGHER)
SIMPLE(max_i32, int32_t, int32_t, i, INT32_MIN, SAME, HIGHER)
SIMPLE(max_u8, uint8_t, uint8_t, i, 0, SAME, HIGHER)
SIMPLE(max_b8, uint8_t, uint8_t, i, 0, TRUTH, HIGHER)
SIMPLE(min_f32, float, float, d, TOP, SAME, eg__f32_lower)
SIMPLE(min_f64, double, double, d, TOP, SAME, eg__f64_lower)
SIMPLE(min_i64, int64_t, int64_t, i, INT64_MAX, SAME, LOWER)
SIMPLE(min_i32, int32_t, int32_t, i, INT32_MAX, SAME, LOWER)
SIMPLE(min_u8, uint8_t, uint8_t, i, 255, SAME, LOWER)
SIMPLE(min_b8, uint8_t, uint8_t, i, 1, TRUTH, LOWER)
SIMPLE(abs_max_f32, float, float, d, 0, MAGNITUDE, eg__f32_higher)
SIMPLE(abs_max_f64, double, double, d, 0, MAGNITUDE, eg__f64_higher)
SIMPLE(abs_min_f32, float, float, d, TOP, MAGNITUDE, eg__f32_lower)
SIMPLE(abs_min_f64, double, double, d, TOP, MAGNITUDE, eg__f64_lower)

#define MAX_D(name, start) {1, 1, false, {{.d = start}}, name##_row, name##_columns, higher_d}
#define MAX_I(name)        {1, 1, false, {{.i = INT64_MIN}}, name##_row, name##_columns, higher_i}
#define MIN_D(name)        {1, 1, false, {{.d = TOP}}, name##_row, name##_columns, lower_d}
#define MIN_I(name)        {1, 1, false, {{.i = INT64_MAX}}, name##_row, name##_columns, lower_i}
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
const eg__fold ISA(eg__fold_abs_min)[EG_DTYPE_COUNT] = {
    [EG_F32] = MIN_D(abs_min_f32), [EG_F64] = MIN_D(abs_min_f64)};
