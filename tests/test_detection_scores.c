/* test_detection_scores.c - average precision against pycocotools' and the devkit's of VOC (tests/golden/coco.py),
 * joined, and refused. */
#define _DEFAULT_SOURCE
#include "tests/ranks.h"

#include <egret/detection.h>

enum { PHOTOS = 14, CLASSES = 5, WIDTH = 200, HEIGHT = 160, MOST_THINGS = 400 };

/* A column of the file. */
typedef struct column {
    double v[4 * MOST_THINGS];
    int n;
} column;

static struct {
    column found_box, found_score, found_label, found_photo;
    column box, label, flags, area, photo;
} all;

static void read_column(const eg_tensors *file, const char *name, column *c)
{
    eg_tensor *t = eg_tensors_get(file, name);
    EGT_CHECK(t && eg_numel(t) <= 4 * MOST_THINGS);
    c->n = (int)eg_size(t, 0);
    EGT_OK(eg_to_values(t, c->v));
}

static eg_tensors *golden(void)
{
    eg_tensors *file = eg_tensors_open("tests/golden/coco.safetensors");
    EGT_CHECK(file);
    read_column(file, "found/box", &all.found_box);
    read_column(file, "found/score", &all.found_score);
    read_column(file, "found/label", &all.found_label);
    read_column(file, "found/photo", &all.found_photo);
    read_column(file, "true/box", &all.box);
    read_column(file, "true/label", &all.label);
    read_column(file, "true/flags", &all.flags);
    read_column(file, "true/area", &all.area);
    read_column(file, "true/photo", &all.photo);
    return file;
}

/* Rows of a column that belong to a photo; crowds: those of objects that are some too. */
static eg_tensor *rows(const column *c, const column *photo, int i, int columns, eg_dtype dtype, bool crowds)
{
    static double v[4 * MOST_THINGS];
    int n = 0;
    for (int k = 0; k < photo->n; k++) {
        if (photo->v[k] == i && (crowds || photo != &all.photo || all.flags.v[k] < 4)) {
            for (int j = 0; j < columns; j++) {
                v[n * columns + j] = c->v[k * columns + j];
            }
            n++;
        }
    }
    return eg_from_values(columns > 1 ? EG_SHAPE(n, columns) : EG_SHAPE(n), dtype, v);
}

/* The ellipses in boxes. */
static eg_tensor *ellipses(eg_tensor *boxes)
{
    const int64_t n = eg_size(boxes, 0);
    double b[4 * MOST_THINGS];
    uint8_t *at = malloc((size_t)(n * HEIGHT * WIDTH) + 1);
    EGT_OK(eg_to_values(boxes, b));
    for (int64_t i = 0; i < n; i++) {
        const double *p = b + 4 * i, cx = (p[0] + p[2]) / 2, cy = (p[1] + p[3]) / 2;
        const double rx = (p[2] - p[0]) / 2, ry = (p[3] - p[1]) / 2;
        for (int y = 0; y < HEIGHT; y++) {
            for (int x = 0; x < WIDTH; x++) {
                const double u = (x + 0.5 - cx) / rx, v = (y + 0.5 - cy) / ry;
                at[(i * HEIGHT + y) * WIDTH + x] = u * u + v * v <= 1;
            }
        }
    }
    eg_tensor *masks = eg_from(EG_SHAPE(n, HEIGHT, WIDTH), EG_U8, at);
    free(at);
    return masks;
}

typedef enum way { OF_BOXES, OF_MASKS, OF_VOC } way;

static eg_status add(eg_detection_scores *s, int i, way how)
{
    eg_status st = EG_OK;
    EG_SCOPE {
        const bool crowds = how != OF_VOC;
        eg_tensor *found = rows(&all.found_box, &all.found_photo, i, 4, EG_F64, true);
        eg_tensor *there = rows(&all.box, &all.photo, i, 4, EG_F64, crowds);
        eg_tensor *flags = rows(&all.flags, &all.photo, i, 1, EG_U8, crowds);
        flags = crowds ? eg_mul_scalar(eg_cast(eg_gt_scalar(flags, 0), EG_U8), EG_OBJECT_CROWD) : flags;
        eg_detection_options o = {.size = sizeof o, .flags = flags};
        o.areas = how == OF_BOXES ? rows(&all.area, &all.photo, i, 1, EG_F64, true) : NULL;
        o.masks = how == OF_MASKS ? ellipses(found) : NULL;
        o.true_masks = how == OF_MASKS ? ellipses(there) : NULL;
        st = eg_detection_scores_add_with(s, found, rows(&all.found_score, &all.found_photo, i, 1, EG_F32, true),
                                          rows(&all.found_label, &all.found_photo, i, 1, EG_I64, true), there,
                                          rows(&all.label, &all.photo, i, 1, EG_I32, crowds), &o);
    }
    return st;
}

