/* metrics.c - sums over batches, and what is made of them. */
#include <egret/metrics.h>

#include <math.h>
#include <stdlib.h>

#include <egret/ops.h>

#include "lib/core/device.h"
#include "lib/core/live.h"
#include "lib/ops/optable.h"

typedef enum kind { MEAN, PERPLEXITY, ACCURACY, TOP_K, CONFUSION, BINARY, AUC, DICE, KINDS } kind;

static const char *const kinds[KINDS] = {"mean",      "perplexity", "accuracy", "top_k",
                                         "confusion", "binary",     "auc",      "dice"};

/* sums: f64. MEAN and its like: [sum, count]; CONFUSION: [classes, classes]; AUC: [2, BUCKETS], of the negative and the
 * positive; DICE: [sum of t p, sum of t, sum of p]. */
typedef struct metric {
    char *name;
    kind kind;
    eg_tensor *sums; /* kept */
} metric;

struct eg_metrics {
    metric *all;
    uint32_t count, room;
};

enum { BUCKETS = 4096, NAME_MOST = 100 };

/* ---- the list ------------------------------------------------------------------------------------ */

eg_metrics *eg_metrics_new(void)
{
    eg_metrics *m = eg__handle_new(sizeof *m);
    if (!m) {
        eg__no_memory("eg_metrics_new", sizeof *m);
    }
    return m;
}

static void forget(metric *all, uint32_t count)
{
    while (count) {
        eg_release(all[--count].sums);
        free(all[count].name);
    }
    free(all);
}

void eg_metrics_free(eg_metrics *m)
{
    if (eg__handle_ends(m, "eg_metrics_free")) {
        forget(m->all, m->count);
        free(m);
    }
}

static metric *find(const eg_metrics *m, const char *name)
{
    for (uint32_t i = 0; i < m->count; i++) {
        if (!strcmp(m->all[i].name, name)) {
            return &m->all[i];
        }
    }
    return NULL;
}

static eg_status add(eg_metrics *m, const char *op, const char *name, kind k, eg_tensor *sums)
{
    char *copy = eg__malloc(strlen(name) + 1);
    if (!copy || (m->count == m->room && !eg__grow(&m->all, &m->room, sizeof *m->all))) {
        free(copy);
        return eg__no_memory(op, (int64_t)strlen(name));
    }
    m->all[m->count++] = (metric){strcpy(copy, name), k, eg_keep(sums)};
    return EG_OK;
}

/* Adds sums, f64, to those of the name: the rest of every function of a batch. */
static eg_status gather(eg_metrics *m, const char *op, const char *name, kind k, eg_tensor *sums)
{
    if (!sums) {
        return eg__why();
    }
    metric *own = find(m, name);
    if (!own) {
        return add(m, op, name, k, sums);
    }
    if (own->kind != k) {
        return eg__fail(EG_EINVAL, op, "\"%s\" is of eg_metrics_%s", name, kinds[own->kind]);
    }
    if (!eg__same_shape(own->sums, sums)) {
        return eg__fail(EG_ESHAPE, op, "\"%s\" has sums %s, this batch %s: another number of classes", name,
                        EG__SHAPE_OF(own->sums), EG__SHAPE_OF(sums));
    }
    return eg_add_(own->sums, eg_to(sums, eg__device(own->sums))) ? EG_OK : eg__why();
}

/* ---- what goes in -------------------------------------------------------------------------------- */

