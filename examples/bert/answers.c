/* answers.c - see answers.h. */
#define _POSIX_C_SOURCE 200809L
#include "answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 100, BEST_MOST = 64 }; /* spans of a question that are remembered */

/* Tokens of a window. */
typedef struct span {
    int64_t window;
    int32_t begin, end;
    float begin_logit, end_logit;
} span;

/* The likeliest spans of a question, the best first. */
typedef struct found {
    span at[KEPT];
    int count;
} found;

struct answers {
    const windows *w;
    answers_options o;
    found *of; /* of each question */
};

answers *answers_new(const windows *w, const answers_options *o)
{
    answers *a = calloc(1, sizeof *a);
    if (a) {
        *a = (answers){.w = w, .o = *o, .of = calloc((size_t)w->question_count + 1, sizeof *a->of)};
    }
    if (!a || !a->of) {
        free(a);
        eg_fail(EG_ENOMEM, "bert", "out of memory for the answers");
        return NULL;
    }
    return a;
}

void answers_free(answers *a)
{
    if (a) {
        free(a->of);
        free(a);
    }
}

/* ---- spans of a window --------------------------------------------------------------------------- */

/* How much of the passage stands around a token in a window: the less of both sides, and a little for its length. */
static double surroundings(const window *x, int64_t token)
{
    const int64_t in_front = token - x->first, behind = x->used - 1 - token;
    return (double)(in_front < behind ? in_front : behind) + 0.01 * (double)(x->used - x->first);
}

