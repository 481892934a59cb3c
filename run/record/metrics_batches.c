/* metrics_batches.c - what batches of tensors add to metrics. */
#include <egret/ops.h>

#include "lib/core/device.h"
#include "lib/ops/optable.h"
#include "run/record/metrics.h"

static eg_status check(const char *op, const eg_metrics *m, const char *name, const eg_tensor *a, const eg_tensor *b)
{
    eg_status st = eg__metrics_check(op, m, name);
    st = st ? st : eg__check(a, op, "the first tensor");
    return st ? st : eg__check(b, op, "the second tensor");
}

static eg_tensor *total(eg_tensor *x)
{
    return eg_sum(eg_cast(x, EG_F64));
}

static eg_tensor *pair(eg_tensor *a, eg_tensor *b)
{
    return eg_stack((eg_tensor *[]){a, b}, 2, 0);
}

/* As many as t has, on its device. */
static eg_tensor *number(const eg_tensor *t, double value)
{
    eg_device *before = eg_use_device(eg__device(t));
    eg_tensor *n = eg_full(EG_SCALAR, value, EG_F64);
    eg_use_device(before);
    return n;
}

/* Labels as i64, below the classes, in the shape of the logits without their axis 1. */
static eg_tensor *labels_of(const char *op, const eg_tensor *logits, eg_tensor *labels)
{
    bool fits = logits->ndim >= 2 && labels->ndim == logits->ndim - 1;
    for (int d = 0; fits && d < labels->ndim; d++) {
        fits = labels->shape[d] == logits->shape[d + (d > 0)];
    }
    if (!fits) {
        return eg__fail_null(EG_ESHAPE, op, "logits %s and labels %s must be [N, classes, ...] and [N, ...]",
                             EG__SHAPE_OF(logits), EG__SHAPE_OF(labels));
    }
    if (labels->dtype != EG_I64 && labels->dtype != EG_I32 && labels->dtype != EG_U8) {
        return eg__fail_null(EG_EDTYPE, op, "labels are %s, must be integers", eg_dtype_name((eg_dtype)labels->dtype));
    }
    return eg_to(eg_cast(labels, EG_I64), eg__device(logits));
}

/* Counts of classes (rows) and what they were taken for, f64 [classes, classes]; of those with a label. */
static eg_tensor *counts(eg_tensor *taken, eg_tensor *labels, int64_t classes)
{
    eg_tensor *there = eg_ge_scalar(labels, 0);
    eg_tensor *cell = eg_add(eg_mul_scalar(eg_clamp(labels, 0, (double)classes), (double)classes), taken);
    eg_tensor *ones = eg_cast(eg_flatten(there, 0, -1), EG_F64);
    eg_device *before = eg_use_device(eg__device(labels));
    eg_tensor *none = eg_zeros(EG_SHAPE(classes * classes), EG_F64);
    eg_use_device(before);
    return eg_reshape(eg_index_add(none, 0, eg_flatten(cell, 0, -1), ones), EG_SHAPE(classes, classes));
}

/* A function of a batch works in a scope of its own; `sums` is an expression that may name op. */
#define BATCH(function_, kind_, a, b, sums)                                                \
    static const char op[] = "eg_metrics_" #function_;                                     \
    if (check(op, m, name, a, b)) {                                                        \
        return eg__why();                                                                  \
    }                                                                                      \
    eg_scope scope = eg_scope_push();                                                      \
    eg_status st = scope.depth ? eg__metrics_gather(m, op, name, kind_, sums) : eg__why(); \
    eg_scope_pop(scope, NULL);                                                             \
    return st

eg_status eg_metrics_mean(eg_metrics *m, const char *name, eg_tensor *value)
{
    BATCH(mean, EG__METRIC_MEAN, value, value, pair(total(eg_detach(value)), number(value, (double)value->n)));
}

