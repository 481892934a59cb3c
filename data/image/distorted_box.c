/* distorted_box.c - a random part of an image that still shows enough of an object. The steps, their order and their
 * arithmetic in f32 are those of TensorFlow's kernel (core/kernels/image/sample_distorted_bounding_box_op.cc), and so
 * are the words of the stream they read: from one seed come its boxes. */
#include <egret/data/image_ops.h>
#include <egret/ops.h>
#include <math.h>

#include "data/dice.h"
#include "lib/core/device.h"
#include "lib/ops/dispatch.h"

static const char me[] = "eg_image_distorted_box";

enum { ATTEMPTS = 100, WORDS = 4, MOST_ATTEMPTS = 1 << 20 }; /* words of the stream an attempt may take */

typedef struct part {
    int32_t top, left, bottom, right;
} part;

typedef struct search {
    int32_t height, width;
    float covered, ratio[2], area[2]; /* area: of the image, in pixels */
    const float *boxes;               /* [n][4]: top, left, bottom, right in 0..1 */
    int64_t n;
    eg__dice dice;
} search;

/* ---- as TensorFlow makes numbers of words ---------------------------------------------------------- */

static float uniform(eg__dice *d)
{
    return (float)(eg__dice_word(d) & 0x7fffff) * 0x1p-23f;
}

/* 0..n-1: words below 2^32 mod n are passed over. */
static int32_t below(eg__dice *d, uint32_t n)
{
    if (!(n & (n - 1))) {
        return (int32_t)(eg__dice_word(d) & (n - 1));
    }
    uint32_t least = UINT32_MAX % n + 1, word;
    do {
        word = eg__dice_word(d);
    } while (word < least);
    return (int32_t)(word % n);
}

/* ---- an attempt ------------------------------------------------------------------------------------ */

static int32_t rounded(float x)
{
    return (int32_t)lrintf(fminf(x, 0x1p30f));
}

static float product(int32_t a, int32_t b)
{
    return (float)((int64_t)a * b);
}

static float pixels(part p)
{
    return product(p.bottom - p.top, p.right - p.left);
}

/* The height of a part of this shape: any between what the least area asks for and what the most allows. */
static int32_t draw_height(search *s, float ratio)
{
    int32_t low = rounded(sqrtf(s->area[0] / ratio)), high = rounded(sqrtf(s->area[1] / ratio));
    if (rounded((float)high * ratio) > s->width) {
        high = (int32_t)fmin((s->width + 0.5 - (double)1e-7f) / ratio, 0x1p30);
    }
    high = high < s->height ? high : s->height;
    return low < high ? low + below(&s->dice, (uint32_t)(high - low + 1)) : high;
}

/* A part with this ratio of width to height, if there is one. It never reaches the last row or column unless it is as
 * long as the image: so it is there, too. */
static bool draw_part(search *s, float ratio, part *p)
{
    int32_t h = draw_height(s, ratio), w = rounded((float)h * ratio);
    if (product(w, h) < s->area[0]) { /* rounding may have led out of the range */
        w = rounded((float)++h * ratio);
    }
    if (product(w, h) > s->area[1]) {
        w = rounded((float)--h * ratio);
    }
    float area = product(w, h);
    if (area < s->area[0] || area > s->area[1] || w > s->width || h > s->height || w < 1 || h < 1) {
        return false;
    }
    p->top = h < s->height ? below(&s->dice, (uint32_t)(s->height - h)) : 0;
    p->left = w < s->width ? below(&s->dice, (uint32_t)(s->width - w)) : 0;
    p->bottom = p->top + h;
    p->right = p->left + w;
    return true;
}

static part object(const search *s, int64_t i)
{
    const float *b = s->boxes + 4 * i, h = (float)s->height, w = (float)s->width;
    return (part){(int32_t)(b[0] * h), (int32_t)(b[1] * w), (int32_t)(b[2] * h), (int32_t)(b[3] * w)};
}

/* Whether enough of one of the objects is in the part. */
static bool shows_enough(const search *s, part p)
{
    for (int64_t i = 0; i < s->n; i++) {
        part o = object(s, i), both = {.top = (int32_t)eg__max(o.top, p.top),
                                       .left = (int32_t)eg__max(o.left, p.left),
                                       .bottom = (int32_t)eg__min(o.bottom, p.bottom),
                                       .right = (int32_t)eg__min(o.right, p.right)};
        bool touch = both.top <= both.bottom && both.left <= both.right;
        if (pixels(o) >= 1 && (touch ? pixels(both) : 0) / pixels(o) >= s->covered) {
            return true;
        }
    }
    return false;
}

/* ---- the call -------------------------------------------------------------------------------------- */

