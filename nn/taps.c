/* taps.c - inner results of a forward by name. */
#include <stdlib.h>

#include "nn/nn.h"

static const char me[] = "eg_module_forward_taps";

/* One path of the caller's, as written. */
typedef struct pattern {
    const char *text;
    size_t length;
    bool met; /* by a module that was called */
} pattern;

/* A module whose results are wanted. */
typedef struct tap {
    eg_module *m;
    char *path;
    pattern *of;
} tap;

typedef struct listener {
    eg_members walk;
    pattern *patterns;
    tap *taps;
    uint32_t count, room, pattern_count, pattern_room;
    eg_tensors *into;
    eg_status status;
    size_t length; /* of the path to the module being walked */
    char path[512];
} listener;

/* ---- paths ------------------------------------------------------------------------------------ */

/* Whether the whole text is as the pattern says: "*" for what has no dot, "**" for anything. */
static bool matches(const char *p, const char *end, const char *text)
{
    for (; p < end && *p != '*'; p++, text++) {
        if (*p != *text) {
            return false;
        }
    }
    if (p == end) {
        return !*text;
    }
    bool any = p + 1 < end && p[1] == '*';
    for (const char *rest = p + 1 + any;; text++) {
        if (matches(rest, end, text)) {
            return true;
        }
        if (!*text || (*text == '.' && !any)) {
            return false;
        }
    }
}

static eg_status split(listener *l, const char *paths)
{
    for (const char *p = paths; *p;) {
        size_t blanks = strspn(p, ", \t\n"), length = strcspn(p + blanks, ", \t\n");
        p += blanks;
        if (!length) {
            break;
        }
        if (l->pattern_count == l->pattern_room && !eg__grow(&l->patterns, &l->pattern_room, sizeof *l->patterns)) {
            return eg__no_memory(me, 0);
        }
        l->patterns[l->pattern_count++] = (pattern){p, length, false};
        p += length;
    }
    return l->pattern_count ? EG_OK : eg__fail(EG_EINVAL, me, "paths name no module");
}

/* ---- modules ---------------------------------------------------------------------------------- */

static eg_status add_tap(listener *l, eg_module *m, pattern *of)
{
    if (l->count == l->room && !eg__grow(&l->taps, &l->room, sizeof *l->taps)) {
        return eg__no_memory(me, 0);
    }
    char *path = eg__malloc(strlen(l->path) + 1);
    if (!path) {
        return eg__no_memory(me, (int64_t)strlen(l->path));
    }
    l->taps[l->count++] = (tap){m, strcpy(path, l->path), of};
    return EG_OK;
}

static void find_taps(eg_members *walk, const eg__member *member)
{
    listener *l = (listener *)walk;
    size_t before = l->length, room = sizeof l->path - before;
    if (l->status || member->kind != EG__CHILD) {
        return;
    }
    int n = snprintf(l->path + before, room, "%s%s", before ? "." : "", member->name);
    if ((size_t)n >= room) {
        l->status =
            eg__fail(EG_EINVAL, me, "the name \"%.60s...\" has more than %zu bytes", l->path, sizeof l->path - 1);
        return;
    }
    l->length += (size_t)n;
    for (uint32_t i = 0; i < l->pattern_count && !l->status; i++) {
        pattern *p = &l->patterns[i];
        if (matches(p->text, p->text + p->length, l->path)) {
            l->status = add_tap(l, *member->child, p);
        }
    }
    eg__members(*member->child, walk);
    l->length = before;
    l->path[before] = 0;
}

static void saw(void *user, eg_module *m, eg_tensor *y, int64_t macs)
{
    listener *l = user;
    (void)macs;
    for (uint32_t i = 0; i < l->count && y && !l->status; i++) {
        if (l->taps[i].m == m) {
            l->taps[i].of->met = true;
            l->status = eg_tensors_set(l->into, l->taps[i].path, y);
        }
    }
}

static eg_tensor *listen(listener *l, eg_module *m, eg_tensor *x)
{
    eg__observer observer = {.saw = saw, .user = l};
    eg__observer_add(&observer);
    eg_tensor *y = eg_module_forward(m, x);
    eg__observer_remove(&observer);
    for (uint32_t i = 0; i < l->pattern_count && y && !l->status; i++) {
        if (!l->patterns[i].met) {
            l->status = eg__fail(EG_EINDEX, me, "no module that was called is \"%.*s\"",
                                 (int)eg__min((int64_t)l->patterns[i].length, 160), l->patterns[i].text);
        }
    }
    return l->status ? NULL : y;
}

eg_tensor *eg_module_forward_taps(eg_module *m, eg_tensor *x, const char *paths, eg_tensors *taps)
{
    if (!m || !paths || !taps) {
        return eg__null_argument(me, !m ? "m" : paths ? "taps" : "paths"), NULL;
    }
    listener l = {.walk = {find_taps, 0}, .into = taps};
    l.status = split(&l, paths);
    eg_status all = l.status ? l.status : eg__walk_members(m, &l.walk, me);
    l.status = l.status ? l.status : all;
    eg_tensor *y = l.status ? NULL : listen(&l, m, x);
    while (l.count) {
        free(l.taps[--l.count].path);
    }
    free(l.taps);
    free(l.patterns);
    return y;
}
