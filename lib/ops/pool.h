/* pool.h - windows of pooling as kernels and inference see them. */
#ifndef EGRET_OPS_POOL_INTERNAL_H
#define EGRET_OPS_POOL_INTERNAL_H

#include "lib/ops/options.h"

/* Window p of an axis: tap t is cell begin + t * dilation; the taps first..end-1 are there. */
typedef struct eg__window {
    int64_t begin, first, end;
} eg__window;

static inline int64_t eg__steps(int64_t length, int64_t step) /* rounded up */
{
    return (length + step - 1) / step;
}

static inline eg__window eg__window_of(const eg__pool_opts *o, int axis, int64_t p)
{
    int64_t in = o->in[axis], step = o->dilation[axis];
    if (o->adaptive) {
        int64_t out = o->out[axis], begin = p * in / out;
        return (eg__window){begin, 0, ((p + 1) * in + out - 1) / out - begin};
    }
    int64_t begin = p * o->stride[axis] - o->before[axis];
    int64_t first = begin < 0 ? eg__steps(-begin, step) : 0;
    int64_t end = begin >= in ? 0 : eg__min(o->kernel[axis], eg__steps(in - begin, step));
    return (eg__window){begin, first, end};
}

/* What window p's extent along an axis counts in a mean. */
static inline int64_t eg__window_cells(const eg__pool_opts *o, int axis, int64_t p)
{
    eg__window w = eg__window_of(o, axis, p);
    if (o->adaptive || o->exclude_pad) {
        return w.end - w.first;
    }
    return eg__min(w.begin + o->kernel[axis], o->in[axis] + o->after[axis]) - w.begin;
}

typedef struct eg__span {
    int64_t first, end;
} eg__span;

/* The windows of an axis that may hold cell i. */
static inline eg__span eg__windows_of(const eg__pool_opts *o, int axis, int64_t i)
{
    int64_t in = o->in[axis], out = o->out[axis], s = o->stride[axis];
    if (o->adaptive) {
        return (eg__span){i * out / in, eg__min(out, ((i + 1) * out + in - 1) / in)};
    }
    int64_t reach = (o->kernel[axis] - 1) * o->dilation[axis], at = i + o->before[axis];
    return (eg__span){at > reach ? eg__steps(at - reach, s) : 0, eg__min(out, at / s + 1)};
}

/* The tap by which a window holds cell i; -1 if it does not. */
static inline int64_t eg__tap_of(const eg__pool_opts *o, int axis, const eg__window *w, int64_t i)
{
    int64_t d = i - w->begin, step = o->dilation[axis], tap = d / step;
    return d < 0 || tap * step != d || tap >= w->end ? -1 : tap;
}

#endif
