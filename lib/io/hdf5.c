/* hdf5.c - the tensors in a tree of HDF5 groups (HDF5 File Format Specification 3.0), as Keras keeps weights. */
#include "lib/io/hdf5.h"

#include <stdlib.h>

#include "lib/io/formats.h"

#ifdef EG_HAVE_HDF5

#define FUNCTIONS(X)   \
    X(H5Iget_type)     \
    X(H5Lget_val)      \
    X(H5Oclose)        \
    X(H5Oget_info2)    \
    X(H5Oopen)         \
    X(H5Oopen_by_addr) \
    EG__HDF5_ITERATE(X)
EG__HDF5(lib, FUNCTIONS);

enum { MOST_PATH = 1023, MOST_DEPTH = 64, MOST_HOPS = 4 };

/* What stays open between reads; libhdf5 has nothing of it. */
typedef struct opened {
    eg__backing *backing;
    int64_t at, size; /* of the HDF5 file in it */
    eg__hdf5_entry *entry;
    uint32_t count, capacity;
    eg__lazy how;
} opened;

/* A link that names its target, whose name comes behind its own. */
typedef struct soft_link {
    char *names;
    bool found;
} soft_link;

typedef struct walker {
    eg__hdf5 h;
    opened *o;
    eg_tensors *map;
    eg_status st;
    char path[MOST_PATH + 1]; /* of the object at hand */
    size_t length;
    int depth;
    haddr_t *seen; /* groups: an open hash of addresses, HADDR_UNDEF where there is none */
    uint32_t nseen, cseen;
    soft_link *soft;
    uint32_t nsoft, csoft;
    eg__hdf5_room texts;
} walker;

static eg_status no_memory(const walker *w, size_t bytes)
{
    return eg__no_memory(w->h.source->op, (int64_t)bytes);
}

/* ---- groups that were seen ---------------------------------------------------------------------------- */

static haddr_t *slot_of(const walker *w, haddr_t at)
{
    uint32_t i = (uint32_t)(at * 0x9e3779b97f4a7c15u >> 32) & (w->cseen - 1);
    while (w->seen[i] != HADDR_UNDEF && w->seen[i] != at) {
        i = (i + 1) & (w->cseen - 1);
    }
    return &w->seen[i];
}

/* Links lead to a group along many ways, and around in circles: it is walked once. */
static eg_status see(walker *w, haddr_t group, bool *first)
{
    if (2 * (w->nseen + 1) > w->cseen) {
        const uint32_t had = w->cseen, room = had ? 2 * had : 64;
        haddr_t *old = w->seen, *new = eg__malloc(room * sizeof *new);
        if (!new) {
            return no_memory(w, room * sizeof *new);
        }
        memset(new, 0xff, room * sizeof *new);
        w->seen = new;
        w->cseen = room;
        for (uint32_t i = 0; i < had; i++) {
            if (old[i] != HADDR_UNDEF) {
                *slot_of(w, old[i]) = old[i];
            }
        }
        free(old);
    }
    haddr_t *slot = slot_of(w, group);
    *first = *slot == HADDR_UNDEF && group != HADDR_UNDEF;
    *slot = group;
    w->nseen += *first;
    return EG_OK;
}

/* ---- what links lead to -------------------------------------------------------------------------------- */

/* Entries are in the order of the map's names. */
static eg_status add(walker *w, const char *name, const eg__hdf5_entry *e)
{
    opened *o = w->o;
    if (o->count == o->capacity && !eg__grow(&o->entry, &o->capacity, sizeof *o->entry)) {
        return no_memory(w, sizeof *o->entry);
    }
    eg_status st = eg__lazy_promise(w->map, name, &e->about, o->count);
    if (!st) {
        o->entry[o->count++] = *e;
    }
    return st == EG_EINDEX ? eg__hdf5_bad(&w->h, "two tensors are named", name) : st;
}

static eg_status add_dataset(walker *w, hid_t dataset, haddr_t at)
{
    eg__hdf5_entry e = {.object = at};
    bool numbers = false;
    eg_status st = eg__hdf5_describe(&w->h, dataset, w->path, &e, &numbers);
    return st || !numbers ? st : add(w, w->path, &e);
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *link, void *user);

static eg_status walk_group(walker *w, hid_t group, haddr_t at)
{
    eg_status st = eg__hdf5_texts(&w->h, at, w->path, w->map, &w->texts);
    if (!st && w->depth == MOST_DEPTH) {
        st = eg__hdf5_bad(&w->h, "groups in more than 64 others, as", w->path);
    }
    w->depth++;
    /* In another order libhdf5 makes a table first, which 1.10 gives back badly when it cannot fill it. */
    if (!st && lib.H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, w) < 0) {
        st = w->st ? w->st : eg__hdf5_bad(&w->h, "libhdf5 does not read group", w->path);
    }
    w->depth--;
    return st;
}