static eg_tensor *words(const char *op, eg_tensor *loss, int64_t count)
{
    if (loss->n != 1 || count < 0) {
        return eg__fail_null(EG_EINVAL, op, "loss %s of %lld words: one element, and no negative number",
                             EG__SHAPE_OF(loss), (long long)count);
    }
    return pair(eg_mul_scalar(total(eg_detach(loss)), (double)count), number(loss, (double)count));
}

eg_status eg_metrics_perplexity(eg_metrics *m, const char *name, eg_tensor *loss, int64_t count)
{
    BATCH(perplexity, EG__METRIC_PERPLEXITY, loss, loss, words(op, loss, count));
}

static eg_tensor *hits(const char *op, eg_tensor *logits, eg_tensor *given)
{
    eg_tensor *labels = labels_of(op, logits, given);
    eg_tensor *right = labels ? eg_eq(eg_argmax(eg_detach(logits), .axes = EG_AXES(1)), labels) : NULL;
    return pair(total(right), total(eg_ge_scalar(labels, 0)));
}

eg_status eg_metrics_accuracy(eg_metrics *m, const char *name, eg_tensor *logits, eg_tensor *labels)
{
    BATCH(accuracy, EG__METRIC_ACCURACY, logits, labels, hits(op, logits, labels));
}

static eg_tensor *near_hits(const char *op, eg_tensor *logits, eg_tensor *given, int64_t k)
{
    eg_tensor *labels = labels_of(op, logits, given);
    if (!labels || k < 1) {
        return labels ? eg__fail_null(EG_EINVAL, op, "k is %lld, must be at least 1", (long long)k) : NULL;
    }
    eg_tensor *rows =
        eg_reshape(eg_movedim(eg_detach(logits), EG_AXES(1), EG_AXES(-1)), EG_SHAPE(-1, logits->shape[1]));
    eg_tensor *flat = eg_flatten(labels, 0, -1), *there = eg_ge_scalar(flat, 0);
    eg_tensor *right = eg_logical_and(eg_in_topk(rows, eg_clamp_min(flat, 0), k), there);
    return pair(total(right), total(there));
}

eg_status eg_metrics_top_k(eg_metrics *m, const char *name, eg_tensor *logits, eg_tensor *labels, int64_t k)
{
    BATCH(top_k, EG__METRIC_TOP_K, logits, labels, near_hits(op, logits, labels, k));
}

static eg_tensor *confusions(const char *op, eg_tensor *logits, eg_tensor *given)
{
    eg_tensor *labels = labels_of(op, logits, given);
    return labels ? counts(eg_argmax(eg_detach(logits), .axes = EG_AXES(1)), labels, logits->shape[1]) : NULL;
}

eg_status eg_metrics_confusion(eg_metrics *m, const char *name, eg_tensor *logits, eg_tensor *labels)
{
    BATCH(confusion, EG__METRIC_CONFUSION, logits, labels, confusions(op, logits, labels));
}

/* Labels of two classes as i64, beside scores of their shape. */
static eg_tensor *two_classes(const char *op, const eg_tensor *score, eg_tensor *labels)
{
    if (!eg__same_shape(score, labels) || !eg__is_float(score->dtype)) {
        return eg__fail_null(EG_ESHAPE, op,
                             "score %s %s and labels %s must be floats and what they are of, one of each",
                             eg_dtype_name((eg_dtype)score->dtype), EG__SHAPE_OF(score), EG__SHAPE_OF(labels));
    }
    return eg_cast(eg_ne_scalar(eg_to(labels, eg__device(score)), 0), EG_I64);
}

static eg_tensor *two_by_two(const char *op, eg_tensor *score, eg_tensor *given, double threshold)
{
    eg_tensor *labels = two_classes(op, score, given);
    return labels ? counts(eg_cast(eg_gt_scalar(eg_detach(score), threshold), EG_I64), labels, 2) : NULL;
}

