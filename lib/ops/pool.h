/* pool.h - windows of pooling as kernels of every engine and inference see them. Plain C and CUDA. */
#ifndef EGRET_OPS_POOL_INTERNAL_H
#define EGRET_OPS_POOL_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/math/hd.h"

/* Pooling over three axes; those that are not there come first. */
typedef struct eg__pool_opts {
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], before[3], after[3];
    bool adaptive; /* windows divide the axis; kernel: no window has more cells */
    bool exclude_pad;
    bool last; /* the images are channels-last */
} eg__pool_opts;

/* What places are counted in: GPUs divide numbers of 64 bits slowly, so their axes have fewer than 2^31. */
#ifdef __cplusplus
typedef int eg__cells;
#else
typedef int64_t eg__cells;
#endif

/* Window p of an axis: tap t is cell begin + t * dilation; the taps first..end-1 are there. */
typedef struct eg__window {
    eg__cells begin, first, end;
} eg__window;

EG__HD eg__cells eg__steps(eg__cells length, eg__cells step) /* rounded up */
{
    return (length + step - 1) / step;
}

EG__HD eg__cells eg__fewer(eg__cells a, eg__cells b)
{
    return a < b ? a : b;
}

/* p * in / out of adaptive windows, rounded down or up. */
EG__HD eg__cells eg__share_of(int64_t p, int64_t in, int64_t out, bool up)
{
    return (eg__cells)((p * in + (up ? out - 1 : 0)) / out);
}

EG__HD eg__window eg__window_of(const eg__pool_opts *o, int axis, eg__cells p)
{
    const eg__cells in = (eg__cells)o->in[axis], step = (eg__cells)o->dilation[axis];
    eg__window w = {0, 0, 0};
    if (o->adaptive) {
        w.begin = eg__share_of(p, in, o->out[axis], false);
        w.end = eg__share_of(p + 1, in, o->out[axis], true) - w.begin;
        return w;
    }
    w.begin = p * (eg__cells)o->stride[axis] - (eg__cells)o->before[axis];
    w.first = w.begin < 0 ? eg__steps(-w.begin, step) : 0;
    w.end = w.begin >= in ? 0 : eg__fewer((eg__cells)o->kernel[axis], eg__steps(in - w.begin, step));
    return w;
}

/* What a window's extent along an axis counts in a mean. */
EG__HD eg__cells eg__cells_of(const eg__pool_opts *o, int axis, const eg__window *w)
{
    if (o->adaptive || o->exclude_pad) {
        return w->end - w->first;
    }
    return eg__fewer(w->begin + (eg__cells)o->kernel[axis], (eg__cells)(o->in[axis] + o->after[axis])) - w->begin;
}

EG__HD eg__cells eg__window_cells(const eg__pool_opts *o, int axis, eg__cells p)
{
    const eg__window w = eg__window_of(o, axis, p);
    return eg__cells_of(o, axis, &w);
}

typedef struct eg__span {
    eg__cells first, end;
} eg__span;

/* The windows of an axis that may hold cell i. */
EG__HD eg__span eg__windows_of(const eg__pool_opts *o, int axis, eg__cells i)
{
    const eg__cells out = (eg__cells)o->out[axis], s = (eg__cells)o->stride[axis];
    eg__span span;
    if (o->adaptive) {
        span.first = eg__share_of(i, out, o->in[axis], false);
        span.end = eg__fewer(out, eg__share_of(i + 1, out, o->in[axis], true));
        return span;
    }
    const eg__cells reach = (eg__cells)((o->kernel[axis] - 1) * o->dilation[axis]);
    const eg__cells at = i + (eg__cells)o->before[axis];
    span.first = at > reach ? eg__steps(at - reach, s) : 0;
    span.end = eg__fewer(out, at / s + 1);
    return span;
}

/* The tap by which a window holds cell i; -1 if it does not. */
EG__HD eg__cells eg__tap_of(const eg__pool_opts *o, int axis, const eg__window *w, eg__cells i)
{
    const eg__cells d = i - w->begin, step = (eg__cells)o->dilation[axis], tap = d / step;
    return d < 0 || tap * step != d || tap >= w->end ? -1 : tap;
}

#endif
