/* tokenizer.c - what a tokenizer is made of: its texts by number, its steps, its added tokens, its frames. */
#include <stdlib.h>

#include "data/tokens/tokens.h"
#include "lib/core/live.h"
#include "lib/io/file.h"

/* ---- arrays ---------------------------------------------------------------------------------- */

static eg_status room(const char *op, void *array, uint32_t *room, uint64_t need, size_t element)
{
    if (need <= *room) {
        return EG_OK;
    }
    const uint64_t more = need < 2 * (uint64_t)*room ? 2 * (uint64_t)*room : need < 8 ? 8 : need;
    void *p = more <= INT32_MAX ? eg__counted_alloc(more * element) : NULL;
    if (!p) {
        return eg__no_memory(op, (int64_t)(more * element));
    }
    memset(p, 0, more * element);
    if (*room) {
        memcpy(p, *(void **)array, *room * element);
    }
    eg__counted_free(*(void **)array);
    *(void **)array = p;
    *room = (uint32_t)more;
    return EG_OK;
}
#define ROOM(op, a, need) room(op, &(a).p, &(a).room, need, sizeof *(a).p)

eg_status eg__check_text(const char *op, const char *what, const void *s, int64_t n, int64_t most)
{
    if (n > most) {
        return eg__fail(EG_EFORMAT, op, "%s of %lld bytes, \"%.40s...\", is longer than the %lld that are supported",
                        what, (long long)n, (const char *)s, (long long)most);
    }
    for (int64_t i = 0, bytes; i < n; i += bytes) {
        bytes = eg__utf8_length((const char *)s + i, n - i);
        if (bytes < 1) {
            return eg__fail(EG_EFORMAT, op, "%s is not UTF-8: byte %lld of %lld is 0x%02x", what, (long long)i,
                            (long long)n, ((const uint8_t *)s)[i]);
        }
    }
    return EG_OK;
}

eg_status eg__string_set(eg__string *to, const char *op, const void *s, int64_t n)
{
    eg_status st = eg__check_text(op, "a text of a step", s, n, EG__TEXT_MOST);
    if (st) {
        return st;
    }
    char *copy = eg__counted_alloc((size_t)n + 1);
    if (!copy) {
        return eg__no_memory(op, n);
    }
    if (n) {
        memcpy(copy, s, (size_t)n);
    }
    copy[n] = '\0';
    eg__counted_free(to->s);
    *to = (eg__string){copy, n};
    return EG_OK;
}

eg__step *eg__steps_add(const char *op, eg__steps *steps)
{
    return ROOM(op, *steps, (uint64_t)steps->n + 1) ? NULL : &steps->p[steps->n++];
}

static void steps_free(eg__steps *steps)
{
    for (uint32_t i = 0; i < steps->n; i++) {
        eg__counted_free(steps->p[i].text.s);
        eg__counted_free(steps->p[i].more.s);
        eg__pattern_free(steps->p[i].pattern);
        eg__charsmap_free(steps->p[i].map);
    }
    eg__counted_free(steps->p);
}

/* ---- texts by number -------------------------------------------------------------------------- */

eg_status eg__vocab_put(eg__vocab *v, const char *op, int64_t id, const void *s, int64_t n)
{
    const int64_t most = v->most && v->most < EG__IDS_MOST ? v->most : EG__IDS_MOST;
    if (id < 0 || id >= most) {
        return eg__fail(EG_EFORMAT, op, "a token has the number %lld; the largest for so many tokens is %lld",
                        (long long)id, (long long)most - 1);
    }
    eg_status st = eg__check_text(op, "a token", s, n, EG__PIECE_MOST);
    st = st ? st : ROOM(op, v->piece, (uint64_t)id + 1);
    if (st) {
        return st;
    }
    while (v->piece.n <= id) {
        v->piece.p[v->piece.n++] = (eg__extent){1, 0};
    }
    eg__extent *p = &v->piece.p[id];
    if (p->begin <= p->end) {
        const bool same = p->end - p->begin == n && !memcmp(v->text.p + p->begin, s, (size_t)n);
        return same ? EG_OK
                    : eg__fail(EG_EFORMAT, op, "the number %lld is of \"%.*s\" and of \"%.*s\"", (long long)id,
                               (int)eg__min(p->end - p->begin, 40), (char *)v->text.p + p->begin, (int)eg__min(n, 40),
                               (const char *)s);
    }
    if (v->text.n + n + 1 > UINT32_MAX || !eg__bytes_room(&v->text, n + 1)) {
        return eg__no_memory(op, n);
    }
    *p = (eg__extent){(uint32_t)v->text.n, (uint32_t)(v->text.n + n)};
    eg__bytes_add(&v->text, s, n);
    eg__bytes_add(&v->text, "", 1);
    return EG_OK;
}

