/* softmax.c - softmax, its logarithm and their gradients. A line that is contiguous runs by itself, its
 * three passes in cache; lines that are contiguous across run side by side; short and gapped lines are
 * packed so that they lie side by side. */
#include <math.h>

#include "lib/cpu/pointwise/convert.h"
#include "lib/cpu/reduce/extremes.h"
#include "lib/cpu/reduce/lines.h"
#include "lib/cpu/common/stream.h"
#include "lib/cpu/pointwise/vmath.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_softmax), ISA(eg__cpu_log_softmax), ISA(eg__cpu_softmax_grad),
    ISA(eg__cpu_log_softmax_grad);

enum {
    LANES = 16,
    SHORT = 32,       /* lines shorter than this do not run by themselves */
    STRETCH = 2048,   /* elements added in their own type before they go to a double */
    COLS = 256,       /* lines side by side */
    PACKED = 4096,    /* elements packed at a time */
};

#define PLUS(a, b)   ((a) + (b))
#define TREE(acc, JOIN)                                                                            \
    for (int h = LANES / 2; h > 0; h /= 2) {                                                       \
        for (int l = 0; l < h; l++) {                                                              \
            acc[l] = JOIN(acc[l], acc[l + h]);                                                     \
        }                                                                                          \
    }

/* total = the sum over a line of `value`, a formula of i, in lanes; `prepare` may fill a stretch first. */
#define SUM_LINE(E, total, prepare, value)                                                         \
    for (int64_t at = 0; at < n; at += STRETCH) {                                                  \
        const int64_t end = eg__min(at + STRETCH, n);                                              \
        int64_t i = at;                                                                            \
        _Alignas(64) E acc[2 * LANES] = {0};                                                       \
        prepare;                                                                                   \
        for (; i + 2 * LANES <= end; i += 2 * LANES) {                                             \
            for (int l = 0; l < 2 * LANES; l++) {                                                  \
                acc[l] += value(i + l);                                                            \
            }                                                                                      \
        }                                                                                          \
        for (int l = 0; l < LANES; l++) {                                                          \
            acc[l] += acc[l + LANES];                                                              \
        }                                                                                          \
        TREE(acc, PLUS)                                                                            \
        for (; i < end; i++) {                                                                     \
            acc[0] += value(i);                                                                    \
        }                                                                                          \
        total += acc[0];                                                                           \
    }
/* Into y even where y is not wanted: fetching it hides behind the arithmetic. */
#define EXP_LINE(EXP)                                                                              \
    for (int64_t k = at; k < end; k++) {                                                           \
        y[k] = EXP(x[k] - top);                                                                    \
    }

/* ---- contiguous lines ----------------------------------------------------------------------------- */

#define LINES(name, E, EXP, HIGHER)                                                                \
    static E top_##name(int64_t n, const E *restrict x)                                            \
    {                                                                                              \
        _Alignas(64) E acc[4 * LANES], top = -(E)INFINITY;                                         \
        int64_t i = 0;                                                                             \
        if (n >= 4 * LANES) {                                                                      \
            for (int l = 0; l < 4 * LANES; l++) {                                                  \
                acc[l] = x[l];                                                                     \
            }                                                                                      \
            for (i = 4 * LANES; i + 4 * LANES <= n; i += 4 * LANES) {                              \
                for (int l = 0; l < 4 * LANES; l++) {                                              \
                    acc[l] = HIGHER(acc[l], x[i + l]);                                             \
                }                                                                                  \
            }                                                                                      \
            for (int l = 0; l < LANES; l++) {                                                      \
                const E a = HIGHER(acc[l], acc[l + LANES]);                                        \
                const E b = HIGHER(acc[l + 2 * LANES], acc[l + 3 * LANES]);                        \
                acc[l] = HIGHER(a, b);                                                             \
            }                                                                                      \
            TREE(acc, HIGHER)                                                                      \
            top = acc[0];                                                                          \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            top = HIGHER(top, x[i]);                                                               \
        }                                                                                          \
        return top;                                                                                \
    }                                                                                              \
    static void softmax_line_##name(int64_t n, const E *restrict x, const E *restrict unused,      \
                                    E *restrict y)                                                 \
    {                                                                                              \
        const E top = top_##name(n, x);                                                            \
        double sum = 0;                                                                            \
        (void)unused;                                                                              \
        SUM_LINE(E, sum, EXP_LINE(EXP), RESULT)                                                    \
        const E scale = (E)(1 / sum);                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            y[i] *= scale;                                                                         \
        }                                                                                          \
    }                                                                                              \
    static void log_softmax_line_##name(int64_t n, const E *restrict x, const E *restrict unused,  \
                                        E *restrict y)                                             \
    {                                                                                              \
        const E top = top_##name(n, x);                                                            \
        double sum = 0;                                                                            \
        (void)unused;                                                                              \
        SUM_LINE(E, sum, EXP_LINE(EXP), RESULT)                                                    \
        const E off = (E)log(sum);                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                          \
            y[i] = x[i] - top - off;                                                               \
        }                                                                                          \
    }                                                                                              \
    static void softmax_grad_line_##name(int64_t n, const E *restrict y, const E *restrict dy,     \
                                         E *restrict dx)                                           \
    {                                                                                              \
        double sum = 0;                                                                            \
        SUM_LINE(E, sum, , PRODUCT)                                                                \
        const E off = (E)sum;                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                          \
            dx[i] = y[i] * (dy[i] - off);                                                          \
        }                                                                                          \
    }                                                                                              \
    static void log_softmax_grad_line_##name(int64_t n, const E *restrict y, const E *restrict dy, \
                                             E *restrict dx)                                       \
    {                                                                                              \
        double sum = 0;                                                                            \
        SUM_LINE(E, sum, , SLOPE)                                                                  \
        const E scale = (E)sum;                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                          \
            dx[i] = dy[i] - EXP(y[i]) * scale;                                                     \
        }                                                                                          \
    }
