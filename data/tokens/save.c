/* save.c - a tokenizer as a file that others read too. */
#include "data/tokens/tokens.h"
#include "lib/io/file.h"

static const char op[] = "eg_tokenizer_save";

/* ---- subtokens: a line each, in quotes ------------------------------------------------------------------ */

static eg_status save_subtokens(const eg_tokenizer *t, const char *path)
{
    eg__bytes out = {0};
    eg_status st = EG_OK;
    for (uint32_t i = 0; i < t->vocab.piece.n && !st; i++) {
        const eg__extent p = t->vocab.piece.p[i];
        const bool good = eg__bytes_add(&out, "'", 1) &&
                          eg__bytes_add(&out, t->vocab.text.p + p.begin, p.end - p.begin) &&
                          eg__bytes_add(&out, "'\n", 2);
        st = good ? EG_OK : eg__no_memory(op, out.n);
    }
    st = st ? st : eg__file_write(op, path, out.p, (size_t)out.n);
    eg__bytes_free(&out);
    return st;
}

/* ---- tokenizer.json ---------------------------------------------------------------------------------------- */

static eg_json *typed(eg_json *in, const char *key, const char *type)
{
    eg_json *j = eg_json_add_object(in, key);
    return j && !eg_json_add_text(j, "type", type, strlen(type)) ? j : NULL;
}

static const char *token(const eg_tokenizer *t, int64_t id, size_t *n)
{
    const eg__extent p = t->vocab.piece.p[id];
    *n = p.end - p.begin;
    return (const char *)t->vocab.text.p + p.begin;
}

static eg_status add_vocabulary(const eg_tokenizer *t, eg_json *model)
{
    eg_json *vocab = eg_json_add_object(model, "vocab");
    eg_status st = vocab ? EG_OK : eg__why();
    for (uint32_t i = 0; i < t->vocab.piece.n && !st; i++) {
        size_t n;
        const char *s = token(t, i, &n);
        char key[1024];
        if (t->vocab.piece.p[i].end < t->vocab.piece.p[i].begin ||
            eg__trie_find(&t->model.trie, s, (int64_t)n) != (int32_t)i) {
            continue;
        }
        if (n >= sizeof key || memchr(s, '\0', n)) {
            return eg__fail(EG_EINVAL, op, "token %u is too long, or holds a 0", (unsigned)i);
        }
        memcpy(key, s, n);
        key[n] = '\0';
        st = eg_json_add_integer(vocab, key, i);
    }
    return st;
}

/* Merges in the order of their ranks. */
static eg_status add_merges(const eg_tokenizer *t, eg_json *model)
{
    const eg__model *m = &t->model;
    const eg__merge **by_rank = eg__counted_alloc((m->merges + 1) * sizeof(eg__merge *));
    eg_json *list = by_rank ? eg_json_add_array(model, "merges") : NULL;
    eg_status st = list ? EG_OK : by_rank ? eg__why() : eg__no_memory(op, m->merges);
    for (uint32_t i = 0; i < m->merges && by_rank; i++) {
        by_rank[i] = NULL;
    }
    for (uint32_t i = 0; i < m->slots && by_rank; i++) {
        if (m->merge[i].rank >= 0 && (uint32_t)m->merge[i].rank < m->merges) {
            by_rank[m->merge[i].rank] = &m->merge[i];
        }
    }
    for (uint32_t i = 0; i < m->merges && !st; i++) {
        if (by_rank[i]) {
            eg_json *pair = eg_json_add_array(list, NULL);
            for (int k = 0; k < 2 && !st; k++) {
                size_t n;
                const uint64_t p = by_rank[i]->pair;
                const char *s = token(t, (int64_t)(k ? (uint32_t)p : p >> 32), &n);
                st = pair ? eg_json_add_text(pair, NULL, s, n) : eg__why();
            }
        }
    }
    eg__counted_free((void *)by_rank);
    return st;
}

static eg_status add_unknown(const eg_tokenizer *t, eg_json *model)
{
    size_t n;
    if (t->model.unknown < 0) {
        return eg_json_add_null(model, "unk_token");
    }
    const char *s = token(t, t->model.unknown, &n);
    return eg_json_add_text(model, "unk_token", s, n);
}

