/* encoder.c - a text's way to tokens: added tokens, normalisers, splitters, the model. */
#include "data/tokens/tokens.h"
#include "lib/io/file.h"

/* ---- one thread's work ------------------------------------------------------------------------- */

eg__encoder *eg__encoder_take(const eg_tokenizer *t)
{
    eg_tokenizer *own = (eg_tokenizer *)t; /* of it only the list of idle ones changes, under its lock */
    pthread_mutex_lock(&own->lock);
    eg__encoder *w = own->idle;
    if (w) {
        own->idle = w->next_idle;
    }
    pthread_mutex_unlock(&own->lock);
    if (!w && (w = eg__counted_alloc(sizeof *w))) {
        memset(w, 0, sizeof *w);
        w->t = t;
    }
    return w;
}

void eg__encoder_give(eg__encoder *w)
{
    if (!w) {
        return;
    }
    eg_tokenizer *t = (eg_tokenizer *)w->t;
    w->st = EG_OK;
    w->most = w->done = 0;
    w->tokens.n = w->pieces.n = w->next.n = w->c.n = w->change.n = 0;
    pthread_mutex_lock(&t->lock);
    w->next_idle = t->idle;
    t->idle = w;
    pthread_mutex_unlock(&t->lock);
}

void eg__encoder_free(eg__encoder *w)
{
    eg__line *lines[] = {&w->line, &w->other, &w->escaped};
    for (int i = 0; i < EG__COUNT(lines); i++) {
        eg__counted_free(lines[i]->s);
        eg__counted_free(lines[i]->at);
    }
    eg__counted_free(w->pieces.p);
    eg__counted_free(w->next.p);
    eg__counted_free(w->tokens.p);
    eg__counted_free(w->c.p);
    eg__counted_free(w->change.p);
    eg__counted_free(w->cells.p);
    eg__counted_free(w->heap.p);
    eg__regex_match_free(w->match);
    eg__memo_free(w->memo);
    eg__counted_free(w);
}

/* ---- added tokens in a text ---------------------------------------------------------------------- */

static bool is_word(const uint8_t *s)
{
    int n;
    return eg__class_at(s, &n) & EG__WORD;
}

/* A search for added tokens, from the begin to the end. */
typedef struct search {
    const eg__trie *of;
    const uint8_t *s;
    int64_t n;
    bool plain;
    int64_t done;   /* where the last one ends */
    int64_t blanks; /* up to here there are blanks behind one that takes them in */
} search;

/* The longest added token that begins at i, with the blanks it takes in [*begin, *end); -1: none, or one that does not
 * count here. *next: where the search goes on, after a token even if it did not count. */
static int32_t added_at(const eg__encoder *w, search *x, int64_t i, int64_t *begin, int64_t *end, int64_t *next)
{
    const uint8_t *s = x->s;
    const int64_t n = x->n;
    int32_t node = 0, found = -1;
    *next = i + 1;
    for (int64_t k = i; k < n && (node = eg__trie_step(x->of, node, s[k])) >= 0; k++) {
        if (x->of->node[node].value >= 0) {
            found = x->of->node[node].value;
            *next = k + 1;
        }
    }
    if (found < 0) {
        return -1;
    }
    const eg__added *a = &w->t->added.p[found];
    const bool inside =
        a->single_word && ((i > 0 && is_word(s + eg__character_before(s, i))) || (*next < n && is_word(s + *next)));
    if (inside || (x->plain && a->special)) {
        return -1;
    }
    *begin = i;
    *end = *next;
    int bytes;
    for (int64_t at; a->left && *begin > x->done; *begin = at) {
        at = eg__character_before(s, *begin);
        if (!(eg__class_at(s + at, &bytes) & EG__BLANK)) {
            break;
        }
    }
    if (a->right) { /* each blank is looked at once, however many tokens take it in */
        *end = eg__max(*end, x->blanks);
        while (*end < n && eg__class_at(s + *end, &bytes) & EG__BLANK) {
            *end += bytes;
        }
        x->blanks = *end;
    }
    *begin = a->left ? eg__min(eg__max(*begin, x->done), *end) : *begin;
    x->done = *end;
    return found;
}

