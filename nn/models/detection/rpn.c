/* rpn.c - the first stage of a detector: whether anchors hold an object, whatever it is, and where (Ren et al. 2015).
 */
#include "nn/models/detection/detection.h"

typedef struct rpn {
    eg_module base;
    eg_module *conv, *objectness, *codes;
    eg__first_stage how;
} rpn;

/* Logits of a level, [N, A, 1]. */
static eg_tensor *logits_of(rpn *r, eg_tensor *x, eg_dtype dtype)
{
    eg_tensor *rows = eg__rows_of(eg_module_forward(r->objectness, x), r->how.pairs ? 2 : 1, dtype);
    return r->how.pairs ? eg_sub(eg_slice(rows, 2, 1, 2, 1), eg_slice(rows, 2, 0, 1, 1)) : rows;
}

bool eg__rpn_run(eg_module *m, const eg__levels *l, eg_dtype dtype, eg__dense *made)
{
    rpn *r = (rpn *)m;
    eg_tensor *logits[EG__LEVELS_MOST], *codes[EG__LEVELS_MOST];
    for (int k = 0; k < l->count; k++) {
        eg_tensor *x = eg_relu(eg_module_forward(r->conv, l->x[k]));
        logits[k] = logits_of(r, x, dtype);
        codes[k] = eg__rows_of(eg_module_forward(r->codes, x), 4, dtype);
        if (!logits[k] || !codes[k]) {
            return false;
        }
    }
    made->logits = eg__rows_joined(logits, l->count);
    made->codes = eg__rows_joined(codes, l->count);
    made->levels = l->count;
    return made->logits && made->codes && made->anchors;
}

/* ---- proposals ---------------------------------------------------------------------------------- */

eg_tensor *eg__propose(const eg_module *m, const eg__dense *made, const eg__batch *b, int64_t i, int64_t before,
                       int64_t most)
{
    const double *w = ((const rpn *)m)->how.weights;
    eg_scope s = eg_scope_push();
    eg_tensor *logits = eg_squeeze(eg_detach(eg_select(made->logits, 0, i)), EG_AXES(1)), *which, *level;
    eg_tensor *codes = eg_detach(eg_select(made->codes, 0, i));
    if (!logits || !codes || !eg__likeliest(made, logits, 1, before, &which, &level)) {
        return eg_scope_pop(s, NULL);
    }
    eg_tensor *boxes = eg_box_decode(eg_index_select(made->anchors, 0, which), eg_index_select(codes, 0, which),
                                     .weights = {w[0], w[1], w[2], w[3]});
    boxes = eg_box_clip(boxes, b->size[i][0], b->size[i][1]);
    eg_tensor *rows = boxes ? eg__rows_with(eg__thick(boxes, 1e-3)) : NULL;
    boxes = eg_index_select(boxes, 0, rows);
    eg_tensor *scores = eg_index_select(logits, 0, eg_index_select(which, 0, rows));
    eg_tensor *kept =
        eg_batched_nms(boxes, scores, eg_index_select(level, 0, rows), .iou_threshold = 0.7, .max_output = most);
    return eg_scope_pop(s, eg_index_select(boxes, 0, kept));
}

/* ---- learning ----------------------------------------------------------------------------------- */

/* Of one photo: logits of some anchors, and whether they should say yes; codes of those, and what they should be. */
typedef struct lesson {
    eg_tensor *logits[EG__PHOTOS_MOST], *yes[EG__PHOTOS_MOST], *codes[EG__PHOTOS_MOST], *wanted[EG__PHOTOS_MOST];
} lesson;

static bool learn_photo(const rpn *r, const eg__dense *made, const eg__batch *b, int64_t i, int64_t samples, lesson *of)
{
    eg_tensor *boxes = b->of[i].boxes;
    const double *w = r->how.weights;
    eg_tensor *match = eg_box_match(eg_box_iou(made->anchors, boxes), .positive = 0.7, .negative = 0.3, .best = true);
    eg_box_samples some = match ? eg_box_sample(match, samples, 0.5) : (eg_box_samples){NULL, NULL};
    if (!some.positive) {
        return false;
    }
    eg_tensor *both[2] = {some.positive, some.negative};
    eg_tensor *logits = eg_squeeze(eg_select(made->logits, 0, i), EG_AXES(1));
    of->logits[i] = eg_index_select(logits, 0, eg_concat(both, 2, 0));
    both[0] = eg_ones_like(eg_cast(some.positive, b->dtype));
    both[1] = eg_zeros_like(eg_cast(some.negative, b->dtype));
    of->yes[i] = eg_concat(both, 2, 0);
    of->codes[i] = eg_index_select(eg_select(made->codes, 0, i), 0, some.positive);
    of->wanted[i] = eg_box_encode(eg_index_select(made->anchors, 0, some.positive),
                                  eg_index_select(boxes, 0, eg_index_select(match, 0, some.positive)),
                                  .weights = {w[0], w[1], w[2], w[3]});
    return of->logits[i] && of->yes[i] && of->codes[i] && of->wanted[i];
}

bool eg__rpn_losses(const eg_module *m, const eg__dense *made, const eg__batch *b, int64_t samples,
                    eg_detector_losses *l)
{
    const rpn *r = (const rpn *)m;
    lesson of;
    for (int64_t i = 0; i < b->count; i++) {
        if (!learn_photo(r, made, b, i, samples, &of)) {
            return false;
        }
    }
    int n = (int)b->count;
    eg_tensor *logits = eg_concat(of.logits, n, 0), *codes = eg_concat(of.codes, n, 0);
    l->objectness = eg_bce_with_logits(logits, eg_concat(of.yes, n, 0));
    eg_tensor *sum = eg_smooth_l1_loss(codes, eg_concat(of.wanted, n, 0), .beta = r->how.beta, .reduction = EG_SUM);
    l->proposal = l->objectness ? eg_div_scalar(sum, (double)eg__max(1, eg_size(logits, 0))) : NULL;
    return l->proposal != NULL;
}

/* ---- the module --------------------------------------------------------------------------------- */

static void members(eg_module *m, eg_members *walk)
{
    rpn *r = (rpn *)m;
    eg_member_child(walk, "conv", &r->conv);
    eg_member_child(walk, "objectness", &r->objectness);
    eg_member_child(walk, "codes", &r->codes);
}

static const eg_module_kind kind = {.size = sizeof(eg_module_kind), .name = "rpn", .members = members};

eg_module *eg__rpn_new(int64_t in, int64_t width, int64_t anchors, const eg__first_stage *how)
{
    rpn *r = eg_module_new(sizeof *r, &kind);
    if (!r) {
        return NULL;
    }
    r->how = *how;
    r->conv = eg_conv2d_new(in, width, .kernel = 3, .padding = 1);
    r->objectness = eg_conv2d_new(width, how->pairs ? 2 * anchors : anchors, .kernel = 1);
    r->codes = eg_conv2d_new(width, 4 * anchors, .kernel = 1);
    return eg__begin(eg_module_finish(&r->base), how->pairs ? EG_TRUNCATED_NORMAL : EG_NORMAL, .std = 0.01);
}
