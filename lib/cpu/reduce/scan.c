/* scan.c - running sums, products and recurrences. Each line is a chain of dependent steps, so lines run
 * side by side: many where they are contiguous across, else as many as hide a step's latency. */
#include "lib/cpu/common/lanes.h"
#include "lib/cpu/reduce/lines.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_cumsum), ISA(eg__cpu_cumprod), ISA(eg__cpu_recurrence);

/* More chains than 4 in two streams each would want more ways than a cache has, where lines are as long as
 * its sets repeat. */
enum { COLS = 512, CHAINS = 4 };

#define LOAD(element) (element)
#define A             double
#define T             float
#define Y             float
#define FN(name)      name##_f32
#include "lib/cpu/reduce/scan_loops.h"
#undef T
#undef Y
#undef FN
#define T        double
#define Y        double
#define FN(name) name##_f64
#include "lib/cpu/reduce/scan_loops.h"
#undef T
#undef Y
#undef FN
#undef A
#define A        int64_t
#define Y        int64_t
#define T        int64_t
#define FN(name) name##_i64
#include "lib/cpu/reduce/scan_loops.h"
#undef T
#undef FN
#define T        int32_t
#define FN(name) name##_i32
#include "lib/cpu/reduce/scan_loops.h"
#undef T
#undef FN
#define T        uint8_t
#define FN(name) name##_u8
#include "lib/cpu/reduce/scan_loops.h"
#undef T
#undef FN
#undef LOAD
#define LOAD(element) ((element) != 0)
#define T             uint8_t
#define FN(name)      name##_b8
#include "lib/cpu/reduce/scan_loops.h"
#undef T
#undef FN

static eg_status along(const eg__call *c, eg__lines_fn *const *blocks)
{
    eg__lines l = {.block = blocks[c->in[0]->dtype], .axis = ((const eg__scan_opts *)c->opts)->axis};
    ISA(eg__lines_run)(&l, (eg_tensor *[]){c->out[0], c->in[0]}, 2, 1);
    return EG_OK;
}

eg_status ISA(eg__cpu_cumsum)(const eg__call *c)
{
    static eg__lines_fn *const blocks[EG_DTYPE_COUNT] = {[EG_F32] = sum_f32, [EG_F64] = sum_f64, [EG_I64] = sum_i64,
                                                         [EG_I32] = sum_i32, [EG_U8] = sum_u8,   [EG_BOOL] = sum_b8};
    return blocks[c->in[0]->dtype] ? along(c, blocks) : ISA(eg__through_f32)(c, ISA(eg__cpu_cumsum));
}

eg_status ISA(eg__cpu_cumprod)(const eg__call *c)
{
    static eg__lines_fn *const blocks[EG_DTYPE_COUNT] = {[EG_F32] = prod_f32, [EG_F64] = prod_f64, [EG_I64] = prod_i64,
                                                         [EG_I32] = prod_i32, [EG_U8] = prod_u8,   [EG_BOOL] = prod_b8};
    return blocks[c->in[0]->dtype] ? along(c, blocks) : ISA(eg__through_f32)(c, ISA(eg__cpu_cumprod));
}

#define T        float
#define FN(name) name##_f32
#include "lib/cpu/reduce/scan_recurrence.h"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "lib/cpu/reduce/scan_recurrence.h"
#undef T
#undef FN

eg_status ISA(eg__cpu_recurrence)(const eg__call *c)
{
    const eg__scan_opts *o = c->opts;
    const int dtype = c->in[0]->dtype;
    if (dtype == EG_F16 || dtype == EG_BF16) {
        return ISA(eg__through_f32)(c, ISA(eg__cpu_recurrence));
    }
    eg__lines l = {.block = dtype == EG_F32 ? recurrence_f32 : recurrence_f64, .axis = o->axis, .reverse = o->reverse};
    ISA(eg__lines_run)(&l, (eg_tensor *[]){c->out[0], c->in[0], c->in[1]}, 3, 1);
    return EG_OK;
}
