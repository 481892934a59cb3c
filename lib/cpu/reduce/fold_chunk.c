/* fold_chunk.c - folds that pass twice over a chunk while it lies in the first cache: the variance, each
 * chunk about its own mean, and the sum of exponentials, each chunk about its own largest. */
#include <math.h>

#include "lib/cpu/common/lanes.h"
#include "lib/cpu/pointwise/vmath.h"
#include "lib/cpu/reduce/extremes.h"
#include "lib/cpu/reduce/fold.h"

enum { COLS = EG__FOLD_COLS, CHUNK = 1024, ROWS = 32, LANES = 16 };

/* ---- joining --------------------------------------------------------------------------------- */

/* The sum of LANES lanes, in the first. */
static EG__INLINE void join_doubles(double *acc)
{
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; l++) {
            acc[l] = acc[l] + acc[l + half];
        }
    }
}

/* Of the variance, words mean, sum of squared differences, count. */
static void join_spread(int64_t cols, eg__word *w, const eg__word *later)
{
    for (int64_t c = 0; c < cols; c++) {
        double na = w[2 * cols + c].d, nb = later[2 * cols + c].d, n = na + nb;
        double apart = later[c].d - w[c].d, share = n > 0 ? nb / n : 0;
        w[c].d += apart * share;
        w[cols + c].d += later[cols + c].d + apart * apart * (na * share);
        w[2 * cols + c].d = n;
    }
}

/* What is taken off the exponents: nothing where the largest is infinite. */
static inline double base_of(double top)
{
    return isinf(top) ? 0 : top;
}

/* Of logsumexp, words largest, sum of e^(x - largest). */
static void join_exponentials(int64_t cols, eg__word *w, const eg__word *later)
{
    for (int64_t c = 0; c < cols; c++) {
        double a = w[c].d, b = later[c].d, top = eg__f64_higher(a, b), base = base_of(top);
        double sa = w[cols + c].d, sb = later[cols + c].d;
        /* A sum of 0 stays 0 whatever its base. */
        sa *= sa == 0 || base_of(a) == base ? 1 : exp(base_of(a) - base);
        sb *= sb == 0 || base_of(b) == base ? 1 : exp(base_of(b) - base);
        w[c].d = top;
        w[cols + c].d = sa + sb;
    }
}

#define T          float
#define FN(name)   name##_f32
#define type_f32   EG_F32
#define e_to_f32   eg__f32_exp
#define higher_f32 eg__f32_higher
#include "lib/cpu/reduce/fold_chunk_loops.h"
#undef T
#undef FN
#define T          double
#define FN(name)   name##_f64
#define type_f64   EG_F64
#define e_to_f64   exp
#define higher_f64 eg__f64_higher
#include "lib/cpu/reduce/fold_chunk_loops.h"
#undef T
#undef FN

/* ---- the folds ------------------------------------------------------------------------------- */

#define SPREAD_OF(name)                                                                                          \
    {                                                                                                            \
        3, 4, false, {{.d = 0}, {.d = 0}, {.d = 0}}, spread_row_##name, spread_columns_##name, join_spread, NULL \
    }
const eg__fold ISA(eg__fold_spread)[EG_DTYPE_COUNT] = {[EG_F32] = SPREAD_OF(f32), [EG_F64] = SPREAD_OF(f64)};

#define EXPONENTIALS_OF(name)                                                                                          \
    {                                                                                                                  \
        2, 8, false, {{.d = -(double)INFINITY}, {.d = 0}}, lse_row_##name, lse_columns_##name, join_exponentials, NULL \
    }
const eg__fold ISA(eg__fold_logsumexp)[EG_DTYPE_COUNT] = {
    [EG_F32] = EXPONENTIALS_OF(f32), [EG_F64] = EXPONENTIALS_OF(f64)};
