/* vocabulary.c - words as numbers. */
#include <stdlib.h>

#include "data/readers/stream.h"
#include "data/text/text.h"
#include "data/text/word_table.h"
#include "lib/core/counted.h"
#include "lib/core/device.h"
#include "lib/core/live.h"

struct eg_word_counts {
    eg__words words;
};

struct eg_vocabulary {
    eg__words words;
};

/* ---- counting ------------------------------------------------------------------------------- */

eg_word_counts *eg_word_counts_new(void)
{
    eg_word_counts *c = eg__handle_new(sizeof *c);
    if (!c) {
        return eg__no_memory("eg_word_counts_new", (int64_t)sizeof *c), NULL;
    }
    return c;
}

void eg_word_counts_free(eg_word_counts *c)
{
    if (eg__handle_ends(c, "eg_word_counts_free")) {
        eg__words_free(&c->words);
        free(c);
    }
}

int64_t eg_word_counts_size(const eg_word_counts *c)
{
    return c ? c->words.n : 0;
}

/* Calls f for each word of a text; it fails with EG_ENOMEM only. After a failure `undo` gets the bytes of the
 * words that f has taken; it may be NULL. */
static eg_status each_word(const char *op, eg_tensor *text, bool (*f)(void *ctx, const uint8_t *s, int64_t n),
                           void (*undo)(void *ctx, const uint8_t *s, int64_t size), void *ctx)
{
    eg_scope scope = eg_scope_push();
    eg_tensor *t = scope.depth ? eg__text_check(op, text) : NULL;
    eg_status st = t ? EG_OK : eg__why();
    const uint8_t *s = t ? (const uint8_t *)eg__ptr(t) : NULL;
    for (int64_t at = 0, n = 0, taken = 0; !st; taken = at += n) {
        st = eg__next_word(op, s, t->n, &at, &n);
        if (!st && !n) {
            break;
        }
        st = st ? st : f(ctx, s + at, n) ? EG_OK : eg__no_memory(op, n);
        if (st && undo) {
            undo(ctx, s, taken);
        }
    }
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return st;
}

static bool count_word(void *ctx, const uint8_t *s, int64_t n)
{
    eg__words *w = ctx;
    int64_t i = eg__words_add(w, s, n);
    if (i >= 0) {
        w->word[i].count++;
    }
    return i >= 0;
}

static void uncount_words(void *ctx, const uint8_t *s, int64_t size)
{
    eg__words *w = ctx;
    int64_t at = 0, n = 0;
    while (!eg__next_word("", s, size, &at, &n) && n) {
        w->word[eg__words_find(w, s + at, n)].count--;
        at += n;
    }
    uint32_t known = w->n;
    while (known && !w->word[known - 1].count) {
        known--;
    }
    eg__words_cut(w, known);
}

eg_status eg_word_counts_add(eg_word_counts *c, eg_tensor *text)
{
    static const char op[] = "eg_word_counts_add";
    return c ? each_word(op, text, count_word, uncount_words, &c->words) : eg__null_argument(op, "c");
}

/* ---- choosing ------------------------------------------------------------------------------- */

typedef struct candidate {
    const char *text;
    int64_t count, number;
} candidate;

static int by_count(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : (x->number > y->number) * 2 - 1;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const candidate *)a)->text, ((const candidate *)b)->text);
}

static const char making[] = "eg_vocabulary_new";

static eg_status add_reserved(eg__words *w, const eg_vocabulary_options *o)
{
    for (int64_t i = 0; i < o->reserved_count; i++) {
        const char *s = o->reserved ? o->reserved[i] : NULL;
        int64_t at = 0, n = 0, size = s ? (int64_t)strlen(s) : 0;
        if (!s) {
            return eg__null_argument(making, "a reserved word");
        }
        eg_status st = eg__next_word(making, (const uint8_t *)s, size, &at, &n);
        if (st || !size || n != size || eg__words_find(w, s, size) >= 0) {
            return st ? st
                      : eg__fail(EG_EINVAL, making, "reserved word %lld, \"%.60s\", is %s", (long long)i, s,
                                 !size       ? "empty"
                                 : n != size ? "several words"
                                             : "there twice");
        }
        if (eg__words_add(w, s, size) < 0) {
            return eg__no_memory(making, size);
        }
    }
    return EG_OK;
}

