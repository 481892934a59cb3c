/* hdf5_header.c - messages in headers of HDF5's objects (HDF5 File Format Specification 3.0: IV.A.1). */
#include "lib/io/hdf5.h"

#ifdef EG_HAVE_HDF5
#include <stdlib.h>

enum { MOST_BLOCKS = 64, CONTINUATION = 16, ELSEWHERE = 2 /* a flag of messages that are shared */ };

#define number eg__hdf5_number

typedef struct header {
    const eg__hdf5 *h;
    const char *name;
    eg__hdf5_visit *visit;
    void *user;
    struct {
        uint64_t at;
        int64_t size;
    } block[MOST_BLOCKS];
    int count;
    int version, head; /* bytes in front of a message */
} header;

static eg_status bad(const header *d)
{
    return eg__hdf5_bad(d->h, "damaged is the header of", d->name);
}

eg_status eg__hdf5_read_at(const eg__hdf5 *h, uint64_t at, void *to, int64_t n, const char *name)
{
    return n < 0 || n > h->size || at > (uint64_t)(h->size - n)
               ? eg__hdf5_bad(h, "the file ends before what it says of", name)
               : eg__source_read(h->source, h->at + (int64_t)at, to, n);
}

bool eg__hdf5_take(eg__hdf5_bytes *b, int64_t n, const uint8_t **p)
{
    *p = b->p;
    if (n < 0 || n > b->n) {
        return false;
    }
    b->p += n;
    b->n -= n;
    return true;
}

/* The first block, by the two forms of headers. */
static eg_status begin(header *d, uint64_t at)
{
    uint8_t b[16];
    eg_status st = eg__hdf5_read_at(d->h, at, b, sizeof b, d->name);
    if (st) {
        return st;
    }
    d->version = memcmp(b, "OHDR\2", 5) ? 1 : 2;
    d->head = d->version == 1 ? 8 : b[5] & 4 ? 6 : 4;
    d->block[0].at = at + 16;
    d->block[0].size = (int64_t)number(b + 8, 4);
    if (d->version == 2) {
        const int sizes = 1 << (b[5] & 3), front = 6 + (b[5] & 32 ? 16 : 0) + (b[5] & 16 ? 4 : 0);
        st = eg__hdf5_read_at(d->h, at + (uint64_t)front, b, sizes, d->name);
        d->block[0].at = at + (uint64_t)(front + sizes);
        d->block[0].size = st ? 0 : (int64_t)(number(b, sizes) & INT64_MAX);
    }
    d->count = 1;
    return st;
}

static eg_status add_block(header *d, eg__hdf5_bytes m)
{
    const unsigned around = d->version == 2 ? 4 : 0; /* a word in front, a checksum behind */
    const uint8_t *p;
    if (d->count == MOST_BLOCKS || !eg__hdf5_take(&m, 16, &p)) {
        return bad(d);
    }
    d->block[d->count].at = number(p, 8) + around;
    d->block[d->count++].size = (int64_t)(number(p + 8, 8) & INT64_MAX) - 2 * around;
    return EG_OK;
}

static eg_status read_block(header *d, int i)
{
    const int64_t size = d->block[i].size;
    if (size < 0 || size > d->h->size) {
        return bad(d);
    }
    uint8_t *all = eg__malloc((size_t)size + 1);
    if (!all) {
        return eg__no_memory(d->h->source->op, size);
    }
    eg_status st = eg__hdf5_read_at(d->h, d->block[i].at, all, size, d->name);
    eg__hdf5_bytes left = {all, size}, m;
    const uint8_t *p;
    while (!st && eg__hdf5_take(&left, d->head, &p)) {
        const bool first = d->version == 1;
        const int type = p[0], flags = first ? p[4] : p[3];
        m.n = (int64_t)number(p + (first ? 2 : 1), 2);
        if (!eg__hdf5_take(&left, m.n, &m.p)) {
            st = bad(d);
        } else if (type == CONTINUATION) {
            st = add_block(d, m);
        } else if (!(flags & ELSEWHERE)) {
            st = d->visit(d->user, type, m);
        }
    }
    free(all);
    return st;
}

eg_status eg__hdf5_messages(const eg__hdf5 *h, haddr_t at, const char *name, eg__hdf5_visit *visit, void *user)
{
    header d = {.h = h, .name = name, .visit = visit, .user = user};
    eg_status st = begin(&d, at);
    for (int i = 0; i < d.count && !st; i++) {
        st = read_block(&d, i);
    }
    return st;
}

#endif
