/* dnnl.h - oneDNN (2.6 or 3) behind one small interface. It is in a module of its own (lib/cpu/dnnl), which the first
 * product or convolution opens: a process without them has not its libraries either. An op is described by values,
 * which are also the key of a per-thread cache of primitives:
 *
 *     eg__dnnl_op op = {.kind = EG__DNNL_MATMUL, .x = ..., .w = ..., .y = ...};
 *     eg__dnnl_prim *p;
 *     eg_status st = eg__dnnl_find(c, &op, &p);
 *     if (st || p) {
 *         return st ? st : eg__dnnl_run(c, p, &(eg__dnnl_data){.x = ..., .w = ..., .y = ...});
 *     }
 *     ... own loops: oneDNN is absent, or has nothing but its slow reference for this op
 *
 * Without the module eg__dnnl_find never finds anything. */
#ifndef EGRET_DNNL_H
#define EGRET_DNNL_H

#include "lib/ops/options.h"

enum { EG__DNNL_DIMS = 6 };

/* An operand as it lies in memory; ndim 0: there is none. With `any` oneDNN may choose another layout for
 * its work, and eg__dnnl_run reorders from or to this one. */
typedef struct eg__dnnl_mem {
    uint8_t ndim, dtype; /* EG_F32 or EG_BF16 */
    bool any;
    int64_t shape[EG__DNNL_DIMS], strides[EG__DNNL_DIMS];
} eg__dnnl_mem;

typedef enum eg__dnnl_kind {
    EG__DNNL_MATMUL,  /* y[..., m, n] = x[..., m, k] w[..., k, n] + b[..., 1, n], all of one rank */
    EG__DNNL_CONV,    /* y[n, o, ...] = conv(x[n, i, ...], w[(g,) o, i, ...]) + b[o] */
    EG__DNNL_CONV_DX, /* x from y and w */
    EG__DNNL_CONV_DW, /* w, and b if present, from x and y */
} eg__dnnl_kind;

typedef struct eg__dnnl_op {
    uint8_t kind, act; /* act: an eg__act over y but relu (oneDNN's makes NaN 0), forward
                          kinds only */
    bool add;          /* y += ..., before act; forward kinds only */
    eg__dnnl_mem x, w, b, y;
    /* convolutions; dilation 1 is none; padding may differ on both sides */
    int64_t stride[3], dilation[3], low[3], high[3];
} eg__dnnl_op;

/* Where the operands are. `keep`: the storage w lies in, with which a reordered copy of it is kept and
 * reused until it changes (pack.h); NULL: reordered in scratch memory every time. */
typedef struct eg__dnnl_data {
    void *x, *w, *b, *y;
    eg__storage *keep;
} eg__dnnl_data;

typedef struct eg__dnnl_prim eg__dnnl_prim;

/* The primitive for an op, made at first use; *p is NULL if oneDNN has none that is not its reference.
 * It stays valid while at most two others are looked for. */
eg_status eg__dnnl_find(const eg__call *c, const eg__dnnl_op *op, eg__dnnl_prim **p);
eg_status eg__dnnl_run(const eg__call *c, eg__dnnl_prim *p, const eg__dnnl_data *at);
void eg__dnnl_thread_end(eg__thread *T);
/* How many primitives the thread holds, and has made; for tests. */
void eg__dnnl_counts(eg__thread *T, int64_t *held, int64_t *made);
/* Closes the module. */

/* The last `ndim` axes of a tensor, axes it lacks in front being 1. */
static inline eg__dnnl_mem eg__dnnl_mem_of(const eg_tensor *t, int ndim)
{
    eg__dnnl_mem m = {.ndim = (uint8_t)ndim, .dtype = t->dtype};
    for (int d = 0; d < ndim; d++) {
        int a = d - (ndim - t->ndim);
        m.shape[d] = a < 0 ? 1 : t->shape[a];
        m.strides[d] = a < 0 ? t->n : t->strides[a];
    }
    return m;
}

#endif
