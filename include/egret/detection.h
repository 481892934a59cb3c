/* detection.h - what found boxes, or masks, are worth: average precision as Pascal VOC and COCO count it.
 *
 *     eg_detection_scores *s = eg_detection_scores_new(classes);
 *     EG_FOR_EACH(photo, valid) {
 *         ...
 *         eg_detection_scores_add(s, boxes, scores, labels, true_boxes, true_labels);
 *     }
 *     printf("AP %.3f, AP50 %.3f\n", eg_detection_scores_value(s, "AP"), eg_detection_scores_value(s, "AP50"));
 *     eg_detection_scores_free(s);
 *
 * Boxes are [k, 4]: x and y of the left upper corner, then of the right lower one. Everything found on all photos is
 * remembered, in some 24 bytes each. A box counts as found if it overlaps one of its class by the threshold
 * (intersection over union) that no likelier one has taken already; precision is the share of what was found that there
 * is, recall the share of what there is that was found, as the least score goes down.
 *
 * Sources: Everingham et al. 2010, "The Pascal Visual Object Classes (VOC) Challenge", and the devkit of 2012; Lin et
 * al. 2014, "Microsoft COCO", and pycocotools, whose numbers these are. */
#ifndef EGRET_DETECTION_H
#define EGRET_DETECTION_H

#include <egret/base.h>
#include <egret/comm.h>
#include <egret/data/photos.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef struct eg_detection_scores eg_detection_scores;

typedef enum eg_detection_kind {
    EG_DETECTION_COCO,    /* 10 thresholds, 0.5 to 0.95; 101 recalls; 100 boxes of a photo and class at most */
    EG_DETECTION_VOC,     /* one threshold; the area under the curve of the best precisions from each recall on */
    EG_DETECTION_VOC2007, /* one threshold; the mean of the best precisions from 11 recalls on */
} eg_detection_kind;

typedef struct eg_detection_scores_options {
    size_t size;
    eg_detection_kind kind;
    double threshold; /* of VOC; 0: 0.5 */
} eg_detection_scores_options;

/* Of classes 0..classes - 1, 1 to 2^20. The caller frees it. */
EG_API eg_detection_scores *eg_detection_scores_new_with(int64_t classes, const eg_detection_scores_options *options);
#define eg_detection_scores_new(...) EG_DETECTION_SCORES_NEW_(__VA_ARGS__, )
#define EG_DETECTION_SCORES_NEW_(classes, ...) \
    eg_detection_scores_new_with(classes, EG_OPTIONS_(eg_detection_scores_options, __VA_ARGS__))
/* NULL is fine. */
EG_API void eg_detection_scores_free(eg_detection_scores *s);
/* Forgets all photos. */
EG_API void eg_detection_scores_reset(eg_detection_scores *s);

typedef struct eg_detection_options {
    size_t size;
    eg_tensor *flags; /* u8 [m]: of the true objects, bits of eg_object_flags; NULL: none */
    eg_tensor *areas; /* [m]: theirs in pixels, by which COCO parts them; NULL: those of the boxes, or masks */
    eg_tensor *masks, *true_masks; /* u8 or bool [k, H, W], [m, H, W]: overlaps are of these instead of boxes */
} eg_detection_options;

/* A photo: k boxes that were found, their scores [k] and classes [k], integers, and m that there are, with theirs.
 * Either may be none. EG_ESHAPE, EG_EDTYPE for what does not fit, EG_EINDEX for a class that there is not, EG_EINVAL
 * for a score or a box that is not finite, or masks of one side alone. On failure nothing has been added. */
EG_API eg_status eg_detection_scores_add_with(eg_detection_scores *s, eg_tensor *boxes, eg_tensor *scores,
                                              eg_tensor *labels, eg_tensor *true_boxes, eg_tensor *true_labels,
                                              const eg_detection_options *options);
#define eg_detection_scores_add(...) EG_DETECTION_SCORES_ADD_(__VA_ARGS__, )
#define EG_DETECTION_SCORES_ADD_(s, boxes, scores, labels, true_boxes, true_labels, ...) \
    eg_detection_scores_add_with(s, boxes, scores, labels, true_boxes, true_labels,      \
                                 EG_OPTIONS_(eg_detection_options, __VA_ARGS__))

/* All that other scores of the same kind have gathered, as if their photos came behind these. */
EG_API eg_status eg_detection_scores_merge(eg_detection_scores *s, const eg_detection_scores *others);
/* What all ranks of a communicator have gathered together, in their order: then each has that. All ranks' call. */
EG_API eg_status eg_detection_scores_all_reduce(eg_detection_scores *s, eg_comm *comm);

/* "AP", the mean over classes of which there is one, and of COCO over thresholds; of COCO also "AP50", "AP75" (a single
 * threshold), "APs", "APm", "APl" (objects below 32^2 pixels, below 96^2, above), "AR1", "AR10", "AR100" (the recall
 * with so many boxes of a photo and class at most, mean over thresholds), "ARs", "ARm", "ARl". NaN: there is no such
 * object; with EG_EINDEX on record: no such value. */
EG_API double eg_detection_scores_value(const eg_detection_scores *s, const char *name);
/* The same of one class: "AP" and, of COCO, the others. */
EG_API double eg_detection_scores_of(const eg_detection_scores *s, const char *name, int64_t label);
/* Precision over recall of one class at a threshold, of COCO one of its own: f64 [2, n], recalls and then precisions,
 * from the likeliest box on, before anything is smoothed. */
EG_API eg_tensor *eg_detection_scores_curve(const eg_detection_scores *s, int64_t label, double threshold);

EG_END_DECLS

#endif
