/* conv.c - convolutions and their two gradients, one loop nest for all three: each is a sum over
 * the same products x * weight * dy with one factor left out. */
#include "lib/ops/conv.h"
#include "lib/ref/ref.h"

/* Row-major place of a cell in the operand `which`. */
typedef struct cell {
    int64_t n, c, o, cg; /* batch, channel of x and of y, channel of x within its group */
    int64_t in[3], tap[3], out[3];
} cell;

static int64_t place(const eg__conv_geometry *g, const cell *at, int which)
{
    const int64_t *p = which == EG__CONV_X ? at->in : which == EG__CONV_W ? at->tap : at->out;
    const int64_t *size = which == EG__CONV_X ? g->in : which == EG__CONV_W ? g->k : g->out;
    int64_t i = which == EG__CONV_X   ? at->n * g->c + at->c
                : which == EG__CONV_W ? at->o * (g->c / g->groups) + at->cg
                                      : at->n * g->o + at->o;
    for (int d = 0; d < 3; d++) {
        i = i * size[d] + p[d];
    }
    return i;
}

static double value(const eg__conv_geometry *g, const cell *at, int which, const eg_tensor *t)
{
    return eg__get_at(t, eg__at(t, t, place(g, at, which)));
}

/* Where the tap reads; false outside x. */
static bool inside(const eg__conv_geometry *g, cell *at)
{
    for (int d = 0; d < 3; d++) {
        at->in[d] = at->out[d] * g->stride[d] + at->tap[d] * g->dilation[d] - g->before[d];
        if (at->in[d] < 0 || at->in[d] >= g->in[d]) {
            return false;
        }
    }
    return true;
}

/* All taps and channels of one output element. */
static void taps(const eg__conv_geometry *g, cell *at, eg_tensor *const t[3], int result, double *sum)
{
    int64_t each = g->c / g->groups, taps = g->k[0] * g->k[1] * g->k[2];
    const int a = result == EG__CONV_X ? EG__CONV_Y : EG__CONV_X;
    const int b = result == EG__CONV_W ? EG__CONV_Y : EG__CONV_W;
    for (int64_t i = 0; i < each * taps; i++) {
        at->cg = i / taps;
        at->c = at->o / (g->o / g->groups) * each + at->cg;
        at->tap[2] = i % g->k[2];
        at->tap[1] = i / g->k[2] % g->k[1];
        at->tap[0] = i / (g->k[2] * g->k[1]) % g->k[0];
        if (inside(g, at)) {
            sum[place(g, at, result)] += value(g, at, a, t[a]) * value(g, at, b, t[b]);
        }
    }
}

static eg_status convolve(const eg__call *c, eg__conv_result result)
{
    const eg__conv_job job = eg__conv_job_of(c, result);
    const eg__conv_geometry *g = &job.g;
    eg_tensor *const t[] = {[EG__CONV_X] = job.x, [EG__CONV_W] = job.w, [EG__CONV_Y] = job.y};
    const eg_tensor *r = t[result], *bias = job.bias;
    int64_t cells = g->out[0] * g->out[1] * g->out[2], per = 1;
    eg__scratch scratch;
    if (eg__scratch_get(c, (size_t)r->n * sizeof(double), &scratch)) {
        return EG_ENOMEM;
    }
    double *sum = scratch.data;
    for (int d = 2; d < r->ndim; d++) {
        per *= r->shape[d];
    }
    for (int64_t i = 0; i < r->n; i++) {
        sum[i] = bias ? eg__get_at(bias, i / per % r->shape[1] * bias->strides[0]) : 0;
    }
    for (int64_t i = 0; i < g->n * g->o * cells; i++) {
        cell at = {.n = i / cells / g->o, .o = i / cells % g->o};
        at.out[2] = i % g->out[2];
        at.out[1] = i / g->out[2] % g->out[1];
        at.out[0] = i / (g->out[2] * g->out[1]) % g->out[0];
        taps(g, &at, t, result, sum);
    }
    for (int64_t i = 0; i < r->n; i++) {
        eg__set_at(r, eg__at(r, r, i), sum[i]);
    }
    eg__scratch_put(c, &scratch);
    return EG_OK;
}

eg_status eg__ref_conv(const eg__call *c)
{
    return convolve(c, EG__CONV_Y);
}

eg_status eg__ref_conv_act(const eg__call *c)
{
    const eg__conv_opts *o = c->opts;
    const eg_tensor *y = c->out[0];
    eg_status st = eg__ref_conv(c);
    for (int64_t i = 0; i < y->n && !st; i++) {
        const int64_t at = eg__at(y, y, i);
        eg__set_at(y, at, eg__ref_activate((int)o->act, eg__get_at(y, at)));
    }
    return st;
}

eg_status eg__ref_conv_data(const eg__call *c)
{
    return convolve(c, EG__CONV_X);
}

eg_status eg__ref_conv_weight(const eg__call *c)
{
    return convolve(c, EG__CONV_W);
}
