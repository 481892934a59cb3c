/* test_boxes.c - what detection refuses, odd numbers in it, and values known beforehand. */
#include <egret/ops/boxes.h>

#include "tests/egt.h"

#define FROM(shape, ...) eg_from_values(shape, EG_F32, (double[]){__VA_ARGS__})
#define IDS(n, ...)      eg_from_values(EG_SHAPE(n), EG_I64, (double[]){__VA_ARGS__})

/* Boxes 0 and 1 overlap by 0.6, 2 lies elsewhere, 3 is box 0 again. */
static eg_tensor *four(void)
{
    return FROM(EG_SHAPE(4, 4), 0, 0, 10, 10, 0, 0, 6, 10, 20, 20, 30, 30, 0, 0, 10, 10);
}

EGT(refused)
{
    eg_tensor *b = four(), *s = FROM(EG_SHAPE(4), 1, 2, 3, 4), *c = IDS(4, 0, 0, 1, 1);
    EGT_REFUSED(eg_nms(b, s, .iou_threshold = -0.1), EG_EINVAL, "-0.1");
    EGT_REFUSED(eg_nms(b, s, .iou_threshold = 1.5), EG_EINVAL, "1.5");
    EGT_REFUSED(eg_nms(b, s, .iou_threshold = NAN), EG_EINVAL, "nan");
    EGT_REFUSED(eg_nms(b, s, .score_threshold = NAN), EG_EINVAL, "NaN");
    EGT_REFUSED(eg_nms(b, s, .max_output = -1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_nms(b, FROM(EG_SHAPE(3), 1, 2, 3)), EG_ESHAPE, "[3]");
    EGT_REFUSED(eg_nms(FROM(EG_SHAPE(1, 5), 1, 2, 3, 4, 5), s), EG_ESHAPE, "[1, 5]");
    EGT_REFUSED(eg_nms(eg_cast(b, EG_I32), s), EG_EDTYPE, "i32");
    EGT_REFUSED(eg_nms(b, c), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_batched_nms(b, s, s), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_batched_nms(b, s, IDS(3, 0, 0, 1)), EG_ESHAPE, "[3]");
    EGT_REFUSED(eg_box_iou(b, s), EG_ESHAPE, "[4]");
    EGT_REFUSED(eg_box_area(eg_scalar(1, EG_F32)), EG_ESHAPE, "[]");
    EGT_REFUSED(eg_box_clip(b, -1, 2), EG_EINVAL, "-1");
    EGT_REFUSED(eg_box_encode(b, b, .weights = {1, 1, 1, 0}), EG_EINVAL, "weight 0");
    EGT_REFUSED(eg_box_decode(b, b, .clip = NAN), EG_EINVAL, "clip");
    EGT_REFUSED(eg_anchors(2, 2), EG_EINVAL, "no size");
    EGT_REFUSED(eg_anchors(2, 2, .sizes = {-1}), EG_EINVAL, "size -1");
    EGT_REFUSED(eg_anchors(2, 2, .sizes = {1}, .ratios = {NAN}), EG_EINVAL, "ratio nan");
    EGT_REFUSED(eg_anchors(2, 2, .sizes = {1}, .stride = {-1}), EG_EINVAL, "stride -1");
    EGT_REFUSED(eg_anchors(-1, 2, .sizes = {1}), EG_ESHAPE, "-1");
}

EGT(suppression)
{
    eg_tensor *b = four(), *s = FROM(EG_SHAPE(4), 0.5, 0.9, 0.1, 0.5);
    EGT_EQ(egt_distance(eg_nms(b, s, .iou_threshold = 0.5), IDS(2, 1, 2)), 0);
    EGT_EQ(egt_distance(eg_nms(b, s, .iou_threshold = 0.7), IDS(3, 1, 0, 2)), 0);
    EGT_EQ(egt_distance(eg_nms(b, s, .iou_threshold = 1), IDS(4, 1, 0, 3, 2)), 0);
    EGT_EQ(egt_distance(eg_nms(b, s, .iou_threshold = 0.7, .max_output = 2), IDS(2, 1, 0)), 0);
    EGT_EQ(egt_distance(eg_nms(b, s, .iou_threshold = 0.7, .score_threshold = 0.1), IDS(2, 1, 0)), 0);
    EGT_EQ(egt_distance(eg_batched_nms(b, s, IDS(4, 7, -3, 7, 5), .iou_threshold = 0.5), IDS(4, 1, 0, 3, 2)), 0);
    EGT_EQ(egt_distance(eg_batched_nms(b, s, eg_cast(IDS(4, 7, 3, 7, 5), EG_U8), .iou_threshold = 0.5),
                        IDS(4, 1, 0, 3, 2)),
           0);
    EGT_EQ(egt_distance(eg_batched_nms(b, s, IDS(4, 7, 7, 7, 5), .iou_threshold = 0.5), IDS(3, 1, 3, 2)), 0);
}

EGT(odd_numbers)
{
    eg_tensor *b = four(), *s = FROM(EG_SHAPE(4), NAN, 0.9, -INFINITY, 0.5);
    EGT_EQ(egt_distance(eg_nms(b, s, .iou_threshold = 0.7), IDS(3, 1, 3, 2)), 0);
    EGT_EQ(egt_distance(eg_nms(b, eg_full(EG_SHAPE(4), NAN, EG_F32)), eg_zeros(EG_SHAPE(0), EG_I64)), 0);
    EGT_OK(eg_set(b, 4, NAN));
    EGT_OK(eg_set(b, 9, INFINITY));
    s = FROM(EG_SHAPE(4), 4, 3, 2, 1);
    EGT_EQ(egt_distance(eg_nms(b, s, .iou_threshold = 0), IDS(3, 0, 1, 2)), 0);
}

EGT(codes_and_overlaps)
{
    eg_tensor *b = four();
    EGT_NEAR(eg_get(eg_box_iou(b, b), 1), 0.6, 1e-6);
    EGT_NEAR(eg_get(eg_box_giou(b, b), 2), (200.0 - 900) / 900, 1e-6);
    EGT_EQ(eg_get(eg_box_area(b), 1), 60);
    eg_tensor *there = eg_box_encode(b, eg_add_scalar(b, 3), .weights = {10, 10, 5, 5});
    EGT_CHECK(egt_distance(eg_box_decode(b, there, .weights = {10, 10, 5, 5}), eg_add_scalar(b, 3)) < 1e-6);
    EGT_NEAR(eg_get(there, 4), 5, 1e-6);
    /* Sizes grow by no more than 1000 / 16, unless asked to. */
    eg_tensor *huge = FROM(EG_SHAPE(1, 4), 0, 0, 5, 0), *unit = FROM(EG_SHAPE(1, 4), -0.5, -0.5, 0.5, 0.5);
    EGT_NEAR(eg_get(eg_box_decode(unit, huge), 2), 1000.0 / 32, 1e-5);
    EGT_NEAR(eg_get(eg_box_decode(unit, huge, .clip = INFINITY), 2), exp(5) / 2, 1e-5);
    eg_tensor *a = eg_anchors(2, 3, .sizes = {4, 8}, .ratios = {0.25, 1}, .stride = {16, 10}, .offset = {1, 2});
    EGT_EQ(eg_size(a, 0), 24);
    EGT_EQ(egt_distance(eg_slice(a, 0, 20, 24, 1),
                        FROM(EG_SHAPE(4, 4), 18, 16, 26, 18, 14, 15, 30, 19, 20, 15, 24, 19, 18, 13, 26, 21)),
           0);
}

EGT(matches)
{
    const double overlap[] = {0.7, 0.1, 0.2, 0.3, 0.5, 0.5, 0, 0, 0.1, 0.4}; /* of 5 anchors with 2 objects */
    eg_tensor *iou = eg_from_values(EG_SHAPE(5, 2), EG_F32, overlap), *none = eg_zeros(EG_SHAPE(3, 0), EG_F32);
    const struct {
        eg_tensor *got;
        double want[5];
    } cases[] = {{eg_box_match(iou), {0, -1, 0, -1, -1}},
                 {eg_box_match(iou, .positive = 0.6, .negative = 0.3), {0, -2, -2, -1, -2}},
                 {eg_box_match(iou, .positive = 0.9, .negative = 0.1, .best = true), {0, -2, 0, -1, -2}},
                 {eg_box_match(eg_mul_scalar(iou, 0), .best = true), {-1, -1, -1, -1, -1}}};
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 5; k++) {
            EGT_EQ(eg_get_int(cases[i].got, k), cases[i].want[k]);
        }
    }
    EGT_CHECK(egt_same_bits(eg_box_match(none, .best = true), eg_full(EG_SHAPE(3), -1, EG_I64)));
    EGT_EQ(eg_size(eg_box_match(eg_zeros(EG_SHAPE(0, 2), EG_F32)), 0), 0);
    EGT_REFUSED(eg_box_match(iou, .positive = 0.3, .negative = 0.4), EG_EINVAL, "positive 0.3");
    EGT_REFUSED(eg_box_match(eg_select(iou, 0, 0)), EG_ESHAPE, "[2]");
    EGT_REFUSED(eg_box_match(eg_cast(iou, EG_I64)), EG_EDTYPE, "i64");
}

