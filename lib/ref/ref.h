/* ref.h - how reference loops reach elements: slowly and plainly. */
#ifndef EGRET_REF_H
#define EGRET_REF_H

#include "lib/ref/kernels.h"

/* Where element i (row-major) of y's shape lies in t, which broadcasts to it; in elements. */
static inline int64_t eg__at(const eg_tensor *t, const eg_tensor *y, int64_t i)
{
    int64_t at = 0;
    for (int d = y->ndim, k = t->ndim; d-- > 0; i /= y->shape[d]) {
        if (--k >= 0 && t->shape[k] != 1) {
            at += i % y->shape[d] * t->strides[k];
        }
    }
    return at;
}

static inline double eg__get_at(const eg_tensor *t, int64_t at)
{
    return eg__load(eg__ptr(t), t->dtype, at);
}

static inline int64_t eg__get_int_at(const eg_tensor *t, int64_t at)
{
    return eg__load_int(eg__ptr(t), t->dtype, at);
}

static inline void eg__set_at(const eg_tensor *t, int64_t at, double v)
{
    eg__store(eg__ptr(t), t->dtype, at, v);
}

static inline void eg__set_int_at(const eg_tensor *t, int64_t at, int64_t v)
{
    eg__store_int(eg__ptr(t), t->dtype, at, v);
}

/* The activation of a linear layer or convolution. */
double eg__ref_activate(int act, double v);

/* y[to] = x[from], of the same dtype, bit for bit. */
static inline void eg__move(const eg_tensor *y, int64_t to, const eg_tensor *x, int64_t from)
{
    size_t size = eg__esize(x);
    memcpy(eg__ptr(y) + to * (int64_t)size, eg__ptr(x) + from * (int64_t)size, size);
}

#endif
