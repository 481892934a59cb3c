/* detector.c - what all detectors have in common for their callers. */
#include <math.h>

#include <egret/models/detection.h>

#include "nn/models/detection/detection.h"

/* ---- options ------------------------------------------------------------------------------------ */

static bool in_order(const eg_detector_options *o)
{
    const int64_t counts[] = {o->channels, o->width, o->hidden, o->anchor_samples, o->box_samples, o->found};
    for (int i = 0; i < EG__COUNT(counts); i++) {
        if (counts[i] < 1 || counts[i] > 1 << 20) {
            return false;
        }
    }
    return o->proposals >= 0 && o->proposals <= 1 << 20 && o->anchor >= 1 && o->anchor <= 4096 &&
           o->score_threshold >= 0 && o->score_threshold <= 1 && o->iou_threshold >= 0 && o->iou_threshold <= 1 &&
           o->frozen_stages >= 0 && o->frozen_stages <= 5;
}

bool eg__detector_options(const eg__detector_kind *kind, int64_t classes, const eg_detector_options *given,
                          eg_detector_options *o)
{
    const char *op = kind->base.name;
    const eg_detector_options *u = &kind->usual;
    eg__options(o, sizeof *o, given);
    if ((kind->no_hidden && o->hidden) ||
        (kind->no_proposals && (o->proposals || o->anchor_samples || o->box_samples))) {
        eg_failf(EG_EINVAL, op, "this net has no place for hidden%s",
                 kind->no_proposals ? ", proposals, anchor_samples or box_samples" : "");
        return false;
    }
    o->layers = o->layers ? o->layers : 50;
    o->channels = o->channels ? o->channels : 3;
    o->width = o->width ? o->width : u->width;
    o->hidden = o->hidden ? o->hidden : 1024;
    o->anchor = o->anchor != 0 ? o->anchor : u->anchor;
    o->anchor_samples = o->anchor_samples ? o->anchor_samples : 256;
    o->box_samples = o->box_samples ? o->box_samples : u->box_samples;
    o->found = o->found ? o->found : u->found;
    o->score_threshold = eg__or(o->score_threshold, 0.05);
    o->iou_threshold = eg__or(o->iou_threshold, u->iou_threshold);
    if (classes < 1 || classes > 1 << 16 || !in_order(o)) {
        eg_failf(EG_EINVAL, op,
                 "%lld classes, or options, are out of order: counts are 1 or more, thresholds 0..1, "
                 "frozen_stages 0..5, the anchor 1..4096",
                 (long long)classes);
        return false;
    }
    return true;
}

/* ---- modules of these kinds --------------------------------------------------------------------- */

static const eg__detector_kind *kind_of(const char *op, const eg_module *m)
{
    static const eg__detector_kind *const kinds[] = {&eg__rcnn_kind, &eg__mask_rcnn_kind, &eg__c4_kind,
                                                     &eg__mask_c4_kind, &eg__retinanet_kind};
    for (int i = 0; m && i < EG__COUNT(kinds); i++) {
        if (m->kind == &kinds[i]->base) {
            return kinds[i];
        }
    }
    if (m || !eg_last_error()->code) {
        eg_failf(EG_EINVAL, op, "%s is no detector", m ? m->kind->name : "NULL");
    }
    return NULL;
}

const char *eg_detector_names(const eg_module *m)
{
    static const char op[] = "eg_detector_names";
    const eg__detector_kind *k = kind_of(op, m);
    if (k && !k->names) {
        eg_failf(EG_EINVAL, op, "nobody else has a %s", m->kind->name);
    }
    return k ? k->names : NULL;
}

/* ---- learning ----------------------------------------------------------------------------------- */

static const eg_detector_losses no_losses = {NULL, NULL, NULL, NULL, NULL, NULL};

static bool learn(eg_module *m, const eg__detector_kind *k, const eg__batch *b, eg_detector_losses *l)
{
    *l = no_losses;
    if (!k->losses(m, b, l)) {
        return false;
    }
    eg_tensor *parts[] = {l->objectness, l->proposal, l->label, l->box, l->mask}, *sum = NULL;
    for (int i = 0; i < EG__COUNT(parts); i++) {
        sum = !parts[i] ? sum : sum ? eg_add(sum, parts[i]) : parts[i];
    }
    l->loss = eg_alias(sum);
    return l->loss != NULL;
}