static eg_status follow(walker *w, haddr_t at)
{
    bool first = false, worth = false;
    eg_status st = eg__hdf5_worth(&w->h, at, w->path, &worth);
    if (st || !worth) {
        return st;
    }
    const hid_t object = lib.H5Oopen_by_addr(w->h.file, at);
    st = object < 0 ? eg__hdf5_bad(&w->h, "libhdf5 does not open", w->path) : EG_OK;
    const H5I_type_t type = st ? H5I_BADID : lib.H5Iget_type(object);
    if (type == H5I_DATASET) {
        st = add_dataset(w, object, at);
    } else if (type == H5I_GROUP) {
        st = see(w, at, &first);
        st = st || !first ? st : walk_group(w, object, at);
    }
    if (object >= 0) {
        lib.H5Oclose(object);
    }
    return st;
}

static eg_status keep_soft(walker *w, hid_t group, const char *name, size_t bytes)
{
    soft_link l = {0};
    if (bytes > MOST_PATH + 1 || (w->nsoft == w->csoft && !eg__grow(&w->soft, &w->csoft, sizeof *w->soft))) {
        return bytes > MOST_PATH + 1 ? EG_OK : no_memory(w, sizeof *w->soft);
    }
    const size_t own = w->length + 1;
    if (!(l.names = eg__malloc(own + bytes + 1))) {
        return no_memory(w, own + bytes + 1);
    }
    memcpy(l.names, w->path, own);
    w->soft[w->nsoft++] = l;
    l.names[own + bytes] = 0;
    return lib.H5Lget_val(group, name, l.names + own, bytes, H5P_DEFAULT) < 0
               ? eg__hdf5_bad(&w->h, "libhdf5 does not read link", w->path)
               : EG_OK;
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *link, void *user)
{
    walker *w = user;
    const size_t had = w->length, n = strlen(name), slash = had > 0;
    if (had + slash + n > MOST_PATH) {
        w->st = eg__hdf5_bad(&w->h, "a name of more than 1023 bytes begins with", w->path);
        return -1;
    }
    memcpy(w->path + had, "/", slash);
    memcpy(w->path + had + slash, name, n + 1);
    w->length += slash + n;
    if (link->type == H5L_TYPE_HARD) {
        w->st = follow(w, link->u.address);
    } else if (link->type == H5L_TYPE_SOFT) {
        w->st = keep_soft(w, group, name, link->u.val_size);
    } else {
        w->st = eg__hdf5_bad(&w->h, "to another file, which is not opened, leads link", w->path);
    }
    w->path[w->length = had] = 0;
    return w->st ? -1 : 0;
}

/* ---- soft links ------------------------------------------------------------------------------------------ */

/* A target from the root is without the leading slash what it is called here; others begin where the link is. */
static eg_status name_again(walker *w, soft_link *l)
{
    const char *target = l->names + strlen(l->names) + 1;
    const char *slash = strrchr(l->names, '/');
    char path[2 * MOST_PATH + 2];
    snprintf(path, sizeof path, "%.*s%s", *target == '/' || !slash ? 0 : (int)(slash + 1 - l->names), l->names,
             target + (*target == '/'));
    const int64_t i = eg__lazy_number(w->map, path);
    l->found = i >= 0;
    if (!l->found) {
        return EG_OK;
    }
    const eg__hdf5_entry e = w->o->entry[i];
    return add(w, l->names, &e);
}

/* Those that lead to a tensor, perhaps by way of others. */
static eg_status follow_soft(walker *w)
{
    eg_status st = EG_OK;
    bool more = true;
    for (int hop = 0; hop < MOST_HOPS && more && !st; hop++) {
        more = false;
        for (uint32_t i = 0; i < w->nsoft && !st; i++) {
            if (!w->soft[i].found) {
                st = name_again(w, &w->soft[i]);
                more |= w->soft[i].found;
            }
        }
    }
    return st;
}

/* ---- the file -------------------------------------------------------------------------------------------- */

static eg_status walk(walker *w)
{
    eg_status st = eg__library_open(&lib_library, w->h.source->op);
    const hid_t root = st ? -1 : lib.H5Oopen(w->h.file, "/", H5P_DEFAULT);
    H5O_info_t about;
    bool first = false;
    if (!st && (root < 0 || lib.H5Oget_info2(root, &about, H5O_INFO_BASIC) < 0)) {
        st = eg__hdf5_bad(&w->h, "libhdf5 does not open the root of", w->h.source->name);
    }
    st = st ? st : see(w, about.addr, &first);
    st = st ? st : walk_group(w, root, about.addr);
    if (root >= 0) {
        lib.H5Oclose(root);
    }
    st = st ? st : follow_soft(w);
    for (uint32_t i = 0; i < w->nsoft; i++) {
        free(w->soft[i].names);
    }
    free(w->soft);
    free(w->seen);
    return st;
}

