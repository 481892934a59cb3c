/* boxes.h - detection: boxes, how much they overlap, which stay, and their code against anchors.
 *
 * A box is four floats x1, y1, x2, y2 on the last axis, the left upper and right lower corner. All
 * but eg_nms are compositions: any float dtype, gradients to every float argument. */
#ifndef EGRET_OPS_BOXES_H
#define EGRET_OPS_BOXES_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* (x2 - x1) (y2 - y1) of boxes [..., 4]: [...]. On the CPU areas and overlaps are computed in
 * f64 where they may lie outside the range of f32. */
EG_API eg_tensor *eg_box_area(eg_tensor *boxes);
/* Boxes [..., 4] within 0..width, 0..height. */
EG_API eg_tensor *eg_box_clip(eg_tensor *boxes, double height, double width);
/* Intersection over union of every box of a [N, 4] with every one of b [M, 4]: [N, M]. NaN for two
 * empty boxes. */
EG_API eg_tensor *eg_box_iou(eg_tensor *a, eg_tensor *b);
/* The same less the part of the smallest box around both that neither covers (Rezatofighi et al.
 * 2019). */
EG_API eg_tensor *eg_box_giou(eg_tensor *a, eg_tensor *b);

typedef struct eg_nms_options {
    size_t size;
    double iou_threshold;   /* 0..1 */
    double score_threshold; /* boxes with scores up to it are left out; 0: none, EG_ZERO: 0 */
    int64_t max_output;     /* at most so many; 0: any number, EG_ZERO: none */
} eg_nms_options;

/* Non-maximum suppression: of boxes [N, 4] by falling score those whose overlap with every one that
 * stays before is at most iou_threshold. Indices of those that stay, [kept] i64, in that order; of
 * equal scores the lower index comes first. scores [N] of any float dtype. A box with a NaN score
 * is left out; one with a NaN corner overlaps nothing. No gradient; waits for the device.
 * EG_EINVAL: iou_threshold outside 0..1, a NaN score_threshold, max_output below 0. */
EG_API eg_tensor *eg_nms_with(eg_tensor *boxes, eg_tensor *scores, const eg_nms_options *options);
#define eg_nms(...)                 EG_NMS_(__VA_ARGS__, )
#define EG_NMS_(boxes, scores, ...) eg_nms_with(boxes, scores, EG_OPTIONS_(eg_nms_options, __VA_ARGS__))

/* The same where only boxes of one class suppress each other: classes [N], i64, i32 or u8. */
EG_API eg_tensor *eg_batched_nms_with(eg_tensor *boxes, eg_tensor *scores, eg_tensor *classes,
                                      const eg_nms_options *options);
#define eg_batched_nms(...) EG_BATCHED_NMS_(__VA_ARGS__, )
#define EG_BATCHED_NMS_(boxes, scores, classes, ...) \
    eg_batched_nms_with(boxes, scores, classes, EG_OPTIONS_(eg_nms_options, __VA_ARGS__))

typedef struct eg_box_code_options {
    size_t size;
    double weights[4]; /* of tx, ty, tw, th; all 0: 1, 1, 1, 1 */
    double clip;       /* decoding: most that tw and th count for, after their weights; 0: log(1000 / 16) */
} eg_box_code_options;

/* Boxes as seen from anchors, both [..., 4] and broadcast (Ren et al. 2015): tx = wx (x - xa) / wa,
 * ty likewise, tw = ww log(w / wa), th likewise, with x, y the centres and w, h the sizes.
 * EG_EINVAL: weights not above 0. */
EG_API eg_tensor *eg_box_encode_with(eg_tensor *anchors, eg_tensor *boxes, const eg_box_code_options *options);
#define eg_box_encode(...) EG_BOX_ENCODE_(__VA_ARGS__, )
#define EG_BOX_ENCODE_(anchors, boxes, ...) \
    eg_box_encode_with(anchors, boxes, EG_OPTIONS_(eg_box_code_options, __VA_ARGS__))
/* And back: codes [..., 4] to boxes. clip: EG_EINVAL for NaN; INFINITY for none. */
EG_API eg_tensor *eg_box_decode_with(eg_tensor *anchors, eg_tensor *codes, const eg_box_code_options *options);
#define eg_box_decode(...) EG_BOX_DECODE_(__VA_ARGS__, )
#define EG_BOX_DECODE_(anchors, codes, ...) \
    eg_box_decode_with(anchors, codes, EG_OPTIONS_(eg_box_code_options, __VA_ARGS__))

enum { EG_BOX_NEGATIVE = -1, EG_BOX_NEITHER = -2 };
typedef struct eg_box_match_options {
    size_t size;
    double positive; /* least overlap to find an object; 0: 0.5 */
    double negative; /* overlaps below it find nothing; 0: as positive, EG_ZERO: 0 */
    bool best;       /* each object is found by the anchors that overlap it most, however little */
} eg_box_match_options;

/* Which object each anchor is to find: of overlaps [A, M], of A anchors with M objects (eg_box_iou), the column that is
 * the largest, i64 [A]; EG_BOX_NEGATIVE where that is below `negative`, EG_BOX_NEITHER between the two. With .best the
 * anchors that an object has most in common with, and anything, count as positive too, for the object they themselves
 * overlap most (Ren et al. 2015, section 3.1.2; torchvision's Matcher). Without objects all are negative. No gradient.
 * EG_EINVAL: thresholds outside 0..1, negative above positive. */
EG_API eg_tensor *eg_box_match_with(eg_tensor *overlaps, const eg_box_match_options *options);
#define eg_box_match(...)            EG_BOX_MATCH_(__VA_ARGS__, )
#define EG_BOX_MATCH_(overlaps, ...) eg_box_match_with(overlaps, EG_OPTIONS_(eg_box_match_options, __VA_ARGS__))

/* Some anchors to learn from, by chance: indices i64 of positive ones, at most `share` of count, and of negative ones,
 * as many as are missing to count, each in any order. Fewer where there are not so many. On failure both are NULL. */
typedef struct eg_box_samples {
    eg_tensor *positive, *negative;
} eg_box_samples;
/* matches, i64 [A], as eg_box_match gives them; waits for the device. EG_EINVAL: count below 1, share outside 0..1. */
EG_API eg_box_samples eg_box_sample(eg_tensor *matches, int64_t count, double share);

typedef struct eg_anchors_options {
    size_t size;
    double sizes[8];  /* roots of areas, in pixels of the image; ends at the first 0 */
    double ratios[8]; /* height / width; the same; none: 1 */
    double stride[2]; /* pixels of the image per cell, down and across; 0: 1 */
    double offset[2]; /* of the first cell's centre, down and across */
    bool rounded;     /* distances of corners from the centre are whole numbers, as torchvision has them */
} eg_anchors_options;

/* Boxes around the centre of every cell of a height x width map, for each ratio of each size:
 * [height * width * ratios * sizes, 4] f32, cells row by row, sizes fastest.
 * EG_EINVAL: no size, numbers not above 0. On the device of the thread's makers. */
EG_API eg_tensor *eg_anchors_with(int64_t height, int64_t width, const eg_anchors_options *options);
#define eg_anchors(...)                 EG_ANCHORS_(__VA_ARGS__, )
#define EG_ANCHORS_(height, width, ...) eg_anchors_with(height, width, EG_OPTIONS_(eg_anchors_options, __VA_ARGS__))

EG_END_DECLS

#endif