static eg_detection_scores *scores(eg_detection_kind kind, way how, int first, int end)
{
    eg_detection_scores *s = eg_detection_scores_new(CLASSES, .kind = kind);
    EGT_CHECK(s);
    for (int i = first; i < end; i++) {
        EGT_OK(add(s, i, how));
    }
    return s;
}

/* ---- goldens ----------------------------------------------------------------------------------------- */

static const char *const names[] = {"AP",  "AP50", "AP75",  "APs", "APm", "APl",
                                    "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"};

/* pycocotools says -1 where there is nothing. */
static void near(double got, double want, const char *name)
{
    snprintf(egt_case, sizeof egt_case, "%s: %.17g, not %.17g", name, got, want);
    EGT_CHECK(want == -1 ? isnan(got) : fabs(got - want) <= 1e-12);
}

static void compare(const eg_detection_scores *s, const eg_tensors *file, const char *key)
{
    double want[12];
    EGT_OK(eg_to_values(eg_tensors_get(file, key), want));
    for (int k = 0; k < 12; k++) {
        near(eg_detection_scores_value(s, names[k]), want[k], names[k]);
    }
}

EGT(as_pycocotools_counts)
{
    eg_tensors *file = golden();
    eg_detection_scores *boxes = scores(EG_DETECTION_COCO, OF_BOXES, 0, PHOTOS);
    eg_detection_scores *masks = scores(EG_DETECTION_COCO, OF_MASKS, 0, PHOTOS);
    compare(boxes, file, "box/coco");
    compare(masks, file, "mask/coco");
    double want[12 * CLASSES];
    EGT_OK(eg_to_values(eg_tensors_get(file, "box/classes"), want));
    for (int i = 0; i < 12 * CLASSES; i++) {
        near(eg_detection_scores_of(boxes, names[i / CLASSES], i % CLASSES), want[i], names[i / CLASSES]);
    }
    eg_detection_scores_free(boxes);
    eg_detection_scores_free(masks);
    eg_tensors_free(file);
}

EGT(as_the_devkit_of_voc_counts)
{
    eg_tensors *file = golden();
    for (int old = 0; old < 2; old++) {
        eg_detection_scores *s = scores(old ? EG_DETECTION_VOC2007 : EG_DETECTION_VOC, OF_VOC, 0, PHOTOS);
        double want[CLASSES], sum = 0;
        EGT_OK(eg_to_values(eg_tensors_get(file, old ? "voc/2007" : "voc/all"), want));
        for (int k = 0; k < CLASSES; k++) {
            near(eg_detection_scores_of(s, "AP", k), isnan(want[k]) ? -1 : want[k], "of a class");
            sum += k < CLASSES - 1 ? want[k] : 0;
        }
        near(eg_detection_scores_value(s, "AP"), sum / (CLASSES - 1), "of all");
        EGT_CHECK(isnan(eg_detection_scores_value(s, "AP50")) && egt_said(EG_EINDEX, "AP50"));
        eg_detection_scores_free(s);
    }
    eg_tensors_free(file);
}

/* ---- joined -------------------------------------------------------------------------------------------- */

EGT(joined_are_as_one)
{
    eg_tensors *file = golden();
    eg_detection_scores *s = scores(EG_DETECTION_COCO, OF_BOXES, 0, 5);
    eg_detection_scores *rest = scores(EG_DETECTION_COCO, OF_BOXES, 5, PHOTOS);
    EGT_OK(eg_detection_scores_merge(s, rest));
    compare(s, file, "box/coco");
    EGT_REFUSED(eg_detection_scores_merge(s, s), EG_EINVAL, "the same");
    eg_detection_scores_reset(rest);
    EGT_CHECK(isnan(eg_detection_scores_value(rest, "AP")));
    EGT_OK(eg_detection_scores_merge(rest, s));
    compare(rest, file, "box/coco");
    eg_detection_scores_free(s);
    eg_detection_scores_free(rest);
    eg_tensors_free(file);
}

static double whole;

static void a_share(rank *r)
{
    eg_detection_scores *s = eg_detection_scores_new(CLASSES);
    for (int i = PHOTOS * r->i / r->n; i < PHOTOS * (r->i + 1) / r->n && s; i++) {
        EG_SCOPE {
            eg_tensor *found = eg_from_values(EG_SHAPE(2, 4), EG_F32, (double[]){0, 0, 10, 10 + i, 50, 50, 60, 60});
            eg_tensor *there = eg_from_values(EG_SHAPE(1, 4), EG_F32, (double[]){0, 0, 10, 14});
            eg_tensor *score = eg_from_values(EG_SHAPE(2), EG_F32, (double[]){0.1 * i, 0.5});
            RANK_CHECK(!eg_detection_scores_add(s, found, score, eg_full(EG_SHAPE(2), i % 2, EG_I64), there,
                                                eg_full(EG_SHAPE(1), i % 2, EG_I64)));
        }
    }
    RANK_CHECK(s && !eg_detection_scores_all_reduce(s, r->comm));
    const double got = s ? eg_detection_scores_value(s, "AP") : 0;
    if (r->n == 1) {
        whole = got;
    }
    RANK_CHECK(got == whole && got > 0.1);
    eg_detection_scores_free(s);
}

