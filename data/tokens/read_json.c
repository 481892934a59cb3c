/* read_json.c - tokenizer.json of Hugging Face's `tokenizers`: its fields, and the whole. */
#include "data/tokens/read_json.h"

/* ---- fields ----------------------------------------------------------------------------------- */

bool eg__is_kind(const eg_json *j, eg_json_kind wanted)
{
    return j && eg_json_kind_of(j) == wanted;
}

const char *eg__text_in(eg__reading *r, const eg_json *j, const char *key, int64_t *n, bool must)
{
    const eg_json *v = eg_json_get(j, key);
    size_t bytes = 0;
    if (eg__is_kind(v, EG_JSON_TEXT)) {
        const char *s = eg_json_text(v, &bytes);
        *n = (int64_t)bytes;
        return s;
    }
    *n = 0;
    if (must || (v && !eg__is_kind(v, EG_JSON_NULL))) {
        eg__fail(EG_EFORMAT, r->op, "\"%s\" is %s", key, v ? "no text" : "missing");
    }
    return NULL;
}

eg_status eg__string_in(eg__reading *r, const eg_json *j, const char *key, const char *otherwise, eg__string *to)
{
    int64_t n;
    const char *s = eg__text_in(r, j, key, &n, !otherwise);
    if (!s && (!otherwise || (eg_json_get(j, key) && !eg__is_kind(eg_json_get(j, key), EG_JSON_NULL)))) {
        return eg__why();
    }
    return s ? eg__string_set(to, r->op, s, n) : eg__string_set(to, r->op, otherwise, (int64_t)strlen(otherwise));
}

bool eg__flag_in(const eg_json *j, const char *key, bool otherwise)
{
    const eg_json *v = eg_json_get(j, key);
    return eg__is_kind(v, EG_JSON_BOOL) ? eg_json_bool(v) : otherwise;
}

eg_status eg__integer_in(eg__reading *r, const eg_json *j, const char *key, int64_t otherwise, int64_t *to)
{
    const eg_json *v = eg_json_get(j, key);
    *to = otherwise;
    if (!v || eg__is_kind(v, EG_JSON_NULL)) {
        return EG_OK;
    }
    eg_status st = eg_json_integer(v, to);
    return st || *to < 0 || *to > INT32_MAX
               ? eg__fail(EG_EFORMAT, r->op, "\"%s\" is no number from 0 to %d", key, INT32_MAX)
               : EG_OK;
}

eg_status eg__read_kind(eg__reading *r, const eg_json *j, const eg__kind *kinds, const char *what)
{
    int64_t n;
    const char *type = eg__text_in(r, j, "type", &n, true);
    if (!type) {
        return eg__why();
    }
    for (const eg__kind *k = kinds; k->name; k++) {
        if (!strcmp(k->name, type)) {
            return k->read(r, j);
        }
    }
    return eg__fail(EG_EFORMAT, r->op, "the %s \"%.60s\" is not known here", what, type);
}

eg_status eg__read_all(eg__reading *r, const eg_json *j, const char *key, const eg__kind *kinds, const char *what)
{
    const eg_json *list = eg_json_get(j, key);
    eg_status st = eg__is_kind(list, EG_JSON_ARRAY) ? EG_OK : eg__fail(EG_EFORMAT, r->op, "\"%s\" is no list", key);
    for (int64_t i = 0; i < eg_json_count(list) && !st; i++) {
        st = eg__read_kind(r, eg_json_at(list, i), kinds, what);
    }
    return st;
}

eg__pattern *eg__pattern_in(eg__reading *r, const eg_json *j, const char *key)
{
    const eg_json *p = eg_json_get(j, key);
    int64_t n;
    const char *s = eg_json_get(p, "String") ? eg__text_in(r, p, "String", &n, true) : NULL;
    if (s) {
        return eg__pattern_literal(r->op, s, n);
    }
    s = eg__is_kind(p, EG_JSON_OBJECT) ? eg__text_in(r, p, "Regex", &n, true) : NULL;
    return s ? eg__pattern_new(r->op, s, n) : eg__fail_null(EG_EFORMAT, r->op, "\"%s\" is no pattern", key);
}