static eg_status choose(eg__words *w, const eg__words *from, const eg_vocabulary_options *o)
{
    int64_t most = o->max_size - w->n, n = 0;
    candidate *c = eg__counted_alloc(((size_t)from->n + 1) * sizeof *c);
    if (!c) {
        return eg__no_memory(making, from->n);
    }
    for (int64_t i = 0; i < from->n; i++) {
        const eg__word *x = &from->word[i];
        const char *s = eg__words_text(from, i);
        if (x->count >= o->min_count && eg__words_find(w, s, x->bytes) < 0) {
            c[n++] = (candidate){s, x->count, i};
        }
    }
    if (n) {
        qsort(c, (size_t)n, sizeof *c, by_count);
    }
    n = eg__min(n, most);
    if (o->sorted && n) {
        qsort(c, (size_t)n, sizeof *c, by_text);
    }
    eg_status st = EG_OK;
    for (int64_t i = 0; i < n && !st; i++) {
        int64_t bytes = from->word[c[i].number].bytes;
        st = eg__words_add(w, c[i].text, bytes) < 0 ? eg__no_memory(making, bytes) : EG_OK;
    }
    eg__counted_free(c);
    return st;
}

static eg_vocabulary *new_vocabulary(const char *op)
{
    eg_vocabulary *v = eg__handle_new(sizeof *v);
    if (!v) {
        return eg__no_memory(op, (int64_t)sizeof *v), NULL;
    }
    return v;
}

eg_vocabulary *eg_vocabulary_new_with(const eg_word_counts *counts, const eg_vocabulary_options *options)
{
    eg_vocabulary_options o;
    eg__options(&o, sizeof o, options);
    o.max_size = eg__or_count(o.max_size, INT64_MAX);
    if (!counts) {
        return eg__null_argument(making, "counts"), NULL;
    }
    if (o.reserved_count < 0 || o.max_size < o.reserved_count || o.min_count < 0) {
        return eg__fail_null(EG_EINVAL, making, "max_size is %lld, reserved_count %lld, min_count %lld",
                             (long long)o.max_size, (long long)o.reserved_count, (long long)o.min_count);
    }
    eg_vocabulary *v = new_vocabulary(making);
    if (v && (add_reserved(&v->words, &o) || choose(&v->words, &counts->words, &o))) {
        eg_vocabulary_free(v);
        return NULL;
    }
    return v;
}

void eg_vocabulary_free(eg_vocabulary *v)
{
    if (eg__handle_ends(v, "eg_vocabulary_free")) {
        eg__words_free(&v->words);
        free(v);
    }
}

/* ---- files ---------------------------------------------------------------------------------- */

enum { MOST_WORD = 100000000 };

static eg_status read_word(eg_vocabulary *v, eg__stream *s, eg__bytes *line, int64_t at)
{
    const char *wrong = !line->n                                           ? "is empty"
                        : memchr(line->p, 0, (size_t)line->n)              ? "holds a 0"
                        : eg__words_find(&v->words, line->p, line->n) >= 0 ? "is there twice"
                                                                           : NULL;
    for (int64_t i = 0, n; i < line->n && !wrong; i += n) {
        n = eg__utf8_length((const char *)line->p + i, line->n - i);
        wrong = n ? NULL : "is no UTF-8";
    }
    if (wrong) {
        return eg__stream_bad(s, at, "line %u, \"%.60s\", %s", v->words.n + 1, line->p, wrong);
    }
    return eg__words_add(&v->words, line->p, line->n) < 0 ? eg__no_memory(s->source.op, line->n) : EG_OK;
}

eg_vocabulary *eg_vocabulary_load(const char *path)
{
    static const char op[] = "eg_vocabulary_load";
    eg__stream s;
    eg__bytes line = {0};
    bool more = true;
    if (eg__stream_open(&s, op, path, EG_COMPRESSION_AUTO)) {
        return NULL;
    }
    s.whole = true;
    eg_vocabulary *v = new_vocabulary(op);
    eg_status st = v ? EG_OK : eg__why();
    while (!st && more) {
        int64_t at = s.offset;
        st = eg__stream_line(&s, &line, MOST_WORD, &more);
        if (!st && more) {
            st = read_word(v, &s, &line, at);
        }
    }
    eg__stream_close(&s);
    eg__bytes_free(&line);
    if (st) {
        eg_vocabulary_free(v);
    }
    return st ? NULL : v;
}