static eg_status check(const char *op, const eg_metrics *m, const char *name, const eg_tensor *a, const eg_tensor *b)
{
    if (!m || !name) {
        return eg__null_argument(op, m ? "name" : "m");
    }
    if (!*name || strlen(name) > NAME_MOST || strchr(name, '/')) {
        return eg__fail(EG_EINVAL, op, "\"%.60s\" is no name: 1..%d bytes without '/'", name, NAME_MOST);
    }
    eg_status st = eg__check(a, op, "the first tensor");
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

/* ---- batches ------------------------------------------------------------------------------------- */

/* A function of a batch works in a scope of its own; `sums` is an expression that may name op. */
#define BATCH(function_, kind_, a, b, sums)                                    \
    static const char op[] = "eg_metrics_" #function_;                         \
    if (check(op, m, name, a, b)) {                                            \
        return eg__why();                                                      \
    }                                                                          \
    eg_scope scope = eg_scope_push();                                          \
    eg_status st = scope.depth ? gather(m, op, name, kind_, sums) : eg__why(); \
    eg_scope_pop(scope, NULL);                                                 \
    return st

eg_status eg_metrics_mean(eg_metrics *m, const char *name, eg_tensor *value)
{
    BATCH(mean, MEAN, value, value, pair(total(eg_detach(value)), number(value, (double)value->n)));
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
    BATCH(perplexity, PERPLEXITY, loss, loss, words(op, loss, count));
}

static eg_tensor *hits(const char *op, eg_tensor *logits, eg_tensor *given)
{
    eg_tensor *labels = labels_of(op, logits, given);
    eg_tensor *right = labels ? eg_eq(eg_argmax(eg_detach(logits), .axes = EG_AXES(1)), labels) : NULL;
    return pair(total(right), total(eg_ge_scalar(labels, 0)));
}

eg_status eg_metrics_accuracy(eg_metrics *m, const char *name, eg_tensor *logits, eg_tensor *labels)
{
    BATCH(accuracy, ACCURACY, logits, labels, hits(op, logits, labels));
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
    BATCH(top_k, TOP_K, logits, labels, near_hits(op, logits, labels, k));
}

static eg_tensor *confusions(const char *op, eg_tensor *logits, eg_tensor *given)
{
    eg_tensor *labels = labels_of(op, logits, given);
    return labels ? counts(eg_argmax(eg_detach(logits), .axes = EG_AXES(1)), labels, logits->shape[1]) : NULL;
}

eg_status eg_metrics_confusion(eg_metrics *m, const char *name, eg_tensor *logits, eg_tensor *labels)
{
    BATCH(confusion, CONFUSION, logits, labels, confusions(op, logits, labels));
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
    BATCH(binary, BINARY, score, labels, two_by_two(op, score, labels, threshold));
}

static eg_tensor *curve(const char *op, eg_tensor *score, eg_tensor *given)
{
    eg_tensor *labels = two_classes(op, score, given);
    eg_tensor *flat = labels ? eg_flatten(eg_detach(score), 0, -1) : NULL;
    eg_tensor *inside = eg_logical_and(eg_ge_scalar(flat, 0), eg_le_scalar(flat, 1));
    if (!inside || !eg_item(eg_all(inside))) {
        return inside ? eg__fail_null(EG_EINVAL, op, "a score is outside 0..1") : NULL;
    }
    eg_tensor *bucket = eg_cast(eg_mul_scalar(eg_cast(flat, EG_F64), BUCKETS), EG_I64);
    bucket = eg_add(eg_clamp_max(bucket, BUCKETS - 1), eg_mul_scalar(eg_flatten(labels, 0, -1), BUCKETS));
    eg_device *before = eg_use_device(eg__device(score));
    eg_tensor *none = eg_zeros(EG_SHAPE(2 * BUCKETS), EG_F64), *ones = eg_ones(EG_SHAPE(score->n), EG_F64);
    eg_use_device(before);
    return eg_reshape(eg_index_add(none, 0, bucket, ones), EG_SHAPE(2, BUCKETS));
}

eg_status eg_metrics_auc(eg_metrics *m, const char *name, eg_tensor *score, eg_tensor *labels)
{
    BATCH(auc, AUC, score, labels, curve(op, score, labels));
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
    BATCH(dice, DICE, p, t, overlap(op, p, t));
}

/* ---- values -------------------------------------------------------------------------------------- */

/* The metric of that name; kinds below `least` or above `most` are refused. */
static metric *asked(const char *op, eg_metrics *m, const char *name, kind least, kind most)
{
    if (!m || !name) {
        return eg__null_argument(op, m ? "name" : "m"), NULL;
    }
    metric *own = find(m, name);
    if (!own) {
        return eg__fail_null(EG_EINDEX, op, "there is no metric \"%.60s\"", name);
    }
    return own->kind >= least && own->kind <= most
               ? own
               : eg__fail_null(EG_EINVAL, op, "\"%s\" is of eg_metrics_%s", name, kinds[own->kind]);
}

/* By trapezoids, from the highest score down. */
static double area(const double *negative, const double *positive)
{
    double area = 0, above = 0, all[2] = {0, 0};
    for (int i = BUCKETS - 1; i >= 0; i--) {
        area += negative[i] * (above + positive[i] / 2);
        above += positive[i];
        all[0] += negative[i];
        all[1] += positive[i];
    }
    return area / (all[0] * all[1]);
}

static double trace(const double *counts, int64_t classes)
{
    double right = 0, all = 0;
    for (int64_t i = 0; i < classes * classes; i++) {
        right += i % (classes + 1) ? 0 : counts[i];
        all += counts[i];
    }
    return right / all;
}

static double value_of(const metric *own, const double *s)
{
    switch (own->kind) {
    case PERPLEXITY:
        return exp(s[0] / s[1]);
    case CONFUSION:
    case BINARY:
        return trace(s, own->sums->shape[0]);
    case AUC:
        return area(s, s + BUCKETS);
    case DICE:
        return (2 * s[0] + 1) / (s[1] + s[2] + 1);
    default:
        return s[0] / s[1];
    }
}

/* The sums on the host, for free(); NULL after a failure. */
static double *read_sums(const char *op, const metric *own)
{
    double *s = eg__malloc((size_t)own->sums->n * sizeof *s);
    if (!s) {
        eg__no_memory(op, own->sums->n * (int64_t)sizeof *s);
        return NULL;
    }
    if (eg_to_values(own->sums, s)) {
        free(s);
        return NULL;
    }
    return s;
}

double eg_metrics_value(eg_metrics *m, const char *name)
{
    static const char op[] = "eg_metrics_value";
    metric *own = asked(op, m, name, MEAN, DICE);
    double *s = own ? read_sums(op, own) : NULL;
    double value = s ? value_of(own, s) : (double)NAN;
    free(s);
    return value;
}

static double score_of(const double *counts, int64_t classes, eg_class_score score, int64_t c)
{
    double right = counts[c * classes + c], taken = 0, there = 0;
    for (int64_t i = 0; i < classes; i++) {
        taken += counts[i * classes + c];
        there += counts[c * classes + i];
    }
    switch (score) {
    case EG_PRECISION:
        return right / taken;
    case EG_RECALL:
        return right / there;
    case EG_F1:
        return 2 * right / (taken + there);
    default:
        return right / (taken + there - right);
    }
}

/* Over those of a number. */
static double mean_score(const double *counts, int64_t classes, eg_class_score score)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t c = 0; c < classes; c++) {
        double own = score_of(counts, classes, score, c);
        sum += isnan(own) ? 0 : own;
        n += !isnan(own);
    }
    return sum / (double)n;
}

