/* image_ops.c - image operations made of public ops. */
#include <egret/data/image_ops.h>
#include <egret/ops.h>
#include <math.h>

#include "data/image/checks.h"
#include "data/image/tones.h"

/* ---- the way from u8 to f32 and back -------------------------------------------------------- */

static eg_tensor *as_float(eg_tensor *x)
{
    return x->dtype == EG_U8 ? eg_cast(x, EG_F32) : x;
}

/* y, made from x's floats, as x's dtype: limited, of u8 rounded. */
static eg_tensor *limited(eg_tensor *y, const eg_tensor *x)
{
    return x->dtype == EG_U8 ? eg_cast(eg_add_scalar(y, 0.5), EG_U8) : eg_clamp(y, 0, 1);
}

/* ---- views ---------------------------------------------------------------------------------- */

eg_tensor *eg_image_crop(eg_tensor *x, int64_t top, int64_t left, int64_t height, int64_t width)
{
    static const char op[] = "eg_image_crop";
    if (eg__check_image(x, op)) {
        return NULL;
    }
    int64_t rows = eg_size(x, -2), columns = eg_size(x, -1);
    if (top < 0 || left < 0 || height < 0 || width < 0 || height > rows || width > columns || top > rows - height ||
        left > columns - width) {
        return eg__fail_null(EG_EINDEX, op, "%lld x %lld pixels at (%lld, %lld) leave %s", (long long)height,
                             (long long)width, (long long)top, (long long)left, EG__SHAPE_OF(x));
    }
    return eg_slice(eg_slice(x, -2, top, top + height, 1), -1, left, left + width, 1);
}

eg_tensor *eg_image_center_crop(eg_tensor *x, int64_t height, int64_t width)
{
    double top = rint((double)(eg_size(x, -2) - height) / 2);
    double left = rint((double)(eg_size(x, -1) - width) / 2);
    return eg__check_image(x, "eg_image_center_crop") ? NULL
                                                      : eg_image_crop(x, (int64_t)top, (int64_t)left, height, width);
}

/* One of 0..n-1. */
static int64_t draw(int64_t n)
{
    double u = eg_item(eg_uniform(EG_SCALAR, 0, 1, EG_F64));
    return u >= 0 ? (int64_t)(u * (double)n) : -1;
}

/* Adds the axis with probability p; false: out of memory. */
static bool chance(double p, int axis, eg_axes *axes)
{
    double u = p > 0 ? eg_item(eg_uniform(EG_SCALAR, 0, 1, EG_F64)) : 1;
    if (u < p) {
        axes->axis[axes->count++] = axis;
    }
    return !isnan(u);
}

eg_tensor *eg_image_random_crop(eg_tensor *x, int64_t height, int64_t width)
{
    if (eg__check_image(x, "eg_image_random_crop")) {
        return NULL;
    }
    int64_t down = eg_size(x, -2) - height, right = eg_size(x, -1) - width;
    if (height < 0 || width < 0 || down < 0 || right < 0) {
        return eg_image_crop(x, 0, 0, height, width); /* says why not */
    }
    eg_scope s = eg_scope_push();
    int64_t top = draw(down + 1), left = draw(right + 1);
    eg_tensor *y = top < 0 || left < 0 ? NULL : eg_image_crop(x, top, left, height, width);
    return s.depth ? eg_scope_pop(s, y) : NULL;
}

eg_tensor *eg_image_flip_horizontal(eg_tensor *x)
{
    return eg__check_image(x, "eg_image_flip_horizontal") ? NULL : eg_flip(x, EG_AXES(-1));
}

eg_tensor *eg_image_flip_vertical(eg_tensor *x)
{
    return eg__check_image(x, "eg_image_flip_vertical") ? NULL : eg_flip(x, EG_AXES(-2));
}

