/* hdf5_chunks.c - elements of HDF5's datasets that are in chunks, each packed for itself. */
#include "lib/io/hdf5.h"
#include "lib/core/counted.h"

#include <stdlib.h>

#ifdef EG_HAVE_ZLIB
#include "lib/io/zlib.h"

#define ZLIB_FUNCTIONS(X) X(uncompress)
EG__ZLIB(zlib, ZLIB_FUNCTIONS);
#endif

typedef struct chunks {
    eg__hdf5 *h;
    const eg__hdf5_entry *e;
    char *to;
    int64_t element;  /* bytes of one */
    char *now, *next; /* what is unpacked, and into what, with as much room each */
    int64_t room;
    int64_t left, all; /* bytes the file still has for chunks, and chunks there may still be */
} chunks;

static eg_status bad(const chunks *c)
{
    return eg__hdf5_bad(c->h, "damaged is a chunk of");
}

static eg_status make_room(chunks *c, int64_t bytes)
{
    if (bytes <= c->room) {
        return EG_OK;
    }
    eg__counted_free(c->now);
    eg__counted_free(c->next);
    c->now = eg__counted_alloc((size_t)bytes);
    c->next = eg__counted_alloc((size_t)bytes);
    c->room = c->now && c->next ? bytes : 0;
    return c->room ? EG_OK : eg__no_memory(c->h->source->op, 2 * bytes);
}

/* ---- unpacking -------------------------------------------------------------------------------------------- */

/* c->now from n bytes to `whole` in c->next. */
static eg_status inflate_now(const chunks *c, int64_t n, int64_t whole)
{
#ifdef EG_HAVE_ZLIB
    eg_status st = eg__library_open(&zlib_library, c->h->source->op);
    uLongf bytes = (uLongf)whole;
    return st ? st
           : zlib.uncompress((Bytef *)c->next, &bytes, (const Bytef *)c->now, (uLong)n) != Z_OK ||
                   bytes != (uLongf)whole
               ? bad(c)
               : EG_OK;
#else
    (void)n, (void)whole;
    return eg__fail(EG_ENOKERNEL, c->h->source->op, "this build has no zlib");
#endif
}

/* First bytes of all elements, then second ones: as elements again. What fills no element stands behind. */
static void unshuffle(const chunks *c, int64_t n)
{
    const int64_t size = c->e->shuffled, count = size ? n / size : 0, whole = count * size;
    const char *from = c->now;
    for (int64_t b = 0; b < size && count; b++) {
        for (int64_t i = 0; i < count; i++) {
            c->next[i * size + b] = *from++;
        }
    }
    memcpy(c->next + whole, c->now + whole, (size_t)(n - whole));
}

