/* linalg.h - calls of small linear algebra as their kernels see them. */
#ifndef EGRET_OPS_LINALG_INTERNAL_H
#define EGRET_OPS_LINALG_INTERNAL_H

#include "lib/math/matrices.h"
#include "lib/ops/options.h"

/* Of dense inputs; the first may be there for its gradient only. */
static inline eg__matrices eg__matrices_of(const eg__call *c)
{
    const eg__matrix_opts *o = c->opts;
    const eg_tensor *a = c->in[0], *last = c->in[c->nin - 1];
    eg__matrices k = {.batch = 1,
                      .m = (int)a->shape[a->ndim - 2],
                      .n = (int)a->shape[a->ndim - 1],
                      .wide = a->dtype == EG_F64,
                      .transpose = o->transpose,
                      .upper = o->upper,
                      .unit = o->unit,
                      .adjugate = o->adjugate,
                      .strict = o->strict != NULL,
                      .log = o->log};
    k.r = o->columns ? (int)last->shape[last->ndim - 1] : k.n;
    for (int d = 0; d < a->ndim - 2; d++) {
        k.batch *= a->shape[d];
    }
    for (int i = 0; i < c->nin; i++) {
        k.in[i] = eg__ptr(c->in[i]);
    }
    for (int j = 0; j < c->op->nout; j++) {
        k.out[j] = eg__ptr(c->out[j]);
    }
    return k;
}

/* Roughly what a matrix costs, in multiplications. */
static inline int64_t eg__matrix_cost(const eg__matrices *k)
{
    return (int64_t)k->m * k->n * (k->m < k->n ? k->m : k->n) + (int64_t)k->n * k->n * k->r + 32;
}

static inline eg_status eg__refuse_matrix(const eg__call *c, const eg__matrices *k, int64_t matrix, int pivot)
{
    const eg__matrix_opts *o = c->opts;
    const long long at = matrix, of = k->batch, p = pivot;
    return o->strict ? eg__fail(EG_EINVAL, o->strict, EG__SAY_SINGULAR, at, of, p)
                     : eg__fail(EG_EINVAL, c->op->name, EG__SAY_NOT_POSITIVE, at, of, p);
}

#endif
