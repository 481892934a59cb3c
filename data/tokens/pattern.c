/* pattern.c - what texts are searched for: bytes as they are, the regular expressions that most tokenizers have, by
 * hand; others in regex.c. */
#include "data/tokens/tokens.h"

/* Bytes of the run of characters with one of these classes, or with none of them, that begins at s. */
static int64_t run_of(const uint8_t *s, int64_t n, unsigned classes, bool with)
{
    int64_t i = 0;
    int bytes;
    while (i < n && !!(eg__class_at(s + i, &bytes) & classes) == with) {
        i += bytes;
    }
    return i;
}

/* ---- GPT-2's ------------------------------------------------------------------------------------------ */

static int64_t contraction(const uint8_t *s, int64_t n)
{
    static const char *const ends[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    for (int i = 0; i < EG__COUNT(ends) && *s == '\''; i++) {
        const int64_t bytes = (int64_t)strlen(ends[i]);
        if (n > bytes && !memcmp(s + 1, ends[i], (size_t)bytes)) {
            return 1 + bytes;
        }
    }
    return 0;
}

/* Blanks; without the last one where something else stands behind them, unless it is the only one. */
static int64_t blanks(const uint8_t *s, int64_t n)
{
    const int64_t all = run_of(s, n, EG__BLANK, true), last = all ? eg__character_before(s, all) : 0;
    return all < n && last > 0 ? last : all;
}

static bool scan_gpt2(eg__encoder *w, const eg__pattern *p, const uint8_t *s, int64_t n, int64_t *begin, int64_t *end)
{
    (void)w;
    (void)p;
    const int64_t i = *begin;
    if (i >= n) {
        return false;
    }
    int64_t bytes = contraction(s + i, n - i);
    if (!bytes) {
        const int64_t space = s[i] == ' ' && i + 1 < n;
        int k;
        const unsigned class = eg__class_at(s + i + space, &k) & (EG__LETTER | EG__NUMBER | EG__BLANK);
        bytes = class & EG__BLANK ? blanks(s + i, n - i)
                : class           ? space + run_of(s + i + space, n - i - space, class, true)
                        : space + run_of(s + i + space, n - i - space, EG__LETTER | EG__NUMBER | EG__BLANK, false);
    }
    *end = i + bytes;
    return true;
}

/* ---- words (in Rust's regex: with joiners), and what is neither word nor blank
 * ----------------------------------------------------------- */

static bool scan_words(eg__encoder *w, const eg__pattern *p, const uint8_t *s, int64_t n, int64_t *begin, int64_t *end)
{
    (void)w;
    (void)p;
    int k;
    int64_t i = *begin + run_of(s + *begin, n - *begin, EG__BLANK, true);
    if (i >= n) {
        return false;
    }
    *begin = i;
    *end = i + (eg__class_at(s + i, &k) & EG__WORD ? run_of(s + i, n - i, EG__WORD, true)
                                                   : run_of(s + i, n - i, EG__WORD | EG__BLANK, false));
    return true;
}

/* ---- runs of blanks ---------------------------------------------------------------------------------------- */

static bool scan_blanks(eg__encoder *w, const eg__pattern *p, const uint8_t *s, int64_t n, int64_t *begin, int64_t *end)
{
    (void)w;
    (void)p;
    *begin += run_of(s + *begin, n - *begin, EG__BLANK, false);
    *end = *begin + run_of(s + *begin, n - *begin, EG__BLANK, true);
    return *begin < n;
}

static const struct {
    const char *text;
    eg__scan *scan;
} known[] = {
    {EG__GPT2_PATTERN, scan_gpt2},
    {"\\s+", scan_blanks},
};

/* ---- one match after another ----------------------------------------------------------------------------- */

bool eg__next_match(eg__encoder *w, const eg__pattern *p, const uint8_t *s, int64_t n, eg__matches *m)
{
    int bytes = 1;
    while (n && m->from <= n) {
        int64_t begin = m->from, end = m->from;
        if (!p->scan(w, p, s, n, &begin, &end)) {
            return false;
        }
        if (begin != end || end != m->last) {
            *m = (eg__matches){.from = end, .last = end, .begin = begin, .end = end};
            return true;
        }
        /* an empty match where the last one ended is none: look from the next character on */
        if (m->from < n) {
            eg__character(s + m->from, &bytes);
        }
        m->from += bytes;
    }
    return false;
}

/* ---- bytes as they are --------------------------------------------------------------------------------------- */

static bool scan_literal(eg__encoder *w, const eg__pattern *p, const uint8_t *s, int64_t n, int64_t *begin,
                         int64_t *end)
{
    (void)w;
    if (!p->bytes) {
        *end = *begin;
        return true;
    }
    const uint8_t *at = s + *begin, *stop = s + n - p->bytes;
    while (at <= stop && (at = memchr(at, p->text[0], (size_t)(stop - at + 1))) &&
           memcmp(at, p->text, (size_t)p->bytes)) {
        at++;
    }
    if (!at || at > stop) {
        return false;
    }
    *begin = at - s;
    *end = *begin + p->bytes;
    return true;
}

/* ---- begin and end --------------------------------------------------------------------------------------------- */

static eg__pattern *pattern_new(const char *op, const char *text, int64_t bytes)
{
    if (eg__check_text(op, "a pattern", text, bytes, EG__TEXT_MOST)) {
        return NULL;
    }
    eg__pattern *p = eg__counted_alloc(sizeof *p + (size_t)bytes + 1);
    if (!p) {
        return eg__no_memory(op, bytes), NULL;
    }
    *p = (eg__pattern){.text = (char *)(p + 1), .bytes = bytes};
    memcpy(p->text, text, (size_t)bytes);
    p->text[bytes] = '\0';
    return p;
}

eg__pattern *eg__pattern_literal(const char *op, const char *text, int64_t bytes)
{
    eg__pattern *p = pattern_new(op, text, bytes);
    if (p) {
        p->scan = scan_literal;
    }
    return p;
}

eg__pattern *eg__pattern_words(const char *op)
{
    eg__pattern *p = pattern_new(op, "\\w+|[^\\w\\s]+", 12);
    if (p) {
        p->scan = scan_words;
    }
    return p;
}

bool eg__is_pattern_words(const eg__pattern *p)
{
    return p->scan == scan_words;
}

eg__pattern *eg__pattern_new(const char *op, const char *text, int64_t bytes)
{
    eg__pattern *p = pattern_new(op, text, bytes);
    for (int i = 0; i < EG__COUNT(known) && p; i++) {
        if (!strcmp(p->text, known[i].text)) {
            p->scan = known[i].scan;
            return p;
        }
    }
    if (p && eg__regex_new(op, p)) {
        eg__pattern_free(p);
        return NULL;
    }
    return p;
}

void eg__pattern_free(eg__pattern *p)
{
    if (p) {
        eg__regex_free(p->code);
        eg__counted_free(p);
    }
}
