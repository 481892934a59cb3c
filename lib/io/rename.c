/* rename.c - named tensors under other names, as a map in words says; io.h has its rules. */
#include <stdlib.h>

#include <egret/io.h>
#include <egret/ops.h>

#include "lib/core/tensor.h"
#include "lib/io/layouts.h"
#include "lib/io/name_map.h"

enum { NAME_MOST = 511 };

/* ---- names ------------------------------------------------------------------------------------ */

typedef struct job {
    const char *op, *map;
    const eg_tensors *from;
    eg_tensors *parts;               /* of what is joined, under "name I/OF" */
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

/* ---- joining ---------------------------------------------------------------------------------- */

typedef struct part_name {
    char s[NAME_MOST + 16];
} part_name;

static part_name name_of_part(const char *name, int64_t i, int64_t of)
{
    part_name p;
    snprintf(p.s, sizeof p.s, "%.*s %d/%d", NAME_MOST, name, (int)i, (int)of);
    return p;
}

static bool all_there(const job *j, const char *name, int64_t of)
{
    bool all = true;
    for (int64_t i = 0; all && i < of; i++) {
        all = eg_tensors_has(j->parts, name_of_part(name, i, of).s);
    }
    return all;
}

/* Puts all parts, one behind the other, under the name that was made. */
static eg_status put_joint(job *j, int64_t of, eg_tensors *out)
{
    eg_tensor *parts[EG__JOIN_MOST];
    const part_name first = name_of_part(j->name, 0, of);
    for (int64_t i = 0; i < of; i++) {
        const part_name here = name_of_part(j->name, i, of);
        parts[i] = eg_tensors_get(j->parts, here.s);
        bool fits = parts[i]->ndim && parts[i]->ndim == parts[0]->ndim;
        for (int d = 1; fits && d < parts[0]->ndim; d++) {
            fits = parts[i]->shape[d] == parts[0]->shape[d];
        }
        if (!fits) {
            return eg__fail(EG_ESHAPE, j->op, "\"%.60s\" is %s, which does not join \"%.60s\", %s",
                            eg_tensors_text(j->parts, here.s), EG__SHAPE_OF(parts[i]),
                            eg_tensors_text(j->parts, first.s), EG__SHAPE_OF(parts[0]));
        }
    }
    eg_tensor *t = eg_concat(parts, (int)of, 0);
    eg_status st = t ? eg_tensors_set(out, j->name, t) : eg__why();
    return st ? st : eg_tensors_set_text(out, j->name, eg_tensors_text(j->parts, first.s));
}

static eg_status put_part(job *j, const char *name, eg_tensor *t, int64_t i, int64_t of, eg_tensors *out)
{
    const part_name here = name_of_part(j->name, i, of);
    const char *before = eg_tensors_text(j->parts, here.s);
    if (before) {
        return eg__fail(EG_EINVAL, j->op, "\"%.60s\" and \"%.60s\" both become part %d of \"%.60s\"", before, name,
                        (int)i, j->name);
    }
    eg_status st = eg_tensors_set(j->parts, here.s, t);
    st = st ? st : eg_tensors_set_text(j->parts, here.s, name);
    return st || !all_there(j, j->name, of) ? st : put_joint(j, of, out);
}

/* Refuses a part that has waited in vain. */
static eg_status check_parts(job *j)
{
    for (int64_t k = 0; k < eg_tensors_count(j->parts); k++) {
        const char *part = eg_tensors_name(j->parts, k), *blank = strrchr(part, ' ');
        const int64_t of = strtoll(strchr(blank, '/') + 1, NULL, 10);
        char name[NAME_MOST + 1];
        snprintf(name, sizeof name, "%.*s", (int)(blank - part), part);
        if (!all_there(j, name, of)) {
            return eg__fail(EG_EINVAL, j->op, "\"%.60s\" is a part of \"%.60s\", which has not all of its %d parts",
                            eg_tensors_text(j->parts, part), name, (int)of);
        }
    }
    return EG_OK;
}

/* ---- tensors ---------------------------------------------------------------------------------- */

/* Puts a tensor, or a part of one, under the name that was made of its own. */
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
    int64_t i = 0, of = 0;
    eg_scope s = eg_scope_push();
    for (eg__span way = eg__map_word(&at); s.depth && t && way.length; way = eg__map_word(&at)) {
        t = eg__layout_is_join(way, &i, &of) ? t : eg__layout_undone(j->op, name, t, way, l->number);
    }
    eg_status st = !s.depth || !t ? eg__why() : of ? put_part(j, name, t, i, of, out) : eg_tensors_set(out, j->name, t);
    st = st || of ? st : eg_tensors_set_text(out, j->name, name);
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
    job j = {.op = op, .map = map, .from = from, .parts = out ? eg_tensors_new() : NULL};
    st = j.parts ? EG_OK : eg__why();
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
    st = st ? st : check_parts(&j);
    eg_tensors_free(j.parts);
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
