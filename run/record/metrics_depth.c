/* metrics_depth.c - what depths are worth beside true ones, as is usual since Eigen et al. 2014. */
#include <math.h>
#include <stdlib.h>

#include <egret/ops.h>

#include "lib/core/device.h"
#include "lib/ops/optable.h"
#include "run/record/metrics.h"

enum { SUMS = EG_DEPTH_DELTA3 + 2 }; /* how many photos, then a sum of each score */

static eg_status check(const char *op, const eg_metrics *m, const char *name, const eg_tensor *depth,
                       const eg_tensor *truth, const eg_depth_options *o)
{
    eg_status st = eg__metrics_check(op, m, name);
    st = st ? st : eg__check(depth, op, "depth");
    st = st ? st : eg__check(truth, op, "truth");
    if (st) {
        return st;
    }
    if (!eg__same_shape(depth, truth) || depth->ndim < 2) {
        return eg__fail(EG_ESHAPE, op, "depth %s and truth %s must be alike, [N, ...]", EG__SHAPE_OF(depth),
                        EG__SHAPE_OF(truth));
    }
    if (!eg__is_float(depth->dtype) || !eg__is_float(truth->dtype)) {
        return eg__fail(EG_EDTYPE, op, "depth is %s and truth %s, must be floats",
                        eg_dtype_name((eg_dtype)depth->dtype), eg_dtype_name((eg_dtype)truth->dtype));
    }
    return o->least > 0 && o->most > o->least && isfinite(o->most)
               ? EG_OK
               : eg__fail(EG_EINVAL, op, "depths from %g to %g: must be above 0 and rise", o->least, o->most);
}

/* Of a row, the mean of both in the middle; NULL of none. */
static eg_tensor *median(eg_tensor *x)
{
    eg_tensor *low, *high;
    return !eg_kthvalue(x, (x->n + 1) / 2, 0, &low, NULL) && !eg_kthvalue(x, x->n / 2 + 1, 0, &high, NULL)
               ? eg_mul_scalar(eg_add(low, high), 0.5)
               : NULL;
}

/* The share of those that are off by no more than this factor. */
static eg_tensor *near(eg_tensor *off, double factor)
{
    return eg_mean(eg_cast(eg_lt_scalar(off, factor), EG_F64));
}

/* The sums of one photo; of none where no depth of it is known. */
static eg_tensor *scores(eg_tensor *depth, eg_tensor *truth, const eg_depth_options *o)
{
    eg_tensor *known = eg_logical_and(eg_gt_scalar(truth, o->least), eg_lt_scalar(truth, o->most));
    eg_tensor *t = eg_masked_select(truth, known), *d = eg_masked_select(depth, known);
    if (!t || !d) {
        return NULL;
    }
    if (!t->n) {
        return eg_zeros_like(eg_expand(eg_sum(t), EG_SHAPE(SUMS)));
    }
    if (o->median) {
        d = eg_mul(d, eg_div(median(t), median(d)));
    }
    d = eg_clamp(d, o->least, o->most);
    eg_tensor *e = eg_sub(d, t), *off = eg_maximum(eg_div(d, t), eg_div(t, d));
    eg_tensor *logs = eg_sub(eg_log(d), eg_log(t));
    eg_tensor *all[SUMS] = {
        eg_ones_like(eg_sum(t)),        eg_mean(eg_div(eg_abs(e), t)),     eg_mean(eg_div(eg_square(e), t)),
        eg_sqrt(eg_mean(eg_square(e))), eg_sqrt(eg_mean(eg_square(logs))), near(off, 1.25),
        near(off, 1.25 * 1.25),         near(off, 1.25 * 1.25 * 1.25)};
    for (int i = 0; i < SUMS; i++) {
        if (!all[i]) {
            return NULL;
        }
    }
    return eg_stack(all, SUMS, 0);
}

static eg_tensor *sums_of(eg_tensor *depth, eg_tensor *truth, const eg_depth_options *o)
{
    depth = eg_cast(eg_detach(depth), EG_F64);
    truth = depth ? eg_cast(eg_to(eg_detach(truth), eg__device(depth)), EG_F64) : NULL;
    eg_tensor *sum = NULL;
    for (int64_t i = 0; truth && i < depth->shape[0]; i++) {
        eg_tensor *one =
            scores(eg_flatten(eg_select(depth, 0, i), 0, -1), eg_flatten(eg_select(truth, 0, i), 0, -1), o);
        sum = sum && one ? eg_add(sum, one) : one;
        if (!sum) {
            return NULL;
        }
    }
    return truth && !sum ? eg_zeros_like(eg_expand(eg_sum(depth), EG_SHAPE(SUMS))) : sum;
}

eg_status eg_metrics_depth_with(eg_metrics *m, const char *name, eg_tensor *depth, eg_tensor *truth,
                                const eg_depth_options *options)
{
    static const char op[] = "eg_metrics_depth";
    eg_depth_options o;
    eg__options(&o, sizeof o, options);
    o.least = o.least != 0 ? o.least : 1e-3;
    o.most = o.most != 0 ? o.most : 80;
    if (check(op, m, name, depth, truth, &o)) {
        return eg__why();
    }
    eg_scope scope = eg_scope_push();
    eg_status st =
        scope.depth ? eg__metrics_gather(m, op, name, EG__METRIC_DEPTH, sums_of(depth, truth, &o)) : eg__why();
    eg_scope_pop(scope, NULL);
    return st;
}

double eg_metrics_depth_score(eg_metrics *m, const char *name, eg_depth_score score)
{
    static const char op[] = "eg_metrics_depth_score";
    if ((unsigned)score > EG_DEPTH_DELTA3) {
        eg__fail(EG_EINVAL, op, "score %d is none", (int)score);
        return NAN;
    }
    eg__metric *own = eg__metrics_asked(op, m, name, EG__METRIC_DEPTH, EG__METRIC_DEPTH);
    double *s = own ? eg__metrics_sums(op, own) : NULL, value = s ? s[score + 1] / s[0] : NAN;
    free(s);
    return value;
}
