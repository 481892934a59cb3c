/* normal.c - normalisers: each makes another line of the line. */
#include "data/tokens/tokens.h"

/* For each character c of the line, `bytes` of them at i. */
#define EACH_CHARACTER(w, i, bytes, c)                                      \
    for (int64_t i = 0, bytes = 0; i < (w)->line.n && !(w)->st; i += bytes) \
        for (int32_t c = next((w)->line.s + i, &bytes), once = 1; once; once = 0)

static int32_t next(const uint8_t *s, int64_t *n)
{
    int bytes;
    int32_t c = eg__character(s, &bytes);
    *n = bytes;
    return c;
}

/* Keeps the characters for which `drops` says no; they stand for what they stood for. */
static void filter(eg__encoder *w, unsigned classes, bool (*drops)(int32_t c))
{
    eg__line_begin(w, w->line.n);
    EACH_CHARACTER(w, i, n, c)
    {
        if (!(eg__class(c) & classes) && !(drops && drops(c))) {
            eg__line_copy(w, i, i + n);
        }
    }
    eg__line_end(w);
}

/* ---- case ----------------------------------------------------------------------------------- */

void eg__normal_lower(eg__encoder *w, const eg__step *s)
{
    (void)s;
    if (w->line.ascii) {
        for (int64_t i = 0; i < w->line.n; i++) {
            const uint8_t c = w->line.s[i];
            w->line.s[i] = c >= 'A' && c <= 'Z' ? c | 32 : c;
        }
        return;
    }
    EACH_CHARACTER(w, i, n, c)
    {
        int32_t to[2];
        int k = eg__small(c, to);
        eg__becomes(w, to[0], 0);
        if (k > 1) {
            eg__becomes(w, to[1], 1);
        }
    }
    eg__rewrite(w, 0);
}

/* ---- forms ---------------------------------------------------------------------------------- */

/* Decomposed characters that wait for their order: those with a combining class are sorted by it. */
typedef struct waiting {
    int32_t c, change;
    int class;
} waiting;
enum { MOST_WAITING = 128 };

typedef struct composer {
    eg__encoder *w;
    bool composes, has, last; /* has a first; has a class behind it */
    int32_t first, first_change;
    int last_class;
    uint32_t held; /* where marks that stay behind the first are, in c and change */
    waiting marks[MOST_WAITING];
    int nmarks;
} composer;

/* The first, and the marks that did not compose with it. */
static void let_go(composer *k)
{
    if (k->has) {
        eg__becomes(k->w, k->first, k->first_change);
    }
    for (int i = 0; i < k->nmarks; i++) {
        eg__becomes(k->w, k->marks[i].c, k->marks[i].change);
    }
    k->nmarks = 0;
    k->has = k->last = false;
}

/* The next character in canonical order. */
static void give(composer *k, const waiting *x)
{
    if (!k->composes) {
        eg__becomes(k->w, x->c, x->change);
        return;
    }
    if (!k->has) {
        if (x->class) {
            eg__becomes(k->w, x->c, x->change);
        } else {
            k->has = true;
            k->first = x->c;
            k->first_change = x->change;
        }
        return;
    }
    const bool blocked = k->last && k->last_class >= x->class;
    const int32_t one = blocked ? 0 : eg__compose(k->first, x->c);
    if (one) {
        k->first = one;
        k->first_change += x->change - 1;
        return;
    }
    if (!x->class || k->nmarks == MOST_WAITING) {
        let_go(k);
        k->has = true;
        k->first = x->c;
        k->first_change = x->change;
        return;
    }
    k->marks[k->nmarks++] = *x;
    k->last = true;
    k->last_class = x->class;
}

static void sort_and_give(composer *k, waiting *x, int n)
{
    for (int i = 1; i < n; i++) { /* stable, and rarely more than two */
        waiting v = x[i];
        int j = i;
        for (; j > 0 && x[j - 1].class > v.class; j--) {
            x[j] = x[j - 1];
        }
        x[j] = v;
    }
    for (int i = 0; i < n; i++) {
        give(k, &x[i]);
    }
}

