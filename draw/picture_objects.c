/* picture_objects.c - photos with boxes, as tensors; see egret/draw.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <egret/egret.h>
#include <egret/draw.h>

#include "lib/core/base.h"

static const char op[] = "eg_draw_objects";

#ifdef DRAW_PICTURES
#include "objects.h"

/* What is drawn, on the CPU. */
typedef struct wanted {
    const uint8_t *pixels, *masks;
    const double *box, *label, *score, *points;
    const int32_t *links;
    int count, height, width, channels, point_count, link_count;
} wanted;

/* f64 of so many axes, n rows; NULL: words, or t is NULL. */
static const double *numbers(const char *name, eg_tensor *t, int ndim, int64_t n)
{
    static const double none;
    if (!t) {
        return NULL;
    }
    if (eg_ndim(t) != ndim || eg_size(t, 0) != n || (ndim == 2 && eg_size(t, 1) != 4)) {
        ndim == 2 ? eg_failf(EG_ESHAPE, op, "%s must be [k, 4]", name)
                  : eg_failf(EG_ESHAPE, op, "%s must be [%lld]", name, (long long)n);
        return NULL;
    }
    const double *all = eg_data(eg_contiguous(eg_cast(eg_to(eg_detach(t), eg_cpu()), EG_F64)));
    return all && !n ? &none : all;
}

static eg_status look_at_image(eg_tensor *image, wanted *w)
{
    if (eg_ndim(image) != 3 || (eg_size(image, 0) != 1 && eg_size(image, 0) != 3) || eg_dtype_of(image) != EG_U8) {
        return eg_failf(image ? EG_ESHAPE : EG_EINVAL, op, "image must be u8 [3, H, W] or [1, H, W]");
    }
    w->channels = (int)eg_size(image, 0);
    w->height = (int)eg_size(image, 1);
    w->width = (int)eg_size(image, 2);
    w->pixels = eg_data(eg_contiguous(eg_permute(eg_to(image, eg_cpu()), EG_AXES(1, 2, 0))));
    return w->pixels ? EG_OK : eg_last_error()->code;
}

static eg_status look_at_masks(eg_tensor *masks, wanted *w)
{
    if (!masks) {
        return EG_OK;
    }
    if (eg_ndim(masks) != 3 || eg_size(masks, 0) != w->count || eg_size(masks, 1) != w->height ||
        eg_size(masks, 2) != w->width) {
        return eg_failf(EG_ESHAPE, op, "masks must be [%d, %d, %d]", w->count, w->height, w->width);
    }
    if (eg_dtype_of(masks) != EG_U8 && eg_dtype_of(masks) != EG_BOOL) {
        return eg_failf(EG_EDTYPE, op, "masks are %s, not u8 or bool", eg_dtype_name(eg_dtype_of(masks)));
    }
    static const uint8_t none;
    const uint8_t *all = eg_data(eg_contiguous(eg_to(masks, eg_cpu())));
    w->masks = all && !w->count ? &none : all;
    return w->masks ? EG_OK : eg_last_error()->code;
}

/* As f64 [k, P, 3]: those without a third number are there. */
static eg_status look_at_points(eg_tensor *points, wanted *w)
{
    if (!points) {
        return EG_OK;
    }
    const int64_t last = eg_ndim(points) == 3 ? eg_size(points, 2) : 0;
    if ((last != 2 && last != 3) || eg_size(points, 0) != w->count || eg_size(points, 1) > 1 << 16) {
        return eg_failf(EG_ESHAPE, op, "keypoints must be [%d, P, 2] or [%d, P, 3]", w->count, w->count);
    }
    eg_tensor *all = eg_cast(eg_to(eg_detach(points), eg_cpu()), EG_F64);
    if (last == 2 && all) {
        all = eg_concat((eg_tensor *[]){all, eg_ones_like(eg_slice(all, 2, 0, 1, 1))}, 2, 2);
    }
    static const double none;
    const double *v = all ? eg_data(eg_contiguous(all)) : NULL;
    w->points = v && !eg_numel(all) ? &none : v;
    w->point_count = (int)eg_size(points, 1);
    return w->points ? EG_OK : eg_last_error()->code;
}

static eg_status look_at_links(eg_tensor *links, wanted *w)
{
    if (!links) {
        return EG_OK;
    }
    if (eg_ndim(links) != 2 || eg_size(links, 1) != 2 || eg_size(links, 0) > 1 << 16 || !w->points) {
        return eg_fail(EG_ESHAPE, op, "links must be [L, 2], of keypoints");
    }
    eg_tensor *all = eg_cast(eg_to(links, eg_cpu()), EG_I32);
    w->links = all ? eg_data(eg_contiguous(all)) : NULL;
    w->link_count = w->links || !eg_size(links, 0) ? (int)eg_size(links, 0) : -1;
    for (int i = 0; i < 2 * w->link_count; i++) {
        if (w->links[i] < 0 || w->links[i] >= w->point_count) {
            return eg_failf(EG_EINDEX, op, "a link is to keypoint %d of %d", (int)w->links[i], w->point_count);
        }
    }
    return w->link_count < 0 ? eg_last_error()->code : EG_OK;
}

