/* test_text_metrics.c - what is said of texts, ids and tags is what others say (golden/text_metrics.py). */
#include <egret/json.h>
#include <egret/metrics.h>

#include "tests/egt.h"

enum { MOST = 8 };

static eg_json *golden(void)
{
    eg_json *j = eg_json_load("tests/golden/text_metrics.json");
    EGT_CHECK(j);
    return j;
}

static const char *text_of(const eg_json *j, const char *key)
{
    return eg_json_text(eg_json_get(j, key), NULL);
}

static double number_of(const eg_json *j, const char *key)
{
    return eg_json_number(eg_json_get(j, key));
}

static bool is(const eg_json *j, const char *key)
{
    return eg_json_bool(eg_json_get(j, key));
}

/* A list of texts; how many there are. */
static int texts_of(const eg_json *j, const char *key, const char **to)
{
    const eg_json *list = eg_json_get(j, key);
    for (int64_t i = 0; i < eg_json_count(list); i++) {
        EGT_CHECK(i < MOST);
        to[i] = eg_json_text(eg_json_at(list, i), NULL);
    }
    return (int)eg_json_count(list);
}

static const eg_json *corpus_of(const eg_json *all, const eg_json *row)
{
    return eg_json_get(eg_json_get(all, "corpora"), text_of(row, "corpus"));
}

/* Lists of integers as i64 [N, n]. */
static eg_tensor *ids_of(const eg_json *rows)
{
    const int64_t n = eg_json_count(rows), m = eg_json_count(eg_json_at(rows, 0));
    double *values = malloc((size_t)(n * m) * sizeof *values);
    for (int64_t i = 0; i < n * m; i++) {
        values[i] = eg_json_number(eg_json_at(eg_json_at(rows, i / m), i % m));
    }
    eg_tensor *t = eg_from_values(EG_SHAPE(n, m), EG_I64, values);
    free(values);
    return t;
}

static int word_of(const char *word, const char *const *words, int n)
{
    int i = 0;
    while (i < n && strcmp(word, words[i])) {
        i++;
    }
    EGT_CHECK(i < n);
    return i;
}

static eg_bleu_options options_of(const eg_json *row)
{
    static const char *const tokens[] = {"13a", "intl", "char", "none", "transformer"};
    static const char *const smoothings[] = {"exp", "floor", "add", "none"};
    const eg_json *amount = eg_json_get(row, "amount"), *token = eg_json_get(row, "tokens");
    return (eg_bleu_options){
        .size = sizeof(eg_bleu_options),
        .tokens = token ? (eg_bleu_tokens)word_of(eg_json_text(token, NULL), tokens, 5) : EG_BLEU_13A,
        .lower = token && is(row, "lower"),
        .order = token ? (int)number_of(row, "order") : 0,
        .smoothing = (eg_bleu_smoothing)word_of(text_of(row, "smoothing"), smoothings, 4),
        .amount = eg_json_kind_of(amount) == EG_JSON_NUMBER ? eg_json_number(amount) : 0,
        .effective = is(row, "effective"),
    };
}

static void need_characters(void)
{
    egt_need(eg_text_normalise(eg_text("a")), "utf8proc");
}

EGT(bleu_is_sacrebleu_s)
{
    need_characters();
    eg_json *all = golden();
    const eg_json *rows = eg_json_get(all, "bleu");
    EGT_CHECK(eg_json_count(rows) > 60);
    for (int64_t k = 0; k < eg_json_count(rows); k++) {
        const eg_json *row = eg_json_at(rows, k), *corpus = corpus_of(all, row);
        const eg_bleu_options o = options_of(row);
        eg_metrics *m = eg_metrics_new();
        for (int64_t i = 0; i < eg_json_count(corpus); i++) {
            const char *references[MOST];
            const int n = texts_of(eg_json_at(corpus, i), "references", references);
            EGT_OK(eg_metrics_bleu_with(m, "b", text_of(eg_json_at(corpus, i), "text"), references, n, &o));
        }
        snprintf(egt_case, sizeof egt_case, "row %d, %s", (int)k, text_of(row, "tokens"));
        EGT_NEAR(eg_metrics_bleu_score_with(m, "b", &o), number_of(row, "value"), 1e-11);
        if (o.smoothing == EG_SMOOTH_EXP && !o.effective) {
            EGT_NEAR(eg_metrics_value(m, "b"), number_of(row, "value"), 1e-11);
        }
        eg_metrics_free(m);
    }
    rows = eg_json_get(all, "sentence_bleu");
    EGT_CHECK(eg_json_count(rows) > 60);
    for (int64_t k = 0; k < eg_json_count(rows); k++) {
        const eg_json *row = eg_json_at(rows, k);
        const char *references[MOST];
        const int n = texts_of(row, "references", references);
        const eg_bleu_options o = options_of(row);
        snprintf(egt_case, sizeof egt_case, "sentence %d", (int)k);
        EGT_NEAR(eg_bleu_with(text_of(row, "text"), references, n, &o), number_of(row, "value"), 1e-11);
    }
    eg_json_free(all);
}

