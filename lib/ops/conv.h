/* conv.h - a convolution as its kernels see it, whatever the number of its axes. */
#ifndef EGRET_OPS_CONV_SHAPE_H
#define EGRET_OPS_CONV_SHAPE_H

#include <egret/ops/conv.h>

#include "lib/ops/options.h"

/* What can be said of options before there is an x. */
eg_status eg__check_conv_options(const char *op, int axes, bool transposed, const eg_conv_options *g);

/* Which operand is computed from the other two. */
typedef enum eg__conv_result { EG__CONV_Y, EG__CONV_X, EG__CONV_W } eg__conv_result;

/* A convolution on its way through an engine: what is to be computed, and from what. */
typedef struct eg__conv_job {
    const eg__call *c;
    eg__conv_result result;
    eg__conv_geometry g;
    eg_tensor *x, *w, *y, *bias; /* the result is among them; bias: of the result, or NULL */
    int act;                     /* of conv_act: an eg__act, of y */
    eg__storage *keep;           /* of w, if copies of it in other layouts may be kept there */
} eg__conv_job;

/* The job of a row's call. */
static inline eg__conv_job eg__conv_job_of(const eg__call *c, eg__conv_result result)
{
    eg_tensor *a = c->in[0], *b = c->in[1], *out = c->out[0];
    return (eg__conv_job){.c = c,
                          .result = result,
                          .g = ((const eg__conv_opts *)c->opts)->g,
                          .x = result == EG__CONV_X ? out : a,
                          .w = result == EG__CONV_W ? out : b,
                          .y = result == EG__CONV_Y   ? out
                               : result == EG__CONV_X ? a
                                                      : b,
                          .bias = c->nin > 2 ? c->in[2] : NULL};
}

/* Strides of batch, channels and the three axes. */
static inline void eg__conv_strides(const eg_tensor *t, int64_t strides[5])
{
    int skip = 5 - t->ndim;
    strides[0] = t->strides[0];
    strides[1] = t->strides[1];
    for (int d = 0; d < 3; d++) {
        strides[2 + d] = d >= skip ? t->strides[2 + d - skip] : 0;
    }
}

#endif
