/* conv.h - what the files of convolution share. conv.c brings the operands into one form and
 * chooses among the ways: loops of one instruction set for what oneDNN is slow at, oneDNN, and
 * products of matrices. */
#ifndef EGRET_CPU_CONV_H
#define EGRET_CPU_CONV_H

#include "lib/ops/conv.h"

/* What a way gets: x and y are channels-last without gaps, all of one dtype, f32 or f64; the one that is the result is
 * to be written. The bias is row-major. Nothing is empty. */
typedef eg_status eg__conv_way(const eg__conv_job *j);
struct eg__winograd;
typedef eg_status eg__conv_tiles(const eg__conv_job *j, const struct eg__winograd *p);
typedef eg_status eg__conv_perhaps(const eg__conv_job *j, bool *done);

/* The ways of one instruction set; a bias left out by one is added after it. */
typedef struct eg__conv_ways {
    eg__conv_way *depthwise;   /* every channel its own group and one result each; with bias */
    eg__conv_way *narrow_data; /* gradient of an f32 x of few channels, at most two axes; with bias */
    eg__conv_way *gemm;        /* any shape, by way of matrix products; w row-major; no bias */
    eg__conv_tiles *winograd;  /* as planned in winograd.h; with bias */
    eg__conv_perhaps *sparse;  /* y of windows of one cell, side by side, if most of the weight is zero; no bias */
} eg__conv_ways;
enum { EG__CONV_LINES = 64, EG__CONV_NARROW = 4 }; /* what depthwise and narrow_data take at most */

eg_status eg__conv_run(const eg__call *c, eg__conv_result result, const eg__conv_ways *ways);
/* The activation of the options, over the result. */
eg_status eg__conv_activate(const eg__call *c);

/* A temporary without gaps, gone when the call ends. */
eg_tensor *eg__conv_temp(const eg__conv_job *j, int dtype, int ndim, const int64_t *shape);

/* First cell of tap t for window p along axis d. */
static inline int64_t eg__conv_at(const eg__conv_geometry *g, int d, int64_t p, int64_t t)
{
    return p * g->stride[d] + t * g->dilation[d] - g->before[d];
}

/* Windows [*low, *high) whose tap t lies inside along axis d. */
static inline void eg__conv_inside(const eg__conv_geometry *g, int d, int64_t t, int64_t *low, int64_t *high)
{
    int64_t first = g->before[d] - t * g->dilation[d], step = g->stride[d];
    int64_t end = g->in[d] + first; /* p * step < end */
    *low = first > 0 ? (first + step - 1) / step : 0;
    *high = end > 0 ? eg__min((end + step - 1) / step, g->out[d]) : 0;
    *low = eg__min(*low, *high);
}

#endif