EGT(ids_are_as_words)
{
    eg_json *all = golden();
    const eg_json *row = eg_json_get(all, "ids");
    eg_tensor *ids = ids_of(eg_json_get(row, "ids")), *references = ids_of(eg_json_get(row, "references"));
    eg_metrics *m = eg_metrics_new();
    EGT_OK(eg_metrics_bleu_ids(m, "all", ids, references));
    EGT_OK(eg_metrics_edits(m, "edits", ids, eg_cast(references, EG_I32)));
    for (int i = 0; i < 6; i++) {
        EGT_OK(eg_metrics_bleu_ids(m, "each", eg_select(ids, 0, i), eg_select(references, 0, i)));
    }
    EGT_NEAR(eg_metrics_value(m, "all"), number_of(row, "bleu"), 1e-11);
    EGT_NEAR(eg_metrics_value(m, "each"), number_of(row, "bleu"), 1e-11);
    EGT_NEAR(eg_metrics_value(m, "edits"), number_of(row, "edits"), 1e-11);
    eg_metrics_free(m);
    eg_json_free(all);
}

EGT(rouge_is_rouge_score_s)
{
    eg_json *all = golden();
    const eg_json *rows = eg_json_get(all, "rouge");
    for (int64_t k = 0; k < eg_json_count(rows); k++) {
        const eg_json *row = eg_json_at(rows, k), *corpus = corpus_of(all, row), *scores = eg_json_get(row, "scores");
        eg_metrics *m = eg_metrics_new();
        for (int64_t i = 0; i < eg_json_count(corpus); i++) {
            const char *references[MOST];
            const int n = texts_of(eg_json_at(corpus, i), "references", references);
            EGT_OK(eg_metrics_rouge(m, "r", text_of(eg_json_at(corpus, i), "text"), references, n,
                                    .order = (int)number_of(row, "order"), .stem = is(row, "stem")));
        }
        for (int s = 0; s < 3; s++) {
            EGT_NEAR(eg_metrics_of(m, "r", (eg_class_score)s, -1), eg_json_number(eg_json_at(scores, s)), 1e-11);
        }
        EGT_NEAR(eg_metrics_value(m, "r"), eg_json_number(eg_json_at(scores, 2)), 1e-11);
        EGT_REFUSED(eg_metrics_of(m, "r", EG_IOU, -1), EG_EINVAL, "3 scores");
        EGT_REFUSED(eg_metrics_of(m, "r", EG_F1, 0), EG_EINVAL, "class 0");
        eg_metrics_free(m);
    }
    EGT_EQ(eg_json_count(rows), 24);
    eg_json_free(all);
}

/* Words beside their stems, which are their own. */
EGT(stems_are_nltk_s)
{
    eg_json *all = golden();
    const eg_json *rows = eg_json_get(all, "stems");
    EGT_CHECK(eg_json_count(rows) > 250);
    eg_metrics *m = eg_metrics_new();
    for (int64_t k = 0; k < eg_json_count(rows); k++) {
        const char *word = eg_json_text(eg_json_at(eg_json_at(rows, k), 0), NULL);
        const char *stem = eg_json_text(eg_json_at(eg_json_at(rows, k), 1), NULL);
        EGT_OK(eg_metrics_reset(m));
        EGT_OK(eg_metrics_rouge(m, "r", word, &stem, 1, .order = 1, .stem = true));
        snprintf(egt_case, sizeof egt_case, "%s, %s", word, stem);
        EGT_EQ(eg_metrics_value(m, "r"), 1);
    }
    eg_metrics_free(m);
    eg_json_free(all);
}

