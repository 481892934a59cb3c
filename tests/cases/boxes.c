/* boxes.c - boxes: overlaps, suppression, codes. */
#include <egret/ops/boxes.h>
#include <egret/ops/join.h>

#include "tests/cases.h"

/* Boxes of sizes above 1 with their first corners in t's first columns. */
static eg_tensor *boxes(eg_tensor *t)
{
    eg_tensor *low = eg_slice(t, -1, 0, 2, 1), *size = eg_add_scalar(eg_slice(t, -1, 2, 4, 1), 1);
    eg_tensor *both[] = {low, eg_add(low, size)};
    return low && both[1] ? eg_concat(both, 2, -1) : NULL;
}

CASE_FUNCTION(area, eg_box_area(x[0]))
CASE_FUNCTION(clip, eg_box_clip(x[0], 3, 2))
CASE_FUNCTION(iou, eg_box_iou(boxes(x[0]), boxes(x[1])))
CASE_FUNCTION(giou, eg_box_giou(boxes(x[0]), boxes(x[1])))
CASE_FUNCTION(encode, eg_box_encode(boxes(x[0]), boxes(x[1]), .weights = {10, 10, 5, 5}))
CASE_FUNCTION(decode, eg_box_decode(boxes(x[0]), x[1]))
CASE_FUNCTION(nms, eg_nms(boxes(x[0]), x[1], .iou_threshold = 0.2))
CASE_FUNCTION(nms_few, eg_nms(boxes(x[0]), x[1], .iou_threshold = 0.3, .score_threshold = 0.4, .max_output = 5))
CASE_FUNCTION(classed, eg_batched_nms(boxes(x[0]), x[1], x[2], .iou_threshold = 0.1))

#define IN(...)                    \
    {                              \
        DIMS(__VA_ARGS__), 0, 4, 0 \
    }
#define CODES(...)                  \
    {                               \
        DIMS(__VA_ARGS__), -1, 1, 0 \
    }
#define WIDE(n)              \
    {                        \
        DIMS(n, 4), 0, 12, 0 \
    }
#define SCORES(n)        \
    {                    \
        DIMS(n), 0, 1, 0 \
    }
#define CLASSES(n)                \
    {                             \
        DIMS(n), 0, 3, 1 + EG_I64 \
    }
#define NMS(name, f, ...)                                               \
    {                                                                   \
        "nms", name, f, __VA_ARGS__, .flags = EGT_NO_GRAD | EGT_NO_HALF \
    }
#define CASE(op, f, ...)       \
    {                          \
        op, #f, f, __VA_ARGS__ \
    }

EGT_CASES(boxes, CASE("mul", area, {IN(2, 3, 4)}), CASE("clamp", clip, {IN(5, 4)}),
          CASE("div", iou, {IN(3, 4), IN(5, 4)}, .flags = EGT_NO_HALF),
          CASE("div", giou, {IN(3, 4), IN(5, 4)}, .flags = EGT_NO_HALF),
          CASE("log", encode, {IN(5, 4), IN(5, 4)}, .flags = EGT_NO_HALF, .tolerance = 1e-4),
          CASE("exp", decode, {IN(5, 1, 4), CODES(5, 3, 4)}, .flags = EGT_NO_HALF),
          NMS("few", nms, {WIDE(7), SCORES(7)}), NMS("many", nms, {WIDE(333), SCORES(333)}),
          NMS("none", nms, {WIDE(0), SCORES(0)}), NMS("best", nms_few, {WIDE(65), SCORES(65)}),
          NMS("classes", classed, {WIDE(150), SCORES(150), CLASSES(150)}))
