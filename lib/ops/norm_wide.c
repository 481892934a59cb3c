/* norm_wide.c - normalisation of f32 whose squared deviations leave the range of f32: by the same kernel in f64. */
#include <float.h>
#include <math.h>

#include "lib/ops/norm.h"
#include "lib/ops/options.h"
#include "lib/ops/optable.h"

static bool all_finite(const eg_tensor *x)
{
    const float *p = (const float *)eg__ptr(x);
    for (int64_t i = 0; i < x->n; i++) {
        if (!isfinite(p[i])) {
            return false;
        }
    }
    return true;
}

/* Returns whether some of n numbers are not low..FLT_MAX. */
static bool any_outside(const float *p, int64_t n, float low)
{
    enum { LANES = 16 };
    int outside = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int l = 0; l < LANES; l++) {
            outside |= !(p[i + l] >= low) | !(p[i + l] <= FLT_MAX);
        }
    }
    for (; i < n; i++) {
        outside |= !(p[i] >= low) | !(p[i] <= FLT_MAX);
    }
    return outside;
}

bool eg__norm_leaves_f32(const eg_tensor *x, const eg_tensor *var, double eps)
{
    const double least = 1e-30; /* below it squares were subnormal */
    return x->dtype == EG_F32 && x->n &&
           unlikely(any_outside((const float *)eg__ptr(var), var->n, eps >= least ? 0 : (float)(least - eps))) &&
           all_finite(x);
}

/* Of the shape of t, in f64; it lives as long as the call's other temporaries. */
static eg_tensor *wide_like(const eg__call *c, const eg_tensor *t)
{
    eg__desc d = {.dtype = EG_F64, .ndim = t->ndim, .device = t->device};
    memcpy(d.shape, t->shape, sizeof d.shape);
    eg__desc_dense(&d);
    return eg__new(&d, c->op->name, c->op->id);
}

static eg_status widen(const eg__call *c, eg_tensor *t, eg_tensor **to)
{
    *to = t ? wide_like(c, t) : NULL;
    return !t ? EG_OK : *to ? eg__run(&eg__op_cast, &t, 1, &(eg__cast_opts){EG_F64}, *to) : EG_ENOMEM;
}

static eg_status make_results(const eg__call *c, eg_tensor *const *like, eg__call *wide)
{
    for (int j = 0; j < 3; j++) {
        wide->out[j] = wide_like(c, like[j]);
        if (!wide->out[j]) {
            return EG_ENOMEM;
        }
    }
    return EG_OK;
}

/* Mean and variance of in[1], which f32 did not hold, anew to in[2] and in[3]. */
static eg_status find_moments(const eg__call *c, eg__kernel *forward, eg_tensor **in)
{
    eg_tensor *of[3] = {in[1], NULL, NULL};
    eg__call wide = *c;
    wide.in = of;
    wide.nin = 3;
    eg_status st = make_results(c, (eg_tensor *[]){in[1], in[2], in[3]}, &wide);
    st = st ? st : forward(&wide);
    in[2] = wide.out[1];
    in[3] = wide.out[2];
    return st;
}

eg_status eg__norm_in_f64(const eg__call *c, eg__kernel *forward, eg__kernel *backward)
{
    enum { VALUES = 3, SLOPES = 6 };
    eg_tensor *in[SLOPES] = {NULL};
    eg_status st = EG_OK;
    for (int i = 0; i < c->nin && i < (backward ? SLOPES : VALUES) && !st; i++) {
        st = widen(c, c->in[i], &in[i]);
    }
    st = st || !backward ? st : find_moments(c, forward, in);
    eg__call wide = *c;
    wide.in = in;
    wide.nin = backward ? SLOPES : VALUES;
    st = st ? st : make_results(c, c->out, &wide);
    st = st ? st : (backward ? backward : forward)(&wide);
    for (int j = 0; j < 3 && !st; j++) {
        eg_tensor *y = c->out[j];
        st = eg__run(&eg__op_cast, &wide.out[j], 1, &(eg__cast_opts){y->dtype}, y);
    }
    return st;
}