EGT(samples)
{
    eg_tensor *all = eg_full(EG_SHAPE(100), EG_BOX_NEGATIVE, EG_I64);
    for (int i = 0; i < 100; i++) {
        EGT_OK(eg_set(all, i, i % 10 == 3 ? 2 : i % 10 == 4 ? EG_BOX_NEITHER : EG_BOX_NEGATIVE));
    }
    int seen[100] = {0};
    for (int k = 0; k < 100; k++) {
        EG_SCOPE {
            eg_seed((uint64_t)k);
            eg_box_samples b = eg_box_sample(all, 16, 0.25);
            EGT_CHECK(b.positive && eg_numel(b.positive) == 4 && eg_numel(b.negative) == 12);
            for (int i = 0; i < 16; i++) {
                const int64_t at = i < 4 ? eg_get_int(b.positive, i) : eg_get_int(b.negative, i - 4);
                EGT_CHECK(at % 10 != 4 && (at % 10 == 3) == (i < 4));
                seen[at]++;
            }
        }
    }
    for (int i = 0; i < 100; i++) {
        EGT_CHECK(i % 10 == 4 ? !seen[i] : seen[i] > 2 && seen[i] < 80);
    }
    eg_box_samples b = eg_box_sample(all, 64, 0.5); /* there are 10, and negatives make up for the rest */
    EGT_CHECK(eg_numel(b.positive) == 10 && eg_numel(b.negative) == 54);
    b = eg_box_sample(eg_full(EG_SHAPE(5), 1, EG_I64), 64, 0.5);
    EGT_CHECK(eg_numel(b.positive) == 5 && eg_numel(b.negative) == 0);
    EGT_REFUSED(eg_box_sample(all, 0, 0.5).positive, EG_EINVAL, "count is 0");
    EGT_REFUSED(eg_box_sample(all, 4, 1.5).positive, EG_EINVAL, "share is 1.5");
    EGT_REFUSED(eg_box_sample(eg_cast(all, EG_F32), 4, 0.5).positive, EG_EDTYPE, "f32");
}
