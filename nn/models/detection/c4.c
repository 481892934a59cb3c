/* c4.c - detectors of two stages over a single level of features, the fourth stage of the residual net being what looks
 * again: Ren et al. 2015 and He et al. 2017 as TensorFlow's object detection has them. */
#include "nn/models/detection/detection.h"
#include "nn/models/vision/parts.h"

enum { CELLS = 7, SIZES = 4, ANCHORS = 3 * SIZES, STAGE = 2048, MASK = EG__C4_MASK_SIDE };

typedef struct c4 {
    eg__detector d;
    eg_module *rpn, *stage4, *label, *box, *mask;
} c4;

static const double weights[4] = {10, 10, 5, 5}; /* of codes, in both stages */

/* ---- both stages -------------------------------------------------------------------------------- */

static bool first_stage(c4 *n, const eg__batch *b, eg__levels *l, eg__dense *made)
{
    *l = (eg__levels){{eg__trunk_run(n->d.features, &n->d.o, b->images, NULL)}, 1};
    if (!l->x[0]) {
        return false;
    }
    made->anchors = eg__anchors(l, b, &(eg__anchor_plan){n->d.o.anchor, 2, SIZES, false}, made->counts);
    return eg__rpn_run(n->rpn, l, b->dtype, made);
}

/* Boxes as parts of the images, y before x. */
static eg_tensor *parts(eg_tensor *boxes, const eg__batch *b)
{
    double scale[4] = {1.0 / (double)eg_size(b->images, 2), 1.0 / (double)eg_size(b->images, 3)};
    scale[2] = scale[0];
    scale[3] = scale[1];
    eg_tensor *by = eg_from_values(EG_SHAPE(4), b->dtype, scale),
              *order = eg_from(EG_SHAPE(4), EG_I64, ((int64_t[]){1, 0, 3, 2}));
    if (!by || !order) {
        return NULL;
    }
    return eg_mul(eg_index_select(boxes, 1, eg_to(order, eg_device_of(boxes))), eg_to(by, eg_device_of(boxes)));
}

/* What the fourth stage makes of each box, [R, 2048, 7, 7]. */
static eg_tensor *look(c4 *n, const eg__batch *b, const eg__levels *l, eg_tensor *boxes, eg_tensor *photo)
{
    eg_tensor *x = l->x[0], *at = eg_cast(eg_detach(parts(boxes, b)), eg_dtype_of(x));
    x = eg_crop_and_resize(x, at, photo, 2 * CELLS, 2 * CELLS);
    return eg__trunk_run(n->stage4, &n->d.o, eg_max_pool2d(x, .kernel = 2, .stride = 2), NULL);
}

/* Logits [R, classes + 1], of which the first says that there is nothing, and codes [R, classes, 4]. */
static bool second_stage(c4 *n, eg_tensor *cells, eg_dtype dtype, eg_tensor **logits, eg_tensor **codes)
{
    eg_tensor *x = cells ? eg_mean(cells, .axes = EG_AXES(2, 3)) : NULL;
    *logits = x ? eg_cast(eg_module_forward(n->label, x), dtype) : NULL;
    *codes = *logits ? eg_cast(eg_module_forward(n->box, x), dtype) : NULL;
    *codes = *codes ? eg_reshape(*codes, EG_SHAPE(eg_size(cells, 0), n->d.classes, 4)) : NULL;
    return *codes != NULL;
}

static int64_t proposals(const c4 *n)
{
    return n->d.o.proposals ? n->d.o.proposals : 300;
}

/* ---- learning ----------------------------------------------------------------------------------- */

