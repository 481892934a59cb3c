/* filter.c - which logits may be drawn. */
#include <math.h>

#include "nn/decode/decode.h"

/* -infinity where x is below its row's k-th largest. */
static eg_tensor *keep_k(eg_tensor *x, int64_t k)
{
    eg_tensor *values = NULL;
    if (k >= x->shape[x->ndim - 1] || eg_topk(x, k, -1, true, &values, NULL)) {
        return k >= x->shape[x->ndim - 1] ? x : NULL;
    }
    return eg_masked_fill(x, eg_lt(x, eg_slice(values, -1, k - 1, k, 1)), -(double)INFINITY);
}

/* -infinity where those that are likelier come to p without it. */
static eg_tensor *keep_p(eg_tensor *x, double p)
{
    eg_tensor *values = NULL, *places = NULL;
    if (eg_sort(x, -1, true, &values, &places)) {
        return NULL;
    }
    eg_tensor *shares = eg_softmax(eg_cast(values, x->dtype == EG_F64 ? EG_F64 : EG_F32), -1);
    eg_tensor *before = eg_sub(eg_cumsum(shares, -1), shares), *hidden = eg_ge_scalar(before, p);
    /* The likeliest stays, however small p is. */
    hidden = hidden ? eg_logical_and(hidden, eg_gt_scalar(before, 0)) : NULL;
    return hidden ? eg_masked_fill(x, eg_scatter(hidden, -1, places, hidden), -(double)INFINITY) : NULL;
}

eg_tensor *eg_filter_logits_with(eg_tensor *logits, const eg_filter_options *given)
{
    static const char op[] = "eg_filter_logits";
    eg_filter_options o;
    eg__options(&o, sizeof o, given);
    if (eg__check(logits, op, "logits")) {
        return NULL;
    }
    if (logits->ndim < 1 || !eg__is_float(logits->dtype)) {
        return eg__fail_null(EG_ESHAPE, op, "logits are %s %s, must be floats [..., words]",
                             eg_dtype_name((eg_dtype)logits->dtype), EG__SHAPE_OF(logits));
    }
    if (!(o.temperature >= 0) || !isfinite(o.temperature) || o.top_k < 0 || !(o.top_p >= 0 && o.top_p <= 1)) {
        return eg__fail_null(EG_EINVAL, op,
                             "temperature is %g, must be finite and not negative; top_k is %lld, must not be negative; "
                             "top_p is %g, must be 0..1",
                             o.temperature, (long long)o.top_k, o.top_p);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *x = s.depth ? eg_detach(logits) : NULL;
    x = x && o.temperature > 0 && o.temperature != 1 ? eg_mul_scalar(x, 1 / o.temperature) : x;
    x = x && o.top_k && eg_numel(x) ? keep_k(x, o.top_k) : x;
    x = x && o.top_p > 0 && o.top_p < 1 && eg_numel(x) ? keep_p(x, o.top_p) : x;
    return eg_scope_pop(s, x);
}

eg_tensor *eg__penalise(eg_tensor *logits, eg_tensor *ids, double penalty)
{
    eg_tensor *there = eg_gather(logits, 1, ids);
    eg_tensor *less =
        eg_where(eg_gt_scalar(there, 0), eg_mul_scalar(there, 1 / penalty), eg_mul_scalar(there, penalty));
    return eg_scatter(logits, 1, ids, less);
}