eg_status eg_metrics_binary(eg_metrics *m, const char *name, eg_tensor *score, eg_tensor *labels, double threshold)
{
    BATCH(binary, EG__METRIC_BINARY, score, labels, two_by_two(op, score, labels, threshold));
}

static eg_tensor *curve(const char *op, eg_tensor *score, eg_tensor *given)
{
    eg_tensor *labels = two_classes(op, score, given);
    eg_tensor *flat = labels ? eg_flatten(eg_detach(score), 0, -1) : NULL;
    eg_tensor *inside = eg_logical_and(eg_ge_scalar(flat, 0), eg_le_scalar(flat, 1));
    if (!inside || !eg_item(eg_all(inside))) {
        return inside ? eg__fail_null(EG_EINVAL, op, "a score is outside 0..1") : NULL;
    }
    eg_tensor *bucket = eg_cast(eg_mul_scalar(eg_cast(flat, EG_F64), EG__AUC_BUCKETS), EG_I64);
    bucket =
        eg_add(eg_clamp_max(bucket, EG__AUC_BUCKETS - 1), eg_mul_scalar(eg_flatten(labels, 0, -1), EG__AUC_BUCKETS));
    eg_device *before = eg_use_device(eg__device(score));
    eg_tensor *none = eg_zeros(EG_SHAPE(2 * EG__AUC_BUCKETS), EG_F64), *ones = eg_ones(EG_SHAPE(score->n), EG_F64);
    eg_use_device(before);
    return eg_reshape(eg_index_add(none, 0, bucket, ones), EG_SHAPE(2, EG__AUC_BUCKETS));
}

eg_status eg_metrics_auc(eg_metrics *m, const char *name, eg_tensor *score, eg_tensor *labels)
{
    BATCH(auc, EG__METRIC_AUC, score, labels, curve(op, score, labels));
}

static eg_tensor *overlap(const char *op, eg_tensor *p, eg_tensor *t)
{
    if (!eg__same_shape(p, t)) {
        return eg__fail_null(EG_ESHAPE, op, "p %s and t %s must be alike", EG__SHAPE_OF(p), EG__SHAPE_OF(t));
    }
    eg_tensor *own = eg_cast(eg_detach(p), EG_F64), *other = eg_cast(eg_to(eg_detach(t), eg__device(p)), EG_F64);
    return eg_stack((eg_tensor *[]){eg_sum(eg_mul(own, other)), eg_sum(other), eg_sum(own)}, 3, 0);
}

eg_status eg_metrics_dice(eg_metrics *m, const char *name, eg_tensor *p, eg_tensor *t)
{
    BATCH(dice, EG__METRIC_DICE, p, t, overlap(op, p, t));
}

static eg_tensor *whole_rows(const char *op, eg_tensor *ids, eg_tensor *reference)
{
    if (!eg__same_shape(ids, reference) || ids->ndim != 2) {
        return eg__fail_null(EG_ESHAPE, op, "ids %s and reference %s must be alike, [N, n]", EG__SHAPE_OF(ids),
                             EG__SHAPE_OF(reference));
    }
    if (eg__is_float(ids->dtype) || eg__is_float(reference->dtype)) {
        return eg__fail_null(EG_EDTYPE, op, "ids are %s and reference %s, must be integers",
                             eg_dtype_name((eg_dtype)ids->dtype), eg_dtype_name((eg_dtype)reference->dtype));
    }
    reference = eg_to(eg_cast(reference, EG_I64), eg__device(ids));
    eg_tensor *right = eg_logical_or(eg_eq(eg_cast(ids, EG_I64), reference), eg_lt_scalar(reference, 0));
    return pair(total(eg_all(right, .axes = EG_AXES(1))), number(ids, (double)ids->shape[0]));
}

eg_status eg_metrics_sequences(eg_metrics *m, const char *name, eg_tensor *ids, eg_tensor *reference)
{
    BATCH(sequences, EG__METRIC_SEQUENCES, ids, reference, whole_rows(op, ids, reference));
}
