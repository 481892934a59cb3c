/* tokens.c - texts as numbers. */
#include "run/record/language/tokens.h"

#include <stdlib.h>

#include "data/text/text.h"
#include "lib/core/memory.h"
#include "lib/io/file.h"
#include "run/record/language/porter.h"

/* ---- characters under way -------------------------------------------------------------------------- */

/* A line of characters, and what it is rewritten into. */
typedef struct line {
    eg__bytes now, next; /* int32_t */
    bool full;           /* there was no memory */
} line;

static void put(line *l, int32_t c)
{
    l->full = l->full || !eg__bytes_add(&l->next, &c, sizeof c);
}

static const int32_t *characters(const line *l)
{
    return (const int32_t *)(const void *)l->now.p;
}

static int64_t length(const line *l)
{
    return l->now.n / (int64_t)sizeof(int32_t);
}

/* What was put is the line. */
static void turn(line *l)
{
    eg__bytes was = l->now;
    l->now = l->next;
    l->next = was;
    l->next.n = 0;
}

static void line_free(line *l)
{
    eg__bytes_free(&l->now);
    eg__bytes_free(&l->next);
}

static eg_status read_text(line *l, const char *op, const char *text, bool *ascii)
{
    const int64_t n = (int64_t)strlen(text);
    *ascii = true;
    for (int64_t i = 0, bytes; i < n; i += bytes) {
        const uint8_t *s = (const uint8_t *)text + i;
        bytes = eg__utf8_length(text + i, n - i);
        if (!bytes) {
            return eg__fail(EG_EFORMAT, op, "byte %lld of the text: no UTF-8", (long long)i);
        }
        int32_t c = bytes == 1 ? s[0] : s[0] & (0xff >> (bytes + 1));
        for (int64_t k = 1; k < bytes; k++) {
            c = c << 6 | (s[k] & 63);
        }
        *ascii = *ascii && bytes == 1;
        put(l, c);
    }
    turn(l);
    return EG_OK;
}

/* ---- rules that rewrite ---------------------------------------------------------------------------- */

typedef bool is_fn(int32_t c);

/* Where two such stand side by side, a blank between and one on the other side of the second, or of the first. A
 * character is in one pair only. */
static void part(line *l, is_fn *first, is_fn *second, bool of_first)
{
    const int32_t *c = characters(l);
    for (int64_t i = 0, n = length(l); i < n; i++) {
        const bool pair = i + 1 < n && first(c[i]) && second(c[i + 1]);
        if (pair && of_first) {
            put(l, ' ');
        }
        put(l, c[i]);
        if (pair) {
            put(l, ' ');
            put(l, c[++i]);
        }
        if (pair && !of_first) {
            put(l, ' ');
        }
    }
    turn(l);
}

/* Blanks around each such. */
static void apart(line *l, is_fn *is)
{
    const int32_t *c = characters(l);
    for (int64_t i = 0, n = length(l); i < n; i++) {
        const bool one = is(c[i]);
        if (one) {
            put(l, ' ');
        }
        put(l, c[i]);
        if (one) {
            put(l, ' ');
        }
    }
    turn(l);
}

static bool begins(const int32_t *c, int64_t n, const char *with)
{
    int64_t k = 0;
    while (with[k] && k < n && c[k] == with[k]) {
        k++;
    }
    return !with[k];
}

static void replace(line *l, const char *what, const char *by)
{
    const int32_t *c = characters(l);
    for (int64_t i = 0, n = length(l); i < n; i++) {
        if (!begins(c + i, n - i, what)) {
            put(l, c[i]);
            continue;
        }
        for (const char *s = by; *s; s++) {
            put(l, *s);
        }
        i += (int64_t)strlen(what) - 1;
    }
    turn(l);
}

/* ---- characters of rules --------------------------------------------------------------------------- */

static bool is_point(int32_t c)
{
    return c == '.' || c == ',';
}

static bool is_dash(int32_t c)
{
    return c == '-';
}