/* The line as pieces: added tokens of normalised text, and what stands between. */
static void find_behind(eg__encoder *w, bool plain)
{
    const eg__line *l = &w->line;
    search x = {.of = &w->t->behind, .s = l->s, .n = l->n, .plain = plain};
    int64_t done = 0;
    w->pieces.n = 0;
    for (int64_t i = 0, begin, end, next; x.of->node && i < l->n && !w->st; i = next) {
        int32_t found = added_at(w, &x, i, &begin, &end, &next);
        if (found < 0 || !EG__ROOM(w, w->pieces, 2)) {
            continue;
        }
        if (begin > done) {
            w->pieces.p[w->pieces.n++] = (eg__piece){(uint32_t)done, (uint32_t)begin, -1};
        }
        if (begin < end) { /* else the one before took all of it, as a blank */
            w->pieces.p[w->pieces.n++] = (eg__piece){(uint32_t)begin, (uint32_t)end, found};
        }
        done = end;
    }
    if (done < l->n && EG__ROOM(w, w->pieces, 1)) {
        w->pieces.p[w->pieces.n++] = (eg__piece){(uint32_t)done, (uint32_t)l->n, -1};
    }
}

/* ---- a part of the text without them ---------------------------------------------------------------- */

void eg__prepare(eg__encoder *w, bool plain)
{
    const eg_tokenizer *t = w->t;
    for (uint32_t k = 0; k < t->normal.n && !w->st; k++) {
        t->normal.p[k].pass(w, &t->normal.p[k]);
    }
    find_behind(w, plain);
    for (uint32_t k = 0; k < t->split.n && !w->st; k++) {
        t->split.p[k].pass(w, &t->split.p[k]);
    }
}

/* Counts the blanks at the ends of a token as it is written, where ByteLevel has U+0120 for a blank. */
static bool is_blank(const uint8_t *s, int *bytes)
{
    const int32_t c = eg__character(s, bytes);
    return c == 0x120 || eg__class(c) & EG__BLANK;
}

static void count_blanks(const uint8_t *s, int64_t n, eg__token *x)
{
    int bytes;
    for (int64_t i = 0; i < n && is_blank(s + i, &bytes); i += bytes) {
        x->lead++;
    }
    for (int64_t i = n, at; i > 0; i = at) {
        at = eg__character_before(s, i);
        if (!is_blank(s + at, &bytes)) {
            break;
        }
        x->trail++;
    }
}

/* The same of a token of the model, which stands for these bytes. */
static void count_blanks_of(const eg_tokenizer *t, const uint8_t *s, int64_t n, eg__token *x)
{
    if (t->model.kind == EG__UNIGRAM && x->id == t->model.unknown) {
        count_blanks(s, n, x);
    } else {
        const eg__extent at = t->vocab.piece.p[x->id];
        count_blanks(t->vocab.text.p + at.begin, at.end - at.begin, x);
    }
}

eg__extent eg__token_trimmed(const eg_tokenizer *t, const uint8_t *text, int64_t n, const eg__token *x, bool first)
{
    int64_t begin = x->begin, end = x->end;
    uint32_t lead = x->lead == 1 && t->trim_prefix && (first || !x->begin) ? 0 : x->lead, trail = x->trail;
    for (int bytes; lead && begin < n; lead--, begin += bytes) {
        eg__character(text + begin, &bytes);
    }
    for (; trail && end > 0; trail--) {
        end = eg__character_before(text, end);
    }
    begin = eg__min(begin, x->end);
    return (eg__extent){(uint32_t)begin, (uint32_t)eg__max(end, begin)};
}

