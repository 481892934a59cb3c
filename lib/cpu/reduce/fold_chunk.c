/* fold_chunk.c - folds that pass twice over a chunk while it lies in the first cache: the variance, each
 * chunk about its own mean, and the sum of exponentials, each chunk about its own largest. */
#include <math.h>

#include "lib/cpu/reduce/extremes.h"
#include "lib/cpu/reduce/fold.h"
#include "lib/cpu/pointwise/vmath.h"

enum { COLS = EG__FOLD_COLS, CHUNK = 1024, ROWS = 32, LANES = 16 };

/* Joins the lanes of an array. */
#define TREE(acc, JOIN)                                                                            \
    for (int h = LANES / 2; h > 0; h /= 2) {                                                       \
        for (int l = 0; l < h; l++) {                                                              \
            acc[l] = JOIN(acc[l], acc[l + h]);                                                     \
        }                                                                                          \
    }
#define PLUS(a, b)   ((a) + (b))

/* n elements s bytes apart as a contiguous array of T, filled up with `rest` to whole lanes. */
#define GATHER(name, E, T)                                                                         \
    static int64_t gather_##name(const char *x, int64_t s, int64_t n, T rest, T *buf)              \
    {                                                                                              \
        int64_t whole = (n + LANES - 1) / LANES * LANES;                                           \
        if (s == sizeof(E)) {                                                                      \
            for (int64_t i = 0; i < n; i++) {                                                      \
                buf[i] = ((const E *)x)[i];                                                        \
            }                                                                                      \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++) {                                                      \
                buf[i] = *(const E *)(x + i * s);                                                  \
            }                                                                                      \
        }                                                                                          \
        for (int64_t i = n; i < whole; i++) {                                                      \
            buf[i] = rest;                                                                         \
        }                                                                                          \
        return whole;                                                                              \
    }

/* ---- variance: words mean, sum of squared differences, count ------------------------------------ */

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

#define SPREAD(name, E)                                                                            \
    GATHER(spread_##name, E, double)                                                               \
    static void spread_##name##_row(const eg__tile *t, eg__word *w)                                \
    {                                                                                              \
        _Alignas(64) double buf[CHUNK + LANES];                                                    \
        for (int64_t at = 0; at < t->n; at += CHUNK) {                                             \
            int64_t n = eg__min(CHUNK, t->n - at);                                                 \
            int64_t whole = gather_spread_##name(t->x + at * t->step, t->step, n, 0, buf);         \
            double sum[LANES] = {0}, squares[LANES] = {0};                                         \
            for (int64_t i = 0; i < whole; i += LANES) {                                           \
                for (int l = 0; l < LANES; l++) {                                                  \
                    sum[l] += buf[i + l];                                                          \
                }                                                                                  \
            }                                                                                      \
            TREE(sum, PLUS)                                                                        \
            const double mean = sum[0] / (double)n;                                                \
            for (int64_t i = n; i < whole; i++) {                                                  \
                buf[i] = mean;                                                                     \
            }                                                                                      \
            for (int64_t i = 0; i < whole; i += LANES) {                                           \
                for (int l = 0; l < LANES; l++) {                                                  \
                    const double v = buf[i + l] - mean;                                            \
                    squares[l] += v * v;                                                           \
                }                                                                                  \
            }                                                                                      \
            TREE(squares, PLUS)                                                                    \
            join_spread(1, w, (eg__word[]){{.d = mean}, {.d = squares[0]}, {.d = (double)n}});     \
        }                                                                                          \
    }                                                                                              \
    static void spread_##name##_columns(const eg__tile *t, eg__word *w)                            \
    {                                                                                              \
        eg__word chunk[3 * COLS];                                                                  \
        _Alignas(64) double mean[COLS], squares[COLS];                                             \
        const int64_t cols = t->cols, across = t->across;                                          \
        for (int64_t at = 0; at < t->n; at += ROWS) {                                              \
            const int64_t n = eg__min(ROWS, t->n - at);                                            \
            const char *x = t->x + at * t->step;                                                   \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                mean[c] = squares[c] = 0;                                                          \
            }                                                                                      \
            for (int64_t r = 0; r < n; r++) {                                                      \
                const char *e = x + r * t->step;                                                   \
                COLUMN_LOOP(E, mean[c] += (double)v)                                               \
            }                                                                                      \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                mean[c] /= (double)n;                                                              \
            }                                                                                      \
            for (int64_t r = 0; r < n; r++) {                                                      \
                const char *e = x + r * t->step;                                                   \
                COLUMN_LOOP(E, squares[c] += ((double)v - mean[c]) * ((double)v - mean[c]))        \
            }                                                                                      \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                chunk[c].d = mean[c];                                                              \
                chunk[cols + c].d = squares[c];                                                    \
                chunk[2 * cols + c].d = (double)n;                                                 \
            }                                                                                      \
            join_spread(cols, w, chunk);                                                           \
        }                                                                                          \
    }
