/* metrics.c - sums over batches, and what is made of them. */
#include "run/record/metrics.h"

#include <math.h>
#include <stdlib.h>

#include <egret/ops.h>

#include "lib/core/device.h"
#include "lib/core/live.h"
#include "lib/ops/optable.h"

static const char *const kinds[EG__METRIC_KINDS] = {
#define X(kind, word, axes, fits, value) #word,
#include "run/record/metrics.def"
#undef X
};

/* ---- the list ------------------------------------------------------------------------------------ */

eg_metrics *eg_metrics_new(void)
{
    eg_metrics *m = eg__handle_new(sizeof *m);
    if (!m) {
        eg__no_memory("eg_metrics_new", sizeof *m);
    }
    return m;
}

static void forget(eg__metric *all, uint32_t count)
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

static eg__metric *find(const eg_metrics *m, const char *name)
{
    for (uint32_t i = 0; i < m->count; i++) {
        if (!strcmp(m->all[i].name, name)) {
            return &m->all[i];
        }
    }
    return NULL;
}

static eg_status add(eg_metrics *m, const char *op, const char *name, eg__metric_kind kind, eg_tensor *sums)
{
    char *copy = eg__malloc(strlen(name) + 1);
    if (!copy || (m->count == m->room && !eg__grow(&m->all, &m->room, sizeof *m->all))) {
        free(copy);
        return eg__no_memory(op, (int64_t)strlen(name));
    }
    m->all[m->count++] = (eg__metric){strcpy(copy, name), kind, eg_keep(sums)};
    return EG_OK;
}

/* ---- for functions of batches --------------------------------------------------------------------- */

eg_status eg__metrics_check(const char *op, const eg_metrics *m, const char *name)
{
    if (!m || !name) {
        return eg__null_argument(op, m ? "name" : "m");
    }
    if (!*name || strlen(name) > EG__METRIC_NAME || strchr(name, '/')) {
        return eg__fail(EG_EINVAL, op, "\"%.60s\" is no name: 1..%d bytes without '/'", name, EG__METRIC_NAME);
    }
    return EG_OK;
}

eg_status eg__metrics_gather(eg_metrics *m, const char *op, const char *name, eg__metric_kind kind, eg_tensor *sums)
{
    if (!sums) {
        return eg__why();
    }
    eg__metric *own = find(m, name);
    if (!own) {
        return add(m, op, name, kind, sums);
    }
    if (own->kind != kind) {
        return eg__fail(EG_EINVAL, op, "\"%s\" is of eg_metrics_%s", name, kinds[own->kind]);
    }
    if (!eg__same_shape(own->sums, sums)) {
        return eg__fail(EG_ESHAPE, op, "\"%s\" has sums %s, this batch %s: another number of classes, types or orders",
                        name, EG__SHAPE_OF(own->sums), EG__SHAPE_OF(sums));
    }
    return eg_add_(own->sums, eg_to(sums, eg__device(own->sums))) ? EG_OK : eg__why();
}

eg_status eg__metrics_gather_numbers(eg_metrics *m, const char *op, const char *name, eg__metric_kind kind,
                                     eg_shape shape, const double *sums)
{
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? eg__metrics_gather(m, op, name, kind, eg__from_on(0, shape, EG_F64, sums)) : eg__why();
    eg_scope_pop(scope, NULL);
    return st;
}

/* ---- values -------------------------------------------------------------------------------------- */

eg__metric *eg__metrics_asked(const char *op, eg_metrics *m, const char *name, eg__metric_kind least,
                              eg__metric_kind most)
{
    if (!m || !name) {
        return eg__null_argument(op, m ? "name" : "m"), NULL;
    }
    eg__metric *own = find(m, name);
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
    for (int i = EG__AUC_BUCKETS - 1; i >= 0; i--) {
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

/* What a class, or type of spans, was taken for. */
typedef struct counted {
    double right, taken, there;
} counted;

static double score_of(counted c, eg_class_score score)
{
    switch (score) {
    case EG_PRECISION:
        return c.right / c.taken;
    case EG_RECALL:
        return c.right / c.there;
    case EG_F1:
        return 2 * c.right / (c.taken + c.there);
    default:
        return c.right / (c.taken + c.there - c.right);
    }
}

static counted of_spans(const double *s, int64_t type)
{
    return (counted){s[3 * type + 2], s[3 * type], s[3 * type + 1]};
}

static counted of_confusion(const double *s, int64_t classes, int64_t c)
{
    counted own = {s[c * classes + c], 0, 0};
    for (int64_t i = 0; i < classes; i++) {
        own.taken += s[i * classes + c];
        own.there += s[c * classes + i];
    }
    return own;
}

static counted count_one(eg__metric_kind kind, const double *s, int64_t classes, int64_t c)
{
    return kind == EG__METRIC_SPANS ? of_spans(s, c) : of_confusion(s, classes, c);
}

static counted count_all(eg__metric_kind kind, const double *s, int64_t classes)
{
    counted all = {0, 0, 0};
    for (int64_t c = 0; c < classes; c++) {
        counted own = count_one(kind, s, classes, c);
        all.right += own.right;
        all.taken += own.taken;
        all.there += own.there;
    }
    return all;
}

/* Over those of a number; what is wrong of the types of spans that there are is 0, not none. */
static double mean_score(eg__metric_kind kind, const double *s, int64_t classes, eg_class_score score)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t c = 0; c < classes; c++) {
        counted own = count_one(kind, s, classes, c);
        double x = score_of(own, score);
        bool none = isnan(x) && !(kind == EG__METRIC_SPANS && own.taken + own.there > 0);
        sum += isnan(x) ? 0 : x;
        n += !none;
    }
    return sum / (double)n;
}

