/* state.c - parameters and buffers by name, and as a file. */
#include <stdlib.h>

#include "nn/nn.h"

/* ---- collecting ---------------------------------------------------------------------------- */

typedef struct collector {
    eg_members walk;
    const char *op;
    eg_tensors *map;
    bool all; /* buffers and frozen parameters too */
    eg_status status;
    size_t length; /* of the path to the module being walked */
    char path[512];
} collector;

static eg_status add_tensor(collector *c, const eg__member *member)
{
    if (!c->all && (member->kind == EG__BUFFER || !eg_is_parameter(*member->tensor))) {
        return EG_OK;
    }
    if (eg_tensors_has(c->map, c->path)) {
        return eg__fail(EG_EINVAL, c->op, "two members are named \"%.160s\"", c->path);
    }
    return eg_tensors_set(c->map, c->path, *member->tensor);
}

static void collect_member(eg_members *walk, const eg__member *member)
{
    collector *c = (collector *)walk;
    size_t before = c->length, room = sizeof c->path - before;
    bool child = member->kind == EG__CHILD;
    if (c->status || !(child ? (void *)*member->child : (void *)*member->tensor)) {
        return;
    }
    int n = snprintf(c->path + before, room, "%s%s", member->name, child ? "." : "");
    if ((size_t)n >= room) {
        c->status =
            eg__fail(EG_EINVAL, c->op, "the name \"%.60s...\" has more than %zu bytes", c->path, sizeof c->path - 1);
    } else if (child) {
        c->length += (size_t)n;
        eg__members(*member->child, walk);
    } else {
        c->status = add_tensor(c, member);
    }
    c->length = before;
}

eg_tensors *eg__module_tensors(eg_module *m, bool all, const char *op)
{
    collector c = {{collect_member, 0}, op, m ? eg_tensors_new() : NULL, all, EG_OK, 0, ""};
    if (!m) {
        return eg__null_argument(op, "m"), NULL;
    }
    if (!c.map) {
        return NULL;
    }
    eg_status st = eg__walk_members(m, &c.walk, op);
    if (c.status || st) {
        eg_tensors_free(c.map);
        return NULL;
    }
    return c.map;
}

/* The list is one block: tensors, pointers to names, names. */
eg_parameters eg_module_parameters(eg_module *m)
{
    static const char op[] = "eg_module_parameters";
    eg_parameters none = {NULL, NULL, 0};
    eg_tensors *map = eg__module_tensors(m, false, op);
    if (!map) {
        return none;
    }
    int64_t count = eg_tensors_count(map);
    size_t bytes = (size_t)count * (sizeof(eg_tensor *) + sizeof(char *)) + 1;
    for (int64_t i = 0; i < count; i++) {
        bytes += strlen(eg_tensors_name(map, i)) + 1;
    }
    eg_tensor **tensors = count <= INT32_MAX ? eg__malloc(bytes) : NULL;
    if (!tensors) {
        eg_tensors_free(map);
        eg__no_memory(op, (int64_t)bytes);
        return none;
    }
    const char **names = (const char **)(tensors + count);
    char *text = (char *)(names + count);
    for (int64_t i = 0; i < count; i++) {
        tensors[i] = eg_tensors_at(map, i);
        names[i] = text;
        text += sprintf(text, "%s", eg_tensors_name(map, i)) + 1;
    }
    eg_tensors_free(map);
    free(m->list);
    m->list = tensors;
    return (eg_parameters){tensors, names, (int)count};
}

int64_t eg_module_numel(eg_module *m)
{
    const eg_parameters all = eg_module_parameters(m);
    int64_t n = all.tensors ? 0 : -1;
    for (int i = 0; i < all.count; i++) {
        n += eg_numel(all.tensors[i]);
    }
    return n;
}

eg_tensors *eg_module_state(eg_module *m)
{
    return eg__module_tensors(m, true, "eg_module_state");
}

/* ---- saving -------------------------------------------------------------------------------- */

eg_status eg_module_save(eg_module *m, const char *path)
{
    static const char op[] = "eg_module_save";
    if (!path) {
        return eg__null_argument(op, "path");
    }
    eg_tensors *own = eg__module_tensors(m, true, op);
    eg_status st = own ? eg_safetensors_save(own, path) : eg__why();
    eg_tensors_free(own);
    return st;
}
