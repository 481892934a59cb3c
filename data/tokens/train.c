/* train.c - learns byte-pair encoding: the pair of tokens that stands beside each other most often becomes one, again
 * and again (Sennrich et al. 2015). */
#include <stdlib.h>

#include "data/text/text.h"
#include "data/text/word_table.h"
#include "data/tokens/tokens.h"
#include "lib/io/file.h"

static const char op[] = "eg_bpe_train";

/* A pair of tokens: how often it is there, and words it was in when it was met. */
typedef struct pair {
    uint64_t of; /* left << 32 | right */
    int64_t count;
    uint32_t *in, n, room;
} pair;

/* Of the heap: largest count first, then the smallest pair. */
typedef struct chance {
    int64_t count;
    uint64_t of;
} chance;

typedef struct trainer {
    eg_bpe_train_options o;
    eg_tokenizer *t;
    eg__words words;  /* of the texts */
    eg__words tokens; /* numbered */
    int32_t *symbol;  /* of all words, one behind the other */
    uint32_t *from, *length;
    pair *pairs;
    uint32_t npairs, pairs_room, *slot, slots;
    chance *heap;
    uint32_t nheap, heap_room;
} trainer;

/* ---- words of the texts ------------------------------------------------------------------------------ */

static eg_status count_words(trainer *r, eg_tensor *const *texts, int n)
{
    eg_status st = EG_OK;
    for (int i = 0; i < n && !st; i++) {
        eg_scope scope = eg_scope_push();
        eg_tensor *text = scope.depth ? eg__text_check(op, texts[i]) : NULL;
        eg__encoder *w = text ? eg__encoder_take(r->t) : NULL;
        st = !text ? eg__why() : !w ? eg__no_memory(op, (int64_t)sizeof *w) : EG_OK;
        if (!st && !eg__utf8((const char *)eg__ptr(text), text->n)) {
            st = eg__fail(EG_EFORMAT, op, "text %d is no UTF-8", i);
        }
        if (!st) {
            eg__line_set(w, (const uint8_t *)eg__ptr(text), text->n, 0);
            eg__prepare(w, true);
        }
        for (uint32_t k = 0; !st && k < w->pieces.n; k++) {
            const eg__piece p = w->pieces.p[k];
            const int64_t at = eg__words_add(&r->words, w->line.s + p.begin, p.end - p.begin);
            st = at < 0 ? eg__no_memory(op, r->words.text.n) : EG_OK;
            if (!st) {
                r->words.word[at].count++;
            }
        }
        st = w && !st && w->st ? eg__fail(w->st, op, "%s", w->words) : st;
        eg__encoder_give(w);
        if (scope.depth) {
            eg_scope_pop(scope, NULL);
        }
    }
    return st;
}

/* ---- the alphabet -------------------------------------------------------------------------------------- */

static int32_t number(trainer *r, const void *s, int64_t n)
{
    return (int32_t)eg__words_add(&r->tokens, s, n);
}

typedef struct letter {
    int32_t c;
    int64_t count;
} letter;

static int by_count(const void *a, const void *b)
{
    const letter *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : (x->c > y->c) - (x->c < y->c);
}

static int by_character(const void *a, const void *b)
{
    const letter *x = a, *y = b;
    return (x->c > y->c) - (x->c < y->c);
}

/* Of characters, in their order; the most frequent ones if there may be so many only. */
static eg_status characters(trainer *r)
{
    eg__words seen = {0};
    bool good = true;
    for (uint32_t i = 0; i < r->words.n && good; i++) {
        const char *s = eg__words_text(&r->words, i);
        for (int64_t at = 0, k; at < r->words.word[i].bytes && good; at += k) {
            int bytes;
            eg__character((const uint8_t *)s + at, &bytes);
            k = bytes;
            const int64_t c = eg__words_add(&seen, s + at, k);
            good = c >= 0;
            if (good) {
                seen.word[c].count += r->words.word[i].count;
            }
        }
    }
    letter *all = good ? eg__counted_alloc((seen.n + 1) * sizeof *all) : NULL;
    uint32_t n = seen.n;
    for (uint32_t i = 0; i < n && all; i++) {
        int bytes;
        all[i] = (letter){eg__character((const uint8_t *)eg__words_text(&seen, i), &bytes), seen.word[i].count};
    }
    eg__words_free(&seen);
    if (!all) {
        return eg__no_memory(op, n);
    }
    if (r->o.alphabet && n > r->o.alphabet) {
        qsort(all, n, sizeof *all, by_count);
        n = (uint32_t)r->o.alphabet;
    }
    qsort(all, n, sizeof *all, by_character);
    for (uint32_t i = 0; i < n && good; i++) {
        uint8_t c[4];
        good = number(r, c, eg__put_character(c, all[i].c)) >= 0;
    }
    eg__counted_free(all);
    return good ? EG_OK : eg__no_memory(op, n);
}