EGT(answers_are_squad_s)
{
    need_characters();
    eg_json *all = golden();
    const eg_json *rows = eg_json_get(all, "answers");
    double exact = 0, f1 = 0;
    eg_metrics *m = eg_metrics_new();
    for (int64_t k = 0; k < eg_json_count(rows); k++) {
        const eg_json *row = eg_json_at(rows, k);
        const char *answers[MOST], *text = text_of(row, "text");
        const int n = texts_of(row, "answers", answers);
        exact += number_of(row, "exact");
        f1 += number_of(row, "f1");
        EGT_OK(eg_metrics_exact_match(m, "exact", text, answers, n));
        EGT_OK(eg_metrics_answer_f1(m, "f1", text, answers, n));
        snprintf(egt_case, sizeof egt_case, "answer %d, %s", (int)k, text);
        EGT_NEAR(eg_metrics_value(m, "exact"), exact / (double)(k + 1), 1e-11);
        EGT_NEAR(eg_metrics_value(m, "f1"), f1 / (double)(k + 1), 1e-11);
    }
    EGT_CHECK(exact > 5 && f1 > exact);
    eg_metrics_free(m);
    eg_json_free(all);
}

static void check_scores(eg_metrics *m, const eg_json *scores, int64_t of)
{
    for (int s = 0; s < 3; s++) {
        EGT_NEAR(eg_metrics_of(m, "s", (eg_class_score)s, of), eg_json_number(eg_json_at(scores, s)), 1e-11);
    }
}

EGT(spans_are_seqeval_s)
{
    static const char *const schemes[] = {"lenient", "iob1", "iob2", "ioe1", "ioe2", "iobes", "bilou"};
    static const char *const types[] = {"PER", "LOC", "MISC"};
    eg_json *all = golden();
    const eg_json *rows = eg_json_get(all, "spans");
    double sum = 0;
    for (int64_t k = 0; k < eg_json_count(rows); k++) {
        const eg_json *row = eg_json_at(rows, k);
        const char *names[32];
        const eg_json *list = eg_json_get(row, "names");
        const int n = (int)eg_json_count(list);
        for (int i = 0; i < n; i++) {
            names[i] = eg_json_text(eg_json_at(list, i), NULL);
        }
        const eg_span_scheme scheme = (eg_span_scheme)word_of(text_of(row, "scheme"), schemes, 7);
        eg_tensor *taken = ids_of(eg_json_get(row, "taken")), *labels = ids_of(eg_json_get(row, "labels"));
        eg_metrics *m = eg_metrics_new();
        EGT_OK(eg_metrics_spans(m, "s", eg_slice(taken, 0, 0, 3, 1), eg_slice(labels, 0, 0, 3, 1), names, n, scheme));
        EGT_OK(eg_metrics_spans(m, "s", eg_slice(taken, 0, 3, 8, 1), eg_slice(labels, 0, 3, 8, 1), names, n, scheme));
        snprintf(egt_case, sizeof egt_case, "spans %d, %s", (int)k, schemes[scheme]);
        check_scores(m, eg_json_get(row, "micro"), -2);
        check_scores(m, eg_json_get(row, "macro"), -1);
        EGT_EQ(eg_metrics_value(m, "s"), eg_metrics_of(m, "s", EG_F1, -2));
        for (int t = 0; t < 3; t++) {
            const eg_json *scores = eg_json_get(eg_json_get(row, "types"), types[t]);
            if (scores) {
                check_scores(m, scores, t);
            }
        }
        EGT_EQ(eg_size(eg_metrics_matrix(m, "s"), 0), 4);
        sum += eg_metrics_value(m, "s");
        eg_metrics_free(m);
    }
    EGT_EQ(eg_json_count(rows), 21);
    EGT_CHECK(sum > 4);
    eg_json_free(all);
}

