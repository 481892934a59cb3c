/* hdf5.c - the tensors in a tree of HDF5 groups (HDF5 File Format Specification 3.0), as Keras keeps weights. */
#include "lib/io/hdf5.h"
#include "lib/core/counted.h"

#include <stdlib.h>

#include "lib/io/formats.h"

enum { MOST_PATH = 1023, MOST_DEPTH = 64, MOST_HOPS = 4 };

/* What stays open between reads. */
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
    char path[MOST_PATH + 1]; /* of the object at hand */
    size_t length;
    int depth, links; /* links: on the way from the root */
    uint64_t *seen;   /* groups: an open hash of addresses, NOWHERE where there is none */
    uint32_t nseen, cseen;
    soft_link *soft;
    uint32_t nsoft, csoft;
    eg__hdf5_texts texts;
} walker;

static eg_status no_memory(const walker *w, size_t bytes)
{
    return eg__no_memory(w->h.source->op, (int64_t)bytes);
}

/* ---- groups that were seen ---------------------------------------------------------------------------- */

static uint64_t *slot_of(const walker *w, uint64_t at)
{
    uint32_t i = (uint32_t)(at * 0x9e3779b97f4a7c15u >> 32) & (w->cseen - 1);
    while (w->seen[i] != EG__HDF5_NOWHERE && w->seen[i] != at) {
        i = (i + 1) & (w->cseen - 1);
    }
    return &w->seen[i];
}

/* Links lead to a group along many ways, and around in circles: it is walked once. */
static eg_status see(walker *w, uint64_t group, bool *first)
{
    if (2 * (w->nseen + 1) > w->cseen) {
        const uint32_t had = w->cseen, room = had ? 2 * had : 64;
        uint64_t *old = w->seen, *new = eg__counted_alloc(room * sizeof *new);
        if (!new) {
            return no_memory(w, room * sizeof *new);
        }
        memset(new, 0xff, room * sizeof *new);
        w->seen = new;
        w->cseen = room;
        for (uint32_t i = 0; i < had; i++) {
            if (old[i] != EG__HDF5_NOWHERE) {
                *slot_of(w, old[i]) = old[i];
            }
        }
        eg__counted_free(old);
    }
    uint64_t *slot = slot_of(w, group);
    *first = *slot == EG__HDF5_NOWHERE;
    *slot = group;
    w->nseen += *first;
    return EG_OK;
}

/* ---- what links lead to -------------------------------------------------------------------------------- */

/* Entries are in the order of the map's names. */
static eg_status add(walker *w, const char *name, const eg__hdf5_entry *e)
{
    opened *o = w->o;
    eg_status st = eg__hdf5_count(&w->h, (int64_t)(sizeof *e + strlen(name)));
    if (st) {
        return st;
    }
    if (o->count == o->capacity && !eg__counted_grow(&o->entry, &o->capacity, sizeof *o->entry)) {
        return no_memory(w, sizeof *o->entry);
    }
    st = eg__lazy_promise(w->map, name, &e->about, o->count);
    if (!st) {
        o->entry[o->count++] = *e;
    }
    return st == EG_EINDEX ? eg__hdf5_bad(&w->h, "two tensors are named") : st;
}

/* The object at hand is not read. */
static eg_status leave_out(walker *w, const char *why)
{
    eg_status st = eg__hdf5_count(&w->h, (int64_t)(w->length + strlen(why)));
    return st ? st : eg__lazy_left_out(w->map, w->path, why);
}

static eg_status visit(void *user, const eg__hdf5_link *link);

static eg_status walk_group(walker *w, const eg__hdf5_header *d)
{
    eg_status st = eg__hdf5_read_texts(&w->texts, d);
    if (!st && w->depth == MOST_DEPTH) {
        st = eg__hdf5_bad(&w->h, "groups in more than 64 others, as");
    }
    w->depth++;
    st = st ? st : eg__hdf5_links(&w->h, d, visit, w);
    w->depth--;
    return st;
}

static eg_status follow(walker *w, uint64_t at)
{
    eg__hdf5_header d;
    eg__hdf5_entry e;
    bool first = false;
    const char *why = NULL;
    eg_status st = eg__hdf5_header_open(&w->h, at, &d);
    if (!st && (eg__hdf5_find(&d, EG__HDF5_SYMBOLS) || eg__hdf5_find(&d, EG__HDF5_LINK_INFO))) {
        st = see(w, at, &first);
        st = st || !first ? st : walk_group(w, &d);
    } else if (!st && !w->links) {
        st = eg__hdf5_bad(&w->h, "no group is");
    } else if (!st) {
        st = eg__hdf5_describe(&w->h, &d, &e, &why);
        st = st ? st : why ? leave_out(w, why) : add(w, w->path, &e);
    }
    eg__hdf5_header_close(&d);
    return st;
}

static const char no_target[] = "a soft link to what is no tensor";

