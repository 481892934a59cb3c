/* moves.c - photos resized, turned over and cut, and their boxes and masks with them. */
#include <math.h>

#include <egret/data/image_ops.h>
#include <egret/ops.h>

#include "data/dice.h"
#include "data/photos/photos.h"
#include "lib/core/device.h"

static const eg_photo none = {NULL, NULL, NULL, NULL};

/* ---- what comes and goes --------------------------------------------------------------------- */

static eg_status check(const char *op, eg_tensor *image, eg_tensor *boxes, eg_tensor *masks)
{
    if (eg__check(image, op, "image") || eg__check(boxes, op, "boxes") || (masks && eg__check(masks, op, "masks")) ||
        eg__host_only(image, op, "image") || eg__host_only(boxes, op, "boxes") ||
        (masks && eg__host_only(masks, op, "masks"))) {
        return eg__why();
    }
    if (image->ndim != 3 || image->shape[1] < 1 || image->shape[2] < 1) {
        return eg__fail(EG_ESHAPE, op, "image has shape %s, not [C, H, W]", EG__SHAPE_OF(image));
    }
    if (boxes->ndim != 2 || boxes->shape[1] != 4) {
        return eg__fail(EG_ESHAPE, op, "boxes has shape %s, not [k, 4]", EG__SHAPE_OF(boxes));
    }
    if (masks && (masks->ndim != 3 || masks->shape[0] != boxes->shape[0] || masks->shape[1] != image->shape[1] ||
                  masks->shape[2] != image->shape[2])) {
        return eg__fail(EG_ESHAPE, op, "masks has shape %s, with boxes %s and image %s", EG__SHAPE_OF(masks),
                        EG__SHAPE_OF(boxes), EG__SHAPE_OF(image));
    }
    if (!eg__is_float(boxes->dtype) || (masks && masks->dtype != EG_U8) ||
        (image->dtype != EG_U8 && !eg__is_float(image->dtype))) {
        return eg__fail(EG_EDTYPE, op, "image is %s, boxes %s, masks %s", eg_dtype_name((eg_dtype)image->dtype),
                        eg_dtype_name((eg_dtype)boxes->dtype), masks ? eg_dtype_name((eg_dtype)masks->dtype) : "none");
    }
    return EG_OK;
}

/* A scope around what makes a photo out of another. */
typedef struct work {
    eg_scope scope;
    eg_tensor *image, *boxes, *masks; /* not followed by tapes */
} work;

static bool begin(work *w, const char *op, eg_tensor *image, eg_tensor *boxes, eg_tensor *masks)
{
    *w = (work){.scope = {0}};
    if (check(op, image, boxes, masks)) {
        return false;
    }
    w->scope = eg_scope_push();
    w->image = w->scope.depth ? eg_detach(image) : NULL;
    w->boxes = w->image ? eg_detach(boxes) : NULL;
    w->masks = masks;
    return w->boxes;
}

/* Of the scope only the photo stays; a part that is missing is a failure. */
static eg_photo end(work *w, eg_photo p)
{
    const bool whole = p.image && p.boxes && p.kept && (p.masks || !w->masks);
    eg_tensor *const all[] = {p.image, p.boxes, p.kept, p.masks};
    for (int i = 0; i < 4 && whole; i++) {
        eg_keep(all[i]);
    }
    if (w->scope.depth) {
        eg_scope_pop(w->scope, NULL);
    }
    for (int i = 0; i < 4 && whole; i++) {
        if (all[i]) {
            eg_scope_adopt(all[i]);
        }
    }
    return whole ? p : none;
}

/* All objects, in their order. */
static eg_tensor *everyone(const work *w)
{
    return eg_arange(0, (double)w->boxes->shape[0], 1, EG_I64);
}

