/* curve.c - from matches to precision and recall, and to the numbers that are told of them. */
#include <math.h>
#include <stdlib.h>

#include "lib/core/memory.h"
#include "run/record/detection/scores.h"

static const char op[] = "eg_detection_scores_value";

enum { RECALLS = 101 };

/* ---- what is asked for ------------------------------------------------------------------------ */

typedef struct question {
    const char *name;
    bool recall;   /* else precision */
    int threshold; /* -1: all */
    int area, most;
    bool coco; /* only there */
} question;

static const question questions[] = {
    {"AP", false, -1, 0, 100, false}, {"AP50", false, 0, 0, 100, true}, {"AP75", false, 5, 0, 100, true},
    {"APs", false, -1, 1, 100, true}, {"APm", false, -1, 2, 100, true}, {"APl", false, -1, 3, 100, true},
    {"AR1", true, -1, 0, 1, true},    {"AR10", true, -1, 0, 10, true},  {"AR100", true, -1, 0, 100, true},
    {"ARs", true, -1, 1, 100, true},  {"ARm", true, -1, 2, 100, true},  {"ARl", true, -1, 3, 100, true},
};

static const question *find(const eg_detection_scores *s, const char *name)
{
    for (int i = 0; i < EG__COUNT(questions); i++) {
        if (!strcmp(questions[i].name, name) && (!questions[i].coco || s->kind == EG_DETECTION_COCO)) {
            return &questions[i];
        }
    }
    eg__fail(EG_EINDEX, op, "there is no value \"%.40s\"", name);
    return NULL;
}

/* ---- boxes of a class, the likeliest first ----------------------------------------------------- */

typedef struct ranked {
    const eg__found *found;
    eg__ranked *box; /* numbers in found */
    double *precision, *recall;
    int64_t n;
} ranked;

static bool ranked_new(ranked *r, const eg_detection_scores *s)
{
    const size_t n = s->count + (size_t)1, bytes = n * (sizeof *r->box + 2 * sizeof *r->precision);
    r->found = s->found;
    r->box = eg__malloc(bytes);
    if (!r->box) {
        eg__no_memory(op, (int64_t)bytes);
        return false;
    }
    r->precision = (double *)(r->box + n);
    r->recall = r->precision + n;
    return true;
}

static void rank_class(const eg_detection_scores *s, ranked *r, int64_t label)
{
    r->n = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->found[i].label == label) {
            r->box[r->n++] = (eg__ranked){s->found[i].score, i};
        }
    }
    eg__rank(r->box, r->n);
}

/* Fills precision and recall behind each box that counts; gives how many these are. */
static int64_t curve(const ranked *r, int area, int threshold, int most, int64_t there)
{
    const uint64_t bit = (uint64_t)1 << (area * EG__THRESHOLDS + threshold);
    int64_t n = 0, hits = 0;
    for (int64_t i = 0; i < r->n; i++) {
        const eg__found *f = &r->found[r->box[i].at];
        if (f->rank < most && !(f->off & bit)) {
            hits += (f->hit & bit) != 0;
            n++;
            r->precision[n - 1] = (double)hits / (double)n;
            r->recall[n - 1] = (double)hits / (double)there;
        }
    }
    return n;
}

/* ---- one number of a curve ----------------------------------------------------------------------- */

/* The best precision from each recall on. */
static void smooth(const ranked *r, int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        r->precision[i - 1] = fmax(r->precision[i - 1], r->precision[i]);
    }
}

/* The mean over so many recalls from 0 to 1. */
static double mean_at(const ranked *r, int64_t n, int recalls)
{
    const double apart = 1.0 / (recalls - 1); /* k / 100 may be another number */
    double sum = 0;
    int64_t i = 0;
    for (int k = 0; k < recalls; k++) {
        while (i < n && r->recall[i] < k * apart) {
            i++;
        }
        sum += i < n ? r->precision[i] : 0;
    }
    return sum / recalls;
}

static double area_under(const ranked *r, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += r->precision[i] * (r->recall[i] - (i ? r->recall[i - 1] : 0));
    }
    return sum;
}

static double number_of(const eg_detection_scores *s, const ranked *r, const question *q, int threshold, int64_t there)
{
    const int64_t n = curve(r, q->area, threshold, eg__min(q->most, s->most), there);
    if (q->recall) {
        return n ? r->recall[n - 1] : 0;
    }
    smooth(r, n);
    return s->kind == EG_DETECTION_COCO  ? mean_at(r, n, RECALLS)
           : s->kind == EG_DETECTION_VOC ? area_under(r, n)
                                         : mean_at(r, n, 11);
}

/* Adds the numbers of a class, if there is any object of it. */
static void add_class(const eg_detection_scores *s, ranked *r, const question *q, int64_t label, double *sum,
                      int64_t *n)
{
    const int64_t there = s->there[label * EG__AREAS + q->area];
    if (!there) {
        return;
    }
    rank_class(s, r, label);
    for (int t = 0; t < s->thresholds; t++) {
        if (q->threshold < 0 || q->threshold == t) {
            *sum += number_of(s, r, q, t, there);
            ++*n;
        }
    }
}

static double value_of(const eg_detection_scores *s, const char *name, int64_t first, int64_t end)
{
    ranked r;
    double sum = 0;
    int64_t n = 0;
    const question *q = find(s, name);
    if (!q || !ranked_new(&r, s)) {
        return (double)NAN;
    }
    for (int64_t label = first; label < end; label++) {
        add_class(s, &r, q, label, &sum, &n);
    }
    free(r.box);
    return n ? sum / (double)n : (double)NAN;
}

double eg_detection_scores_value(const eg_detection_scores *s, const char *name)
{
    if (!s || !name) {
        eg__null_argument(op, s ? "name" : "s");
        return (double)NAN;
    }
    return value_of(s, name, 0, s->classes);
}

static eg_status check_class(const char *who, const eg_detection_scores *s, int64_t label)
{
    return label >= 0 && label < s->classes
               ? EG_OK
               : eg__fail(EG_EINDEX, who, "class %lld of %lld", (long long)label, (long long)s->classes);
}

double eg_detection_scores_of(const eg_detection_scores *s, const char *name, int64_t label)
{
    static const char me[] = "eg_detection_scores_of";
    if (!s || !name) {
        eg__null_argument(me, s ? "name" : "s");
        return (double)NAN;
    }
    return check_class(me, s, label) ? (double)NAN : value_of(s, name, label, label + 1);
}

eg_tensor *eg_detection_scores_curve(const eg_detection_scores *s, int64_t label, double threshold)
{
    static const char me[] = "eg_detection_scores_curve";
    ranked r;
    int t = 0;
    if (!s) {
        return eg__null_argument(me, "s"), NULL;
    }
    while (t < s->thresholds && fabs(s->threshold[t] - threshold) > 1e-9) {
        t++;
    }
    if (t == s->thresholds) {
        return eg__fail_null(EG_EINVAL, me, "threshold %g is none of these scores", threshold);
    }
    if (check_class(me, s, label) || !ranked_new(&r, s)) {
        return NULL;
    }
    rank_class(s, &r, label);
    const int64_t there = s->there[label * EG__AREAS], n = there ? curve(&r, 0, t, s->most, there) : 0;
    eg_tensor *both = eg__empty_on(0, EG_SHAPE(2, n), EG_F64);
    if (both && n) {
        memcpy(eg__ptr(both), r.recall, (size_t)n * sizeof(double));
        memcpy(eg__ptr(both) + n * (int64_t)sizeof(double), r.precision, (size_t)n * sizeof(double));
    }
    free(r.box);
    return both;
}
