/* read_json_text.c - what tokenizer.json has of normalisers and of splitters. */
#include "data/tokens/read_json.h"

/* ---- normalisers ------------------------------------------------------------------------------ */

static eg__step *normal(eg__reading *r, eg__pass *pass)
{
    eg__step *s = eg__steps_add(r->op, &r->t->normal);
    if (s) {
        s->pass = pass;
    }
    return s;
}

static eg_status plain(eg__reading *r, eg__pass *pass)
{
    return normal(r, pass) ? EG_OK : eg__why();
}

static eg_status normal_bert(eg__reading *r, const eg_json *j)
{
    eg__step *s = normal(r, eg__normal_bert);
    if (!s) {
        return eg__why();
    }
    s->a = eg__flag_in(j, "clean_text", true);
    s->b = eg__flag_in(j, "handle_chinese_chars", true);
    s->d = eg__flag_in(j, "lowercase", true);
    s->c = eg__flag_in(j, "strip_accents", s->d);
    return EG_OK;
}

static eg_status form(eg__reading *r, bool composed, bool compatible)
{
    eg__step *s = normal(r, eg__normal_form);
    if (!s) {
        return eg__why();
    }
    s->a = composed;
    s->b = compatible;
    return EG_OK;
}

static eg_status normal_nfc(eg__reading *r, const eg_json *j)
{
    (void)j;
    return form(r, true, false);
}

static eg_status normal_nfd(eg__reading *r, const eg_json *j)
{
    (void)j;
    return form(r, false, false);
}

static eg_status normal_nfkc(eg__reading *r, const eg_json *j)
{
    (void)j;
    return form(r, true, true);
}

static eg_status normal_nfkd(eg__reading *r, const eg_json *j)
{
    (void)j;
    return form(r, false, true);
}

static eg_status normal_lower(eg__reading *r, const eg_json *j)
{
    (void)j;
    return plain(r, eg__normal_lower);
}

static eg_status normal_accents(eg__reading *r, const eg_json *j)
{
    (void)j;
    return plain(r, eg__normal_accents);
}

static eg_status normal_nmt(eg__reading *r, const eg_json *j)
{
    (void)j;
    return plain(r, eg__normal_nmt);
}

static eg_status normal_strip(eg__reading *r, const eg_json *j)
{
    eg__step *s = normal(r, eg__normal_strip);
    if (!s) {
        return eg__why();
    }
    s->a = eg__flag_in(j, "strip_left", true);
    s->b = eg__flag_in(j, "strip_right", true);
    return EG_OK;
}

static eg_status normal_replace(eg__reading *r, const eg_json *j)
{
    eg__step *s = normal(r, eg__normal_replace);
    if (!s || !(s->pattern = eg__pattern_in(r, j, "pattern"))) {
        return eg__why();
    }
    return eg__string_in(r, j, "content", NULL, &s->more);
}

static eg_status normal_prepend(eg__reading *r, const eg_json *j)
{
    eg__step *s = normal(r, eg__normal_prepend);
    eg_status st = s ? eg__string_in(r, j, "prepend", NULL, &s->text) : eg__why();
    return st || s->text.n ? st : eg__fail(EG_EFORMAT, r->op, "\"prepend\" is empty");
}

