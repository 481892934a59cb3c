/* softmax.c - softmax, its logarithm and their gradients. A line that is contiguous runs by itself, its
 * three passes in cache; lines that are contiguous across run side by side; short and gapped lines are
 * packed so that they lie side by side. */
#include <math.h>

#include "lib/cpu/common/lanes.h"
#include "lib/cpu/common/stream.h"
#include "lib/cpu/pointwise/convert.h"
#include "lib/cpu/pointwise/vmath.h"
#include "lib/cpu/reduce/extremes.h"
#include "lib/cpu/reduce/lines.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_softmax), ISA(eg__cpu_log_softmax), ISA(eg__cpu_softmax_grad), ISA(eg__cpu_log_softmax_grad);

enum {
    LANES = 16,
    SHORT = 32,     /* lines shorter than this do not run by themselves */
    STRETCH = 2048, /* elements added in their own type before they go to a double */
    COLS = 256,     /* lines side by side */
    PACKED = 4096,  /* elements packed at a time */
};

#define T          float
#define FN(name)   name##_f32
#define e_to_f32   eg__f32_exp
#define higher_f32 eg__f32_higher
#include "lib/cpu/reduce/softmax_loops.h"
#undef T
#undef FN
#define T          double
#define FN(name)   name##_f64
#define e_to_f64   exp
#define higher_f64 eg__f64_higher
#include "lib/cpu/reduce/softmax_loops.h"
#undef T
#undef FN

/* ---- halves ---------------------------------------------------------------------------------- */

/* Widened line by line. */
static inline void drive_halves(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across, int nops,
                                line_f32 *line)
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

static void softmax_halves(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)
{
    drive_halves(l, cols, ptr, across, 2, softmax_line_f32);
}

static void log_softmax_halves(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)
{
    drive_halves(l, cols, ptr, across, 2, log_softmax_line_f32);
}

static void softmax_grad_halves(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)
{
    drive_halves(l, cols, ptr, across, 3, softmax_grad_line_f32);
}

static void log_softmax_grad_halves(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)
{
    drive_halves(l, cols, ptr, across, 3, log_softmax_grad_line_f32);
}

/* ---- the ops --------------------------------------------------------------------------------- */

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

#define BY_DTYPE(op)                                                                              \
    {                                                                                             \
        [EG_F32] = op##_f32, [EG_F64] = op##_f64, [EG_F16] = op##_halves, [EG_BF16] = op##_halves \
    }

eg_status ISA(eg__cpu_softmax)(const eg__call *c)
{
    static eg__lines_fn *const blocks[EG_DTYPE_COUNT] = BY_DTYPE(softmax);
    return along(c, blocks, ISA(eg__cpu_softmax));
}

eg_status ISA(eg__cpu_log_softmax)(const eg__call *c)
{
    static eg__lines_fn *const blocks[EG_DTYPE_COUNT] = BY_DTYPE(log_softmax);
    return along(c, blocks, ISA(eg__cpu_log_softmax));
}

eg_status ISA(eg__cpu_softmax_grad)(const eg__call *c)
{
    static eg__lines_fn *const blocks[EG_DTYPE_COUNT] = BY_DTYPE(softmax_grad);
    return along(c, blocks, ISA(eg__cpu_softmax_grad));
}

eg_status ISA(eg__cpu_log_softmax_grad)(const eg__call *c)
{
    static eg__lines_fn *const blocks[EG_DTYPE_COUNT] = BY_DTYPE(log_softmax_grad);
    return along(c, blocks, ISA(eg__cpu_log_softmax_grad));
}
