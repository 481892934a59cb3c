/* bleu.c - n-grams of texts that are in references too. */
#include <math.h>
#include <stdlib.h>

#include "run/record/language/match.h"
#include "run/record/metrics.h"

enum { MOST_ORDER = 16, MOST_SUMS = 2 + 2 * MOST_ORDER };

static eg_status read_options(const char *op, const eg_bleu_options *options, eg_bleu_options *o)
{
    eg__options(o, sizeof *o, options);
    o->order = o->order ? o->order : 4;
    o->amount = eg__or(o->amount, o->smoothing == EG_SMOOTH_ADD ? 1 : 0.1);
    if ((unsigned)o->tokens > EG_BLEU_TRANSFORMER || (unsigned)o->smoothing > EG_SMOOTH_NONE) {
        return eg__fail(EG_EINVAL, op, "no tokens %d or no smoothing %d", (int)o->tokens, (int)o->smoothing);
    }
    if (o->order < 1 || o->order > MOST_ORDER || !(o->amount >= 0)) {
        return eg__fail(EG_EINVAL, op, "order is %d, must be 1..%d; amount is %g, must not be negative", o->order,
                        MOST_ORDER, o->amount);
    }
    return EG_OK;
}

/* The length nearest to that of the text; of two the shorter. */
static int64_t nearest(const eg__said *s)
{
    const int64_t own = eg__ids_count(&s->text);
    int64_t best = -1;
    for (int i = 0; i < s->n; i++) {
        const int64_t n = eg__ids_count(&s->references[i]), off = llabs(n - own), least = llabs(best - own);
        best = best < 0 || off < least || (off == least && n < best) ? n : best;
    }
    return best;
}

/* Adds what metrics.def says of one text. */
static eg_status add_text(const char *op, const eg__said *s, int orders, double *sums)
{
    double right[MOST_ORDER];
    eg_status st = eg__match_grams(op, &s->text, s->references, s->n, 1, orders, right);
    if (st) {
        return st;
    }
    sums[0] += (double)eg__ids_count(&s->text);
    sums[1] += (double)nearest(s);
    for (int k = 0; k < orders; k++) {
        sums[2 + k] += right[k];
        sums[2 + orders + k] += (double)eg__count_grams(&s->text, k + 1);
    }
    return EG_OK;
}

static eg_status sums_of(const char *op, const char *text, const char *const *references, int n,
                         const eg_bleu_options *o, double *sums)
{
    eg__said said;
    eg_status st = eg__said_read(&said, op, text, references, n, (eg__token_rule)o->tokens, o->lower);
    if (!st && !n) {
        st = eg__fail(EG_EINVAL, op, "there is no reference");
    }
    st = st ? st : add_text(op, &said, o->order, sums);
    eg__said_free(&said);
    return st;
}

/* Of a precision of 0 the k-th such is 2^-k n-grams, or `amount`; 0 is no precision at all. */
static double smoothed(const eg_bleu_options *o, double *power)
{
    *power /= 2;
    return o->smoothing == EG_SMOOTH_EXP ? *power : o->smoothing == EG_SMOOTH_FLOOR ? o->amount : 0;
}

double eg__bleu_of(const double *sums, int64_t orders, const eg_bleu_options *o)
{
    static const eg_bleu_options defaults = {0};
    const double text = sums[0], reference = sums[1];
    double logs = 0, power = 1, any = 0;
    int64_t used = orders, k = 0;
    o = o ? o : &defaults;
    for (; k < orders; k++) {
        const double more = o->smoothing == EG_SMOOTH_ADD && k ? o->amount : 0;
        const double right = sums[2 + k] + more, all = sums[2 + orders + k] + more;
        if (all == 0) {
            break;
        }
        any += sums[2 + k];
        logs += log((right > 0 ? right : smoothed(o, &power)) / all);
    }
    used = o->effective ? k : orders;
    if (any == 0 || k < used) {
        return 0;
    }
    return 100 * (text < reference ? exp(1 - reference / text) : 1) * exp(logs / (double)used);
}

eg_status eg_metrics_bleu_with(eg_metrics *m, const char *name, const char *text, const char *const *references, int n,
                               const eg_bleu_options *options)
{
    static const char op[] = "eg_metrics_bleu";
    double sums[MOST_SUMS] = {0};
    eg_bleu_options o;
    eg_status st = eg__metrics_check(op, m, name);
    st = st ? st : read_options(op, options, &o);
    st = st ? st : sums_of(op, text, references, n, &o, sums);
    return st ? st : eg__metrics_gather_numbers(m, op, name, EG__METRIC_BLEU, EG_SHAPE(2 + 2 * o.order), sums);
}

eg_status eg_metrics_bleu_ids_with(eg_metrics *m, const char *name, eg_tensor *ids, eg_tensor *reference,
                                   const eg_bleu_options *options)
{
    static const char op[] = "eg_metrics_bleu_ids";
    double sums[MOST_SUMS] = {0};
    eg_bleu_options o;
    eg__rows rows = {0};
    eg__said said = {0};
    eg_status st = eg__metrics_check(op, m, name);
    st = st ? st : read_options(op, options, &o);
    st = st ? st : eg__rows_read(&rows, op, ids, reference);
    for (int64_t i = 0; i < rows.n && !st; i++) {
        st = eg__rows_at(&rows, op, i, &said);
        st = st ? st : add_text(op, &said, o.order, sums);
    }
    eg__rows_free(&rows);
    eg__said_free(&said);
    return st ? st : eg__metrics_gather_numbers(m, op, name, EG__METRIC_BLEU_IDS, EG_SHAPE(2 + 2 * o.order), sums);
}

double eg_metrics_bleu_score_with(eg_metrics *m, const char *name, const eg_bleu_options *options)
{
    static const char op[] = "eg_metrics_bleu_score";
    eg_bleu_options o;
    eg__metric *own =
        read_options(op, options, &o) ? NULL : eg__metrics_asked(op, m, name, EG__METRIC_BLEU, EG__METRIC_BLEU_IDS);
    double *sums = own ? eg__metrics_sums(op, own) : NULL;
    const double value = sums ? eg__bleu_of(sums, own->sums->shape[0] / 2 - 1, &o) : (double)NAN;
    free(sums);
    return value;
}

double eg_bleu_with(const char *text, const char *const *references, int n, const eg_bleu_options *options)
{
    static const char op[] = "eg_bleu";
    double sums[MOST_SUMS] = {0};
    eg_bleu_options o;
    eg_status st = read_options(op, options, &o);
    st = st ? st : sums_of(op, text, references, n, &o, sums);
    return st ? (double)NAN : eg__bleu_of(sums, o.order, &o);
}
