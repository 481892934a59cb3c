/* subtokens.c - the subtokens of tensor2tensor: learned, read, written. */
#include <stdlib.h>

#include "data/readers/stream.h"
#include "data/text/text.h"
#include "data/text/word_table.h"
#include "data/tokens/tokens.h"
#include "lib/io/file.h"

enum { PASSES = 4, LEAST_COUNT = 1, MOST_COUNT = 1000, RESERVED = 2 };
static const char *const reserved[RESERVED] = {"<pad>", "<EOS>"};
static const char escapes[] = "\\_u;0123456789";

/* ---- a tokenizer of a list ------------------------------------------------------------------------------ */

static eg_status finish(const char *op, eg_tokenizer *t)
{
    eg_status st = eg__model_trie(op, t);
    eg__step *split = st ? NULL : eg__steps_add(op, &t->split);
    eg__step *decode = split ? eg__steps_add(op, &t->decode) : NULL;
    if (!decode) {
        return st ? st : eg__why();
    }
    split->pass = eg__split_alike;
    decode->decode = eg__decode_subtokens;
    t->model.kind = EG__SUBTOKENS;
    t->model.run = eg__model_subtokens;
    for (int i = 0; i < RESERVED && !st; i++) {
        const int64_t n = (int64_t)strlen(reserved[i]);
        if (eg__trie_find(&t->model.trie, reserved[i], n) != i) {
            st = eg__fail(EG_EFORMAT, op, "subtokens begin with %s and %s", reserved[0], reserved[1]);
        }
    }
    t->names[EG_SPECIAL_PAD] = 0;
    t->names[EG_SPECIAL_EOS] = 1;
    return st ? st : eg__tokenizer_finish(op, t);
}

static eg_tokenizer *made(const char *op, eg_tokenizer *t, eg_status st)
{
    st = st ? st : finish(op, t);
    if (st) {
        eg_tokenizer_free(t);
    }
    return st ? NULL : t;
}

/* A line each, in quotes. */
eg_tokenizer *eg__tokenizer_of_subtokens(const char *op, const void *data, int64_t bytes)
{
    const char *s = data;
    eg_tokenizer *t = eg__tokenizer_new(op);
    eg_status st = EG_OK;
    int64_t id = 0;
    for (int64_t at = 0, end; t && at < bytes && !st; at = end + 1) {
        const char *newline = memchr(s + at, '\n', (size_t)(bytes - at));
        end = newline ? newline - s : bytes;
        int64_t n = end - at - (end > at && s[end - 1] == '\r');
        const bool quoted = n >= 3 && (s[at] == '\'' || s[at] == '"') && s[at + n - 1] == s[at];
        st = quoted ? eg__vocab_put(&t->vocab, op, id, s + at + 1, n - 2)
                    : eg__fail(EG_EFORMAT, op, "line %lld is no subtoken in quotes", (long long)id + 1);
        id++;
    }
    return t ? made(op, t, st) : NULL;
}

/* ---- counting ---------------------------------------------------------------------------------------------- */

typedef struct learner {
    const char *op;
    eg__words tokens;   /* of the texts */
    eg__words alphabet; /* characters */
    eg__words parts;    /* of tokens, with how often they might be used */
    eg__trie list;      /* the subtokens so far */
    eg__bytes escaped;
} learner;

static bool count(eg__words *w, const void *s, int64_t n, int64_t times)
{
    const int64_t i = eg__words_add(w, s, n);
    if (i >= 0) {
        w->word[i].count += times;
    }
    return i >= 0;
}