eg_tensor *eg_image_random_flip(eg_tensor *x, double horizontal, double vertical)
{
    static const char op[] = "eg_image_random_flip";
    if (eg__check_image(x, op)) {
        return NULL;
    }
    if (!(horizontal >= 0 && horizontal <= 1 && vertical >= 0 && vertical <= 1)) {
        return eg__fail_null(EG_EINVAL, op, "probabilities %g and %g are not in 0..1", horizontal, vertical);
    }
    eg_scope s = eg_scope_push();
    eg_axes axes = {0};
    bool drawn = s.depth && chance(horizontal, -1, &axes) && chance(vertical, -2, &axes);
    eg_tensor *y = !drawn ? NULL : axes.count ? eg_flip(x, axes) : x;
    return s.depth ? eg_scope_pop(s, y) : NULL;
}

eg_tensor *eg_image_turn(eg_tensor *x, int quarters)
{
    if (eg__check_image(x, "eg_image_turn")) {
        return NULL;
    }
    switch (quarters & 3) {
    case 1:
        return eg_flip(eg_transpose(x, -1, -2), EG_AXES(-2));
    case 2:
        return eg_flip(x, EG_AXES(-1, -2));
    case 3:
        return eg_flip(eg_transpose(x, -1, -2), EG_AXES(-1));
    default:
        return x;
    }
}

/* ---- sizes ---------------------------------------------------------------------------------- */

eg_tensor *eg_image_pad(eg_tensor *x, int64_t top, int64_t bottom, int64_t left, int64_t right, eg_pad_mode mode,
                        double value)
{
    if (eg__check_image(x, "eg_image_pad")) {
        return NULL;
    }
    eg_pad_options o = {.size = sizeof o, .mode = mode, .value = value};
    o.before[x->ndim - 2] = top;
    o.after[x->ndim - 2] = bottom;
    o.before[x->ndim - 1] = left;
    o.after[x->ndim - 1] = right;
    return eg_pad_with(x, &o);
}

/* [C, H, W] and more than four axes as [N, C, H, W]. */
static eg_tensor *as_batch(eg_tensor *x)
{
    return !x ? NULL : x->ndim == 3 ? eg_unsqueeze(x, 0) : x->ndim > 4 ? eg_flatten(x, 0, x->ndim - 4) : x;
}

static eg_tensor *resize(eg_tensor *x, int64_t height, int64_t width, const eg_resize_options *o)
{
    bool nearest = o && (o->mode == EG_RESIZE_NEAREST || o->mode == EG_RESIZE_NEAREST_EXACT);
    bool through_float = x->dtype == EG_U8 && !nearest;
    eg_tensor *y = as_batch(through_float ? as_float(x) : x);
    y = eg_resize_with(y, EG_SHAPE(height, width), o);
    if (through_float) {
        y = eg_cast(eg_add_scalar(y, 0.5), EG_U8); /* limits, too */
    }
    eg_shape shape = eg_shape_of(x);
    shape.dim[x->ndim - 2] = height;
    shape.dim[x->ndim - 1] = width;
    return x->ndim == 3 ? eg_squeeze(y, EG_AXES(0)) : x->ndim > 4 ? eg_reshape(y, shape) : y;
}

eg_tensor *eg_image_resize_with(eg_tensor *x, int64_t height, int64_t width, const eg_resize_options *options)
{
    static const char op[] = "eg_image_resize";
    if (eg__check_image(x, op)) {
        return NULL;
    }
    if (height < 1 || width < 1) {
        return eg__fail_null(EG_ESHAPE, op, "%lld x %lld pixels", (long long)height, (long long)width);
    }
    eg_scope s = eg_scope_push();
    return s.depth ? eg_scope_pop(s, resize(x, height, width, options)) : NULL;
}

/* ---- colours -------------------------------------------------------------------------------- */

/* Of floats, whatever their range. */
static eg_tensor *gray(eg_tensor *x)
{
    static const double weights[] = {0.2989, 0.587, 0.114};
    if (!x || eg_size(x, -3) == 1) {
        return x;
    }
    eg_tensor *w = eg_cast(eg__from_on(x->device, EG_SHAPE(3, 1, 1), EG_F64, weights), (eg_dtype)x->dtype);
    return eg_sum(eg_mul(x, w), .axes = EG_AXES(-3), .keepdim = true);
}

