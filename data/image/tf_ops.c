/* tf_ops.c - image operations as TensorFlow has them. */
#include <egret/data/image_ops.h>
#include <egret/ops.h>
#include <math.h>

#include "data/image/checks.h"
#include "data/dice.h"
#include "data/image/tones.h"

/* ---- colours --------------------------------------------------------------------------------------- */

/* y, made from x's floats, as x's dtype: of u8 rounded and limited, else as it is. */
static eg_tensor *as_was(eg_tensor *y, const eg_tensor *x)
{
    return x->dtype == EG_U8 ? eg_cast(eg_add_scalar(y, 0.5), EG_U8) : y;
}

eg_tensor *eg_image_tf_brightness(eg_tensor *x, double delta)
{
    static const char op[] = "eg_image_tf_brightness";
    if (eg__check_image(x, op) || eg__check_finite(op, "delta", delta)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    bool bytes = x->dtype == EG_U8;
    eg_tensor *y = eg_add_scalar(bytes ? eg_cast(x, EG_F32) : x, bytes ? 255 * delta : delta);
    return s.depth ? eg_scope_pop(s, as_was(y, x)) : NULL;
}

eg_tensor *eg_image_tf_contrast(eg_tensor *x, double factor)
{
    static const char op[] = "eg_image_tf_contrast";
    if (eg__check_image(x, op) || eg__check_finite(op, "factor", factor)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *y = x->dtype == EG_U8 ? eg_cast(x, EG_F32) : x;
    eg_tensor *mean = eg_mean(y, .axes = EG_AXES(-2, -1), .keepdim = true);
    y = eg_add(eg_mul_scalar(y, factor), eg_mul_scalar(mean, 1 - factor));
    return s.depth ? eg_scope_pop(s, as_was(y, x)) : NULL;
}

static void change_pixels(void *user, eg__toning *t)
{
    eg__colour_run(t, user, 1, NULL, 0);
}

/* What is done in HSV. */
static eg_tensor *change(eg_tensor *x, eg__change by)
{
    if (eg_size(x, -3) == 1) {
        return x;
    }
    eg_scope s = eg_scope_push();
    return s.depth ? eg_scope_pop(s, eg__each_image(x, change_pixels, &by)) : NULL;
}

eg_tensor *eg_image_tf_saturation(eg_tensor *x, double factor)
{
    static const char op[] = "eg_image_tf_saturation";
    return eg__check_colours(x, op, factor) || eg__host_only(x, op, "x")
               ? NULL
               : change(x, (eg__change){EG__SATURATION, (float)factor});
}

static eg_tensor *hue(const char *op, eg_tensor *x, double shift, double most)
{
    if (eg__check_colours(x, op, 0) || eg__host_only(x, op, "x")) {
        return NULL;
    }
    if (!(shift >= -most && shift <= most)) {
        return eg__fail_null(EG_EINVAL, op, "shift is %g, must be in %g..%g", shift, -most, most);
    }
    return change(x, (eg__change){EG__HUE, (float)shift});
}

eg_tensor *eg_image_tf_hue(eg_tensor *x, double shift)
{
    return hue("eg_image_tf_hue", x, shift, 1);
}

eg_tensor *eg_image_hue(eg_tensor *x, double shift)
{
    return hue("eg_image_hue", x, shift, 0.5);
}

/* f(x, a number from low..high), where f is what `op` says. */
static eg_tensor *by_chance(const char *op, eg_tensor *x, double low, double high, double least, double most,
                            eg_tensor *(*f)(eg_tensor *x, double by))
{
    if (eg__check_image(x, op)) {
        return NULL;
    }
    if (!(low >= least && low <= high && high <= most)) {
        return eg__fail_null(EG_EINVAL, op, "%g..%g must be in %g..%g and rise", low, high, least, most);
    }
    eg__dice dice = eg__dice_take(op, 1);
    return f(x, eg__dice_between(&dice, low, high));
}

enum { MOST = 1000000 };

eg_tensor *eg_image_tf_random_brightness(eg_tensor *x, double most)
{
    return by_chance("eg_image_tf_random_brightness", x, -most, most, -MOST, MOST, eg_image_tf_brightness);
}

eg_tensor *eg_image_tf_random_contrast(eg_tensor *x, double low, double high)
{
    return by_chance("eg_image_tf_random_contrast", x, low, high, 0, MOST, eg_image_tf_contrast);
}

eg_tensor *eg_image_tf_random_saturation(eg_tensor *x, double low, double high)
{
    return by_chance("eg_image_tf_random_saturation", x, low, high, 0, MOST, eg_image_tf_saturation);
}

eg_tensor *eg_image_tf_random_hue(eg_tensor *x, double most)
{
    return by_chance("eg_image_tf_random_hue", x, -most, most, -0.5, 0.5, eg_image_tf_hue);
}

/* ---- numbers for networks -------------------------------------------------------------------------- */

static eg_tensor *standardise(eg_tensor *x)
{
    static const int axes[] = {-3, -2, -1};
    eg_tensor *y = eg__is_float(x->dtype) ? x : eg_cast(x, EG_F32);
    eg_tensor *mean = eg_mean(y, .axes = {3, {axes[0], axes[1], axes[2]}}, .keepdim = true);
    y = eg_sub(y, mean);
    eg_tensor *variance = eg_mean(eg_square(y), .axes = {3, {axes[0], axes[1], axes[2]}}, .keepdim = true);
    double n = (double)(eg_size(x, -3) * eg_size(x, -2) * eg_size(x, -1));
    return eg_div(y, eg_clamp(eg_sqrt(variance), 1 / sqrt(n), INFINITY));
}

eg_tensor *eg_image_standardise(eg_tensor *x)
{
    if (eg__check_image(x, "eg_image_standardise")) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    return s.depth ? eg_scope_pop(s, standardise(x)) : NULL;
}

/* ---- cutting and moving ---------------------------------------------------------------------------- */

/* Of `from` places in the middle of `to`: those in front that go, or, negative, come. */
static int64_t front(int64_t from, int64_t to)
{
    return from > to ? (from - to) / 2 : -((to - from) / 2);
}

/* Rows and columns from top and left on, which may lie outside: there is `fill`. */
static eg_tensor *window(eg_tensor *x, int64_t top, int64_t left, int64_t height, int64_t width, double fill)
{
    int64_t rows = eg_size(x, -2), columns = eg_size(x, -1);
    int64_t above = eg__min(eg__max(-top, 0), height), before = eg__min(eg__max(-left, 0), width);
    int64_t first = eg__min(eg__max(top, 0), rows), start = eg__min(eg__max(left, 0), columns);
    int64_t tall = eg__max(eg__min(height - above, rows - first), 0);
    int64_t wide = eg__max(eg__min(width - before, columns - start), 0);
    x = eg_image_crop(x, first, start, tall, wide);
    return tall == height && wide == width
               ? x
               : eg_image_pad(x, above, height - above - tall, before, width - before - wide, EG_PAD_CONSTANT, fill);
}

eg_tensor *eg_image_crop_or_pad(eg_tensor *x, int64_t height, int64_t width)
{
    static const char op[] = "eg_image_crop_or_pad";
    if (eg__check_image(x, op)) {
        return NULL;
    }
    if (height < 1 || width < 1) {
        return eg__fail_null(EG_ESHAPE, op, "%lld x %lld pixels", (long long)height, (long long)width);
    }
    eg_scope s = eg_scope_push();
    int64_t top = front(eg_size(x, -2), height), left = front(eg_size(x, -1), width);
    return s.depth ? eg_scope_pop(s, window(x, top, left, height, width, 0)) : NULL;
}

eg_tensor *eg_image_translate_with(eg_tensor *x, double right, double down, const eg_translate_options *options)
{
    static const char op[] = "eg_image_translate";
    eg_translate_options o;
    eg__options(&o, sizeof o, options);
    if (eg__check_image(x, op) || eg__check_finite(op, "right", right) || eg__check_finite(op, "down", down) ||
        eg__check_finite(op, "fill", o.fill)) {
        return NULL;
    }
    int64_t rows = eg_size(x, -2), columns = eg_size(x, -1);
    double most_down = fmin(fmax(down, (double)-rows - 1), (double)rows + 1);
    double most_right = fmin(fmax(right, (double)-columns - 1), (double)columns + 1);
    bool whole = most_down == rint(most_down) && most_right == rint(most_right);
    if (!o.nearest && !whole) {
        eg_affine_options move = {.size = sizeof move, .right = right, .down = down, .fill = o.fill};
        return eg_image_affine_with(x, &move);
    }
    eg_scope s = eg_scope_push(); /* the pixel met is floor(y - down + 1/2) */
    int64_t top = (int64_t)floor(0.5 - most_down), left = (int64_t)floor(0.5 - most_right);
    return s.depth ? eg_scope_pop(s, window(x, top, left, rows, columns, o.fill)) : NULL;
}
