/* boxes.c - boxes: compositions over their corners, and non-maximum suppression. */
#include <math.h>

#include "lib/core/device.h"
#include "lib/core/follower.h"
#include "lib/ops/index.h"

/* ---- corners --------------------------------------------------------------------------------- */

static eg_status check_boxes(const char *op, const char *name, const eg_tensor *t, int ndim)
{
    if (eg__check(t, op, name)) {
        return eg__why();
    }
    if (!eg__is_float(t->dtype)) {
        return eg__fail(EG_EDTYPE, op, "%s of %s, must be floats", name, eg_dtype_name((eg_dtype)t->dtype));
    }
    bool fits = t->ndim > 0 && t->shape[t->ndim - 1] == 4 && (!ndim || t->ndim == ndim);
    return fits ? EG_OK
                : eg__fail(EG_ESHAPE, op, "%s %s must be %s", name, EG__SHAPE_OF(t), ndim ? "[boxes, 4]" : "[..., 4]");
}

/* The four corners, each without the last axis. */
typedef struct corners {
    eg_tensor *x1, *y1, *x2, *y2;
} corners;

static corners corners_of(eg_tensor *b)
{
    return (corners){eg_select(b, -1, 0), eg_select(b, -1, 1), eg_select(b, -1, 2), eg_select(b, -1, 3)};
}

static eg_tensor *join(eg_tensor *a, eg_tensor *b, eg_tensor *c, eg_tensor *d)
{
    eg_tensor *all[] = {a, b, c, d};
    return a && b && c && d ? eg_stack(all, 4, -1) : NULL;
}

static eg_tensor *area(const corners *k)
{
    return eg_mul(eg_sub(k->x2, k->x1), eg_sub(k->y2, k->y1));
}

/* Returns the dtype in which areas of a and b are computed. */
static eg_dtype dtype_for(const eg_tensor *a, const eg_tensor *b)
{
    return eg__squares_pass(a) || eg__squares_pass(b) ? EG_F64 : EG_F32;
}

eg_tensor *eg_box_area(eg_tensor *boxes)
{
    if (check_boxes("box_area", "boxes", boxes, 0)) {
        return NULL;
    }
    eg__wide s = EG__WIDE_BEGIN_AS(dtype_for(boxes, boxes), &boxes);
    corners k = corners_of(boxes);
    return eg__wide_end(s, area(&k));
}

eg_tensor *eg_box_clip(eg_tensor *boxes, double height, double width)
{
    if (check_boxes("box_clip", "boxes", boxes, 0)) {
        return NULL;
    }
    if (!(height >= 0) || !(width >= 0)) {
        return eg__fail_null(EG_EINVAL, "box_clip", "height %g or width %g is negative", height, width);
    }
    eg_scope s = eg_scope_push();
    corners k = corners_of(boxes);
    return eg_scope_pop(s, join(eg_clamp(k.x1, 0, width), eg_clamp(k.y1, 0, height), eg_clamp(k.x2, 0, width),
                                eg_clamp(k.y2, 0, height)));
}

static eg_tensor *overlaps(const char *op, eg_tensor *a, eg_tensor *b, bool generalised)
{
    if (check_boxes(op, "a", a, 2) || check_boxes(op, "b", b, 2)) {
        return NULL;
    }
    eg__wide s = EG__WIDE_BEGIN_AS(dtype_for(a, b), &a, &b);
    corners p = corners_of(eg_unsqueeze(a, 1)), q = corners_of(b);
    eg_tensor *w = eg_relu(eg_sub(eg_minimum(p.x2, q.x2), eg_maximum(p.x1, q.x1)));
    eg_tensor *h = eg_relu(eg_sub(eg_minimum(p.y2, q.y2), eg_maximum(p.y1, q.y1)));
    eg_tensor *both = eg_mul(w, h), *any = eg_sub(eg_add(area(&p), area(&q)), both);
    eg_tensor *iou = eg_div(both, any);
    if (generalised) {
        corners hull = {eg_minimum(p.x1, q.x1), eg_minimum(p.y1, q.y1), eg_maximum(p.x2, q.x2), eg_maximum(p.y2, q.y2)};
        eg_tensor *whole = area(&hull);
        iou = eg_sub(iou, eg_div(eg_sub(whole, any), whole));
    }
    return eg__wide_end(s, iou);
}