eg_status eg__model_trie(const char *op, eg_tokenizer *t)
{
    const eg__vocab *v = &t->vocab;
    eg__trie_key *keys = eg__counted_alloc(((size_t)v->piece.n + 1) * sizeof *keys);
    int64_t n = 0;
    if (!keys) {
        return eg__no_memory(op, v->piece.n);
    }
    for (uint32_t i = 0; i < v->piece.n; i++) {
        const eg__extent p = v->piece.p[i];
        if (p.begin < p.end) {
            keys[n++] = (eg__trie_key){v->text.p + p.begin, p.end - p.begin, (int32_t)i};
        }
    }
    eg_status st = eg__trie_build(&t->model.trie, op, keys, n);
    for (int64_t i = 1; i < n && !st; i++) {
        const eg__trie_key *a = &keys[i - 1], *b = &keys[i];
        if (a->bytes == b->bytes && !memcmp(a->s, b->s, a->bytes)) {
            st = eg__fail(EG_EFORMAT, op, "\"%.*s\" has the numbers %d and %d", (int)eg__min(a->bytes, 40),
                          (const char *)a->s, a->value, b->value);
        }
    }
    eg__counted_free(keys);
    return st;
}

/* ---- added tokens ----------------------------------------------------------------------------- */

eg__added *eg__added_add(const char *op, eg_tokenizer *t, const char *s, int64_t n, int32_t id)
{
    if (n < 1) {
        return eg__fail_null(EG_EFORMAT, op, "the added token %d has no text", id);
    }
    if (eg__check_text(op, "an added token", s, n, EG__PIECE_MOST) || ROOM(op, t->added, (uint64_t)t->added.n + 1)) {
        return NULL;
    }
    eg__added *a = &t->added.p[t->added.n];
    *a = (eg__added){.id = id};
    if (eg__string_set(&a->text, op, s, n)) {
        return NULL;
    }
    t->added.n++;
    return a;
}

/* Of those that are looked for before the text is normalised, or behind that. */
static eg_status added_trie(const char *op, eg_tokenizer *t, bool behind, eg__trie *to)
{
    eg__trie_key *keys = eg__counted_alloc(((size_t)t->added.n + 1) * sizeof *keys);
    int64_t n = 0;
    if (!keys) {
        return eg__no_memory(op, t->added.n);
    }
    for (uint32_t i = 0; i < t->added.n; i++) {
        const eg__added *a = &t->added.p[i];
        if (a->normalised == behind) {
            keys[n++] = (eg__trie_key){(const uint8_t *)a->text.s, (uint32_t)a->text.n, (int32_t)i};
        }
    }
    eg_status st = n ? eg__trie_build(to, op, keys, n) : EG_OK;
    eg__counted_free(keys);
    return st;
}