static eg_status check_options(int64_t height, int64_t width, const eg_distorted_box_options *o)
{
    if (height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX || height > INT32_MAX / width) {
        return eg__fail(EG_ESHAPE, me, "%lld x %lld pixels, up to 2^31 - 1 are possible", (long long)height,
                        (long long)width);
    }
    if (!(o->covered >= 0 && isfinite(o->covered))) {
        return eg__fail(EG_EINVAL, me, "covered is %g, must be 0 or more", o->covered);
    }
    if (!(o->ratio[0] > 0 && o->ratio[1] >= o->ratio[0] && isfinite(o->ratio[1]))) {
        return eg__fail(EG_EINVAL, me, "ratio %g..%g must be above 0 and rise", o->ratio[0], o->ratio[1]);
    }
    if (!(o->area[0] > 0 && o->area[1] >= o->area[0] && o->area[1] <= 1)) {
        return eg__fail(EG_EINVAL, me, "area %g..%g must be above 0, up to 1, and rise", o->area[0], o->area[1]);
    }
    return o->attempts < 0 || o->attempts > MOST_ATTEMPTS
               ? eg__fail(EG_EINVAL, me, "attempts is %d, must be 0..%d", o->attempts, MOST_ATTEMPTS)
               : EG_OK;
}

/* The objects as f32 [n, 4], borrowed, into s; of none the image. */
static eg_status read_boxes(search *s, const eg_distorted_box_options *o)
{
    static const float whole[4] = {0, 0, 1, 1};
    eg_tensor *b = o->boxes;
    s->boxes = whole;
    s->n = 1;
    if (!b) {
        return EG_OK;
    }
    eg_status st = eg__check(b, me, "boxes");
    st = st ? st : eg__host_only(b, me, "boxes");
    if (!st && (b->ndim != 2 || b->shape[1] != 4 || !eg__is_float(b->dtype))) {
        st = eg__fail(b->ndim != 2 || b->shape[1] != 4 ? EG_ESHAPE : EG_EDTYPE, me,
                      "boxes are %s %s, not floats [n, 4]", eg_dtype_name((eg_dtype)b->dtype), EG__SHAPE_OF(b));
    }
    if (!st && !b->n && !o->or_image) {
        st = eg__fail(EG_EINVAL, me, "there are no boxes; .or_image takes the image then");
    }
    if (st || !b->n) {
        return st;
    }
    eg_tensor *dense = eg_contiguous(eg_cast(eg_detach(b), EG_F32));
    if (!dense) {
        return eg__why();
    }
    s->boxes = (const float *)eg__ptr(dense);
    s->n = dense->shape[0];
    for (int64_t i = 0; i < dense->n; i++) {
        if (!(s->boxes[i] >= 0 && s->boxes[i] <= 1)) {
            return eg__fail(EG_EINVAL, me, "box %lld has a side at %g, must be in 0..1", (long long)i / 4,
                            (double)s->boxes[i]);
        }
    }
    return EG_OK;
}

static void find(search *s, int attempts, part *found)
{
    for (int i = 0; i < attempts; i++) {
        float ratio = uniform(&s->dice) * (s->ratio[1] - s->ratio[0]) + s->ratio[0];
        part p;
        if (draw_part(s, ratio, &p) && pixels(p) >= 1 && shows_enough(s, p)) {
            *found = p;
            return;
        }
    }
    *found = (part){0, 0, s->height, s->width};
}

static void fill_in(double range[2], double low, double high)
{
    if (range[0] == 0 && range[1] == 0) {
        range[0] = low;
        range[1] = high;
    }
}

eg_status eg_image_distorted_box_with(int64_t height, int64_t width, int64_t out[4],
                                      const eg_distorted_box_options *options)
{
    eg_distorted_box_options o;
    part p;
    if (!out) {
        return eg__null_argument(me, "out");
    }
    eg__options(&o, sizeof o, options);
    o.covered = eg__or(o.covered, 0.1);
    fill_in(o.ratio, 0.75, 1.33);
    fill_in(o.area, 0.05, 1);
    if (check_options(height, width, &o)) {
        return eg__why();
    }
    search s = {
        .height = (int32_t)height,
        .width = (int32_t)width,
        .covered = (float)o.covered,
        .ratio = {(float)o.ratio[0], (float)o.ratio[1]},
        .area = {(float)o.area[0] * (float)width * (float)height, (float)o.area[1] * (float)width * (float)height}};
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? read_boxes(&s, &o) : eg__why();
    if (!st) {
        int attempts = o.attempts ? o.attempts : ATTEMPTS;
        s.dice = eg__dice_take(me, WORDS * (int64_t)attempts);
        find(&s, attempts, &p);
        memcpy(out, ((int64_t[4]){p.top, p.left, p.bottom - p.top, p.right - p.left}), 4 * sizeof *out);
    }
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return st;
}
