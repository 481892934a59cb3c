/* hdf5_header.c - how HDF5 files begin, and the messages in headers of their objects (HDF5 File Format Specification
 * 3.0: II, IV.A.1). */
#include "lib/io/hdf5.h"
#include "lib/core/counted.h"

#include <stdlib.h>

enum {
    BEGIN = 96,    /* bytes of the longest superblock, with the entry of the root */
    ELSEWHERE = 2, /* a flag of messages that are shared */
    TIMES = 32,    /* as much as a file is has its reader to do */
    AT_LEAST = 1 << 28,
    A_READ = 64,
};

/* ---- bytes --------------------------------------------------------------------------------------------- */

eg_status eg__hdf5_bad(const eg__hdf5 *h, const char *what)
{
    return eg__source_bad(h->source, h->at, "%s \"%.80s\"", what, *h->name ? h->name : "/");
}

eg_status eg__hdf5_count(eg__hdf5 *h, int64_t bytes)
{
    h->left -= eg__min(bytes, h->left);
    return h->left ? EG_OK : eg__hdf5_bad(h, "leading in circles, or damaged, is what leads to");
}

static eg_status check_block(eg__hdf5 *h, uint64_t at, uint64_t size)
{
    return size > (uint64_t)h->size || at > (uint64_t)h->size - size
               ? eg__hdf5_bad(h, "the file ends before what it says of")
               : eg__hdf5_count(h, (int64_t)size + A_READ);
}

static eg_status read_block(const eg__hdf5 *h, uint64_t at, uint64_t size, const char *word, uint8_t *to,
                            eg__hdf5_bytes *b)
{
    const size_t length = word ? strlen(word) : 0;
    eg_status st = eg__source_read(h->source, h->at + (int64_t)at, to, (int64_t)size);
    if (!st && (size < length || memcmp(to, word ? word : "", length))) {
        st = eg__hdf5_bad(h, "damaged is what leads to");
    }
    if (!st) {
        *b = (eg__hdf5_bytes){to + length, (int64_t)(size - length), false};
    }
    return st;
}

eg_status eg__hdf5_look(eg__hdf5 *h, uint64_t at, int size, const char *word, eg__hdf5_head *d)
{
    d->b = (eg__hdf5_bytes){.ended = true};
    eg_status st = check_block(h, at, (uint64_t)size);
    return st ? st : read_block(h, at, (uint64_t)size, word, d->all, &d->b);
}

uint8_t *eg__hdf5_load(eg__hdf5 *h, uint64_t at, uint64_t size, const char *word, eg__hdf5_bytes *b)
{
    *b = (eg__hdf5_bytes){.ended = true};
    eg_status st = check_block(h, at, size);
    uint8_t *all = st ? NULL : eg__counted_alloc((size_t)size);
    st = st ? st : all ? read_block(h, at, size, word, all, b) : eg__no_memory(h->source->op, (int64_t)size);
    if (st) {
        eg__counted_free(all);
    }
    return st ? NULL : all;
}

/* ---- how it begins --------------------------------------------------------------------------------------- */

/* Nothing before the file or beside it, sizes of 8 bytes, an end that is there. */
eg_status eg__hdf5_begin(eg__hdf5 *h, const eg__source *s, int64_t at, int64_t size)
{
    uint8_t all[BEGIN];
    *h = (eg__hdf5){.source = s, .at = at, .size = size, .name = s->name};
    h->left = eg__max(AT_LEAST, size < INT64_MAX / TIMES - AT_LEAST ? TIMES * size + AT_LEAST : INT64_MAX);
    if (size < BEGIN) {
        return eg__source_bad(s, at, "%lld bytes are too few for HDF5", (long long)size);
    }
    eg_status st = eg__source_read(s, at, all, BEGIN);
    if (st) {
        return st;
    }
    const int version = all[8], sizes = version < 2 ? 13 : 9, base = version == 0 ? 24 : version == 1 ? 28 : 12;
    if (memcmp(all, "\x89HDF\r\n\x1a\n", 8) || version > 3) {
        return eg__source_bad(s, at, "no superblock of HDF5 of version 0 to 3");
    }
    eg__hdf5_bytes b = {all + base, BEGIN - base, false};
    const uint64_t first = eg__hdf5_number(&b, 8), second = eg__hdf5_number(&b, 8), end = eg__hdf5_number(&b, 8),
                   driver = version < 2 ? eg__hdf5_number(&b, 8) : second;
    eg__hdf5_take(&b, version < 2 ? 8 : 0); /* the root's name */
    h->root = eg__hdf5_number(&b, 8);
    if (all[sizes] != 8 || all[sizes + 1] != 8 || first) {
        return eg__source_bad(s, at + sizes, "offsets or lengths of other than 8 bytes, or from elsewhere");
    }
    /* A driver's block, or the superblock's extension. */
    if (driver != EG__HDF5_NOWHERE) {
        return eg__source_bad(s, at + base, "a superblock that goes on elsewhere, which is not read");
    }
    return end > (uint64_t)size ? eg__source_bad(s, at + size, "the file ends before the %llu bytes it says it has",
                                                 (unsigned long long)end)
                                : EG_OK;
}

