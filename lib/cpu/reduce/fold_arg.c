/* fold_arg.c - the folds that find a place: of the largest or smallest element, the first of equals; the
 * first NaN before all. Words: the value; how many elements come before it. */
#include <math.h>

#include "lib/cpu/reduce/fold.h"

enum { COLS = EG__FOLD_COLS, STRETCH = 1024, GROUP = 64 };

/* Whether a later b takes the place of a. */
#define MORE(a, b)  ((b) > (a))
#define LESS(a, b)  ((b) < (a))
#define MOREF(a, b) (((b) > (a)) | (((b) != (b)) & ((a) == (a))))
#define LESSF(a, b) (((b) < (a)) | (((b) != (b)) & ((a) == (a))))

/* Where in a row the first v is, or the first NaN; it is there. Whole groups are passed over without a
 * branch for each element. */
#define FIND(name, E, type)                                                                        \
    static int64_t name##_find(const eg__tile *t, const E best)                                    \
    {                                                                                              \
        const char *x = t->x;                                                                      \
        int64_t i = 0;                                                                             \
        for (; t->step == sizeof(E) && i + GROUP <= t->n; i += GROUP) {                            \
            int found = 0;                                                                         \
            for (int l = 0; l < GROUP; l++) {                                                      \
                const E v = LOAD_##type(((const E *)x)[i + l]);                                    \
                found |= (v == best) | (v != v);                                                   \
            }                                                                                      \
            if (found) {                                                                           \
                break;                                                                             \
            }                                                                                      \
        }                                                                                          \
        for (;; i++) {                                                                             \
            const E v = LOAD_##type(*(const E *)(x + i * t->step));                                \
            if ((v == best) | (v != v)) {                                                          \
                return i;                                                                          \
            }                                                                                      \
        }                                                                                          \
    }

/* The extreme of a stretch first, which is fast, then its place, only when it is a new one. */
#define ROW(name, E, field, extreme, type, BEATS)                                                  \
    FIND(name, E, type)                                                                            \
    static void name##_row(const eg__tile *t, eg__word *w)                                         \
    {                                                                                              \
        const eg__fold *f = &ISA(extreme)[type];                                                   \
        for (int64_t i = 0; i < t->n; i += STRETCH) {                                              \
            eg__tile part = *t;                                                                    \
            eg__word best = f->start[0];                                                           \
            part.x = t->x + i * t->step;                                                           \
            part.n = eg__min(STRETCH, t->n - i);                                                   \
            f->row(&part, &best);                                                                  \
            if (BEATS(w[0].field, best.field)) {                                                   \
                w[0] = best;                                                                       \
                w[1].i = t->first + i + name##_find(&part, (E)best.field);                         \
            }                                                                                      \
        }                                                                                          \
    }

