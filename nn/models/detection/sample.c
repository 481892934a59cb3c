/* sample.c - which of the proposals the second stage of a detector learns from. */
#include "nn/models/detection/detection.h"

eg_tensor *eg__rows_with(eg_tensor *x)
{
    eg_tensor *rows = x ? eg_nonzero(x) : NULL;
    return rows ? eg_reshape(rows, EG_SHAPE(-1)) : NULL;
}

eg_tensor *eg__photo_numbers(eg_tensor *boxes, int64_t i)
{
    eg_tensor *n = boxes ? eg_full(EG_SHAPE(eg_size(boxes, 0)), (double)i, EG_I64) : NULL;
    return n ? eg_to(n, eg_device_of(boxes)) : NULL;
}

/* Of each photo. */
typedef struct lesson {
    eg_tensor *boxes[EG__PHOTOS_MOST], *photo[EG__PHOTOS_MOST], *labels[EG__PHOTOS_MOST], *wanted[EG__PHOTOS_MOST],
        *mask[EG__PHOTOS_MOST];
} lesson;

static bool learn_photo(const eg__batch *b, int64_t i, eg_tensor *proposed, int64_t samples, int64_t first_mask,
                        lesson *of)
{
    const eg__objects *there = &b->of[i];
    eg_tensor *all = eg_concat((eg_tensor *[]){proposed, there->boxes}, 2, 0);
    eg_tensor *match = eg_box_match(eg_box_iou(all, there->boxes));
    eg_box_samples some = match ? eg_box_sample(match, samples, 0.25) : (eg_box_samples){NULL, NULL};
    if (!some.positive) {
        return false;
    }
    eg_tensor *found = eg_index_select(match, 0, some.positive), *both[2] = {some.positive, some.negative};
    of->boxes[i] = eg_index_select(all, 0, eg_concat(both, 2, 0));
    of->photo[i] = eg__photo_numbers(of->boxes[i], i);
    eg_tensor *none = eg_zeros_like(some.negative), *label = eg_index_select(there->labels, 0, found);
    of->labels[i] = eg_concat((eg_tensor *[]){eg_add_int(label, 1), none}, 2, 0);
    of->mask[i] = eg_concat((eg_tensor *[]){eg_add_int(found, first_mask), none}, 2, 0);
    both[0] = eg_index_select(there->boxes, 0, found);
    both[1] = eg_index_select(all, 0, some.negative); /* nobody asks for these */
    of->wanted[i] = eg_concat(both, 2, 0);
    return of->photo[i] && of->labels[i] && of->mask[i] && of->wanted[i];
}

bool eg__sample(const eg_module *rpn, const eg__dense *made, const eg__batch *b, int64_t before, int64_t most,
                int64_t samples, eg__sampled *s)
{
    lesson of;
    int64_t masks = 0;
    for (int64_t i = 0; i < b->count; i++) {
        eg_tensor *boxes = eg__propose(rpn, made, b, i, before, most);
        if (!boxes || !learn_photo(b, i, boxes, samples, masks, &of)) {
            return false;
        }
        masks += eg_size(b->of[i].boxes, 0);
    }
    int n = (int)b->count;
    *s = (eg__sampled){eg_concat(of.boxes, n, 0), eg_concat(of.photo, n, 0), eg_concat(of.labels, n, 0),
                       eg_concat(of.wanted, n, 0), eg_concat(of.mask, n, 0)};
    return s->boxes && s->photo && s->labels && s->wanted && s->mask;
}

eg_tensor *eg__masks_of_batch(const eg__batch *b)
{
    eg_tensor *masks[EG__PHOTOS_MOST];
    for (int64_t i = 0; i < b->count; i++) {
        masks[i] = b->of[i].masks;
    }
    return eg_concat(masks, (int)b->count, 0);
}
