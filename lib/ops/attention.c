/* attention.c - scaled dot-product attention, as products and a softmax. */
#include <math.h>

#include <egret/ops.h>

#include "lib/internal.h"

static const char me[] = "eg_attention";

static eg_status check(const eg_tensor *q, const eg_tensor *k, const eg_tensor *v,
                       const eg_attention_options *o)
{
    const eg_tensor *all[3] = {q, k, v};
    for (int i = 0; i < 3; i++) {
        if (eg__check(all[i], me, (const char *[]){"q", "k", "v"}[i])) {
            return eg__why();
        }
        if (all[i]->ndim < 2) {
            return eg__fail(EG_ESHAPE, me, "%c is %s, must be [..., rows, columns]", "qkv"[i],
                            EG__SHAPE_OF(all[i]));
        }
    }
    if (q->shape[q->ndim - 1] != k->shape[k->ndim - 1] ||
        k->shape[k->ndim - 2] != v->shape[v->ndim - 2]) {
        return eg__fail(EG_ESHAPE, me, "q %s, k %s, v %s: columns of q and k, rows of k and v must agree",
                        EG__SHAPE_OF(q), EG__SHAPE_OF(k), EG__SHAPE_OF(v));
    }
    if (!(o->dropout >= 0 && o->dropout <= 1) || !isfinite(o->scale)) {
        return eg__fail(EG_EINVAL, me, "dropout is %g, must be 0..1; scale is %g, must be finite",
                        o->dropout, o->scale);
    }
    return o->mask ? eg__check(o->mask, me, "mask") : EG_OK;
}

/* What may not be seen at -inf. */
static eg_tensor *masked(eg_tensor *scores, const eg_attention_options *o)
{
    if (o->causal) {
        int64_t rows = eg_size(scores, -2), columns = eg_size(scores, -1);
        eg_tensor *seen = eg_tri(rows, columns, columns - rows, EG_BOOL);
        scores = eg_masked_fill(scores, eg_logical_not(seen), -(double)INFINITY);
    }
    if (o->mask && o->mask->dtype == EG_BOOL) {
        return eg_masked_fill(scores, eg_logical_not(o->mask), -(double)INFINITY);
    }
    return o->mask ? eg_add(scores, o->mask) : scores;
}

eg_tensor *eg_attention_with(eg_tensor *q, eg_tensor *k, eg_tensor *v,
                             const eg_attention_options *given)
{
    eg_attention_options o;
    eg__options(&o, sizeof o, given);
    if (o.weights) {
        *o.weights = NULL;
    }
    if (check(q, k, v, &o)) {
        return NULL;
    }
    double scale = o.scale != 0 ? o.scale : 1 / sqrt((double)eg__max(eg_size(q, -1), 1));
    eg_scope s = eg_scope_push();
    eg_tensor *scores = eg_matmul(eg_mul_scalar(q, scale), eg_transpose(k, -1, -2));
    eg_tensor *weights = eg_softmax(masked(scores, &o), -1);
    eg_tensor *out[2] = {eg_matmul(eg_dropout(weights, o.dropout, true), v),
                         o.weights ? weights : NULL};
    if (eg_scope_pop_n(s, out, 2) || !out[0]) {
        return NULL;
    }
    if (o.weights) {
        *o.weights = out[1];
    }
    return out[0];
}