static int character_bytes(uint8_t c)
{
    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

static bool count_characters(eg__words *to, const uint8_t *s, int64_t n)
{
    bool good = true;
    for (int64_t i = 0, k; i < n && good; i += k) {
        k = character_bytes(s[i]);
        good = count(to, s + i, k, 1);
    }
    return good;
}

/* The tokens of all texts, and the characters they are of. */
static eg_status count_tokens(learner *l, eg_tokenizer *t, eg_tensor *const *texts, int n)
{
    eg_status st = EG_OK;
    for (int i = 0; i < n && !st; i++) {
        eg_scope scope = eg_scope_push();
        eg_tensor *text = scope.depth ? eg__text_check(l->op, texts[i]) : NULL;
        eg__encoder *w = text ? eg__encoder_take(t) : NULL;
        st = !text ? eg__why() : !w ? eg__no_memory(l->op, (int64_t)sizeof *w) : EG_OK;
        const uint8_t *s = text ? (const uint8_t *)eg__ptr(text) : NULL;
        int64_t from = 0, to = text ? text->n : 0;
        while (from < to && (s[from] == ' ' || (s[from] >= 9 && s[from] <= 13))) {
            from++;
        }
        while (to > from && (s[to - 1] == ' ' || (s[to - 1] >= 9 && s[to - 1] <= 13))) {
            to--;
        }
        if (!st && !eg__utf8((const char *)s + from, to - from)) {
            st = eg__fail(EG_EFORMAT, l->op, "text %d is no UTF-8", i);
        }
        if (!st) {
            eg__line_set(w, s + from, to - from, 0);
            eg__prepare(w, true);
        }
        for (uint32_t k = 0; !st && k < w->pieces.n; k++) {
            const eg__piece p = w->pieces.p[k];
            const bool good = count(&l->tokens, w->line.s + p.begin, p.end - p.begin, 1) &&
                              count_characters(&l->alphabet, w->line.s + p.begin, p.end - p.begin);
            st = good ? EG_OK : eg__no_memory(l->op, l->tokens.text.n);
        }
        st = w && !st && w->st ? eg__fail(w->st, l->op, "%s", w->words) : st;
        eg__encoder_give(w);
        if (scope.depth) {
            eg_scope_pop(scope, NULL);
        }
    }
    for (int i = 0; i < RESERVED && !st; i++) {
        const bool good = count_characters(&l->alphabet, (const uint8_t *)reserved[i], (int64_t)strlen(reserved[i]));
        st = good ? EG_OK : eg__no_memory(l->op, 16);
    }
    return st || count_characters(&l->alphabet, (const uint8_t *)escapes, sizeof escapes - 1)
               ? st
               : eg__no_memory(l->op, 16);
}

/* A token as subtokens are found in it: nothing but "\", "_" and the end of a line is not of the alphabet here. */
static bool escape(learner *l, const char *s, int64_t n)
{
    l->escaped.n = 0;
    bool good = true;
    for (int64_t i = 0; i < n && good; i++) {
        good = s[i] == '_'    ? eg__bytes_add(&l->escaped, "\\u", 2)
               : s[i] == '\\' ? eg__bytes_add(&l->escaped, "\\\\", 2)
               : s[i] == '\n' ? eg__bytes_add(&l->escaped, "\\10;", 4)
                              : eg__bytes_add(&l->escaped, s + i, 1);
    }
    return good && eg__bytes_add(&l->escaped, "_", 1);
}

/* Bytes of the longest subtoken at s. */
static int64_t longest(const eg__trie *of, const uint8_t *s, int64_t n)
{
    int64_t found = character_bytes(s[0]);
    int32_t node = 0;
    for (int64_t k = 0; k < n && (node = eg__trie_step(of, node, s[k])) >= 0; k++) {
        found = of->node[node].value >= 0 ? k + 1 : found;
    }
    return found;
}

/* All that begins where a subtoken does. */
static eg_status count_parts(learner *l)
{
    eg__words_cut(&l->parts, 0);
    for (uint32_t i = 0; i < l->tokens.n; i++) {
        const eg__word *x = &l->tokens.word[i];
        bool good = escape(l, eg__words_text(&l->tokens, i), x->bytes);
        for (int64_t at = 0; at < l->escaped.n && good;) {
            const uint8_t *s = l->escaped.p + at;
            const int64_t left = l->escaped.n - at;
            for (int64_t end = 0; end < left && good;) {
                end += character_bytes(s[end]);
                good = count(&l->parts, s, end, x->count);
            }
            at += longest(&l->list, s, left);
        }
        if (!good) {
            return eg__no_memory(l->op, l->parts.text.n);
        }
    }
    return EG_OK;
}

/* ---- choosing ------------------------------------------------------------------------------------------------- */

typedef struct candidate {
    const uint8_t *s;
    int64_t bytes, characters, count;
} candidate;

static int by_length(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return (x->characters < y->characters) - (x->characters > y->characters);
}

/* Falling counts; of the same count the later in the order of bytes first. */
static int by_count(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->count != y->count) {
        return x->count < y->count ? 1 : -1;
    }
    const int sign = memcmp(x->s, y->s, (size_t)eg__min(x->bytes, y->bytes));
    return sign ? -sign : (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static candidate of_word(const eg__words *w, int64_t i)
{
    candidate c = {(const uint8_t *)eg__words_text(w, i), w->word[i].bytes, 0, w->word[i].count};
    for (int64_t k = 0; k < c.bytes; k++) {
        c.characters += (c.s[k] & 0xc0) != 0x80;
    }
    return c;
}

static bool is_reserved(const candidate *c)
{
    for (int i = 0; i < RESERVED; i++) {
        if (c->bytes == (int64_t)strlen(reserved[i]) && !memcmp(c->s, reserved[i], (size_t)c->bytes)) {
            return true;
        }
    }
    return false;
}

/* Those that are met often enough, longer ones first; what a longer one takes its beginnings lose. */
static eg_status choose(learner *l, int64_t least, candidate **chosen, int64_t *n)
{
    eg__words *w = &l->parts;
    candidate *all = eg__counted_alloc(((size_t)w->n + l->alphabet.n + 1) * sizeof *all);
    int64_t m = 0;
    if (!all) {
        return eg__no_memory(l->op, w->n);
    }
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->word[i].count >= least) {
            all[m++] = of_word(w, i);
        }
    }
    qsort(all, (size_t)m, sizeof *all, by_length);
    *n = 0;
    for (int64_t i = 0; i < m; i++) {
        candidate c = all[i];
        c.count = w->word[eg__words_find(w, c.s, c.bytes)].count;
        if (c.count < least) {
            continue;
        }
        for (int64_t end = 0; (end += character_bytes(c.s[end])) < c.bytes;) {
            w->word[eg__words_find(w, c.s, end)].count -= c.count;
        }
        if (eg__words_find(&l->alphabet, c.s, c.bytes) < 0 && !is_reserved(&c)) {
            all[(*n)++] = c;
        }
    }
    for (uint32_t i = 0; i < l->alphabet.n; i++) {
        candidate c = of_word(&l->alphabet, i);
        const int64_t known = eg__words_find(w, c.s, c.bytes);
        c.count = known >= 0 ? w->word[known].count : 0;
        all[(*n)++] = c;
    }
    qsort(all, (size_t)*n, sizeof *all, by_count);
    *chosen = all;
    return EG_OK;
}

