/* hdf5_chunks.c - datasets of HDF5 in pieces, each packed for itself: found by libhdf5, unpacked here. */
#include "lib/io/hdf5.h"

#ifdef EG_HAVE_HDF5
#include <stdlib.h>

#define FUNCTIONS(X)             \
    X(H5Dget_chunk_storage_size) \
    X(H5Dget_create_plist)       \
    X(H5Dget_num_chunks)         \
    X(H5Dget_space)              \
    EG__HDF5_READ_CHUNK(X)       \
    X(H5Pclose)                  \
    X(H5Pget_chunk)              \
    X(H5Pget_filter2)            \
    X(H5Pget_nfilters)           \
    X(H5Sclose)
EG__HDF5(lib, FUNCTIONS);

#ifdef EG_HAVE_ZLIB
#include "lib/io/zlib.h"

#define ZLIB_FUNCTIONS(X) X(uncompress)
EG__ZLIB(zlib, ZLIB_FUNCTIONS);
#endif

typedef struct chunks {
    eg__hdf5 *h;
    hid_t dataset;
    const eg__hdf5_entry *e;
    size_t element;
    hsize_t size[EG_MAX_DIMS]; /* of a chunk */
    int64_t bytes;             /* of it, unpacked */
    H5Z_filter_t filter[2];
    int filters;
    char *now, *next; /* the same room for both: what is unpacked, and into what */
    int64_t room;
    hsize_t found, missing;
} chunks;

static eg_status bad(const chunks *c)
{
    return eg__hdf5_bad(c->h, "damaged is a chunk in", c->h->source->name);
}

static bool make_room(chunks *c, int64_t bytes)
{
    if (bytes <= c->room) {
        return true;
    }
    free(c->now);
    free(c->next);
    c->now = eg__malloc((size_t)bytes);
    c->next = eg__malloc((size_t)bytes);
    c->room = c->now && c->next ? bytes : 0;
    return c->room;
}

/* ---- unpacking -------------------------------------------------------------------------------------- */

static eg_status inflate_now(chunks *c, int64_t *n)
{
#ifdef EG_HAVE_ZLIB
    eg_status st = eg__library_open(&zlib_library, c->h->source->op);
    uLongf bytes = (uLongf)c->bytes;
    if (!st && (zlib.uncompress((Bytef *)c->next, &bytes, (const Bytef *)c->now, (uLong)*n) != Z_OK ||
                bytes != (uLongf)c->bytes)) {
        return bad(c);
    }
    *n = c->bytes;
    return st;
#else
    (void)n;
    return eg__fail(EG_ENOKERNEL, c->h->source->op, "this build has no zlib");
#endif
}

/* First bytes of all elements, then second ones: as elements again. What fills no element stands behind. */
static void unshuffle(const chunks *c, int64_t n)
{
    const int64_t count = n / (int64_t)c->element, whole = count * (int64_t)c->element;
    const char *from = c->now;
    for (size_t b = 0; b < c->element; b++) {
        for (int64_t i = 0; i < count; i++) {
            c->next[(size_t)i * c->element + b] = *from++;
        }
    }
    memcpy(c->next + whole, c->now + whole, (size_t)(n - whole));
}

/* c->now from n bytes as they lie there to the elements. */
static eg_status unpack(chunks *c, int64_t n, uint32_t left_out)
{
    eg_status st = EG_OK;
    for (int i = c->filters; i-- > 0 && !st;) {
        if (left_out >> i & 1) {
            continue;
        }
        if (c->filter[i] == H5Z_FILTER_DEFLATE) {
            st = inflate_now(c, &n);
        } else {
            unshuffle(c, n);
        }
        char *unpacked = c->next;
        c->next = c->now;
        c->now = unpacked;
    }
    return !st && n != c->bytes ? bad(c) : st;
}

/* ---- one after the other ----------------------------------------------------------------------------- */