eg_tensor *eg_box_iou(eg_tensor *a, eg_tensor *b)
{
    return overlaps("box_iou", a, b, false);
}

eg_tensor *eg_box_giou(eg_tensor *a, eg_tensor *b)
{
    return overlaps("box_giou", a, b, true);
}

/* ---- suppression ----------------------------------------------------------------------------- */

eg_status eg__infer_nms(eg__call *c)
{
    eg__desc *d = &c->desc[0];
    d->dtype = EG_BOOL;
    d->ndim = 1;
    d->shape[0] = c->in[1]->n;
    d->dense = true;
    return eg__check_shape(c->op->name, 1, d->shape, EG_BOOL, &d->n);
}

static eg_status check_nms(const char *op, const eg_tensor *boxes, const eg_tensor *scores, const eg_nms_options *g)
{
    if (check_boxes(op, "boxes", boxes, 2) || eg__check(scores, op, "scores")) {
        return eg__why();
    }
    if (!eg__is_float(scores->dtype)) {
        return eg__fail(EG_EDTYPE, op, "scores of %s, must be floats", eg_dtype_name((eg_dtype)scores->dtype));
    }
    if (scores->ndim != 1 || scores->n != boxes->shape[0]) {
        return eg__fail(EG_ESHAPE, op, "scores %s are not one for each of %s", EG__SHAPE_OF(scores),
                        EG__SHAPE_OF(boxes));
    }
    if (!(g->iou_threshold >= 0 && g->iou_threshold <= 1)) {
        return eg__fail(EG_EINVAL, op, "iou_threshold %g is outside 0..1", g->iou_threshold);
    }
    if (isnan(g->score_threshold) || g->max_output < 0) {
        return eg__fail(EG_EINVAL, op, "score_threshold %g is NaN or max_output %lld negative", g->score_threshold,
                        (long long)g->max_output);
    }
    return EG_OK;
}

static eg_tensor *suppress(const char *op, eg_tensor *boxes, eg_tensor *scores, eg_tensor *classes,
                           const eg_nms_options *given)
{
    eg_nms_options g;
    eg__options(&g, sizeof g, given);
    g.max_output = eg__or_count(g.max_output, INT64_MAX);
    if (check_nms(op, boxes, scores, &g)) {
        return NULL;
    }
    eg__nms_opts o = {g.iou_threshold, g.max_output};
    eg_tensor *falling = NULL, *order = NULL, *keep[EG__MAX_OUT];
    eg_scope s = eg_scope_push();
    boxes = eg_detach(boxes);
    if (boxes && eg__is_half(boxes->dtype)) {
        boxes = eg_cast(boxes, EG_F32);
    }
    if (!boxes || eg_sort(eg_detach(scores), 0, true, &falling, &order)) {
        return eg_scope_pop(s, NULL);
    }
    eg_tensor *candidate = g.score_threshold != 0 ? eg_gt_scalar(falling, eg__or(g.score_threshold, 0))
                                                  : eg_eq(falling, falling); /* not NaN */
    eg_tensor *in[] = {boxes, order, candidate, classes};
    if (!candidate || eg__dispatch(&eg__op_nms, in, classes ? 4 : 3, &o, keep)) {
        return eg_scope_pop(s, NULL);
    }
    return eg_scope_pop(s, eg_masked_select(order, keep[0]));
}

eg_tensor *eg_nms_with(eg_tensor *boxes, eg_tensor *scores, const eg_nms_options *options)
{
    return suppress("nms", boxes, scores, NULL, options);
}

eg_tensor *eg_batched_nms_with(eg_tensor *boxes, eg_tensor *scores, eg_tensor *classes, const eg_nms_options *options)
{
    static const char op[] = "batched_nms";
    if (eg__check(boxes, op, "boxes") || eg__check(classes, op, "classes")) {
        return NULL;
    }
    if (!(EG__INTS >> classes->dtype & 1)) {
        return eg__fail_null(EG_EDTYPE, op, "classes are %s, must be i64, i32 or u8",
                             eg_dtype_name((eg_dtype)classes->dtype));
    }
    if (classes->ndim != 1 || boxes->ndim != 2 || classes->n != boxes->shape[0]) {
        return eg__fail_null(EG_ESHAPE, op, "classes %s are not one for each of %s", EG__SHAPE_OF(classes),
                             EG__SHAPE_OF(boxes));
    }
    eg_scope s = eg_scope_push();
    classes = eg_cast(classes, EG_I64);
    return eg_scope_pop(s, classes ? suppress(op, boxes, scores, classes, options) : NULL);
}

