/* conv.h - a convolution as its kernels see it, whatever the number of its axes. */
#ifndef EGRET_OPS_CONV_SHAPE_H
#define EGRET_OPS_CONV_SHAPE_H

#include <egret/ops/conv.h>

#include "lib/ops/options.h"

/* What can be said of options before there is an x. */
eg_status eg__check_conv_options(const char *op, int axes, bool transposed, const eg_conv_options *g);

/* Which operand is computed from the other two. */
typedef enum eg__conv_result { EG__CONV_Y, EG__CONV_X, EG__CONV_W } eg__conv_result;

/* Axes that are not there come first, with size and step 1. */
typedef struct eg__conv_shape {
    int64_t n, c, o, groups; /* batch, channels of x and of y */
    int64_t in[3], out[3], k[3];
    int64_t stride[3], dilation[3], before[3];
} eg__conv_shape;

static inline eg__conv_shape eg__conv_shape_of(const eg_tensor *x, const eg_tensor *w,
                                               const eg_tensor *y, const eg__conv_opts *o)
{
    eg__conv_shape s = {.n = x->shape[0], .c = x->shape[1], .o = y->shape[1], .groups = o->groups};
    int skip = 5 - x->ndim;
    for (int d = 0; d < 3; d++) {
        bool real = d >= skip;
        int a = d - skip, at = a + 2;
        s.in[d] = real ? x->shape[at] : 1;
        s.out[d] = real ? y->shape[at] : 1;
        s.k[d] = real ? w->shape[at] : 1;
        s.stride[d] = real ? o->stride[a] : 1;
        s.dilation[d] = real ? o->dilation[a] : 1;
        s.before[d] = real ? o->before[a] : 0;
    }
    return s;
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
