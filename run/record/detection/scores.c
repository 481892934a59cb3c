/* scores.c - scores of detection: made, filled photo by photo, joined. */
#include <math.h>
#include <stdlib.h>

#include <egret/ops.h>

#include "lib/core/device.h"
#include "lib/core/live.h"
#include "lib/core/memory.h"
#include "run/record/detection/scores.h"

/* ---- made ---------------------------------------------------------------------------------------- */

enum { MOST_CLASSES = 1 << 20, COCO_MOST = 100 };

static eg_status check_options(const char *op, int64_t classes, const eg_detection_scores_options *o)
{
    if (classes < 1 || classes > MOST_CLASSES) {
        return eg__fail(EG_EINVAL, op, "%lld classes: 1 to %d can be", (long long)classes, MOST_CLASSES);
    }
    if ((int)o->kind < 0 || o->kind > EG_DETECTION_VOC2007) {
        return eg__fail(EG_EINVAL, op, "there is no kind %d", (int)o->kind);
    }
    return o->threshold >= 0 && o->threshold <= 1 && (o->threshold == 0 || o->kind != EG_DETECTION_COCO)
               ? EG_OK
               : eg__fail(EG_EINVAL, op, "threshold %g: 0 to 1 can be, and COCO has its own", o->threshold);
}

eg_detection_scores *eg_detection_scores_new_with(int64_t classes, const eg_detection_scores_options *options)
{
    static const char op[] = "eg_detection_scores_new";
    eg_detection_scores_options o;
    eg__options(&o, sizeof o, options);
    if (check_options(op, classes, &o)) {
        return NULL;
    }
    const size_t bytes = (size_t)classes * EG__AREAS * sizeof(int64_t);
    int64_t *there = eg__malloc(bytes);
    eg_detection_scores *s = there ? eg__handle_new(sizeof *s) : NULL;
    if (!s) {
        free(there);
        eg__no_memory(op, (int64_t)bytes);
        return NULL;
    }
    const bool coco = o.kind == EG_DETECTION_COCO;
    s->kind = o.kind;
    s->classes = classes;
    s->areas = coco ? EG__AREAS : 1;
    s->thresholds = coco ? EG__THRESHOLDS : 1;
    s->most = coco ? COCO_MOST : INT32_MAX;
    s->there = memset(there, 0, bytes);
    for (int t = 0; t < s->thresholds; t++) {
        s->threshold[t] = !coco                    ? eg__or(o.threshold, 0.5)
                          : t < EG__THRESHOLDS - 1 ? 0.5 + t * ((0.95 - 0.5) / 9)
                                                   : 0.95;
    }
    return s;
}

void eg_detection_scores_free(eg_detection_scores *s)
{
    if (eg__handle_ends(s, "eg_detection_scores_free")) {
        free(s->found);
        free(s->there);
        free(s);
    }
}

void eg_detection_scores_reset(eg_detection_scores *s)
{
    if (s) {
        s->count = 0;
        for (int64_t i = 0; i < s->classes * EG__AREAS; i++) {
            s->there[i] = 0;
        }
    }
}

static eg_status make_room(const char *op, eg_detection_scores *s, int64_t more)
{
    while ((int64_t)s->room - s->count < more) {
        if (s->room > INT32_MAX / 2 || !eg__grow(&s->found, &s->room, sizeof *s->found)) {
            return eg__no_memory(op, (int64_t)s->room * (int64_t)sizeof *s->found);
        }
    }
    return EG_OK;
}

/* ---- a photo --------------------------------------------------------------------------------------- */

static const char adding[] = "eg_detection_scores_add";