#define COLUMN_LOOP(E, statement)                                                                  \
    if (across == sizeof(E)) {                                                                     \
        for (int64_t c = 0; c < cols; c++) {                                                       \
            const E v = ((const E *)e)[c];                                                         \
            statement;                                                                             \
        }                                                                                          \
    } else {                                                                                       \
        for (int64_t c = 0; c < cols; c++) {                                                       \
            const E v = *(const E *)(e + c * across);                                              \
            statement;                                                                             \
        }                                                                                          \
    }
SPREAD(f32, float)
SPREAD(f64, double)

#define SPREAD_OF(name)                                                                            \
    {3, 4, false, {{.d = 0}, {.d = 0}, {.d = 0}}, spread_##name##_row, spread_##name##_columns,    \
     join_spread}
const eg__fold ISA(eg__fold_spread)[EG_DTYPE_COUNT] = {[EG_F32] = SPREAD_OF(f32),
                                                       [EG_F64] = SPREAD_OF(f64)};

/* ---- logsumexp: words largest, sum of e^(x - largest) -------------------------------------------- */

/* What is taken off the exponents: nothing where the largest is infinite. */
static inline double base_of(double top)
{
    return isinf(top) ? 0 : top;
}

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

#define EXPONENTIALS(name, E, type, EXP, HIGHER)                                                   \
    GATHER(lse_##name, E, E)                                                                       \
    static void lse_##name##_row(const eg__tile *t, eg__word *w)                                   \
    {                                                                                              \
        const eg__fold *highest = &ISA(eg__fold_max)[type];                                        \
        _Alignas(64) E buf[CHUNK + LANES];                                                         \
        for (int64_t at = 0; at < t->n; at += CHUNK) {                                             \
            eg__tile part = *t;                                                                    \
            eg__word top = highest->start[0];                                                      \
            E sum[LANES] = {0};                                                                    \
            part.x = t->x + at * t->step;                                                          \
            part.n = eg__min(CHUNK, t->n - at);                                                    \
            highest->row(&part, &top);                                                             \
            const E base = (E)base_of(top.d);                                                      \
            const int64_t whole = gather_lse_##name(part.x, t->step, part.n, -(E)INFINITY, buf);   \
            for (int64_t i = 0; i < whole; i++) {                                                  \
                buf[i] = EXP(buf[i] - base);                                                       \
            }                                                                                      \
            for (int64_t i = 0; i < whole; i += LANES) {                                           \
                for (int l = 0; l < LANES; l++) {                                                  \
                    sum[l] += buf[i + l];                                                          \
                }                                                                                  \
            }                                                                                      \
            TREE(sum, PLUS)                                                                        \
            join_exponentials(1, w, (eg__word[]){top, {.d = sum[0]}});                             \
        }                                                                                          \
    }                                                                                              \
    static void lse_##name##_columns(const eg__tile *t, eg__word *w)                               \
    {                                                                                              \
        eg__word tile[2 * COLS];                                                                   \
        _Alignas(64) E top[COLS], base[COLS], part[COLS];                                          \
        _Alignas(64) double sum[COLS];                                                             \
        const int64_t cols = t->cols, across = t->across;                                          \
        for (int64_t c = 0; c < cols; c++) {                                                       \
            top[c] = -(E)INFINITY;                                                                 \
            base[c] = 0;                                                                           \
            sum[c] = 0;                                                                            \
        }                                                                                          \
        for (int64_t at = 0; at < t->n; at += ROWS) {                                              \
            const int64_t n = eg__min(ROWS, t->n - at);                                            \
            const char *x = t->x + at * t->step;                                                   \
            for (int64_t r = 0; r < n; r++) {                                                      \
                const char *e = x + r * t->step;                                                   \
                COLUMN_LOOP(E, top[c] = HIGHER(top[c], v))                                         \
            }                                                                                      \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                const E old = base[c], now = top[c];                                               \
                base[c] = now == (E)INFINITY || now == -(E)INFINITY ? 0 : now;                     \
                sum[c] = sum[c] == 0 ? 0 : sum[c] * EXP(old - base[c]);                            \
                part[c] = 0;                                                                       \
            }                                                                                      \
            for (int64_t r = 0; r < n; r++) {                                                      \
                const char *e = x + r * t->step;                                                   \
                COLUMN_LOOP(E, part[c] += EXP(v - base[c]))                                        \
            }                                                                                      \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                sum[c] += part[c];                                                                 \
            }                                                                                      \
        }                                                                                          \
        for (int64_t c = 0; c < cols; c++) {                                                       \
            tile[c].d = top[c];                                                                    \
            tile[cols + c].d = sum[c];                                                             \
        }                                                                                          \
        join_exponentials(cols, w, tile);                                                          \
    }
EXPONENTIALS(f32, float, EG_F32, eg__f32_exp, eg__f32_higher)
EXPONENTIALS(f64, double, EG_F64, exp, eg__f64_higher)

#define EXPONENTIALS_OF(name)                                                                      \
    {2, 8, false, {{.d = -(double)INFINITY}, {.d = 0}}, lse_##name##_row, lse_##name##_columns,    \
     join_exponentials}
const eg__fold ISA(eg__fold_logsumexp)[EG_DTYPE_COUNT] = {[EG_F32] = EXPONENTIALS_OF(f32),
                                                          [EG_F64] = EXPONENTIALS_OF(f64)};