/* The trie of the alphabet alone, or of what was chosen. */
static eg_status relist(learner *l, const candidate *chosen, int64_t n)
{
    eg__trie_key *keys = eg__counted_alloc(((size_t)eg__max(n, l->alphabet.n) + 1) * sizeof *keys);
    int64_t m = 0;
    if (!keys) {
        return eg__no_memory(l->op, n);
    }
    for (int64_t i = 0; i < (chosen ? n : l->alphabet.n); i++) {
        const candidate c = chosen ? chosen[i] : of_word(&l->alphabet, i);
        keys[m++] = (eg__trie_key){c.s, (uint32_t)c.bytes, (int32_t)i};
    }
    eg__trie_free(&l->list);
    eg_status st = eg__trie_build(&l->list, l->op, keys, m);
    eg__counted_free(keys);
    return st;
}

/* Subtokens that are met at least so often, in *chosen. */
static eg_status generate(learner *l, int64_t least, candidate **chosen, int64_t *n)
{
    *chosen = NULL;
    eg_status st = relist(l, NULL, 0);
    for (int pass = 0; pass < PASSES && !st; pass++) {
        eg__counted_free(*chosen);
        *chosen = NULL;
        st = count_parts(l);
        st = st ? st : choose(l, least, chosen, n);
        st = st || pass + 1 == PASSES ? st : relist(l, *chosen, *n);
    }
    return st;
}