static eg_status add_model(const eg_tokenizer *t, eg_json *root)
{
    const eg__model *m = &t->model;
    eg_json *j = typed(root, "model",
                       m->kind == EG__WORDPIECE ? "WordPiece"
                       : m->kind == EG__BPE     ? "BPE"
                                                : "WordLevel");
    eg_status st = j ? add_unknown(t, j) : eg__why();
    if (m->kind == EG__WORDPIECE) {
        const eg__string *prefix = &t->decode.p[0].text;
        st = st ? st : eg_json_add_text(j, "continuing_subword_prefix", prefix->s, (size_t)prefix->n);
        st = st ? st : eg_json_add_integer(j, "max_input_chars_per_word", m->max_chars);
    }
    if (m->kind == EG__BPE) {
        st = st ? st : eg_json_add_null(j, "dropout");
        st = st ? st : eg_json_add_null(j, "continuing_subword_prefix");
        st = st ? st : eg_json_add_null(j, "end_of_word_suffix");
        st = st ? st : eg_json_add_bool(j, "fuse_unk", m->fuse);
        st = st ? st : eg_json_add_bool(j, "byte_fallback", false);
        st = st ? st : add_merges(t, j);
    }
    return st ? st : add_vocabulary(t, j);
}

static eg_status add_pattern(eg_json *j, const eg__pattern *p)
{
    eg_json *pattern = eg_json_add_object(j, "pattern");
    return pattern ? eg_json_add_text(pattern, "Regex", p->text, (size_t)p->bytes) : eg__why();
}

static eg_status add_normal(const eg_tokenizer *t, eg_json *root)
{
    if (!t->normal.n) {
        return eg_json_add_null(root, "normalizer");
    }
    const eg__step *s = &t->normal.p[0];
    eg_json *j = typed(root, "normalizer", t->model.kind == EG__WORDPIECE ? "BertNormalizer" : "Lowercase");
    eg_status st = j ? EG_OK : eg__why();
    if (t->model.kind == EG__WORDPIECE) {
        st = st ? st : eg_json_add_bool(j, "clean_text", s->a);
        st = st ? st : eg_json_add_bool(j, "handle_chinese_chars", s->b);
        st = st ? st : eg_json_add_bool(j, "strip_accents", s->c);
        st = st ? st : eg_json_add_bool(j, "lowercase", s->d);
    }
    return st;
}

static eg_status add_split(const eg_tokenizer *t, eg_json *root)
{
    const eg__step *s = &t->split.p[0];
    eg_status st = EG_OK;
    if (s->pass == eg__split_bytes && (!s->b || !strcmp(s->pattern->text, EG__GPT2_PATTERN))) {
        eg_json *j = typed(root, "pre_tokenizer", "ByteLevel");
        st = j ? eg_json_add_bool(j, "add_prefix_space", s->a) : eg__why();
        st = st ? st : eg_json_add_bool(j, "trim_offsets", true);
        return st ? st : eg_json_add_bool(j, "use_regex", s->b);
    }
    if (s->pass == eg__split_bytes) {
        eg_json *both = typed(root, "pre_tokenizer", "Sequence");
        eg_json *list = both ? eg_json_add_array(both, "pretokenizers") : NULL;
        eg_json *first = list ? typed(list, NULL, "Split") : NULL;
        st = first ? add_pattern(first, s->pattern) : eg__why();
        st = st ? st : eg_json_add_text(first, "behavior", "Isolated", 8);
        st = st ? st : eg_json_add_bool(first, "invert", false);
        eg_json *bytes = st ? NULL : typed(list, NULL, "ByteLevel");
        st = st ? st : bytes ? eg_json_add_bool(bytes, "add_prefix_space", s->a) : eg__why();
        st = st ? st : eg_json_add_bool(bytes, "trim_offsets", true);
        return st ? st : eg_json_add_bool(bytes, "use_regex", false);
    }
    if (s->pass == eg__split_pattern && !eg__is_pattern_words(s->pattern)) {
        eg_json *j = typed(root, "pre_tokenizer", "Split");
        st = j ? add_pattern(j, s->pattern) : eg__why();
        st = st ? st : eg_json_add_text(j, "behavior", "Removed", 7);
        return st ? st : eg_json_add_bool(j, "invert", s->d);
    }
    return typed(root, "pre_tokenizer",
                 s->pass == eg__split_bert      ? "BertPreTokenizer"
                 : s->pass == eg__split_pattern ? "Whitespace"
                                                : "WhitespaceSplit")
               ? EG_OK
               : eg__why();
}

