/* rcnn.c - detectors of two stages: proposals, and a second look at each (Ren et al. 2015; He et al. 2017). */
#include "nn/models/detection/detection.h"
#include "nn/models/detection/names.h"

enum { CELLS = 7, ANCHORS = 3 };

typedef struct rcnn {
    eg__detector d;
    eg_module *rpn, *hidden1, *hidden2, *label, *box, *mask;
} rcnn;

/* ---- both stages -------------------------------------------------------------------------------- */

static bool first_stage(rcnn *r, const eg__batch *b, eg__levels *l, eg__dense *made)
{
    *l = eg__pyramid_run(r->d.features, b->images);
    if (!l->count) {
        return false;
    }
    made->anchors = eg__anchors(l, b, &(eg__anchor_plan){r->d.o.anchor, 1, 1, true}, made->counts);
    return eg__rpn_run(r->rpn, l, b->dtype, made);
}

/* Logits [R, classes + 1], of which the first says that there is nothing, and codes [R, (classes + 1) 4]. */
static bool second_stage(rcnn *r, const eg__regions *g, const eg__levels *l, eg_tensor **labels, eg_tensor **codes)
{
    eg_tensor *x = eg_flatten(eg__regions_cells(g, l, CELLS), 1, -1);
    x = eg_relu(eg_module_forward(r->hidden2, eg_relu(eg_module_forward(r->hidden1, x))));
    *labels = x ? eg_cast(eg_module_forward(r->label, x), eg_dtype_of(g->boxes)) : NULL;
    *codes = *labels ? eg_cast(eg_module_forward(r->box, x), eg_dtype_of(g->boxes)) : NULL;
    return *codes != NULL;
}

static int64_t proposals(const rcnn *r)
{
    return r->d.o.proposals ? r->d.o.proposals : r->d.base.training ? 2000 : 1000;
}

/* ---- learning ----------------------------------------------------------------------------------- */

/* What was sampled, in the order of levels, and which rows are objects. */
typedef struct ordered {
    eg__regions regions;
    eg_tensor *labels, *wanted, *mask, *objects;
} ordered;

static bool sample(rcnn *r, const eg__batch *b, const eg__dense *made, ordered *s)
{
    eg__sampled all;
    if (!eg__sample(r->rpn, made, b, proposals(r), proposals(r), r->d.o.box_samples, &all)) {
        return false;
    }
    s->regions = eg__regions_of(all.boxes, all.photo);
    s->labels = eg_index_select(all.labels, 0, s->regions.order);
    s->wanted = eg_index_select(all.wanted, 0, s->regions.order);
    s->mask = eg_index_select(all.mask, 0, s->regions.order);
    s->objects = eg__rows_with(s->labels);
    return s->regions.boxes && s->wanted && s->mask && s->objects;
}

static bool box_losses(rcnn *r, const ordered *s, const eg__levels *l, eg_detector_losses *losses)
{
    eg_tensor *logits, *codes;
    if (!second_stage(r, &s->regions, l, &logits, &codes)) {
        return false;
    }
    int64_t n = eg_size(s->labels, 0), classes = r->d.classes + 1;
    losses->label = eg_cross_entropy(logits, s->labels);
    codes = eg__rows_of_labels(eg_reshape(codes, EG_SHAPE(n * classes, 4)), s->labels, classes);
    eg_tensor *wanted = eg_box_encode(eg_index_select(s->regions.boxes, 0, s->objects),
                                      eg_index_select(s->wanted, 0, s->objects), .weights = {10, 10, 5, 5});
    eg_tensor *sum =
        eg_smooth_l1_loss(eg_index_select(codes, 0, s->objects), wanted, .beta = 1.0 / 9, .reduction = EG_SUM);
    losses->box = eg_div_scalar(sum, (double)eg__max(1, n));
    return losses->label && losses->box;
}

static bool mask_loss(rcnn *r, const eg__batch *b, const ordered *s, const eg__levels *l, eg_detector_losses *losses)
{
    eg_tensor *labels = eg_index_select(s->labels, 0, s->objects);
    eg__regions g = eg__regions_of(eg_index_select(s->regions.boxes, 0, s->objects),
                                   eg_index_select(s->regions.photo, 0, s->objects));
    if (!labels || !g.boxes) {
        return false;
    }
    eg_tensor *rows = eg_index_select(s->objects, 0, g.order);
    eg_tensor *logits = eg__mask_logits(r->mask, &g, l, eg_index_select(labels, 0, g.order), r->d.classes + 1);
    losses->mask = eg__mask_loss(logits, &g, eg__masks_of_batch(b), eg_index_select(s->mask, 0, rows));
    return losses->mask != NULL;
}

static bool losses(eg_module *m, const eg__batch *b, eg_detector_losses *l)
{
    rcnn *r = (rcnn *)m;
    eg__levels levels;
    eg__dense made;
    ordered s;
    return first_stage(r, b, &levels, &made) && eg__rpn_losses(r->rpn, &made, b, r->d.o.anchor_samples, l) &&
           sample(r, b, &made, &s) && box_losses(r, &s, &levels, l) && (!r->mask || mask_loss(r, b, &s, &levels, l));
}

