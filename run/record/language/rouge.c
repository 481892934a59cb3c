/* rouge.c - what of a reference a summary has. */
#include "run/record/language/match.h"
#include "run/record/metrics.h"

enum { MOST_ORDER = 16 };

/* Precision, recall and F1. */
typedef struct scores {
    double of[3];
} scores;

static eg_status score(const char *op, const eg__sequence *text, const eg__sequence *reference, int order, scores *s)
{
    double right = 0;
    const double said = (double)eg__count_grams(text, order ? order : 1);
    const double there = (double)eg__count_grams(reference, order ? order : 1);
    if (order) {
        eg_status st = eg__match_grams(op, text, reference, 1, order, order, &right);
        if (st) {
            return st;
        }
    } else {
        right = (double)eg__match_common(op, text, reference);
    }
    *s = right > 0 ? (scores){{right / said, right / there, 2 * right / (said + there)}} : (scores){{0}};
    return right < 0 ? eg__why() : EG_OK;
}

eg_status eg_metrics_rouge_with(eg_metrics *m, const char *name, const char *text, const char *const *references, int n,
                                const eg_rouge_options *options)
{
    static const char op[] = "eg_metrics_rouge";
    eg_rouge_options o;
    eg__said said = {0};
    scores best = {{0}};
    eg__options(&o, sizeof o, options);
    eg_status st = eg__metrics_check(op, m, name);
    if (!st && (n < 1 || o.order < 0 || o.order > MOST_ORDER)) {
        st = eg__fail(EG_EINVAL, op, "%d references, order %d: at least 1, and 0..%d", n, o.order, MOST_ORDER);
    }
    st = st ? st : eg__said_read(&said, op, text, references, n, o.stem ? EG__TOKENS_STEMS : EG__TOKENS_ROUGE, true);
    for (int i = 0; i < said.n && !st; i++) {
        scores s;
        st = score(op, &said.text, &said.references[i], o.order, &s);
        best = !st && s.of[EG_F1] > best.of[EG_F1] ? s : best;
    }
    eg__said_free(&said);
    const double sums[4] = {best.of[EG_PRECISION], best.of[EG_RECALL], best.of[EG_F1], 1};
    return st ? st : eg__metrics_gather_numbers(m, op, name, EG__METRIC_ROUGE, EG_SHAPE(4), sums);
}