static bool is_ascii_digit(int32_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_no_ascii_digit(int32_t c)
{
    return !is_ascii_digit(c);
}

static bool is_ascii_letter(int32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_ascii_mark(int32_t c)
{
    return c > ' ' && c < 127 && !is_ascii_letter(c) && !is_ascii_digit(c);
}

/* That 13a always sets apart: not ' , - . */
static bool is_13a_mark(int32_t c)
{
    return is_ascii_mark(c) && c != '\'' && c != '-' && !is_point(c);
}

static bool is_punctuation(int32_t c)
{
    return eg__category(c)[0] == 'P';
}

static bool is_symbol(int32_t c)
{
    return eg__category(c)[0] == 'S';
}

static bool is_no_number(int32_t c)
{
    return eg__category(c)[0] != 'N';
}

static bool is_no_digit(int32_t c)
{
    return strcmp(eg__category(c), "Nd") != 0;
}

/* compute_bleu's class of characters has all punctuation, unescaped: of "\]" it has "]". */
static bool is_punctuation_of_class(int32_t c)
{
    return c != '\\' && is_punctuation(c);
}

static bool is_word(int32_t c)
{
    return c < 128 ? is_ascii_letter(c) || is_ascii_digit(c) : strchr("LN", eg__category(c)[0]) != NULL;
}

/* ---- tokenisations --------------------------------------------------------------------------------- */

static void rewrite_13a(line *l)
{
    static const char *const pairs[][2] = {{"<skipped>", ""}, {"-\n", ""},   {"\n", " "},  {"&quot;", "\""},
                                           {"&amp;", "&"},    {"&lt;", "<"}, {"&gt;", ">"}};
    for (int i = 0; i < EG__COUNT(pairs); i++) {
        replace(l, pairs[i][0], pairs[i][1]);
    }
    put(l, ' ');
    for (int64_t i = 0; i < length(l); i++) {
        put(l, characters(l)[i]);
    }
    put(l, ' ');
    turn(l);
    apart(l, is_13a_mark);
    part(l, is_no_ascii_digit, is_point, false);
    part(l, is_point, is_no_ascii_digit, true);
    part(l, is_ascii_digit, is_dash, false);
}

/* Characters that stand for others, or for a blank. */
static void rewrite_rouge(line *l)
{
    for (int64_t i = 0, n = length(l); i < n; i++) {
        const int32_t c = characters(l)[i];
        put(l, is_ascii_letter(c) || is_ascii_digit(c) ? c : ' ');
    }
    turn(l);
}

/* Blanks side by side become a space. */
static void rewrite_spoken(line *l)
{
    const int32_t *c = characters(l);
    for (int64_t i = 0, n = length(l), end; i < n; i = end) {
        end = i + 1;
        while (eg__is_blank(c[i]) && end < n && eg__is_blank(c[end])) {
            end++;
        }
        put(l, end > i + 1 ? ' ' : c[i]);
    }
    turn(l);
}

static bool is_article(const int32_t *c, int64_t n)
{
    return (n == 1 && begins(c, n, "a")) || (n == 2 && begins(c, n, "an")) || (n == 3 && begins(c, n, "the"));
}

static void rewrite_answer(line *l)
{
    for (int64_t i = 0, n = length(l); i < n; i++) {
        const int32_t c = characters(l)[i];
        if (!is_ascii_mark(c)) {
            put(l, c);
        }
    }
    turn(l);
    const int32_t *c = characters(l);
    for (int64_t i = 0, n = length(l), end; i < n; i = end) {
        for (end = i; end < n && is_word(c[end]); end++) {
        }
        if (is_article(c + i, end - i)) {
            put(l, ' ');
            continue;
        }
        end = end == i ? i + 1 : end;
        for (int64_t k = i; k < end; k++) {
            put(l, c[k]);
        }
    }
    turn(l);
}

static void rewrite(line *l, eg__token_rule rule)
{
    switch ((int)rule) {
    case EG_BLEU_13A:
        rewrite_13a(l);
        return;
    case EG_BLEU_INTL:
        part(l, is_no_number, is_punctuation, false);
        part(l, is_punctuation, is_no_number, true);
        apart(l, is_symbol);
        return;
    case EG_BLEU_TRANSFORMER:
        part(l, is_no_digit, is_punctuation_of_class, false);
        part(l, is_punctuation_of_class, is_no_digit, true);
        apart(l, is_symbol);
        return;
    case EG__TOKENS_ROUGE:
    case EG__TOKENS_STEMS:
        rewrite_rouge(l);
        return;
    case EG__TOKENS_ANSWER:
        rewrite_answer(l);
        return;
    case EG__TOKENS_SPOKEN:
        rewrite_spoken(l);
        return;
    default: /* as it stands */
        return;
    }
}

/* ---- numbers --------------------------------------------------------------------------------------- */

static bool add_token(eg__words *known, const void *token, int64_t bytes, eg__sequence *to)
{
    const int64_t number = eg__words_add(known, token, bytes);
    return number >= 0 && eg__bytes_add(&to->ids, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
}

/* Without the blanks at its end, and at its begin too. */
static void trim(line *l, bool begin_too)
{
    const int32_t *c = characters(l);
    int64_t begin = 0, end = length(l);
    while (end && eg__is_blank(c[end - 1])) {
        end--;
    }
    while (begin_too && begin < end && eg__is_blank(c[begin])) {
        begin++;
    }
    for (int64_t i = begin; i < end; i++) {
        put(l, c[i]);
    }
    turn(l);
}

/* Stems are of ASCII's letters; `letters` is used again for each. */
static bool add_stem(eg__words *known, const int32_t *c, int64_t n, eg__bytes *letters, eg__sequence *to)
{
    letters->n = 0;
    if (!eg__bytes_room(letters, n)) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        letters->p[i] = (uint8_t)c[i];
    }
    return add_token(known, letters->p, n > 3 ? eg__stem((char *)letters->p, n) : n, to);
}

static bool separates(eg__token_rule rule, int32_t c)
{
    return rule == EG__TOKENS_SPOKEN ? c == ' ' : rule != EG__TOKENS_CHARACTERS && eg__is_blank(c);
}

static bool number(const line *l, eg__token_rule rule, eg__words *known, eg__sequence *to)
{
    const int32_t *c = characters(l);
    const bool each = (int)rule == EG_BLEU_CHAR || rule == EG__TOKENS_CHARACTERS;
    eg__bytes letters = {0};
    bool ok = true;
    for (int64_t i = 0, n = length(l), end; i < n && ok; i = end) {
        end = i + 1;
        if (separates(rule, c[i])) {
            continue;
        }
        while (!each && end < n && !separates(rule, c[end])) {
            end++;
        }
        ok = rule == EG__TOKENS_STEMS ? add_stem(known, c + i, end - i, &letters, to)
                                      : add_token(known, c + i, (end - i) * (int64_t)sizeof *c, to);
    }
    eg__bytes_free(&letters);
    return ok;
}

/* Of the characters that ROUGE lets through, letters of ASCII, some are lower-case letters of others: "\u0130" (of two
 * characters, whose second does not count) and "\u212a", the sign of Kelvin. */
static int32_t ascii_lower(int32_t c)
{
    return c == 0x130 ? 'i' : c == 0x212a ? 'k' : c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* ASCII needs no library, but for categories. */
static eg_status lower_line(line *l, const char *op, eg__token_rule rule, bool lower, bool ascii)
{
    const bool category = (int)rule == EG_BLEU_INTL || (int)rule == EG_BLEU_TRANSFORMER;
    const bool letters = rule == EG__TOKENS_ROUGE || rule == EG__TOKENS_STEMS; /* of ASCII alone count */
    if (category || (lower && !ascii && !letters)) {
        eg_status st = eg__characters_open(op);
        if (st) {
            return st;
        }
    }
    const int32_t *c = characters(l);
    for (int64_t i = 0, n = length(l); i < n; i++) {
        int32_t to[2] = {lower && (c[i] < 128 || letters) ? ascii_lower(c[i]) : c[i]};
        const int count = lower && c[i] >= 128 && !letters ? eg__lower_at(c, n, i, to) : 1;
        for (int k = 0; k < count; k++) {
            put(l, to[k]);
        }
        if (letters && c[i] == 0x130) {
            put(l, ' '); /* for the dot above */
        }
    }
    turn(l);
    return EG_OK;
}

eg_status eg__tokens_of(const char *op, const char *text, eg__token_rule rule, bool lower, eg__words *known,
                        eg__sequence *to)
{
    line l = {0};
    bool ascii = true;
    to->ids.n = 0;
    eg_status st = read_text(&l, op, text, &ascii);
    st = st ? st : lower_line(&l, op, rule, lower, ascii);
    if (!st) {
        if ((int)rule != EG_BLEU_TRANSFORMER) {
            trim(&l, rule == EG__TOKENS_CHARACTERS || rule == EG__TOKENS_SPOKEN);
        }
        rewrite(&l, rule);
        st = l.full || !number(&l, rule, known, to) ? eg__no_memory(op, l.now.n) : EG_OK;
    }
    line_free(&l);
    return st;
}

/* ---- what a call compares -------------------------------------------------------------------------- */

eg_status eg__said_read(eg__said *s, const char *op, const char *text, const char *const *references, int n,
                        eg__token_rule rule, bool lower)
{
    *s = (eg__said){0};
    if (!text || (n > 0 && !references)) {
        return eg__null_argument(op, text ? "references" : "text");
    }
    if (n < 0) {
        return eg__fail(EG_EINVAL, op, "%d references", n);
    }
    s->references = eg__malloc(((size_t)n + 1) * sizeof *s->references);
    if (!s->references) {
        return eg__no_memory(op, n);
    }
    memset(s->references, 0, ((size_t)n + 1) * sizeof *s->references);
    s->n = n;
    eg_status st = eg__tokens_of(op, text, rule, lower, &s->known, &s->text);
    for (int i = 0; i < n && !st; i++) {
        st = references[i] ? eg__tokens_of(op, references[i], rule, lower, &s->known, &s->references[i])
                           : eg__null_argument(op, "a reference");
    }
    return st;
}

void eg__said_free(eg__said *s)
{
    eg__words_free(&s->known);
    eg__bytes_free(&s->text.ids);
    for (int i = 0; i < s->n; i++) {
        eg__bytes_free(&s->references[i].ids);
    }
    free(s->references);
    *s = (eg__said){0};
}

/* ---- ids --------------------------------------------------------------------------------------------- */

static eg_status check_ids(const char *op, const eg_tensor *t, const char *name)
{
    eg_status st = eg__check(t, op, name);
    if (st) {
        return st;
    }
    if (t->dtype != EG_I64 && t->dtype != EG_I32 && t->dtype != EG_U8) {
        return eg__fail(EG_EDTYPE, op, "%s is %s, must be integers", name, eg_dtype_name((eg_dtype)t->dtype));
    }
    return t->ndim == 1 || t->ndim == 2
               ? EG_OK
               : eg__fail(EG_ESHAPE, op, "%s is %s, must be [n] or [N, n]", name, EG__SHAPE_OF(t));
}

static eg_status values_of(const char *op, eg_tensor *t, double **values)
{
    *values = eg__malloc(((size_t)t->n + 1) * sizeof **values);
    return *values ? eg_to_values(t, *values) : eg__no_memory(op, t->n);
}

eg_status eg__rows_read(eg__rows *r, const char *op, eg_tensor *ids, eg_tensor *reference)
{
    *r = (eg__rows){0};
    eg_status st = check_ids(op, ids, "ids");
    st = st ? st : check_ids(op, reference, "reference");
    if (!st && (ids->ndim != reference->ndim || (ids->ndim == 2 && ids->shape[0] != reference->shape[0]))) {
        st = eg__fail(EG_ESHAPE, op, "ids %s and reference %s must be as many rows", EG__SHAPE_OF(ids),
                      EG__SHAPE_OF(reference));
    }
    if (!st) {
        r->n = ids->ndim == 2 ? ids->shape[0] : 1;
        r->text_length = ids->shape[ids->ndim - 1];
        r->reference_length = reference->shape[reference->ndim - 1];
    }
    st = st ? st : values_of(op, ids, &r->text);
    return st ? st : values_of(op, reference, &r->reference);
}

void eg__rows_free(eg__rows *r)
{
    free(r->text);
    free(r->reference);
    *r = (eg__rows){0};
}

static bool number_row(const double *row, int64_t n, eg__words *known, eg__sequence *to)
{
    bool ok = true;
    to->ids.n = 0;
    for (int64_t i = 0; i < n && ok; i++) {
        ok = row[i] < 0 || add_token(known, &row[i], sizeof row[i], to);
    }
    return ok;
}

eg_status eg__rows_at(const eg__rows *r, const char *op, int64_t i, eg__said *s)
{
    if (!s->references) {
        s->references = eg__malloc(sizeof *s->references);
        if (!s->references) {
            return eg__no_memory(op, (int64_t)sizeof *s->references);
        }
        s->references[0] = (eg__sequence){0};
        s->n = 1;
    }
    eg__words_cut(&s->known, 0);
    const bool ok = number_row(r->text + i * r->text_length, r->text_length, &s->known, &s->text) &&
                    number_row(r->reference + i * r->reference_length, r->reference_length, &s->known, s->references);
    return ok ? EG_OK : eg__no_memory(op, r->text_length);
}
