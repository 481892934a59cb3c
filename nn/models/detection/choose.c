/* choose.c - from everything a net says of a photo to what it found. */
#include "nn/models/detection/detection.h"

eg_tensor *eg__thick(eg_tensor *boxes, double least)
{
    eg_tensor *sides = eg_sub(eg_slice(boxes, 1, 2, 4, 1), eg_slice(boxes, 1, 0, 2, 1));
    return eg_all(eg_ge_scalar(sides, least), .axes = EG_AXES(1));
}

eg__found eg__choose(eg_tensor *boxes, eg_tensor *scores, eg_tensor *labels, const double *size,
                     const eg_detector_options *o)
{
    eg__found f = {.boxes = NULL};
    boxes = eg_box_clip(boxes, size[0], size[1]);
    eg_tensor *rows =
        boxes ? eg__rows_with(eg_logical_and(eg__thick(boxes, 1e-2), eg_gt_scalar(scores, o->score_threshold))) : NULL;
    boxes = eg_index_select(boxes, 0, rows);
    scores = eg_index_select(scores, 0, rows);
    labels = eg_index_select(labels, 0, rows);
    eg_tensor *kept = eg_batched_nms(boxes, scores, labels, .iou_threshold = o->iou_threshold, .max_output = o->found);
    f.scores = eg_index_select(scores, 0, kept);
    f.labels = eg_index_select(labels, 0, kept);
    f.from = eg_index_select(rows, 0, kept);
    f.boxes = f.scores && f.labels && f.from ? eg_index_select(boxes, 0, kept) : NULL;
    return f;
}

/* The classes of rows [n * classes] of n boxes. */
static eg_tensor *labels_of_rows(eg_tensor *boxes, int64_t classes)
{
    int64_t n = eg_size(boxes, 0);
    eg_tensor *one = eg_arange(0, (double)classes, 1, EG_I64);
    eg_tensor *all = one ? eg_expand(eg_to(one, eg_device_of(boxes)), EG_SHAPE(n, classes)) : NULL;
    return all ? eg_reshape(all, EG_SHAPE(n * classes)) : NULL;
}

eg__found eg__choose_classes(eg_tensor *boxes, eg_tensor *logits, eg_tensor *codes, const double *size,
                             const eg_detector_options *o)
{
    int64_t n = eg_size(boxes, 0), classes = eg_size(logits, 1) - 1;
    eg_tensor *scores = eg_slice(eg_softmax(logits, 1), 1, 1, classes + 1, 1);
    eg_tensor *of = eg_box_decode(eg_unsqueeze(boxes, 1), codes, .weights = {10, 10, 5, 5});
    eg_tensor *label = labels_of_rows(boxes, classes);
    if (!scores || !of || !label) {
        return (eg__found){.boxes = NULL};
    }
    return eg__choose(eg_reshape(of, EG_SHAPE(n * classes, 4)), eg_reshape(scores, EG_SHAPE(n * classes)), label, size,
                      o);
}
