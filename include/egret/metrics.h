/* metrics.h - what a net's answers are worth, gathered over any number of batches.
 *
 *     eg_metrics *m = eg_metrics_new();
 *     EG_FOR_EACH(sample, valid) {
 *         eg_tensor *logits = eg_module_forward(net, sample[0]);
 *         eg_metrics_accuracy(m, "accuracy", logits, sample[1]);
 *         eg_metrics_top_k(m, "top5", logits, sample[1], 5);
 *     }
 *     printf("%.4f %.4f\n", eg_metrics_value(m, "accuracy"), eg_metrics_value(m, "top5"));
 *     eg_metrics_free(m);
 *
 * A name stands for one metric from its first batch on; with another function it is EG_EINVAL. What is gathered are a
 * few numbers per metric, on the device the batches are on, which is not waited for before a value is read: sums in f64
 * and counts, so that the value is that of all batches as one, however they were cut. Nothing is recorded on tapes. In
 * a checkpoint they are a part as others are: eg_saver_metrics (saver.h).
 *
 * Logits are [N, classes] or [N, classes, places...], labels integers (i64, i32, u8) [N] or [N, places...]. Labels
 * below 0 count nowhere; of one beyond the classes accuracy says that it was missed, the others EG_EINDEX, on a device
 * perhaps by the next call that waits for it. EG_ESHAPE and EG_EDTYPE for what does not fit. */
#ifndef EGRET_METRICS_H
#define EGRET_METRICS_H

#include <egret/base.h>
#include <egret/io.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef struct eg_metrics eg_metrics;

/* Without a metric; the caller frees it. */
EG_API eg_metrics *eg_metrics_new(void);
/* NULL is fine. */
EG_API void eg_metrics_free(eg_metrics *m);
/* Forgets all batches, not the names. */
EG_API eg_status eg_metrics_reset(eg_metrics *m);

/* ---- batches ------------------------------------------------------------------------------- */

/* The mean of all elements of value, numbers or bools. */
EG_API eg_status eg_metrics_mean(eg_metrics *m, const char *name, eg_tensor *value);
/* e to the mean of losses, each of which is itself a mean over `count` words: perplexity. loss has one element. */
EG_API eg_status eg_metrics_perplexity(eg_metrics *m, const char *name, eg_tensor *loss, int64_t count);
/* The share of labels that are the largest logit's class, and that are among the k largest (ties count for the label).
 */
EG_API eg_status eg_metrics_accuracy(eg_metrics *m, const char *name, eg_tensor *logits, eg_tensor *labels);
EG_API eg_status eg_metrics_top_k(eg_metrics *m, const char *name, eg_tensor *logits, eg_tensor *labels, int64_t k);
/* How often each class was taken for each; for eg_metrics_matrix and eg_metrics_of. Its value is the accuracy. */
EG_API eg_status eg_metrics_confusion(eg_metrics *m, const char *name, eg_tensor *logits, eg_tensor *labels);
/* The same of two classes: score is above the threshold, or not; labels are bools or integers, 0 or not, in its shape.
 */
EG_API eg_status eg_metrics_binary(eg_metrics *m, const char *name, eg_tensor *score, eg_tensor *labels,
                                   double threshold);
/* The area under the ROC curve of scores in 0..1, by 4096 thresholds: off by no more than the share of pairs that lie
 * between two of them. Scores outside are EG_EINVAL. */
EG_API eg_status eg_metrics_auc(eg_metrics *m, const char *name, eg_tensor *score, eg_tensor *labels);
/* (2 sum of t p + 1) / (sum of t + sum of p + 1) over all elements: Dice's coefficient of soft masks, smoothed by 1. */
EG_API eg_status eg_metrics_dice(eg_metrics *m, const char *name, eg_tensor *p, eg_tensor *t);

/* ---- values -------------------------------------------------------------------------------- */

typedef enum eg_class_score {
    EG_PRECISION, /* of those taken for the class, the share that are of it */
    EG_RECALL,    /* of those of the class, the share taken for it */
    EG_F1,        /* their harmonic mean */
    EG_IOU,       /* those of it and taken for it, over those that are either */
} eg_class_score;

/* The value so far; waits for the device. NaN before the first batch, and of what is 0 / 0. EG_EINDEX, and NaN, for a
 * name there is not. */
EG_API double eg_metrics_value(eg_metrics *m, const char *name);
/* A score of one class of a confusion, or, for class -1, the mean over the classes that have one: of EG_IOU the mean
 * intersection over union of segmentation. */
EG_API double eg_metrics_of(eg_metrics *m, const char *name, eg_class_score score, int64_t of_class);
/* The counts of a confusion, i64 [classes, classes]: how many of class i (row) were taken for class j. */
EG_API eg_tensor *eg_metrics_matrix(eg_metrics *m, const char *name);

/* How many metrics there are, and the i-th's name, in the order of their first batches; NULL and EG_EINDEX outside. */
EG_API int eg_metrics_count(const eg_metrics *m);
EG_API const char *eg_metrics_name(const eg_metrics *m, int i);

/* What is gathered, by name: tensors of the metrics' own, not copies. The map is the caller's. And back again: all, and
 * nothing but, what the map has; the metrics that m had are gone. EG_EFORMAT for what is none of metrics, by name. */
EG_API eg_tensors *eg_metrics_state(eg_metrics *m);
EG_API eg_status eg_metrics_load_state(eg_metrics *m, const eg_tensors *state);

EG_END_DECLS

#endif
