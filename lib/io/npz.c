/* npz.c - arrays of NumPy's by name: an npy file has one, an npz file is a zip archive of such. */
#include <egret/io.h>
#include <stdlib.h>

#include "lib/io/formats.h"
#include "lib/core/counted.h"
#include "lib/io/npy.h"
#include "lib/io/npz.h"
#include "lib/io/zip.h"

static const char ending[] = ".npy";

/* ".npy" alone is the array whose name is empty. */
static bool is_array(const eg__zip_member *m)
{
    return eg__ends_with(m->name, ending) || !strcmp(m->name, ending);
}

static const char no_array[] = "no npy file";

/* ---- all at once --------------------------------------------------------------------------------- */

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
    char why[EG__NPY_WHY] = "";
    eg_tensor *t = scope.depth ? eg__npy_read(&array, why) : NULL;
    snprintf(name, length, "%.*s", (int)(strlen(m->name) - strlen(ending)), m->name);
    eg_status st = t ? eg_tensors_set(map, name, t) : *why ? eg__lazy_left_out(map, name, why) : eg__why();
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    free(name);
    return st;
}

static eg_status read_member(const eg__source *s, const eg__zip_member *m, eg_tensors *map)
{
    if (!is_array(m)) {
        return eg__lazy_left_out(map, m->name, no_array);
    }
    void *data = eg__counted_alloc((size_t)m->size + 1);
    eg_status st = data ? eg__zip_unpack(s, m, data) : eg__no_memory(s->op, m->size);
    st = st ? st : add_array(s, m, data, map);
    eg__counted_free(data);
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

/* ---- when asked ---------------------------------------------------------------------------------- */

/* As much of a packed member as has what is in front of its elements. */
enum { HEAD = 4096 };

typedef struct array {
    eg__npy npy;
    const eg__zip_member *packed; /* where it must be unpacked from, or NULL */
} array;

typedef struct opened {
    eg__backing *backing;
    eg__zip zip;
    array *array;
} opened;

static eg_tensor *read_one(void *user, int64_t i)
{
    const opened *o = user;
    const array *a = &o->array[i];
    const eg__source *s = &o->backing->source;
    if (!a->packed) {
        return eg__npy_tensor(&a->npy, o->backing);
    }
    if (eg__source_unpacks(s, a->packed->at, "an array has", a->packed->size)) {
        return NULL;
    }
    eg__backing *b = eg__backing_room(s->op, s->name, (size_t)a->packed->size);
    eg_tensor *t = b && !eg__zip_unpack(s, a->packed, b->base) ? eg__npy_tensor(&a->npy, b) : NULL;
    eg__backing_release(b);
    return t;
}

static void close_all(void *user)
{
    opened *o = user;
    eg__zip_close(&o->zip);
    eg__backing_release(o->backing);
    eg__counted_free(o->array);
    free(o);
}

/* Room for n arrays of a file, and the map; NULL: the backing was released. */
static opened *open_arrays(eg__backing *b, const eg__lazy *how, const eg__zip *zip, eg_tensors **map)
{
    const size_t n = zip ? (size_t)zip->count : 1;
    opened *o = eg__malloc(sizeof *o);
    array *a = eg__counted_alloc(n * sizeof *a + 1);
    eg__zip z = zip ? *zip : (eg__zip){0};
    if (!o || !a) {
        eg__no_memory(b->source.op, (int64_t)(n * sizeof *a));
        free(o);
        eg__counted_free(a);
        eg__zip_close(&z);
        eg__backing_release(b);
        return NULL;
    }
    *o = (opened){.backing = b, .zip = z, .array = a};
    *map = eg__lazy_new(how, o);
    return *map ? o : NULL;
}

/* A member as the i-th array. */
static eg_status open_member(opened *o, int64_t i, eg_tensors *map)
{
    const eg__source *s = &o->backing->source;
    const eg__zip_member *m = &o->zip.member[i];
    array *a = &o->array[i];
    char why[EG__NPY_WHY];
    if (!is_array(m)) {
        return eg__lazy_left_out(map, m->name, no_array);
    }
    eg_status st;
    a->packed = m->deflated ? m : NULL;
    if (m->deflated) {
        char head[HEAD];
        const int64_t n = eg__min(m->size, HEAD);
        const eg__source memory = {.op = s->op, .name = s->name, .data = head, .fd = -1, .size = n};
        st = eg__zip_unpack_first(s, m, head, n);
        st = st ? st : eg__npy_open(&a->npy, &memory, 0, m->size, why);
    } else {
        st = eg__npy_open(&a->npy, s, m->at, m->size, why);
    }
    if (st) {
        return st;
    }
    const size_t length = strlen(m->name) - strlen(ending);
    char *name = eg__malloc(length + 1);
    if (!name) {
        return eg__no_memory(s->op, (int64_t)length + 1);
    }
    memcpy(name, m->name, length);
    name[length] = 0;
    st = a->npy.element == EG__ELEMENTS ? eg__lazy_left_out(map, name, why)
                                        : eg__lazy_promise(map, name, &a->npy.about, i);
    free(name);
    return st;
}

static eg_tensors *open_npz(eg__backing *b)
{
    static const eg__lazy how = {"npz", read_one, close_all};
    eg_tensors *map = NULL;
    eg__zip zip;
    if (eg__zip_open(&zip, &b->source)) {
        return eg__backing_release(b), NULL;
    }
    opened *o = open_arrays(b, &how, &zip, &map);
    eg_status st = o ? EG_OK : eg__why();
    for (int64_t i = 0; !st && i < o->zip.count; i++) {
        st = open_member(o, i, map);
    }
    if (st && o) {
        eg_tensors_free(map);
    }
    return st ? NULL : map;
}

/* What an npy file's array is called: as the file without folders and ending; of memory "array". */
static eg_status promise_one(const eg__source *s, const eg__npy *a, eg_tensors *map)
{
    const char *slash = strrchr(s->name, '/'), *base = s->data ? "array" : slash ? slash + 1 : s->name;
    const size_t length = strlen(base) - (eg__ends_with(base, ending) ? strlen(ending) : 0);
    char *name = eg__malloc(length + 1);
    if (!name) {
        return eg__no_memory(s->op, (int64_t)length + 1);
    }
    memcpy(name, base, length);
    name[length] = 0;
    eg_status st = eg__lazy_promise(map, name, &a->about, 0);
    free(name);
    return st;
}

static eg_tensors *open_npy(eg__backing *b)
{
    static const eg__lazy how = {"npy", read_one, close_all};
    eg_tensors *map = NULL;
    opened *o = open_arrays(b, &how, NULL, &map);
    if (!o) {
        return NULL;
    }
    o->array[0].packed = NULL;
    eg_status st = eg__npy_open(&o->array[0].npy, &b->source, 0, b->source.size, NULL);
    st = st ? st : promise_one(&b->source, &o->array[0].npy, map);
    if (st) {
        eg_tensors_free(map);
    }
    return st ? NULL : map;
}

/* ---- the formats --------------------------------------------------------------------------------- */

static bool is_npz(const eg__source *s)
{
    return eg__zip_begins(s, ending) || (eg__zip_is(s) && eg__ends_with(s->name, ".npz"));
}

static bool is_npy(const eg__source *s)
{
    return eg__source_begins(s, "\x93NUMPY", 6);
}

const eg__format eg__format_npz = {
    .about = {"npz", "arrays of NumPy in a zip archive", ".npz", true},
    .is = is_npz,
    .open = open_npz,
    .save = eg__npz_save,
};

const eg__format eg__format_npy = {
    .about = {"npy", "one array of NumPy", ".npy", false},
    .is = is_npy,
    .open = open_npy,
};