/* ---- codes ----------------------------------------------------------------------------------- */

/* Centre and size of boxes. */
typedef struct centred {
    eg_tensor *x, *y, *w, *h;
} centred;

static centred centred_of(eg_tensor *boxes)
{
    corners k = corners_of(boxes);
    eg_tensor *w = eg_sub(k.x2, k.x1), *h = eg_sub(k.y2, k.y1);
    return (centred){eg_add(k.x1, eg_mul_scalar(w, 0.5)), eg_add(k.y1, eg_mul_scalar(h, 0.5)), w, h};
}

static eg_status check_code(const char *op, const eg_tensor *anchors, const eg_tensor *t, const char *name,
                            eg_box_code_options *g, const eg_box_code_options *given)
{
    static const double ones[4] = {1, 1, 1, 1}, zeros[4] = {0};
    eg__options(g, sizeof *g, given);
    if (!memcmp(g->weights, zeros, sizeof zeros)) {
        memcpy(g->weights, ones, sizeof ones);
    }
    g->clip = eg__or(g->clip, log(1000.0 / 16));
    if (check_boxes(op, "anchors", anchors, 0) || check_boxes(op, name, t, 0)) {
        return eg__why();
    }
    for (int k = 0; k < 4; k++) {
        if (!(g->weights[k] > 0) || isinf(g->weights[k])) {
            return eg__fail(EG_EINVAL, op, "weight %g is not above 0", g->weights[k]);
        }
    }
    return isnan(g->clip) ? eg__fail(EG_EINVAL, op, "clip is NaN") : EG_OK;
}

eg_tensor *eg_box_encode_with(eg_tensor *anchors, eg_tensor *boxes, const eg_box_code_options *options)
{
    eg_box_code_options g;
    if (check_code("box_encode", anchors, boxes, "boxes", &g, options)) {
        return NULL;
    }
    eg__wide s = EG__WIDE_BEGIN(&anchors, &boxes);
    centred a = centred_of(anchors), b = centred_of(boxes);
    return eg__wide_end(s, join(eg_mul_scalar(eg_div(eg_sub(b.x, a.x), a.w), g.weights[0]),
                                eg_mul_scalar(eg_div(eg_sub(b.y, a.y), a.h), g.weights[1]),
                                eg_mul_scalar(eg_log(eg_div(b.w, a.w)), g.weights[2]),
                                eg_mul_scalar(eg_log(eg_div(b.h, a.h)), g.weights[3])));
}

/* Along one axis: the centre from t, half the size from u. */
static void decode(eg_tensor *t, eg_tensor *u, eg_tensor *centre, eg_tensor *size, const double *weights, double clip,
                   eg_tensor **low, eg_tensor **high)
{
    eg_tensor *at = eg_add(eg_mul(eg_div_scalar(t, weights[0]), size), centre);
    eg_tensor *growth = eg_exp(eg_clamp_max(eg_div_scalar(u, weights[2]), clip));
    eg_tensor *half = eg_mul_scalar(eg_mul(growth, size), 0.5);
    *low = eg_sub(at, half);
    *high = eg_add(at, half);
}

eg_tensor *eg_box_decode_with(eg_tensor *anchors, eg_tensor *codes, const eg_box_code_options *options)
{
    eg_box_code_options g;
    if (check_code("box_decode", anchors, codes, "codes", &g, options)) {
        return NULL;
    }
    eg__wide s = EG__WIDE_BEGIN(&anchors, &codes);
    centred a = centred_of(anchors);
    corners t = corners_of(codes), b;
    decode(t.x1, t.x2, a.x, a.w, g.weights, g.clip, &b.x1, &b.x2);
    decode(t.y1, t.y2, a.y, a.h, g.weights + 1, g.clip, &b.y1, &b.y2);
    return eg__wide_end(s, join(b.x1, b.y1, b.x2, b.y2));
}

/* ---- what anchors learn ------------------------------------------------------------------------ */