static eg_status look_at(eg_tensor *image, eg_tensor *boxes, const eg_draw_objects_options *o, wanted *w)
{
    eg_tensor *first = boxes ? boxes : o->keypoints;
    const int64_t n = first && eg_ndim(first) >= 2 ? eg_size(first, 0) : 0;
    eg_status st = look_at_image(image, w);
    if (st || n > INT32_MAX) {
        return st ? st : eg_fail(EG_ESHAPE, op, "too many boxes");
    }
    w->count = (int)n;
    w->box = boxes ? numbers("boxes", boxes, 2, n) : NULL;
    if (!w->box && (boxes || !o->keypoints)) {
        return boxes ? eg_last_error()->code : eg_fail(EG_EINVAL, op, "boxes is NULL, and there are no keypoints");
    }
    w->label = numbers("labels", o->labels, 1, n);
    w->score = !o->labels || w->label ? numbers("scores", o->scores, 1, n) : NULL;
    const bool fine = (!o->labels || w->label) && (!o->scores || w->score);
    st = fine ? look_at_masks(o->masks, w) : eg_last_error()->code;
    st = st ? st : look_at_points(o->keypoints, w);
    return st ? st : look_at_links(o->links, w);
}

static void describe(const wanted *w, const eg_draw_objects_options *o, int i, object_mark *m)
{
    const double label = w->label ? w->label[i] : -1;
    const bool named = o->classes && label >= 0 && label < o->classes_count && o->classes[(int)label];
    m->boxed = w->box != NULL;
    if (w->box) {
        memcpy(m->box, w->box + 4 * i, sizeof m->box);
    }
    m->points = w->points ? w->points + 3 * (size_t)i * (size_t)w->point_count : NULL;
    m->label = label >= 0 && label < 1e9 ? (int64_t)label : -1;
    m->mask = w->masks ? w->masks + (size_t)i * (size_t)w->height * (size_t)w->width : NULL;
    m->dashed = o->dashed;
    snprintf(m->words, sizeof m->words, "%.60s", named ? o->classes[(int)label] : "");
    if (w->score) {
        const size_t had = strlen(m->words);
        snprintf(m->words + had, sizeof m->words - had, "%s%.2f", had ? " " : "", w->score[i]);
    }
}

static bool is_drawn(const wanted *w, const eg_draw_objects_options *o, int i)
{
    bool finite = true;
    for (int k = 0; k < 4 && w->box; k++) {
        finite = finite && isfinite(w->box[4 * i + k]);
    }
    return finite && (!w->score || w->score[i] >= o->least);
}

/* The likeliest last, so that it lies on top. */
static int order(const wanted *w, const eg_draw_objects_options *o, int *at)
{
    int n = 0;
    for (int i = 0; i < w->count; i++) {
        if (is_drawn(w, o, i)) {
            int k = n++;
            for (; w->score && k > 0 && w->score[at[k - 1]] > w->score[i]; k--) {
                at[k] = at[k - 1];
            }
            at[k] = i;
        }
    }
    return n;
}

static eg_tensor *drawn(const wanted *w, const eg_draw_objects_options *o)
{
    int *at = malloc(((size_t)w->count + 1) * sizeof *at);
    object_mark *marks = at ? calloc((size_t)w->count + 1, sizeof *marks) : NULL;
    if (!marks) {
        free(at);
        eg_fail(EG_ENOMEM, op, "out of memory");
        return NULL;
    }
    object_sheet s = {
        .pixels = w->pixels, .width = w->width, .height = w->height, .channels = w->channels, .marks = marks};
    s.scale = o->scale > 0 ? o->scale : 1;
    s.points = w->points ? w->point_count : 0;
    s.links = w->links;
    s.link_count = w->link_count;
    s.count = order(w, o, at);
    for (int i = 0; i < s.count; i++) {
        describe(w, o, at[i], &marks[i]);
    }
    font *words = font_if_any();
    canvas *c = objects_draw(&s, words);
    eg_tensor *t = c ? eg_from(EG_SHAPE(c->height, c->width, 3), EG_U8, c->pixels) : NULL;
    canvas_free(c);
    font_free(words);
    free(marks);
    free(at);
    return eg_permute(eg_to(t, eg_cpu()), EG_AXES(2, 0, 1));
}

eg_tensor *eg_draw_objects_with(eg_tensor *image, eg_tensor *boxes, const eg_draw_objects_options *options)
{
    eg_draw_objects_options o;
    wanted w = {0};
    eg__options(&o, sizeof o, options);
    eg_scope s = eg_scope_push();
    if (o.scale < 0 || o.scale > 64) {
        eg_failf(EG_EINVAL, op, "scale is %d, must be 0..64", o.scale);
        return eg_scope_pop(s, NULL);
    }
    return eg_scope_pop(s, look_at(image, boxes, &o, &w) ? NULL : drawn(&w, &o));
}

#else

eg_tensor *eg_draw_objects_with(eg_tensor *image, eg_tensor *boxes, const eg_draw_objects_options *options)
{
    (void)image, (void)boxes, (void)options;
    eg_fail(EG_ENOKERNEL, op, "this build has no stb_truetype to draw with");
    return NULL;
}

#endif