/* Numbers [n] or [n, 4] on the host as dtype; NULL: words. */
static const void *numbers(const char *name, eg_tensor *t, int64_t n, int64_t columns, eg_dtype dtype)
{
    if (eg__check(t, adding, name)) {
        return NULL;
    }
    const bool whole = dtype != EG_F64;
    if (t->ndim != 1 + (columns > 0) || t->shape[0] != n || (columns && t->shape[1] != columns)) {
        eg__fail(EG_ESHAPE, adding, "%s has shape %s, not [%lld%s]", name, EG__SHAPE_OF(t), (long long)n,
                 columns ? ", 4" : "");
        return NULL;
    }
    if (t->dtype == EG_BOOL || (whole && eg__is_float(t->dtype))) {
        eg__fail(EG_EDTYPE, adding, "%s is %s", name, eg_dtype_name((eg_dtype)t->dtype));
        return NULL;
    }
    eg_tensor *here = eg_to(eg_detach(t), eg_cpu());
    here = here ? eg_contiguous(eg_cast(here, dtype)) : NULL;
    return here ? eg__ptr(here) : NULL;
}

static eg_status check_numbers(const char *name, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            return eg__fail(EG_EINVAL, adding, "element %lld of %s is %g", (long long)i, name, x[i]);
        }
    }
    return EG_OK;
}

static eg_status check_labels(const eg_detection_scores *s, const char *name, const int64_t *label, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (label[i] < 0 || label[i] >= s->classes) {
            return eg__fail(EG_EINDEX, adding, "element %lld of %s is %lld, with %lld classes", (long long)i, name,
                            (long long)label[i], (long long)s->classes);
        }
    }
    return EG_OK;
}

static double area_of(const double *b)
{
    return (b[2] - b[0]) * (b[3] - b[1]);
}

/* Intersection over union; with a crowd over what was found alone. */
static double share(double both, double found, double there, bool crowd)
{
    const double whole = crowd ? found : found + there - both;
    return both > 0 && whole > 0 ? both / whole : 0;
}

static double overlap_of_boxes(const eg__judged *p, int64_t i, int64_t j)
{
    const double *a = p->box + 4 * i, *b = p->true_box + 4 * j;
    const double w = fmin(a[2], b[2]) - fmax(a[0], b[0]), h = fmin(a[3], b[3]) - fmax(a[1], b[1]);
    return w <= 0 || h <= 0 ? 0 : share(w * h, area_of(a), area_of(b), eg__is_crowd(p, j));
}

static double overlap_of_masks(const eg__judged *p, const uint8_t *a, const uint8_t *b, int64_t n, int64_t j)
{
    int64_t both = 0, found = 0, there = 0;
    for (int64_t i = 0; i < n; i++) {
        both += a[i] && b[i];
        found += a[i] != 0;
        there += b[i] != 0;
    }
    return share((double)both, (double)found, (double)there, eg__is_crowd(p, j));
}

/* Masks [n, H, W] as bytes; the pixels of one. */
static const uint8_t *masks_of(const char *name, eg_tensor *t, int64_t n, int64_t *pixels)
{
    if (eg__check(t, adding, name)) {
        return NULL;
    }
    if (t->ndim != 3 || t->shape[0] != n || (*pixels >= 0 && *pixels != t->shape[1] * t->shape[2])) {
        eg__fail(EG_ESHAPE, adding, "%s has shape %s, not [%lld, H, W]", name, EG__SHAPE_OF(t), (long long)n);
        return NULL;
    }
    if (t->dtype != EG_U8 && t->dtype != EG_BOOL) {
        eg__fail(EG_EDTYPE, adding, "%s is %s, not u8 or bool", name, eg_dtype_name((eg_dtype)t->dtype));
        return NULL;
    }
    *pixels = t->shape[1] * t->shape[2];
    eg_tensor *here = eg_contiguous(eg_to(eg_detach(t), eg_cpu()));
    return here ? (const uint8_t *)eg__ptr(here) : NULL;
}

static void areas_of_masks(const uint8_t *mask, int64_t n, int64_t pixels, double *area)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t sum = 0;
        for (int64_t k = 0; k < pixels; k++) {
            sum += mask[i * pixels + k] != 0;
        }
        area[i] = (double)sum;
    }
}

