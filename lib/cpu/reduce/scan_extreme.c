/* scan_extreme.c - running maxima and minima with their places; lines side by side as in scan.c. */
#include "lib/cpu/reduce/lines.h"
#include "lib/math/half.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_cummax), ISA(eg__cpu_cummin);

enum { COLS = 256, CHAINS = 4 };

#define SAME(v)       (v)
#define NOT_LESS(a, b) ((a) >= (b))
#define NOT_MORE(a, b) ((a) <= (b))

/* E from and to memory, A to compare; of equal ones the last, and NaN for good. */
#define EXTREME(name, E, A, LOAD, STORE, TAKES)                                                    \
    static void name(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)    \
    {                                                                                              \
        const bool dense = across[2] == sizeof(E) && across[0] == sizeof(E);                       \
        const int64_t most = dense ? COLS : CHAINS;                                                \
        A best[COLS];                                                                              \
        int64_t place[COLS];                                                                       \
        for (int64_t c = 0; c < cols; c += most) {                                                 \
            const int64_t n = eg__min(most, cols - c);                                             \
            char *y = ptr[0] + c * across[0], *p = ptr[1] + c * across[1];                         \
            const char *x = ptr[2] + c * across[2];                                                \
            for (int64_t k = 0; k < n; k++) {                                                      \
                best[k] = (A)LOAD(*(const E *)(x + k * across[2]));                                \
                place[k] = 0;                                                                      \
            }                                                                                      \
            for (int64_t i = 0; i < l->n; i++) {                                                   \
                for (int64_t k = 0; k < n; k++) {                                                  \
                    const A v = (A)LOAD(*(const E *)(x + k * across[2]));                          \
                    const bool take = (v != v) | ((best[k] == best[k]) & TAKES(v, best[k]));       \
                    best[k] = take ? v : best[k];                                                  \
                    place[k] = take ? i : place[k];                                                \
                    *(E *)(y + k * across[0]) = (E)STORE(best[k]);                                 \
                    *(int64_t *)(p + k * across[1]) = place[k];                                    \
                }                                                                                  \
                y += l->step[0];                                                                   \
                p += l->step[1];                                                                   \
                x += l->step[2];                                                                   \
            }                                                                                      \
        }                                                                                          \
    }

#define KERNEL(op, TAKES)                                                                          \
    EXTREME(op##_f32, float, float, SAME, SAME, TAKES)                                             \
    EXTREME(op##_f64, double, double, SAME, SAME, TAKES)                                           \
    EXTREME(op##_f16, uint16_t, float, eg__f16_to_f32, eg__f32_to_f16, TAKES)                      \
    EXTREME(op##_bf16, uint16_t, float, eg__bf16_to_f32, eg__f32_to_bf16, TAKES)                   \
    EXTREME(op##_i64, int64_t, int64_t, SAME, SAME, TAKES)                                         \
    EXTREME(op##_i32, int32_t, int32_t, SAME, SAME, TAKES)                                         \
    EXTREME(op##_u8, uint8_t, uint8_t, SAME, SAME, TAKES)                                          \
    eg_status ISA(eg__cpu_##op)(const eg__call *c)                                                 \
    {                                                                                              \
        static eg__lines_fn *const blocks[EG_DTYPE_COUNT] = {                                      \
            [EG_F32] = op##_f32, [EG_F64] = op##_f64, [EG_F16] = op##_f16, [EG_BF16] = op##_bf16,  \
            [EG_I64] = op##_i64, [EG_I32] = op##_i32, [EG_U8] = op##_u8,   [EG_BOOL] = op##_u8};   \
        eg__lines l = {.block = blocks[c->in[0]->dtype],                                           \
                       .axis = ((const eg__scan_opts *)c->opts)->axis};                            \
        ISA(eg__lines_run)(&l, (eg_tensor *[]){c->out[0], c->out[1], c->in[0]}, 3, 2);             \
        return EG_OK;                                                                              \
    }
KERNEL(cummax, NOT_LESS)
KERNEL(cummin, NOT_MORE)
