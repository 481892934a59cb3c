/* split.c - splitters: each makes more pieces of the pieces. */
#include "data/tokens/tokens.h"

static void add(eg__encoder *w, int64_t begin, int64_t end)
{
    if (begin < end && EG__ROOM(w, w->next, 1)) {
        w->next.p[w->next.n++] = (eg__piece){(uint32_t)begin, (uint32_t)end, -1};
    }
}

static void keep(eg__encoder *w, const eg__piece *p)
{
    if (EG__ROOM(w, w->next, 1)) {
        w->next.p[w->next.n++] = *p;
    }
}

static void exchange(eg__encoder *w)
{
    uint32_t room = w->pieces.room;
    eg__piece *p = w->pieces.p;
    w->pieces.p = w->next.p;
    w->pieces.n = w->next.n;
    w->pieces.room = w->next.room;
    w->next.p = p;
    w->next.n = 0;
    w->next.room = room;
}

/* ---- by behaviour --------------------------------------------------------------------------- */

/* What becomes of matches and of what stands between them, fed in their order. */
typedef struct cutter {
    eg__encoder *w;
    eg__behaviour how;
    bool invert, held, was; /* a piece is held back; the one before was a match */
    int64_t begin, end;
} cutter;

static void flush(cutter *k)
{
    if (k->held) {
        add(k->w, k->begin, k->end);
    }
    k->held = false;
}

static void feed(cutter *k, int64_t begin, int64_t end, bool match)
{
    match ^= k->invert;
    bool joins = false;
    switch (k->how) {
    case EG__ISOLATED:
        break;
    case EG__REMOVED:
        if (match) {
            return;
        }
        break;
    case EG__TOGETHER:
        joins = match == k->was;
        break;
    case EG__MERGED_BEFORE:
        joins = match && !k->was;
        break;
    case EG__MERGED_BEHIND: /* the held one is a match that waits for what is behind it */
        joins = k->was && !match;
        break;
    }
    if (!(joins && k->held)) {
        flush(k);
        k->begin = begin;
    }
    k->end = end;
    k->held = true;
    k->was = match;
}

static void cut_by_pattern(cutter *k, const eg__pattern *p, const eg__piece *from)
{
    const uint8_t *s = k->w->line.s + from->begin;
    const int64_t n = from->end - from->begin;
    int64_t done = 0;
    eg__matches m = EG__MATCHES;
    while (eg__next_match(k->w, p, s, n, &m)) {
        if (m.begin > done) {
            feed(k, from->begin + done, from->begin + m.begin, false);
        }
        feed(k, from->begin + m.begin, from->begin + m.end, true);
        done = m.end;
    }
    if (done < n) {
        feed(k, from->begin + done, from->end, false);
    }
}

/* pattern, behaviour; d: what matches and what does not change places. */
void eg__split_pattern(eg__encoder *w, const eg__step *s)
{
    w->next.n = 0;
    for (uint32_t i = 0; i < w->pieces.n && !w->st; i++) {
        const eg__piece p = w->pieces.p[i];
        cutter k = {.w = w, .how = s->behaviour, .invert = s->d};
        if (p.added >= 0) {
            keep(w, &p);
            continue;
        }
        cut_by_pattern(&k, s->pattern, &p);
        flush(&k);
    }
    exchange(w);
}

/* Each character of these classes is a match. */
static void split_by_class(eg__encoder *w, unsigned classes, eg__behaviour how)
{
    w->next.n = 0;
    for (uint32_t i = 0; i < w->pieces.n && !w->st; i++) {
        const eg__piece p = w->pieces.p[i];
        cutter k = {.w = w, .how = how};
        if (p.added >= 0) {
            keep(w, &p);
            continue;
        }
        int64_t begin = p.begin;
        for (int64_t at = p.begin, next; at < p.end; at = next) {
            int n;
            const bool match = eg__class_at(w->line.s + at, &n) & classes;
            next = at + n;
            if (match) {
                if (at > begin) {
                    feed(&k, begin, at, false);
                }
                feed(&k, at, next, true);
                begin = next;
            }
        }
        if (begin < p.end) {
            feed(&k, begin, p.end, false);
        }
        flush(&k);
    }
    exchange(w);
}

void eg__split_blanks(eg__encoder *w, const eg__step *s)
{
    (void)s;
    split_by_class(w, EG__BLANK, EG__REMOVED);
}

void eg__split_punctuation(eg__encoder *w, const eg__step *s)
{
    split_by_class(w, EG__PUNCTUATION, s->behaviour);
}

/* a: each alone. */
void eg__split_digits(eg__encoder *w, const eg__step *s)
{
    split_by_class(w, EG__NUMBER, s->a ? EG__ISOLATED : EG__TOGETHER);
}

