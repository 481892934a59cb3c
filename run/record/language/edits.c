/* edits.c - how many edits make of what was said what there was to say. */
#include "run/record/language/match.h"
#include "run/record/metrics.h"

/* Adds the edits, and the length of the reference. */
static eg_status add_edits(const char *op, const eg__said *s, double *sums)
{
    const int64_t edits = eg__match_edits(op, &s->text, s->references);
    if (edits < 0) {
        return eg__why();
    }
    sums[0] += (double)edits;
    sums[1] += (double)eg__ids_count(s->references);
    return EG_OK;
}

static eg_status gather(eg_metrics *m, const char *op, const char *name, const char *text, const char *reference,
                        eg__token_rule rule, eg__metric_kind kind)
{
    eg__said said = {0};
    double sums[2] = {0};
    eg_status st = eg__metrics_check(op, m, name);
    st = st ? st : eg__said_read(&said, op, text, &reference, 1, rule, false);
    st = st ? st : add_edits(op, &said, sums);
    eg__said_free(&said);
    return st ? st : eg__metrics_gather_numbers(m, op, name, kind, EG_SHAPE(2), sums);
}

eg_status eg_metrics_wer(eg_metrics *m, const char *name, const char *text, const char *reference)
{
    return gather(m, "eg_metrics_wer", name, text, reference, EG__TOKENS_SPOKEN, EG__METRIC_WER);
}

eg_status eg_metrics_cer(eg_metrics *m, const char *name, const char *text, const char *reference)
{
    return gather(m, "eg_metrics_cer", name, text, reference, EG__TOKENS_CHARACTERS, EG__METRIC_CER);
}

static eg_status edits_of_rows(const char *op, eg_tensor *ids, eg_tensor *reference, double *sums)
{
    eg__rows rows = {0};
    eg__said said = {0};
    eg_status st = eg__rows_read(&rows, op, ids, reference);
    for (int64_t i = 0; i < rows.n && !st; i++) {
        st = eg__rows_at(&rows, op, i, &said);
        st = st ? st : add_edits(op, &said, sums);
    }
    eg__rows_free(&rows);
    eg__said_free(&said);
    return st;
}

eg_status eg_metrics_edits(eg_metrics *m, const char *name, eg_tensor *ids, eg_tensor *reference)
{
    static const char op[] = "eg_metrics_edits";
    double sums[2] = {0};
    eg_status st = eg__metrics_check(op, m, name);
    st = st ? st : edits_of_rows(op, ids, reference, sums);
    return st ? st : eg__metrics_gather_numbers(m, op, name, EG__METRIC_EDITS, EG_SHAPE(2), sums);
}

int64_t eg_edit_distance(eg_tensor *ids, eg_tensor *reference)
{
    static const char op[] = "eg_edit_distance";
    double sums[2] = {0};
    eg_status st = EG_OK;
    if (ids && ids->ndim != 1) {
        st = eg__fail(EG_ESHAPE, op, "ids are %s, must be [n]", EG__SHAPE_OF(ids));
    }
    st = st ? st : edits_of_rows(op, ids, reference, sums);
    return st ? -1 : (int64_t)sums[0];
}