/* All bytes, in the order of the characters that stand for them. */
static eg_status bytes(trainer *r)
{
    bool good = true;
    for (int32_t c = 0; c < 512 && good; c++) {
        uint8_t s[4];
        good = eg__character_byte(c) < 0 || number(r, s, eg__put_character(s, c)) >= 0;
    }
    return good ? EG_OK : eg__no_memory(op, 256);
}

static eg_status alphabet(trainer *r)
{
    bool good = true;
    for (int64_t i = 0; i < r->o.specials_count && good; i++) {
        const char *s = r->o.specials[i];
        good = number(r, s, (int64_t)strlen(s)) >= 0;
    }
    return !good ? eg__no_memory(op, 16) : r->o.characters ? characters(r) : bytes(r);
}

/* Words as tokens: what is not of the alphabet is left out. */
static eg_status symbols(trainer *r)
{
    const size_t words = r->words.n + 1, all = (size_t)r->words.text.n + 1;
    r->symbol = eg__counted_alloc(all * sizeof *r->symbol);
    r->from = eg__counted_alloc(words * sizeof *r->from);
    r->length = eg__counted_alloc(words * sizeof *r->length);
    if (!r->symbol || !r->from || !r->length) {
        return eg__no_memory(op, (int64_t)all);
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < r->words.n; i++) {
        const uint8_t *s = (const uint8_t *)eg__words_text(&r->words, i);
        r->from[i] = at;
        for (int64_t k = 0, n; k < r->words.word[i].bytes; k += n) {
            int wide = 1;
            uint8_t c[4];
            if (r->o.characters) {
                eg__character(s + k, &wide);
                memcpy(c, s + k, (size_t)wide);
            }
            n = wide;
            const int64_t id =
                eg__words_find(&r->tokens, c, r->o.characters ? wide : eg__put_character(c, eg__byte_character(s[k])));
            if (id >= 0) {
                r->symbol[at++] = (int32_t)id;
            }
        }
        r->length[i] = at - r->from[i];
    }
    return EG_OK;
}

/* ---- pairs ------------------------------------------------------------------------------------------------ */