static eg_status add_template(const eg_tokenizer *t, eg_json *j, bool pair, eg_json *specials)
{
    const eg__frame *f = pair ? &t->pair : &t->single;
    eg_json *list = eg_json_add_array(j, pair ? "pair" : "single");
    eg_status st = list ? EG_OK : eg__why();
    for (uint32_t i = 0; i < f->n && !st; i++) {
        const bool special = f->p[i].id >= 0;
        size_t n = 1;
        const char *s = special ? token(t, f->p[i].id, &n) : f->p[i].id == EG__TEXT_B ? "B" : "A";
        eg_json *part = eg_json_add_object(list, NULL);
        eg_json *x = part ? eg_json_add_object(part, special ? "SpecialToken" : "Sequence") : NULL;
        st = x ? eg_json_add_text(x, "id", s, n) : eg__why();
        st = st ? st : eg_json_add_integer(x, "type_id", f->p[i].type);
        if (special && !st) {
            eg_json *about = eg_json_add_object(specials, s);
            st = about ? eg_json_add_text(about, "id", s, n) : eg__why();
            eg_json *ids = st ? NULL : eg_json_add_array(about, "ids");
            st = st ? st : ids ? eg_json_add_integer(ids, NULL, f->p[i].id) : eg__why();
            eg_json *tokens = st ? NULL : eg_json_add_array(about, "tokens");
            st = st ? st : tokens ? eg_json_add_text(tokens, NULL, s, n) : eg__why();
        }
    }
    return st;
}

static eg_status add_behind(const eg_tokenizer *t, eg_json *root)
{
    if (!t->single.n) {
        return eg_json_add_null(root, "post_processor");
    }
    eg_json *j = typed(root, "post_processor", "TemplateProcessing");
    eg_json *specials = j ? eg_json_add_object(j, "special_tokens") : NULL;
    eg_status st = specials ? add_template(t, j, false, specials) : eg__why();
    return st ? st : add_template(t, j, true, specials);
}

static eg_status add_decoder(const eg_tokenizer *t, eg_json *root)
{
    const eg__step *s = &t->decode.p[0];
    if (s->decode == eg__decode_bytes) {
        return typed(root, "decoder", "ByteLevel") ? EG_OK : eg__why();
    }
    if (s->decode != eg__decode_wordpiece) {
        return eg_json_add_null(root, "decoder");
    }
    eg_json *j = typed(root, "decoder", "WordPiece");
    eg_status st = j ? eg_json_add_text(j, "prefix", s->text.s, (size_t)s->text.n) : eg__why();
    return st ? st : eg_json_add_bool(j, "cleanup", s->a);
}

static eg_status add_added(const eg_tokenizer *t, eg_json *root)
{
    eg_json *list = eg_json_add_array(root, "added_tokens");
    eg_status st = list ? EG_OK : eg__why();
    for (uint32_t i = 0; i < t->added.n && !st; i++) {
        const eg__added *a = &t->added.p[i];
        eg_json *j = eg_json_add_object(list, NULL);
        st = j ? eg_json_add_integer(j, "id", a->id) : eg__why();
        st = st ? st : eg_json_add_text(j, "content", a->text.s, (size_t)a->text.n);
        st = st ? st : eg_json_add_bool(j, "single_word", a->single_word);
        st = st ? st : eg_json_add_bool(j, "lstrip", a->left);
        st = st ? st : eg_json_add_bool(j, "rstrip", a->right);
        st = st ? st : eg_json_add_bool(j, "normalized", a->normalised);
        st = st ? st : eg_json_add_bool(j, "special", a->special);
    }
    return st;
}

static eg_status add_all(const eg_tokenizer *t, eg_json *root)
{
    eg_status st = eg_json_add_text(root, "version", "1.0", 3);
    st = st ? st : eg_json_add_null(root, "truncation");
    st = st ? st : eg_json_add_null(root, "padding");
    st = st ? st : add_added(t, root);
    st = st ? st : add_normal(t, root);
    st = st ? st : add_split(t, root);
    st = st ? st : add_behind(t, root);
    st = st ? st : add_decoder(t, root);
    return st ? st : add_model(t, root);
}

eg_status eg_tokenizer_save(const eg_tokenizer *t, const char *path)
{
    if (!t || !path) {
        return eg__null_argument(op, t ? "path" : "t");
    }
    if (t->model.kind == EG__SUBTOKENS) {
        return save_subtokens(t, path);
    }
    const bool blanks = t->normal.n > 1 || (t->normal.n && t->normal.p[0].pass == eg__normal_blanks);
    if (t->of_file || blanks) {
        return eg__fail(EG_EINVAL, op,
                        blanks ? "characters that become blanks have no place in such a file"
                               : "the tokenizer is from a file: that is there");
    }
    eg_json *root = eg_json_object();
    eg_status st = root ? add_all(t, root) : eg__why();
    st = st ? st : eg_json_save(root, path);
    eg_json_free(root);
    return st;
}