/* a: composed, b: compatible. */
void eg__normal_form(eg__encoder *w, const eg__step *s)
{
    waiting x[MOST_WAITING];
    int n = 0, made = 0;
    composer k = {.w = w, .composes = s->a};
    if (w->line.ascii) {
        return;
    }
    EACH_CHARACTER(w, i, bytes, c)
    {
        int32_t to[32];
        made = eg__decompose(c, s->b, to);
        for (int j = 0; j < made; j++) {
            waiting v = {to[j], j > 0, eg__combining(to[j])};
            if (!v.class || n == MOST_WAITING) {
                sort_and_give(&k, x, n);
                n = 0;
            }
            x[n++] = v;
        }
    }
    sort_and_give(&k, x, n);
    let_go(&k);
    eg__rewrite(w, 0);
}

/* ---- what is left out ----------------------------------------------------------------------- */

void eg__normal_accents(eg__encoder *w, const eg__step *s)
{
    (void)s;
    if (!w->line.ascii) {
        filter(w, EG__MARK, NULL);
    }
}

/* a: at the begin, b: at the end. */
void eg__normal_strip(eg__encoder *w, const eg__step *s)
{
    int64_t begin = 0, end = w->line.n;
    int n;
    while (s->a && begin < end && eg__class_at(w->line.s + begin, &n) & EG__BLANK) {
        begin += n;
    }
    for (int64_t at; s->b && end > begin; end = at) {
        at = eg__character_before(w->line.s, end);
        if (!(eg__class_at(w->line.s + at, &n) & EG__BLANK)) {
            break;
        }
    }
    if (begin || end < w->line.n) {
        eg__line_begin(w, w->line.n);
        eg__line_copy(w, begin, end);
        eg__line_end(w);
    }
}