static eg_status check_match(const char *op, const eg_tensor *overlaps, eg_box_match_options *g,
                             const eg_box_match_options *options)
{
    eg__options(g, sizeof *g, options);
    g->positive = eg__or(g->positive, 0.5);
    g->negative = eg__or(g->negative, g->positive);
    if (eg__check(overlaps, op, "overlaps")) {
        return eg__why();
    }
    if (overlaps->ndim != 2 || !eg__is_float(overlaps->dtype)) {
        return eg__fail(overlaps->ndim != 2 ? EG_ESHAPE : EG_EDTYPE, op, "overlaps are %s %s, must be floats [A, M]",
                        eg_dtype_name((eg_dtype)overlaps->dtype), EG__SHAPE_OF(overlaps));
    }
    return g->positive >= 0 && g->positive <= 1 && g->negative >= 0 && g->negative <= g->positive
               ? EG_OK
               : eg__fail(EG_EINVAL, op, "positive %g and negative %g must be 0..1, and that not above this",
                          g->positive, g->negative);
}

/* Where an object has as much in common with an anchor as with no other. */
static eg_tensor *best_of_each(eg_tensor *overlaps)
{
    eg_tensor *most = eg_max(overlaps, .axes = EG_AXES(0), .keepdim = true);
    return eg_any(eg_logical_and(eg_eq(overlaps, most), eg_gt_scalar(most, 0)), .axes = EG_AXES(1));
}

static eg_tensor *match(eg_tensor *overlaps, const eg_box_match_options *g)
{
    eg_tensor *most = eg_max(overlaps, .axes = EG_AXES(1)), *which = eg_argmax(overlaps, .axes = EG_AXES(1));
    eg_tensor *found = eg_ge_scalar(most, g->positive), *nothing = eg_lt_scalar(most, g->negative);
    if (g->best) {
        found = eg_logical_or(found, best_of_each(overlaps));
    }
    eg_tensor *none = eg_full_like(which, EG_BOX_NEGATIVE), *neither = eg_full_like(which, EG_BOX_NEITHER);
    return eg_where(found, which, eg_where(nothing, none, neither));
}

eg_tensor *eg_box_match_with(eg_tensor *overlaps, const eg_box_match_options *options)
{
    eg_box_match_options g;
    if (check_match("box_match", overlaps, &g, options)) {
        return NULL;
    }
    if (!overlaps->shape[1]) {
        return eg__full_on(overlaps->device, EG_SHAPE(overlaps->shape[0]), EG_BOX_NEGATIVE, EG_I64);
    }
    eg_scope s = eg_scope_push();
    return s.depth ? eg_scope_pop(s, match(eg_detach(overlaps), &g)) : NULL;
}

/* `most` of those whose match is positive, or negative, by chance. */
static eg_tensor *some(const int64_t *match, int64_t n, bool positive, int64_t most)
{
    eg_tensor *all = eg__empty_on(0, EG_SHAPE(n), EG_I64);
    int64_t *at = all ? (int64_t *)eg__ptr(all) : NULL, found = 0;
    for (int64_t i = 0; all && i < n; i++) {
        if (positive ? match[i] >= 0 : match[i] == EG_BOX_NEGATIVE) {
            at[found++] = i;
        }
    }
    eg_tensor *order = all ? eg_to(eg_permutation(found), eg_cpu()) : NULL;
    return order ? eg_index_select(eg_slice(all, 0, 0, found, 1), 0, eg_slice(order, 0, 0, eg__min(found, most), 1))
                 : NULL;
}

