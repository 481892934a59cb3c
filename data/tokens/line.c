/* line.c - a text under way: bytes, and the places in the original that they stand for. */
#include <stdarg.h>
#include <stdio.h>

#include "data/tokens/tokens.h"

void eg__encoder_fail(eg__encoder *w, eg_status code, const char *format, ...)
{
    if (w->st) {
        return;
    }
    va_list ap;
    va_start(ap, format);
    vsnprintf(w->words, sizeof w->words, format, ap);
    va_end(ap);
    w->st = code;
}

bool eg__encoder_room(eg__encoder *w, void *array, uint32_t *room, uint64_t need, size_t element)
{
    uint64_t more = *room ? 2 * (uint64_t)*room : EG__START_CAPACITY;
    more = more < need ? need : more;
    void *p = NULL;
    void *old = *(void **)array;
    if (!w->st && more <= UINT32_MAX) {
        p = eg__counted_alloc(more * element);
    }
    if (!p) {
        eg__encoder_fail(w, EG_ENOMEM, "%llu bytes", (unsigned long long)(more * element));
        return false;
    }
    if (*room) {
        memcpy(p, old, *room * element);
    }
    eg__counted_free(old);
    *(void **)array = p;
    *room = (uint32_t)more;
    return true;
}

bool eg__line_room(eg__encoder *w, eg__line *l, int64_t n)
{
    if (w->most && n > w->most - w->done) {
        eg__encoder_fail(w, EG_EINVAL,
                         "the steps of the tokenizer make more than %lld bytes of the text; the limit is %d times its "
                         "length and %d",
                         (long long)w->most, EG__GROWTH, EG__GROWTH_FREE);
        return false;
    }
    if (n <= l->room) {
        return true;
    }
    int64_t room = eg__max(eg__max(n, 2 * l->room), EG__START_CAPACITY);
    uint8_t *s = room <= UINT32_MAX && !w->st ? eg__counted_alloc((size_t)room) : NULL;
    if (!s) {
        eg__encoder_fail(w, EG_ENOMEM, "%lld bytes", (long long)room);
        return false;
    }
    if (l->n) {
        memcpy(s, l->s, (size_t)l->n);
    }
    eg__counted_free(l->s);
    l->s = s;
    l->room = room;
    return true;
}

static bool places_room(eg__encoder *w, eg__line *l, int64_t n)
{
    if (n <= l->at_room) {
        return true;
    }
    int64_t room = eg__max(eg__max(n, 2 * l->at_room), EG__START_CAPACITY);
    eg__extent *at = room <= UINT32_MAX && !w->st ? eg__counted_alloc((size_t)room * sizeof *at) : NULL;
    if (!at) {
        eg__encoder_fail(w, EG_ENOMEM, "%lld bytes", (long long)(room * (int64_t)sizeof *at));
        return false;
    }
    if (l->n && l->at_room) {
        memcpy(at, l->at, (size_t)eg__min(l->n, l->at_room) * sizeof *at);
    }
    eg__counted_free(l->at);
    l->at = at;
    l->at_room = room;
    return true;
}

void eg__line_set(eg__encoder *w, const uint8_t *s, int64_t n, uint32_t base)
{
    eg__line *l = &w->line;
    l->n = 0;
    if (!eg__line_room(w, l, n)) {
        return;
    }
    uint8_t high = 0;
    for (int64_t i = 0; i < n; i++) {
        high |= s[i];
    }
    if (n) {
        memcpy(l->s, s, (size_t)n);
    }
    l->n = n;
    l->base = base;
    l->straight = true;
    l->ascii = high < 0x80;
}

void eg__line_spread(eg__encoder *w)
{
    eg__line *l = &w->line;
    if (!l->straight || !places_room(w, l, l->n)) {
        return;
    }
    for (int64_t i = 0, n; i < l->n; i += n) {
        int bytes;
        eg__character(l->s + i, &bytes);
        n = bytes;
        for (int64_t k = 0; k < n && i + k < l->n; k++) {
            l->at[i + k] = (eg__extent){l->base + (uint32_t)i, l->base + (uint32_t)(i + n)};
        }
    }
    l->straight = false;
}

static void exchange(eg__encoder *w)
{
    eg__line l = w->line;
    w->line = w->other;
    w->other = l;
}

void eg__line_begin(eg__encoder *w, int64_t n)
{
    eg__line_spread(w);
    w->other.n = 0;
    n = w->most ? eg__min(n, w->most - w->done) : n; /* n is an estimate */
    if (eg__line_room(w, &w->other, n)) {
        places_room(w, &w->other, n);
    }
}

void eg__line_end(eg__encoder *w)
{
    if (w->st) {
        return;
    }
    w->other.base = w->line.base;
    w->other.straight = false;
    uint8_t high = 0;
    for (int64_t i = 0; i < w->other.n; i++) {
        high |= w->other.s[i];
    }
    w->other.ascii = high < 0x80;
    exchange(w);
}

void eg__line_put(eg__encoder *w, const void *s, int64_t n, eg__extent at)
{
    eg__line *l = &w->other;
    if (!eg__line_room(w, l, l->n + n) || !places_room(w, l, l->n + n)) {
        return;
    }
    memcpy(l->s + l->n, s, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        l->at[l->n + i] = at;
    }
    l->n += n;
}

void eg__line_copy(eg__encoder *w, int64_t begin, int64_t end)
{
    eg__line *l = &w->other;
    const int64_t n = end - begin;
    if (n <= 0 || !eg__line_room(w, l, l->n + n) || !places_room(w, l, l->n + n)) {
        return;
    }
    memcpy(l->s + l->n, w->line.s + begin, (size_t)n);
    memcpy(l->at + l->n, w->line.at + begin, (size_t)n * sizeof *l->at);
    l->n += n;
}

void eg__rewrite(eg__encoder *w, int64_t removed)
{
    eg__line_begin(w, w->line.n + 16);
    const eg__line *from = &w->line;
    int64_t at = removed;
    for (uint32_t k = 0; k < w->c.n && !w->st; k++) {
        const int32_t change = w->change.p[k];
        const int64_t place = eg__min(change > 0 ? at - 1 : at, from->n - 1);
        eg__extent span = place < 0 ? (eg__extent){from->base, from->base} : from->at[place];
        uint8_t bytes[4];
        eg__line_put(w, bytes, eg__put_character(bytes, w->c.p[k]), span);
        for (int32_t skip = change; skip <= 0 && at < from->n; skip++) {
            int n;
            eg__character(from->s + at, &n);
            at += n;
        }
    }
    eg__line_end(w);
    w->c.n = w->change.n = 0;
}