static bool nmt_drops(int32_t c)
{
    return (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f;
}

static bool nmt_blank(int32_t c)
{
    return c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 || (c >= 0x200b && c <= 0x200f) || c == 0x2028 ||
           c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
}

void eg__normal_nmt(eg__encoder *w, const eg__step *s)
{
    (void)s;
    filter(w, 0, nmt_drops);
    EACH_CHARACTER(w, i, n, c)
    {
        eg__becomes(w, nmt_blank(c) ? ' ' : c, 0);
    }
    eg__rewrite(w, 0);
}

/* Characters of text become blanks. */
void eg__normal_blanks(eg__encoder *w, const eg__step *s)
{
    EACH_CHARACTER(w, i, n, c)
    {
        uint8_t bytes[5] = {0};
        eg__put_character(bytes, c);
        eg__becomes(w, c && strstr(s->text.s, (char *)bytes) ? ' ' : c, 0);
    }
    eg__rewrite(w, 0);
}

/* ---- what is put in ------------------------------------------------------------------------- */

void eg__normal_replace(eg__encoder *w, const eg__step *s)
{
    int64_t done = 0;
    eg__matches m = EG__MATCHES;
    if (!eg__next_match(w, s->pattern, w->line.s, w->line.n, &m)) {
        return;
    }
    eg__line_begin(w, w->line.n + s->more.n);
    bool more = true;
    while (more && !w->st) {
        eg__line_copy(w, done, m.begin);
        eg__extent at = m.end > 0 ? w->line.at[m.end - 1] : (eg__extent){w->line.base, w->line.base};
        eg__line_put(w, s->more.s, s->more.n, at);
        done = m.end;
        more = eg__next_match(w, s->pattern, w->line.s, w->line.n, &m);
    }
    eg__line_copy(w, done, w->line.n);
    eg__line_end(w);
}

void eg__normal_prepend(eg__encoder *w, const eg__step *s)
{
    if (!w->line.n) {
        return;
    }
    eg__line_begin(w, w->line.n + s->text.n);
    if (w->st) {
        return;
    }
    eg__line_put(w, s->text.s, s->text.n, w->line.at[0]);
    eg__line_copy(w, 0, w->line.n);
    eg__line_end(w);
}

/* ---- BERT ----------------------------------------------------------------------------------- */

/* What ASCII becomes by cleaning: 0 is dropped. */
static inline uint8_t cleaned(uint8_t c)
{
    return c == '\t' || c == '\n' || c == '\r' ? ' ' : c < 0x20 || c == 0x7f ? 0 : c;
}

/* All of it for ASCII, where only what is dropped moves the rest. */
static void bert_ascii(eg__encoder *w, const eg__step *s)
{
    eg__line *l = &w->line;
    bool drops = false;
    for (int64_t i = 0; i < l->n; i++) {
        uint8_t c = s->a ? cleaned(l->s[i]) : l->s[i];
        drops |= !c && s->a;
        l->s[i] = s->d && c >= 'A' && c <= 'Z' ? c | 32 : c;
    }
    if (drops) {
        eg__line_begin(w, l->n);
        for (int64_t i = 0; i < w->line.n; i++) {
            if (w->line.s[i]) {
                eg__line_copy(w, i, i + 1);
            }
        }
        eg__line_end(w);
    }
}

static bool is_nothing(int32_t c)
{
    return !c || c == 0xfffd;
}

/* a: clean, b: ideographs apart, c: without accents, d: lower. In one pass where no mark is about: one that stands
 * alone, or that a letter decomposes into, is left out in any order. */
void eg__normal_bert(eg__encoder *w, const eg__step *s)
{
    if (w->line.ascii) {
        bert_ascii(w, s);
        return;
    }
    const bool strip = s->c;
    eg__line_begin(w, w->line.n + 16);
    EACH_CHARACTER(w, i, n, c)
    {
        const unsigned class = eg__class(c);
        const eg__extent at = w->line.at[i];
        if (s->a && (is_nothing(c) || (class & EG__CONTROL && !(class & EG__NEWLINE) && c != '\t'))) {
            continue;
        }
        c = s->a && class & EG__BLANK ? ' ' : c;
        const bool apart = s->b && class & EG__IDEOGRAPH;
        if (apart) {
            eg__line_put(w, " ", 1, at);
        }
        int32_t parts[32] = {c}, low[2];
        uint8_t bytes[4];
        const int k = strip && c >= 0xc0 ? eg__decompose(c, false, parts) : 1;
        for (int j = 0; j < k; j++) {
            if (strip && c >= 0xc0 && eg__class(parts[j]) & EG__ACCENT) {
                continue;
            }
            int m = s->d ? eg__small(parts[j], low) : (low[0] = parts[j], 1);
            for (int q = 0; q < m; q++) {
                eg__line_put(w, bytes, eg__put_character(bytes, low[q]), at);
            }
        }
        if (apart) {
            eg__line_put(w, " ", 1, at);
        }
    }
    eg__line_end(w);
}

/* ---- SentencePiece -------------------------------------------------------------------------- */

/* Hugging Face's way with the rules of a SentencePiece model: a grapheme of less than 6 bytes, else each character. */
static bool by_rule(eg__encoder *w, const eg__step *s, int64_t i, int64_t n)
{
    int64_t from, made;
    const uint8_t *to = eg__charsmap_at(s->map, w->line.s + i, n, false, &from, &made);
    if (!to) {
        return false;
    }
    int64_t old = 0, more = 0;
    for (int64_t k = 0, b; k < n; k += b) {
        next(w->line.s + i + k, &b);
        old++;
    }
    for (int64_t k = 0, b; k < made; k += b) {
        eg__becomes(w, next(to + k, &b), more++ >= old);
    }
    if (more < old && w->change.n) {
        w->change.p[w->change.n - 1] -= (int32_t)(old - more);
    }
    return true;
}

static int64_t grapheme(const eg__line *l, int64_t i)
{
    int n;
    unsigned class = eg__class_at(l->s + i, &n);
    int64_t end = i + n;
    if (class & EG__NEWLINE) {
        return l->s[i] == '\r' && end < l->n && l->s[end] == '\n' ? end + 1 : end;
    }
    if (class & EG__CONTROL && !(class & (EG__EXTENDS | EG__PREPENDS))) {
        return end;
    }
    for (bool joined = class & EG__PREPENDS; end < l->n; end += n) {
        unsigned behind = eg__class_at(l->s + end, &n);
        bool stays = behind & EG__EXTENDS || (joined && !(behind & EG__CONTROL));
        if (!stays) {
            break;
        }
        joined = behind & EG__PREPENDS;
    }
    return end;
}

void eg__normal_charsmap(eg__encoder *w, const eg__step *s)
{
    bool any = false;
    for (int64_t i = 0, end; i < w->line.n && !w->st; i = end) {
        end = grapheme(&w->line, i);
        if (end - i < 6 && by_rule(w, s, i, end - i)) {
            any = true;
            continue;
        }
        for (int64_t k = i, n; k < end; k += n) {
            int32_t c = next(w->line.s + k, &n);
            if (by_rule(w, s, k, n)) {
                any = true;
            } else {
                eg__becomes(w, c, 0);
            }
        }
    }
    if (any) {
        eg__rewrite(w, 0);
    }
    w->c.n = w->change.n = 0;
}

/* SentencePiece's own: the longest rule at each place. a: a blank before (b: behind) it all, c: runs of blanks become
 * one, at the ends none, d: blanks are written as U+2581. */
void eg__normal_sentencepiece(eg__encoder *w, const eg__step *s)
{
    static const char mark[] = "\xe2\x96\x81";
    const char *blank = s->d ? mark : " ";
    const int64_t wide = s->d ? 3 : 1;
    bool before = s->c, begun = false;
    eg__line *l = &w->line;
    eg__line_begin(w, l->n + l->n / 2 + 8);
    for (int64_t i = 0, from; i < l->n && !w->st; i += from) {
        int64_t n = 0;
        const uint8_t *to = NULL;
        const eg_tokenizer *t = w->t;
        int32_t node = 0, user = 0; /* symbols of the user stay as they are */
        for (int64_t k = i; t->before.node && k < l->n && (node = eg__trie_step(&t->before, node, l->s[k])) >= 0; k++) {
            user = t->before.node[node].value >= 0 ? (int32_t)(k + 1 - i) : user;
        }
        if (user) {
            to = l->s + i;
            from = n = user;
        } else if (!s->map || !(to = eg__charsmap_at(s->map, l->s + i, l->n - i, true, &from, &n))) {
            to = l->s + i;
            next(to, &from);
            n = from;
        }
        const eg__extent at = {l->at[i].begin, l->at[i + from - 1].end};
        if (!begun && s->c && n == 1 && *to == ' ') {
            continue;
        }
        if (!begun && s->a && !s->b) {
            eg__line_put(w, blank, wide, (eg__extent){at.begin, at.begin});
        }
        begun = true;
        while (n && before && *to == ' ') {
            to++;
            n--;
        }
        for (int64_t k = 0; k < n; k++) {
            eg__line_put(w, to[k] == ' ' ? blank : (const char *)to + k, to[k] == ' ' ? wide : 1, at);
        }
        before = s->c && (n ? to[n - 1] == ' ' : before);
    }
    eg__line *o = &w->other;
    w->consumed = l->base + (uint32_t)l->n;
    while (s->c && !w->st && o->n >= wide && !memcmp(o->s + o->n - wide, blank, (size_t)wide)) {
        o->n -= wide;
        w->consumed = o->at[o->n].begin;
    }
    if (begun && s->a && s->b) {
        eg__line_put(w, blank, wide, (eg__extent){w->consumed, w->consumed});
    }
    eg__line_end(w);
}
