/* make.c - tokenizers from what a program has: vocabularies, vocab.json with merges.txt. */
#include "data/readers/stream.h"
#include "data/tokens/tokens.h"
#include "lib/core/live.h"
#include "lib/io/file.h"

/* ---- bytes as characters ---------------------------------------------------------------------------- */

static bool stands_for_itself(int b)
{
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
}

int32_t eg__byte_character(uint8_t b)
{
    if (stands_for_itself(b)) {
        return b;
    }
    return b <= 32 ? 256 + b : b <= 160 ? 256 + 33 + b - 127 : 256 + 33 + 34;
}

int eg__character_byte(int32_t c)
{
    if (c < 256) {
        return c >= 0 && stands_for_itself(c) ? c : -1;
    }
    c -= 256;
    return c < 33 ? c : c < 67 ? 127 + c - 33 : c == 67 ? 173 : -1;
}

/* ---- what all have ------------------------------------------------------------------------------------ */

/* Words by number, and the trie of them. */
static eg_status take_words(const char *op, eg_tokenizer *t, const eg_vocabulary *v)
{
    eg_status st = EG_OK;
    for (int64_t i = 0; i < eg_vocabulary_size(v) && !st; i++) {
        const char *s = eg_vocabulary_word(v, i);
        st = eg__vocab_put(&t->vocab, op, i, s, (int64_t)strlen(s));
    }
    return st ? st : eg__model_trie(op, t);
}

static eg_status unknown_word(const char *op, eg_tokenizer *t, const char *word)
{
    t->model.unknown = eg__trie_find(&t->model.trie, word, (int64_t)strlen(word));
    return t->model.unknown >= 0
               ? EG_OK
               : eg__fail(EG_EINVAL, op, "the vocabulary has no \"%.60s\", which unknown words become", word);
}

static eg_tokenizer *finished(const char *op, eg_tokenizer *t, eg_status st)
{
    st = st ? st : eg__tokenizer_finish(op, t);
    if (st) {
        eg_tokenizer_free(t);
    }
    return st ? NULL : t;
}

/* ---- WordPiece ------------------------------------------------------------------------------------------ */

static eg_status wordpiece(const char *op, eg_tokenizer *t, const eg_vocabulary *v, const eg_wordpiece_options *o)
{
    const char *prefix = o->prefix ? o->prefix : "##";
    eg_status st = take_words(op, t, v);
    st = st ? st : unknown_word(op, t, o->unknown ? o->unknown : "[UNK]");
    eg__step *normal = st ? NULL : eg__steps_add(op, &t->normal);
    eg__step *split = normal ? eg__steps_add(op, &t->split) : NULL;
    eg__step *decode = split ? eg__steps_add(op, &t->decode) : NULL;
    if (!decode) {
        return st ? st : eg__why();
    }
    normal->pass = eg__normal_bert;
    normal->a = true;
    normal->b = !o->ideographs;
    normal->c = normal->d = !o->cased;
    split->pass = eg__split_bert;
    decode->decode = eg__decode_wordpiece;
    decode->a = true;
    st = eg__string_set(&decode->text, op, prefix, (int64_t)strlen(prefix));
    t->model.kind = EG__WORDPIECE;
    t->model.run = eg__model_wordpiece;
    t->model.max_chars = o->max_chars ? o->max_chars : 100;
    t->model.behind = eg__trie_walk(&t->model.trie, 0, prefix, (int64_t)strlen(prefix));
    static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    for (int i = 0; i < EG__COUNT(specials) && !st; i++) {
        const int64_t n = (int64_t)strlen(specials[i]);
        const int32_t id = eg__trie_find(&t->model.trie, specials[i], n);
        eg__added *a = id >= 0 ? eg__added_add(op, t, specials[i], n, id) : NULL;
        st = id >= 0 && !a ? eg__why() : EG_OK;
        if (a) {
            a->special = true;
        }
    }
    return st;
}