/* At blanks, which go, and at punctuation, each character a piece. */
void eg__split_bert(eg__encoder *w, const eg__step *s)
{
    (void)s;
    w->next.n = 0;
    for (uint32_t i = 0; i < w->pieces.n && !w->st; i++) {
        const eg__piece p = w->pieces.p[i];
        if (p.added >= 0) {
            keep(w, &p);
            continue;
        }
        int64_t begin = p.begin;
        for (int64_t at = p.begin, next; at < p.end; at = next) {
            int n;
            const unsigned class = eg__class_at(w->line.s + at, &n) & (EG__BLANK | EG__PUNCTUATION);
            next = at + n;
            if (class) {
                add(w, begin, at);
                if (class & EG__PUNCTUATION) {
                    add(w, at, next);
                }
                begin = next;
            }
        }
        add(w, begin, p.end);
    }
    exchange(w);
}

/* Letters and numbers, and what stands between; single blanks between words go (tensor2tensor). */
void eg__split_alike(eg__encoder *w, const eg__step *s)
{
    (void)s;
    w->next.n = 0;
    for (uint32_t i = 0; i < w->pieces.n && !w->st; i++) {
        const eg__piece p = w->pieces.p[i];
        int64_t begin = p.begin;
        bool was = false;
        for (int64_t at = p.begin, next; at < p.end; at = next) {
            int n;
            const bool is = eg__class_at(w->line.s + at, &n) & (EG__LETTER | EG__NUMBER);
            next = at + n;
            if (at > p.begin && is != was) {
                if (at - begin != 1 || w->line.s[begin] != ' ' || begin == p.begin) {
                    add(w, begin, at);
                }
                begin = at;
            }
            was = is;
        }
        add(w, begin, p.end);
    }
    exchange(w);
}

/* ---- those that change the line ------------------------------------------------------------- */

/* Puts a text before each piece for which `wants` says so. */
static void prefix_pieces(eg__encoder *w, const eg__step *s,
                          bool (*wants)(const eg__encoder *w, const eg__step *s, const eg__piece *p), const char *text,
                          int64_t bytes)
{
    bool any = false;
    for (uint32_t i = 0; i < w->pieces.n && !any; i++) {
        any = w->pieces.p[i].added < 0 && wants(w, s, &w->pieces.p[i]);
    }
    if (!any) {
        return;
    }
    eg__line_begin(w, w->line.n + bytes);
    for (uint32_t i = 0; i < w->pieces.n && !w->st; i++) {
        eg__piece *p = &w->pieces.p[i];
        const uint32_t begin = (uint32_t)w->other.n;
        if (p->added < 0 && wants(w, s, p)) {
            eg__line_put(w, text, bytes, w->line.at[p->begin]);
        }
        eg__line_copy(w, p->begin, p->end);
        p->begin = begin;
        p->end = (uint32_t)w->other.n;
    }
    eg__line_end(w);
}

static bool lacks_blank(const eg__encoder *w, const eg__step *s, const eg__piece *p)
{
    (void)s;
    return w->line.s[p->begin] != ' ';
}

/* a: a blank before pieces that begin with none, b: split by the pattern. */
void eg__split_bytes(eg__encoder *w, const eg__step *s)
{
    if (s->a) {
        prefix_pieces(w, s, lacks_blank, " ", 1);
    }
    if (s->b) {
        eg__split_pattern(w, s);
    }
}

static bool begins(const eg__encoder *w, const eg__string *with, const eg__piece *p)
{
    return p->end - p->begin >= with->n && !memcmp(w->line.s + p->begin, with->s, (size_t)with->n);
}

static bool lacks_mark(const eg__encoder *w, const eg__step *s, const eg__piece *p)
{
    if (begins(w, &s->text, p)) {
        return false;
    }
    return s->a || eg__extent_of(&w->line, p->begin, p->end).begin == 0;
}

/* text: stands for blanks, put before each piece (a), before the first of a text (b); c: split before it. */
void eg__split_metaspace(eg__encoder *w, const eg__step *s)
{
    const bool any = memchr(w->line.s ? w->line.s : (uint8_t *)"", ' ', (size_t)w->line.n);
    if (any) {
        eg__line_begin(w, w->line.n + w->line.n / 2 + 8);
        for (uint32_t i = 0; i < w->pieces.n && !w->st; i++) {
            eg__piece *p = &w->pieces.p[i];
            const uint32_t begin = (uint32_t)w->other.n;
            int64_t done = p->begin;
            for (int64_t at = p->begin; at < p->end && p->added < 0; at++) {
                if (w->line.s[at] == ' ') {
                    eg__line_copy(w, done, at);
                    eg__line_put(w, s->text.s, s->text.n, w->line.at[at]);
                    done = at + 1;
                }
            }
            eg__line_copy(w, done, p->end);
            p->begin = begin;
            p->end = (uint32_t)w->other.n;
        }
        eg__line_end(w);
    }
    if (!w->st && (s->a || s->b)) {
        prefix_pieces(w, s, lacks_mark, s->text.s, s->text.n);
    }
    if (!w->st && s->c) {
        eg__split_pattern(w, s);
    }
}
