/* name_map.c - see name_map.h. */
#include "lib/io/name_map.h"

#include <string.h>

#include "lib/core/error.h"
#include "lib/io/layouts.h"

enum { DIGITS_MOST = 9 };

/* ---- lines of a map --------------------------------------------------------------------------- */

eg__span eg__map_word(const char **at)
{
    const char *p = *at + strspn(*at, " \t\r");
    size_t length = *p == '#' ? 0 : strcspn(p, " \t\r\n");
    *at = p + length;
    return (eg__span){p, length};
}

bool eg__map_next(const char **at, eg__map_line *l)
{
    while (**at) {
        const char *p = *at, *end = p + strcspn(p, "\n");
        *at = *end ? end + 1 : end;
        l->number++;
        l->first = eg__map_word(&p);
        if (l->first.length) {
            l->list = l->first.length > 1 && l->first.text[l->first.length - 1] == ':';
            l->also = l->first.length == 1 && *l->first.text == '+';
            l->ours = l->list ? (eg__span){NULL, 0} : eg__map_word(&p);
            l->rest = p;
            return true;
        }
    }
    return false;
}

bool eg__span_is(eg__span a, eg__span b)
{
    return a.length == b.length && !memcmp(a.text, b.text, a.length);
}

bool eg__map_pair(eg__span item, eg__span *theirs, eg__span *ours)
{
    const char *equals = memchr(item.text, '=', item.length);
    if (!equals || equals == item.text) {
        return false;
    }
    *theirs = (eg__span){item.text, (size_t)(equals - item.text)};
    *ours = (eg__span){equals + 1, item.length - theirs->length - 1};
    return true;
}

const char *eg__map_list(const char *map, eg__span name)
{
    eg__map_line l = {.number = 0};
    while (eg__map_next(&map, &l)) {
        if (l.list && eg__span_is((eg__span){l.first.text, l.first.length - 1}, name)) {
            return l.rest;
        }
    }
    return NULL;
}

int64_t eg__map_number(eg__span s)
{
    int64_t n = s.length && s.length <= DIGITS_MOST ? 0 : -1;
    for (size_t i = 0; i < s.length && n >= 0; i++) {
        n = s.text[i] < '0' || s.text[i] > '9' ? -1 : n * 10 + (s.text[i] - '0');
    }
    return n;
}

/* ---- whether it is a map ---------------------------------------------------------------------- */

/* Whether what follows a "{" says something: 1}, 1+2}, 1-2}, 1:list}. */
static bool is_reference(const char *map, eg__span s, int stars)
{
    const char *end = memchr(s.text, '}', s.length);
    if (!end || *s.text < '1' || *s.text > '0' + stars) {
        return false;
    }
    if (end == s.text + 1) {
        return true;
    }
    const eg__span by = {s.text + 2, (size_t)(end - s.text - 2)};
    return s.text[1] == ':' ? eg__map_list(map, by) != NULL : strchr("+-", s.text[1]) && eg__map_number(by) >= 0;
}

static eg_status check_list(const char *op, const eg__map_line *l)
{
    const char *at = l->rest;
    for (eg__span item = eg__map_word(&at), a, b; item.length; item = eg__map_word(&at)) {
        if (!eg__map_pair(item, &a, &b)) {
            return eg__fail(EG_EINVAL, op, "line %d: \"%.*s\" in a list is not theirs=ours", l->number,
                            (int)item.length, item.text);
        }
    }
    return EG_OK;
}

static eg_status check_layouts(const char *op, const eg__map_line *l)
{
    const char *at = l->rest;
    bool joins = false;
    for (eg__span way = eg__map_word(&at); way.length; way = eg__map_word(&at)) {
        int64_t i, of;
        if (joins) {
            return eg__fail(EG_EINVAL, op, "line %d: \"%.*s\" is behind what joins", l->number, (int)way.length,
                            way.text);
        }
        joins = eg__layout_is_join(way, &i, &of);
        if (!joins && !eg__layout_known(way)) {
            return eg__fail(EG_EINVAL, op, "line %d: there is no layout \"%.*s\"", l->number, (int)way.length,
                            way.text);
        }
    }
    return EG_OK;
}

/* *stars: of the rule above; -1: there is none. */
static eg_status check_rule(const char *op, const char *map, const eg__map_line *l, int *stars)
{
    if (!l->also) {
        *stars = 0;
        for (size_t i = 0; i < l->first.length; i++) {
            *stars += l->first.text[i] == '*';
        }
    }
    if (*stars < 0 || *stars > EG__STARS_MOST || !l->ours.length) {
        return eg__fail(EG_EINVAL, op, "line %d: \"%.*s\" %s", l->number, (int)l->first.length, l->first.text,
                        *stars < 0                ? "has no rule above it"
                        : *stars > EG__STARS_MOST ? "has more than nine stars"
                                                  : "has no other name beside it");
    }
    for (size_t i = 0; i < l->ours.length; i++) {
        const eg__span behind = {l->ours.text + i + 1, l->ours.length - i - 1};
        if (l->ours.text[i] == '{' && !is_reference(map, behind, *stars)) {
            return eg__fail(EG_EINVAL, op, "line %d: \"%.*s\" does not say which of %d stars, and how", l->number,
                            (int)behind.length + 1, behind.text - 1, *stars);
        }
    }
    return check_layouts(op, l);
}

eg_status eg__map_check(const char *op, const char *map)
{
    const char *at = map;
    eg__map_line l = {.number = 0};
    int stars = -1;
    eg_status st = EG_OK;
    while (!st && eg__map_next(&at, &l)) {
        st = l.list ? check_list(op, &l) : check_rule(op, map, &l, &stars);
        stars = l.list ? -1 : stars;
    }
    return st;
}
