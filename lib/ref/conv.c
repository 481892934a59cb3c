/* conv.c - convolutions and their two gradients, one loop nest for all three: each is a sum over
 * the same products x * weight * dy with one factor left out. */
#include "lib/ops/conv.h"
#include "lib/ref/ref.h"

enum { X, W, Y };

/* Row-major place of a cell in the operand `which`. */
typedef struct cell {
    int64_t n, c, o, cg; /* batch, channel of x and of y, channel of x within its group */
    int64_t in[3], tap[3], out[3];
} cell;

static int64_t place(const eg__conv_shape *s, const cell *at, int which)
{
    const int64_t *p = which == X ? at->in : which == W ? at->tap : at->out;
    const int64_t *size = which == X ? s->in : which == W ? s->k : s->out;
    int64_t i = which == X   ? at->n * s->c + at->c
                : which == W ? at->o * (s->c / s->groups) + at->cg
                             : at->n * s->o + at->o;
    for (int d = 0; d < 3; d++) {
        i = i * size[d] + p[d];
    }
    return i;
}

static double value(const eg__conv_shape *s, const cell *at, int which, const eg_tensor *t)
{
    return eg__get_at(t, eg__at(t, t, place(s, at, which)));
}

/* Where the tap reads; false outside x. */
static bool inside(const eg__conv_shape *s, cell *at)
{
    for (int d = 0; d < 3; d++) {
        at->in[d] = at->out[d] * s->stride[d] + at->tap[d] * s->dilation[d] - s->before[d];
        if (at->in[d] < 0 || at->in[d] >= s->in[d]) {
            return false;
        }
    }
    return true;
}

/* All taps and channels of one output element. */
static void taps(const eg__conv_shape *s, cell *at, eg_tensor *const t[3], int result, double *sum)
{
    int64_t each = s->c / s->groups, taps = s->k[0] * s->k[1] * s->k[2];
    int a = result == X ? Y : X, b = result == W ? Y : W;
    for (int64_t i = 0; i < each * taps; i++) {
        at->cg = i / taps;
        at->c = at->o / (s->o / s->groups) * each + at->cg;
        at->tap[2] = i % s->k[2];
        at->tap[1] = i / s->k[2] % s->k[1];
        at->tap[0] = i / (s->k[2] * s->k[1]) % s->k[0];
        if (inside(s, at)) {
            sum[place(s, at, result)] += value(s, at, a, t[a]) * value(s, at, b, t[b]);
        }
    }
}

static eg_status convolve(const eg__call *c, const eg__conv_shape *s, eg_tensor *const t[3],
                          int result)
{
    const eg_tensor *r = t[result], *bias = c->nin > 2 ? c->in[2] : NULL;
    int64_t cells = s->out[0] * s->out[1] * s->out[2], per = 1;
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
    for (int64_t i = 0; i < s->n * s->o * cells; i++) {
        cell at = {.n = i / cells / s->o, .o = i / cells % s->o};
        at.out[2] = i % s->out[2];
        at.out[1] = i / s->out[2] % s->out[1];
        at.out[0] = i / (s->out[2] * s->out[1]) % s->out[0];
        taps(s, &at, t, result, sum);
    }
    for (int64_t i = 0; i < r->n; i++) {
        eg__set_at(r, eg__at(r, r, i), sum[i]);
    }
    eg__scratch_put(c, &scratch);
    return EG_OK;
}

eg_status eg__ref_conv(const eg__call *c)
{
    eg__conv_shape s = eg__conv_shape_of(c->in[0], c->in[1], c->out[0], c->opts);
    return convolve(c, &s, (eg_tensor *[]){c->in[0], c->in[1], c->out[0]}, Y);
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
    eg__conv_shape s = eg__conv_shape_of(c->out[0], c->in[1], c->in[0], c->opts);
    return convolve(c, &s, (eg_tensor *[]){c->out[0], c->in[1], c->in[0]}, X);
}

eg_status eg__ref_conv_weight(const eg__call *c)
{
    eg__conv_shape s = eg__conv_shape_of(c->in[0], c->out[0], c->in[1], c->opts);
    return convolve(c, &s, (eg_tensor *[]){c->in[0], c->out[0], c->in[1]}, W);
}
