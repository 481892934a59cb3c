/* boxes.c - what the golden cases of detection stand for. */
#include <egret/ops/boxes.h>

#include "tests/golden/golden.h"

static eg_tensor *nms(const golden_case *c)
{
    double threshold = golden_number(c, "iou_threshold", 0);
    return c->nx > 2 ? eg_batched_nms(c->x[0], c->x[1], c->x[2], .iou_threshold = threshold)
                     : eg_nms(c->x[0], c->x[1], .iou_threshold = threshold);
}

static eg_tensor *match(const golden_case *c)
{
    return eg_box_match(eg_box_iou(c->x[0], c->x[1]), .positive = golden_number(c, "positive", 0),
                        .negative = golden_number(c, "negative", 0), .best = golden_is(c, "best", "1"));
}

static eg_tensor *encode(const golden_case *c)
{
    return eg_box_encode(c->x[0], c->x[1], .weights = {10, 10, 5, 5});
}

static eg_tensor *decode(const golden_case *c)
{
    return eg_box_decode(c->x[0], c->x[1], .weights = {10, 10, 5, 5});
}

GOLDEN_ROWS(boxes, {.op = "nms", .one = nms}, {.op = "box_iou", .f2 = eg_box_iou},
            {.op = "box_giou", .f2 = eg_box_giou}, {.op = "box_match", .one = match},
            {.op = "box_encode", .one = encode}, {.op = "box_decode", .one = decode})
