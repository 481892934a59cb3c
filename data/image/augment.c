/* augment.c - changes of images that augmentation draws from: of levels by tables, sharpness, holes. */
#include <egret/data/augment.h>
#include <egret/data/image_ops.h>
#include <egret/ops.h>
#include <math.h>

#include "data/image/checks.h"
#include "data/dice.h"
#include "data/image/loops.h"
#include "data/image/pixels.h"
#include "data/image/tones.h"

/* ---- levels: of bytes each channel goes through a table -------------------------------------------- */

/* What becomes of the 256 levels of n pixels, `step` bytes apart. */
typedef void make_table(const uint8_t *p, int64_t n, int64_t step, double how, uint8_t table[256]);

static eg_tensor *by_tables(eg_tensor *x, make_table *make, double how)
{
    uint8_t table[256];
    eg_tensor *y = eg_contiguous(eg__channels_inmost(x, false));
    y = y && y->storage == x->storage ? eg_copy(y) : y;
    int64_t pixels = eg_size(x, -1) * eg_size(x, -2), channels = eg_size(x, -3);
    uint8_t *p = y ? (uint8_t *)eg__ptr(y) : NULL;
    for (int64_t k = 0; p && k < x->n; k += pixels * channels) {
        for (int64_t c = 0; c < channels; c++) {
            make(p + k + c, pixels, channels, how, table);
            for (int64_t i = 0; i < pixels; i++) {
                p[k + i * channels + c] = table[p[k + i * channels + c]];
            }
        }
    }
    return eg__channels_as(y, x);
}

static eg_status check(const eg_tensor *x, const char *op)
{
    eg_status st = eg__check_image(x, op);
    return st ? st : eg__host_only(x, op, "x");
}

static void posterized(const uint8_t *p, int64_t n, int64_t step, double bits, uint8_t table[256])
{
    (void)p, (void)n, (void)step;
    for (int v = 0; v < 256; v++) {
        table[v] = (uint8_t)(v & ~((1 << (8 - (int)bits)) - 1));
    }
}

eg_tensor *eg_image_posterize(eg_tensor *x, int bits)
{
    static const char op[] = "eg_image_posterize";
    if (check(x, op)) {
        return NULL;
    }
    if (bits < 0 || bits > 8) {
        return eg__fail_null(EG_EINVAL, op, "bits is %d, must be 0..8", bits);
    }
    eg_scope s = eg_scope_push();
    double steps = (double)(1 << bits);
    eg_tensor *y = x->dtype == EG_U8
                       ? by_tables(x, posterized, bits)
                       : eg_mul_scalar(eg_clamp(eg_floor(eg_mul_scalar(eg_detach(x), steps)), 0, steps - 1), 1 / steps);
    return s.depth ? eg_scope_pop(s, y) : NULL;
}

static void solarized(const uint8_t *p, int64_t n, int64_t step, double threshold, uint8_t table[256])
{
    (void)p, (void)n, (void)step;
    for (int v = 0; v < 256; v++) {
        table[v] = (uint8_t)(v >= threshold ? 255 - v : v);
    }
}