/* Those that are looked for in normalised text are normalised too. */
static eg_status normalise_added(const char *op, eg_tokenizer *t)
{
    eg_status st = EG_OK;
    for (uint32_t i = 0; i < t->added.n && !st && t->normal.n; i++) {
        eg__added *a = &t->added.p[i];
        eg__encoder *w = a->normalised ? eg__encoder_take(t) : NULL;
        if (!a->normalised) {
            continue;
        }
        if (!w) {
            return eg__no_memory(op, (int64_t)sizeof *w);
        }
        w->most = eg__growth_most(a->text.n);
        eg__line_set(w, (const uint8_t *)a->text.s, a->text.n, 0);
        for (uint32_t k = 0; k < t->normal.n && !w->st; k++) {
            t->normal.p[k].pass(w, &t->normal.p[k]);
        }
        st = w->st ? eg__fail(w->st, op, "%s", w->words) : EG_OK;
        if (!st && !w->line.n) {
            st = eg__fail(EG_EFORMAT, op, "the normalizers leave nothing of the added token \"%.60s\"", a->text.s);
        }
        if (!st && (w->line.n != a->text.n || memcmp(w->line.s, a->text.s, (size_t)a->text.n))) {
            a->changed = true;
            st = eg__string_set(&a->text, op, w->line.s, w->line.n);
        }
        eg__encoder_give(w);
    }
    return st;
}

int32_t eg__tokenizer_find(const eg_tokenizer *t, const void *s, int64_t n)
{
    for (int k = 0; k < 2; k++) {
        const int32_t at = n > 0 ? eg__trie_find(k ? &t->behind : &t->before, s, n) : -1;
        if (at >= 0) {
            return t->added.p[at].id;
        }
    }
    return n > 0 ? eg__trie_find(&t->model.trie, s, n) : -1;
}

/* ---- names of special tokens ------------------------------------------------------------------- */

static const struct {
    eg_special which;
    const char *text;
} usual[] = {
    {EG_SPECIAL_PAD, "[PAD]"},
    {EG_SPECIAL_PAD, "<pad>"},
    {EG_SPECIAL_PAD, "<|pad|>"},
    {EG_SPECIAL_UNKNOWN, "[UNK]"},
    {EG_SPECIAL_UNKNOWN, "<unk>"},
    {EG_SPECIAL_CLS, "[CLS]"},
    {EG_SPECIAL_CLS, "<s>"},
    {EG_SPECIAL_SEP, "[SEP]"},
    {EG_SPECIAL_SEP, "</s>"},
    {EG_SPECIAL_MASK, "[MASK]"},
    {EG_SPECIAL_MASK, "<mask>"},
    {EG_SPECIAL_BOS, "<s>"},
    {EG_SPECIAL_BOS, "<bos>"},
    {EG_SPECIAL_BOS, "[BOS]"},
    {EG_SPECIAL_BOS, "<|begin_of_text|>"},
    {EG_SPECIAL_BOS, "<|startoftext|>"},
    {EG_SPECIAL_BOS, "<|endoftext|>"},
    {EG_SPECIAL_EOS, "</s>"},
    {EG_SPECIAL_EOS, "<eos>"},
    {EG_SPECIAL_EOS, "<EOS>"},
    {EG_SPECIAL_EOS, "[EOS]"},
    {EG_SPECIAL_EOS, "<|end_of_text|>"},
    {EG_SPECIAL_EOS, "<|endoftext|>"},
};

/* Added tokens by id; of several with one the last counts. */
static eg_status number_added(const char *op, eg_tokenizer *t)
{
    const size_t n = t->vocab.piece.n + (size_t)1;
    t->added_of = eg__counted_alloc(n * sizeof *t->added_of);
    if (!t->added_of) {
        return eg__no_memory(op, (int64_t)(n * sizeof *t->added_of));
    }
    memset(t->added_of, -1, n * sizeof *t->added_of);
    for (uint32_t i = 0; i < t->added.n; i++) {
        t->added_of[t->added.p[i].id] = (int32_t)i;
    }
    return EG_OK;
}

/* Special tokens around texts, and padding, are tokens. */
static eg_status check_frames(const char *op, const eg_tokenizer *t)
{
    const eg__frame *const frames[] = {&t->single, &t->pair};
    int64_t worst = t->pad_id;
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < frames[k]->n; i++) {
            worst = eg__max(worst, frames[k]->p[i].id);
        }
    }
    return worst < t->vocab.piece.n ? EG_OK
                                    : eg__fail(EG_EFORMAT, op, "texts get the token %lld; there are %u tokens",
                                               (long long)worst, (unsigned)t->vocab.piece.n);
}