static eg_status keep_soft(walker *w, const eg__hdf5_link *link)
{
    soft_link l = {0};
    const size_t own = w->length + 1, bytes = link->target_length;
    if (bytes > MOST_PATH) {
        return leave_out(w, no_target);
    }
    if ((w->nsoft == w->csoft && !eg__counted_grow(&w->soft, &w->csoft, sizeof *w->soft)) ||
        !(l.names = eg__counted_alloc(own + bytes + 1))) {
        return no_memory(w, own + bytes + 1);
    }
    memcpy(l.names, w->path, own);
    memcpy(l.names + own, link->target, bytes);
    l.names[own + bytes] = 0;
    w->soft[w->nsoft++] = l;
    return eg__hdf5_count(&w->h, (int64_t)(own + bytes));
}

static eg_status visit(void *user, const eg__hdf5_link *link)
{
    walker *w = user;
    const size_t had = w->length, n = link->length, slash = w->links > 0;
    if (n > MOST_PATH - had - slash) {
        return eg__hdf5_bad(&w->h, "a name of more than 1023 bytes begins with");
    }
    if (memchr(link->name, 0, n)) {
        return eg__hdf5_bad(&w->h, "a name with a zero inside is in");
    }
    memcpy(w->path + had, "/", slash);
    memcpy(w->path + had + slash, link->name, n);
    w->path[w->length = had + slash + n] = 0;
    w->links++;
    eg_status st = link->target                       ? keep_soft(w, link)
                   : link->object == EG__HDF5_NOWHERE ? leave_out(w, "a link to another file, which is not opened")
                                                      : follow(w, link->object);
    w->links--;
    w->path[w->length = had] = 0;
    return st;
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
    w->h.name = l->names;
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
    for (uint32_t i = 0; i < w->nsoft && !st; i++) {
        st = w->soft[i].found ? EG_OK : eg__lazy_left_out(w->map, w->soft[i].names, no_target);
    }
    return st;
}

/* ---- the file -------------------------------------------------------------------------------------------- */

static eg_status walk(walker *w)
{
    w->h.name = w->path;
    w->texts = (eg__hdf5_texts){.h = &w->h, .map = w->map};
    eg_status st = follow(w, w->h.root);
    st = st ? st : follow_soft(w);
    for (uint32_t i = 0; i < w->nsoft; i++) {
        eg__counted_free(w->soft[i].names);
    }
    eg__counted_free(w->soft);
    eg__counted_free(w->seen);
    eg__counted_free(w->texts.all);
    return st;
}

/* All elements as what they are filled with. */
static void fill(const eg__hdf5_entry *e, char *to)
{
    const int64_t bytes = e->about.bytes;
    int64_t done = eg__element_bits(e->element) / 8;
    memcpy(to, e->fill, (size_t)done);
    for (int64_t n; done < bytes; done += n) {
        n = eg__min(done, bytes - done);
        memcpy(to + done, to, (size_t)n);
    }
}

static eg_status read_elements(const opened *o, const eg__hdf5_entry *e, void *to)
{
    const eg__source *s = &o->backing->source;
    eg__hdf5 h;
    if (!e->about.bytes) {
        return EG_OK;
    }
    if (e->kind == EG__HDF5_PLACED) {
        return eg__source_read(s, o->at + (int64_t)e->at, to, e->about.bytes);
    }
    fill(e, to);
    eg_status st = e->kind == EG__HDF5_CHUNKED ? eg__hdf5_begin(&h, s, o->at, o->size) : EG_OK;
    return st || e->kind != EG__HDF5_CHUNKED ? st : eg__hdf5_read_chunks(&h, e, to);
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
        return eg__backing_tensor(o->backing, o->at + (int64_t)e->at, e->element, &e->about.shape);
    }
    eg_tensor *t = as_is ? eg__empty_on(0, e->about.shape, e->about.dtype) : NULL;
    char *copy = as_is ? NULL : eg__counted_alloc((size_t)bytes + 1), *to = t ? eg__ptr(t) : copy;
    if (!to) {
        return as_is ? NULL : (eg__no_memory(s->op, bytes), NULL);
    }
    const size_t element = (size_t)eg__element_bits(e->element) / 8;
    eg_status st = read_elements(o, e, to);
    if (!st && e->swapped != (as_is && eg__big_endian())) {
        eg__swap_bytes(to, bytes / (int64_t)element, element);
    }
    if (!st && copy) {
        eg__source memory = {.op = s->op, .name = s->name, .data = copy, .fd = -1, .size = bytes};
        t = eg__element_read(&memory, 0, e->element, &e->about.shape);
    }
    eg__counted_free(copy);
    return st ? NULL : t;
}

static void close_all(void *user)
{
    opened *o = user;
    eg__backing_release(o->backing);
    eg__counted_free(o->entry);
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
    st = st ? st : walk(w);
    free(w);
    if (st) {
        eg_tensors_free(map);
    }
    return st ? NULL : map;
}

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