eg_tensor *eg_image_solarize(eg_tensor *x, double threshold)
{
    static const char op[] = "eg_image_solarize";
    if (check(x, op) || eg__check_finite(op, "threshold", threshold)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *f = eg_detach(x);
    eg_tensor *y = x->dtype == EG_U8 ? by_tables(x, solarized, threshold)
                                     : eg_where(eg_ge_scalar(f, threshold), eg_add_scalar(eg_neg(f), 1), f);
    return s.depth ? eg_scope_pop(s, y) : NULL;
}

static void stretched(const uint8_t *p, int64_t n, int64_t step, double how, uint8_t table[256])
{
    int low = 255, high = 0;
    (void)how;
    for (int64_t i = 0; i < n; i++) {
        low = p[i * step] < low ? p[i * step] : low;
        high = p[i * step] > high ? p[i * step] : high;
    }
    for (int v = 0; v < 256; v++) {
        double to = high > low ? (v - low) * 255.0 / (high - low) : v;
        table[v] = (uint8_t)(fmin(fmax(to, 0), 255) + 0.5);
    }
}

eg_tensor *eg_image_autocontrast(eg_tensor *x)
{
    if (check(x, "eg_image_autocontrast")) {
        return NULL;
    }
    if (!x->n) {
        return x;
    }
    eg_scope s = eg_scope_push();
    if (x->dtype == EG_U8) {
        return s.depth ? eg_scope_pop(s, by_tables(x, stretched, 0)) : NULL;
    }
    eg_tensor *f = eg_detach(x);
    eg_tensor *low = eg_min(f, .axes = EG_AXES(-2, -1), .keepdim = true);
    eg_tensor *range = eg_sub(eg_max(f, .axes = EG_AXES(-2, -1), .keepdim = true), low);
    eg_tensor *y = eg_clamp(eg_div(eg_sub(f, low), range), 0, 1);
    return s.depth ? eg_scope_pop(s, eg_where(eg_gt_scalar(range, 0), y, f)) : NULL;
}

static void equalized(const uint8_t *p, int64_t n, int64_t step, double how, uint8_t table[256])
{
    int64_t count[256] = {0}, sum = 0;
    int top = 255;
    (void)how;
    for (int64_t i = 0; i < n; i++) {
        count[p[i * step]]++;
    }
    while (top > 0 && !count[top]) {
        top--;
    }
    int64_t each = (n - count[top]) / 255;
    for (int v = 0; v < 256; v++) {
        table[v] = (uint8_t)(each ? eg__min((sum + each / 2) / each, 255) : v);
        sum += count[v];
    }
    table[0] = each ? 0 : table[0];
}

eg_tensor *eg_image_equalize(eg_tensor *x)
{
    if (check(x, "eg_image_equalize")) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    bool bytes = x->dtype == EG_U8;
    eg_tensor *u = bytes ? x : eg_image_to_u8(eg_detach(x));
    eg_tensor *y = u ? by_tables(u, equalized, 0) : NULL;
    y = bytes ? y : eg_cast(eg_mul_scalar(eg_cast(y, EG_F32), 1.0 / 255), (eg_dtype)x->dtype);
    return s.depth ? eg_scope_pop(s, y) : NULL;
}

/* ---- sharpness ------------------------------------------------------------------------------------- */

EG__LOOP(eg__sharpen_fn, eg__sharpen_run, best_sharpen)

/* One image [height, width, channels]: from into to, which is a copy of it. */
static void sharpen(const char *from, char *to, int64_t height, int64_t width, int64_t channels, bool bytes,
                    double factor)
{
    int64_t each = bytes ? 1 : (int64_t)sizeof(float), row = width * channels * each, first = channels * each;
    for (int64_t y = 1; y + 1 < height; y++) {
        const char *p = from + y * row + first;
        eg__sharpening s = {.above = p - row,
                            .row = p,
                            .below = p + row,
                            .to = to + y * row + first,
                            .n = (width - 2) * channels,
                            .step = channels,
                            .centre = (float)(factor + (1 - factor) * 5 / 13),
                            .side = (float)((1 - factor) / 13),
                            .bytes = bytes};
        best_sharpen()(&s);
    }
}

static eg_tensor *sharpened(eg_tensor *x, double factor)
{
    bool bytes = x->dtype == EG_U8;
    eg_tensor *f = bytes ? x : eg_clamp(eg_cast(eg_detach(x), EG_F32), 0, 1);
    eg_tensor *from = bytes || x->dtype == EG_F32 ? x : f, *to = f ? eg__channels_copied(f) : NULL;
    from = eg_contiguous(eg__channels_inmost(eg_detach(from), false));
    int64_t height = eg_size(x, -2), width = eg_size(x, -1), channels = eg_size(x, -3), n = height * width * channels;
    int64_t each = bytes ? 1 : (int64_t)sizeof(float);
    for (int64_t k = 0; to && from && k < x->n; k += n) {
        sharpen((const char *)eg__ptr(from) + k * each, (char *)eg__ptr(to) + k * each, height, width, channels, bytes,
                factor);
    }
    return from ? eg__channels_as(eg_cast(to, (eg_dtype)x->dtype), x) : NULL;
}

eg_tensor *eg_image_sharpness(eg_tensor *x, double factor)
{
    static const char op[] = "eg_image_sharpness";
    if (eg__check_colours(x, op, factor) || eg__host_only(x, op, "x")) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    bool small = eg_size(x, -1) <= 2 || eg_size(x, -2) <= 2; /* all of it is border */
    return s.depth ? eg_scope_pop(s, small ? x : sharpened(x, factor)) : NULL;
}

/* ---- holes ----------------------------------------------------------------------------------------- */

eg_tensor *eg_image_cutout_with(eg_tensor *x, int64_t side, const eg_cutout_options *options)
{
    static const char op[] = "eg_image_cutout";
    enum { MOST_HOLES = 1 << 16 };
    eg_cutout_options o;
    eg__options(&o, sizeof o, options);
    if (check(x, op) || eg__check_finite(op, "fill", o.fill)) {
        return NULL;
    }
    if (side < 0 || o.holes < 0 || o.holes > MOST_HOLES) {
        return eg__fail_null(EG_EINVAL, op, "side is %lld, must be 0 or more; holes is %d, must be 0..%d",
                             (long long)side, o.holes, MOST_HOLES);
    }
    int64_t rows = eg_size(x, -2), columns = eg_size(x, -1), holes = o.holes ? o.holes : 1;
    eg__dice dice = eg__dice_take(op, 2 * holes);
    eg_scope s = eg_scope_push();
    eg_tensor *y = eg_copy(eg_detach(x)), *fill = eg__from_on(0, EG_SCALAR, EG_F64, &o.fill);
    for (int64_t i = 0; i < holes && y && fill && x->n; i++) {
        int64_t top = eg__dice_below(&dice, rows) - side / 2, left = eg__dice_below(&dice, columns) - side / 2;
        int64_t bottom = eg__min(top + side, rows), right = eg__min(left + side, columns);
        top = eg__max(top, 0);
        left = eg__max(left, 0);
        bool any = bottom > top && right > left;
        eg_tensor *hole = any ? eg_image_crop(y, top, left, bottom - top, right - left) : y;
        y = !any || eg_copy_(hole, fill) ? y : NULL;
    }
    return s.depth ? eg_scope_pop(s, fill ? y : NULL) : NULL;
}
