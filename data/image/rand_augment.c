/* rand_augment.c - changes by name and magnitude, and drawing of them. */
#include <egret/data/augment.h>
#include <egret/data/image_ops.h>
#include <math.h>

#include "data/image/checks.h"
#include "data/dice.h"

/* ---- one change ------------------------------------------------------------------------------------ */

static eg_tensor *move(eg_tensor *x, const eg_augment_options *o, double shear_x, double shear_y, double right,
                       double down)
{
    const double degrees = 180 / 3.14159265358979323846;
    eg_affine_options a = {.size = sizeof a,
                           .shear = {atan(shear_x) * degrees, atan(shear_y) * degrees},
                           .right = right,
                           .down = down,
                           .centre = {EG_ZERO, EG_ZERO},
                           .nearest = !o->bilinear,
                           .fill = o->fill};
    return eg_image_affine_with(x, &a);
}

static eg_tensor *turn(eg_tensor *x, const eg_augment_options *o, double degrees)
{
    eg_rotate_options r = {.size = sizeof r, .nearest = !o->bilinear, .fill = o->fill};
    return eg_image_rotate_with(x, degrees, &r);
}

static eg_tensor *change(eg_tensor *x, eg_augment what, double m, const eg_augment_options *o)
{
    switch (what) {
    case EG_AUGMENT_SHEAR_X:
        return move(x, o, m, 0, 0, 0);
    case EG_AUGMENT_SHEAR_Y:
        return move(x, o, 0, m, 0, 0);
    case EG_AUGMENT_TRANSLATE_X:
        return move(x, o, 0, 0, trunc(m), 0);
    case EG_AUGMENT_TRANSLATE_Y:
        return move(x, o, 0, 0, 0, trunc(m));
    case EG_AUGMENT_ROTATE:
        return turn(x, o, m);
    case EG_AUGMENT_BRIGHTNESS:
        return eg_image_brightness(x, 1 + m);
    case EG_AUGMENT_COLOUR:
        return eg_image_saturation(x, 1 + m);
    case EG_AUGMENT_CONTRAST:
        return eg_image_contrast(x, 1 + m);
    case EG_AUGMENT_SHARPNESS:
        return eg_image_sharpness(x, 1 + m);
    case EG_AUGMENT_POSTERIZE:
        return eg_image_posterize(x, (int)fmin(fmax(m, -1), 9));
    case EG_AUGMENT_SOLARIZE:
        return eg_image_solarize(x, x->dtype == EG_U8 ? m : m / 255);
    case EG_AUGMENT_AUTOCONTRAST:
        return eg_image_autocontrast(x);
    case EG_AUGMENT_EQUALIZE:
        return eg_image_equalize(x);
    default:
        return x;
    }
}

eg_tensor *eg_image_augment_with(eg_tensor *x, eg_augment what, double magnitude, const eg_augment_options *options)
{
    static const char op[] = "eg_image_augment";
    eg_augment_options o;
    eg__options(&o, sizeof o, options);
    if (eg__check_colours(x, op, 0) || eg__check_finite(op, "magnitude", magnitude)) {
        return NULL;
    }
    return (unsigned)what < EG_AUGMENT_COUNT ? change(x, what, magnitude, &o)
                                             : eg__fail_null(EG_EINVAL, op, "no change %d", what);
}

/* ---- any ------------------------------------------------------------------------------------------- */

/* The magnitude at a place of 0..last of the range. */
static double magnitude(const eg_tensor *x, eg_augment what, double place, double last)
{
    double part = last > 0 ? place / last : 0;
    switch (what) {
    case EG_AUGMENT_SHEAR_X:
    case EG_AUGMENT_SHEAR_Y:
        return 0.3 * part;
    case EG_AUGMENT_TRANSLATE_X:
        return 150.0 / 331 * (double)eg_size(x, -1) * part;
    case EG_AUGMENT_TRANSLATE_Y:
        return 150.0 / 331 * (double)eg_size(x, -2) * part;
    case EG_AUGMENT_ROTATE:
        return 30 * part;
    case EG_AUGMENT_BRIGHTNESS:
    case EG_AUGMENT_COLOUR:
    case EG_AUGMENT_CONTRAST:
    case EG_AUGMENT_SHARPNESS:
        return 0.9 * part;
    case EG_AUGMENT_POSTERIZE:
        return 8 - rint(4 * part);
    case EG_AUGMENT_SOLARIZE:
        return 255 * (1 - part);
    default:
        return 0;
    }
}

static bool goes_both_ways(eg_augment what)
{
    return what >= EG_AUGMENT_SHEAR_X && what <= EG_AUGMENT_SHARPNESS;
}

eg_tensor *eg_image_rand_augment_with(eg_tensor *x, const eg_rand_augment_options *options)
{
    static const char op[] = "eg_image_rand_augment";
    enum { MOST_OPS = 1000 };
    eg_rand_augment_options o;
    eg__options(&o, sizeof o, options);
    int ops = (int)eg__or_count(o.ops, 2), bins = o.bins ? o.bins : 31;
    double place = eg__or(o.magnitude, 9);
    if (eg__check_colours(x, op, 0) || eg__check_finite(op, "fill", o.fill)) {
        return NULL;
    }
    if (ops < 0 || ops > MOST_OPS || bins < 1 || !(place >= 0 && place < bins)) {
        return eg__fail_null(EG_EINVAL, op, "ops is %d, must be 0..%d; magnitude is %g, must be 0 or more and below %d",
                             ops, MOST_OPS, place, bins);
    }
    eg__dice dice = eg__dice_take(op, 2 * (int64_t)ops);
    eg_augment_options how = {.size = sizeof how, .bilinear = o.bilinear, .fill = o.fill};
    eg_scope s = eg_scope_push();
    eg_tensor *y = s.depth ? x : NULL;
    for (int i = 0; i < ops && y; i++) {
        eg_augment what = (eg_augment)eg__dice_below(&dice, EG_AUGMENT_COUNT);
        double m = magnitude(x, what, place, bins - 1);
        bool back = eg__dice_chance(&dice, 0.5) && goes_both_ways(what);
        y = change(y, what, back ? -m : m, &how);
    }
    return s.depth ? eg_scope_pop(s, y) : NULL;
}
