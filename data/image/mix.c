/* mix.c - batches mixed with themselves, and their labels. */
#include <egret/data/augment.h>
#include <egret/data/image_ops.h>
#include <egret/ops.h>
#include <math.h>

#include "data/image/checks.h"
#include "data/dice.h"

/* ---- how much -------------------------------------------------------------------------------------- */

enum { WORDS = 128 }; /* of the stream; more are hardly ever needed */

/* The logarithm of a number with the gamma distribution of shape a (Marsaglia and Tsang 2000). */
static double log_gamma(eg__dice *dice, double a)
{
    double boost = a < 1 ? log(1 - eg__dice_between(dice, 0, 1)) / a : 0;
    double d = (a < 1 ? a + 1 : a) - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        float normal, other;
        uint32_t w = eg__dice_word(dice);
        eg__normal_pair(w, eg__dice_word(dice), &normal, &other);
        double x = (double)normal, v = 1 + c * x, u = 1 - eg__dice_between(dice, 0, 1);
        v = v * v * v;
        if (v > 0 && log(u) < x * x / 2 + d - d * v + d * log(v)) {
            return log(d * v) + boost;
        }
    }
}

/* Drawn from Beta(a, a), or given. */
static double draw_share(eg__dice *dice, const eg_mix_options *o)
{
    double a = eg__or(o->alpha, 1);
    if (o->share != 0) {
        return eg__or(o->share, 0);
    }
    double one = log_gamma(dice, a), other = log_gamma(dice, a);
    return 1 / (1 + exp(other - one));
}

static eg_status check(const char *op, const eg_tensor *x, const eg_tensor *y, int64_t classes, const eg_mix_options *o)
{
    eg_status st = eg__check(x, op, "x");
    st = st ? st : eg__check(y, op, "y");
    if (!st && !(o->alpha == 0 || (o->alpha > 0 && isfinite(o->alpha)))) {
        st = eg__fail(EG_EINVAL, op, "alpha is %g, must be above 0", o->alpha);
    }
    double share = eg__or(o->share, 0);
    if (!st && !(share >= 0 && share <= 1)) {
        st = eg__fail(EG_EINVAL, op, "share is %g, must be in 0..1", share);
    }
    bool dense = !st && eg__is_float(y->dtype);
    bool fits = !st && x->ndim >= 1 && y->ndim == 1 + dense && y->shape[0] == x->shape[0];
    if (!st && (!fits || classes < 1 || (dense && y->shape[1] != classes))) {
        st = eg__fail(EG_ESHAPE, op, "a batch %s and labels %s do not go together, for %lld classes", EG__SHAPE_OF(x),
                      EG__SHAPE_OF(y), (long long)classes);
    }
    return st;
}

/* ---- mixing ---------------------------------------------------------------------------------------- */

static eg_tensor *blend(eg_tensor *x, double share)
{
    return eg_add(eg_mul_scalar(x, share), eg_mul_scalar(eg_roll(x, 1, 0), 1 - share));
}

static eg_tensor *blend_labels(eg_tensor *y, int64_t classes, double share)
{
    return blend(eg__is_float(y->dtype) ? eg_cast(y, EG_F32) : eg_one_hot(y, classes, .on = 1, .dtype = EG_F32), share);
}

/* Where results go: NULL so far. */
static eg_status ready(const char *op, eg_tensor **mixed, eg_tensor **soft)
{
    if (mixed) {
        *mixed = NULL;
    }
    if (soft) {
        *soft = NULL;
    }
    return mixed && soft ? EG_OK : eg__null_argument(op, mixed ? "soft" : "mixed");
}

/* Both results, or none. */
static eg_status give(eg_scope s, eg_tensor *x, eg_tensor *labels, eg_tensor **mixed, eg_tensor **soft)
{
    bool ok = s.depth && x && labels;
    eg_status st = ok ? eg_scope_pop_n(s, ((eg_tensor *[]){x, labels}), 2) : eg__why();
    if (!ok && s.depth) {
        eg_scope_pop(s, NULL);
    }
    *mixed = st ? NULL : x;
    *soft = st ? NULL : labels;
    return st;
}

eg_status eg_mixup_with(eg_tensor *x, eg_tensor *y, int64_t classes, eg_tensor **mixed, eg_tensor **soft,
                        const eg_mix_options *options)
{
    static const char op[] = "eg_mixup";
    eg_mix_options o;
    eg__options(&o, sizeof o, options);
    if (ready(op, mixed, soft) || check(op, x, y, classes, &o)) {
        return eg__why();
    }
    if (!eg__is_float(x->dtype)) {
        return eg__fail(EG_EDTYPE, op, "x is %s, must be floats", eg_dtype_name((eg_dtype)x->dtype));
    }
    eg__dice dice = eg__dice_take(op, WORDS);
    double share = draw_share(&dice, &o);
    eg_scope s = eg_scope_push();
    return give(s, blend(x, share), blend_labels(y, classes, share), mixed, soft);
}

/* A box [height, width] that is true where another image comes in, and the share of what stays. */
static eg_tensor *draw_box(const eg_tensor *x, eg__dice *dice, double *share)
{
    int64_t height = eg_size(x, -2), width = eg_size(x, -1);
    int64_t column = eg__dice_below(dice, width), row = eg__dice_below(dice, height);
    double half = 0.5 * sqrt(1 - *share);
    int64_t wide = (int64_t)(half * (double)width), tall = (int64_t)(half * (double)height);
    int64_t top = eg__max(row - tall, 0), bottom = eg__min(row + tall, height);
    int64_t left = eg__max(column - wide, 0), right = eg__min(column + wide, width);
    eg_tensor *mask = eg__empty_on(0, EG_SHAPE(height, width), EG_BOOL);
    bool *p = mask ? (bool *)eg__ptr(mask) : NULL;
    for (int64_t i = 0; p && i < height; i++) {
        for (int64_t j = 0; j < width; j++) {
            *p++ = i >= top && i < bottom && j >= left && j < right;
        }
    }
    *share = 1 - (double)((bottom - top) * (right - left)) / (double)(height * width);
    return mask ? eg_to(mask, eg_device_of(x)) : NULL;
}

eg_status eg_cutmix_with(eg_tensor *x, eg_tensor *y, int64_t classes, eg_tensor **mixed, eg_tensor **soft,
                         const eg_mix_options *options)
{
    static const char op[] = "eg_cutmix";
    eg_mix_options o;
    eg__options(&o, sizeof o, options);
    if (ready(op, mixed, soft) || check(op, x, y, classes, &o) || eg__check_image(x, op)) {
        return eg__why();
    }
    if (x->ndim < 4 || !eg_size(x, -1) || !eg_size(x, -2)) {
        return eg__fail(EG_ESHAPE, op, "%s is not a batch of images [N, C, H, W]", EG__SHAPE_OF(x));
    }
    eg__dice dice = eg__dice_take(op, WORDS);
    double share = draw_share(&dice, &o);
    eg_scope s = eg_scope_push();
    eg_tensor *mask = draw_box(x, &dice, &share);
    eg_tensor *other = mask ? eg_where(mask, eg_roll(x, 1, 0), x) : NULL;
    return give(s, other, blend_labels(y, classes, share), mixed, soft);
}
