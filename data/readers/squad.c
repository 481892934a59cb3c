/* squad.c - questions about texts, and their answers. */
#include <egret/data/corpora.h>
#include <egret/json.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/chain/dataset.h"
#include "lib/core/counted.h"
#include "data/readers/bytes.h"
#include "lib/io/file.h"

typedef struct question {
    const eg_json *paragraph, *itself;
    int64_t article, in_article, in_paragraph; /* for words */
} question;

typedef struct squad {
    eg_dataset d;
    char *path;
    eg_json *file;
    question *all;
    uint32_t count, room;
    int64_t at;
} squad;

static const char op[] = "eg_squad_new";

/* ---- what is where -------------------------------------------------------------------------- */

static eg_status bad(const char *path, const question *q, const char *format, ...)
{
    char words[100];
    const size_t n = strlen(path);
    va_list ap;
    va_start(ap, format);
    vsnprintf(words, sizeof words, format, ap);
    va_end(ap);
    return eg__fail(EG_EFORMAT, op, "%s%s: data[%lld].paragraphs[%lld].qas[%lld]: %s", n > 60 ? "..." : "",
                    path + (n > 60 ? n - 57 : 0), (long long)q->article, (long long)q->in_article,
                    (long long)q->in_paragraph, words);
}

/* The list under a key of an object; NULL, in words, if there is none. */
static const eg_json *list_of(const squad *s, const question *q, const eg_json *j, const char *key)
{
    const eg_json *list = eg_json_get(j, key);
    if (!list || eg_json_kind_of(list) != EG_JSON_ARRAY) {
        bad(s->path, q, "no list \"%s\"", key);
        return NULL;
    }
    return list;
}

static const char *text_of(const squad *s, const question *q, const eg_json *j, const char *key, size_t *bytes)
{
    const eg_json *text = eg_json_get(j, key);
    if (!text || eg_json_kind_of(text) != EG_JSON_TEXT) {
        bad(s->path, q, "no text \"%s\"", key);
        return NULL;
    }
    return eg_json_text(text, bytes);
}

static eg_status add_paragraph(squad *s, question *q)
{
    const eg_json *questions = list_of(s, q, q->paragraph, "qas");
    for (q->in_paragraph = 0; questions && q->in_paragraph < eg_json_count(questions); q->in_paragraph++) {
        q->itself = eg_json_at(questions, q->in_paragraph);
        if (s->count == s->room && !eg__counted_grow(&s->all, &s->room, sizeof *s->all)) {
            return eg__no_memory(op, (int64_t)s->count * (int64_t)sizeof *s->all);
        }
        s->all[s->count++] = *q;
    }
    q->in_paragraph = 0;
    return questions ? EG_OK : eg__why();
}

static eg_status find_questions(squad *s)
{
    question q = {0};
    const eg_json *articles = list_of(s, &q, s->file, "data");
    eg_status st = articles ? EG_OK : eg__why();
    for (; !st && q.article < eg_json_count(articles); q.article++) {
        const eg_json *paragraphs = list_of(s, &q, eg_json_at(articles, q.article), "paragraphs");
        st = paragraphs ? EG_OK : eg__why();
        for (q.in_article = 0; !st && q.in_article < eg_json_count(paragraphs); q.in_article++) {
            q.paragraph = eg_json_at(paragraphs, q.in_article);
            st = add_paragraph(s, &q);
        }
        q.in_article = 0;
    }
    return st;
}

/* ---- a question ----------------------------------------------------------------------------- */

/* Where a text stands that begins at a character, in bytes; -1: it does not. */
static int64_t place_of(const char *context, int64_t n, int64_t character, const char *text, int64_t bytes)
{
    int64_t at = 0;
    for (; character > 0 && at < n; character--) {
        at += eg__utf8_length(context + at, n - at);
    }
    return character == 0 && bytes <= n - at && !memcmp(context + at, text, (size_t)bytes) ? at : -1;
}

static eg_status read_answer(const squad *s, const question *q, const eg_json *answer, eg_tensor *context, int64_t *at,
                             const char **text, size_t *bytes)
{
    const eg_json *start = eg_json_get(answer, "answer_start");
    int64_t character = -1;
    *text = text_of(s, q, answer, "text", bytes);
    if (!*text) {
        return eg__why();
    }
    if (!start || !eg_json_is_integer(start) || eg_json_integer(start, &character)) {
        return bad(s->path, q, "no integer \"answer_start\"");
    }
    *at = place_of((const char *)eg__ptr(context), context->n, character, *text, (int64_t)*bytes);
    return EG_OK;
}