#define RESULT(i)    (y[i])
#define PRODUCT(i)   (y[i] * dy[i])
#define SLOPE(i)     (dy[i])
LINES(f32, float, eg__f32_exp, eg__f32_higher)
LINES(f64, double, exp, eg__f64_higher)

/* ---- lines side by side ---------------------------------------------------------------------------- */

/* The operands of a block of columns: element i of line c of operand k is at p[k] + i * step[k] + c. */
#define COLUMNS(name, E, EXP, HIGHER)                                                              \
    typedef struct columns_##name {                                                                \
        int64_t n, cols, step[3];                                                                  \
        E *p[3];                                                                                   \
    } columns_##name;                                                                              \
    static void tops_##name(const columns_##name *b, E *top)                                       \
    {                                                                                              \
        for (int64_t c = 0; c < b->cols; c++) {                                                    \
            top[c] = b->p[1][c];                                                                   \
        }                                                                                          \
        for (int64_t i = 1; i < b->n; i++) {                                                       \
            const E *restrict x = b->p[1] + i * b->step[1];                                        \
            for (int64_t c = 0; c < b->cols; c++) {                                                \
                top[c] = HIGHER(top[c], x[c]);                                                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void softmax_columns_##name(const columns_##name *b)                                    \
    {                                                                                              \
        _Alignas(64) E top[COLS];                                                                  \
        _Alignas(64) double sum[COLS] = {0};                                                       \
        const int64_t cols = b->cols;                                                              \
        tops_##name(b, top);                                                                       \
        for (int64_t i = 0; i < b->n; i++) {                                                       \
            const E *x = b->p[1] + i * b->step[1];                                                 \
            E *y = b->p[0] + i * b->step[0];                                                       \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                const E v = EXP(x[c] - top[c]);                                                    \
                y[c] = v;                                                                          \
                sum[c] += v;                                                                       \
            }                                                                                      \
        }                                                                                          \
        for (int64_t c = 0; c < cols; c++) {                                                       \
            top[c] = (E)(1 / sum[c]);                                                              \
        }                                                                                          \
        for (int64_t i = 0; i < b->n; i++) {                                                       \
            E *y = b->p[0] + i * b->step[0];                                                       \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                y[c] *= top[c];                                                                    \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void log_softmax_columns_##name(const columns_##name *b)                                \
    {                                                                                              \
        _Alignas(64) E top[COLS], off[COLS];                                                       \
        _Alignas(64) double sum[COLS] = {0};                                                       \
        const int64_t cols = b->cols;                                                              \
        tops_##name(b, top);                                                                       \
        for (int64_t i = 0; i < b->n; i++) {                                                       \
            const E *x = b->p[1] + i * b->step[1];                                                 \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                sum[c] += EXP(x[c] - top[c]);                                                      \
            }                                                                                      \
        }                                                                                          \
        for (int64_t c = 0; c < cols; c++) {                                                       \
            off[c] = (E)log(sum[c]);                                                               \
        }                                                                                          \
        for (int64_t i = 0; i < b->n; i++) {                                                       \
            const E *x = b->p[1] + i * b->step[1];                                                 \
            E *y = b->p[0] + i * b->step[0];                                                       \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                y[c] = x[c] - top[c] - off[c];                                                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void softmax_grad_columns_##name(const columns_##name *b)                               \
    {                                                                                              \
        _Alignas(64) double sum[COLS] = {0};                                                       \
        for (int64_t i = 0; i < b->n; i++) {                                                       \
            const E *y = b->p[1] + i * b->step[1], *dy = b->p[2] + i * b->step[2];                 \
            for (int64_t c = 0; c < b->cols; c++) {                                                \
                sum[c] += y[c] * dy[c];                                                            \
            }                                                                                      \
        }                                                                                          \
        for (int64_t i = 0; i < b->n; i++) {                                                       \
            const E *y = b->p[1] + i * b->step[1], *dy = b->p[2] + i * b->step[2];                 \
            E *dx = b->p[0] + i * b->step[0];                                                      \
            for (int64_t c = 0; c < b->cols; c++) {                                                \
                dx[c] = y[c] * (dy[c] - (E)sum[c]);                                                \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void log_softmax_grad_columns_##name(const columns_##name *b)                           \
    {                                                                                              \
        _Alignas(64) double sum[COLS] = {0};                                                       \
        for (int64_t i = 0; i < b->n; i++) {                                                       \
            const E *dy = b->p[2] + i * b->step[2];                                                \
            for (int64_t c = 0; c < b->cols; c++) {                                                \
                sum[c] += dy[c];                                                                   \
            }                                                                                      \
        }                                                                                          \
        for (int64_t i = 0; i < b->n; i++) {                                                       \
            const E *y = b->p[1] + i * b->step[1], *dy = b->p[2] + i * b->step[2];                 \
            E *dx = b->p[0] + i * b->step[0];                                                      \
            for (int64_t c = 0; c < b->cols; c++) {                                                \
                dx[c] = dy[c] - EXP(y[c]) * (E)sum[c];                                             \
            }                                                                                      \
        }                                                                                          \
    }
COLUMNS(f32, float, eg__f32_exp, eg__f32_higher)
COLUMNS(f64, double, exp, eg__f64_higher)

/* ---- a block of lines, however it lies -------------------------------------------------------------- */

#define DRIVE(name, E)                                                                             \
    typedef void line_##name(int64_t n, const E *restrict a, const E *restrict b, E *restrict y);  \
    typedef void side_##name(const columns_##name *b);                                             \
    /* Lines that do not lie side by side, as many as fit, copied so that they do. */              \
    static void packed_##name(const eg__lines *l, int64_t cols, char *const *ptr,                  \
                              const int64_t *across, int nops, side_##name *side)                  \
    {                                                                                              \
        _Alignas(64) E buf[3][PACKED];                                                             \
        columns_##name b = {l->n, 0, {0}, {buf[0], buf[1], buf[2]}};                               \
        const int64_t width = eg__min(COLS, PACKED / l->n);                                        \
        for (int64_t c = 0; c < cols; c += b.cols) {                                               \
            b.cols = eg__min(width, cols - c);                                                     \
            b.step[0] = b.step[1] = b.step[2] = b.cols;                                            \
            for (int k = 1; k < nops; k++) {                                                       \
                const char *x = ptr[k] + c * across[k];                                            \
                for (int64_t i = 0; i < l->n; i++, x += l->step[k]) {                              \
                    for (int64_t j = 0; j < b.cols; j++) {                                         \
                        buf[k][i * b.cols + j] = *(const E *)(x + j * across[k]);                  \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
            side(&b);                                                                              \
            char *y = ptr[0] + c * across[0];                                                      \
            for (int64_t i = 0; i < l->n; i++, y += l->step[0]) {                                  \
                for (int64_t j = 0; j < b.cols; j++) {                                             \
                    *(E *)(y + j * across[0]) = buf[0][i * b.cols + j];                            \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static inline void drive_##name(const eg__lines *l, int64_t cols, char *const *ptr,            \
                                    const int64_t *across, int nops, line_##name *line,            \
                                    side_##name *side)                                             \
    {                                                                                              \
        bool along = l->n >= SHORT || cols < 4, beside = true;                                     \
        for (int k = 0; k < nops; k++) {                                                           \
            along = along && l->step[k] == sizeof(E);                                              \
            beside = beside && across[k] == sizeof(E);                                             \
        }                                                                                          \
        if (along) {                                                                               \
            _Alignas(64) E buf[PACKED];                                                            \
            const bool stream = l->stream && l->n <= PACKED;                                       \
            for (int64_t c = 0; c < cols; c++) {                                                   \
                E *y = (E *)(ptr[0] + c * across[0]);                                              \
                line(l->n, (const E *)(ptr[1] + c * across[1]),                                    \
                     nops > 2 ? (const E *)(ptr[2] + c * across[2]) : NULL, stream ? buf : y);     \
                if (stream) {                                                                      \
                    eg__look_ahead(ptr[1] + (c + 1) * across[1], l->n * (int64_t)sizeof(E));       \
                    eg__stream(y, buf, l->n * (int64_t)sizeof(E));                                 \
                }                                                                                  \
            }                                                                                      \
            if (stream) {                                                                          \
                eg__stream_end();                                                                  \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        if (!beside && l->n <= PACKED) {                                                           \
            packed_##name(l, cols, ptr, across, nops, side);                                       \
            return;                                                                                \
        }                                                                                          \
        /* A single line may have any gaps. */                                                     \
        const int64_t width = beside ? eg__min(COLS, eg__max(16, 65536 / l->n)) : 1;               \
        for (int64_t c = 0; c < cols; c += width) {                                                \
            columns_##name b = {.n = l->n, .cols = eg__min(width, cols - c)};                      \
            for (int k = 0; k < nops; k++) {                                                       \
                b.p[k] = (E *)(ptr[k] + c * across[k]);                                            \
                b.step[k] = l->step[k] / (int64_t)sizeof(E);                                       \
            }                                                                                      \
            side(&b);                                                                              \
        }                                                                                          \
    }
DRIVE(f32, float)
DRIVE(f64, double)

/* Halves, widened line by line. */
static inline void drive_halves(const eg__lines *l, int64_t cols, char *const *ptr,
                                const int64_t *across, int nops, line_f32 *line)
{
    _Alignas(64) float buf[3][PACKED];
    for (int64_t c = 0; c < cols; c++) {
        for (int k = 1; k < nops; k++) {
            ISA(eg__halves_to_f32)(l->n, l->type, ptr[k] + c * across[k], l->step[k], buf[k]);
        }
        line(l->n, buf[1], buf[2], buf[0]);
        ISA(eg__f32_to_halves)(l->n, l->type, buf[0], ptr[0] + c * across[0], l->step[0]);
    }
}

/* ---- the ops --------------------------------------------------------------------------------------- */

static eg_status along(const eg__call *c, eg__lines_fn *const *blocks, eg__kernel *self)
{
    const eg_tensor *y = c->out[0];
    eg__lines l = {.block = blocks[y->dtype],
                   .type = y->dtype,
                   .axis = ((const eg__scan_opts *)c->opts)->axis,
                   .stream = eg__streams(y)};
    if ((y->dtype == EG_F16 || y->dtype == EG_BF16) && y->shape[l.axis] > PACKED) {
        return ISA(eg__through_f32)(c, self);
    }
    eg_tensor *ops[3] = {c->out[0], c->in[0], c->nin > 1 ? c->in[1] : NULL};
    ISA(eg__lines_run)(&l, ops, c->nin + 1, 4);
    return EG_OK;
}

#define BLOCK(op, name, ...)                                                                       \
    static void op##_##name(const eg__lines *l, int64_t cols, char *const *ptr,                    \
                            const int64_t *across)                                                 \
    {                                                                                              \
        drive_##name(l, cols, ptr, across, __VA_ARGS__);                                           \
    }
#define KERNEL(op, nops)                                                                           \
    BLOCK(op, f32, nops, op##_line_f32, op##_columns_f32)                                          \
    BLOCK(op, f64, nops, op##_line_f64, op##_columns_f64)                                          \
    BLOCK(op, halves, nops, op##_line_f32)                                                         \
    eg_status ISA(eg__cpu_##op)(const eg__call *c)                                                 \
    {                                                                                              \
        static eg__lines_fn *const blocks[EG_DTYPE_COUNT] = {[EG_F32] = op##_f32,                  \
                                                             [EG_F64] = op##_f64,                  \
                                                             [EG_F16] = op##_halves,               \
                                                             [EG_BF16] = op##_halves};             \
        return along(c, blocks, ISA(eg__cpu_##op));                                                \
    }
KERNEL(softmax, 2)
KERNEL(log_softmax, 2)
KERNEL(softmax_grad, 3)
KERNEL(log_softmax_grad, 3)
