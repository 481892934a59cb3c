/* retinanet.c - a detector of one stage: every anchor is an object of a class or not (Lin et al. 2017). */
#include <math.h>

#include "nn/models/detection/detection.h"
#include "nn/models/detection/names.h"

enum { SIZES = 3, ANCHORS = 3 * SIZES, CANDIDATES = 1000 };

typedef struct retinanet {
    eg__detector d;
    eg_module *label, *box;
} retinanet;

/* ---- the net ------------------------------------------------------------------------------------ */

static bool run(retinanet *r, const eg__batch *b, eg__dense *made)
{
    eg__levels l = eg__pyramid_run(r->d.features, b->images);
    eg_tensor *logits[EG__LEVELS_MOST], *codes[EG__LEVELS_MOST];
    for (int k = 0; k < l.count; k++) {
        logits[k] = eg__rows_of(eg_module_forward(r->label, l.x[k]), r->d.classes, b->dtype);
        codes[k] = eg__rows_of(eg_module_forward(r->box, l.x[k]), 4, b->dtype);
        if (!logits[k] || !codes[k]) {
            return false;
        }
    }
    if (!l.count) {
        return false;
    }
    made->levels = l.count;
    made->logits = eg__rows_joined(logits, l.count);
    made->codes = eg__rows_joined(codes, l.count);
    made->anchors = eg__anchors(&l, b, &(eg__anchor_plan){r->d.o.anchor, exp2(1.0 / SIZES), SIZES, true}, made->counts);
    return made->logits && made->codes && made->anchors;
}

/* ---- learning ----------------------------------------------------------------------------------- */

/* What each anchor should say, [A, classes]; of those that are objects, `which`, a 1. */
static eg_tensor *wanted_labels(const eg__batch *b, int64_t i, eg_tensor *match, eg_tensor *which, int64_t classes)
{
    eg_tensor *label = eg_index_select(b->of[i].labels, 0, eg_index_select(match, 0, which));
    eg_tensor *rows = eg_one_hot(label, classes, .dtype = b->dtype);
    eg_tensor *none = rows ? eg_full(EG_SHAPE(eg_size(match, 0), classes), 0, b->dtype) : NULL;
    return none ? eg_index_copy(eg_to(none, eg_device_of(match)), 0, which, rows) : NULL;
}

static bool learn_photo(const retinanet *r, const eg__batch *b, int64_t i, const eg__dense *made, eg_tensor **label,
                        eg_tensor **box)
{
    const eg__objects *there = &b->of[i];
    eg_tensor *match = eg_box_match(eg_box_iou(made->anchors, there->boxes), .negative = 0.4, .best = true);
    eg_tensor *which = match ? eg__rows_with(eg_ge_scalar(match, 0)) : NULL,
              *clear = which ? eg__rows_with(eg_ge_scalar(match, EG_BOX_NEGATIVE)) : NULL;
    eg_tensor *wanted = clear ? wanted_labels(b, i, match, which, r->d.classes) : NULL;
    if (!wanted) {
        return false;
    }
    const double share = 1.0 / (double)(eg__max(1, eg_size(which, 0)) * b->count);
    eg_tensor *sum = eg_sigmoid_focal_loss(eg_index_select(eg_select(made->logits, 0, i), 0, clear),
                                           eg_index_select(wanted, 0, clear), .reduction = EG_SUM);
    *label = eg_mul_scalar(sum, share);
    eg_tensor *codes = eg_index_select(eg_select(made->codes, 0, i), 0, which);
    sum = eg_l1_loss(codes,
                     eg_box_encode(eg_index_select(made->anchors, 0, which),
                                   eg_index_select(there->boxes, 0, eg_index_select(match, 0, which))),
                     .reduction = EG_SUM);
    *box = eg_mul_scalar(sum, share);
    return *label && *box;
}

