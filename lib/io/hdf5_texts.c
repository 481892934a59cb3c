/* hdf5_texts.c - attributes of HDF5's groups that are texts. */
#include "lib/io/hdf5.h"

#ifdef EG_HAVE_HDF5
#include <stdio.h>
#include <stdlib.h>

#include "lib/io/buffer.h"

#define FUNCTIONS(X)                \
    X(H5Aclose)                     \
    X(H5Aget_space)                 \
    X(H5Aget_storage_size)          \
    X(H5Aget_type)                  \
    X(H5Aiterate2)                  \
    X(H5Aopen)                      \
    X(H5Aread)                      \
    X(H5Dvlen_reclaim)              \
    X(H5Sclose)                     \
    X(H5Sget_simple_extent_npoints) \
    X(H5T_C_S1_g)                   \
    X(H5Tclose)                     \
    X(H5Tcopy)                      \
    X(H5Tget_class)                 \
    X(H5Tget_cset)                  \
    X(H5Tget_size)                  \
    X(H5Tis_variable_str)           \
    X(H5Tset_cset)                  \
    X(H5Tset_size)
EG__HDF5(lib, FUNCTIONS);

/* Of one group, so that finding each by its name stays cheap; and of a name with its group's. */
enum { MOST = 1024, MOST_KEY = 2048 };

typedef struct texts {
    const eg__hdf5 *h;
    hid_t group;
    const char *name; /* of the group; "" of the root */
    eg_tensors *map;
    int64_t *bytes;
    int count;
    eg_status st;
} texts;

static void put_line(eg__buffer *b, int64_t i, const char *s, size_t n)
{
    eg__put(b, "\n", i > 0);
    const char *end = memchr(s, 0, n);
    eg__put(b, s, end ? (size_t)(end - s) : n);
}

/* Texts of one length, as they lie there. */
static eg_status read_fixed(const texts *t, hid_t attribute, hid_t type, int64_t count, const char *name, eg__buffer *b)
{
    const size_t size = lib.H5Tget_size(type);
    const int64_t bytes = (int64_t)lib.H5Aget_storage_size(attribute);
    if (!size || bytes < 0 || bytes > t->h->size || count != bytes / (int64_t)size || bytes % (int64_t)size) {
        return eg__hdf5_bad(t->h, "more bytes than the file has attribute", name);
    }
    char *all = eg__malloc((size_t)bytes + 1);
    if (!all) {
        return eg__no_memory(t->h->source->op, bytes);
    }
    const bool read = lib.H5Aread(attribute, type, all) >= 0;
    for (int64_t i = 0; i < count && read; i++) {
        put_line(b, i, all + (size_t)i * size, size);
    }
    free(all);
    return read ? EG_OK : eg__hdf5_bad(t->h, "libhdf5 does not read attribute", name);
}

/* Texts of their own lengths, each of which may be all of the file. */
static eg_status read_variable(const texts *t, hid_t attribute, hid_t type, hid_t space, int64_t count,
                               const char *name, eg__buffer *b)
{
    int64_t most = 0;
    if (__builtin_mul_overflow(count, t->h->size, &most)) {
        return eg__hdf5_bad(t->h, "too many texts has attribute", name);
    }
    eg_status st = count > 1 ? eg__source_unpacks(t->h->source, t->h->at, name, most) : EG_OK;
    if (st) {
        return st;
    }
    const hid_t here = lib.H5Tcopy(*lib.H5T_C_S1_g);
    char **all = eg__malloc((size_t)count * sizeof *all);
    bool read = all && here >= 0 && lib.H5Tset_size(here, H5T_VARIABLE) >= 0 &&
                lib.H5Tset_cset(here, lib.H5Tget_cset(type)) >= 0 && lib.H5Aread(attribute, here, all) >= 0;
    for (int64_t i = 0; i < count && read; i++) {
        put_line(b, i, all[i] ? all[i] : "", all[i] ? strlen(all[i]) : 0);
    }
    if (read) {
        lib.H5Dvlen_reclaim(here, space, H5P_DEFAULT, all);
    }
    if (here >= 0) {
        lib.H5Tclose(here);
    }
    free(all);
    return !all   ? eg__no_memory(t->h->source->op, count)
           : read ? EG_OK
                  : eg__hdf5_bad(t->h, "libhdf5 does not read attribute", name);
}

static eg_status keep(texts *t, const char *name, eg__buffer *b)
{
    char key[MOST_KEY];
    const int n = snprintf(key, sizeof key, "%s%s%s", t->name, *t->name ? "@" : "", name);
    eg__put(b, "", 1);
    if (b->full) {
        return eg__no_memory(t->h->source->op, b->n);
    }
    *t->bytes += b->n;
    if (n < 0 || n >= (int)sizeof key || *t->bytes > t->h->size) {
        return eg__hdf5_bad(t->h, "a longer name or text than can be has attribute", name);
    }
    return eg_tensors_set_text(t->map, key, b->s);
}

static eg_status read_attribute(texts *t, hid_t attribute, const char *name)
{
    const hid_t type = lib.H5Aget_type(attribute), space = lib.H5Aget_space(attribute);
    const int64_t count = space >= 0 ? lib.H5Sget_simple_extent_npoints(space) : -1;
    eg__buffer b = {0};
    eg_status st = EG_OK;
    if (type < 0 || count < 0) {
        st = eg__hdf5_bad(t->h, "libhdf5 does not read attribute", name);
    } else if (lib.H5Tget_class(type) == H5T_STRING && count) {
        st = lib.H5Tis_variable_str(type) > 0 ? read_variable(t, attribute, type, space, count, name, &b)
                                              : read_fixed(t, attribute, type, count, name, &b);
        st = st ? st : keep(t, name, &b);
    }
    free(b.s);
    if (space >= 0) {
        lib.H5Sclose(space);
    }
    if (type >= 0) {
        lib.H5Tclose(type);
    }
    return st;
}

static herr_t visit(hid_t group, const char *name, const H5A_info_t *about, void *user)
{
    texts *t = user;
    (void)about;
    if (++t->count > MOST) {
        t->st = eg__hdf5_bad(t->h, "more than 1024 attributes has group", t->name);
        return -1;
    }
    const hid_t attribute = lib.H5Aopen(group, name, H5P_DEFAULT);
    if (attribute < 0) {
        t->st = eg__hdf5_bad(t->h, "libhdf5 does not open attribute", name);
        return -1;
    }
    t->st = read_attribute(t, attribute, name);
    lib.H5Aclose(attribute);
    return t->st ? -1 : 0;
}

eg_status eg__hdf5_texts(const eg__hdf5 *h, hid_t group, const char *name, eg_tensors *map, int64_t *bytes)
{
    texts t = {.h = h, .group = group, .name = name, .map = map, .bytes = bytes};
    eg_status st = eg__library_open(&lib_library, h->source->op);
    if (!st && lib.H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, &t) < 0) {
        st = t.st ? t.st : eg__hdf5_bad(h, "libhdf5 does not read the attributes of group", name);
    }
    return st;
}

#endif
