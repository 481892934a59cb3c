/* attention.h - how the operands of the rows attention and attention_grad go together, for their kernels; and the
 * compositions that stand for them where a record goes on. */
#ifndef EGRET_OPS_ATTENDED_H
#define EGRET_OPS_ATTENDED_H

#include "lib/ops/options.h"

/* softmax(q k^T scale + mask) v: q [..., t, d], k [..., s, d], v [..., s, v], mask [..., t or 1, s or 1], slopes
 * [..., 1, 1] of no axes that q and k do not have. */
typedef struct eg__attended {
    int nbatch; /* leading axes of the results, to which those of the operands broadcast */
    int64_t batch[EG_MAX_DIMS], batches;
    int64_t t, s, d, v;
    int64_t weights[EG_MAX_DIMS]; /* strides of the weights [..., t, s] along these axes; 0 where v alone is repeated */
} eg__attended;

/* What an axis of the results, counted from the last, is in an operand: 1 if it has none. */
static inline int64_t eg__lead_size(const eg_tensor *t, int back)
{
    int d = t ? t->ndim - 1 - back : -1;
    return d < 0 ? 1 : t->shape[d];
}

static inline eg__attended eg__attended_of(const eg_tensor *q, const eg_tensor *k, const eg_tensor *v,
                                           const eg_tensor *mask)
{
    const eg_tensor *all[4] = {q, k, v, mask};
    eg__attended g = {.batches = 1,
                      .t = q->shape[q->ndim - 2],
                      .s = k->shape[k->ndim - 2],
                      .d = q->shape[q->ndim - 1],
                      .v = v->shape[v->ndim - 1]};
    int ndim = 0;
    for (int i = 0; i < 4; i++) {
        ndim = all[i] && all[i]->ndim > ndim ? all[i]->ndim : ndim;
    }
    g.nbatch = ndim - 2;
    int64_t step = g.t * g.s;
    for (int back = 2; back < ndim; back++) {
        const int d = ndim - 1 - back;
        int64_t size = 1, weights = 1;
        for (int i = 0; i < 4; i++) {
            int64_t n = eg__lead_size(all[i], back);
            size = n == 1 ? size : n;
            weights = n == 1 || i == 2 ? weights : n;
        }
        g.batch[d] = size;
        g.batches *= size;
        g.weights[d] = weights == 1 ? 0 : step;
        step *= weights;
    }
    return g;
}

/* Strides for d's shape: its last axis innermost, the others as those of t lie if t has as many of these sizes. */
void eg__desc_by_rows(eg__desc *d, const eg_tensor *t);

/* Strides of an operand along the leading axes of the results, 0 where it is repeated. */
static inline void eg__lead_strides(const eg__attended *g, const eg_tensor *t, int64_t *strides)
{
    for (int d = 0; d < g->nbatch; d++) {
        int k = t->ndim - 2 - g->nbatch + d;
        strides[d] = k < 0 || t->shape[k] == 1 ? 0 : t->strides[k];
    }
}

/* Where matrix b begins, by such strides. */
static inline int64_t eg__lead_at(const eg__attended *g, const int64_t *strides, int64_t b)
{
    int64_t at = 0;
    for (int d = g->nbatch; d-- > 0; b /= g->batch[d]) {
        at += b % g->batch[d] * strides[d];
    }
    return at;
}

/* Query t sees key s by its place where low <= s - t <= high; low from -t and high to s, which is everything. */
typedef struct eg__band {
    int64_t low, high;
} eg__band;

/* The key at which query 0 stands. */
static inline int64_t eg__attention_corner(const eg__attention_opts *o, int64_t t, int64_t s)
{
    return o->upper_left ? 0 : s - t;
}

static inline eg__band eg__attention_band(const eg__attention_opts *o, int64_t t, int64_t s)
{
    const int64_t corner = eg__attention_corner(o, t, s), window = eg__min(o->window, t + s);
    eg__band b = {-t, s};
    if (window > 0) {
        b.low = eg__max(b.low, corner - window);
        b.high = eg__min(b.high, corner + window);
    }
    b.high = o->causal ? corner : b.high;
    return b;
}

/* Attention composed of ops. */
typedef struct eg__attention_parts {
    eg_tensor *weights; /* before dropout; NULL: out of memory, or what recorded words say */
    eg_tensor *hidden;  /* bool, broadcasts to the weights: where nothing is seen; NULL: everything is */
    eg_tensor *empty;   /* bool [.., t or 1, 1]: rows that see nothing; their weights sum up to 1; NULL: none */
    eg_tensor *slope;   /* of the soft cap; NULL: there is none */
} eg__attention_parts;
eg__attention_parts eg__attention_compose(eg_tensor *q, eg_tensor *k, eg_tensor *mask, eg_tensor *slopes,
                                          const eg__attention_opts *o);
/* How far t queries stand from s keys, [t, s], below 0, beside x: what slopes are multiplied with. */
eg_tensor *eg__attention_nearness(const eg_tensor *x, int64_t t, int64_t s, const eg__attention_opts *o);
/* x with `value` where the bool says, each broadcast to the other, or x where there is none. */
eg_tensor *eg__attention_fill(eg_tensor *x, eg_tensor *where, double value);

#endif
