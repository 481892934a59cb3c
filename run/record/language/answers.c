/* answers.c - answers beside those that were given. */
#include "run/record/language/match.h"
#include "run/record/metrics.h"

static eg_status same(const char *op, const eg__sequence *a, const eg__sequence *b, double *score)
{
    (void)op;
    *score = a->ids.n == b->ids.n && (!a->ids.n || !memcmp(a->ids.p, b->ids.p, (size_t)a->ids.n));
    return EG_OK;
}

/* Of words in whatever order; of no words whether both have none. */
static eg_status f1(const char *op, const eg__sequence *a, const eg__sequence *b, double *score)
{
    const double said = (double)eg__ids_count(a), there = (double)eg__ids_count(b);
    if (said == 0 || there == 0) {
        *score = said == there;
        return EG_OK;
    }
    double right = 0;
    eg_status st = eg__match_grams(op, a, b, 1, 1, 1, &right);
    *score = 2 * right / (said + there);
    return st;
}

/* The best score beside answers that have words; without one, beside "". */
static eg_status best(const char *op, const eg__said *s,
                      eg_status (*score)(const char *op, const eg__sequence *a, const eg__sequence *b, double *score),
                      double *most)
{
    const eg__sequence none = {0};
    bool any = false;
    eg_status st = EG_OK;
    for (int i = 0; i < s->n && !st; i++) {
        double own = 0;
        if (eg__ids_count(&s->references[i])) {
            any = true;
            st = score(op, &s->text, &s->references[i], &own);
        }
        *most = own > *most ? own : *most;
    }
    return st || any ? st : score(op, &s->text, &none, most);
}

static eg_status gather(eg_metrics *m, const char *op, const char *name, const char *text, const char *const *answers,
                        int n, eg__metric_kind kind)
{
    eg__said said = {0};
    double sums[2] = {0, 1};
    eg_status st = eg__metrics_check(op, m, name);
    st = st ? st : eg__said_read(&said, op, text, answers, n, EG__TOKENS_ANSWER, true);
    st = st ? st : best(op, &said, kind == EG__METRIC_EXACT_MATCH ? same : f1, &sums[0]);
    eg__said_free(&said);
    return st ? st : eg__metrics_gather_numbers(m, op, name, kind, EG_SHAPE(2), sums);
}

eg_status eg_metrics_exact_match(eg_metrics *m, const char *name, const char *text, const char *const *answers, int n)
{
    return gather(m, "eg_metrics_exact_match", name, text, answers, n, EG__METRIC_EXACT_MATCH);
}

eg_status eg_metrics_answer_f1(eg_metrics *m, const char *name, const char *text, const char *const *answers, int n)
{
    return gather(m, "eg_metrics_answer_f1", name, text, answers, n, EG__METRIC_ANSWER_F1);
}