/* Whether no other window of the question shows more around a token; windows of a question stand together. */
static bool is_best_view(const windows *w, int64_t at, int64_t token)
{
    const window *x = &w->at[at];
    const int32_t *place = w->offsets + 2 * (at * w->length + token);
    const double mine = surroundings(x, token);
    for (int direction = -1; direction <= 1; direction += 2) {
        for (int64_t i = at + direction; i >= 0 && i < w->count && w->at[i].question == x->question; i += direction) {
            const int32_t *offsets = w->offsets + 2 * i * w->length;
            for (int64_t t = w->at[i].first; t < w->at[i].used; t++) {
                const bool same = offsets[2 * t] == place[0] && offsets[2 * t + 1] == place[1];
                const double theirs = same ? surroundings(&w->at[i], t) : -1;
                if (theirs > mine || (theirs >= mine && i < at)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static double worth(const span *s)
{
    return (double)s->begin_logit + (double)s->end_logit;
}

static void keep(found *f, const span *s)
{
    if (f->count == KEPT && worth(&f->at[KEPT - 1]) >= worth(s)) {
        return;
    }
    int at = f->count < KEPT ? f->count++ : KEPT - 1;
    for (; at > 0 && worth(&f->at[at - 1]) < worth(s); at--) {
        f->at[at] = f->at[at - 1];
    }
    f->at[at] = *s;
}

/* The tokens with the highest logits, every second number. */
static int best_of(const float *logits, int64_t n, int most, int64_t *to)
{
    int count = 0;
    for (int64_t i = 0; i < n; i++) {
        int at = count < most ? count++ : most;
        for (; at > 0 && logits[2 * to[at - 1]] < logits[2 * i]; at--) {
            if (at < most) {
                to[at] = to[at - 1];
            }
        }
        if (at < most) {
            to[at] = i;
        }
    }
    return count;
}

static void add_window(answers *a, int64_t at, const float *logits)
{
    const windows *w = a->w;
    const window *x = &w->at[at];
    int64_t begins[BEST_MOST], ends[BEST_MOST];
    const int most = (int)(a->o.best < BEST_MOST ? a->o.best : BEST_MOST);
    const int m = best_of(logits, w->length, most, begins), n = best_of(logits + 1, w->length, most, ends);
    for (int i = 0; i < m; i++) {
        const int64_t b = begins[i];
        if (b < x->first || b >= x->used || !x->first || !is_best_view(w, at, b)) {
            continue;
        }
        for (int k = 0; k < n; k++) {
            const int64_t e = ends[k];
            if (e >= b && e < x->used && e - b < a->o.longest) {
                keep(&a->of[x->question], &(span){at, (int32_t)b, (int32_t)e, logits[2 * b], logits[2 * e + 1]});
            }
        }
    }
}

eg_status answers_add(answers *a, eg_tensor *numbers, eg_tensor *logits)
{
    numbers = eg_to(numbers, eg_cpu());
    logits = eg_contiguous(eg_to(eg_cast(logits, EG_F32), eg_cpu()));
    if (!numbers || !logits) {
        return eg_last_error()->code;
    }
    const float *p = eg_data(logits);
    for (int64_t i = 0; i < eg_numel(numbers); i++) {
        add_window(a, (int64_t)eg_get(numbers, i), p + 2 * i * a->w->length);
    }
    return EG_OK;
}

/* ---- texts --------------------------------------------------------------------------------------- */

/* The bytes of the passage that a span stands for. */
static const char *text_of(const windows *w, const span *s, size_t *bytes)
{
    const int32_t *offsets = w->offsets + 2 * s->window * w->length;
    const int32_t from = offsets[2 * s->begin], to = offsets[2 * s->end + 1];
    const char *text = eg_data(w->questions[w->at[s->window].question].context);
    *bytes = to > from ? (size_t)(to - from) : 0;
    return *bytes ? text + from : "";
}

/* The best of a question, "" if there is none, for free(). */
static char *answer_of(const answers *a, int64_t number)
{
    size_t bytes = 0;
    const found *f = &a->of[number];
    const char *text = f->count ? text_of(a->w, &f->at[0], &bytes) : "";
    return strndup(text, bytes);
}

static char *string_of(const eg_tensor *t, int64_t from, int64_t bytes)
{
    return strndup(bytes ? (const char *)eg_data(t) + from : "", (size_t)bytes);
}

/* ---- scores -------------------------------------------------------------------------------------- */

enum { ANSWERS_MOST = 64 };

static eg_status score_one(const answers *a, eg_metrics *m, int64_t number)
{
    const eg_tensor *all = a->w->questions[number].answers;
    const int64_t bytes = eg_size(all, 1);
    char *known[ANSWERS_MOST], *said = answer_of(a, number);
    int count = 0;
    bool whole = said != NULL;
    while (whole && count < eg_size(all, 0) && count < ANSWERS_MOST) {
        known[count] = string_of(all, count * bytes, bytes);
        whole = known[count] != NULL;
        count += whole;
    }
    eg_status st = whole ? EG_OK : eg_fail(EG_ENOMEM, "bert", "out of memory for an answer");
    st = st ? st : eg_metrics_exact_match(m, "exact", said, (const char *const *)known, count);
    st = st ? st : eg_metrics_answer_f1(m, "f1", said, (const char *const *)known, count);
    while (count) {
        free(known[--count]);
    }
    free(said);
    return st;
}

scores answers_score(const answers *a)
{
    scores s = {EG_OK, NAN, NAN};
    eg_metrics *m = eg_metrics_new();
    s.st = m ? EG_OK : eg_last_error()->code;
    for (int64_t i = 0; i < a->w->question_count && !s.st; i++) {
        s.st = score_one(a, m, i);
    }
    if (!s.st) {
        s.exact = 100 * eg_metrics_value(m, "exact");
        s.f1 = 100 * eg_metrics_value(m, "f1");
    }
    eg_metrics_free(m);
    return s;
}

/* ---- files --------------------------------------------------------------------------------------- */

static bool is_new(const answers *a, const found *f, int at)
{
    size_t bytes, others;
    const char *text = text_of(a->w, &f->at[at], &bytes);
    for (int i = 0; i < at; i++) {
        const char *other = text_of(a->w, &f->at[i], &others);
        if (bytes == others && memcmp(text, other, bytes) == 0) {
            return false;
        }
    }
    return true;
}

/* The numbers in `at` of spans with texts of their own, the best first. */
static int different(const answers *a, const found *f, int at[BEST_MOST])
{
    int n = 0;
    for (int i = 0; i < f->count && n < a->o.best && n < BEST_MOST; i++) {
        if (is_new(a, f, i)) {
            at[n++] = i;
        }
    }
    return n;
}

static eg_status add_best(const answers *a, eg_json *list, const found *f)
{
    int at[BEST_MOST];
    const int n = different(a, f, at);
    double sum = 0;
    eg_status st = EG_OK;
    for (int i = 0; i < n; i++) {
        sum += exp(worth(&f->at[at[i]]) - worth(&f->at[at[0]]));
    }
    for (int i = 0; i < n && !st; i++) {
        const span *s = &f->at[at[i]];
        size_t bytes;
        const char *text = text_of(a->w, s, &bytes);
        eg_json *one = eg_json_add_object(list, NULL);
        st = one ? eg_json_add_text(one, "text", text, bytes) : eg_last_error()->code;
        st = st ? st : eg_json_add_number(one, "probability", exp(worth(s) - worth(&f->at[at[0]])) / sum);
        st = st ? st : eg_json_add_number(one, "start_logit", s->begin_logit);
        st = st ? st : eg_json_add_number(one, "end_logit", s->end_logit);
    }
    return st;
}

eg_status answers_write(const answers *a, eg_run *run)
{
    eg_json *said = eg_json_object(), *best = said ? eg_json_object() : NULL;
    eg_status st = best ? EG_OK : eg_last_error()->code;
    for (int64_t i = 0; i < a->w->question_count && !st; i++) {
        const eg_tensor *id = a->w->questions[i].id;
        char *key = string_of(id, 0, eg_numel(id)), *text = key ? answer_of(a, i) : NULL;
        st = text ? eg_json_add_text(said, key, text, strlen(text))
                  : eg_fail(EG_ENOMEM, "bert", "out of memory for an answer");
        eg_json *list = st ? NULL : eg_json_add_array(best, key);
        st = st ? st : list ? add_best(a, list, &a->of[i]) : eg_last_error()->code;
        free(key);
        free(text);
    }
    st = st ? st : eg_json_save(said, eg_run_path(run, "predictions.json").text, .indent = 4);
    st = st ? st : eg_json_save(best, eg_run_path(run, "nbest_predictions.json").text, .indent = 4);
    eg_json_free(said);
    eg_json_free(best);
    return st;
}