eg_box_samples eg_box_sample(eg_tensor *matches, int64_t count, double share)
{
    static const char op[] = "box_sample";
    eg_box_samples b = {NULL, NULL};
    if (eg__check(matches, op, "matches")) {
        return b;
    }
    if (matches->ndim != 1 || matches->dtype != EG_I64) {
        eg__fail(matches->ndim != 1 ? EG_ESHAPE : EG_EDTYPE, op, "matches are %s %s, must be i64 [A]",
                 eg_dtype_name((eg_dtype)matches->dtype), EG__SHAPE_OF(matches));
        return b;
    }
    if (count < 1 || !(share >= 0 && share <= 1)) {
        eg__fail(EG_EINVAL, op, "count is %lld, must be 1 or more; share is %g, must be 0..1", (long long)count, share);
        return b;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *here = s.depth && !eg__follow_read(matches, op) ? eg_contiguous(eg_to(matches, eg_cpu())) : NULL;
    eg_tensor *positive =
        here ? some((const int64_t *)eg__ptr(here), here->n, true, (int64_t)(share * (double)count)) : NULL;
    eg_tensor *negative = positive ? some((const int64_t *)eg__ptr(here), here->n, false, count - positive->n) : NULL;
    eg_tensor *out[2] = {negative ? eg_to(positive, eg__device(matches)) : NULL,
                         negative ? eg_to(negative, eg__device(matches)) : NULL};
    bool good = out[0] && out[1];
    return eg_scope_pop_n(s, out, good ? 2 : 0) || !good ? b : (eg_box_samples){out[0], out[1]};
}

/* ---- anchors --------------------------------------------------------------------------------- */

/* The entries before the first 0; -1 with words. */
static int list(const char *name, const double *v)
{
    int n = 0;
    for (; n < 8 && v[n] != 0; n++) {
        if (!(v[n] > 0) || isinf(v[n])) {
            eg__fail(EG_EINVAL, "anchors", "%s %g is not above 0", name, v[n]);
            return -1;
        }
    }
    return n;
}

/* Boxes [ratios * sizes, 4] around 0, 0. */
static eg_tensor *around(const double *sizes, int nsizes, const double *ratios, int nratios, bool rounded)
{
    double v[8 * 8 * 4];
    for (int k = 0; k < nratios * nsizes; k++) {
        double root = sqrt(ratios[k / nsizes]), size = sizes[k % nsizes] / 2;
        v[4 * k] = -size / root;
        v[4 * k + 1] = -size * root;
        v[4 * k + 2] = size / root;
        v[4 * k + 3] = size * root;
    }
    for (int k = 0; rounded && k < nratios * nsizes * 4; k++) {
        v[k] = rint(v[k]);
    }
    return eg_from_values(EG_SHAPE(nratios * nsizes, 4), EG_F32, v);
}

/* n centres along an axis, in a shape that has them along `axis` of [height, width, 1, 1]. */
static eg_tensor *centres(int64_t n, int axis, const eg_anchors_options *g)
{
    eg_shape s = EG_SHAPE(1, 1, 1, 1);
    s.dim[axis] = n;
    double step = g->stride[axis] != 0 ? g->stride[axis] : 1;
    eg_tensor *i = eg_mul_scalar(eg_arange(0, (double)n, 1, EG_F32), step);
    return eg_reshape(eg_add_scalar(i, g->offset[axis]), s);
}

eg_tensor *eg_anchors_with(int64_t height, int64_t width, const eg_anchors_options *options)
{
    static const double square[8] = {1};
    eg_anchors_options g;
    eg__options(&g, sizeof g, options);
    const double *ratios = g.ratios[0] != 0 ? g.ratios : square;
    int nsizes = list("size", g.sizes), nratios = list("ratio", ratios);
    if (nsizes < 0 || nratios < 0) {
        return NULL;
    }
    if (!nsizes) {
        return eg__fail_null(EG_EINVAL, "anchors", "there is no size");
    }
    for (int a = 0; a < 2; a++) {
        if (!(g.stride[a] >= 0) || isinf(g.stride[a]) || !isfinite(g.offset[a])) {
            return eg__fail_null(EG_EINVAL, "anchors", "stride %g or offset %g", g.stride[a], g.offset[a]);
        }
    }
    if (height < 0 || width < 0) {
        return eg__fail_null(EG_ESHAPE, "anchors", "a map of %lld x %lld", (long long)height, (long long)width);
    }
    const int device = eg__default_device(eg__thread_get(), "anchors");
    const int64_t all_of[4] = {height, width, nratios * nsizes, 4};
    if (device < 0 || eg__check_room("anchors", (uint8_t)device, 4, all_of, EG_F32)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *y = centres(height, 0, &g), *x = centres(width, 1, &g);
    eg_shape map = EG_SHAPE(height, width, 1, 1);
    eg_tensor *pair[] = {eg_expand(x, map), eg_expand(y, map)};
    eg_tensor *at = pair[0] && pair[1] ? eg_concat((eg_tensor *[]){pair[0], pair[1], pair[0], pair[1]}, 4, 3) : NULL;
    eg_tensor *all = eg_add(at, around(g.sizes, nsizes, ratios, nratios, g.rounded));
    return eg_scope_pop(s, all ? eg_reshape(all, EG_SHAPE(all->n / 4, 4)) : NULL);
}