double eg_metrics_of(eg_metrics *m, const char *name, eg_class_score score, int64_t of_class)
{
    static const char op[] = "eg_metrics_of";
    metric *own = asked(op, m, name, CONFUSION, BINARY);
    int64_t classes = own ? own->sums->shape[0] : 0;
    if (own && ((int)score < EG_PRECISION || score > EG_IOU || of_class < -1 || of_class >= classes)) {
        eg__fail(EG_EINVAL, op, "score %d of class %lld: there are %d scores, and classes -1..%lld", (int)score,
                 (long long)of_class, EG_IOU + 1, (long long)classes - 1);
        own = NULL;
    }
    double *s = own ? read_sums(op, own) : NULL;
    double value = !s             ? (double)NAN
                   : of_class < 0 ? mean_score(s, classes, score)
                                  : score_of(s, classes, score, of_class);
    free(s);
    return value;
}

eg_tensor *eg_metrics_matrix(eg_metrics *m, const char *name)
{
    metric *own = asked("eg_metrics_matrix", m, name, CONFUSION, BINARY);
    return own ? eg_cast(own->sums, EG_I64) : NULL;
}

int eg_metrics_count(const eg_metrics *m)
{
    return m ? (int)m->count : (eg__null_argument("eg_metrics_count", "m"), 0);
}