EGT(places_without_a_label_are_left_out)
{
    static const char *const names[] = {"O", "B-A", "I-A"};
    eg_metrics *m = eg_metrics_new();
    eg_tensor *labels = eg_from_values(EG_SHAPE(6), EG_I64, (double[]){-100, 1, -100, 2, 0, -100});
    eg_tensor *tags = eg_from_values(EG_SHAPE(6), EG_I64, (double[]){1, 1, 77, 2, 0, -3});
    EGT_OK(eg_metrics_spans(m, "s", tags, labels, names, 3, EG_SPANS_IOB2));
    EGT_EQ(eg_metrics_value(m, "s"), 1);
    EGT_OK(eg_metrics_spans(m, "none", eg_zeros(EG_SHAPE(2, 0), EG_U8), eg_zeros(EG_SHAPE(2, 0), EG_I64), names, 3,
                            EG_SPANS_LENIENT));
    EGT_EQ(eg_metrics_value(m, "none"), 0);
    EGT_EQ(eg_metrics_of(m, "none", EG_PRECISION, -2), 0);
    EGT_REFUSED(eg_metrics_spans(m, "s", eg_full(EG_SHAPE(6), 3, EG_I64), labels, names, 3, EG_SPANS_IOB2), EG_EINDEX,
                "tag 3 in row 0, place 1");
    EGT_REFUSED(eg_metrics_spans(m, "s", tags, labels, names, 3, EG_SPANS_IOE1), EG_EINVAL, "\"B-A\"");
    EGT_REFUSED(eg_metrics_spans(m, "s", tags, labels, names, 1, EG_SPANS_IOE1), EG_EINVAL, "none of 1 names");
    EGT_REFUSED(eg_metrics_spans(m, "s", tags, eg_zeros(EG_SHAPE(5), EG_I64), names, 3, EG_SPANS_IOB2), EG_ESHAPE,
                "alike");
    EGT_REFUSED(eg_metrics_spans(m, "s", tags, labels, names, 3, (eg_span_scheme)7), EG_EINVAL, "scheme 7");
    EGT_REFUSED(eg_metrics_spans(m, "s", tags, labels, NULL, 3, EG_SPANS_IOB2), EG_EINVAL, "names");
    EGT_REFUSED(eg_metrics_spans(m, "s", tags, labels, (const char *const[]){"O", NULL}, 2, EG_SPANS_IOB2), EG_EINVAL,
                "a name");
    EGT_EQ(eg_metrics_value(m, "s"), 1); /* nothing of what was refused */
    eg_metrics_free(m);
}

EGT(edits_are_jiwer_s)
{
    eg_json *all = golden();
    const eg_json *rows = eg_json_get(all, "edits");
    for (int64_t k = 0; k < eg_json_count(rows); k++) {
        const eg_json *row = eg_json_at(rows, k), *corpus = corpus_of(all, row);
        eg_metrics *m = eg_metrics_new();
        for (int64_t i = 0; i < eg_json_count(corpus); i++) {
            const char *references[MOST], *text = text_of(eg_json_at(corpus, i), "text");
            texts_of(eg_json_at(corpus, i), "references", references);
            if (!strchr(text, '\n')) {
                EGT_OK(eg_metrics_wer(m, "wer", text, references[0]));
                EGT_OK(eg_metrics_cer(m, "cer", text, references[0]));
            }
        }
        EGT_NEAR(eg_metrics_value(m, "wer"), number_of(row, "wer"), 1e-11);
        EGT_NEAR(eg_metrics_value(m, "cer"), number_of(row, "cer"), 1e-11);
        eg_metrics_free(m);
    }
    EGT_EQ(eg_json_count(rows), 3);
    eg_json_free(all);
}

/* By the definition, without a table. */
static int64_t edits(const double *a, int64_t n, const double *b, int64_t m)
{
    if (!n || !m) {
        return n + m;
    }
    const int64_t changed = edits(a + 1, n - 1, b + 1, m - 1) + (a[0] != b[0]), out = edits(a + 1, n - 1, b, m) + 1,
                  in = edits(a, n, b + 1, m - 1) + 1;
    const int64_t least = out < in ? out : in;
    return changed < least ? changed : least;
}