/* out: places and texts. */
static eg_status make_answers(const squad *s, const question *q, eg_tensor *context, eg_tensor **out)
{
    const eg_json *impossible = eg_json_get(q->itself, "is_impossible");
    const bool none = impossible && eg_json_kind_of(impossible) == EG_JSON_BOOL && eg_json_bool(impossible);
    const eg_json *answers = list_of(s, q, q->itself, "answers");
    const int64_t n = none ? 0 : eg_json_count(answers);
    const char *text;
    size_t bytes, longest = 0;
    eg_status st = answers ? EG_OK : eg__why();
    out[0] = st ? NULL : eg__empty_on(0, EG_SHAPE(n), EG_I64);
    st = out[0] ? EG_OK : eg__why();
    for (int64_t i = 0; i < n && !st; i++) {
        st = read_answer(s, q, eg_json_at(answers, i), context, (int64_t *)eg__ptr(out[0]) + i, &text, &bytes);
        longest = !st && bytes > longest ? bytes : longest;
    }
    out[1] = st ? NULL : eg__full_on(0, EG_SHAPE(n, (int64_t)longest), 0, EG_U8);
    st = st ? st : out[1] ? EG_OK : eg__why();
    for (int64_t i = 0; i < n && !st; i++) {
        text = text_of(s, q, eg_json_at(answers, i), "text", &bytes);
        memcpy((char *)eg__ptr(out[1]) + (size_t)i * longest, text, bytes);
    }
    return st;
}

static eg_status make_sample(const squad *s, const question *q, eg_tensor **t)
{
    const eg_json *of[] = {q->itself, q->paragraph, q->itself};
    static const char *const keys[] = {"id", "context", "question"};
    eg_status st = EG_OK;
    for (int k = 0; k < 3 && !st; k++) {
        size_t bytes = 0;
        const char *text = text_of(s, q, of[k], keys[k], &bytes);
        t[k] = text ? eg__bytes_tensor(text, (int64_t)bytes) : NULL;
        st = t[k] ? EG_OK : eg__why();
    }
    return st ? st : make_answers(s, q, t[1], t + 3);
}

static eg_status squad_next(eg_dataset *d, eg__sample *out)
{
    squad *s = (squad *)d;
    eg_tensor *t[5];
    if (s->at == s->count) {
        return EG_OK;
    }
    out->at = s->at;
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? make_sample(s, &s->all[s->at], t) : eg__why();
    s->at++;
    st = st ? st : eg__sample_keep(op, out, t, 5);
    eg_scope_pop(scope, NULL);
    return st;
}

/* ---- the dataset ---------------------------------------------------------------------------- */

static eg_status squad_start(eg_dataset *d, uint64_t epoch)
{
    (void)epoch;
    ((squad *)d)->at = 0;
    return EG_OK;
}

static eg_status squad_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    squad *s = (squad *)d;
    *done = eg__min(n, s->count - s->at);
    s->at += *done;
    return EG_OK;
}

static int64_t squad_count(const eg_dataset *d)
{
    return ((const squad *)d)->count;
}

static void squad_free(eg_dataset *d)
{
    squad *s = (squad *)d;
    eg_json_free(s->file);
    eg__counted_free(s->all);
    free(s->path);
}

static const eg__dataset_class squad_class = {
    .name = op, .start = squad_start, .next = squad_next, .skip = squad_skip, .count = squad_count, .free = squad_free};

eg_dataset *eg_squad_new(const char *path)
{
    squad *s = path ? (squad *)eg__dataset_new(&squad_class, sizeof *s, NULL) : NULL;
    if (!s) {
        return path ? NULL : (eg__null_argument(op, "path"), NULL);
    }
    s->path = eg__malloc(strlen(path) + 1);
    eg_status st = s->path ? EG_OK : eg__no_memory(op, (int64_t)strlen(path));
    s->file = st ? NULL : eg_json_load(strcpy(s->path, path));
    st = st ? st : s->file ? find_questions(s) : eg__why();
    if (st) {
        eg_dataset_free(&s->d);
    }
    return st ? NULL : &s->d;
}