/* ---- headers --------------------------------------------------------------------------------------------- */

typedef struct eg__hdf5_block {
    struct eg__hdf5_block *next;
    uint8_t *all;
} block;

typedef struct header {
    eg__hdf5 *h;
    eg__hdf5_header *to;
    bool first; /* the first version */
    int extra;  /* bytes in front of a message but type, size and flags */
    int64_t bytes;
} header;

static eg_status bad(const header *d)
{
    return eg__hdf5_bad(d->h, "damaged is the header of");
}

static eg_status add_message(header *d, const eg__hdf5_message *m)
{
    eg__hdf5_header *to = d->to;
    if (to->count == to->capacity) {
        if (!eg__counted_grow(&to->message, &to->capacity, sizeof *m)) {
            return eg__no_memory(d->h->source->op, sizeof *m);
        }
        if (eg__hdf5_count(d->h, to->capacity * (int64_t)sizeof *m)) {
            return eg__why();
        }
    }
    to->message[to->count++] = *m;
    return EG_OK;
}

/* A block of a header: a word in front and a checksum behind are not counted. */
static eg_status add_block(header *d, uint64_t at, uint64_t size)
{
    if (size > (uint64_t)(d->h->size - d->bytes)) {
        return bad(d);
    }
    d->bytes += (int64_t)size;
    block *k = eg__counted_alloc(sizeof *k);
    if (!k) {
        return eg__no_memory(d->h->source->op, sizeof *k);
    }
    eg__hdf5_bytes b;
    *k = (block){d->to->blocks, eg__hdf5_load(d->h, at, size, NULL, &b)};
    d->to->blocks = k;
    eg_status st = k->all ? EG_OK : eg__why();
    while (!st && b.n >= (d->first ? 4 : 3) + 1 + d->extra) {
        eg__hdf5_message m = {.type = (int)eg__hdf5_number(&b, d->first ? 2 : 1)};
        const uint64_t n = eg__hdf5_number(&b, 2), flags = eg__hdf5_number(&b, 1);
        eg__hdf5_take(&b, (uint64_t)d->extra);
        m.at = at + size - (uint64_t)b.n;
        m.bytes = (eg__hdf5_bytes){eg__hdf5_take(&b, n), (int64_t)n, false};
        st = b.ended ? bad(d) : !m.type || flags & ELSEWHERE ? EG_OK : add_message(d, &m);
    }
    return st;
}

/* The first block, by the two forms of headers. */
static eg_status begin(header *d, uint64_t at)
{
    enum { MOST = 6 + 16 + 4 + 8 };
    eg__hdf5_head k = {0};
    const uint64_t end = (uint64_t)d->h->size;
    const int n = at < end && end - at < MOST ? (int)(end - at) : MOST;
    eg_status st = eg__hdf5_look(d->h, at, n, NULL, &k);
    if (st) {
        return st;
    }
    d->first = memcmp(k.all, "OHDR\2", 5) != 0;
    if (d->first) {
        eg__hdf5_take(&k.b, 8);
        const uint64_t size = eg__hdf5_number(&k.b, 4);
        d->extra = 3;
        return k.all[0] == 1 ? add_block(d, at + 16, size) : bad(d);
    }
    const int flags = k.all[5];
    d->extra = flags & 4 ? 2 : 0;
    eg__hdf5_take(&k.b, (uint64_t)(6 + (flags & 32 ? 16 : 0) + (flags & 16 ? 4 : 0)));
    const uint64_t size = eg__hdf5_number(&k.b, 1 << (flags & 3));
    return add_block(d, at + (uint64_t)(n - k.b.n), size);
}

eg_status eg__hdf5_header_open(eg__hdf5 *h, uint64_t at, eg__hdf5_header *to)
{
    header d = {.h = h, .to = to};
    *to = (eg__hdf5_header){0};
    eg_status st = begin(&d, at);
    for (uint32_t i = 0; i < to->count && !st; i++) {
        eg__hdf5_bytes m = to->message[i].bytes;
        if (to->message[i].type == EG__HDF5_CONTINUED) {
            const uint64_t next = eg__hdf5_number(&m, 8), size = eg__hdf5_number(&m, 8);
            st = m.ended || (!d.first && size < 8) ? bad(&d)
                 : d.first                         ? add_block(&d, next, size)
                                                   : add_block(&d, next + 4, size - 8);
        }
    }
    return st;
}

void eg__hdf5_header_close(eg__hdf5_header *d)
{
    while (d->blocks) {
        block *k = d->blocks;
        d->blocks = k->next;
        eg__counted_free(k->all);
        eg__counted_free(k);
    }
    eg__counted_free(d->message);
}

const eg__hdf5_message *eg__hdf5_find(const eg__hdf5_header *d, int type)
{
    for (uint32_t i = d->count; i-- > 0;) {
        if (d->message[i].type == type) {
            return &d->message[i];
        }
    }
    return NULL;
}