eg_detector_losses eg_detector_loss_with(eg_module *m, eg_tensor *images, eg_tensor *boxes, eg_tensor *labels,
                                         const eg_detector_batch *batch)
{
    static const char op[] = "eg_detector_loss";
    eg_detector_batch g;
    eg__options(&g, sizeof g, batch);
    const eg__detector_kind *k = kind_of(op, m);
    if (!k) {
        return no_losses;
    }
    if (k->masks != (g.masks != NULL)) {
        eg_failf(EG_EINVAL, op, g.masks ? "%s learns no masks" : "%s learns from masks, and there are none",
                 m->kind->name);
        return no_losses;
    }
    eg__batch b;
    eg_detector_losses l = no_losses;
    eg_scope s = eg_scope_push();
    bool good = s.depth && !eg__batch_begin(op, images, g.sizes, &b) &&
                !eg__batch_objects(op, boxes, labels, g.masks, ((eg__detector *)m)->classes, &b) && learn(m, k, &b, &l);
    eg_tensor *out[] = {l.loss, l.objectness, l.proposal, l.label, l.box, l.mask};
    if (!good) {
        eg_scope_pop(s, NULL);
        return no_losses;
    }
    return eg_scope_pop_n(s, out, EG__COUNT(out)) ? no_losses : l;
}

/* ---- finding ------------------------------------------------------------------------------------ */

static const eg_detections nothing = {NULL, NULL, NULL, NULL};

/* Of one photo, with rows of `value` behind it to as many as the most. */
static eg_tensor *filled(eg_tensor *t, int64_t most, double value)
{
    return t ? eg_pad(t, .after = {most - eg_size(t, 0)}, .value = value) : NULL;
}

static eg_detections joined(const eg__found *each, int64_t n)
{
    eg_tensor *boxes[EG__PHOTOS_MOST], *scores[EG__PHOTOS_MOST], *labels[EG__PHOTOS_MOST], *masks[EG__PHOTOS_MOST];
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        most = eg__max(most, eg_size(each[i].boxes, 0));
    }
    for (int64_t i = 0; i < n; i++) {
        boxes[i] = filled(each[i].boxes, most, 0);
        scores[i] = filled(each[i].scores, most, 0);
        labels[i] = filled(each[i].labels, most, -1);
        masks[i] = filled(each[i].masks, most, 0);
        if (!boxes[i] || !scores[i] || !labels[i] || (each[i].masks && !masks[i])) {
            return nothing;
        }
    }
    eg_detections d = {eg_stack(boxes, (int)n, 0), eg_stack(scores, (int)n, 0), eg_stack(labels, (int)n, 0),
                       masks[0] ? eg_stack(masks, (int)n, 0) : NULL};
    return d.boxes && d.scores && d.labels && (d.masks || !masks[0]) ? d : nothing;
}

static eg_detections find(eg_module *m, const eg__detector_kind *k, const eg__batch *b)
{
    eg__found each[EG__PHOTOS_MOST];
    return k->find(m, b, each) ? joined(each, b->count) : nothing;
}

eg_detections eg_detector_find(eg_module *m, eg_tensor *images, eg_tensor *sizes)
{
    static const char op[] = "eg_detector_find";
    const eg__detector_kind *k = kind_of(op, m);
    if (!k) {
        return nothing;
    }
    eg__batch b;
    eg_scope s = eg_scope_push();
    eg_detections d = s.depth && !eg__batch_begin(op, images, sizes, &b) ? find(m, k, &b) : nothing;
    eg_tensor *out[] = {d.boxes, d.scores, d.labels, d.masks};
    return eg_scope_pop_n(s, out, EG__COUNT(out)) || !d.boxes ? nothing : d;
}

eg_detections eg_detections_at(const eg_detections *found, int64_t i)
{
    static const char op[] = "eg_detections_at";
    if (!found || !found->boxes) {
        if (!eg_last_error()->code) {
            eg_fail(EG_EINVAL, op, "there are no detections");
        }
        return nothing;
    }
    int64_t n = eg_size(found->boxes, 0);
    if (i < 0 || i >= n) {
        eg_failf(EG_EINDEX, op, "photo %lld is outside 0..%lld", (long long)i, (long long)n - 1);
        return nothing;
    }
    eg_tensor *all[] = {found->boxes, found->scores, found->labels, found->masks}, *out[4] = {NULL};
    eg_scope s = eg_scope_push();
    eg_tensor *labels = eg_select(found->labels, 0, i);
    eg_tensor *there = labels ? eg_sum(eg_cast(eg_ge_scalar(labels, 0), EG_I64)) : NULL;
    int64_t count = there ? (int64_t)eg_item(there) : 0;
    bool good = there != NULL;
    for (int k = 0; k < 4 && good; k++) {
        out[k] = all[k] ? eg_slice(eg_select(all[k], 0, i), 0, 0, count, 1) : NULL;
        good = out[k] || !all[k];
    }
    if (!good) {
        eg_scope_pop(s, NULL);
        return nothing;
    }
    return eg_scope_pop_n(s, out, 4) ? nothing : (eg_detections){out[0], out[1], out[2], out[3]};
}

