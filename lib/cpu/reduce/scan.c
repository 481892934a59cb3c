/* scan.c - running sums, products and recurrences. Each line is a chain of dependent steps, so lines run
 * side by side: many where they are contiguous across, else as many as hide a step's latency. */
#include "lib/cpu/reduce/lines.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_cumsum), ISA(eg__cpu_cumprod), ISA(eg__cpu_recurrence);

/* More chains than 4 in two streams each would want more ways than a cache has, where lines are as long as
 * its sets repeat. */
enum { COLS = 512, CHAINS = 4 };

#define PLUS(a, b)  ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define SAME(v)     (v)
#define TRUTH(v)    ((v) != 0)

#define SCAN_LOOP(E, Y, A, MAP, JOIN, width, sx, sy)                                               \
    for (int64_t i = 0; i < l->n; i++, x += l->step[1], y += l->step[0]) {                         \
        for (int64_t k = 0; k < (width); k++) {                                                    \
            acc[k] = JOIN(acc[k], (A)MAP(*(const E *)(x + k * (sx))));                             \
            *(Y *)(y + k * (sy)) = (Y)acc[k];                                                      \
        }                                                                                          \
    }

/* E from memory, A to accumulate, Y into memory. */
#define SCAN(name, E, Y, A, START, MAP, JOIN)                                                      \
    static void name(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)    \
    {                                                                                              \
        const int64_t sx = across[1], sy = across[0];                                              \
        const bool dense = sx == sizeof(E) && sy == sizeof(Y);                                     \
        const int64_t most = dense ? COLS : CHAINS;                                                \
        _Alignas(64) A acc[COLS];                                                                  \
        for (int64_t c = 0; c < cols; c += most) {                                                 \
            const int64_t n = eg__min(most, cols - c);                                             \
            const char *x = ptr[1] + c * sx;                                                       \
            char *y = ptr[0] + c * sy;                                                             \
            for (int64_t k = 0; k < n; k++) {                                                      \
                acc[k] = START;                                                                    \
            }                                                                                      \
            if (dense) {                                                                           \
                SCAN_LOOP(E, Y, A, MAP, JOIN, n, (int64_t)sizeof(E), (int64_t)sizeof(Y))           \
            } else if (n == CHAINS) { /* known counts keep the chains in registers */              \
                SCAN_LOOP(E, Y, A, MAP, JOIN, CHAINS, sx, sy)                                      \
            } else if (n == 1) {                                                                   \
                SCAN_LOOP(E, Y, A, MAP, JOIN, 1, sx, sy)                                           \
            } else {                                                                               \
                SCAN_LOOP(E, Y, A, MAP, JOIN, n, sx, sy)                                           \
            }                                                                                      \
        }                                                                                          \
    }