/* A sum of words of 16 bits as ones' complement has it. */
static uint64_t fold(uint64_t sum)
{
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

/* Fletcher's sum of words, the higher byte first; a last byte is the higher one of a word. */
static uint32_t fletcher32(const uint8_t *p, int64_t n)
{
    uint64_t first = 0, second = 0;
    for (int64_t i = 0; i < n; i += 2) {
        first += (uint64_t)(p[i] << 8 | (i + 1 < n ? p[i + 1] : 0));
        second += first;
        if (i % 512 == 510) {
            first = fold(first);
            second = fold(second);
        }
    }
    return (uint32_t)(fold(second) << 16 | fold(first));
}

/* The sum stands behind the n bytes; the first releases had the bytes of both its halves swapped. */
static eg_status check_sum(const chunks *c, int64_t n)
{
    eg__hdf5_bytes b = {(const uint8_t *)c->now + n, 4, false};
    const uint32_t there = (uint32_t)eg__hdf5_number(&b, 4), sum = fletcher32((const uint8_t *)c->now, n);
    return there == sum || there == ((sum & 0x00ff00ff) << 8 | (sum >> 8 & 0x00ff00ff))
               ? EG_OK
               : eg__hdf5_bad(c->h, "not of its checksum is a chunk of");
}

/* c->now from n bytes as they lie there to the elements, from the last filter to the first. */
static eg_status unpack(chunks *c, int64_t n, uint32_t left_out)
{
    const eg__hdf5_entry *e = c->e;
    int64_t whole = e->bytes; /* in front of DEFLATE */
    for (int i = 0; i < e->filters && e->filter[i] != EG__HDF5_DEFLATE; i++) {
        whole += e->filter[i] == EG__HDF5_FLETCHER32 && !(left_out >> i & 1) ? 4 : 0;
    }
    eg_status st = EG_OK;
    for (int i = e->filters; i-- > 0 && !st;) {
        const int filter = left_out >> i & 1 ? 0 : e->filter[i];
        if (filter == EG__HDF5_FLETCHER32) {
            n -= 4;
            st = n < 0 ? bad(c) : check_sum(c, n);
        } else if (filter) {
            st = filter == EG__HDF5_DEFLATE ? inflate_now(c, n, whole) : EG_OK;
            n = filter == EG__HDF5_DEFLATE ? whole : n;
            if (filter == EG__HDF5_SHUFFLE) {
                unshuffle(c, n);
            }
            char *unpacked = c->next;
            c->next = c->now;
            c->now = unpacked;
        }
    }
    return !st && n != e->bytes ? bad(c) : st;
}

/* ---- one after the other ------------------------------------------------------------------------------------ */

/* The part of a chunk that is within the dataset. Along axes behind `row` it is as long as that. */
static void place(const chunks *c, const int64_t *which)
{
    const eg__hdf5_entry *e = c->e;
    const int64_t *whole = e->about.shape.dim;
    int64_t i[EG_MAX_DIMS] = {0}, some[EG_MAX_DIMS], bytes = c->element;
    int row = e->about.shape.ndim - 1;
    for (int d = 0; d <= row; d++) {
        some[d] = eg__min(e->chunk[d], whole[d] - which[d] * e->chunk[d]);
    }
    while (row > 0 && e->chunk[row] == whole[row]) {
        bytes *= whole[row--];
    }
    for (int d = 0; d >= 0;) {
        int64_t from = 0, there = 0;
        for (d = 0; d <= row; d++) {
            from = from * e->chunk[d] + i[d];
            there = there * whole[d] + which[d] * e->chunk[d] + i[d];
        }
        memcpy(c->to + there * bytes, c->now + from * bytes, (size_t)(some[row] * bytes));
        for (d = row - 1; d >= 0 && ++i[d] == some[d]; d--) {
            i[d] = 0;
        }
    }
}

/* Chunks are in the dataset, of which there are only so many, and share no bytes. */
static eg_status read_chunk(void *user, const eg__hdf5_chunk *k)
{
    chunks *c = user;
    const eg__hdf5_entry *e = c->e;
    bool good =
        c->all-- > 0 && k->packed && k->packed <= (uint64_t)c->left && k->at <= (uint64_t)c->h->size - k->packed;
    for (int d = 0; d < e->about.shape.ndim; d++) {
        good = good && k->which[d] >= 0 && k->which[d] <= (e->about.shape.dim[d] - 1) / e->chunk[d];
    }
    if (!good) {
        return bad(c);
    }
    c->left -= (int64_t)k->packed;
    /* What is inflated may have a checksum behind it. */
    eg_status st = make_room(c, eg__max(e->bytes + 4, (int64_t)k->packed));
    st = st ? st : eg__source_read(c->h->source, c->h->at + (int64_t)k->at, c->now, (int64_t)k->packed);
    st = st ? st : unpack(c, (int64_t)k->packed, k->left_out);
    if (!st) {
        place(c, k->which);
    }
    return st;
}

eg_status eg__hdf5_read_chunks(eg__hdf5 *h, const eg__hdf5_entry *e, void *to)
{
    chunks c = {.h = h, .e = e, .to = to, .element = eg__element_bits(e->element) / 8, .left = h->size, .all = 1};
    for (int d = 0; d < e->about.shape.ndim; d++) {
        c.all *= (e->about.shape.dim[d] - 1) / e->chunk[d] + 1;
    }
    eg_status st = eg__hdf5_chunks(h, e, read_chunk, &c);
    eg__counted_free(c.now);
    eg__counted_free(c.next);
    return st;
}