EGT(edit_distance)
{
    for (int i = 0; i < 40; i++) {
        double a[6] = {0}, b[6] = {0};
        const int64_t n = i % 7, m = i / 6 % 7;
        eg_tensor *x = eg_randint(EG_SHAPE(n), 0, 3, EG_I64), *y = eg_randint(EG_SHAPE(m), 0, 3, EG_U8);
        EGT_OK(eg_to_values(x, a));
        EGT_OK(eg_to_values(y, b));
        EGT_EQ(eg_edit_distance(x, y), edits(a, n, b, m));
    }
    EGT_EQ(eg_edit_distance(eg_zeros(EG_SHAPE(2, 3), EG_I64), eg_zeros(EG_SHAPE(2, 3), EG_I64)), -1);
    EGT_CHECK(egt_said(EG_ESHAPE, "[2, 3]"));
    EGT_EQ(eg_edit_distance(NULL, NULL), -1);
    EGT_CHECK(egt_said(EG_EINVAL, "ids"));
    EGT_EQ(eg_edit_distance(eg_zeros(EG_SHAPE(2), EG_F32), eg_zeros(EG_SHAPE(2), EG_I64)), -1);
    EGT_CHECK(egt_said(EG_EDTYPE, "f32"));
}

static bool gather_all(eg_metrics *m)
{
    static const char *const texts[] = {"the cat, it sat.", "a cat"}, *const names[] = {"O", "I-A"};
    eg_tensor *ids = eg_from_values(EG_SHAPE(2, 3), EG_I64, (double[]){0, 1, 1, 1, 0, -1});
    return ids && !eg_metrics_bleu(m, "b", "the cat sat.", texts, 2, .order = 2) &&
           !eg_metrics_bleu_ids(m, "bi", ids, ids) && !eg_metrics_rouge(m, "r", "the cat sat", texts, 2, .order = 1) &&
           !eg_metrics_rouge(m, "l", "the cat sat", texts, 2) && !eg_metrics_exact_match(m, "e", "cat", texts, 2) &&
           !eg_metrics_answer_f1(m, "f", "cat", texts, 2) && !eg_metrics_wer(m, "w", "the cat", texts[1]) &&
           !eg_metrics_cer(m, "c", "the cat", texts[1]) && !eg_metrics_edits(m, "d", ids, ids) &&
           !eg_metrics_spans(m, "s", ids, ids, names, 2, EG_SPANS_IOB1);
}

EGT(they_are_part_of_a_checkpoint)
{
    eg_metrics *m = eg_metrics_new(), *again = eg_metrics_new();
    EGT_CHECK(gather_all(m));
    eg_tensors *state = eg_metrics_state(m);
    EGT_OK(eg_metrics_load_state(again, state));
    EGT_CHECK(gather_all(m) && gather_all(again));
    EGT_EQ(eg_metrics_count(again), 10);
    for (int i = 0; i < 10; i++) {
        const char *name = eg_metrics_name(m, i);
        EGT_EQ(eg_metrics_value(again, name), eg_metrics_value(m, name));
    }
    EGT_EQ(eg_metrics_value(again, "s"), 1);
    EGT_EQ(eg_metrics_value(again, "e"), 1);
    EGT_EQ(eg_metrics_value(again, "w"), 0.5);
    eg_tensors_free(state);
    state = eg_tensors_new();
    EGT_OK(eg_tensors_set(state, "bleu.b", eg_zeros(EG_SHAPE(5), EG_F64)));
    EGT_REFUSED(eg_metrics_load_state(again, state), EG_EFORMAT, "bleu.b");
    eg_tensors_free(state);
    eg_metrics_free(m);
    eg_metrics_free(again);
}

static bool gather_in_new(void *user)
{
    (void)user;
    eg_metrics *m = eg_metrics_new();
    const bool good = m && gather_all(m) && !isnan(eg_metrics_bleu_score(m, "b", .smoothing = EG_SMOOTH_ADD));
    eg_metrics_free(m);
    return good;
}

