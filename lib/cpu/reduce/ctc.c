/* ctc.c - connectionist temporal classification: rows in parallel, the states of a frame side by side. */
#include <math.h>

#include "lib/cpu/common/isa.h"
#include "lib/cpu/pointwise/vmath.h"
#include "lib/ops/ctc_rows.h"

eg__kernel ISA(eg__cpu_ctc_loss), ISA(eg__cpu_ctc_loss_grad);

enum { COLUMNS = 4 }; /* of a row's scratch, as long as it has states */

typedef struct job {
    const eg_tensor *x, *alpha, *dx;
    const eg__ctc_opts *o;
    const eg_tensor *targets, *frames, *lengths, *dy;
    const eg_tensor *loss;
    char *columns;
} job;

#define T          float
#define FN(name)   name##_f32
#define e_to_f32   eg__f32_exp
#define log_of_f32 eg__f32_log
#include "lib/cpu/reduce/ctc_loops.h"
#undef T
#undef FN
#define T          double
#define FN(name)   name##_f64
#define e_to_f64   exp
#define log_of_f64 log
#include "lib/cpu/reduce/ctc_loops.h"
#undef T
#undef FN

static void losses(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    for (int64_t r = begin; r < end; r++) {
        (j->x->dtype == EG_F32 ? loss_row_f32 : loss_row_f64)(j, r);
    }
}

static void slopes(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    for (int64_t r = begin; r < end; r++) {
        (j->x->dtype == EG_F32 ? slope_row_f32 : slope_row_f64)(j, r);
    }
}

static eg_status run(const eg__call *c, job *j, eg__range_fn *fn, int64_t width)
{
    const int64_t rows = j->x->shape[1], states = j->alpha->shape[2];
    eg__scratch columns = {0};
    eg_status st = eg__scratch_get(c, (size_t)(rows * COLUMNS * states) * eg__esize(j->x), &columns);
    if (!st) {
        j->columns = columns.data;
        eg__parallel(rows, EG__GRAIN / 8 / (j->x->shape[0] * width + 1) + 1, fn, j);
    }
    eg__scratch_put(c, &columns);
    return st;
}

/* log_probs, targets, input_lengths, target_lengths -> losses, alphas */
eg_status ISA(eg__cpu_ctc_loss)(const eg__call *c)
{
    job j = {.x = c->in[0],
             .targets = c->in[1],
             .frames = c->in[2],
             .lengths = c->in[3],
             .loss = c->out[0],
             .alpha = c->out[1],
             .o = c->opts};
    return run(c, &j, losses, j.alpha->shape[2]);
}

/* dy, log_probs, targets, alphas, input_lengths, target_lengths -> dlog_probs */
eg_status ISA(eg__cpu_ctc_loss_grad)(const eg__call *c)
{
    job j = {.dy = c->in[0],
             .x = c->in[1],
             .targets = c->in[2],
             .alpha = c->in[3],
             .frames = c->in[4],
             .lengths = c->in[5],
             .dx = c->out[0],
             .o = c->opts};
    return run(c, &j, slopes, j.alpha->shape[2] + j.x->shape[2]);
}