EGT(ranks_have_all)
{
    for (int n = 1; n <= 4; n++) {
        on_ranks(n, 30, a_share);
    }
}

/* ---- curves, and what is refused ----------------------------------------------------------------------- */

EGT(a_curve)
{
    eg_detection_scores *s = eg_detection_scores_new(2, .kind = EG_DETECTION_VOC);
    eg_tensor *found = eg_from_values(EG_SHAPE(3, 4), EG_F32, (double[]){0, 0, 4, 4, 9, 9, 12, 12, 20, 0, 24, 4});
    eg_tensor *there = eg_from_values(EG_SHAPE(2, 4), EG_F32, (double[]){0, 0, 4, 4, 20, 0, 24, 4});
    eg_tensor *score = eg_from_values(EG_SHAPE(3), EG_F32, (double[]){0.9, 0.8, 0.7});
    EGT_OK(
        eg_detection_scores_add(s, found, score, eg_zeros(EG_SHAPE(3), EG_I64), there, eg_zeros(EG_SHAPE(2), EG_I64)));
    eg_tensor *curve = eg_detection_scores_curve(s, 0, 0.5);
    const double want[] = {0.5, 0.5, 1, 1, 0.5, 2 / 3.0};
    for (int i = 0; i < 6; i++) {
        EGT_EQ(eg_get(curve, i), want[i]);
    }
    EGT_EQ(eg_detection_scores_value(s, "AP"), 0.5 + 0.5 * (2 / 3.0));
    EGT_EQ(eg_size(eg_detection_scores_curve(s, 1, 0.5), 1), 0);
    EGT_REFUSED(eg_detection_scores_curve(s, 0, 0.6), EG_EINVAL, "0.6");
    EGT_REFUSED(eg_detection_scores_curve(s, 2, 0.5), EG_EINDEX, "class 2 of 2");
    eg_detection_scores_free(s);
}

EGT(what_is_refused)
{
    EGT_REFUSED(eg_detection_scores_new(0), EG_EINVAL, "0 classes");
    EGT_REFUSED(eg_detection_scores_new(2, .threshold = 0.5), EG_EINVAL, "COCO has its own");
    EGT_REFUSED(eg_detection_scores_new(2, .kind = (eg_detection_kind)7), EG_EINVAL, "kind 7");
    eg_detection_scores *s = eg_detection_scores_new(2);
    eg_tensor *none = eg_zeros(EG_SHAPE(0, 4), EG_F32), *no = eg_zeros(EG_SHAPE(0), EG_F32);
    eg_tensor *no_label = eg_zeros(EG_SHAPE(0), EG_I64), *one = eg_ones(EG_SHAPE(1, 4), EG_F32);
    eg_tensor *score = eg_ones(EG_SHAPE(1), EG_F32), *label = eg_ones(EG_SHAPE(1), EG_I64);
    EGT_OK(eg_detection_scores_add(s, none, no, no_label, none, no_label));
    EGT_CHECK(isnan(eg_detection_scores_value(s, "AP")));
    EGT_REFUSED(eg_detection_scores_add(s, one, no, label, none, no_label), EG_ESHAPE, "scores has shape [0], not [1]");
    EGT_REFUSED(eg_detection_scores_add(s, one, score, score, none, no_label), EG_EDTYPE, "labels is f32");
    EGT_REFUSED(eg_detection_scores_add(s, one, score, eg_mul_scalar(label, 2), none, no_label), EG_EINDEX,
                "2 classes");
    EGT_REFUSED(eg_detection_scores_add(s, none, no, no_label, one, eg_neg(label)), EG_EINDEX, "true_labels is -1");
    EGT_REFUSED(eg_detection_scores_add(s, one, eg_mul_scalar(score, NAN), label, none, no_label), EG_EINVAL,
                "scores is nan");
    EGT_REFUSED(eg_detection_scores_add(s, score, score, label, none, no_label), EG_ESHAPE, "boxes");
    EGT_REFUSED(eg_detection_scores_add(s, one, score, label, one, label, .masks = eg_ones(EG_SHAPE(1, 2, 2), EG_U8)),
                EG_EINVAL, "masks of true objects are missing");
    EGT_REFUSED(eg_detection_scores_add(s, one, score, label, one, label, .masks = eg_ones(EG_SHAPE(1, 2, 2), EG_U8),
                                        .true_masks = eg_ones(EG_SHAPE(1, 2, 3), EG_U8)),
                EG_ESHAPE, "true_masks has shape [1, 2, 3]");
    EGT_CHECK(isnan(eg_detection_scores_value(s, "AP"))); /* nothing was added */
    EGT_REFUSED(eg_detection_scores_value(s, "mAP"), EG_EINDEX, "mAP");
    eg_detection_scores_free(s);
}
