/* npz.c - arrays of NumPy's in a zip archive. */
#include <egret/io.h>
#include <stdlib.h>

#include "lib/io/formats.h"
#include "lib/io/npy.h"
#include "lib/io/zip.h"

static const char ending[] = ".npy";

/* The bytes of a member as an array of the map. */
static eg_status add_array(const eg__source *s, const eg__zip_member *m, const void *data, eg_tensors *map)
{
    const size_t n = strlen(s->name), length = strlen(m->name) + 48;
    char *name = eg__malloc(length);
    if (!name) {
        return eg__no_memory(s->op, (int64_t)length);
    }
    snprintf(name, length, "%s/%s", s->name + (n > 40 ? n - 40 : 0), m->name);
    eg__source array = {.op = s->op, .name = name, .data = data, .fd = -1, .size = m->size};
    eg_scope scope = eg_scope_push();
    eg_tensor *t = scope.depth ? eg__npy_read(&array) : NULL;
    snprintf(name, length, "%.*s", (int)(strlen(m->name) - strlen(ending)), m->name);
    eg_status st = t ? eg_tensors_set(map, name, t) : eg__why();
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    free(name);
    return st;
}

static eg_status read_member(const eg__source *s, const eg__zip_member *m, eg_tensors *map)
{
    if (!eg__ends_with(m->name, ending)) {
        return eg__source_bad(s, m->at, "\"%.80s\" is no npy file", m->name);
    }
    void *data = eg__malloc((size_t)m->size + 1);
    eg_status st = data ? eg__zip_unpack(s, m, data) : eg__no_memory(s->op, m->size);
    st = st ? st : add_array(s, m, data, map);
    free(data);
    return st;
}

static eg_tensors *read_all(const eg__source *s)
{
    eg__zip zip;
    int64_t unpacked = 0;
    if (eg__zip_open(&zip, s)) {
        return NULL;
    }
    eg_tensors *map = eg_tensors_new();
    eg_status st = map ? EG_OK : eg__why();
    for (int64_t i = 0; i < zip.count && !st; i++) {
        const eg__zip_member *m = &zip.member[i];
        st = __builtin_add_overflow(unpacked, m->size, &unpacked)
                 ? eg__source_bad(s, m->at, "\"%.80s\" has %lld bytes", m->name, (long long)m->size)
                 : eg__source_unpacks(s, m->at, "the arrays have", unpacked);
        st = st ? st : read_member(s, m, map);
    }
    eg__zip_close(&zip);
    if (st) {
        eg_tensors_free(map);
    }
    return st ? NULL : map;
}

eg_tensors *eg_npz_load(const char *path)
{
    eg__source s;
    if (eg__source_open(&s, "eg_npz_load", path)) {
        return NULL;
    }
    eg_tensors *map = read_all(&s);
    eg__source_close(&s);
    return map;
}

eg_tensors *eg_npz_parse(const void *data, size_t bytes)
{
    eg__source s;
    return eg__source_memory(&s, "eg_npz_parse", data, bytes) ? NULL : read_all(&s);
}