/* Overlaps and areas, in tensors of the scope. */
static eg_status compare(eg__judged *p, const eg_detection_options *o)
{
    const bool masked = o->masks || o->true_masks;
    int64_t pixels = -1;
    if (masked && (!o->masks || !o->true_masks)) {
        return eg__fail(EG_EINVAL, adding, "masks of %s are missing", o->masks ? "true objects" : "what was found");
    }
    const uint8_t *a = masked ? masks_of("masks", o->masks, p->found, &pixels) : NULL;
    const uint8_t *b = a ? masks_of("true_masks", o->true_masks, p->there, &pixels) : NULL;
    eg_tensor *memory =
        masked && !b ? NULL : eg__empty_on(0, EG_SHAPE(p->found * p->there + p->found + p->there), EG_F64);
    if (!memory) {
        return eg__why();
    }
    double *overlap = (double *)eg__ptr(memory), *found = overlap + p->found * p->there, *there = found + p->found;
    for (int64_t i = 0; i < p->found; i++) {
        for (int64_t j = 0; j < p->there; j++) {
            overlap[i * p->there + j] = p->label[i] != p->true_label[j] ? 0
                                        : b ? overlap_of_masks(p, a + i * pixels, b + j * pixels, pixels, j)
                                            : overlap_of_boxes(p, i, j);
        }
        found[i] = area_of(p->box + 4 * i);
    }
    for (int64_t j = 0; j < p->there; j++) {
        there[j] = area_of(p->true_box + 4 * j);
    }
    if (b) {
        areas_of_masks(a, p->found, pixels, found);
        areas_of_masks(b, p->there, pixels, there);
    }
    p->overlap = overlap;
    p->found_area = found;
    p->area = p->area ? p->area : there;
    return EG_OK;
}

static eg_status add(eg_detection_scores *s, eg_tensor *boxes, eg_tensor *scores, eg_tensor *labels,
                     eg_tensor *true_boxes, eg_tensor *true_labels, const eg_detection_options *o)
{
    if (eg__check(boxes, adding, "boxes") || eg__check(true_boxes, adding, "true_boxes")) {
        return eg__why();
    }
    eg__judged p = {.found = boxes->ndim ? boxes->shape[0] : 0, .there = true_boxes->ndim ? true_boxes->shape[0] : 0};
    const bool all = (p.box = numbers("boxes", boxes, p.found, 4, EG_F64)) &&
                     (p.score = numbers("scores", scores, p.found, 0, EG_F64)) &&
                     (p.label = numbers("labels", labels, p.found, 0, EG_I64)) &&
                     (p.true_box = numbers("true_boxes", true_boxes, p.there, 4, EG_F64)) &&
                     (p.true_label = numbers("true_labels", true_labels, p.there, 0, EG_I64)) &&
                     (!o->flags || (p.flags = numbers("flags", o->flags, p.there, 0, EG_U8))) &&
                     (!o->areas || (p.area = numbers("areas", o->areas, p.there, 0, EG_F64)));
    eg_status st = all ? check_numbers("boxes", p.box, 4 * p.found) : eg__why();
    st = st ? st : check_numbers("scores", p.score, p.found);
    st = st ? st : check_numbers("true_boxes", p.true_box, 4 * p.there);
    st = st || !p.area ? st : check_numbers("areas", p.area, p.there);
    st = st ? st : check_labels(s, "labels", p.label, p.found);
    st = st ? st : check_labels(s, "true_labels", p.true_label, p.there);
    st = st ? st : compare(&p, o);
    st = st ? st : make_room(adding, s, p.found);
    return st ? st : eg__detection_match(s, &p);
}

eg_status eg_detection_scores_add_with(eg_detection_scores *s, eg_tensor *boxes, eg_tensor *scores, eg_tensor *labels,
                                       eg_tensor *true_boxes, eg_tensor *true_labels,
                                       const eg_detection_options *options)
{
    eg_detection_options o;
    eg__options(&o, sizeof o, options);
    if (!s) {
        return eg__null_argument(adding, "s");
    }
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? add(s, boxes, scores, labels, true_boxes, true_labels, &o) : eg__why();
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return st;
}

