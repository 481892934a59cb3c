/* copy.c - copies of modules. */
#include <stdlib.h>

#include <egret/ops.h>

#include "lib/core/live.h"
#include "nn/nn.h"

static const char me[] = "eg_module_copy";

typedef struct pair {
    const eg_tensor *from;
    eg_tensor *to; /* kept by the member it was made for */
} pair;

/* Walks over a copy, whose members are still those of the original. */
typedef struct copier {
    eg_members walk;
    pair *pairs;
    uint32_t count, room;
    eg_status status;
} copier;

static eg_tensor *copied(copier *c, eg_tensor *t)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->pairs[i].from == t) {
            return eg_keep(c->pairs[i].to);
        }
    }
    if (c->count == c->room && !eg__grow(&c->pairs, &c->room, sizeof *c->pairs)) {
        return eg__no_memory(me, 0), NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *to = s.depth ? eg_keep(eg_copy(eg_detach(t))) : NULL;
    eg_scope_pop(s, NULL);
    if (to) {
        to->flags |= t->flags & EG__PARAM;
        c->pairs[c->count++] = (pair){t, to};
    }
    return to;
}

static eg_module *copy_tree(copier *c, const eg_module *m);

/* After a failure the rest of the members are nothing, so that none of the original's is freed. */
static void copy_member(eg_members *walk, const eg__member *member)
{
    copier *c = (copier *)walk;
    if (member->kind == EG__CHILD) {
        *member->child = c->status ? NULL : copy_tree(c, *member->child);
        c->status = c->status || *member->child ? c->status : eg__why();
    } else {
        *member->tensor = c->status ? NULL : copied(c, *member->tensor);
        c->status = c->status || *member->tensor ? c->status : eg__why();
    }
}

/* Kinds of programs built before there was such a thing have a shorter struct. */
static bool has_copy(const eg_module_kind *kind)
{
    return kind->size >= offsetof(eg_module_kind, copy) + sizeof kind->copy && kind->copy;
}

static eg_module *copy_tree(copier *c, const eg_module *m)
{
    if (m->kind->free && !has_copy(m->kind)) {
        return eg__fail_null(EG_ESTATE, me, "a %s holds more than its members, and does not say how to copy it",
                             m->kind->name);
    }
    eg_module *to = eg_module_new(m->bytes, m->kind);
    char *name = m->name ? eg__malloc(strlen(m->name) + 1) : NULL;
    if (!to || (m->name && !name)) {
        free(name);
        eg_module_free(to);
        return eg__no_memory(me, (int64_t)m->bytes), NULL;
    }
    memcpy((char *)to + sizeof *to, (const char *)m + sizeof *m, m->bytes - sizeof *m);
    to->training = m->training;
    to->name = name ? strcpy(name, m->name) : NULL;
    c->status = has_copy(m->kind) ? m->kind->copy(to, m) : EG_OK;
    eg__members(to, &c->walk);
    if (c->status) {
        eg_module_free(to);
        return NULL;
    }
    return eg_module_finish(to);
}

static void pass_over(eg_members *walk, const eg__member *member)
{
    (void)walk, (void)member;
}

eg_module *eg_module_copy(eg_module *m)
{
    if (!m) {
        return eg__null_argument(me, "m"), NULL;
    }
    if (eg__walk_members(m, &(eg_members){pass_over, 0}, me)) {
        return NULL;
    }
    copier c = {.walk = {copy_member, 0}};
    eg_module *to = copy_tree(&c, m);
    free(c.pairs);
    return to;
}
