/* read_json_model.c - what tokenizer.json has of models. */
#include "data/tokens/read_json.h"

eg_status eg__vocab_of_json(const char *op, eg_tokenizer *t, const eg_json *vocab)
{
    eg_status st = eg__is_kind(vocab, EG_JSON_OBJECT) ? EG_OK : eg__fail(EG_EFORMAT, op, "the vocabulary is no object");
    eg__vocab_expect(&t->vocab, eg_json_count(vocab));
    for (int64_t i = 0; i < eg_json_count(vocab) && !st; i++) {
        size_t n;
        int64_t id;
        const char *s = eg_json_key(vocab, i, &n);
        st = eg_json_integer(eg_json_at(vocab, i), &id);
        st = st ? eg__fail(EG_EFORMAT, op, "\"%.60s\" has no number", s)
                : eg__vocab_put(&t->vocab, op, id, s, (int64_t)n);
    }
    return st;
}

static eg_status vocabulary(eg__reading *r, const eg_json *j)
{
    eg_status st = eg__vocab_of_json(r->op, r->t, eg_json_get(j, "vocab"));
    return st ? st : eg__model_trie(r->op, r->t);
}

/* must: EG_EFORMAT if the vocabulary lacks it; else what is not known has no token. */
static eg_status unknown_in(eg__reading *r, const eg_json *j, bool must)
{
    int64_t n;
    eg__model *m = &r->t->model;
    const char *s = eg__text_in(r, j, "unk_token", &n, must);
    m->unknown = s ? eg__trie_find(&m->trie, s, n) : -1;
    return (s && m->unknown >= 0) || (!must && (!s || !*s)) ? EG_OK
           : s ? eg__fail(EG_EFORMAT, r->op, "the vocabulary has no \"%.60s\", which unknown words become", s)
               : eg__why();
}

static eg_status model_wordpiece(eg__reading *r, const eg_json *j)
{
    eg__model *m = &r->t->model;
    eg_status st = vocabulary(r, j);
    st = st ? st : unknown_in(r, j, true);
    st = st ? st : eg__string_in(r, j, "continuing_subword_prefix", "##", &m->prefix);
    st = st ? st : eg__integer_in(r, j, "max_input_chars_per_word", 100, &m->max_chars);
    m->kind = EG__WORDPIECE;
    m->run = eg__model_wordpiece;
    m->behind = st ? -1 : eg__trie_walk(&m->trie, 0, m->prefix.s, m->prefix.n);
    return st;
}

static eg_status model_words(eg__reading *r, const eg_json *j)
{
    r->t->model.kind = EG__WORDS;
    r->t->model.run = eg__model_words;
    eg_status st = vocabulary(r, j);
    return st ? st : unknown_in(r, j, true);
}

/* Ids of <0x00> to <0xFF>. */
void eg__model_fallback(eg__model *m)
{
    m->ready_bytes = true; /* all of them */
    for (int b = 0; b < 256; b++) {
        char text[8];
        m->byte[b] = eg__trie_find(&m->trie, text, snprintf(text, sizeof text, "<0x%02X>", b));
        m->ready_bytes &= m->byte[b] >= 0;
    }
}

static eg_status merges(eg__reading *r, const eg_json *list)
{
    eg_status st = eg__is_kind(list, EG_JSON_ARRAY) ? EG_OK : eg__fail(EG_EFORMAT, r->op, "\"merges\" is no list");
    for (int64_t i = 0; i < eg_json_count(list) && !st; i++) {
        const eg_json *x = eg_json_at(list, i);
        const eg_json *left = eg_json_count(x) == 2 ? eg_json_at(x, 0) : NULL;
        const eg_json *right = left ? eg_json_at(x, 1) : NULL;
        if (eg__is_kind(left, EG_JSON_TEXT) && eg__is_kind(right, EG_JSON_TEXT)) {
            size_t a, b;
            const char *s = eg_json_text(left, &a), *u = eg_json_text(right, &b);
            st = eg__merge_add(r->op, r->t, s, (int64_t)a, u, (int64_t)b);
            continue;
        }
        size_t n = 0;
        const char *s = eg__is_kind(x, EG_JSON_TEXT) ? eg_json_text(x, &n) : NULL,
                   *blank = s ? memchr(s, ' ', n) : NULL;
        st = blank ? eg__merge_add(r->op, r->t, s, blank - s, blank + 1, s + n - blank - 1)
                   : eg__fail(EG_EFORMAT, r->op, "merge %lld is no pair", (long long)i);
    }
    return st;
}