eg_status eg_vocabulary_save(const eg_vocabulary *v, const char *path)
{
    static const char op[] = "eg_vocabulary_save";
    eg__bytes out = {0};
    eg_status st = v ? EG_OK : eg__null_argument(op, "v");
    for (int64_t i = 0; !st && i < v->words.n; i++) {
        const char *s = eg__words_text(&v->words, i);
        int64_t n = v->words.word[i].bytes;
        if (strcspn(s, "\r\n") != (size_t)n) {
            st = eg__fail(EG_EINVAL, op, "word %lld holds a line's end or a 0", (long long)i);
        } else if (!eg__bytes_add(&out, s, n) || !eg__bytes_add(&out, "\n", 1)) {
            st = eg__no_memory(op, out.n);
        }
    }
    st = st ? st : eg__file_write(op, path, out.p, (size_t)out.n);
    eg__bytes_free(&out);
    return st;
}

/* ---- both ways ------------------------------------------------------------------------------ */

int64_t eg_vocabulary_size(const eg_vocabulary *v)
{
    return v ? v->words.n : 0;
}

int64_t eg_vocabulary_id(const eg_vocabulary *v, const char *word, size_t bytes)
{
    return v && word && bytes <= INT32_MAX ? eg__words_find(&v->words, word, (int64_t)bytes) : -1;
}

const char *eg_vocabulary_word(const eg_vocabulary *v, int64_t id)
{
    static const char op[] = "eg_vocabulary_word";
    if (!v) {
        return eg__null_argument(op, "v"), NULL;
    }
    if (id < 0 || id >= v->words.n) {
        return eg__fail_null(EG_EINDEX, op, "word %lld of %u", (long long)id, v->words.n);
    }
    return eg__words_text(&v->words, id);
}

typedef struct encoding {
    const eg__words *words;
    int64_t unknown;
    eg__bytes ids;
} encoding;

static bool encode_word(void *ctx, const uint8_t *s, int64_t n)
{
    encoding *e = ctx;
    int64_t id = eg__words_find(e->words, s, n);
    id = id < 0 ? e->unknown : id;
    return id < 0 || eg__bytes_add(&e->ids, &id, sizeof id);
}

eg_tensor *eg_vocabulary_encode(const eg_vocabulary *v, eg_tensor *text, int64_t unknown)
{
    static const char op[] = "eg_vocabulary_encode";
    if (!v) {
        return eg__null_argument(op, "v"), NULL;
    }
    encoding e = {.words = &v->words, .unknown = unknown};
    eg_tensor *t = NULL;
    if (!each_word(op, text, encode_word, NULL, &e)) {
        t = eg__empty_on(0, EG_SHAPE(e.ids.n / 8), EG_I64);
    }
    if (t && e.ids.n) {
        memcpy(eg__ptr(t), e.ids.p, (size_t)e.ids.n);
    }
    eg__bytes_free(&e.ids);
    return t;
}

static eg_status join_words(const char *op, const eg__words *w, const eg_tensor *ids, eg__bytes *out)
{
    for (int64_t i = 0; i < ids->n; i++) {
        int64_t id = eg__load_int(eg__ptr(ids), ids->dtype, i);
        if (id < 0 || id >= w->n) {
            return eg__fail(EG_EINDEX, op, "ids[%lld] is %lld, there are %u words", (long long)i, (long long)id, w->n);
        }
        if ((i && !eg__bytes_add(out, " ", 1)) || !eg__bytes_add(out, eg__words_text(w, id), w->word[id].bytes)) {
            return eg__no_memory(op, out->n);
        }
    }
    return EG_OK;
}

eg_tensor *eg_vocabulary_decode(const eg_vocabulary *v, eg_tensor *ids)
{
    static const char op[] = "eg_vocabulary_decode";
    eg__bytes out = {0};
    if (!v || eg__check(ids, op, "ids")) {
        return v ? NULL : (eg__null_argument(op, "v"), NULL);
    }
    if (ids->ndim != 1 || !(EG__INTS >> ids->dtype & 1)) {
        return eg__fail_null(EG_ESHAPE, op, "ids are integers [n], not %s %s", eg_dtype_name((eg_dtype)ids->dtype),
                             EG__SHAPE_OF(ids));
    }
    eg_scope scope = eg_scope_push();
    eg_tensor *packed = scope.depth ? eg_contiguous(eg_detach(ids)) : NULL, *t = NULL;
    const eg_tensor *dense = packed ? eg__on_host(packed, op) : NULL;
    if (dense && !join_words(op, &v->words, dense, &out)) {
        t = eg__bytes_tensor(out.p, out.n);
    }
    eg__bytes_free(&out);
    return scope.depth ? eg_scope_pop(scope, t) : NULL;
}
