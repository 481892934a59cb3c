/* read_json_ends.c - what tokenizer.json has of post-processors, which put tokens around texts, and of decoders. */
#include "data/tokens/read_json.h"

/* ---- what comes behind ------------------------------------------------------------------------ */

static eg_status frame_item(eg__reading *r, bool pair, int64_t id, int64_t type)
{
    return eg__frame_add(r->op, r->t, pair, (int32_t)id, (int32_t)type);
}

/* ["[SEP]", 102] */
static eg_status token_in(eg__reading *r, const eg_json *j, const char *key, int64_t *id)
{
    const eg_json *v = eg_json_get(j, key);
    const eg_json *number = eg_json_count(v) == 2 ? eg_json_at(v, 1) : NULL;
    return number && !eg_json_integer(number, id) && *id >= 0 && *id < EG__IDS_MOST
               ? EG_OK
               : eg__fail(EG_EFORMAT, r->op, "\"%s\" is no token with its number", key);
}

static eg_status behind_bert(eg__reading *r, const eg_json *j)
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

static eg_status behind_bytes(eg__reading *r, const eg_json *j)
{
    r->t->trim = eg__flag_in(j, "trim_offsets", true);
    r->t->trim_prefix = eg__flag_in(j, "add_prefix_space", true);
    return EG_OK;
}

static eg_status behind_roberta(eg__reading *r, const eg_json *j)
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

static eg_status template_token(eg__reading *r, const eg_json *tokens, const eg_json *item, bool pair, int64_t type)
{
    int64_t n, id;
    const char *name = eg__text_in(r, item, "id", &n, true);
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

static eg_status behind_template(eg__reading *r, const eg_json *j)
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
            st = item ? eg__integer_in(r, item, "type_id", 0, &type)
                      : eg__fail(EG_EFORMAT, r->op, "a template's part is none");
            if (!st && special) {
                st = template_token(r, tokens, special, pair, type);
            } else if (!st) {
                const char *name = eg__text_in(r, text, "id", &n, true);
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

static eg__reader behind_sequence;
const eg__kind eg__behinds[] = {
    {"BertProcessing", behind_bert},         {"ByteLevel", behind_bytes},
    {"RobertaProcessing", behind_roberta},   {"Sequence", behind_sequence},
    {"TemplateProcessing", behind_template}, {NULL, NULL},
};

static eg_status behind_sequence(eg__reading *r, const eg_json *j)
{
    return eg__read_all(r, j, "processors", eg__behinds, "post-processor");
}

/* ---- decoders --------------------------------------------------------------------------------- */

eg__step *eg__decoder_add(eg__reading *r, eg__decode *decode)
{
    eg__step *s = eg__steps_add(r->op, &r->t->decode);
    if (s) {
        s->decode = decode;
    }
    return s;
}

static eg_status decode_wordpiece(eg__reading *r, const eg_json *j)
{
    eg__step *s = eg__decoder_add(r, eg__decode_wordpiece);
    if (!s) {
        return eg__why();
    }
    s->a = eg__flag_in(j, "cleanup", true);
    return eg__string_in(r, j, "prefix", "##", &s->text);
}

static eg_status decode_bytes(eg__reading *r, const eg_json *j)
{
    (void)j;
    return eg__decoder_add(r, eg__decode_bytes) ? EG_OK : eg__why();
}

static eg_status decode_metaspace(eg__reading *r, const eg_json *j)
{
    eg__step *s = eg__decoder_add(r, eg__decode_metaspace);
    bool first = false;
    eg_status st = s ? eg__string_in(r, j, "replacement", NULL, &s->text) : eg__why();
    st = st ? st : eg__scheme_in(r, j, &s->a, &first);
    if (!st) {
        s->a |= first;
    }
    return st;
}

static eg_status decode_suffix(eg__reading *r, const eg_json *j)
{
    eg__step *s = eg__decoder_add(r, eg__decode_suffix);
    return s ? eg__string_in(r, j, "suffix", "</w>", &s->text) : eg__why();
}

static eg_status decode_fallback(eg__reading *r, const eg_json *j)
{
    (void)j;
    return eg__decoder_add(r, eg__decode_fallback) ? EG_OK : eg__why();
}

static eg_status decode_fuse(eg__reading *r, const eg_json *j)
{
    (void)j;
    return eg__decoder_add(r, eg__decode_fuse) ? EG_OK : eg__why();
}

static eg_status decode_replace(eg__reading *r, const eg_json *j)
{
    eg__step *s = eg__decoder_add(r, eg__decode_replace);
    if (!s || !(s->pattern = eg__pattern_in(r, j, "pattern"))) {
        return eg__why();
    }
    s->of = r->t;
    return eg__string_in(r, j, "content", NULL, &s->more);
}

static eg_status decode_strip(eg__reading *r, const eg_json *j)
{
    eg__step *s = eg__decoder_add(r, eg__decode_strip);
    eg_status st = s ? eg__string_in(r, j, "content", NULL, &s->text) : eg__why();
    st = st ? st : eg__integer_in(r, j, "start", 0, &s->number);
    return st ? st : eg__integer_in(r, j, "stop", 0, &s->count);
}

static eg_status decode_ctc(eg__reading *r, const eg_json *j)
{
    eg__step *s = eg__decoder_add(r, eg__decode_ctc);
    eg_status st = s ? eg__string_in(r, j, "pad_token", "<pad>", &s->text) : eg__why();
    st = st ? st : eg__string_in(r, j, "word_delimiter_token", "|", &s->more);
    if (st) {
        return st;
    }
    s->a = eg__flag_in(j, "cleanup", true);
    return s->text.n && s->more.n ? EG_OK : eg__fail(EG_EFORMAT, r->op, "a token of the CTC decoder is empty");
}

static eg__reader decode_sequence;
const eg__kind eg__decoders[] = {
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

static eg_status decode_sequence(eg__reading *r, const eg_json *j)
{
    return eg__read_all(r, j, "decoders", eg__decoders, "decoder");
}