EGT(text_metrics_refuse)
{
    static const char *const texts[] = {"a", NULL}, *const broken[] = {"a\xff"};
    eg_metrics *m = eg_metrics_new();
    EGT_CHECK(isnan(eg_metrics_bleu_score(m, "b")) && egt_said(EG_EINDEX, "\"b\""));
    EGT_OK(eg_metrics_bleu(m, "b", "a", texts, 1));
    EGT_REFUSED(eg_metrics_bleu(m, "b", "a", texts, 1, .order = 2), EG_ESHAPE, "orders");
    EGT_REFUSED(eg_metrics_bleu(m, "b", "a", texts, 1, .order = 17), EG_EINVAL, "1..16");
    EGT_REFUSED(eg_metrics_bleu(m, "b", "a", texts, 1, .tokens = (eg_bleu_tokens)9), EG_EINVAL, "tokens 9");
    EGT_REFUSED(eg_metrics_bleu(m, "b", "a", texts, 0), EG_EINVAL, "no reference");
    EGT_REFUSED(eg_metrics_bleu(m, "b", "a", texts, -1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_metrics_bleu(m, "b", "a", texts, 2), EG_EINVAL, "a reference");
    EGT_REFUSED(eg_metrics_bleu(m, "b", "a", broken, 1), EG_EFORMAT, "byte 1");
    EGT_REFUSED(eg_metrics_bleu(m, "b", NULL, texts, 1), EG_EINVAL, "text");
    EGT_REFUSED(eg_metrics_bleu(m, "b", "a", NULL, 1), EG_EINVAL, "references");
    EGT_REFUSED(eg_metrics_bleu(NULL, "b", "a", texts, 1), EG_EINVAL, "m is NULL");
    EGT_REFUSED(eg_metrics_rouge(m, "b", "a", texts, 1), EG_EINVAL, "eg_metrics_bleu");
    EGT_REFUSED(eg_metrics_rouge(m, "r", "a", texts, 1, .order = -1), EG_EINVAL, "order -1");
    EGT_REFUSED(eg_metrics_wer(m, "w", "a", NULL), EG_EINVAL, "a reference");
    EGT_REFUSED(eg_metrics_bleu_ids(m, "i", eg_zeros(EG_SHAPE(2, 3), EG_I64), eg_zeros(EG_SHAPE(3, 3), EG_I64)),
                EG_ESHAPE, "as many rows");
    EGT_REFUSED(eg_metrics_edits(m, "i", eg_zeros(EG_SCALAR, EG_I64), eg_zeros(EG_SCALAR, EG_I64)), EG_ESHAPE, "[n]");
    EGT_CHECK(isnan(eg_metrics_bleu_score(m, "b", .amount = -1)) && egt_said(EG_EINVAL, "amount"));
    EGT_CHECK(isnan(eg_bleu("a", texts, 0)) && egt_said(EG_EINVAL, "no reference"));
    EGT_EQ(eg_bleu("a", texts, 1, .effective = true), 100);
    EGT_EQ(eg_metrics_bleu_score(m, "b", .effective = true), 100);
    EGT_EQ(eg_metrics_count(m), 1);
    EGT_CHECK(egt_fail_allocations(gather_in_new, NULL) > 0);
    eg_metrics_free(m);
}

/* ---- lower case, and nothing at all ------------------------------------------------------------------- */

static double exact(const char *text, const char *answer)
{
    eg_metrics *m = eg_metrics_new();
    double value = eg_metrics_exact_match(m, "em", text, &answer, 1) ? -1 : eg_metrics_value(m, "em");
    eg_metrics_free(m);
    return value;
}

/* Python: a.lower() == b.lower(). */
EGT(answers_are_compared_in_full_lower_case)
{
    if (exact("\u00c4", "\u00e4") < 0 && egt_said(EG_ENOKERNEL, "")) {
        egt_skip("built without utf8proc");
    }
    static const struct {
        const char *a, *b;
        double same;
    } cases[] = {
        {"\u0130", "i", 0}, /* a capital I with a dot is two characters */
        {"\u0130", "i\u0307", 1},
        {"STRASSE", "stra\u00dfe", 0},       /* lower case, not case folding */
        {"STRA\u1e9eE", "stra\u00dfe", 1},   /* capital sharp s */
        {"\u039f\u03a3", "\u03bf\u03c2", 1}, /* a sigma at the end */
        {"\u039f\u03a3", "\u03bf\u03c3", 0},
        {"\u03a3\u039f", "\u03c3\u03bf", 1},                         /* at the begin */
        {"\u03a3", "\u03c3", 1},                                     /* alone */
        {"\u039f\u03a3\u0301\u039f", "\u03bf\u03c3\u0301\u03bf", 1}, /* marks do not end a word */
        {"\u039f\u03a3 \u039f", "\u03bf\u03c2 \u03bf", 1},
        {"\u039f'\u03a3", "\u03bf\u03c2", 1},
        {"\u212a", "k", 1},      /* Kelvin */
        {"\u01c5", "\u01c6", 1}, /* title case */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(egt_case, sizeof egt_case, "lower_%zu", i);
        EGT_EQ(exact(cases[i].a, cases[i].b), cases[i].same);
    }
    eg_metrics *m = eg_metrics_new();
    static const char *const reference[] = {"i x"};
    EGT_OK(eg_metrics_rouge(m, "r", "\u0130 X", reference, 1, .order = 1));
    EGT_EQ(eg_metrics_value(m, "r"), 1);
    EGT_OK(eg_metrics_rouge(m, "k", "10 \u212aa", (const char *const[]){"10 ka"}, 1));
    EGT_EQ(eg_metrics_value(m, "k"), 1);
    eg_metrics_free(m);
    eg_tensor *t = eg_text_normalise(eg_text("\u0130\u039f\u03a3."), .lower = true);
    EGT_CHECK(eg_numel(t) == 8 && !memcmp(eg_data(t), "i\u0307\u03bf\u03c2.", 8));
}

/* sacrebleu 2.6, jiwer 4.0, rouge-score 0.1.2, SQuAD's script. */
EGT(metrics_of_nothing)
{
    static const char *const none[] = {""}, *const word[] = {"a"}, *const article[] = {"the"};
    static const eg_bleu_smoothing ways[] = {EG_SMOOTH_EXP, EG_SMOOTH_FLOOR, EG_SMOOTH_ADD, EG_SMOOTH_NONE};
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 2; k++) {
            EGT_EQ(eg_bleu("", none, 1, .smoothing = ways[i], .effective = k), 0);
            EGT_EQ(eg_bleu("", word, 1, .smoothing = ways[i], .effective = k), 0);
            EGT_EQ(eg_bleu("a", none, 1, .smoothing = ways[i], .effective = k), 0);
        }
    }
    eg_metrics *m = eg_metrics_new();
    eg_tensor *nothing = eg_zeros(EG_SHAPE(0), EG_I64), *two = eg_zeros(EG_SHAPE(2), EG_I64);
    EGT_OK(eg_metrics_bleu(m, "bleu", "", none, 1));
    EGT_OK(eg_metrics_bleu_ids(m, "bleu_ids", nothing, nothing));
    EGT_OK(eg_metrics_rouge(m, "rouge", "", none, 1));
    EGT_OK(eg_metrics_wer(m, "wer", "", ""));
    EGT_OK(eg_metrics_cer(m, "cer", "", ""));
    EGT_OK(eg_metrics_edits(m, "edits", nothing, nothing));
    static const char *const names[] = {"bleu", "bleu_ids", "rouge", "wer", "cer", "edits"};
    for (int i = 0; i < 6; i++) {
        EGT_EQ(eg_metrics_value(m, names[i]), 0);
    }
    EGT_OK(eg_metrics_wer(m, "wer", "a b", ""));
    EGT_EQ(eg_metrics_value(m, "wer"), 2);
    EGT_OK(eg_metrics_cer(m, "cer", "a b", ""));
    EGT_EQ(eg_metrics_value(m, "cer"), 3);
    EGT_OK(eg_metrics_edits(m, "edits", two, nothing));
    EGT_EQ(eg_metrics_value(m, "edits"), 2);
    EGT_OK(eg_metrics_wer(m, "wer", "a", "a b"));
    EGT_EQ(eg_metrics_value(m, "wer"), 1.5);
    EGT_OK(eg_metrics_answer_f1(m, "f1", "", none, 1));
    EGT_OK(eg_metrics_answer_f1(m, "f1", "", article, 1));
    EGT_OK(eg_metrics_exact_match(m, "em", "an", none, 0));
    EGT_EQ(eg_metrics_value(m, "f1"), 1);
    EGT_EQ(eg_metrics_value(m, "em"), 1);
    eg_metrics_free(m);
}
