/* read_json.c - tokenizer.json of Hugging Face's `tokenizers`. Each part has a type, and is read by the row of a table
 * with its name; what is in no table is refused by name. */
#include <stdlib.h>

#include "data/tokens/tokens.h"

typedef struct reading {
    const char *op;
    eg_tokenizer *t;
    bool bytes; /* pieces go to the model as bytes */
} reading;

typedef eg_status reader(reading *r, const eg_json *j);
typedef struct kind {
    const char *name;
    reader *read;
} kind;

/* ---- fields ------------------------------------------------------------------------------------------ */

static bool is(const eg_json *j, eg_json_kind wanted)
{
    return j && eg_json_kind_of(j) == wanted;
}

/* A text; NULL, with words, if there is none and it must be. */
static const char *text_in(reading *r, const eg_json *j, const char *key, int64_t *n, bool must)
{
    const eg_json *v = eg_json_get(j, key);
    size_t bytes = 0;
    if (is(v, EG_JSON_TEXT)) {
        const char *s = eg_json_text(v, &bytes);
        *n = (int64_t)bytes;
        return s;
    }
    *n = 0;
    if (must || (v && !is(v, EG_JSON_NULL))) {
        eg__fail(EG_EFORMAT, r->op, "\"%s\" is %s", key, v ? "no text" : "missing");
    }
    return NULL;
}

/* A text as it is, or what there is without it. */
static eg_status string_in(reading *r, const eg_json *j, const char *key, const char *otherwise, eg__string *to)
{
    int64_t n;
    const char *s = text_in(r, j, key, &n, !otherwise);
    if (!s && (!otherwise || (eg_json_get(j, key) && !is(eg_json_get(j, key), EG_JSON_NULL)))) {
        return eg__why();
    }
    return s ? eg__string_set(to, r->op, s, n) : eg__string_set(to, r->op, otherwise, (int64_t)strlen(otherwise));
}

static bool flag_in(const eg_json *j, const char *key, bool otherwise)
{
    const eg_json *v = eg_json_get(j, key);
    return is(v, EG_JSON_BOOL) ? eg_json_bool(v) : otherwise;
}

static eg_status integer_in(reading *r, const eg_json *j, const char *key, int64_t otherwise, int64_t *to)
{
    const eg_json *v = eg_json_get(j, key);
    *to = otherwise;
    if (!v || is(v, EG_JSON_NULL)) {
        return EG_OK;
    }
    eg_status st = eg_json_integer(v, to);
    return st || *to < 0 || *to > INT32_MAX
               ? eg__fail(EG_EFORMAT, r->op, "\"%s\" is no number from 0 to %d", key, INT32_MAX)
               : EG_OK;
}

/* Reads a part by its type. */
static eg_status read_kind(reading *r, const eg_json *j, const kind *kinds, const char *what)
{
    int64_t n;
    const char *type = text_in(r, j, "type", &n, true);
    if (!type) {
        return eg__why();
    }
    for (const kind *k = kinds; k->name; k++) {
        if (!strcmp(k->name, type)) {
            return k->read(r, j);
        }
    }
    return eg__fail(EG_EFORMAT, r->op, "the %s \"%.60s\" is not known here", what, type);
}

static eg_status read_all(reading *r, const eg_json *j, const char *key, const kind *kinds, const char *what)
{
    const eg_json *list = eg_json_get(j, key);
    eg_status st = is(list, EG_JSON_ARRAY) ? EG_OK : eg__fail(EG_EFORMAT, r->op, "\"%s\" is no list", key);
    for (int64_t i = 0; i < eg_json_count(list) && !st; i++) {
        st = read_kind(r, eg_json_at(list, i), kinds, what);
    }
    return st;
}

/* {"String": ...} or {"Regex": ...}. */
static eg__pattern *pattern_in(reading *r, const eg_json *j, const char *key)
{
    const eg_json *p = eg_json_get(j, key);
    int64_t n;
    const char *s = eg_json_get(p, "String") ? text_in(r, p, "String", &n, true) : NULL;
    if (s) {
        return eg__pattern_literal(r->op, s, n);
    }
    s = is(p, EG_JSON_OBJECT) ? text_in(r, p, "Regex", &n, true) : NULL;
    return s ? eg__pattern_new(r->op, s, n) : eg__fail_null(EG_EFORMAT, r->op, "\"%s\" is no pattern", key);
}