const char *eg_metrics_name(const eg_metrics *m, int i)
{
    if (!m || i < 0 || i >= (int)m->count) {
        return m ? eg__fail_null(EG_EINDEX, "eg_metrics_name", "%d is outside of %u metrics", i, m->count)
                 : (eg__null_argument("eg_metrics_name", "m"), NULL);
    }
    return m->all[i].name;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

eg_status eg_metrics_reset(eg_metrics *m)
{
    if (!m) {
        return eg__null_argument("eg_metrics_reset", "m");
    }
    for (uint32_t i = 0; i < m->count; i++) {
        if (!eg_mul_scalar_(m->all[i].sums, 0)) {
            return eg__why();
        }
    }
    return EG_OK;
}

static const char how_many[] = "count"; /* i64 []: of metrics, so that there is a tensor though there is none */

/* Each under "kind.name". */
eg_tensors *eg_metrics_state(eg_metrics *m)
{
    if (!m) {
        return eg__null_argument("eg_metrics_state", "m"), NULL;
    }
    eg_tensors *map = eg_tensors_new();
    eg_scope s = eg_scope_push();
    eg_tensor *count = map && s.depth ? eg__from_on(0, EG_SCALAR, EG_I64, (int64_t[]){m->count}) : NULL;
    if (map && (!count || eg_tensors_set(map, how_many, count))) {
        eg_tensors_free(map);
        map = NULL;
    }
    eg_scope_pop(s, NULL);
    for (uint32_t i = 0; map && i < m->count; i++) {
        char name[NAME_MOST + 16];
        snprintf(name, sizeof name, "%s.%s", kinds[m->all[i].kind], m->all[i].name);
        if (eg_tensors_set(map, name, m->all[i].sums)) {
            eg_tensors_free(map);
            map = NULL;
        }
    }
    return map;
}

/* Whether sums of such a shape are of the kind. */
static bool is_of_kind(kind k, const eg_tensor *t)
{
    int64_t last = t->ndim ? t->shape[t->ndim - 1] : 0;
    if (t->dtype != EG_F64) {
        return false;
    }
    switch (k) {
    case CONFUSION:
    case BINARY:
        return t->ndim == 2 && t->shape[0] == last && (k == CONFUSION ? last > 0 : last == 2);
    case AUC:
        return t->ndim == 2 && t->shape[0] == 2 && last == BUCKETS;
    default:
        return t->ndim == 1 && last == (k == DICE ? 3 : 2);
    }
}

static eg_status load_one(eg_metrics *to, const char *op, const char *full, eg_tensor *t)
{
    const char *dot = strchr(full, '.');
    kind k = MEAN;
    while (k < KINDS &&
           (!dot || strlen(kinds[k]) != (size_t)(dot - full) || strncmp(full, kinds[k], strlen(kinds[k])))) {
        k++;
    }
    if (k == KINDS || !dot[1] || strlen(dot + 1) > NAME_MOST || find(to, dot + 1) || !is_of_kind(k, t)) {
        return eg__fail(EG_EFORMAT, op, "\"%.120s\", %s %s, is no metric's", full, eg_dtype_name((eg_dtype)t->dtype),
                        EG__SHAPE_OF(t));
    }
    eg_scope s = eg_scope_push();
    eg_tensor *sums = s.depth ? eg_copy(t) : NULL;
    eg_status st = sums ? add(to, op, dot + 1, k, sums) : eg__why();
    eg_scope_pop(s, NULL);
    return st;
}

eg_status eg_metrics_load_state(eg_metrics *m, const eg_tensors *state)
{
    static const char op[] = "eg_metrics_load_state";
    if (!m || !state) {
        return eg__null_argument(op, m ? "state" : "m");
    }
    eg_metrics read = {NULL, 0, 0};
    eg_status st = EG_OK;
    for (int64_t i = 0; i < eg_tensors_count(state) && !st; i++) {
        const char *name = eg_tensors_name(state, i);
        st = strcmp(name, how_many) ? load_one(&read, op, name, eg_tensors_at(state, i)) : EG_OK;
    }
    eg_tensor *count = st ? NULL : eg_tensors_get(state, how_many);
    st = st || count ? st : eg__why();
    if (!st && (count->n != 1 || eg_item(count) != read.count)) {
        st = eg__fail(EG_EFORMAT, op, "there are %u metrics, and not as many as said", read.count);
    }
    eg_metrics gone = st ? read : *m;
    *m = st ? *m : read;
    forget(gone.all, gone.count);
    return st;
}
