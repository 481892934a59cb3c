/* rename.c - named tensors under other names, as a map in words says; io.h has its rules. */
#include <egret/io.h>

#include "lib/core/tensor.h"
#include "lib/io/layouts.h"
#include "lib/io/name_map.h"

enum { NAME_MOST = 511 };

/* ---- names ------------------------------------------------------------------------------------ */

typedef struct job {
    const char *op, *map;
    const eg_tensors *from;
    eg__span caught[EG__STARS_MOST]; /* by the stars of the rule */
    size_t length;
    bool too_long;
    char name[NAME_MOST + 1]; /* that the rule makes */
} job;

/* Whether a name is of the pattern. Stars take as little as they can; as none can take a separator, only the latest one
 * ever has to take more. */
static bool matches(eg__span pattern, const char *name, eg__span *caught)
{
    const char *p = pattern.text, *end = p + pattern.length, *behind = NULL;
    int stars = 0;
    while (*name || p < end) {
        if (p < end && *p == '*') {
            caught[stars++] = (eg__span){name, 0};
            behind = ++p;
        } else if (p < end && *p == *name) {
            p++;
            name++;
        } else {
            eg__span *latest = &caught[behind ? stars - 1 : 0];
            const char *more = behind ? latest->text + latest->length : "";
            if (!*more || *more == '/' || *more == '.') {
                return false;
            }
            latest->length++;
            name = more + 1;
            p = behind;
        }
    }
    return true;
}

static void put(job *j, eg__span s)
{
    j->too_long = j->too_long || s.length > NAME_MOST - j->length;
    if (!j->too_long) {
        memcpy(j->name + j->length, s.text, s.length);
        j->length += s.length;
    }
}

/* Puts what is meant by the characters behind a "{"; returns what follows the "}", or NULL where the rule does not
 * fit. */
static const char *put_reference(job *j, const char *p)
{
    const char *end = strchr(p, '}');
    eg__span word = j->caught[*p - '1'];
    char digits[24];
    if (p[1] == ':') {
        const char *at = eg__map_list(j->map, (eg__span){p + 2, (size_t)(end - p - 2)});
        eg__span theirs, ours, item = eg__map_word(&at);
        while (item.length && !(eg__map_pair(item, &theirs, &ours) && eg__span_is(theirs, word))) {
            item = eg__map_word(&at);
        }
        if (!item.length) {
            return NULL;
        }
        word = ours;
    } else if (p[1] != '}') {
        int64_t n = eg__map_number(word), by = eg__map_number((eg__span){p + 2, (size_t)(end - p - 2)});
        int64_t sum = p[1] == '+' ? n + by : n - by;
        if (n < 0 || sum < 0) {
            return NULL;
        }
        word = (eg__span){digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)sum)};
    }
    put(j, word);
    return end + 1;
}

/* Makes j->name; false where the rule does not fit. */
static bool compose(job *j, eg__span ours)
{
    const char *p = ours.text, *end = p + ours.length;
    j->length = 0;
    j->too_long = false;
    while (p && p < end) {
        if (*p == '{') {
            p = put_reference(j, p + 1);
        } else {
            put(j, (eg__span){p++, 1});
        }
    }
    j->name[j->length] = '\0';
    return p != NULL;
}

/* The first rule that fits a name; *at is then behind it. */
static bool find_rule(job *j, const char *name, const char **at, eg__map_line *l)
{
    *at = j->map;
    *l = (eg__map_line){.number = 0};
    while (eg__map_next(at, l)) {
        if (!l->list && !l->also && matches(l->first, name, j->caught) && compose(j, l->ours)) {
            return true;
        }
    }
    return false;
}

/* ---- tensors ---------------------------------------------------------------------------------- */

/* Puts a tensor under the name that was made of its own. */
static eg_status add(job *j, const char *name, eg_tensor *t, const eg__map_line *l, eg_tensors *out)
{
    if (j->too_long) {
        return eg__fail(EG_EINVAL, j->op, "line %d: what \"%.60s\" becomes has more than %d bytes", l->number, name,
                        NAME_MOST);
    }
    if (eg_tensors_has(out, j->name)) {
        return eg__fail(EG_EINVAL, j->op, "\"%.60s\" and \"%.60s\" both become \"%.60s\"",
                        eg_tensors_text(out, j->name), name, j->name);
    }
    const char *at = l->rest;
    eg_scope s = eg_scope_push();
    for (eg__span way = eg__map_word(&at); s.depth && t && way.length; way = eg__map_word(&at)) {
        t = eg__layout_undone(j->op, name, t, way);
    }
    eg_status st = s.depth && t ? eg_tensors_set(out, j->name, t) : eg__why();
    st = st ? st : eg_tensors_set_text(out, j->name, name);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

static eg_status rename_one(job *j, const char *name, int64_t i, eg_tensors *out)
{
    const char *at;
    eg__map_line l;
    bool fits = find_rule(j, name, &at, &l);
    eg_tensor *t = fits ? eg_tensors_at(j->from, i) : NULL;
    eg_status st = fits ? add(j, name, t, &l, out) : EG_OK;
    while (fits && !st && eg__map_next(&at, &l) && l.also) {
        st = compose(j, l.ours) ? add(j, name, t, &l, out) : EG_OK;
    }
    return st;
}

/* Those that a rule fits, or those that none does. */
static eg_tensors *sorted_out(const char *op, const eg_tensors *from, const char *map, bool fitting)
{
    eg_status st = from && map ? eg__map_check(op, map) : eg__null_argument(op, from ? "map" : "from");
    eg_tensors *out = st ? NULL : eg_tensors_new();
    job j = {.op = op, .map = map, .from = from};
    st = out ? EG_OK : eg__why();
    for (int64_t i = 0; !st && i < eg_tensors_count(from); i++) {
        const char *name = eg_tensors_name(from, i), *at;
        eg__map_line l;
        if (fitting) {
            st = rename_one(&j, name, i, out);
        } else if (!find_rule(&j, name, &at, &l)) {
            eg_tensor *t = eg_tensors_at(from, i);
            st = t ? eg_tensors_set(out, name, t) : eg__why();
        }
    }
    if (st) {
        eg_tensors_free(out);
        return NULL;
    }
    return out;
}

eg_tensors *eg_tensors_renamed(const eg_tensors *from, const char *map)
{
    return sorted_out("eg_tensors_renamed", from, map, true);
}

eg_tensors *eg_tensors_left_out(const eg_tensors *from, const char *map)
{
    return sorted_out("eg_tensors_left_out", from, map, false);
}