#define SCANS(name, START, JOIN)                                                                   \
    SCAN(name##_f32, float, float, double, START, SAME, JOIN)                                      \
    SCAN(name##_f64, double, double, double, START, SAME, JOIN)                                    \
    SCAN(name##_i64, int64_t, int64_t, int64_t, START, SAME, JOIN)                                 \
    SCAN(name##_i32, int32_t, int64_t, int64_t, START, SAME, JOIN)                                 \
    SCAN(name##_u8, uint8_t, int64_t, int64_t, START, SAME, JOIN)                                  \
    SCAN(name##_b8, uint8_t, int64_t, int64_t, START, TRUTH, JOIN)
SCANS(sum, 0, PLUS)
SCANS(prod, 1, TIMES)

static eg_status along(const eg__call *c, eg__lines_fn *const *blocks)
{
    eg__lines l = {.block = blocks[c->in[0]->dtype], .axis = ((const eg__scan_opts *)c->opts)->axis};
    ISA(eg__lines_run)(&l, (eg_tensor *[]){c->out[0], c->in[0]}, 2, 1);
    return EG_OK;
}

eg_status ISA(eg__cpu_cumsum)(const eg__call *c)
{
    static eg__lines_fn *const blocks[EG_DTYPE_COUNT] = {
        [EG_F32] = sum_f32, [EG_F64] = sum_f64, [EG_I64] = sum_i64,
        [EG_I32] = sum_i32, [EG_U8] = sum_u8,   [EG_BOOL] = sum_b8};
    return blocks[c->in[0]->dtype] ? along(c, blocks)
                                   : ISA(eg__through_f32)(c, ISA(eg__cpu_cumsum));
}

eg_status ISA(eg__cpu_cumprod)(const eg__call *c)
{
    static eg__lines_fn *const blocks[EG_DTYPE_COUNT] = {
        [EG_F32] = prod_f32, [EG_F64] = prod_f64, [EG_I64] = prod_i64,
        [EG_I32] = prod_i32, [EG_U8] = prod_u8,   [EG_BOOL] = prod_b8};
    return blocks[c->in[0]->dtype] ? along(c, blocks)
                                   : ISA(eg__through_f32)(c, ISA(eg__cpu_cumprod));
}

/* Reversed, all steps are negative, and the factor of a step is the one behind it. */
#define RECURRENCE_LOOP(E, width, ey, ea, eb)                                                      \
    for (int64_t i = 0; i < l->n; i++, y += sy, a += sa, b += sb) {                                \
        for (int64_t k = 0; k < (width); k++) {                                                    \
            const E add = *(const E *)(b + k * (eb));                                              \
            acc[k] = i ? *(const E *)(a + k * (ea)) * acc[k] + add : add;                          \
            *(E *)(y + k * (ey)) = (E)acc[k];                                                      \
        }                                                                                          \
    }
#define RECURRENCE(name, E)                                                                        \
    static void name(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)    \
    {                                                                                              \
        const int64_t turn = l->reverse ? -1 : 1, far = l->reverse ? l->n - 1 : 0;                 \
        const int64_t sy = turn * l->step[0], sa = turn * l->step[1], sb = turn * l->step[2];      \
        const int64_t ey = across[0], ea = across[1], eb = across[2], es = sizeof(E);              \
        const bool dense = ey == es && ea == es && eb == es;                                       \
        const int64_t most = dense ? COLS : CHAINS;                                                \
        _Alignas(64) double acc[COLS];                                                             \
        for (int64_t c = 0; c < cols; c += most) {                                                 \
            const int64_t n = eg__min(most, cols - c);                                             \
            char *y = ptr[0] + c * ey + far * l->step[0];                                          \
            const char *a = ptr[1] + c * ea + far * l->step[1] - (l->reverse ? sa : 0);            \
            const char *b = ptr[2] + c * eb + far * l->step[2];                                    \
            if (dense) {                                                                           \
                RECURRENCE_LOOP(E, n, es, es, es)                                                  \
            } else if (n == CHAINS) {                                                              \
                RECURRENCE_LOOP(E, CHAINS, ey, ea, eb)                                             \
            } else {                                                                               \
                RECURRENCE_LOOP(E, n, ey, ea, eb)                                                  \
            }                                                                                      \
        }                                                                                          \
    }
RECURRENCE(recurrence_f32, float)
RECURRENCE(recurrence_f64, double)

eg_status ISA(eg__cpu_recurrence)(const eg__call *c)
{
    const eg__scan_opts *o = c->opts;
    const int dtype = c->in[0]->dtype;
    if (dtype == EG_F16 || dtype == EG_BF16) {
        return ISA(eg__through_f32)(c, ISA(eg__cpu_recurrence));
    }
    eg__lines l = {.block = dtype == EG_F32 ? recurrence_f32 : recurrence_f64,
                   .axis = o->axis,
                   .reverse = o->reverse};
    ISA(eg__lines_run)(&l, (eg_tensor *[]){c->out[0], c->in[0], c->in[1]}, 3, 1);
    return EG_OK;
}