/* ---- masks -------------------------------------------------------------------------------------- */

/* Row or column i of so many cells; beyond the box there is nothing. */
static double cell(const float *cells, int64_t side, int64_t i, int64_t j)
{
    return i >= 0 && i < side && j >= 0 && j < side ? (double)cells[i * side + j] : 0;
}

/* A pixel is what its middle has of the four cells around it. */
static eg_status paste(eg_tensor *cells, const double *box, int64_t height, int64_t width, uint8_t *to)
{
    const int64_t side = eg_size(cells, 0);
    const float *from = eg_data(eg_contiguous(cells));
    const double w = (box[2] - box[0]) / (double)side, h = (box[3] - box[1]) / (double)side; /* of a cell */
    if (!from) {
        return eg_last_error()->code;
    }
    for (int64_t i = (int64_t)fmax(0, box[1] - h); i < fmin((double)height, box[3] + h) && h > 0; i++) {
        const double v = ((double)i + 0.5 - box[1]) / h - 0.5, row = floor(v), down = v - row;
        for (int64_t j = (int64_t)fmax(0, box[0] - w); j < fmin((double)width, box[2] + w) && w > 0; j++) {
            const double u = ((double)j + 0.5 - box[0]) / w - 0.5, column = floor(u), right = u - column;
            const int64_t y = (int64_t)row, x = (int64_t)column;
            const double above = (1 - right) * cell(from, side, y, x) + right * cell(from, side, y, x + 1);
            const double below = (1 - right) * cell(from, side, y + 1, x) + right * cell(from, side, y + 1, x + 1);
            to[i * width + j] = (1 - down) * above + down * below > 0.5;
        }
    }
    return EG_OK;
}

static eg_status check_masks(const char *op, eg_tensor *boxes, eg_tensor *masks, int64_t height, int64_t width)
{
    if (!boxes || !masks) {
        return eg_last_error()->code ? eg_last_error()->code
                                     : eg_failf(EG_EINVAL, op, "%s are NULL", boxes ? "masks" : "boxes");
    }
    bool fits = eg_ndim(boxes) == 2 && eg_size(boxes, 1) == 4 && eg_ndim(masks) == 3 &&
                eg_size(masks, 0) == eg_size(boxes, 0) && eg_size(masks, 1) == eg_size(masks, 2) &&
                (eg_size(masks, 1) || !eg_size(masks, 0));
    if (!fits) {
        return eg_failf(EG_ESHAPE, op, "boxes and masks must be [k, 4] and [k, S, S]");
    }
    if (!eg__is_floats(boxes) || !eg__is_floats(masks)) {
        return eg_fail(EG_EDTYPE, op, "boxes and masks must be floats");
    }
    const int64_t most = 1 << 15;
    return height >= 1 && width >= 1 && height <= most && width <= most
               ? EG_OK
               : eg_failf(EG_EINVAL, op, "a photo of %lld x %lld pixels", (long long)height, (long long)width);
}

static eg_status paste_all(const char *op, eg_tensor *boxes, eg_tensor *masks, eg_tensor *to)
{
    const int64_t height = eg_size(to, 1), width = eg_size(to, 2);
    uint8_t *pixels = eg_data_mut(to);
    eg_status st = pixels ? EG_OK : eg_last_error()->code;
    for (int64_t i = 0; i < eg_size(boxes, 0) && !st; i++) {
        EG_SCOPE {
            double box[4];
            st = eg_to_values(eg_select(boxes, 0, i), box);
            for (int k = 0; k < 4 && !st; k++) {
                st = fabs(box[k]) <= 4 * (double)eg__max(height, width)
                         ? EG_OK
                         : eg_failf(EG_EINVAL, op, "box %lld has %g", (long long)i, box[k]);
            }
            st = st ? st : paste(eg_select(masks, 0, i), box, height, width, pixels + i * height * width);
        }
    }
    return st;
}

eg_tensor *eg_detection_masks(eg_tensor *boxes, eg_tensor *masks, int64_t height, int64_t width)
{
    static const char op[] = "eg_detection_masks";
    if (check_masks(op, boxes, masks, height, width)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    boxes = eg_to(eg_detach(boxes), eg_cpu());
    masks = eg_cast(eg_to(eg_detach(masks), eg_cpu()), EG_F32);
    eg_tensor *all = eg_zeros(EG_SHAPE(boxes ? eg_size(boxes, 0) : 0, height, width), EG_U8);
    all = all ? eg_to(all, eg_cpu()) : NULL;
    return eg_scope_pop(s, boxes && masks && all && !paste_all(op, boxes, masks, all) ? all : NULL);
}