static bool box_losses(c4 *n, const eg__sampled *s, eg_tensor *objects, eg_tensor *cells, eg_detector_losses *l)
{
    eg_tensor *logits, *codes, *label = eg_add_int(eg_index_select(s->labels, 0, objects), -1);
    if (!label || !second_stage(n, cells, eg_dtype_of(s->boxes), &logits, &codes)) {
        return false;
    }
    int64_t rows = eg_size(s->labels, 0), found = eg_size(objects, 0), classes = n->d.classes;
    l->label = eg_cross_entropy(logits, s->labels);
    codes = eg_reshape(eg_index_select(codes, 0, objects), EG_SHAPE(found * classes, 4));
    eg_tensor *wanted = eg_box_encode(eg_index_select(s->boxes, 0, objects), eg_index_select(s->wanted, 0, objects),
                                      .weights = {weights[0], weights[1], weights[2], weights[3]});
    eg_tensor *sum = eg_smooth_l1_loss(eg__rows_of_labels(codes, label, classes), wanted, .reduction = EG_SUM);
    l->box = eg_mul_scalar(sum, 2.0 / (double)eg__max(1, rows));
    return l->label && l->box;
}

/* Logits of masks of cells, for a class each. */
static eg_tensor *masks(c4 *n, eg_tensor *cells, eg_tensor *label, eg_dtype dtype)
{
    eg_tensor *x = eg_resize(cells, EG_SHAPE(MASK, MASK), .grid = EG_GRID_CORNERS);
    x = eg_module_forward(n->mask, x);
    x = x ? eg_reshape(x, EG_SHAPE(eg_size(label, 0) * n->d.classes, MASK, MASK)) : NULL;
    return x ? eg__rows_of_labels(eg_cast(x, dtype), label, n->d.classes) : NULL;
}

static bool mask_loss(c4 *n, const eg__batch *b, const eg__sampled *s, eg_tensor *objects, eg_tensor *cells,
                      eg_detector_losses *l)
{
    eg_tensor *label = eg_add_int(eg_index_select(s->labels, 0, objects), -1);
    eg_tensor *logits = masks(n, eg_index_select(cells, 0, objects), label, b->dtype);
    eg_tensor *all = eg_unsqueeze(eg_cast(eg__masks_of_batch(b), b->dtype), 1);
    if (!logits || !all) {
        return false;
    }
    /* Boxes as parts of the masks, which end where the photos do. */
    eg_tensor *at = parts(eg_index_select(s->boxes, 0, objects), b);
    eg_tensor *whole =
        eg_pad(all, .after = {0, 0, eg_size(b->images, 2) - eg_size(all, 2), eg_size(b->images, 3) - eg_size(all, 3)});
    eg_tensor *wanted = eg_crop_and_resize(whole, at, eg_index_select(s->mask, 0, objects), MASK, MASK);
    l->mask = eg_mul_scalar(eg_bce_with_logits(logits, eg_squeeze(wanted, EG_AXES(1))), 4);
    return l->mask != NULL;
}

static bool losses(eg_module *m, const eg__batch *b, eg_detector_losses *l)
{
    c4 *n = (c4 *)m;
    eg__levels levels;
    eg__dense made;
    eg__sampled s;
    if (!first_stage(n, b, &levels, &made) || !eg__rpn_losses(n->rpn, &made, b, n->d.o.anchor_samples, l) ||
        !eg__sample(n->rpn, &made, b, INT32_MAX, proposals(n), n->d.o.box_samples, &s)) {
        return false;
    }
    l->proposal = eg_mul_scalar(l->proposal, 2);
    eg_tensor *objects = eg__rows_with(s.labels), *cells = look(n, b, &levels, s.boxes, s.photo);
    return l->proposal && objects && cells && box_losses(n, &s, objects, cells, l) &&
           (!n->mask || mask_loss(n, b, &s, objects, cells, l));
}

/* ---- finding ------------------------------------------------------------------------------------ */

