/* fold_arg.c - the folds that find a place: of the largest or smallest element, the first of equals; the
 * first NaN before all. Words: the value; how many elements come before it. */
#include <math.h>

#include "lib/cpu/common/lanes.h"
#include "lib/cpu/reduce/fold.h"

enum { COLS = EG__FOLD_COLS, STRETCH = 1024, GROUP = 64 };

#define NAN_IN(v) ((v) != (v))
/* Whether a later b takes the place of a. */
#define BEATEN(a, b, lowest) (((lowest) ? (b) < (a) : (b) > (a)) | (NAN_IN(b) & ((a) == (a))))

/* ---- joining --------------------------------------------------------------------------------- */

/* real: the values are doubles. */
static EG__INLINE void join(int64_t cols, bool real, bool lowest, eg__word *w, const eg__word *later)
{
    for (int64_t c = 0; c < cols; c++) {
        if (real ? BEATEN(w[c].d, later[c].d, lowest) : BEATEN(w[c].i, later[c].i, lowest)) {
            w[c] = later[c];
            w[cols + c] = later[cols + c];
        }
    }
}

static void join_more_d(int64_t cols, eg__word *w, const eg__word *later)
{
    join(cols, true, false, w, later);
}

static void join_more_i(int64_t cols, eg__word *w, const eg__word *later)
{
    join(cols, false, false, w, later);
}

static void join_less_d(int64_t cols, eg__word *w, const eg__word *later)
{
    join(cols, true, true, w, later);
}

static void join_less_i(int64_t cols, eg__word *w, const eg__word *later)
{
    join(cols, false, true, w, later);
}

/* ---- the loops ------------------------------------------------------------------------------- */

#define LOAD(v)  (v)
#define WORD     d
#define T        float
#define PLACE    int32_t
#define FN(name) name##_f32
#define type_f32 EG_F32
#include "lib/cpu/reduce/fold_arg_loops.h"
#undef T
#undef PLACE
#undef FN
#define T        double
#define PLACE    int64_t
#define FN(name) name##_f64
#define type_f64 EG_F64
#include "lib/cpu/reduce/fold_arg_loops.h"
#undef T
#undef PLACE
#undef FN
#undef WORD
#define WORD     i
#define T        int64_t
#define PLACE    int64_t
#define FN(name) name##_i64
#define type_i64 EG_I64
#include "lib/cpu/reduce/fold_arg_loops.h"
#undef T
#undef PLACE
#undef FN
#define T        int32_t
#define PLACE    int32_t
#define FN(name) name##_i32
#define type_i32 EG_I32
#include "lib/cpu/reduce/fold_arg_loops.h"
#undef T
#undef PLACE
#undef FN
#define T        uint8_t
#define PLACE    int16_t
#define FN(name) name##_u8
#define type_u8  EG_U8
#include "lib/cpu/reduce/fold_arg_loops.h"
#undef T
#undef PLACE
#undef FN
#undef LOAD
#define LOAD(v)  ((v) != 0)
#define T        uint8_t
#define PLACE    int16_t
#define FN(name) name##_b8
#define type_b8  EG_BOOL
#include "lib/cpu/reduce/fold_arg_loops.h"
#undef T
#undef PLACE
#undef FN

/* ---- the folds ------------------------------------------------------------------------------- */

/* The start's place holds when no element beats its value. */
#define MAX_D(name)                                                                                             \
    {                                                                                                           \
        2, 2, true, {{.d = -(double)INFINITY}, {.i = 0}}, max_row_##name, max_columns_##name, join_more_d, NULL \
    }
#define MIN_D(name)                                                                                            \
    {                                                                                                          \
        2, 2, true, {{.d = (double)INFINITY}, {.i = 0}}, min_row_##name, min_columns_##name, join_less_d, NULL \
    }
#define MAX_I(name)                                                                                     \
    {                                                                                                   \
        2, 2, true, {{.i = INT64_MIN}, {.i = 0}}, max_row_##name, max_columns_##name, join_more_i, NULL \
    }
#define MIN_I(name)                                                                                     \
    {                                                                                                   \
        2, 2, true, {{.i = INT64_MAX}, {.i = 0}}, min_row_##name, min_columns_##name, join_less_i, NULL \
    }
const eg__fold ISA(eg__fold_argmax)[EG_DTYPE_COUNT] = {
    [EG_F32] = MAX_D(f32), [EG_F64] = MAX_D(f64), [EG_I64] = MAX_I(i64),
    [EG_I32] = MAX_I(i32), [EG_U8] = MAX_I(u8),   [EG_BOOL] = MAX_I(b8),
};
const eg__fold ISA(eg__fold_argmin)[EG_DTYPE_COUNT] = {
    [EG_F32] = MIN_D(f32), [EG_F64] = MIN_D(f64), [EG_I64] = MIN_I(i64),
    [EG_I32] = MIN_I(i32), [EG_U8] = MIN_I(u8),   [EG_BOOL] = MIN_I(b8),
};