eg_tokenizer *eg_wordpiece_new_with(const eg_vocabulary *v, const eg_wordpiece_options *options)
{
    static const char op[] = "eg_wordpiece_new";
    eg_wordpiece_options o;
    eg__options(&o, sizeof o, options);
    if (!v || o.max_chars < 0) {
        return v ? eg__fail_null(EG_EINVAL, op, "max_chars is %lld, must be 1 at least", (long long)o.max_chars)
                 : (eg__null_argument(op, "v"), NULL);
    }
    eg_tokenizer *t = eg__tokenizer_new(op);
    if (!t || !(t = finished(op, t, wordpiece(op, t, v, &o)))) {
        return NULL;
    }
    const bool framed = t->names[EG_SPECIAL_CLS] >= 0 && t->names[EG_SPECIAL_SEP] >= 0;
    if (framed && eg_tokenizer_frame(t, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")) {
        eg_tokenizer_free(t);
        return NULL;
    }
    return t;
}

/* ---- whole words -------------------------------------------------------------------------------------------- */

static eg_status words(const char *op, eg_tokenizer *t, const eg_vocabulary *v, const eg_word_tokenizer_options *o)
{
    eg_status st = take_words(op, t, v);
    st = st || !o->unknown ? st : unknown_word(op, t, o->unknown);
    if (o->lower && !st) {
        eg__step *s = eg__steps_add(op, &t->normal);
        st = s ? EG_OK : eg__why();
        if (s) {
            s->pass = eg__normal_lower;
        }
    }
    if (o->blank && !st) {
        eg__step *s = eg__steps_add(op, &t->normal);
        st = s ? eg__string_set(&s->text, op, o->blank, (int64_t)strlen(o->blank)) : eg__why();
        if (s) {
            s->pass = eg__normal_blanks;
        }
    }
    eg__step *split = st ? NULL : eg__steps_add(op, &t->split);
    eg__step *decode = split ? eg__steps_add(op, &t->decode) : NULL;
    if (!decode) {
        return st ? st : eg__why();
    }
    split->pass = o->pattern ? eg__split_pattern : eg__split_blanks;
    split->behaviour = EG__REMOVED;
    split->d = true; /* what stands between matches is what goes */
    split->pattern = o->pattern ? eg__pattern_new(op, o->pattern, (int64_t)strlen(o->pattern)) : NULL;
    decode->decode = eg__decode_words;
    t->model.kind = EG__WORDS;
    t->model.run = eg__model_words;
    t->model.silent = true;
    return o->pattern && !split->pattern ? eg__why() : EG_OK;
}

eg_tokenizer *eg_word_tokenizer_new_with(const eg_vocabulary *v, const eg_word_tokenizer_options *options)
{
    static const char op[] = "eg_word_tokenizer_new";
    eg_word_tokenizer_options o;
    eg__options(&o, sizeof o, options);
    if (!v) {
        return eg__null_argument(op, "v"), NULL;
    }
    if (o.blank && !eg__utf8(o.blank, (int64_t)strlen(o.blank))) {
        return eg__fail_null(EG_EFORMAT, op, ".blank is no UTF-8");
    }
    eg_tokenizer *t = eg__tokenizer_new(op);
    return t ? finished(op, t, words(op, t, v, &o)) : NULL;
}

/* ---- byte-pair encoding of bytes ------------------------------------------------------------------------------- */

eg_status eg__bytes_model(const char *op, eg_tokenizer *t)
{
    eg__model *m = &t->model;
    m->kind = EG__BPE;
    m->run = eg__model_bpe;
    m->bytes = true;
    bool all = !m->prefix.n && !m->suffix.n;
    for (int b = 0; b < 256; b++) {
        uint8_t c[4];
        m->byte[b] = eg__trie_find(&m->trie, c, eg__put_character(c, eg__byte_character((uint8_t)b)));
        all &= m->byte[b] >= 0;
    }
    m->loses = !all && m->unknown < 0;
    (void)op;
    return EG_OK;
}

eg_status eg__merge_add(const char *op, eg_tokenizer *t, const char *a, int64_t na, const char *b, int64_t nb)
{
    eg__model *m = &t->model;
    const int32_t left = eg__trie_find(&m->trie, a, na), right = eg__trie_find(&m->trie, b, nb);
    const int64_t skip = m->prefix.n;
    if (nb < skip || (skip && memcmp(b, m->prefix.s, (size_t)skip))) {
        return eg__fail(EG_EFORMAT, op, "merge %u, \"%.*s %.*s\": the second piece does not begin with \"%.20s\"",
                        (unsigned)m->merges, (int)eg__min(na, 40), a, (int)eg__min(nb, 40), b, m->prefix.s);
    }
    const int32_t node = eg__trie_walk(&m->trie, 0, a, na);
    const int32_t both = node >= 0 ? eg__trie_walk(&m->trie, node, b + skip, nb - skip) : -1;
    const int32_t id = both >= 0 ? m->trie.node[both].value : -1;
    if (left < 0 || right < 0 || id < 0) {
        return eg__fail(EG_EFORMAT, op, "merge %u, \"%.*s %.*s\", is of pieces that the vocabulary has not",
                        (unsigned)m->merges, (int)eg__min(na, 40), a, (int)eg__min(nb, 40), b);
    }
    return eg__merges_put(m, op, left, right, (int32_t)m->merges, id);
}

static eg_status read_vocabulary(const char *op, eg_tokenizer *t, const char *path)
{
    eg_json *j = eg_json_load(path);
    eg_status st = j ? eg__vocab_of_json(op, t, j) : eg__why();
    eg_json_free(j);
    return st ? st : eg__model_trie(op, t);
}

static eg_status read_merges(const char *op, eg_tokenizer *t, const char *path)
{
    eg__stream s;
    eg__bytes line = {0};
    bool more = true;
    eg_status st = eg__stream_open(&s, op, path, EG_COMPRESSION_AUTO);
    if (st) {
        return st;
    }
    s.whole = true;
    for (int64_t k = 0; more && !st; k++) {
        st = eg__stream_line(&s, &line, 1 << 20, &more);
        const char *p = (const char *)line.p;
        const char *blank = !st && more && line.n ? memchr(p, ' ', (size_t)line.n) : NULL;
        if (st || !more || !line.n || (k == 0 && line.n > 8 && !memcmp(p, "#version", 8))) {
            continue;
        }
        st = blank ? eg__merge_add(op, t, p, blank - p, blank + 1, p + line.n - blank - 1)
                   : eg__fail(EG_EFORMAT, op, "%s: line %lld is no pair", path, (long long)k + 1);
    }
    eg__stream_close(&s);
    eg__bytes_free(&line);
    return st;
}

static eg_status byte_bpe(const char *op, eg_tokenizer *t, const char *vocabulary, const char *merges,
                          const eg_byte_bpe_options *o)
{
    eg_status st = read_vocabulary(op, t, vocabulary);
    st = st ? st : eg__bytes_model(op, t);
    st = st ? st : read_merges(op, t, merges);
    st = st ? st : eg__bytes_steps(op, t, o->pattern, o->prefix);
    const char end[] = "<|endoftext|>";
    const int32_t id = st ? -1 : eg__trie_find(&t->model.trie, end, sizeof end - 1);
    eg__added *a = id >= 0 ? eg__added_add(op, t, end, sizeof end - 1, id) : NULL;
    if (a) {
        a->special = true;
    }
    return st || a || id < 0 ? st : eg__why();
}

eg_status eg__bytes_steps(const char *op, eg_tokenizer *t, const char *pattern, bool prefix)
{
    eg__step *split = eg__steps_add(op, &t->split), *decode = split ? eg__steps_add(op, &t->decode) : NULL;
    if (!decode) {
        return eg__why();
    }
    pattern = pattern ? pattern : EG__GPT2_PATTERN;
    split->pass = eg__split_bytes;
    split->a = prefix;
    split->b = true;
    split->behaviour = EG__ISOLATED;
    split->pattern = eg__pattern_new(op, pattern, (int64_t)strlen(pattern));
    decode->decode = eg__decode_bytes;
    return split->pattern ? EG_OK : eg__why();
}

eg_tokenizer *eg_byte_bpe_new_with(const char *vocabulary, const char *merges, const eg_byte_bpe_options *options)
{
    static const char op[] = "eg_byte_bpe_new";
    eg_byte_bpe_options o;
    eg__options(&o, sizeof o, options);
    if (!vocabulary || !merges) {
        return eg__null_argument(op, vocabulary ? "merges" : "vocabulary"), NULL;
    }
    eg_tokenizer *t = eg__tokenizer_new(op);
    return t ? finished(op, t, byte_bpe(op, t, vocabulary, merges, &o)) : NULL;
}