/* ---- finding ------------------------------------------------------------------------------------ */

/* Masks of what was found on a photo, in its order. */
static eg_tensor *masks_of(rcnn *r, const eg__found *f, const eg__levels *l, int64_t photo)
{
    eg__regions g = eg__regions_of(f->boxes, eg__photo_numbers(f->boxes, photo));
    if (!g.boxes) {
        return NULL;
    }
    eg_tensor *labels = eg_add_int(eg_index_select(f->labels, 0, g.order), 1);
    eg_tensor *logits = labels ? eg__mask_logits(r->mask, &g, l, labels, r->d.classes + 1) : NULL;
    return eg_index_select(eg_sigmoid(logits), 0, eg_argsort(g.order, 0, false));
}

static bool find_photo(rcnn *r, const eg__batch *b, int64_t i, const eg__levels *l, const eg__dense *made, eg__found *f)
{
    eg_tensor *logits, *codes, *boxes = eg__propose(r->rpn, made, b, i, proposals(r), proposals(r));
    eg__regions g = eg__regions_of(boxes, eg__photo_numbers(boxes, i));
    if (!g.boxes || !second_stage(r, &g, l, &logits, &codes)) {
        return false;
    }
    int64_t n = eg_size(g.boxes, 0), classes = r->d.classes;
    codes = eg_slice(eg_reshape(codes, EG_SHAPE(n, classes + 1, 4)), 1, 1, classes + 1, 1); /* not of nothing */
    *f = eg__choose_classes(g.boxes, logits, codes, b->size[i], &r->d.o);
    f->masks = f->boxes && r->mask ? masks_of(r, f, l, i) : NULL;
    return f->boxes && (f->masks || !r->mask);
}

static bool find(eg_module *m, const eg__batch *b, eg__found *each)
{
    rcnn *r = (rcnn *)m;
    eg__levels levels;
    eg__dense made;
    bool good = first_stage(r, b, &levels, &made);
    for (int64_t i = 0; i < b->count && good; i++) {
        good = find_photo(r, b, i, &levels, &made, &each[i]);
    }
    return good;
}

/* ---- the modules -------------------------------------------------------------------------------- */

static void members(eg_module *m, eg_members *walk)
{
    rcnn *r = (rcnn *)m;
    eg_member_child(walk, "features", &r->d.features);
    eg_member_child(walk, "rpn", &r->rpn);
    eg_member_child(walk, "hidden1", &r->hidden1);
    eg_member_child(walk, "hidden2", &r->hidden2);
    eg_member_child(walk, "label", &r->label);
    eg_member_child(walk, "box", &r->box);
    if (m->kind == &eg__mask_rcnn_kind.base) {
        eg_member_child(walk, "mask", &r->mask);
    }
}

#define KIND(name_, masks_)                                                                      \
    {                                                                                            \
        {.size = sizeof(eg_module_kind), .name = name_, .members = members},                     \
            .names = eg__names_rcnn, .masks = masks_, .losses = losses, .find = find, .usual = { \
                .width = 256,                                                                    \
                .anchor = 32,                                                                    \
                .box_samples = 512,                                                              \
                .found = 100,                                                                    \
                .iou_threshold = 0.5                                                             \
            }                                                                                    \
    }
const eg__detector_kind eg__rcnn_kind = KIND("faster_rcnn", false), eg__mask_rcnn_kind = KIND("mask_rcnn", true);

static eg_module *make(const eg__detector_kind *kind, int64_t classes, const eg_detector_options *given)
{
    eg_detector_options o;
    rcnn *r = eg__detector_options(kind, classes, given, &o) ? eg_module_new(sizeof *r, &kind->base) : NULL;
    if (!r) {
        return NULL;
    }
    r->d.o = o;
    r->d.classes = classes;
    r->d.features = eg__pyramid_new(&o, 1, false);
    r->rpn = eg__rpn_new(o.width, o.width, ANCHORS, &(eg__first_stage){{1, 1, 1, 1}, 1.0 / 9, false});
    r->hidden1 = eg_linear_new(o.width * CELLS * CELLS, o.hidden);
    r->hidden2 = eg_linear_new(o.hidden, o.hidden);
    r->label = eg_linear_new(o.hidden, classes + 1);
    r->box = eg_linear_new(o.hidden, 4 * (classes + 1));
    r->mask = kind->masks ? eg__mask_head_new(o.width, classes + 1) : NULL;
    return eg_module_finish(&r->d.base);
}

eg_module *eg_faster_rcnn_new_with(int64_t classes, const eg_detector_options *options)
{
    return make(&eg__rcnn_kind, classes, options);
}

eg_module *eg_mask_rcnn_new_with(int64_t classes, const eg_detector_options *options)
{
    return make(&eg__mask_rcnn_kind, classes, options);
}
