/* scan_extreme.c - running maxima and minima with their places; lines side by side as in scan.c. */
#include "lib/cpu/common/lanes.h"
#include "lib/cpu/reduce/lines.h"
#include "lib/math/half.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_cummax), ISA(eg__cpu_cummin);

enum { COLS = 256, CHAINS = 4 };

#define NAN_IN(v) ((v) != (v))

#define LOAD(v)  (v)
#define STORE(v) (v)
#define T        float
#define A        float
#define FN(name) name##_f32
#include "lib/cpu/reduce/scan_extreme_loops.h"
#undef T
#undef A
#undef FN
#define T        double
#define A        double
#define FN(name) name##_f64
#include "lib/cpu/reduce/scan_extreme_loops.h"
#undef T
#undef A
#undef FN
#define T        int64_t
#define A        int64_t
#define FN(name) name##_i64
#include "lib/cpu/reduce/scan_extreme_loops.h"
#undef T
#undef A
#undef FN
#define T        int32_t
#define A        int32_t
#define FN(name) name##_i32
#include "lib/cpu/reduce/scan_extreme_loops.h"
#undef T
#undef A
#undef FN
#define T        uint8_t
#define A        uint8_t
#define FN(name) name##_u8
#include "lib/cpu/reduce/scan_extreme_loops.h"
#undef T
#undef A
#undef FN
#define T uint16_t
#define A float
#undef LOAD
#undef STORE
#define LOAD(v)  eg__f16_to_f32(v)
#define STORE(v) eg__f32_to_f16(v)
#define FN(name) name##_f16
#include "lib/cpu/reduce/scan_extreme_loops.h"
#undef FN
#undef LOAD
#undef STORE
#define LOAD(v)  eg__bf16_to_f32(v)
#define STORE(v) eg__f32_to_bf16(v)
#define FN(name) name##_bf16
#include "lib/cpu/reduce/scan_extreme_loops.h"
#undef FN

static eg_status along(const eg__call *c, eg__lines_fn *const *blocks)
{
    eg__lines l = {.block = blocks[c->in[0]->dtype], .axis = ((const eg__scan_opts *)c->opts)->axis};
    ISA(eg__lines_run)(&l, (eg_tensor *[]){c->out[0], c->out[1], c->in[0]}, 3, 2);
    return EG_OK;
}

eg_status ISA(eg__cpu_cummax)(const eg__call *c)
{
    static eg__lines_fn *const blocks[EG_DTYPE_COUNT] = {
        [EG_F32] = cummax_f32, [EG_F64] = cummax_f64, [EG_F16] = cummax_f16, [EG_BF16] = cummax_bf16,
        [EG_I64] = cummax_i64, [EG_I32] = cummax_i32, [EG_U8] = cummax_u8,   [EG_BOOL] = cummax_u8};
    return along(c, blocks);
}

eg_status ISA(eg__cpu_cummin)(const eg__call *c)
{
    static eg__lines_fn *const blocks[EG_DTYPE_COUNT] = {
        [EG_F32] = cummin_f32, [EG_F64] = cummin_f64, [EG_F16] = cummin_f16, [EG_BF16] = cummin_bf16,
        [EG_I64] = cummin_i64, [EG_I32] = cummin_i32, [EG_U8] = cummin_u8,   [EG_BOOL] = cummin_u8};
    return along(c, blocks);
}