static bool losses(eg_module *m, const eg__batch *b, eg_detector_losses *l)
{
    retinanet *r = (retinanet *)m;
    eg__dense made;
    if (!run(r, b, &made)) {
        return false;
    }
    eg_tensor *label[EG__PHOTOS_MOST], *box[EG__PHOTOS_MOST];
    for (int64_t i = 0; i < b->count; i++) {
        if (!learn_photo(r, b, i, &made, &label[i], &box[i])) {
            return false;
        }
    }
    eg_tensor *labels = eg_stack(label, (int)b->count, 0), *boxes = eg_stack(box, (int)b->count, 0);
    l->label = labels ? eg_sum(labels) : NULL;
    l->box = boxes ? eg_sum(boxes) : NULL;
    return l->label && l->box;
}

/* ---- finding ------------------------------------------------------------------------------------ */

static eg__found find_photo(const retinanet *r, const eg__batch *b, int64_t i, const eg__dense *made)
{
    eg_tensor *scores = eg_sigmoid(eg_select(made->logits, 0, i));
    scores = scores ? eg_reshape(scores, EG_SHAPE(-1)) : NULL;
    eg_tensor *pair; /* numbers of [A, classes] as a row */
    if (!scores || !eg__likeliest(made, scores, r->d.classes, CANDIDATES, &pair, NULL)) {
        return (eg__found){.boxes = NULL};
    }
    eg_tensor *anchor = eg_floor_divide_int(pair, r->d.classes);
    eg_tensor *boxes = eg_box_decode(eg_index_select(made->anchors, 0, anchor),
                                     eg_index_select(eg_select(made->codes, 0, i), 0, anchor));
    return eg__choose(boxes, eg_index_select(scores, 0, pair), eg_remainder_int(pair, r->d.classes), b->size[i],
                      &r->d.o);
}

static bool find(eg_module *m, const eg__batch *b, eg__found *each)
{
    retinanet *r = (retinanet *)m;
    eg__dense made;
    bool good = run(r, b, &made);
    for (int64_t i = 0; i < b->count && good; i++) {
        each[i] = find_photo(r, b, i, &made);
        good = each[i].boxes != NULL;
    }
    return good;
}

/* ---- the module --------------------------------------------------------------------------------- */

static void members(eg_module *m, eg_members *walk)
{
    retinanet *r = (retinanet *)m;
    eg_member_child(walk, "features", &r->d.features);
    eg_member_child(walk, "label", &r->label);
    eg_member_child(walk, "box", &r->box);
}

const eg__detector_kind eg__retinanet_kind = {
    {.size = sizeof(eg_module_kind), .name = "retinanet", .members = members},
    .names = eg__names_retinanet,
    .no_hidden = true,
    .no_proposals = true,
    .usual = {.width = 256, .anchor = 32, .box_samples = 1, .found = 300, .iou_threshold = 0.5},
    .losses = losses,
    .find = find};

static eg_module *head(int64_t width, int64_t out)
{
    return eg__begin(eg__tower_new(width, width, 4, out), EG_NORMAL, .std = 0.01);
}

/* Few anchors hold anything: each begins with a hundredth. */
static bool doubt(eg_module *m)
{
    eg_tensors *state = eg_module_state(eg_module_find(m, "label.out"));
    eg_status st = EG_ENOMEM;
    if (state) {
        st = eg_init(eg_tensors_get(state, "bias"), EG_CONSTANT, .value = -log((1 - 0.01) / 0.01));
    }
    eg_tensors_free(state);
    return !st;
}

eg_module *eg_retinanet_new_with(int64_t classes, const eg_detector_options *given)
{
    eg_detector_options o;
    retinanet *r = eg__detector_options(&eg__retinanet_kind, classes, given, &o)
                       ? eg_module_new(sizeof *r, &eg__retinanet_kind.base)
                       : NULL;
    if (!r) {
        return NULL;
    }
    r->d.o = o;
    r->d.classes = classes;
    r->d.features = eg__pyramid_new(&o, 2, true);
    r->label = head(o.width, ANCHORS * classes);
    r->box = head(o.width, ANCHORS * 4);
    eg_module *m = eg_module_finish(&r->d.base);
    if (m && !doubt(m)) {
        eg_module_free(m);
        return NULL;
    }
    return m;
}