/* The list as a tokenizer; its texts are copied. */
static eg_status number(const char *op, eg_tokenizer *t, const candidate *c, int64_t n)
{
    eg_status st = EG_OK;
    for (int i = 0; i < RESERVED && !st; i++) {
        st = eg__vocab_put(&t->vocab, op, i, reserved[i], (int64_t)strlen(reserved[i]));
    }
    for (int64_t i = 0; i < n && !st; i++) {
        st = eg__vocab_put(&t->vocab, op, RESERVED + i, c[i].s, c[i].bytes);
    }
    return st;
}

/* ---- searching ----------------------------------------------------------------------------------------------------
 */

static int64_t away(int64_t n, const eg_subtokens_options *o)
{
    const int64_t d = n + RESERVED - o->vocabulary;
    return d < 0 ? -d : d;
}

/* The smallest count that must be met, by halves between 1 and 1,000, as near to the wanted number as any tried. */
static eg_status search(learner *l, const eg_subtokens_options *o, int64_t *best)
{
    int64_t low = LEAST_COUNT, high = MOST_COUNT, nearest = INT64_MAX;
    for (;;) {
        const int64_t least = (low + high) / 2;
        candidate *c;
        int64_t n = 0;
        eg_status st = generate(l, least, &c, &n);
        eg__counted_free(c);
        if (st) {
            return st;
        }
        if (away(n, o) < nearest) { /* of two as near the one tried first */
            nearest = away(n, o);
            *best = least;
        }
        if (away(n, o) < o->within || low >= high || least < 2) {
            return EG_OK;
        }
        if (n + RESERVED > o->vocabulary) {
            low = least + 1;
        } else {
            high = least - 1;
        }
    }
}

static eg_status learn(learner *l, eg_tokenizer *t, eg_tensor *const *texts, int n, const eg_subtokens_options *o,
                       eg_tokenizer *to)
{
    int64_t least = o->min_count, count = 0;
    candidate *c = NULL;
    eg_status st = count_tokens(l, t, texts, n);
    st = st || least ? st : search(l, o, &least);
    st = st ? st : generate(l, least, &c, &count);
    st = st ? st : number(l->op, to, c, count);
    eg__counted_free(c);
    return st;
}

eg_tokenizer *eg_subtokens_train_with(eg_tensor *const *texts, int n, const eg_subtokens_options *options)
{
    static const char op[] = "eg_subtokens_train";
    eg_subtokens_options o;
    eg__options(&o, sizeof o, options);
    o.vocabulary = o.vocabulary ? o.vocabulary : 32768;
    o.within = o.within ? o.within : 327;
    if (!texts || n < 0 || o.vocabulary < 1 || o.within < 0 || o.min_count < 0) {
        return texts ? eg__fail_null(EG_EINVAL, op,
                                     "%d texts, vocabulary %lld, within %lld, min_count %lld: none below 0", n,
                                     (long long)o.vocabulary, (long long)o.within, (long long)o.min_count)
                     : (eg__null_argument(op, "texts"), NULL);
    }
    eg_tokenizer *splitter = eg__tokenizer_new(op), *t = splitter ? eg__tokenizer_new(op) : NULL;
    eg__step *split = t ? eg__steps_add(op, &splitter->split) : NULL;
    learner l = {.op = op};
    eg_status st = split ? EG_OK : eg__why();
    if (split) {
        split->pass = eg__split_alike;
        st = learn(&l, splitter, texts, n, &o, t);
    }
    eg__words_free(&l.tokens);
    eg__words_free(&l.alphabet);
    eg__words_free(&l.parts);
    eg__trie_free(&l.list);
    eg__bytes_free(&l.escaped);
    eg_tokenizer_free(splitter);
    return t ? made(op, t, st) : NULL;
}