static eg_status behaviour_in(reading *r, const eg_json *j, eg__behaviour *to)
{
    static const char *const names[] = {"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    int64_t n;
    const char *s = text_in(r, j, "behavior", &n, true);
    for (int i = 0; s && i < EG__COUNT(names); i++) {
        if (!strcmp(s, names[i])) {
            *to = (eg__behaviour)i;
            return EG_OK;
        }
    }
    return s ? eg__fail(EG_EFORMAT, r->op, "the behavior \"%.60s\" is not known here", s) : eg__why();
}

/* ---- normalisers ---------------------------------------------------------------------------------------- */

static eg__step *normal(reading *r, eg__pass *pass)
{
    eg__step *s = eg__steps_add(r->op, &r->t->normal);
    if (s) {
        s->pass = pass;
    }
    return s;
}

static eg_status plain(reading *r, eg__pass *pass)
{
    return normal(r, pass) ? EG_OK : eg__why();
}

static eg_status normal_bert(reading *r, const eg_json *j)
{
    eg__step *s = normal(r, eg__normal_bert);
    if (!s) {
        return eg__why();
    }
    s->a = flag_in(j, "clean_text", true);
    s->b = flag_in(j, "handle_chinese_chars", true);
    s->d = flag_in(j, "lowercase", true);
    s->c = flag_in(j, "strip_accents", s->d);
    return EG_OK;
}

static eg_status form(reading *r, bool composed, bool compatible)
{
    eg__step *s = normal(r, eg__normal_form);
    if (!s) {
        return eg__why();
    }
    s->a = composed;
    s->b = compatible;
    return EG_OK;
}

static eg_status normal_nfc(reading *r, const eg_json *j)
{
    (void)j;
    return form(r, true, false);
}

static eg_status normal_nfd(reading *r, const eg_json *j)
{
    (void)j;
    return form(r, false, false);
}

static eg_status normal_nfkc(reading *r, const eg_json *j)
{
    (void)j;
    return form(r, true, true);
}

static eg_status normal_nfkd(reading *r, const eg_json *j)
{
    (void)j;
    return form(r, false, true);
}

static eg_status normal_lower(reading *r, const eg_json *j)
{
    (void)j;
    return plain(r, eg__normal_lower);
}

static eg_status normal_accents(reading *r, const eg_json *j)
{
    (void)j;
    return plain(r, eg__normal_accents);
}

static eg_status normal_nmt(reading *r, const eg_json *j)
{
    (void)j;
    return plain(r, eg__normal_nmt);
}

static eg_status normal_strip(reading *r, const eg_json *j)
{
    eg__step *s = normal(r, eg__normal_strip);
    if (!s) {
        return eg__why();
    }
    s->a = flag_in(j, "strip_left", true);
    s->b = flag_in(j, "strip_right", true);
    return EG_OK;
}

static eg_status normal_replace(reading *r, const eg_json *j)
{
    eg__step *s = normal(r, eg__normal_replace);
    if (!s || !(s->pattern = pattern_in(r, j, "pattern"))) {
        return eg__why();
    }
    return string_in(r, j, "content", NULL, &s->more);
}

static eg_status normal_prepend(reading *r, const eg_json *j)
{
    eg__step *s = normal(r, eg__normal_prepend);
    return s ? string_in(r, j, "prepend", NULL, &s->text) : eg__why();
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

static eg_status decode64(reading *r, const char *s, int64_t n, eg__bytes *to)
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

static eg_status normal_precompiled(reading *r, const eg_json *j)
{
    int64_t n;
    const char *text = text_in(r, j, "precompiled_charsmap", &n, false);
    eg__bytes map = {0};
    if (!text) {
        return is(eg_json_get(j, "precompiled_charsmap"), EG_JSON_NULL) ? EG_OK : eg__why();
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

static reader normal_sequence;
static const kind normals[] = {
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

static eg_status normal_sequence(reading *r, const eg_json *j)
{
    return read_all(r, j, "normalizers", normals, "normalizer");
}

/* ---- splitters ---------------------------------------------------------------------------------------------- */

static eg__step *splitter(reading *r, eg__pass *pass)
{
    eg__step *s = eg__steps_add(r->op, &r->t->split);
    if (s) {
        s->pass = pass;
    }
    return s;
}

static eg_status split_bert(reading *r, const eg_json *j)
{
    (void)j;
    return splitter(r, eg__split_bert) ? EG_OK : eg__why();
}

static eg_status split_blanks(reading *r, const eg_json *j)
{
    (void)j;
    return splitter(r, eg__split_blanks) ? EG_OK : eg__why();
}

static eg_status split_whitespace(reading *r, const eg_json *j)
{
    (void)j;
    eg__step *s = splitter(r, eg__split_pattern);
    if (!s) {
        return eg__why();
    }
    s->behaviour = EG__REMOVED;
    s->d = true;
    s->pattern = eg__pattern_new(r->op, "\\w+|[^\\w\\s]+", 12);
    return s->pattern ? EG_OK : eg__why();
}

static eg_status split_punctuation(reading *r, const eg_json *j)
{
    eg__step *s = splitter(r, eg__split_punctuation);
    return !s ? eg__why() : eg_json_get(j, "behavior") ? behaviour_in(r, j, &s->behaviour) : EG_OK;
}

static eg_status split_digits(reading *r, const eg_json *j)
{
    eg__step *s = splitter(r, eg__split_digits);
    if (!s) {
        return eg__why();
    }
    s->a = flag_in(j, "individual_digits", false);
    return EG_OK;
}

static eg_status split_pattern(reading *r, const eg_json *j)
{
    eg__step *s = splitter(r, eg__split_pattern);
    if (!s || !(s->pattern = pattern_in(r, j, "pattern"))) {
        return eg__why();
    }
    s->d = flag_in(j, "invert", false);
    return behaviour_in(r, j, &s->behaviour);
}

static eg_status split_delimiter(reading *r, const eg_json *j)
{
    eg__step *s = splitter(r, eg__split_pattern);
    int64_t n;
    const char *text = s ? text_in(r, j, "delimiter", &n, true) : NULL;
    if (!text || !(s->pattern = eg__pattern_literal(r->op, text, n))) {
        return eg__why();
    }
    s->behaviour = EG__REMOVED;
    return EG_OK;
}

static eg_status split_bytes(reading *r, const eg_json *j)
{
    eg__step *s = splitter(r, eg__split_bytes);
    if (!s) {
        return eg__why();
    }
    r->bytes = true;
    s->a = flag_in(j, "add_prefix_space", true);
    s->b = flag_in(j, "use_regex", true);
    s->behaviour = EG__ISOLATED;
    s->pattern = s->b ? eg__pattern_new(r->op, EG__GPT2_PATTERN, (int64_t)strlen(EG__GPT2_PATTERN)) : NULL;
    return s->b && !s->pattern ? eg__why() : EG_OK;
}

/* Where a mark is put before: "always", "first", "never"; older files say it by a flag. */
static eg_status scheme_in(reading *r, const eg_json *j, bool *always, bool *first)
{
    int64_t n;
    const char *s = text_in(r, j, "prepend_scheme", &n, false);
    *always = !s ? flag_in(j, "add_prefix_space", true) : !strcmp(s, "always");
    *first = s && !strcmp(s, "first");
    return !s || *always || *first || !strcmp(s, "never")
               ? EG_OK
               : eg__fail(EG_EFORMAT, r->op, "the prepend_scheme \"%.60s\" is not known here", s);
}

static eg_status split_metaspace(reading *r, const eg_json *j)
{
    eg__step *s = splitter(r, eg__split_metaspace);
    eg_status st = s ? string_in(r, j, "replacement", NULL, &s->text) : eg__why();
    st = st ? st : scheme_in(r, j, &s->a, &s->b);
    if (!st) {
        s->c = flag_in(j, "split", true);
        s->behaviour = EG__MERGED_BEHIND;
        s->pattern = eg__pattern_literal(r->op, s->text.s, s->text.n);
    }
    return st || s->pattern ? st : eg__why();
}

static reader split_sequence;
static const kind splits[] = {
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

static eg_status split_sequence(reading *r, const eg_json *j)
{
    return read_all(r, j, "pretokenizers", splits, "pre-tokenizer");
}

/* ---- what comes behind ---------------------------------------------------------------------------------------- */

static eg_status frame_item(reading *r, bool pair, int64_t id, int64_t type)
{
    return eg__frame_add(r->op, r->t, pair, (int32_t)id, (int32_t)type);
}

/* ["[SEP]", 102] */
static eg_status token_in(reading *r, const eg_json *j, const char *key, int64_t *id)
{
    const eg_json *v = eg_json_get(j, key);
    const eg_json *number = eg_json_count(v) == 2 ? eg_json_at(v, 1) : NULL;
    return number && !eg_json_integer(number, id) && *id >= 0 && *id < EG__IDS_MOST
               ? EG_OK
               : eg__fail(EG_EFORMAT, r->op, "\"%s\" is no token with its number", key);
}

static eg_status behind_bert(reading *r, const eg_json *j)
{
    int64_t cls, sep;
    eg_status st = token_in(r, j, "cls", &cls);
    st = st ? st : token_in(r, j, "sep", &sep);
    for (int pair = 0; pair < 2 && !st; pair++) {
        const int64_t ids[] = {cls, EG__TEXT_A, sep, EG__TEXT_B, sep};
        for (int i = 0; i < (pair ? 5 : 3) && !st; i++) {
            st = frame_item(r, pair, ids[i], i > 2);
        }
    }
    return st;
}

static eg_status behind_bytes(reading *r, const eg_json *j)
{
    r->t->trim = flag_in(j, "trim_offsets", true);
    r->t->trim_prefix = flag_in(j, "add_prefix_space", true);
    return EG_OK;
}

static eg_status behind_roberta(reading *r, const eg_json *j)
{
    int64_t cls, sep;
    eg_status st = token_in(r, j, "cls", &cls);
    st = st ? st : token_in(r, j, "sep", &sep);
    for (int pair = 0; pair < 2 && !st; pair++) {
        const int64_t ids[] = {cls, EG__TEXT_A, sep, sep, EG__TEXT_B, sep};
        for (int i = 0; i < (pair ? 6 : 3) && !st; i++) {
            st = frame_item(r, pair, ids[i], 0);
        }
    }
    return st ? st : behind_bytes(r, j);
}

static eg_status template_token(reading *r, const eg_json *tokens, const eg_json *item, bool pair, int64_t type)
{
    int64_t n, id;
    const char *name = text_in(r, item, "id", &n, true);
    const eg_json *ids = name ? eg_json_get(eg_json_find(tokens, name, (size_t)n), "ids") : NULL;
    eg_status st = name && eg_json_count(ids)
                       ? EG_OK
                       : eg__fail(EG_EFORMAT, r->op, "the template has no ids for \"%.60s\"", name ? name : "");
    for (int64_t i = 0; i < eg_json_count(ids) && !st; i++) {
        st = eg_json_integer(eg_json_at(ids, i), &id);
        st = st || id < 0 || id >= EG__IDS_MOST ? eg__fail(EG_EFORMAT, r->op, "\"%.60s\" has no number", name)
                                                : frame_item(r, pair, id, type);
    }
    return st;
}

static eg_status behind_template(reading *r, const eg_json *j)
{
    const eg_json *tokens = eg_json_get(j, "special_tokens");
    eg_status st = EG_OK;
    for (int pair = 0; pair < 2 && !st; pair++) {
        const eg_json *list = eg_json_get(j, pair ? "pair" : "single");
        int seen[2] = {0, 0};
        for (int64_t i = 0; i < eg_json_count(list) && !st; i++) {
            const eg_json *at = eg_json_at(list, i), *special = eg_json_get(at, "SpecialToken");
            const eg_json *text = eg_json_get(at, "Sequence"), *item = special ? special : text;
            int64_t type, n;
            st = item ? integer_in(r, item, "type_id", 0, &type)
                      : eg__fail(EG_EFORMAT, r->op, "a template's part is none");
            if (!st && special) {
                st = template_token(r, tokens, special, pair, type);
            } else if (!st) {
                const char *name = text_in(r, text, "id", &n, true);
                const int side = name && *name == 'B';
                seen[side]++;
                st = name ? frame_item(r, pair, side ? EG__TEXT_B : EG__TEXT_A, type) : eg__why();
            }
        }
        if (!st && (seen[0] != 1 || seen[1] != pair)) {
            st = eg__fail(EG_EFORMAT, r->op, "the template \"%s\" must have each text once", pair ? "pair" : "single");
        }
    }
    return st;
}

static reader behind_sequence;
static const kind behinds[] = {
    {"BertProcessing", behind_bert},         {"ByteLevel", behind_bytes},
    {"RobertaProcessing", behind_roberta},   {"Sequence", behind_sequence},
    {"TemplateProcessing", behind_template}, {NULL, NULL},
};

static eg_status behind_sequence(reading *r, const eg_json *j)
{
    return read_all(r, j, "processors", behinds, "post-processor");
}

/* ---- decoders -----------------------------------------------------------------------------------------------------
 */

static eg__step *decoder(reading *r, eg__decode *decode)
{
    eg__step *s = eg__steps_add(r->op, &r->t->decode);
    if (s) {
        s->decode = decode;
    }
    return s;
}

static eg_status decode_wordpiece(reading *r, const eg_json *j)
{
    eg__step *s = decoder(r, eg__decode_wordpiece);
    if (!s) {
        return eg__why();
    }
    s->a = flag_in(j, "cleanup", true);
    return string_in(r, j, "prefix", "##", &s->text);
}

static eg_status decode_bytes(reading *r, const eg_json *j)
{
    (void)j;
    return decoder(r, eg__decode_bytes) ? EG_OK : eg__why();
}

static eg_status decode_metaspace(reading *r, const eg_json *j)
{
    eg__step *s = decoder(r, eg__decode_metaspace);
    bool first = false;
    eg_status st = s ? string_in(r, j, "replacement", NULL, &s->text) : eg__why();
    st = st ? st : scheme_in(r, j, &s->a, &first);
    if (!st) {
        s->a |= first;
    }
    return st;
}

static eg_status decode_suffix(reading *r, const eg_json *j)
{
    eg__step *s = decoder(r, eg__decode_suffix);
    return s ? string_in(r, j, "suffix", "</w>", &s->text) : eg__why();
}

static eg_status decode_fallback(reading *r, const eg_json *j)
{
    (void)j;
    return decoder(r, eg__decode_fallback) ? EG_OK : eg__why();
}

static eg_status decode_fuse(reading *r, const eg_json *j)
{
    (void)j;
    return decoder(r, eg__decode_fuse) ? EG_OK : eg__why();
}

static eg_status decode_replace(reading *r, const eg_json *j)
{
    eg__step *s = decoder(r, eg__decode_replace);
    if (!s || !(s->pattern = pattern_in(r, j, "pattern"))) {
        return eg__why();
    }
    return s->pattern->code
               ? eg__fail(EG_EFORMAT, r->op, "a decoder that replaces by a regular expression is not known here")
               : string_in(r, j, "content", NULL, &s->more);
}

static eg_status decode_strip(reading *r, const eg_json *j)
{
    eg__step *s = decoder(r, eg__decode_strip);
    eg_status st = s ? string_in(r, j, "content", NULL, &s->text) : eg__why();
    st = st ? st : integer_in(r, j, "start", 0, &s->number);
    return st ? st : integer_in(r, j, "stop", 0, &s->count);
}

static eg_status decode_ctc(reading *r, const eg_json *j)
{
    eg__step *s = decoder(r, eg__decode_ctc);
    eg_status st = s ? string_in(r, j, "pad_token", "<pad>", &s->text) : eg__why();
    return st ? st : string_in(r, j, "word_delimiter_token", "|", &s->more);
}

static reader decode_sequence;
static const kind decoders[] = {
    {"BPEDecoder", decode_suffix},
    {"ByteFallback", decode_fallback},
    {"ByteLevel", decode_bytes},
    {"CTC", decode_ctc},
    {"Fuse", decode_fuse},
    {"Metaspace", decode_metaspace},
    {"Replace", decode_replace},
    {"Sequence", decode_sequence},
    {"Strip", decode_strip},
    {"WordPiece", decode_wordpiece},
    {NULL, NULL},
};

static eg_status decode_sequence(reading *r, const eg_json *j)
{
    return read_all(r, j, "decoders", decoders, "decoder");
}

/* ---- models ---------------------------------------------------------------------------------------------------------
 */

eg_status eg__vocab_of_json(const char *op, eg_tokenizer *t, const eg_json *vocab)
{
    eg_status st = is(vocab, EG_JSON_OBJECT) ? EG_OK : eg__fail(EG_EFORMAT, op, "the vocabulary is no object");
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

static eg_status vocabulary(reading *r, const eg_json *j)
{
    eg_status st = eg__vocab_of_json(r->op, r->t, eg_json_get(j, "vocab"));
    return st ? st : eg__model_trie(r->op, r->t);
}

/* must: EG_EFORMAT if the vocabulary lacks it; else what is not known has no token. */
static eg_status unknown_in(reading *r, const eg_json *j, bool must)
{
    int64_t n;
    eg__model *m = &r->t->model;
    const char *s = text_in(r, j, "unk_token", &n, must);
    m->unknown = s ? eg__trie_find(&m->trie, s, n) : -1;
    return (s && m->unknown >= 0) || (!must && (!s || !*s)) ? EG_OK
           : s ? eg__fail(EG_EFORMAT, r->op, "the vocabulary has no \"%.60s\", which unknown words become", s)
               : eg__why();
}

static eg_status model_wordpiece(reading *r, const eg_json *j)
{
    eg__model *m = &r->t->model;
    eg_status st = vocabulary(r, j);
    st = st ? st : unknown_in(r, j, true);
    st = st ? st : string_in(r, j, "continuing_subword_prefix", "##", &m->prefix);
    st = st ? st : integer_in(r, j, "max_input_chars_per_word", 100, &m->max_chars);
    m->kind = EG__WORDPIECE;
    m->run = eg__model_wordpiece;
    m->behind = st ? -1 : eg__trie_walk(&m->trie, 0, m->prefix.s, m->prefix.n);
    return st;
}

static eg_status model_words(reading *r, const eg_json *j)
{
    r->t->model.kind = EG__WORDS;
    r->t->model.run = eg__model_words;
    eg_status st = vocabulary(r, j);
    return st ? st : unknown_in(r, j, true);
}

/* Ids of <0x00> to <0xFF>. */
void eg__model_fallback(eg__model *m)
{
    m->ready_bytes = true;
    for (int b = 0; b < 256; b++) {
        char text[8];
        m->byte[b] = eg__trie_find(&m->trie, text, snprintf(text, sizeof text, "<0x%02X>", b));
        m->ready_bytes &= m->byte[b] >= 0;
    }
    m->fallback &= m->ready_bytes;
}

static eg_status merges(reading *r, const eg_json *list)
{
    eg_status st = is(list, EG_JSON_ARRAY) ? EG_OK : eg__fail(EG_EFORMAT, r->op, "\"merges\" is no list");
    for (int64_t i = 0; i < eg_json_count(list) && !st; i++) {
        const eg_json *x = eg_json_at(list, i);
        const eg_json *left = eg_json_count(x) == 2 ? eg_json_at(x, 0) : NULL;
        const eg_json *right = left ? eg_json_at(x, 1) : NULL;
        if (is(left, EG_JSON_TEXT) && is(right, EG_JSON_TEXT)) {
            size_t a, b;
            const char *s = eg_json_text(left, &a), *u = eg_json_text(right, &b);
            st = eg__merge_add(r->op, r->t, s, (int64_t)a, u, (int64_t)b);
            continue;
        }
        size_t n = 0;
        const char *s = is(x, EG_JSON_TEXT) ? eg_json_text(x, &n) : NULL, *blank = s ? memchr(s, ' ', n) : NULL;
        st = blank ? eg__merge_add(r->op, r->t, s, blank - s, blank + 1, s + n - blank - 1)
                   : eg__fail(EG_EFORMAT, r->op, "merge %lld is no pair", (long long)i);
    }
    return st;
}

static eg_status model_bpe(reading *r, const eg_json *j)
{
    eg__model *m = &r->t->model;
    const eg_json *dropout = eg_json_get(j, "dropout");
    if (is(dropout, EG_JSON_NUMBER) && eg_json_number(dropout) != 0) {
        return eg__fail(EG_EFORMAT, r->op, "dropout of merges is not known here");
    }
    m->kind = EG__BPE;
    m->run = eg__model_bpe;
    eg_status st = vocabulary(r, j);
    st = st ? st : string_in(r, j, "continuing_subword_prefix", "", &m->prefix);
    st = st ? st : string_in(r, j, "end_of_word_suffix", "", &m->suffix);
    st = st ? st : unknown_in(r, j, false);
    st = st ? st : merges(r, eg_json_get(j, "merges"));
    m->fuse = flag_in(j, "fuse_unk", false);
    m->whole = flag_in(j, "ignore_merges", false);
    m->fallback = flag_in(j, "byte_fallback", false);
    if (!st && r->bytes) {
        st = eg__bytes_model(r->op, r->t);
    } else if (!st && m->fallback) {
        eg__model_fallback(m);
    }
    return st;
}

eg_status eg__model_scores(const char *op, eg_tokenizer *t)
{
    eg__model *m = &t->model;
    m->score = eg__malloc(((size_t)t->vocab.piece.n + 1) * sizeof *m->score);
    if (!m->score) {
        return eg__no_memory(op, t->vocab.piece.n);
    }
    memset(m->score, 0, ((size_t)t->vocab.piece.n + 1) * sizeof *m->score);
    return EG_OK;
}

static eg_status model_unigram(reading *r, const eg_json *j)
{
    eg__model *m = &r->t->model;
    const eg_json *vocab = eg_json_get(j, "vocab"), *unknown = eg_json_get(j, "unk_id");
    eg_status st = is(vocab, EG_JSON_ARRAY) ? EG_OK : eg__fail(EG_EFORMAT, r->op, "the vocabulary is no list");
    for (int64_t i = 0; i < eg_json_count(vocab) && !st; i++) {
        const eg_json *x = eg_json_at(vocab, i), *s = eg_json_count(x) == 2 ? eg_json_at(x, 0) : NULL;
        size_t n = 0;
        const char *text = is(s, EG_JSON_TEXT) ? eg_json_text(s, &n) : NULL;
        st = text && is(eg_json_at(x, 1), EG_JSON_NUMBER)
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
    if (!st && is(unknown, EG_JSON_NUMBER) && (eg_json_integer(unknown, &id) || id < 0 || id >= eg_json_count(vocab))) {
        st = eg__fail(EG_EFORMAT, r->op, "\"unk_id\" is none of the %lld tokens", (long long)eg_json_count(vocab));
    }
    m->unknown = (int32_t)id;
    m->unknown_score = least - 10;
    m->kind = EG__UNIGRAM;
    m->run = eg__model_unigram;
    m->fuse = true;
    m->fallback = flag_in(j, "byte_fallback", false);
    if (!st && m->fallback) {
        eg__model_fallback(m);
    }
    return st;
}

static const kind models[] = {
    {"BPE", model_bpe}, {"Unigram", model_unigram}, {"WordLevel", model_words}, {"WordPiece", model_wordpiece},
    {NULL, NULL},
};

/* Files of old have no type. */
static eg_status model(reading *r, const eg_json *j)
{
    if (!is(j, EG_JSON_OBJECT)) {
        return eg__fail(EG_EFORMAT, r->op, "there is no model");
    }
    eg_status st = eg_json_get(j, "type")     ? read_kind(r, j, models, "model")
                   : eg_json_get(j, "merges") ? model_bpe(r, j)
                   : eg_json_get(j, "unk_id") ? model_unigram(r, j)
                                              : model_wordpiece(r, j);
    return st || !r->bytes || r->t->model.kind == EG__BPE
               ? st
               : eg__fail(EG_EFORMAT, r->op, "ByteLevel is known here only with BPE");
}

/* ---- the rest of the file
 * ---------------------------------------------------------------------------------------------- */

static eg_status added(reading *r, const eg_json *list)
{
    eg_status st = EG_OK;
    for (int64_t i = 0; i < eg_json_count(list) && !st; i++) {
        const eg_json *x = eg_json_at(list, i);
        int64_t n, id;
        const char *s = text_in(r, x, "content", &n, true);
        st = s ? integer_in(r, x, "id", -1, &id) : eg__why();
        st = st || id >= 0 ? st : eg__fail(EG_EFORMAT, r->op, "the added token \"%.60s\" has no number", s);
        st = st ? st : eg__vocab_put(&r->t->vocab, r->op, id, s, n);
        eg__added *a = st ? NULL : eg__added_add(r->op, r->t, s, n, (int32_t)id);
        if (!a) {
            return st ? st : eg__why();
        }
        a->special = flag_in(x, "special", false);
        a->single_word = flag_in(x, "single_word", false);
        a->left = flag_in(x, "lstrip", false);
        a->right = flag_in(x, "rstrip", false);
        a->normalised = flag_in(x, "normalized", !a->special);
    }
    return st;
}

static eg_status truncation(reading *r, const eg_json *j)
{
    static const char *const names[] = {"LongestFirst", "OnlyFirst", "OnlySecond"};
    int64_t n;
    eg_status st = integer_in(r, j, "max_length", 0, &r->t->max_length);
    st = st ? st : integer_in(r, j, "stride", 0, &r->t->stride);
    const char *s = st ? NULL : text_in(r, j, "strategy", &n, false);
    for (int i = 0; i < EG__COUNT(names) && s; i++) {
        r->t->truncation = strcmp(s, names[i]) ? r->t->truncation : EG_TRUNCATE_LONGEST + i;
    }
    s = st ? NULL : text_in(r, j, "direction", &n, false);
    r->t->cut_front = s && !strcmp(s, "Left");
    return st;
}

static eg_status padding(reading *r, const eg_json *j)
{
    int64_t id = 0, type = 0, n;
    eg_status st = integer_in(r, j, "pad_id", 0, &id);
    st = st ? st : integer_in(r, j, "pad_type_id", 0, &type);
    st = st ? st : integer_in(r, j, "pad_to_multiple_of", 0, &r->t->pad_multiple);
    const eg_json *strategy = eg_json_get(j, "strategy");
    st = st || !is(strategy, EG_JSON_OBJECT) ? st : integer_in(r, strategy, "Fixed", 0, &r->t->pad_length);
    const char *s = st ? NULL : text_in(r, j, "direction", &n, false);
    r->t->pad_front = s && !strcmp(s, "Left");
    r->t->pad = true;
    r->t->pad_id = (int32_t)id;
    r->t->pad_type = (int32_t)type;
    return st;
}

static eg_status part(reading *r, const eg_json *j, const char *key, const kind *kinds, const char *what)
{
    const eg_json *v = eg_json_get(j, key);
    return is(v, EG_JSON_OBJECT) ? read_kind(r, v, kinds, what) : EG_OK;
}

eg_tokenizer *eg__tokenizer_of_json(const char *op, const eg_json *j)
{
    reading r = {.op = op, .t = eg__tokenizer_new(op)};
    if (!r.t) {
        return NULL;
    }
    eg_status st = part(&r, j, "normalizer", normals, "normalizer");
    st = st ? st : part(&r, j, "pre_tokenizer", splits, "pre-tokenizer");
    st = st ? st : model(&r, eg_json_get(j, "model"));
    st = st ? st : part(&r, j, "post_processor", behinds, "post-processor");
    st = st ? st : part(&r, j, "decoder", decoders, "decoder");
    if (!st && !r.t->decode.n) {
        eg__step *s = decoder(&r, eg__decode_words);
        st = s ? EG_OK : eg__why();
    }
    st = st ? st : added(&r, eg_json_get(j, "added_tokens"));
    const eg_json *cut = eg_json_get(j, "truncation"), *pad = eg_json_get(j, "padding");
    st = st || !is(cut, EG_JSON_OBJECT) ? st : truncation(&r, cut);
    st = st || !is(pad, EG_JSON_OBJECT) ? st : padding(&r, pad);
    r.t->of_file = true;
    st = st ? st : eg__tokenizer_finish(op, r.t);
    if (st) {
        eg_tokenizer_free(r.t);
    }
    return st ? NULL : r.t;
}
