/* clip.c - the norm of gradients, and clipping those in hand. */
#include "optim/optim.h"
#include "optim/options.h"

#include <stdlib.h>

eg_status eg__clip_options(const char *op, const eg_clip_options *options, eg_clip_options *clip)
{
    eg__options(clip, sizeof *clip, options);
    clip->p = eg__or(clip->p, 2);
    if (clip->p != 1 && clip->p != 2 && clip->p != (double)INFINITY) {
        return eg__fail(EG_EINVAL, op, "p is %g, must be 1, 2 or infinity", clip->p);
    }
    return eg__optim_number(op, "eps", clip->eps, (double)INFINITY);
}

static eg_status check(const char *op, eg_tensor *const *gradients, int n, double max)
{
    if (!gradients || n < 0) {
        return gradients ? eg__fail(EG_EINVAL, op, "n is %d", n) : eg__null_argument(op, "gradients");
    }
    if (!(max > 0)) {
        return eg__fail(EG_EINVAL, op, "max is %g, must be above 0", max);
    }
    for (int i = 0; i < n; i++) {
        const eg_tensor *g = gradients[i];
        if (g && eg__check(g, op, "a gradient")) {
            return eg__why();
        }
        if (g && !eg__is_float(g->dtype)) {
            return eg__fail(EG_EDTYPE, op, "gradient %d is %s, not a float", i, eg_dtype_name((eg_dtype)g->dtype));
        }
    }
    return EG_OK;
}

static eg_status norm_of(const char *op, eg_tensor *const *gradients, int n, double p, double *norm)
{
    eg_tensor **dense = eg__malloc(((size_t)n + 1) * sizeof *dense);
    eg_status st = dense ? EG_OK : eg__no_memory(op, (n + 1) * (int64_t)sizeof *dense);
    for (int i = 0; i < n && !st; i++) {
        eg_tensor *g = gradients[i];
        /* The order of the elements does not matter. */
        dense[i] = g && !(g->flags & EG__PACKED) ? eg_contiguous(g) : g;
        st = g && !dense[i] ? eg__why() : EG_OK;
    }
    st = st ? st : eg__total_norm(op, dense, n, p, norm);
    free(dense);
    return st;
}

static eg_status clip_norm(const char *op, eg_tensor *const *gradients, int n, double max, const eg_clip_options *o,
                           double *norm)
{
    eg_status st = norm_of(op, gradients, n, o->p, norm);
    if (!st && !isfinite(*norm)) {
        return eg__fail(EG_EINVAL, op, "the norm of the gradients is %g; nothing was scaled", *norm);
    }
    double scale = st ? 1 : max / (*norm + o->eps);
    eg_tensor *by = scale < 1 ? eg_scalar(scale, EG_F64) : NULL;
    for (int i = 0; i < n && scale < 1 && !st; i++) {
        st = gradients[i] && !eg_mul_(gradients[i], by) ? eg__why() : EG_OK;
    }
    return st;
}

eg_status eg_clip_grad_norm_with(eg_tensor *const *gradients, int n, double max, double *norm,
                                 const eg_clip_options *options)
{
    static const char op[] = "eg_clip_grad_norm";
    eg_clip_options o;
    double measured = (double)NAN;
    if (check(op, gradients, n, max) || eg__clip_options(op, options, &o)) {
        return eg__why();
    }
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? clip_norm(op, gradients, n, max, &o, &measured) : eg__why();
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    if (norm) {
        *norm = measured;
    }
    return st;
}

eg_status eg_clip_grad_value(eg_tensor *const *gradients, int n, double max)
{
    eg_status st = check("eg_clip_grad_value", gradients, n, max);
    for (int i = 0; i < n && !st; i++) {
        st = gradients[i] && !eg_clamp_(gradients[i], -max, max) ? eg__why() : EG_OK;
    }
    return st;
}
