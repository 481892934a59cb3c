/* module.c - the tree of modules: ownership, modes, members. */
#include <stdlib.h>

#include "nn/nn.h"

#include "lib/core/live.h"

/* ---- members ------------------------------------------------------------------------------- */

void eg_member_child(eg_members *walk, const char *name, eg_module **child)
{
    walk->visit(walk, &(eg__member){EG__CHILD, name, child, NULL});
}

void eg_member_parameter(eg_members *walk, const char *name, eg_tensor **parameter)
{
    walk->visit(walk, &(eg__member){EG__PARAMETER, name, NULL, parameter});
}

void eg_member_buffer(eg_members *walk, const char *name, eg_tensor **buffer)
{
    walk->visit(walk, &(eg__member){EG__BUFFER, name, NULL, buffer});
}

void eg__members(eg_module *m, eg_members *walk)
{
    if (walk->depth > EG__MODULE_DEPTH) {
        walk->depth = INT32_MAX; /* for good: branches of a loop would be walked for ever */
    } else if (m->kind->members) {
        walk->depth++;
        m->kind->members(m, walk);
        walk->depth -= walk->depth < INT32_MAX;
    }
}

static void descend(eg_members *walk, const eg__member *member)
{
    if (member->kind == EG__CHILD && *member->child) {
        eg__members(*member->child, walk);
    }
}

eg_status eg__walk_members(eg_module *m, eg_members *walk, const char *op)
{
    eg_members look = {descend, 0}; /* before anything is changed on the way */
    eg__members(m, &look);
    if (look.depth) {
        return eg__fail(EG_ESTATE, op, "more than %d modules inside each other: one was put below itself",
                        EG__MODULE_DEPTH);
    }
    eg__members(m, walk);
    return EG_OK;
}

/* ---- making and freeing -------------------------------------------------------------------- */

void *eg_module_new(size_t size, const eg_module_kind *kind)
{
    static const char op[] = "eg_module_new";
    if (!kind) {
        return eg__null_argument(op, "kind"), NULL;
    }
    if (size < sizeof(eg_module)) {
        return eg__fail_null(EG_EINVAL, op, "size is %zu, an eg_module alone has %zu", size, sizeof(eg_module));
    }
    eg_module *m = eg__handle_new(size);
    if (!m) {
        return eg__no_memory(op, (int64_t)size), NULL;
    }
    m->kind = kind;
    m->training = true;
    m->bytes = size;
    return m;
}

static void free_tree(eg_module *m);

static void free_member(eg_members *walk, const eg__member *member)
{
    (void)walk;
    if (member->kind != EG__CHILD) {
        eg_release(*member->tensor);
    } else if (eg__handle_lives(*member->child)) { /* else it was met before: put into this tree twice */
        free_tree(*member->child);
    }
}

static void free_tree(eg_module *m)
{
    if (!eg__handle_ends(m, "eg_module_free")) {
        return;
    }
    eg__members(m, &(eg_members){free_member, 0});
    if (m->kind->free) {
        m->kind->free(m);
    }
    free(m->list);
    free(m->name);
    free(m);
}

eg_status eg_module_free(eg_module *m)
{
    if (m && !eg__handle_lives(m)) {
        return eg__fail(EG_ESTATE, "eg_module_free", "there is no module at %p: it was freed before, or never made",
                        (void *)m);
    }
    if (m && m->parent) {
        return eg__fail(EG_ESTATE, "eg_module_free", "this %s belongs to a %s, which frees it", m->kind->name,
                        m->parent->kind->name);
    }
    if (m) {
        free_tree(m);
    }
    return EG_OK;
}

/* ---- taking over members ------------------------------------------------------------------- */

typedef struct owner {
    eg_members walk;
    eg_module *m;
    eg_status status;
} owner;