/* SentencePiece's: a token reaches to where the next one begins. */
static eg__extent starts_of(const eg__encoder *w, uint32_t begin, uint32_t end)
{
    const eg__line *l = &w->line;
    return (eg__extent){l->at[begin].begin, end < l->n ? l->at[end].begin : w->consumed};
}

static void cut(eg__encoder *w, const uint8_t *s, int64_t n, uint32_t base, bool plain)
{
    const eg_tokenizer *t = w->t;
    eg__line_set(w, s, n, base);
    eg__prepare(w, plain);
    for (uint32_t i = 0; i < w->pieces.n && !w->st; i++) {
        const eg__piece p = w->pieces.p[i];
        const uint32_t from = w->tokens.n;
        if (p.added >= 0) {
            eg__emit(w, t->added.p[p.added].id, 0, p.end - p.begin);
        } else {
            eg__model_apply(w, &t->model, w->line.s + p.begin, p.end - p.begin);
        }
        for (uint32_t k = from; k < w->tokens.n; k++) {
            eg__token *x = &w->tokens.p[k];
            x->begin += p.begin;
            x->end += p.begin;
            x->word = w->words_so_far;
            const int64_t from_line = x->begin, bytes = x->end - x->begin;
            const eg__extent at = t->whole ? starts_of(w, x->begin, x->end) : eg__extent_of(&w->line, x->begin, x->end);
            x->begin = at.begin;
            x->end = at.end;
            if (t->trim) {
                if (p.added >= 0) {
                    count_blanks(w->line.s + from_line, bytes, x);
                } else {
                    count_blanks_of(t, w->line.s + from_line, bytes, x);
                }
            }
        }
        w->words_so_far++;
    }
    w->done += w->line.n;
}

/* Whether all of it is UTF-8, or the encoder fails with the place. */
static bool is_utf8(eg__encoder *w, const uint8_t *s, int64_t n)
{
    for (int64_t i = 0; i < n;) {
        uint64_t eight = 0;
        if (n - i >= 8) {
            memcpy(&eight, s + i, 8);
            if (!(eight & 0x8080808080808080u)) {
                i += 8;
                continue;
            }
        }
        const int bytes = s[i] < 0x80 ? 1 : eg__utf8_length((const char *)s + i, n - i);
        if (bytes < 1) {
            eg__encoder_fail(w, EG_EFORMAT, "byte %lld of the text: no UTF-8", (long long)i);
            return false;
        }
        i += bytes;
    }
    return true;
}

void eg__tokenize(eg__encoder *w, const uint8_t *s, int64_t n, bool plain)
{
    const eg_tokenizer *t = w->t;
    search x = {.of = &t->before, .s = s, .n = n, .plain = plain};
    int64_t done = 0;
    w->words_so_far = 0;
    if (n > INT32_MAX / 8 || !is_utf8(w, s, n)) {
        eg__encoder_fail(w, EG_EINVAL, "a text of %lld bytes is too long", (long long)n);
        return;
    }
    w->most = eg__growth_most(n);
    for (int64_t i = 0, begin, end, next; t->before.node && !t->whole && i < n && !w->st; i = next) {
        next = i + 1;
        int32_t found = t->first[s[i]] ? added_at(w, &x, i, &begin, &end, &next) : -1;
        if (found < 0) {
            continue;
        }
        if (begin > done) {
            cut(w, s + done, begin - done, (uint32_t)done, plain);
        }
        if (begin < end) {
            eg__emit(w, t->added.p[found].id, begin, end);
        }
        if (!w->st && begin < end) {
            eg__token *token = &w->tokens.p[w->tokens.n - 1];
            token->word = w->words_so_far++;
            if (t->trim) {
                count_blanks(s + begin, end - begin, token);
            }
        }
        done = end;
    }
    if (done < n && !w->st) {
        cut(w, s + done, n - done, (uint32_t)done, plain);
    }
}