eg_status eg__tokenizer_finish(const char *op, eg_tokenizer *t)
{
    eg_status st = number_added(op, t);
    st = st ? st : check_frames(op, t);
    st = st ? st : normalise_added(op, t);
    st = st ? st : added_trie(op, t, false, &t->before);
    st = st ? st : added_trie(op, t, true, &t->behind);
    for (uint32_t i = 0; i < t->added.n; i++) {
        t->first[(uint8_t)t->added.p[i].text.s[0]] |= !t->added.p[i].normalised;
    }
    if (t->model.unknown >= 0 && t->names[EG_SPECIAL_UNKNOWN] < 0) {
        t->names[EG_SPECIAL_UNKNOWN] = t->model.unknown;
    }
    for (int i = 0; i < EG__COUNT(usual); i++) {
        int32_t *name = &t->names[usual[i].which];
        *name = *name < 0 ? eg__tokenizer_find(t, usual[i].text, (int64_t)strlen(usual[i].text)) : *name;
    }
    return st;
}

/* ---- frames ------------------------------------------------------------------------------------ */

eg_status eg__frame_add(const char *op, eg_tokenizer *t, bool pair, int32_t id, int32_t type)
{
    eg__frame *f = pair ? &t->pair : &t->single;
    eg_status st = f->n < EG__FRAME_MOST
                       ? ROOM(op, *f, (uint64_t)f->n + 1)
                       : eg__fail(EG_EFORMAT, op, "more than %d special tokens around a text", EG__FRAME_MOST);
    if (!st) {
        f->p[f->n++] = (eg__frame_item){id, type};
    }
    return st;
}

/* One word of a frame: "$A", "[SEP]:1". */
static eg_status frame_word(const char *op, const eg_tokenizer *t, const char *word, size_t n, eg__frame_item *item)
{
    const char *colon = memchr(word, ':', n);
    item->type = 0;
    if (colon && n - (size_t)(colon - word) == 2 && colon[1] >= '0' && colon[1] <= '9') {
        item->type = colon[1] - '0';
        n -= 2;
    }
    if (n == 2 && word[0] == '$') {
        item->id = word[1] == 'A' ? EG__TEXT_A : EG__TEXT_B;
        return word[1] == 'A' || word[1] == 'B' ? EG_OK
                                                : eg__fail(EG_EINVAL, op, "there is no $%c, only $A and $B", word[1]);
    }
    item->id = eg__tokenizer_find(t, word, (int64_t)n);
    return item->id >= 0 ? EG_OK : eg__fail(EG_EINVAL, op, "\"%.*s\" is no token", (int)eg__min((int64_t)n, 60), word);
}

static eg_status read_frame(const char *op, const eg_tokenizer *t, const char *words, bool pair, eg__frame *to)
{
    int seen[2] = {0, 0};
    *to = (eg__frame){0};
    for (const char *at = words + strspn(words, " "); *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        eg_status st = ROOM(op, *to, (uint64_t)to->n + 1);
        st = st ? st : frame_word(op, t, at, n, &to->p[to->n]);
        if (st) {
            return st;
        }
        seen[0] += to->p[to->n].id == EG__TEXT_A;
        seen[1] += to->p[to->n++].id == EG__TEXT_B;
        at += n;
    }
    return seen[0] == 1 && seen[1] == pair ? EG_OK
                                           : eg__fail(EG_EINVAL, op, "\"%.100s\" needs %s once%s", words,
                                                      pair ? "$A and $B" : "$A", pair ? " each" : ", and no $B");
}