/* ---- joined ------------------------------------------------------------------------------------------ */

eg_status eg_detection_scores_merge(eg_detection_scores *s, const eg_detection_scores *others)
{
    static const char op[] = "eg_detection_scores_merge";
    if (!s || !others) {
        return eg__null_argument(op, s ? "others" : "s");
    }
    if (s == others || s->kind != others->kind || s->classes != others->classes ||
        s->threshold[0] != others->threshold[0]) {
        return eg__fail(EG_EINVAL, op, "%s", s == others ? "they are the same" : "they are of another kind");
    }
    if (make_room(op, s, others->count)) {
        return eg__why();
    }
    if (others->count) {
        memcpy(s->found + s->count, others->found, others->count * sizeof *s->found);
    }
    s->count += others->count;
    for (int64_t i = 0; i < s->classes * EG__AREAS; i++) {
        s->there[i] += others->there[i];
    }
    return EG_OK;
}

static const char reducing[] = "eg_detection_scores_all_reduce";

/* What all ranks have, `most` of each, of which counts say how many are some: taken over in order. */
static eg_status take_all(eg_detection_scores *s, const int64_t *counts, int ranks, const eg__found *all, int64_t most)
{
    int64_t sum = 0;
    for (int r = 0; r < ranks; r++) {
        sum += counts[r];
    }
    eg_status st = make_room(reducing, s, eg__max(0, sum - s->count));
    for (int r = 0, at = 0; r < ranks && !st; r++) {
        if (counts[r]) {
            memcpy(s->found + at, all + r * most, (size_t)counts[r] * sizeof *all);
        }
        at += (int)counts[r];
        s->count = (uint32_t)at;
    }
    return st;
}

static eg_status all_reduce(eg_detection_scores *s, eg_comm *comm)
{
    const int ranks = eg_comm_size(comm);
    eg_tensor *own = eg__from_on(0, EG_SHAPE(1), EG_I64, &(int64_t){s->count});
    eg_tensor *counts = own ? eg__empty_on(0, EG_SHAPE(ranks), EG_I64) : NULL;
    eg_tensor *there = counts ? eg__from_on(0, EG_SHAPE(s->classes * EG__AREAS), EG_I64, s->there) : NULL;
    eg_status st = eg_comm_agree(comm, there ? EG_OK : eg__why());
    st = st ? st : eg_comm_all_gather(comm, own, counts);
    st = st ? st : eg_comm_all_reduce(comm, &there, 1, EG_COMM_SUM);
    if (st) {
        return st;
    }
    int64_t most = 0;
    for (int r = 0; r < ranks; r++) {
        most = eg__max(most, ((const int64_t *)eg__ptr(counts))[r]);
    }
    const int64_t bytes = most * (int64_t)sizeof *s->found;
    eg_tensor *mine = eg__full_on(0, EG_SHAPE(bytes), 0, EG_U8);
    eg_tensor *all = mine ? eg__empty_on(0, EG_SHAPE(ranks * bytes), EG_U8) : NULL;
    if (all && s->count) {
        memcpy(eg__ptr(mine), s->found, s->count * sizeof *s->found);
    }
    st = eg_comm_agree(comm, all ? EG_OK : eg__why());
    st = st ? st : eg_comm_all_gather(comm, mine, all);
    st = st ? st : take_all(s, (const int64_t *)eg__ptr(counts), ranks, (const eg__found *)eg__ptr(all), most);
    if (!st) {
        memcpy(s->there, eg__ptr(there), (size_t)(s->classes * EG__AREAS) * sizeof *s->there);
    }
    return st;
}

eg_status eg_detection_scores_all_reduce(eg_detection_scores *s, eg_comm *comm)
{
    if (!s || !comm) {
        return eg__null_argument(reducing, s ? "comm" : "s");
    }
    if (eg_comm_size(comm) == 1) {
        return EG_OK;
    }
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? all_reduce(s, comm) : eg__why();
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return st;
}