/* boxes * by + plus, for x and y. */
static eg_tensor *moved(eg_tensor *boxes, double by_x, double by_y, double plus_x, double plus_y)
{
    const double by[] = {by_x, by_y, by_x, by_y}, plus[] = {plus_x, plus_y, plus_x, plus_y};
    eg_tensor *scaled = eg_mul(boxes, eg_from_values(EG_SHAPE(4), (eg_dtype)boxes->dtype, by));
    return eg_add(scaled, eg_from_values(EG_SHAPE(4), (eg_dtype)boxes->dtype, plus));
}

/* ---- another size --------------------------------------------------------------------------------- */

static int64_t up_to(int64_t n, int64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

static eg_tensor *padded(eg_tensor *x, int64_t height, int64_t width)
{
    return x ? eg_image_pad(x, 0, height - x->shape[x->ndim - 2], 0, width - x->shape[x->ndim - 1], EG_PAD_CONSTANT, 0)
             : NULL;
}

static eg_photo fit(const work *w, const eg_photo_fit_options *o)
{
    const double h = (double)w->image->shape[1], wide = (double)w->image->shape[2];
    const double by = fmin((double)o->shorter / fmin(h, wide), (double)o->longer / fmax(h, wide));
    const int64_t height = eg__max(1, llround(h * by)), width = eg__max(1, llround(wide * by));
    const int64_t whole_h = up_to(height, o->multiple), whole_w = up_to(width, o->multiple);
    eg_photo p = {.kept = everyone(w), .boxes = moved(w->boxes, (double)width / wide, (double)height / h, 0, 0)};
    p.image = padded(eg_image_resize(w->image, height, width, .antialias = o->antialias), whole_h, whole_w);
    p.masks =
        w->masks ? padded(eg_image_resize(w->masks, height, width, .mode = EG_RESIZE_NEAREST), whole_h, whole_w) : NULL;
    return p;
}

eg_photo eg_photo_fit_with(eg_tensor *image, eg_tensor *boxes, eg_tensor *masks, const eg_photo_fit_options *options)
{
    static const char op[] = "eg_photo_fit";
    eg_photo_fit_options o;
    work w;
    eg__options(&o, sizeof o, options);
    o.shorter = o.shorter ? o.shorter : 800;
    o.longer = o.longer ? o.longer : 1333;
    o.multiple = o.multiple ? o.multiple : 1;
    if (o.shorter < 1 || o.longer < 1 || o.multiple < 1 || o.shorter > EG__MASK_MOST || o.longer > EG__MASK_MOST ||
        o.multiple > EG__MASK_MOST) {
        eg__fail(EG_EINVAL, op, "shorter is %lld, longer %lld, multiple %lld: 1 to %d can be", (long long)o.shorter,
                 (long long)o.longer, (long long)o.multiple, EG__MASK_MOST);
        return none;
    }
    return begin(&w, op, image, boxes, masks) ? end(&w, fit(&w, &o)) : end(&w, none);
}

/* ---- turned over ------------------------------------------------------------------------------------ */

static eg_photo flip(const work *w)
{
    eg_photo p = {.kept = everyone(w), .image = eg_image_flip_horizontal(w->image)};
    eg_tensor *mirrored = moved(w->boxes, -1, 1, (double)w->image->shape[2], 0);
    eg_tensor *order = eg_from_values(EG_SHAPE(4), EG_I64, (double[]){2, 1, 0, 3}); /* right is left */
    p.boxes = mirrored && order ? eg_index_select(mirrored, 1, order) : NULL;
    p.masks = w->masks ? eg_image_flip_horizontal(w->masks) : NULL;
    return p;
}

eg_photo eg_photo_flip(eg_tensor *image, eg_tensor *boxes, eg_tensor *masks)
{
    work w;
    return begin(&w, "eg_photo_flip", image, boxes, masks) ? end(&w, flip(&w)) : end(&w, none);
}

/* As it is. */
static eg_photo same(const work *w)
{
    return (eg_photo){w->image, w->boxes, w->masks, everyone(w)};
}

eg_photo eg_photo_random_flip(eg_tensor *image, eg_tensor *boxes, eg_tensor *masks, double probability)
{
    static const char op[] = "eg_photo_random_flip";
    work w;
    if (!(probability >= 0 && probability <= 1)) {
        eg__fail(EG_EINVAL, op, "probability is %g, must be 0..1", probability);
        return none;
    }
    if (!begin(&w, op, image, boxes, masks)) {
        return end(&w, none);
    }
    eg__dice dice = eg__dice_take(op, 1);
    return end(&w, eg__dice_chance(&dice, probability) ? flip(&w) : same(&w));
}

/* ---- cut ---------------------------------------------------------------------------------------------- */

/* A part of the photo. */
typedef struct window {
    int64_t top, left, height, width;
} window;

/* What is left of a box. */
static double area_in(const window *v, const double *b)
{
    const double w = fmin(b[2], (double)(v->left + v->width)) - fmax(b[0], (double)v->left);
    const double h = fmin(b[3], (double)(v->top + v->height)) - fmax(b[1], (double)v->top);
    return w > 0 && h > 0 ? w * h : 0;
}

static double area_of(const double *b)
{
    return (b[2] - b[0]) * (b[3] - b[1]);
}

static bool has_middle(const window *v, const double *b)
{
    const double x = (b[0] + b[2]) / 2, y = (b[1] + b[3]) / 2;
    return x > (double)v->left && x < (double)(v->left + v->width) && y > (double)v->top &&
           y < (double)(v->top + v->height);
}

/* Those that stay: by their middle, or by how much of the box does. */
static eg_tensor *who_stays(const double *box, int64_t n, const window *v, bool middles, double least)
{
    eg_tensor *all = eg__empty_on(0, EG_SHAPE(n), EG_I64);
    int64_t *at = all ? (int64_t *)eg__ptr(all) : NULL, kept = 0;
    for (int64_t i = 0; all && i < n; i++) {
        const double *b = box + 4 * i, left = area_in(v, b);
        if (middles ? has_middle(v, b) && left > 0 : left > least * area_of(b) && left > 0) {
            at[kept++] = i;
        }
    }
    return all ? eg_contiguous(eg_slice(all, 0, 0, kept, 1)) : NULL;
}

static eg_photo cut(const work *w, const double *box, const window *v, bool middles, double least)
{
    eg_photo p = {.kept = who_stays(box, w->boxes->shape[0], v, middles, least),
                  .image = eg_image_crop(w->image, v->top, v->left, v->height, v->width)};
    eg_tensor *some = p.kept ? eg_index_select(w->boxes, 0, p.kept) : NULL;
    some = some ? moved(some, 1, 1, -(double)v->left, -(double)v->top) : NULL;
    p.boxes = some ? eg_box_clip(some, (double)v->height, (double)v->width) : NULL;
    eg_tensor *masks = w->masks && p.kept ? eg_index_select(w->masks, 0, p.kept) : NULL;
    p.masks = masks ? eg_image_crop(masks, v->top, v->left, v->height, v->width) : NULL;
    return p;
}

/* Boxes as f64, of the scope. */
static const double *numbers(const work *w)
{
    static const double nothing;
    eg_tensor *all = eg_contiguous(eg_cast(w->boxes, EG_F64));
    return !all ? NULL : all->n ? (const double *)eg__ptr(all) : &nothing;
}

eg_photo eg_photo_crop(eg_tensor *image, eg_tensor *boxes, eg_tensor *masks, int64_t top, int64_t left, int64_t height,
                       int64_t width, double least)
{
    static const char op[] = "eg_photo_crop";
    work w;
    if (!(least >= 0 && least < 1)) {
        eg__fail(EG_EINVAL, op, "least is %g, must be 0 or more and below 1", least);
        return none;
    }
    const double *box = begin(&w, op, image, boxes, masks) ? numbers(&w) : NULL;
    return end(&w, box ? cut(&w, box, &(window){top, left, height, width}, false, least) : none);
}

enum { PARTS = 50, DRAWS = 10 };

/* A part by chance; false: it is too slim. */
static bool draw_window(eg__dice *dice, int64_t height, int64_t width, window *v)
{
    const double h = eg__dice_between(dice, 0.3, 1), across = eg__dice_between(dice, 0.3, 1);
    v->height = eg__max(1, (int64_t)(h * (double)height));
    v->width = eg__max(1, (int64_t)(across * (double)width));
    v->top = eg__dice_below(dice, height - v->height + 1);
    v->left = eg__dice_below(dice, width - v->width + 1);
    return h <= 2 * across && across <= 2 * h;
}

/* Whether an object's middle is in it, and some such object overlaps it enough. */
static bool will_do(const window *v, const double *box, int64_t n, double least)
{
    const double own = (double)v->height * (double)v->width;
    bool enough = false;
    for (int64_t i = 0; i < n && !enough; i++) {
        const double both = area_in(v, box + 4 * i);
        enough = has_middle(v, box + 4 * i) && both > 0 && both / (own + area_of(box + 4 * i) - both) >= least;
    }
    return enough;
}

eg_photo eg_photo_random_crop(eg_tensor *image, eg_tensor *boxes, eg_tensor *masks)
{
    static const char op[] = "eg_photo_random_crop";
    static const double leasts[] = {0, 0.1, 0.3, 0.5, 0.7, 0.9};
    work w;
    const double *box = begin(&w, op, image, boxes, masks) ? numbers(&w) : NULL;
    if (!box) {
        return end(&w, none);
    }
    eg__dice dice = eg__dice_take(op, DRAWS * (1 + 4 * PARTS));
    for (int draw = 0; draw < DRAWS; draw++) {
        const int64_t which = eg__dice_below(&dice, EG__COUNT(leasts) + 1);
        if (which == EG__COUNT(leasts)) {
            break;
        }
        for (int i = 0; i < PARTS; i++) {
            window v;
            if (draw_window(&dice, w.image->shape[1], w.image->shape[2], &v) &&
                will_do(&v, box, w.boxes->shape[0], leasts[which])) {
                return end(&w, cut(&w, box, &v, true, 0));
            }
        }
    }
    return end(&w, same(&w));
}

/* ---- on a larger canvas -------------------------------------------------------------------------------- */

eg_photo eg_photo_random_zoom_out(eg_tensor *image, eg_tensor *boxes, eg_tensor *masks, double most, double value)
{
    static const char op[] = "eg_photo_random_zoom_out";
    work w;
    if (!(most >= 1 && most <= 64) || !isfinite(value)) {
        eg__fail(EG_EINVAL, op, "most is %g, must be 1..64; value is %g, must be finite", most, value);
        return none;
    }
    if (!begin(&w, op, image, boxes, masks)) {
        return end(&w, none);
    }
    eg__dice dice = eg__dice_take(op, 3);
    const int64_t h = w.image->shape[1], wide = w.image->shape[2];
    const double by = eg__dice_between(&dice, 1, most);
    const int64_t height = (int64_t)((double)h * by), width = (int64_t)((double)wide * by);
    const int64_t top = eg__dice_below(&dice, height - h + 1), left = eg__dice_below(&dice, width - wide + 1);
    const int64_t below = height - h - top, right = width - wide - left;
    eg_photo p = {.kept = everyone(&w), .boxes = moved(w.boxes, 1, 1, (double)left, (double)top)};
    p.image = eg_image_pad(w.image, top, below, left, right, EG_PAD_CONSTANT, value);
    p.masks = w.masks ? eg_image_pad(w.masks, top, below, left, right, EG_PAD_CONSTANT, 0) : NULL;
    return end(&w, p);
}