/* The value of a digit of base64. */
static int digit64(int c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

static eg_status decode64(eg__reading *r, const char *s, int64_t n, eg__bytes *to)
{
    uint32_t bits = 0;
    int have = 0;
    for (int64_t i = 0; i < n && s[i] != '='; i++) {
        const int d = digit64((uint8_t)s[i]);
        if (d < 0) {
            return eg__fail(EG_EFORMAT, r->op, "\"precompiled_charsmap\" is no base64");
        }
        bits = bits << 6 | (uint32_t)d;
        have += 6;
        if (have >= 8) {
            have -= 8;
            if (!eg__bytes_add(to, &(uint8_t){(uint8_t)(bits >> have)}, 1)) {
                return eg__no_memory(r->op, n);
            }
        }
    }
    return EG_OK;
}

static eg_status normal_precompiled(eg__reading *r, const eg_json *j)
{
    int64_t n;
    const char *text = eg__text_in(r, j, "precompiled_charsmap", &n, false);
    eg__bytes map = {0};
    if (!text) {
        return eg__is_kind(eg_json_get(j, "precompiled_charsmap"), EG_JSON_NULL) ? EG_OK : eg__why();
    }
    eg__step *s = n ? normal(r, eg__normal_charsmap) : NULL;
    eg_status st = s || !n ? decode64(r, text, n, &map) : eg__why();
    if (s && !st) {
        s->map = eg__charsmap_new(r->op, map.p, map.n);
        st = s->map ? EG_OK : eg__why();
    }
    eg__bytes_free(&map);
    return st;
}

static eg__reader normal_sequence;
const eg__kind eg__normals[] = {
    {"BertNormalizer", normal_bert},
    {"Lowercase", normal_lower},
    {"NFC", normal_nfc},
    {"NFD", normal_nfd},
    {"NFKC", normal_nfkc},
    {"NFKD", normal_nfkd},
    {"Nmt", normal_nmt},
    {"Precompiled", normal_precompiled},
    {"Prepend", normal_prepend},
    {"Replace", normal_replace},
    {"Sequence", normal_sequence},
    {"Strip", normal_strip},
    {"StripAccents", normal_accents},
    {NULL, NULL},
};

static eg_status normal_sequence(eg__reading *r, const eg_json *j)
{
    return eg__read_all(r, j, "normalizers", eg__normals, "normalizer");
}

/* ---- splitters -------------------------------------------------------------------------------- */

static eg__step *splitter(eg__reading *r, eg__pass *pass)
{
    if (r->bytes) {
        return eg__fail_null(EG_EFORMAT, r->op, "a pre-tokenizer after ByteLevel is not supported");
    }
    eg__step *s = eg__steps_add(r->op, &r->t->split);
    if (s) {
        s->pass = pass;
    }
    return s;
}

static eg_status split_bert(eg__reading *r, const eg_json *j)
{
    (void)j;
    return splitter(r, eg__split_bert) ? EG_OK : eg__why();
}

static eg_status split_blanks(eg__reading *r, const eg_json *j)
{
    (void)j;
    return splitter(r, eg__split_blanks) ? EG_OK : eg__why();
}

static eg_status split_whitespace(eg__reading *r, const eg_json *j)
{
    (void)j;
    eg__step *s = splitter(r, eg__split_pattern);
    if (!s) {
        return eg__why();
    }
    s->behaviour = EG__REMOVED;
    s->d = true;
    s->pattern = eg__pattern_words(r->op);
    return s->pattern ? EG_OK : eg__why();
}

static eg_status split_punctuation(eg__reading *r, const eg_json *j)
{
    eg__step *s = splitter(r, eg__split_punctuation);
    return !s ? eg__why() : eg_json_get(j, "behavior") ? eg__behaviour_in(r, j, &s->behaviour) : EG_OK;
}

static eg_status split_digits(eg__reading *r, const eg_json *j)
{
    eg__step *s = splitter(r, eg__split_digits);
    if (!s) {
        return eg__why();
    }
    s->a = eg__flag_in(j, "individual_digits", false);
    return EG_OK;
}

static eg_status split_pattern(eg__reading *r, const eg_json *j)
{
    eg__step *s = splitter(r, eg__split_pattern);
    if (!s || !(s->pattern = eg__pattern_in(r, j, "pattern"))) {
        return eg__why();
    }
    s->d = eg__flag_in(j, "invert", false);
    return eg__behaviour_in(r, j, &s->behaviour);
}

static eg_status split_delimiter(eg__reading *r, const eg_json *j)
{
    eg__step *s = splitter(r, eg__split_pattern);
    int64_t n;
    const char *text = s ? eg__text_in(r, j, "delimiter", &n, true) : NULL;
    if (!text || !(s->pattern = eg__pattern_literal(r->op, text, n))) {
        return eg__why();
    }
    s->behaviour = EG__REMOVED;
    return EG_OK;
}

static eg_status split_bytes(eg__reading *r, const eg_json *j)
{
    eg__step *s = splitter(r, eg__split_bytes);
    if (!s) {
        return eg__why();
    }
    r->bytes = true;
    s->a = eg__flag_in(j, "add_prefix_space", true);
    s->b = eg__flag_in(j, "use_regex", true);
    s->behaviour = EG__ISOLATED;
    s->pattern = s->b ? eg__pattern_new(r->op, EG__GPT2_PATTERN, (int64_t)strlen(EG__GPT2_PATTERN)) : NULL;
    return s->b && !s->pattern ? eg__why() : EG_OK;
}

static eg_status split_metaspace(eg__reading *r, const eg_json *j)
{
    eg__step *s = splitter(r, eg__split_metaspace);
    eg_status st = s ? eg__string_in(r, j, "replacement", NULL, &s->text) : eg__why();
    st = st ? st : eg__scheme_in(r, j, &s->a, &s->b);
    if (!st) {
        s->c = eg__flag_in(j, "split", true);
        s->behaviour = EG__MERGED_BEHIND;
        s->pattern = eg__pattern_literal(r->op, s->text.s, s->text.n);
    }
    return st || s->pattern ? st : eg__why();
}

static eg__reader split_sequence;
const eg__kind eg__splits[] = {
    {"BertPreTokenizer", split_bert},
    {"ByteLevel", split_bytes},
    {"CharDelimiterSplit", split_delimiter},
    {"Digits", split_digits},
    {"Metaspace", split_metaspace},
    {"Punctuation", split_punctuation},
    {"Sequence", split_sequence},
    {"Split", split_pattern},
    {"Whitespace", split_whitespace},
    {"WhitespaceSplit", split_blanks},
    {NULL, NULL},
};

static eg_status split_sequence(eg__reading *r, const eg_json *j)
{
    return eg__read_all(r, j, "pretokenizers", eg__splits, "pre-tokenizer");
}
