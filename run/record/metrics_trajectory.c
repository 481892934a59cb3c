/* metrics_trajectory.c - how far the way that a camera is said to have gone is from the true one. */
#include <math.h>

#include <egret/ops.h>

#include "lib/core/device.h"
#include "lib/ops/optable.h"
#include "run/record/metrics.h"

static eg_status check(const char *op, const eg_tensor *path, const eg_tensor *truth, eg_path_fit fit)
{
    eg_status st = eg__check(path, op, "path");
    st = st ? st : eg__check(truth, op, "truth");
    if (st) {
        return st;
    }
    if (!eg__same_shape(path, truth) || path->ndim != 3 || path->shape[2] != 3 || !path->shape[1]) {
        return eg__fail(EG_ESHAPE, op, "path %s and truth %s must be alike, [N, T, 3]", EG__SHAPE_OF(path),
                        EG__SHAPE_OF(truth));
    }
    if (!eg__is_float(path->dtype) || !eg__is_float(truth->dtype)) {
        return eg__fail(EG_EDTYPE, op, "path is %s and truth %s, must be floats", eg_dtype_name((eg_dtype)path->dtype),
                        eg_dtype_name((eg_dtype)truth->dtype));
    }
    return (unsigned)fit <= EG_FIT_SCALE ? EG_OK : eg__fail(EG_EINVAL, op, "fit %d is none", (int)fit);
}

static eg_tensor *middle(eg_tensor *points)
{
    return eg_mean(points, .axes = EG_AXES(1), .keepdim = true);
}

/* The sum over a path, [N, 1, 1]. */
static eg_tensor *sum_of(eg_tensor *x)
{
    return eg_sum(x, .axes = EG_AXES(1, 2), .keepdim = true);
}

/* a / b, and 1 where a path stays where it is. */
static eg_tensor *ratio(eg_tensor *a, eg_tensor *b)
{
    eg_tensor *still = eg_eq_scalar(b, 0);
    return eg_where(still, eg_ones_like(b), eg_div(a, eg_masked_fill(b, still, 1)));
}

/* Both about their middles: what turns p onto t at best, no reflection. */
static eg_tensor *turned(eg_tensor *p, eg_tensor *t)
{
    eg_tensor *u, *s, *vh;
    if (eg_svd(eg_matmul(eg_transpose(p, 1, 2), t), &u, &s, &vh)) {
        return NULL;
    }
    eg_tensor *sign = eg_reshape(eg_sign(eg_det(eg_matmul(u, vh))), EG_SHAPE(p->shape[0], 1, 1));
    eg_tensor *last = eg_mul(eg_slice(u, 2, 2, 3, 1), sign);
    eg_tensor *proper = eg_concat((eg_tensor *[]){eg_slice(u, 2, 0, 2, 1), last}, 2, 2);
    return eg_matmul(p, eg_matmul(proper, vh));
}

static eg_tensor *fitted(eg_tensor *path, eg_tensor *truth, eg_path_fit fit)
{
    path = eg_cast(eg_detach(path), EG_F64);
    truth = path ? eg_cast(eg_to(eg_detach(truth), eg__device(path)), EG_F64) : NULL;
    const bool begins = fit == EG_FIT_SCALE;
    eg_tensor *at = begins ? eg_slice(truth, 1, 0, 1, 1) : middle(truth);
    eg_tensor *p = eg_sub(path, begins ? eg_slice(path, 1, 0, 1, 1) : middle(path)), *t = eg_sub(truth, at);
    if (!begins && p && t) {
        p = turned(p, t);
    }
    if (fit != EG_FIT_RIGID) {
        p = eg_mul(p, ratio(sum_of(eg_mul(p, t)), sum_of(eg_square(p))));
    }
    return eg_add(p, at);
}

eg_tensor *eg_trajectory_fitted(eg_tensor *path, eg_tensor *truth, eg_path_fit fit)
{
    if (check("eg_trajectory_fitted", path, truth, fit)) {
        return NULL;
    }
    eg_scope scope = eg_scope_push();
    return scope.depth ? eg_scope_pop(scope, fitted(path, truth, fit)) : NULL;
}

/* How many paths, and the sum of what they are off by. */
static eg_tensor *sums_of(eg_tensor *path, eg_tensor *truth, eg_path_fit fit)
{
    const double points = (double)path->shape[1];
    eg_tensor *off = eg_sub(fitted(path, truth, fit), eg_to(eg_detach(truth), eg__device(path)));
    eg_tensor *roots = eg_sqrt(eg_sum(eg_square(off), .axes = EG_AXES(1, 2)));
    eg_tensor *errors = eg_div_scalar(roots, fit == EG_FIT_SCALE ? points : sqrt(points));
    eg_tensor *all[2] = {eg_sum(eg_ones_like(errors)), eg_sum(errors)};
    return eg_stack(all, 2, 0);
}

eg_status eg_metrics_trajectory_with(eg_metrics *m, const char *name, eg_tensor *path, eg_tensor *truth,
                                     const eg_trajectory_options *options)
{
    static const char op[] = "eg_metrics_trajectory";
    eg_trajectory_options o;
    eg__options(&o, sizeof o, options);
    eg_status st = eg__metrics_check(op, m, name);
    st = st ? st : check(op, path, truth, o.fit);
    if (st) {
        return st;
    }
    eg_scope scope = eg_scope_push();
    st = scope.depth ? eg__metrics_gather(m, op, name, EG__METRIC_TRAJECTORY, sums_of(path, truth, o.fit)) : eg__why();
    eg_scope_pop(scope, NULL);
    return st;
}