eg_status eg_tokenizer_frame(eg_tokenizer *t, const char *single, const char *pair)
{
    static const char op[] = "eg_tokenizer_frame";
    if (!t || !single) {
        return eg__null_argument(op, t ? "single" : "t");
    }
    eg__frame one = {0}, two = {0};
    eg_status st = read_frame(op, t, single, false, &one);
    st = st ? st : read_frame(op, t, pair ? pair : "$A $B:1", true, &two);
    if (st) {
        eg__counted_free(one.p);
        eg__counted_free(two.p);
        return st;
    }
    eg__counted_free(t->single.p);
    eg__counted_free(t->pair.p);
    t->single = one;
    t->pair = two;
    return EG_OK;
}

/* ---- begin and end ----------------------------------------------------------------------------- */

eg_tokenizer *eg__tokenizer_new(const char *op)
{
    if (eg__unicode_open(op)) {
        return NULL;
    }
    eg_tokenizer *t = eg__handle_new(sizeof *t);
    if (!t) {
        return eg__no_memory(op, (int64_t)sizeof *t), NULL;
    }
    t->model.unknown = t->pad_id = -1;
    for (int i = 0; i < EG_SPECIAL_COUNT; i++) {
        t->names[i] = -1;
    }
    for (int i = 0; i < 256; i++) {
        t->model.byte[i] = -1;
    }
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

void eg_tokenizer_free(eg_tokenizer *t)
{
    if (!eg__handle_ends(t, "eg_tokenizer_free")) {
        return;
    }
    while (t->idle) {
        eg__encoder *w = t->idle;
        t->idle = w->next_idle;
        eg__encoder_free(w);
    }
    pthread_mutex_destroy(&t->lock);
    eg__bytes_free(&t->vocab.text);
    eg__counted_free(t->vocab.piece.p);
    steps_free(&t->normal);
    steps_free(&t->split);
    steps_free(&t->decode);
    for (uint32_t i = 0; i < t->added.n; i++) {
        eg__counted_free(t->added.p[i].text.s);
    }
    eg__counted_free(t->added.p);
    eg__counted_free(t->added_of);
    eg__counted_free(t->single.p);
    eg__counted_free(t->pair.p);
    eg__trie_free(&t->before);
    eg__trie_free(&t->behind);
    eg__model_free(&t->model);
    free(t);
}

/* ---- asked ------------------------------------------------------------------------------------- */

int64_t eg_tokenizer_size(const eg_tokenizer *t)
{
    return t ? t->vocab.piece.n : 0;
}

int64_t eg_tokenizer_id(const eg_tokenizer *t, const char *token, size_t bytes)
{
    static const char op[] = "eg_tokenizer_id";
    if (!t || !token) {
        eg__null_argument(op, t ? "token" : "t");
        return -1;
    }
    return bytes <= INT32_MAX ? eg__tokenizer_find(t, token, (int64_t)bytes) : -1;
}

const char *eg_tokenizer_token(const eg_tokenizer *t, int64_t id)
{
    static const char op[] = "eg_tokenizer_token";
    if (!t) {
        return eg__null_argument(op, "t"), NULL;
    }
    const eg__extent *p = id >= 0 && id < t->vocab.piece.n ? &t->vocab.piece.p[id] : NULL;
    if (!p || p->end < p->begin) {
        return eg__fail_null(EG_EINDEX, op, "the id %lld is none of the %u there are", (long long)id,
                             (unsigned)t->vocab.piece.n);
    }
    return (const char *)t->vocab.text.p + p->begin;
}

int64_t eg_tokenizer_special(const eg_tokenizer *t, eg_special which)
{
    static const char op[] = "eg_tokenizer_special";
    if (!t) {
        eg__null_argument(op, "t");
        return -1;
    }
    if (which < 0 || which >= EG_SPECIAL_COUNT) {
        eg__fail(EG_EINVAL, op, "there is no special token %d", (int)which);
        return -1;
    }
    return t->names[which];
}

int64_t eg__pad_id(const eg_tokenizer *t)
{
    return t->pad_id >= 0 ? t->pad_id : t->names[EG_SPECIAL_PAD] >= 0 ? t->names[EG_SPECIAL_PAD] : 0;
}