/* The part of a chunk that is within the dataset, row by row. */
static void place(const chunks *c, const hsize_t *at, char *to)
{
    const int last = c->e->shape.ndim - 1;
    const int64_t *whole = c->e->shape.dim;
    int64_t i[EG_MAX_DIMS] = {0}, some[EG_MAX_DIMS];
    for (int d = 0; d <= last; d++) {
        some[d] = eg__min((int64_t)c->size[d], whole[d] - (int64_t)at[d]);
    }
    for (int d = 0; d >= 0;) {
        int64_t from = 0, there = 0;
        for (d = 0; d <= last; d++) {
            from = from * (int64_t)c->size[d] + i[d];
            there = there * whole[d] + (int64_t)at[d] + i[d];
        }
        memcpy(to + (size_t)there * c->element, c->now + (size_t)from * c->element, (size_t)some[last] * c->element);
        for (d = last - 1; d >= 0 && ++i[d] == some[d]; d--) {
            i[d] = 0;
        }
    }
}

static eg_status read_chunk(chunks *c, const hsize_t *at, void *to)
{
    hsize_t packed = 0;
    uint32_t left_out = 0;
    if (lib.H5Dget_chunk_storage_size(c->dataset, at, &packed) < 0 || !packed) {
        c->missing++;
        return EG_OK;
    }
    if (packed > (hsize_t)c->h->size) {
        return bad(c);
    }
    c->found++;
    if (!make_room(c, eg__max(c->bytes, (int64_t)packed))) {
        return eg__no_memory(c->h->source->op, 2 * eg__max(c->bytes, (int64_t)packed));
    }
    /* It reads as much as the index says, which need not be what was said before. */
    c->h->most = (int64_t)packed;
    const bool read = lib.H5Dread_chunk(c->dataset, H5P_DEFAULT, at, &left_out, c->now) >= 0;
    c->h->most = 0;
    if (!read) {
        return bad(c);
    }
    eg_status st = unpack(c, (int64_t)packed, left_out);
    if (!st) {
        place(c, at, to);
    }
    return st;
}

/* A chunk that was never written is not found, and its elements stay what they are filled with; but neither is one that
 * cannot be: then there are more than were found. */
static eg_status check_missing(const chunks *c)
{
    hsize_t all = 0;
    const hid_t space = c->missing ? lib.H5Dget_space(c->dataset) : -1;
    const bool good =
        !c->missing || (space >= 0 && lib.H5Dget_num_chunks(c->dataset, space, &all) >= 0 && all == c->found);
    if (space >= 0) {
        lib.H5Sclose(space);
    }
    return good ? EG_OK : bad(c);
}

/* How it is cut and packed; eg__hdf5_describe has looked that it can be. */
static eg_status ask(chunks *c)
{
    const int ndim = c->e->shape.ndim;
    const hid_t properties = lib.H5Dget_create_plist(c->dataset);
    c->filters = properties < 0 ? -1 : lib.H5Pget_nfilters(properties);
    const bool known =
        c->filters >= 0 && c->filters <= EG__COUNT(c->filter) && lib.H5Pget_chunk(properties, ndim, c->size) == ndim;
    for (int i = 0; i < c->filters && known; i++) {
        size_t none = 0;
        unsigned flags;
        c->filter[i] = lib.H5Pget_filter2(properties, (unsigned)i, &flags, &none, NULL, 0, NULL, NULL);
    }
    c->bytes = (int64_t)c->element;
    for (int d = 0; d < ndim; d++) {
        c->bytes *= (int64_t)c->size[d];
    }
    if (properties >= 0) {
        lib.H5Pclose(properties);
    }
    return known ? EG_OK : bad(c);
}

eg_status eg__hdf5_read_chunks(eg__hdf5 *h, hid_t dataset, const eg__hdf5_entry *e, void *to)
{
    const int ndim = e->shape.ndim;
    hsize_t at[EG_MAX_DIMS] = {0};
    chunks c = {.h = h, .dataset = dataset, .e = e, .element = (size_t)eg__element_bits(e->element) / 8};
    eg_status st = eg__library_open(&lib_library, h->source->op);
    if (st) {
        return st;
    }
    st = ask(&c);
    for (int d = 0; d >= 0 && !st;) {
        st = read_chunk(&c, at, to);
        for (d = ndim - 1; d >= 0 && (at[d] += c.size[d]) >= (hsize_t)e->shape.dim[d]; d--) {
            at[d] = 0;
        }
    }
    free(c.now);
    free(c.next);
    return st ? st : check_missing(&c);
}

#endif