static uint64_t pair_of(int32_t a, int32_t b)
{
    return (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
}

static uint32_t place(const trainer *r, uint64_t of)
{
    uint32_t i = (uint32_t)((of * 0x9e3779b97f4a7c15u) >> 32) & (r->slots - 1);
    while (r->slot[i] && r->pairs[r->slot[i] - 1].of != of) {
        i = (i + 1) & (r->slots - 1);
    }
    return i;
}

static bool grow_slots(trainer *r)
{
    const uint32_t slots = r->slots ? 2 * r->slots : 4096;
    uint32_t *slot = eg__counted_alloc(slots * sizeof *slot);
    if (!slot) {
        return false;
    }
    memset(slot, 0, slots * sizeof *slot);
    eg__counted_free(r->slot);
    r->slot = slot;
    r->slots = slots;
    for (uint32_t i = 0; i < r->npairs; i++) {
        r->slot[place(r, r->pairs[i].of)] = i + 1;
    }
    return true;
}

/* NULL: out of memory. */
static pair *pair_at(trainer *r, uint64_t of)
{
    if (2 * r->npairs >= r->slots && !grow_slots(r)) {
        return NULL;
    }
    const uint32_t i = place(r, of);
    if (!r->slot[i]) {
        if (r->npairs == r->pairs_room && !eg__counted_grow(&r->pairs, &r->pairs_room, sizeof *r->pairs)) {
            return NULL;
        }
        r->pairs[r->npairs] = (pair){.of = of};
        r->slot[i] = ++r->npairs;
    }
    return &r->pairs[r->slot[i] - 1];
}

/* So many more, or fewer, in a word. */
static bool change(trainer *r, uint64_t of, int64_t by, uint32_t word)
{
    pair *p = pair_at(r, of);
    if (!p) {
        return false;
    }
    p->count += by;
    if (by > 0 && (!p->n || p->in[p->n - 1] != word)) {
        if (p->n == p->room && !eg__counted_grow(&p->in, &p->room, sizeof *p->in)) {
            return false;
        }
        p->in[p->n++] = word;
    }
    return true;
}

static bool above(const chance *a, const chance *b)
{
    return a->count != b->count ? a->count > b->count : a->of < b->of;
}

static bool push(trainer *r, chance x)
{
    if (r->nheap == r->heap_room && !eg__counted_grow(&r->heap, &r->heap_room, sizeof *r->heap)) {
        return false;
    }
    uint32_t i = r->nheap++;
    for (; i && above(&x, &r->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        r->heap[i] = r->heap[(i - 1) / 2];
    }
    r->heap[i] = x;
    return true;
}

static chance pop(trainer *r)
{
    chance *h = r->heap, best = h[0], x = h[--r->nheap];
    uint32_t i = 0;
    for (uint32_t k; (k = 2 * i + 1) < r->nheap; i = k) {
        k += k + 1 < r->nheap && above(&h[k + 1], &h[k]);
        if (!above(&h[k], &x)) {
            break;
        }
        h[i] = h[k];
    }
    h[i] = x;
    return best;
}

static eg_status count_pairs(trainer *r)
{
    for (uint32_t i = 0; i < r->words.n; i++) {
        const int32_t *s = r->symbol + r->from[i];
        for (uint32_t k = 0; k + 1 < r->length[i]; k++) {
            if (!change(r, pair_of(s[k], s[k + 1]), r->words.word[i].count, i)) {
                return eg__no_memory(op, r->npairs);
            }
        }
    }
    for (uint32_t i = 0; i < r->npairs; i++) {
        if (!push(r, (chance){r->pairs[i].count, r->pairs[i].of})) {
            return eg__no_memory(op, r->npairs);
        }
    }
    return EG_OK;
}

/* ---- merging ------------------------------------------------------------------------------------------------ */

/* In one word; neighbours lose a pair and get another. */
static bool merge_in(trainer *r, uint32_t word, int32_t a, int32_t b, int32_t both)
{
    int32_t *s = r->symbol + r->from[word];
    const int64_t times = r->words.word[word].count;
    uint32_t n = r->length[word];
    bool good = true;
    for (uint32_t i = 0; i + 1 < n && good; i++) {
        if (s[i] != a || s[i + 1] != b) {
            continue;
        }
        if (i > 0) {
            good = change(r, pair_of(s[i - 1], a), -times, word) && change(r, pair_of(s[i - 1], both), times, word);
        }
        if (i + 2 < n && good) {
            good = change(r, pair_of(b, s[i + 2]), -times, word) && change(r, pair_of(both, s[i + 2]), times, word);
        }
        s[i] = both;
        memmove(s + i + 1, s + i + 2, (n - i - 2) * sizeof *s);
        n--;
    }
    r->length[word] = n;
    return good;
}

static eg_status merge(trainer *r, uint64_t of)
{
    const int32_t a = (int32_t)(of >> 32), b = (int32_t)(uint32_t)of;
    const eg__word x = r->tokens.word[a], y = r->tokens.word[b];
    char *text = eg__counted_alloc((size_t)x.bytes + y.bytes + 1);
    if (!text) {
        return eg__no_memory(op, x.bytes + y.bytes);
    }
    memcpy(text, eg__words_text(&r->tokens, a), x.bytes);
    memcpy(text + x.bytes, eg__words_text(&r->tokens, b), y.bytes);
    const int32_t both = number(r, text, (int64_t)x.bytes + y.bytes);
    eg__counted_free(text);
    if (both < 0) {
        return eg__no_memory(op, r->tokens.text.n);
    }
    const uint32_t before = r->npairs;
    pair *p = pair_at(r, of);
    uint32_t *in = p->in, n = p->n;
    p->in = NULL;
    p->n = p->room = 0;
    p->count = 0;
    bool good = true;
    for (uint32_t i = 0; i < n && good; i++) {
        good = merge_in(r, in[i], a, b, both);
    }
    eg__counted_free(in);
    for (uint32_t i = before; i < r->npairs && good; i++) { /* pairs with the new token */
        good = r->pairs[i].count < 1 || push(r, (chance){r->pairs[i].count, r->pairs[i].of});
    }
    return good ? eg__merges_put(&r->t->model, op, a, b, (int32_t)r->t->model.merges, both) : eg__no_memory(op, n);
}

static eg_status merge_all(trainer *r)
{
    eg_status st = count_pairs(r);
    while (!st && r->tokens.n < r->o.vocabulary && r->nheap) {
        chance best = pop(r);
        const pair *p = pair_at(r, best.of);
        if (p->count != best.count) {
            st = p->count < 1 || push(r, (chance){p->count, best.of}) ? EG_OK : eg__no_memory(op, r->nheap);
            continue;
        }
        if (best.count < 1 || best.count < r->o.min_count) {
            break;
        }
        st = merge(r, best.of);
    }
    return st;
}

/* ---- the tokenizer -------------------------------------------------------------------------------------------- */

static eg_status steps(trainer *r)
{
    if (!r->o.characters) {
        return eg__bytes_steps(op, r->t, r->o.pattern, false);
    }
    eg__step *split = eg__steps_add(op, &r->t->split), *decode = split ? eg__steps_add(op, &r->t->decode) : NULL;
    if (!decode) {
        return eg__why();
    }
    split->pass = eg__split_pattern;
    split->behaviour = EG__REMOVED;
    split->d = true;
    split->pattern =
        r->o.pattern ? eg__pattern_new(op, r->o.pattern, (int64_t)strlen(r->o.pattern)) : eg__pattern_words(op);
    decode->decode = eg__decode_words;
    return split->pattern ? EG_OK : eg__why();
}

static eg_status finish(trainer *r)
{
    eg_tokenizer *t = r->t;
    eg_status st = EG_OK;
    for (uint32_t i = 0; i < r->tokens.n && !st; i++) {
        st = eg__vocab_put(&t->vocab, op, i, eg__words_text(&r->tokens, i), r->tokens.word[i].bytes);
    }
    st = st ? st : eg__model_trie(op, t);
    t->model.kind = EG__BPE;
    t->model.run = eg__model_bpe;
    st = st || r->o.characters ? st : eg__bytes_model(op, t);
    const char *unknown = r->o.unknown ? r->o.unknown : "[UNK]";
    t->model.unknown = r->o.characters && !st ? eg__trie_find(&t->model.trie, unknown, (int64_t)strlen(unknown)) : -1;
    for (int64_t i = 0; i < r->o.specials_count && !st; i++) {
        const int64_t n = (int64_t)strlen(r->o.specials[i]);
        eg__added *a =
            eg__added_add(op, t, r->o.specials[i], n, (int32_t)eg__words_find(&r->tokens, r->o.specials[i], n));
        st = a ? EG_OK : eg__why();
        if (a) {
            a->special = true;
        }
    }
    return st ? st : eg__tokenizer_finish(op, t);
}

static eg_status check(const eg_bpe_train_options *o)
{
    if (o->vocabulary < 1 || o->vocabulary >= EG__IDS_MOST || o->min_count < 0 || o->alphabet < 0 ||
        o->specials_count < 0 || (o->specials_count && !o->specials)) {
        return eg__fail(EG_EINVAL, op, "vocabulary %lld, min_count %lld, alphabet %lld, %lld specials",
                        (long long)o->vocabulary, (long long)o->min_count, (long long)o->alphabet,
                        (long long)o->specials_count);
    }
    bool known = !o->characters || !o->unknown;
    for (int64_t i = 0; i < o->specials_count; i++) {
        const char *s = o->specials[i];
        if (!s || !*s || !eg__utf8(s, (int64_t)strlen(s))) {
            return eg__fail(EG_EINVAL, op, "special %lld is no text in UTF-8", (long long)i);
        }
        known |= o->unknown && !strcmp(s, o->unknown);
    }
    return known ? EG_OK : eg__fail(EG_EINVAL, op, "\"%.60s\" is none of the specials", o->unknown);
}

eg_tokenizer *eg_bpe_train_with(eg_tensor *const *texts, int n, const eg_bpe_train_options *options)
{
    trainer r = {0};
    eg__options(&r.o, sizeof r.o, options);
    r.o.vocabulary = r.o.vocabulary ? r.o.vocabulary : 30000;
    if (!texts || n < 0) {
        return texts ? eg__fail_null(EG_EINVAL, op, "%d texts", n) : (eg__null_argument(op, "texts"), NULL);
    }
    if (check(&r.o) || !(r.t = eg__tokenizer_new(op))) {
        return NULL;
    }
    eg_status st = steps(&r);
    st = st ? st : count_words(&r, texts, n);
    st = st ? st : alphabet(&r);
    st = st ? st : symbols(&r);
    st = st ? st : merge_all(&r);
    st = st ? st : finish(&r);
    eg__words_free(&r.words);
    eg__words_free(&r.tokens);
    for (uint32_t i = 0; i < r.npairs; i++) {
        eg__counted_free(r.pairs[i].in);
    }
    eg__counted_free(r.pairs);
    eg__counted_free(r.slot);
    eg__counted_free(r.heap);
    eg__counted_free(r.symbol);
    eg__counted_free(r.from);
    eg__counted_free(r.length);
    if (st) {
        eg_tokenizer_free(r.t);
    }
    return st ? NULL : r.t;
}