static eg_tensor *blend(eg_tensor *a, eg_tensor *b, double share)
{
    return eg_add(eg_mul_scalar(a, share), eg_mul_scalar(b, 1 - share));
}

eg_tensor *eg_image_gray(eg_tensor *x)
{
    if (eg__check_colours(x, "eg_image_gray", 0)) {
        return NULL;
    }
    if (eg_size(x, -3) == 1) {
        return x;
    }
    eg_scope s = eg_scope_push();
    return s.depth ? eg_scope_pop(s, limited(gray(as_float(x)), x)) : NULL;
}

eg_tensor *eg_image_brightness(eg_tensor *x, double factor)
{
    if (eg__check_colours(x, "eg_image_brightness", factor)) {
        return NULL;
    }
    if (eg__bytes_at_hand(x)) {
        return eg__colour_bytes(x, EG__BRIGHTNESS, factor);
    }
    eg_scope s = eg_scope_push();
    return s.depth ? eg_scope_pop(s, limited(eg_mul_scalar(as_float(x), factor), x)) : NULL;
}

eg_tensor *eg_image_contrast(eg_tensor *x, double factor)
{
    if (eg__check_colours(x, "eg_image_contrast", factor)) {
        return NULL;
    }
    if (eg__bytes_at_hand(x)) {
        return eg__colour_bytes(x, EG__CONTRAST, factor);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *y = as_float(x);
    eg_tensor *m = eg_mean(gray(y), .axes = EG_AXES(-3, -2, -1), .keepdim = true);
    return s.depth ? eg_scope_pop(s, limited(blend(y, m, factor), x)) : NULL;
}

eg_tensor *eg_image_saturation(eg_tensor *x, double factor)
{
    if (eg__check_colours(x, "eg_image_saturation", factor)) {
        return NULL;
    }
    if (eg__bytes_at_hand(x)) {
        return eg__colour_bytes(x, EG__SATURATION, factor);
    }
    if (eg_size(x, -3) == 1) {
        return x;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *y = as_float(x);
    return s.depth ? eg_scope_pop(s, limited(blend(y, gray(y), factor), x)) : NULL;
}

static bool shaky(double v, double most)
{
    return !(v >= 0 && v <= most);
}

/* One of the four, by number. */
static eg_tensor *jitter(eg_tensor *x, int which, const eg_jitter_options *o)
{
    double amount = which == 0 ? o->brightness : which == 1 ? o->contrast : which == 2 ? o->saturation : o->hue;
    if (amount == 0) {
        return x;
    }
    double low = which == 3 ? -amount : fmax(0, 1 - amount);
    double high = which == 3 ? amount : 1 + amount;
    double drawn = eg_item(eg_uniform(EG_SCALAR, low, high, EG_F64));
    if (isnan(drawn)) {
        return NULL;
    }
    return which == 0   ? eg_image_brightness(x, drawn)
           : which == 1 ? eg_image_contrast(x, drawn)
           : which == 2 ? eg_image_saturation(x, drawn)
                        : eg_image_hue(x, drawn);
}

eg_tensor *eg_image_jitter_with(eg_tensor *x, const eg_jitter_options *options)
{
    static const char op[] = "eg_image_jitter";
    eg_jitter_options o;
    eg__options(&o, sizeof o, options);
    if (eg__check_colours(x, op, 0)) {
        return NULL;
    }
    if (shaky(o.brightness, 1e6) || shaky(o.contrast, 1e6) || shaky(o.saturation, 1e6) || shaky(o.hue, 0.5)) {
        return eg__fail_null(EG_EINVAL, op,
                             "brightness %g, contrast %g, saturation %g below 0, or hue %g not "
                             "in 0..0.5",
                             o.brightness, o.contrast, o.saturation, o.hue);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *order = s.depth ? eg_permutation(4) : NULL, *y = order ? x : NULL;
    for (int i = 0; i < 4 && y; i++) {
        y = jitter(y, (int)eg_get(order, i), &o);
    }
    return s.depth ? eg_scope_pop(s, y) : NULL;
}

/* ---- numbers for networks ------------------------------------------------------------------- */

eg_tensor *eg_image_to_float(eg_tensor *x)
{
    if (eg__check_image(x, "eg_image_to_float")) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *y = eg_cast(x, EG_F32);
    return s.depth ? eg_scope_pop(s, x->dtype == EG_U8 ? eg_mul_scalar(y, 1.0 / 255) : y) : NULL;
}

eg_tensor *eg_image_to_u8(eg_tensor *x)
{
    if (eg__check_image(x, "eg_image_to_u8")) {
        return NULL;
    }
    if (x->dtype == EG_U8) {
        return x;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *y = eg_add_scalar(eg_mul_scalar(eg_cast(x, EG_F32), 255), 0.5);
    return s.depth ? eg_scope_pop(s, eg_cast(y, EG_U8)) : NULL;
}

/* x a[c] + b[c] in f32. */
static eg_tensor *scale(eg_tensor *x, const double *a, const double *b)
{
    eg_scope s = eg_scope_push();
    eg_shape each = EG_SHAPE(eg_size(x, -3), 1, 1);
    eg_tensor *y = eg_mul(eg_cast(x, EG_F32), eg_cast(eg__from_on(x->device, each, EG_F64, a), EG_F32));
    y = eg_add(y, eg_cast(eg__from_on(x->device, each, EG_F64, b), EG_F32));
    return s.depth ? eg_scope_pop(s, y) : NULL;
}

eg_tensor *eg_image_normalise(eg_tensor *x, const double *mean, const double *std)
{
    enum { MOST = 64 };
    static const char op[] = "eg_image_normalise";
    double a[MOST], b[MOST];
    if (eg__check_image(x, op)) {
        return NULL;
    }
    if (!mean || !std) {
        return eg__null_argument(op, mean ? "std" : "mean"), NULL;
    }
    int64_t channels = eg_size(x, -3);
    if (channels > MOST) {
        return eg__fail_null(EG_ESHAPE, op, "%lld channels, %d are possible", (long long)channels, MOST);
    }
    for (int64_t c = 0; c < channels; c++) {
        if (!isfinite(mean[c]) || !isfinite(std[c]) || std[c] == 0) {
            return eg__fail_null(EG_EINVAL, op, "mean %g and std %g of channel %lld", mean[c], std[c], (long long)c);
        }
        a[c] = (x->dtype == EG_U8 ? 1.0 / 255 : 1) / std[c];
        b[c] = -mean[c] / std[c];
    }
    return scale(x, a, b);
}

eg_tensor *eg_image_preprocess(eg_tensor *x, eg_keras_mode mode)
{
    static const char op[] = "eg_image_preprocess";
    static const double caffe[] = {-103.939, -116.779, -123.68}, one[] = {1, 1, 1},
                        half[] = {1 / 127.5, 1 / 127.5, 1 / 127.5}, down[] = {-1, -1, -1};
    double a[3], b[3];
    if (eg__check_image(x, op)) {
        return NULL;
    }
    if (eg_size(x, -3) != 3) {
        return eg__fail_null(EG_ESHAPE, op, "%s has not 3 channels", EG__SHAPE_OF(x));
    }
    switch (mode) {
    case EG_KERAS_CAFFE:
        return scale(eg_flip(x, EG_AXES(-3)), one, caffe);
    case EG_KERAS_TF:
        return scale(x, half, down);
    case EG_KERAS_TORCH:
        for (int c = 0; c < 3; c++) {
            a[c] = 1 / (255 * EG_IMAGENET_STD[c]);
            b[c] = -EG_IMAGENET_MEAN[c] / EG_IMAGENET_STD[c];
        }
        return scale(x, a, b);
    default:
        return eg__fail_null(EG_EINVAL, op, "no mode %d", mode);
    }
}