eg_status eg__behaviour_in(eg__reading *r, const eg_json *j, eg__behaviour *to)
{
    static const char *const names[] = {"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    int64_t n;
    const char *s = eg__text_in(r, j, "behavior", &n, true);
    for (int i = 0; s && i < EG__COUNT(names); i++) {
        if (!strcmp(s, names[i])) {
            *to = (eg__behaviour)i;
            return EG_OK;
        }
    }
    return s ? eg__fail(EG_EFORMAT, r->op, "the behavior \"%.60s\" is not known here", s) : eg__why();
}

eg_status eg__scheme_in(eg__reading *r, const eg_json *j, bool *always, bool *first)
{
    int64_t n;
    const char *s = eg__text_in(r, j, "prepend_scheme", &n, false);
    *always = !s ? eg__flag_in(j, "add_prefix_space", true) : !strcmp(s, "always");
    *first = s && !strcmp(s, "first");
    return !s || *always || *first || !strcmp(s, "never")
               ? EG_OK
               : eg__fail(EG_EFORMAT, r->op, "the prepend_scheme \"%.60s\" is not known here", s);
}

/* ---- the file --------------------------------------------------------------------------------- */

static eg_status added(eg__reading *r, const eg_json *list)
{
    eg_status st = EG_OK;
    eg__vocab_expect(&r->t->vocab, eg_json_count(list));
    for (int64_t i = 0; i < eg_json_count(list) && !st; i++) {
        const eg_json *x = eg_json_at(list, i);
        int64_t n, id;
        const char *s = eg__text_in(r, x, "content", &n, true);
        st = s ? eg__integer_in(r, x, "id", -1, &id) : eg__why();
        st = st || id >= 0 ? st : eg__fail(EG_EFORMAT, r->op, "the added token \"%.60s\" has no number", s);
        st = st ? st : eg__vocab_put(&r->t->vocab, r->op, id, s, n);
        eg__added *a = st ? NULL : eg__added_add(r->op, r->t, s, n, (int32_t)id);
        if (!a) {
            return st ? st : eg__why();
        }
        a->special = eg__flag_in(x, "special", false);
        a->single_word = eg__flag_in(x, "single_word", false);
        a->left = eg__flag_in(x, "lstrip", false);
        a->right = eg__flag_in(x, "rstrip", false);
        a->normalised = eg__flag_in(x, "normalized", !a->special);
    }
    return st;
}

static eg_status truncation(eg__reading *r, const eg_json *j)
{
    static const char *const names[] = {"LongestFirst", "OnlyFirst", "OnlySecond"};
    int64_t n;
    eg_status st = eg__integer_in(r, j, "max_length", 0, &r->t->max_length);
    st = st ? st : eg__integer_in(r, j, "stride", 0, &r->t->stride);
    const char *s = st ? NULL : eg__text_in(r, j, "strategy", &n, false);
    for (int i = 0; i < EG__COUNT(names) && s; i++) {
        r->t->truncation = strcmp(s, names[i]) ? r->t->truncation : EG_TRUNCATE_LONGEST + i;
    }
    s = st ? NULL : eg__text_in(r, j, "direction", &n, false);
    r->t->cut_front = s && !strcmp(s, "Left");
    return st;
}

static eg_status padding(eg__reading *r, const eg_json *j)
{
    int64_t id = 0, type = 0, n;
    eg_status st = eg__integer_in(r, j, "pad_id", 0, &id);
    st = st ? st : eg__integer_in(r, j, "pad_type_id", 0, &type);
    st = st ? st : eg__integer_in(r, j, "pad_to_multiple_of", 0, &r->t->pad_multiple);
    const eg_json *strategy = eg_json_get(j, "strategy");
    st = st || !eg__is_kind(strategy, EG_JSON_OBJECT) ? st : eg__integer_in(r, strategy, "Fixed", 0, &r->t->pad_length);
    if (!st && (r->t->pad_length > EG__PAD_MOST || r->t->pad_multiple > EG__PAD_MOST)) {
        st =
            eg__fail(EG_EFORMAT, r->op, "texts are padded to %lld tokens, a multiple of %lld; at most %d are supported",
                     (long long)r->t->pad_length, (long long)r->t->pad_multiple, EG__PAD_MOST);
    }
    const char *s = st ? NULL : eg__text_in(r, j, "direction", &n, false);
    r->t->pad_front = s && !strcmp(s, "Left");
    r->t->pad = true;
    r->t->pad_id = (int32_t)id;
    r->t->pad_type = (int32_t)type;
    return st;
}

static eg_status part(eg__reading *r, const eg_json *j, const char *key, const eg__kind *kinds, const char *what)
{
    const eg_json *v = eg_json_get(j, key);
    return eg__is_kind(v, EG_JSON_OBJECT) ? eg__read_kind(r, v, kinds, what) : EG_OK;
}

eg_tokenizer *eg__tokenizer_of_json(const char *op, const eg_json *j)
{
    eg__reading r = {.op = op, .t = eg__tokenizer_new(op)};
    if (!r.t) {
        return NULL;
    }
    eg_status st = part(&r, j, "normalizer", eg__normals, "normalizer");
    st = st ? st : part(&r, j, "pre_tokenizer", eg__splits, "pre-tokenizer");
    st = st ? st : eg__read_model(&r, eg_json_get(j, "model"));
    st = st ? st : part(&r, j, "post_processor", eg__behinds, "post-processor");
    st = st ? st : part(&r, j, "decoder", eg__decoders, "decoder");
    if (!st && !eg__is_kind(eg_json_get(j, "decoder"), EG_JSON_OBJECT)) {
        eg__step *s = eg__decoder_add(&r, eg__decode_words);
        st = s ? EG_OK : eg__why();
    }
    st = st ? st : added(&r, eg_json_get(j, "added_tokens"));
    const eg_json *cut = eg_json_get(j, "truncation"), *pad = eg_json_get(j, "padding");
    st = st || !eg__is_kind(cut, EG_JSON_OBJECT) ? st : truncation(&r, cut);
    st = st || !eg__is_kind(pad, EG_JSON_OBJECT) ? st : padding(&r, pad);
    r.t->of_file = true;
    st = st ? st : eg__tokenizer_finish(op, r.t);
    if (st) {
        eg_tokenizer_free(r.t);
    }
    return st ? NULL : r.t;
}