static bool find_photo(c4 *n, const eg__batch *b, int64_t i, const eg__levels *l, const eg__dense *made, eg__found *f)
{
    eg_tensor *logits, *codes, *boxes = eg__propose(n->rpn, made, b, i, INT32_MAX, proposals(n));
    eg_tensor *cells = boxes ? look(n, b, l, boxes, eg__photo_numbers(boxes, i)) : NULL;
    if (!cells || !second_stage(n, cells, b->dtype, &logits, &codes)) {
        return false;
    }
    *f = eg__choose_classes(boxes, logits, codes, b->size[i], &n->d.o);
    if (f->boxes && n->mask) {
        cells = look(n, b, l, f->boxes, eg__photo_numbers(f->boxes, i));
        f->masks = cells ? eg_sigmoid(masks(n, cells, f->labels, b->dtype)) : NULL;
    }
    return f->boxes && (f->masks || !n->mask);
}

static bool find(eg_module *m, const eg__batch *b, eg__found *each)
{
    c4 *n = (c4 *)m;
    eg__levels levels;
    eg__dense made;
    bool good = first_stage(n, b, &levels, &made);
    for (int64_t i = 0; i < b->count && good; i++) {
        good = find_photo(n, b, i, &levels, &made, &each[i]);
    }
    return good;
}

/* ---- the modules -------------------------------------------------------------------------------- */

static void members(eg_module *m, eg_members *walk)
{
    c4 *n = (c4 *)m;
    eg_member_child(walk, "features", &n->d.features);
    eg_member_child(walk, "rpn", &n->rpn);
    eg_member_child(walk, "stage4", &n->stage4);
    eg_member_child(walk, "label", &n->label);
    eg_member_child(walk, "box", &n->box);
    if (m->kind == &eg__mask_c4_kind.base) {
        eg_member_child(walk, "mask", &n->mask);
    }
}

#define KIND(name_, masks_)                                                                \
    {                                                                                      \
        {.size = sizeof(eg_module_kind), .name = name_, .members = members},               \
            .masks = masks_, .no_hidden = true, .losses = losses, .find = find, .usual = { \
                .width = 512,                                                              \
                .anchor = 64,                                                              \
                .box_samples = 64,                                                         \
                .found = 300,                                                              \
                .iou_threshold = 0.6                                                       \
            }                                                                              \
    }
const eg__detector_kind eg__c4_kind = KIND("faster_rcnn_c4", false), eg__mask_c4_kind = KIND("mask_rcnn_c4", true);

static eg_module *make(const eg__detector_kind *kind, int64_t classes, const eg_detector_options *given)
{
    eg_detector_options o;
    c4 *n = eg__detector_options(kind, classes, given, &o) ? eg_module_new(sizeof *n, &kind->base) : NULL;
    if (!n) {
        return NULL;
    }
    n->d.o = o;
    n->d.classes = classes;
    n->d.features = eg__resnet_v1_stages_new(o.layers, 0, 3, kind->masks ? 8 : 16, o.channels);
    n->rpn = eg__rpn_new(STAGE / 2, o.width, ANCHORS,
                         &(eg__first_stage){{weights[0], weights[1], weights[2], weights[3]}, 1, true});
    n->stage4 = eg__resnet_v1_stages_new(o.layers, 3, 4, 32, 0);
    n->label = eg__begin(eg_linear_new(STAGE, classes + 1), EG_GLOROT_UNIFORM);
    n->box = eg__begin(eg_linear_new(STAGE, 4 * classes), EG_GLOROT_UNIFORM);
    n->mask = kind->masks ? eg__begin(eg__tower_new(STAGE, 256, 3, classes), EG_TRUNCATED_NORMAL, .std = 0.01) : NULL;
    eg_module *m = eg_module_finish(&n->d.base);
    if (m && (eg__trunk_freeze(n->d.features, &n->d.o) || eg__trunk_freeze(n->stage4, &n->d.o))) {
        eg_module_free(m);
        return NULL;
    }
    return m;
}

eg_module *eg_faster_rcnn_c4_new_with(int64_t classes, const eg_detector_options *options)
{
    return make(&eg__c4_kind, classes, options);
}

eg_module *eg_mask_rcnn_c4_new_with(int64_t classes, const eg_detector_options *options)
{
    return make(&eg__mask_c4_kind, classes, options);
}