/* I is as wide as E, so that both go through the same lanes. */
#define COLUMNS(name, E, I, field, type, BEATS)                                                    \
    static void name##_columns(const eg__tile *t, eg__word *w)                                     \
    {                                                                                              \
        _Alignas(64) E best[COLS];                                                                 \
        _Alignas(64) I place[COLS];                                                                \
        const int64_t cols = t->cols, step = t->step, across = t->across;                          \
        for (int64_t r = 0; r < t->n; r += STRETCH) {                                              \
            const char *x = t->x + r * step;                                                       \
            const int k = (int)eg__min(STRETCH, t->n - r);                                         \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                best[c] = LOAD_##type(*(const E *)(x + c * across));                               \
                place[c] = 0;                                                                      \
            }                                                                                      \
            for (int j = 1; j < k; j++) {                                                          \
                const char *e = x + j * step;                                                      \
                if (across == sizeof(E)) {                                                         \
                    for (int64_t c = 0; c < cols; c++) {                                           \
                        const E v = LOAD_##type(((const E *)e)[c]), b = best[c];                   \
                        best[c] = BEATS(b, v) ? v : b;                                             \
                        place[c] = BEATS(b, v) ? (I)j : place[c];                                  \
                    }                                                                              \
                } else {                                                                           \
                    for (int64_t c = 0; c < cols; c++) {                                           \
                        const E v = LOAD_##type(*(const E *)(e + c * across)), b = best[c];        \
                        best[c] = BEATS(b, v) ? v : b;                                             \
                        place[c] = BEATS(b, v) ? (I)j : place[c];                                  \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                if (BEATS(w[c].field, best[c])) {                                                  \
                    w[c].field = best[c];                                                          \
                    w[cols + c].i = t->first + r + (int64_t)place[c];                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

#define JOINER(name, field, BEATS)                                                                 \
    static void name(int64_t cols, eg__word *w, const eg__word *later)                             \
    {                                                                                              \
        for (int64_t c = 0; c < cols; c++) {                                                       \
            if (BEATS(w[c].field, later[c].field)) {                                               \
                w[c] = later[c];                                                                   \
                w[cols + c] = later[cols + c];                                                     \
            }                                                                                      \
        }                                                                                          \
    }
JOINER(join_more_d, d, MOREF)
JOINER(join_more_i, i, MORE)
JOINER(join_less_d, d, LESSF)
JOINER(join_less_i, i, LESS)

#define LOAD_EG_F32(v)  (v)
#define LOAD_EG_F64(v)  (v)
#define LOAD_EG_I64(v)  (v)
#define LOAD_EG_I32(v)  (v)
#define LOAD_EG_U8(v)   (v)
#define LOAD_EG_BOOL(v) ((v) != 0)

#define BOTH(name, E, I, field, type, more, less)                                                  \
    ROW(max_##name, E, field, eg__fold_max, type, more)                                            \
    COLUMNS(max_##name, E, I, field, type, more)                                                   \
    ROW(min_##name, E, field, eg__fold_min, type, less)                                            \
    COLUMNS(min_##name, E, I, field, type, less)
BOTH(f32, float, int32_t, d, EG_F32, MOREF, LESSF)
BOTH(f64, double, int64_t, d, EG_F64, MOREF, LESSF)
BOTH(i64, int64_t, int64_t, i, EG_I64, MORE, LESS)
BOTH(i32, int32_t, int32_t, i, EG_I32, MORE, LESS)
BOTH(u8, uint8_t, int16_t, i, EG_U8, MORE, LESS)
BOTH(b8, uint8_t, int16_t, i, EG_BOOL, MORE, LESS)

/* The start's place holds when no element beats its value. */
#define MAX_D(name)                                                                                \
    {2, 2, true, {{.d = -(double)INFINITY}, {.i = 0}}, max_##name##_row, max_##name##_columns,     \
     join_more_d}
#define MIN_D(name)                                                                                \
    {2, 2, true, {{.d = (double)INFINITY}, {.i = 0}}, min_##name##_row, min_##name##_columns,      \
     join_less_d}
#define MAX_I(name)                                                                                \
    {2, 2, true, {{.i = INT64_MIN}, {.i = 0}}, max_##name##_row, max_##name##_columns, join_more_i}
#define MIN_I(name)                                                                                \
    {2, 2, true, {{.i = INT64_MAX}, {.i = 0}}, min_##name##_row, min_##name##_columns, join_less_i}
const eg__fold ISA(eg__fold_argmax)[EG_DTYPE_COUNT] = {
    [EG_F32] = MAX_D(f32), [EG_F64] = MAX_D(f64), [EG_I64] = MAX_I(i64),
    [EG_I32] = MAX_I(i32), [EG_U8] = MAX_I(u8),   [EG_BOOL] = MAX_I(b8),
};
const eg__fold ISA(eg__fold_argmin)[EG_DTYPE_COUNT] = {
    [EG_F32] = MIN_D(f32), [EG_F64] = MIN_D(f64), [EG_I64] = MIN_I(i64),
    [EG_I32] = MIN_I(i32), [EG_U8] = MIN_I(u8),   [EG_BOOL] = MIN_I(b8),
};