/* Of all classes together; of spans 0 / 0 is 0, as seqeval and conlleval have it. */
static double score_all(eg__metric_kind kind, const double *s, int64_t classes, eg_class_score score)
{
    const double x = score_of(count_all(kind, s, classes), score);
    return kind == EG__METRIC_SPANS && isnan(x) ? 0 : x;
}

/* Edits per token of the reference; of an empty reference the edits themselves, as jiwer has it. */
static double error_rate(const double *s)
{
    return s[1] > 0 ? s[0] / s[1] : s[0];
}

static double value_of(const eg__metric *own, const double *s)
{
    const int64_t first = own->sums->shape[0], last = own->sums->shape[own->sums->ndim - 1];
    switch (own->kind) {
#define X(kind, word, axes, fits, value) \
    case EG__METRIC_##kind:              \
        return value;
#include "run/record/metrics.def"
#undef X
    default:
        return (double)NAN;
    }
}

double *eg__metrics_sums(const char *op, const eg__metric *own)
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
    eg__metric *own = eg__metrics_asked(op, m, name, 0, EG__METRIC_KINDS);
    double *s = own ? eg__metrics_sums(op, own) : NULL;
    double value = s ? value_of(own, s) : (double)NAN;
    free(s);
    return value;
}

double eg_metrics_of(eg_metrics *m, const char *name, eg_class_score score, int64_t of_class)
{
    static const char op[] = "eg_metrics_of";
    eg__metric *own = eg__metrics_asked(op, m, name, EG__METRIC_CONFUSION, EG__METRIC_ROUGE);
    const bool pairs = own && own->kind == EG__METRIC_ROUGE;
    const int64_t classes = own && !pairs ? own->sums->shape[0] : 0, least = pairs ? -1 : -2;
    const eg_class_score most = pairs ? EG_F1 : EG_IOU;
    if (own && ((int)score < EG_PRECISION || score > most || of_class < least || of_class >= classes)) {
        eg__fail(EG_EINVAL, op, "score %d of class %lld: there are %d scores, and classes %lld..%lld", (int)score,
                 (long long)of_class, most + 1, (long long)least, (long long)classes - 1);
        own = NULL;
    }
    double *s = own ? eg__metrics_sums(op, own) : NULL;
    double value = !s               ? (double)NAN
                   : pairs          ? s[score] / s[3]
                   : of_class == -2 ? score_all(own->kind, s, classes, score)
                   : of_class == -1 ? mean_score(own->kind, s, classes, score)
                                    : score_of(count_one(own->kind, s, classes, of_class), score);
    free(s);
    return value;
}

eg_tensor *eg_metrics_matrix(eg_metrics *m, const char *name)
{
    eg__metric *own = eg__metrics_asked("eg_metrics_matrix", m, name, EG__METRIC_CONFUSION, EG__METRIC_SPANS);
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
        char name[EG__METRIC_NAME + 16];
        snprintf(name, sizeof name, "%s.%s", kinds[m->all[i].kind], m->all[i].name);
        if (eg_tensors_set(map, name, m->all[i].sums)) {
            eg_tensors_free(map);
            map = NULL;
        }
    }
    return map;
}

/* Whether sums of such a shape are of the kind. */
static bool is_of_kind(eg__metric_kind kind, const eg_tensor *t)
{
    const int64_t first = t->ndim ? t->shape[0] : 0, last = t->ndim ? t->shape[t->ndim - 1] : 0;
    if (t->dtype != EG_F64) {
        return false;
    }
    switch (kind) {
#define X(kind, word, axes, fits, value) \
    case EG__METRIC_##kind:              \
        return t->ndim == axes && (fits);
#include "run/record/metrics.def"
#undef X
    default:
        return false;
    }
}

static eg_status load_one(eg_metrics *to, const char *op, const char *full, eg_tensor *t)
{
    const char *dot = strchr(full, '.');
    int k = 0;
    while (k < EG__METRIC_KINDS &&
           (!dot || strlen(kinds[k]) != (size_t)(dot - full) || strncmp(full, kinds[k], strlen(kinds[k])))) {
        k++;
    }
    if (k == EG__METRIC_KINDS || !dot[1] || strlen(dot + 1) > EG__METRIC_NAME || find(to, dot + 1) ||
        !is_of_kind((eg__metric_kind)k, t)) {
        return eg__fail(EG_EFORMAT, op, "\"%.120s\", %s %s, is no metric's", full, eg_dtype_name((eg_dtype)t->dtype),
                        EG__SHAPE_OF(t));
    }
    eg_scope s = eg_scope_push();
    eg_tensor *sums = s.depth ? eg_copy(t) : NULL;
    eg_status st = sums ? add(to, op, dot + 1, (eg__metric_kind)k, sums) : eg__why();
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
