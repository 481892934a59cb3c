/* containers.c - modules made of modules: sequences, lists, branches, residual blocks. */
#include <stdlib.h>

#include "lib/ops/optable.h"
#include "lib/core/live.h"
#include "nn/nn.h"

/* ---- names ----------------------------------------------------------------------------------- */

enum { NAME_MOST = 100 };

/* Of something that is a name, why it is none; else NULL. */
static const char *fault_of(const char *name)
{
    return !*name ? "it is empty" : strlen(name) > NAME_MOST ? "too long" : strchr(name, '.') ? "it has a dot" : NULL;
}

eg_module *eg_named(const char *name, eg_module *m)
{
    static const char op[] = "eg_named";
    if (!m) {
        return eg__null_argument(op, "m"), NULL;
    }
    const char *fault = name ? fault_of(name) : NULL;
    char *copy = name && !fault ? eg__malloc(strlen(name) + 1) : NULL;
    if (!copy) {
        eg_module_free(m->parent ? NULL : m);
        return name && fault ? eg__fail_null(EG_EINVAL, op, "\"%.60s\" is no name: %s", name, fault)
               : name        ? (eg__no_memory(op, NAME_MOST), NULL)
                             : (eg__null_argument(op, "name"), NULL);
    }
    free(m->name);
    m->name = strcpy(copy, name);
    return m;
}

/* ---- sequences and lists --------------------------------------------------------------------- */

enum { BRANCHES_MOST = 64 };

/* Each result lives until the next one is made, so that two are held at a time and not all. */
static eg_tensor *sequential_forward(eg_module *m, eg_tensor *x)
{
    eg__list *q = (eg__list *)m;
    eg_tensor *y = x;
    for (int i = 0; i < q->count && y; i++) {
        eg_scope s = eg_scope_push();
        eg_tensor *next = s.depth ? eg_keep(eg_module_forward(q->child[i], y)) : NULL;
        eg_scope_pop(s, NULL);
        if (i) {
            eg_release(y);
        }
        y = next;
    }
    if (!y || !q->count) {
        return y;
    }
    eg_tensor *result = eg_scope_adopt(y);
    if (!result) {
        eg_release(y);
    }
    return result;
}

void eg__list_members(eg_module *m, eg_members *members)
{
    eg__list *q = (eg__list *)m;
    for (int i = 0; i < q->count; i++) {
        char number[12];
        snprintf(number, sizeof number, "%d", i);
        eg_member_child(members, q->child[i] && q->child[i]->name ? q->child[i]->name : number, &q->child[i]);
    }
}

static const eg_module_kind sequential_kind = {
    .size = sizeof(eg_module_kind), .name = "sequential", .forward = sequential_forward, .members = eg__list_members};
static const eg_module_kind list_kind = {
    .size = sizeof(eg_module_kind), .name = "module_list", .members = eg__list_members};

static eg_tensor *branches_forward(eg_module *m, eg_tensor *x)
{
    eg__list *q = (eg__list *)m;
    eg_tensor *made[BRANCHES_MOST];
    for (int i = 0; i < q->count; i++) {
        if (!(made[i] = eg_module_forward(q->child[i], x))) {
            return NULL;
        }
    }
    return eg_concat(made, q->count, 1);
}

static const eg_module_kind branches_kind = {
    .size = sizeof(eg_module_kind), .name = "branches", .forward = branches_forward, .members = eg__list_members};

void eg__free_given(eg_module *const *modules, int count)
{
    for (int i = 0; i < count; i++) {
        bool seen = !modules[i];
        for (int j = 0; j < i && !seen; j++) {
            seen = modules[j] == modules[i];
        }
        if (!seen && eg__handle_lives(modules[i]) && !modules[i]->parent) {
            eg_module_free(modules[i]);
        }
    }
}

eg_status eg__check_given(const char *op, eg_module *const *modules, int count)
{
    for (int i = 0; i < count; i++) {
        if (modules[i] && !eg__handle_lives(modules[i])) {
            return eg__fail(EG_ESTATE, op, "member \"%d\" was freed before", i);
        }
    }
    return EG_OK;
}

eg_module *eg__list_new(const eg_module_kind *kind, eg_module *const *modules, int count, size_t more)
{
    if (count < 0 || (count && !modules)) {
        return eg__fail_null(EG_EINVAL, kind->name, "%d modules at %p", count, (const void *)modules);
    }
    eg__list *q = eg__check_given(kind->name, modules, count)
                      ? NULL
                      : eg_module_new(sizeof *q + (size_t)count * sizeof *modules + more, kind);
    if (!q) {
        eg__free_given(modules, count);
        return NULL;
    }
    q->count = count;
    if (count) {
        memcpy(q->child, modules, (size_t)count * sizeof *modules);
    }
    return eg_module_finish(&q->base);
}

eg_module *eg_sequential_new_with(eg_module *const *modules, int count)
{
    return eg__list_new(&sequential_kind, modules, count, 0);
}

eg_module *eg_module_list_new_with(eg_module *const *modules, int count)
{
    return eg__list_new(&list_kind, modules, count, 0);
}

eg_module *eg_branches_new_with(eg_module *const *modules, int count)
{
    if (modules && (count < 1 || count > BRANCHES_MOST)) {
        eg__free_given(modules, count < 0 ? 0 : count);
        return eg__fail_null(EG_EINVAL, "branches", "%d branches: 1..%d are possible", count, BRANCHES_MOST);
    }
    return eg__list_new(&branches_kind, modules, count, 0);
}

static eg_status check_list(const char *op, const eg_module *m)
{
    if (!m) {
        return eg__null_argument(op, "list");
    }
    return m->kind->members == eg__list_members
               ? EG_OK
               : eg__fail(EG_EINVAL, op, "a %s has no numbered modules", m->kind->name);
}

int eg_module_count(const eg_module *list)
{
    return check_list("eg_module_count", list) ? -1 : ((const eg__list *)list)->count;
}

eg_module *eg_module_at(eg_module *list, int i)
{
    static const char op[] = "eg_module_at";
    if (check_list(op, list)) {
        return NULL;
    }
    eg__list *q = (eg__list *)list;
    int at = i < 0 ? i + q->count : i;
    if (at < 0 || at >= q->count) {
        return eg__fail_null(EG_EINDEX, op, "%d is outside a list of %d modules", i, q->count);
    }
    return q->child[at];
}

/* ---- residual blocks ------------------------------------------------------------------------- */

typedef struct residual {
    eg_module base;
    eg_module *body, *shortcut;
} residual;

static eg_tensor *residual_forward(eg_module *m, eg_tensor *x)
{
    residual *r = (residual *)m;
    return eg_add(eg_module_forward(r->body, x), eg_module_forward(r->shortcut, x));
}

static void residual_members(eg_module *m, eg_members *members)
{
    residual *r = (residual *)m;
    eg_member_child(members, "body", &r->body);
    eg_member_child(members, "shortcut", &r->shortcut);
}

static const eg_module_kind residual_kind = {
    .size = sizeof(eg_module_kind), .name = "residual", .forward = residual_forward, .members = residual_members};

eg_module *eg_residual_new(eg_module *body, eg_module *shortcut)
{
    eg_module *given[2] = {body, shortcut};
    residual *r = eg__check_given(residual_kind.name, given, 2) ? NULL : eg_module_new(sizeof *r, &residual_kind);
    if (!r) {
        eg__free_given(given, 2);
        return NULL;
    }
    r->body = body;
    r->shortcut = shortcut;
    return eg_module_finish(&r->base);
}
