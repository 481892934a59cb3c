/* loss.c - cross entropy with labels and its gradient: each reads the logits once, and only dx is
 * written. */
#include <math.h>

#include "lib/cpu/common/isa.h"
#include "lib/cpu/pointwise/vmath.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_cross_entropy), ISA(eg__cpu_cross_entropy_grad);

enum {
    LANES = 16,
    SHORT = 32,     /* rows shorter than this run side by side */
    STRETCH = 2048, /* elements added in their own type before they go to a double */
};

typedef struct job {
    int64_t classes;
    int dtype;
    double smoothing, total; /* total: of the weights */
    const void *x, *weight, *dy;
    const int64_t *labels;
    void *y, *rows;
} job;

#define T          float
#define FN(name)   name##_f32
#define e_to_f32   eg__f32_exp
#define log_of_f32 eg__f32_log
#include "lib/cpu/reduce/loss_loops.h"
#undef T
#undef FN
#define T          double
#define FN(name)   name##_f64
#define e_to_f64   exp
#define log_of_f64 log
#include "lib/cpu/reduce/loss_loops.h"
#undef T
#undef FN

static void losses(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    (j->dtype == EG_F32 ? losses_f32 : losses_f64)(j, begin, end);
}

static void slopes(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    (j->dtype == EG_F32 ? slopes_f32 : slopes_f64)(j, begin, end);
}

static job job_of(const eg__call *c, const eg_tensor *x, const eg_tensor *labels, const eg_tensor *weight)
{
    job j = {.classes = x->shape[1],
             .dtype = x->dtype,
             .x = eg__ptr(x),
             .total = (double)x->shape[1],
             .smoothing = ((const eg__cross_entropy_opts *)c->opts)->smoothing,
             .labels = (const int64_t *)eg__ptr(labels),
             .y = eg__ptr(c->out[0])};
    if (weight) {
        j.weight = eg__ptr(weight);
        j.total = 0;
        for (int64_t i = 0; i < weight->n && j.smoothing > 0; i++) {
            j.total += eg__load(j.weight, j.dtype, i);
        }
    }
    return j;
}

/* logits, labels, weight -> loss, and per row the largest logit and 1 / sum e^(x - largest) */
eg_status ISA(eg__cpu_cross_entropy)(const eg__call *c)
{
    job j = job_of(c, c->in[0], c->in[1], c->nin > 2 ? c->in[2] : NULL);
    j.rows = eg__ptr(c->out[1]);
    if (c->in[0]->n) {
        eg__parallel(c->in[0]->shape[0], EG__GRAIN / 4 / j.classes + 1, losses, &j);
    }
    return EG_OK;
}

/* dy, logits, labels, what the former left, weight -> dlogits */
eg_status ISA(eg__cpu_cross_entropy_grad)(const eg__call *c)
{
    job j = job_of(c, c->in[1], c->in[2], c->nin > 4 ? c->in[4] : NULL);
    j.dy = eg__ptr(c->in[0]);
    j.rows = eg__ptr(c->in[3]);
    if (c->in[1]->n) {
        eg__parallel(c->in[1]->shape[0], EG__GRAIN / 4 / j.classes + 1, slopes, &j);
    }
    return EG_OK;
}