static void own_member(eg_members *walk, const eg__member *member)
{
    owner *o = (owner *)walk;
    bool is_child = member->kind == EG__CHILD;
    if (!(is_child ? (void *)*member->child : (void *)*member->tensor)) {
        o->status = o->status ? o->status : eg__null_argument(o->m->kind->name, member->name);
    } else if (is_child && (*member->child == o->m || !eg__handle_lives(*member->child))) {
        o->status = eg__fail(EG_ESTATE, o->m->kind->name, "member \"%.60s\" is this module itself, or was freed before",
                             member->name);
        *member->child = NULL;
    } else if (is_child && (*member->child)->parent) {
        o->status = eg__fail(EG_ESTATE, o->m->kind->name, "member \"%.60s\" belongs to a %s already", member->name,
                             (*member->child)->parent->kind->name);
        *member->child = NULL;
    } else if (is_child) {
        (*member->child)->parent = o->m;
        o->m->height = eg__max(o->m->height, (*member->child)->height + 1);
    }
}

eg_module *eg_module_finish(eg_module *m)
{
    if (!m) {
        return NULL;
    }
    owner o = {{own_member, 0}, m, EG_OK};
    eg__members(m, &o.walk);
    if (!o.status && m->height > EG__MODULE_DEPTH) {
        o.status = eg__fail(EG_EINVAL, m->kind->name, "it would have %lld modules inside each other, %d are possible",
                            (long long)m->height, EG__MODULE_DEPTH);
    }
    if (o.status) {
        free_tree(m);
        return NULL;
    }
    return m;
}

/* ---- using --------------------------------------------------------------------------------- */

/* More than modules inside each other: one may call itself, over a tree say. */
enum { MOST_FORWARDS = 2048 };

eg_tensor *eg_module_forward(eg_module *m, eg_tensor *x)
{
    if (!m) {
        return eg__null_argument("eg_module_forward", "m"), NULL;
    }
    if (eg__check(x, m->kind->name, "x")) {
        return NULL;
    }
    if (!m->kind->forward) {
        return eg__fail_null(EG_EINVAL, m->kind->name, "it has no forward of one tensor");
    }
    eg__thread *T = eg__thread_get();
    if (T->forwards == MOST_FORWARDS) {
        return eg__fail_null(EG_ESTATE, m->kind->name, "%d forwards inside each other: a module was put below itself",
                             MOST_FORWARDS);
    }
    T->forwards++;
    eg__observed seen = eg__observe_begin(m);
    eg_error before;
    eg__user_begin(&before);
    eg_scope s = eg_scope_push();
    eg_tensor *y = s.depth ? eg_scope_pop(s, m->kind->forward(m, x)) : NULL;
    eg__user_end(&before, y ? EG_OK : EG_EUSER, m->kind->name, "forward");
    eg__observe_end(&seen, y);
    T->forwards--;
    return y;
}

typedef struct mode {
    eg_members walk;
    bool training;
} mode;

static void set_mode(eg_members *walk, const eg__member *member)
{
    if (member->kind == EG__CHILD && *member->child) {
        (*member->child)->training = ((mode *)walk)->training;
        eg__members(*member->child, walk);
    }
}

static eg_status set_training(eg_module *m, bool training, const char *op)
{
    if (!m) {
        return eg__null_argument(op, "m");
    }
    mode w = {{set_mode, 0}, training};
    eg_status st = eg__walk_members(m, &w.walk, op);
    m->training = st ? m->training : training;
    return st;
}

eg_status eg_module_train(eg_module *m)
{
    return set_training(m, true, "eg_module_train");
}

eg_status eg_module_eval(eg_module *m)
{
    return set_training(m, false, "eg_module_eval");
}

/* ---- paths --------------------------------------------------------------------------------- */

typedef struct finder {
    eg_members walk;
    const char *name;
    size_t length;
    eg_module *found;
} finder;

static void find_member(eg_members *walk, const eg__member *member)
{
    finder *f = (finder *)walk;
    if (member->kind == EG__CHILD && strlen(member->name) == f->length && !strncmp(member->name, f->name, f->length)) {
        f->found = *member->child;
    }
}

eg_module *eg_module_find(eg_module *m, const char *path)
{
    static const char op[] = "eg_module_find";
    if (!m || !path) {
        return eg__null_argument(op, m ? "path" : "m"), NULL;
    }
    eg_module *at = m;
    for (const char *p = path; *p && at;) {
        finder f = {{find_member, 0}, p, strcspn(p, "."), NULL};
        eg__members(at, &f.walk);
        at = f.found;
        p += f.length + (p[f.length] == '.');
    }
    return at ? at : eg__fail_null(EG_EINDEX, op, "a %s has no \"%.160s\"", m->kind->name, path);
}