/* The file may have changed since it was opened. */
static bool same(const eg__hdf5_entry *a, const eg__hdf5_entry *b)
{
    bool is =
        a->kind == b->kind && a->element == b->element && a->swapped == b->swapped && a->shape.ndim == b->shape.ndim;
    for (int d = 0; is && d < a->shape.ndim; d++) {
        is = a->shape.dim[d] == b->shape.dim[d];
    }
    return is;
}

static eg_status read_by_library(const opened *o, const eg__hdf5_entry *e, void *to)
{
    eg__hdf5 h;
    eg__hdf5_entry now = {.object = e->object};
    bool numbers = false;
    eg_status st = eg__hdf5_begin(&h, &o->backing->source, o->at, o->size);
    if (st) {
        return st;
    }
    const hid_t dataset = lib.H5Oopen_by_addr(h.file, e->object);
    if (dataset < 0 || lib.H5Iget_type(dataset) != H5I_DATASET) {
        st = eg__hdf5_bad(&h, "changed has", h.source->name);
    }
    st = st ? st : eg__hdf5_describe(&h, dataset, h.source->name, &now, &numbers);
    if (!st && !(numbers && same(&now, e))) {
        st = eg__hdf5_bad(&h, "changed has", h.source->name);
    }
    st = st ? st : eg__hdf5_read(&h, dataset, e, to);
    eg__hdf5_end(&h);
    return st;
}

/* Into a tensor where elements are as here, else through a copy. */
static eg_tensor *read_one(void *user, int64_t number)
{
    const opened *o = user;
    const eg__hdf5_entry *e = &o->entry[number];
    const eg__source *s = &o->backing->source;
    const int64_t bytes = e->about.bytes;
    const bool as_is = eg__element_as_is(e->element);
    if (e->kind == EG__HDF5_PLACED && !e->swapped) {
        return eg__backing_tensor(o->backing, e->at, e->element, &e->shape);
    }
    eg_tensor *t = as_is ? eg__empty_on(0, e->about.shape, e->about.dtype) : NULL;
    char *copy = as_is ? NULL : eg__malloc((size_t)bytes + 1), *to = t ? eg__ptr(t) : copy;
    if (!to) {
        return as_is ? NULL : (eg__no_memory(s->op, bytes), NULL);
    }
    const size_t element = (size_t)eg__element_bits(e->element) / 8;
    eg_status st = e->kind == EG__HDF5_PLACED ? eg__source_read(s, e->at, to, bytes)
                   : bytes                    ? read_by_library(o, e, to)
                                              : EG_OK;
    if (!st && e->swapped != (as_is && eg__big_endian())) {
        eg__swap_bytes(to, bytes / (int64_t)element, element);
    }
    if (!st && copy) {
        eg__source memory = {.op = s->op, .name = s->name, .data = copy, .fd = -1, .size = bytes};
        t = eg__element_read(&memory, 0, e->element, &e->shape);
    }
    free(copy);
    return st ? NULL : t;
}

static void close_all(void *user)
{
    opened *o = user;
    eg__backing_release(o->backing);
    free(o->entry);
    free(o);
}

eg_tensors *eg__hdf5_open(eg__backing *b, int64_t at, int64_t size, const char *format)
{
    const eg__source *s = &b->source;
    opened *o = eg__malloc(sizeof *o);
    walker *w = eg__malloc(sizeof *w);
    if (!o || !w) {
        eg__no_memory(s->op, (int64_t)(sizeof *o + sizeof *w));
        free(o);
        free(w);
        return eg__backing_release(b), NULL;
    }
    *o = (opened){.backing = b, .at = at, .size = size, .how = {format, read_one, close_all}};
    *w = (walker){.o = o, .map = eg__lazy_new(&o->how, o)};
    eg_tensors *map = w->map;
    eg_status st = map ? eg__hdf5_begin(&w->h, s, at, size) : eg__why();
    if (!st) {
        st = walk(w);
        eg__hdf5_end(&w->h);
    }
    free(w);
    if (st) {
        eg_tensors_free(map);
    }
    return st ? NULL : map;
}

#else

eg_tensors *eg__hdf5_open(eg__backing *b, int64_t at, int64_t size, const char *format)
{
    (void)at, (void)size, (void)format;
    eg__fail(EG_ENOKERNEL, b->source.op, "this build has no libhdf5");
    return eg__backing_release(b), NULL;
}

#endif

static bool is_hdf5(const eg__source *s)
{
    return eg__source_begins(s, "\x89HDF\r\n\x1a\n", 8);
}

static eg_tensors *open_lazily(eg__backing *b)
{
    return eg__hdf5_open(b, 0, b->source.size, "hdf5");
}

const eg__format eg__format_hdf5 = {
    .about = {"hdf5", "HDF5, as of Keras", ".h5 .hdf5 .weights.h5", false},
    .is = is_hdf5,
    .open = open_lazily,
};
