/* resize.h - which input pixels make an output pixel, along one axis. */
#ifndef EGRET_RESIZE_H
#define EGRET_RESIZE_H

#include "lib/ops/options.h"

/* Most taps an output pixel of the axis can have. */
int64_t eg__resize_most(const eg__resize_opts *o, int axis);
/* Output pixel `at` is the sum of w[k] x[*first + k]; returns how many there are, at least 1. */
int64_t eg__resize_taps(const eg__resize_opts *o, int axis, int64_t at, int64_t *first, double *w);

/* The same for every result along the axis: of the forward way, or of its adjoint, where a result
 * may have no taps at all. weight[r * width + k] belongs to first[r] + k; first + width stays
 * inside the source, so weights are 0 before and after the real ones. */
typedef struct eg__band {
    int64_t n, source, width;
    int32_t *first;
    double *weight;
    bool identity;
    eg__scratch memory;
} eg__band;

/* Free with eg__scratch_put of its memory. */
eg_status eg__band_make(const eg__call *c, const eg__resize_opts *o, int axis, bool adjoint, eg__band *b);

#endif