static eg_status model_bpe(eg__reading *r, const eg_json *j)
{
    eg__model *m = &r->t->model;
    const eg_json *dropout = eg_json_get(j, "dropout");
    if (eg__is_kind(dropout, EG_JSON_NUMBER) && eg_json_number(dropout) != 0) {
        return eg__fail(EG_EFORMAT, r->op, "dropout of merges is not known here");
    }
    m->kind = EG__BPE;
    m->run = eg__model_bpe;
    eg_status st = vocabulary(r, j);
    st = st ? st : eg__string_in(r, j, "continuing_subword_prefix", "", &m->prefix);
    st = st ? st : eg__string_in(r, j, "end_of_word_suffix", "", &m->suffix);
    st = st ? st : unknown_in(r, j, false);
    st = st ? st : merges(r, eg_json_get(j, "merges"));
    m->fuse = eg__flag_in(j, "fuse_unk", false);
    m->whole = eg__flag_in(j, "ignore_merges", false);
    m->fallback = eg__flag_in(j, "byte_fallback", false);
    if (!st && r->bytes) {
        st = eg__bytes_model(r->op, r->t);
    }
    if (!st && m->fallback && (m->prefix.n || m->suffix.n || r->bytes)) {
        bool all = r->bytes && !m->prefix.n && !m->suffix.n; /* then none is ever written as <0x..> */
        for (int b = 0; b < 256; b++) {
            all &= m->byte[b] >= 0;
        }
        m->fallback = false;
        st = all ? EG_OK
                 : eg__fail(EG_EFORMAT, r->op,
                            "byte_fallback with ByteLevel, a prefix or a suffix of words is not supported");
    } else if (!st && m->fallback) {
        eg__model_fallback(m);
    }
    return st;
}

eg_status eg__model_scores(const char *op, eg_tokenizer *t)
{
    eg__model *m = &t->model;
    m->score = eg__counted_alloc(((size_t)t->vocab.piece.n + 1) * sizeof *m->score);
    if (!m->score) {
        return eg__no_memory(op, t->vocab.piece.n);
    }
    memset(m->score, 0, ((size_t)t->vocab.piece.n + 1) * sizeof *m->score);
    return EG_OK;
}

static eg_status model_unigram(eg__reading *r, const eg_json *j)
{
    eg__model *m = &r->t->model;
    const eg_json *vocab = eg_json_get(j, "vocab"), *unknown = eg_json_get(j, "unk_id");
    eg_status st = eg__is_kind(vocab, EG_JSON_ARRAY) ? EG_OK : eg__fail(EG_EFORMAT, r->op, "the vocabulary is no list");
    eg__vocab_expect(&r->t->vocab, eg_json_count(vocab));
    for (int64_t i = 0; i < eg_json_count(vocab) && !st; i++) {
        const eg_json *x = eg_json_at(vocab, i), *s = eg_json_count(x) == 2 ? eg_json_at(x, 0) : NULL;
        size_t n = 0;
        const char *text = eg__is_kind(s, EG_JSON_TEXT) ? eg_json_text(s, &n) : NULL;
        st = text && eg__is_kind(eg_json_at(x, 1), EG_JSON_NUMBER)
                 ? eg__vocab_put(&r->t->vocab, r->op, i, text, (int64_t)n)
                 : eg__fail(EG_EFORMAT, r->op, "token %lld is no text with a score", (long long)i);
    }
    st = st ? st : eg__model_trie(r->op, r->t);
    st = st ? st : eg__model_scores(r->op, r->t);
    double least = 0;
    for (int64_t i = 0; i < eg_json_count(vocab) && !st; i++) {
        m->score[i] = eg_json_number(eg_json_at(eg_json_at(vocab, i), 1));
        least = i && least < m->score[i] ? least : m->score[i];
    }
    int64_t id = -1;
    if (!st && eg__is_kind(unknown, EG_JSON_NUMBER) &&
        (eg_json_integer(unknown, &id) || id < 0 || id >= eg_json_count(vocab))) {
        st = eg__fail(EG_EFORMAT, r->op, "\"unk_id\" is none of the %lld tokens", (long long)eg_json_count(vocab));
    }
    m->unknown = (int32_t)id;
    m->unknown_score = least - 10;
    m->kind = EG__UNIGRAM;
    m->run = eg__model_unigram;
    m->fuse = true;
    m->fallback = eg__flag_in(j, "byte_fallback", false);
    if (!st && m->fallback) {
        eg__model_fallback(m);
    }
    return st;
}

static const eg__kind models[] = {
    {"BPE", model_bpe}, {"Unigram", model_unigram}, {"WordLevel", model_words}, {"WordPiece", model_wordpiece},
    {NULL, NULL},
};

eg_status eg__read_model(eg__reading *r, const eg_json *j)
{
    if (!eg__is_kind(j, EG_JSON_OBJECT)) {
        return eg__fail(EG_EFORMAT, r->op, "there is no model");
    }
    eg_status st = eg_json_get(j, "type")     ? eg__read_kind(r, j, models, "model")
                   : eg_json_get(j, "merges") ? model_bpe(r, j)
                   : eg_json_get(j, "unk_id") ? model_unigram(r, j)
                                              : model_wordpiece(r, j);
    return st || !r->bytes || r->t->model.kind == EG__BPE
               ? st
               : eg__fail(EG_EFORMAT, r->op, "ByteLevel is known here only with BPE");
}
