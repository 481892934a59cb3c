/* sstable.c - reading sorted-string tables. */
#include "lib/io/sstable.h"

#include "lib/core/counted.h"
#include "lib/io/crc32c.h"
#include "lib/io/wire.h"

#ifdef EG_HAVE_SNAPPY
#include "lib/io/snappy.h"

#define FUNCTIONS(X)              \
    X(snappy_uncompressed_length) \
    X(snappy_uncompress)
EG__SNAPPY(lib, FUNCTIONS);
#endif

enum { FOOTER = EG__SSTABLE_FOOTER, MAGIC = 8, TRAILER = 5, WORD = 4, MOST_TIMES = 22 };

static uint32_t word(const void *at)
{
    eg__wire w = eg__wire_of(at, WORD);
    return (uint32_t)eg__wire_fixed(&w, WORD);
}

int eg__sstable_order(const void *a, size_t na, const void *b, size_t nb)
{
    const size_t n = na < nb ? na : nb;
    const int order = n ? memcmp(a, b, n) : 0;
    return order ? order : (na > nb) - (na < nb);
}

/* ---- blocks ------------------------------------------------------------------------------------ */

static eg_status unpack(const eg__source *s, int64_t place, char **bytes, int64_t *size)
{
#ifdef EG_HAVE_SNAPPY
    size_t n = 0;
    eg_status st = eg__library_open(&lib_library, s->op);
    if (st) {
        return st;
    }
    /* A copy of 64 bytes takes 3. */
    if (lib.snappy_uncompressed_length(*bytes, (size_t)*size, &n) || n > (size_t)*size * MOST_TIMES) {
        return eg__source_bad(s, place, "a block that Snappy cannot have packed");
    }
    st = eg__source_unpacks(s, place, "a block becomes", (int64_t)n);
    char *to = st ? NULL : eg__counted_alloc(n + 1);
    if (!to) {
        return st ? st : eg__no_memory(s->op, (int64_t)n);
    }
    st = lib.snappy_uncompress(*bytes, (size_t)*size, to, &n) ? eg__source_bad(s, place, "a packed block is damaged")
                                                              : EG_OK;
    eg__counted_free(*bytes);
    *bytes = to;
    *size = (int64_t)n;
    return st;
#else
    (void)bytes, (void)size;
    return eg__fail(EG_ENOKERNEL, s->op, "\"%.140s\" has packed blocks (byte %lld) and this build has no snappy",
                    s->name, (long long)place);
#endif
}

/* The block at a place of the file instead of what b had. */
static eg_status load(eg__sstable_block *b, const eg__source *s, int64_t place, int64_t size)
{
    eg__counted_free(b->bytes);
    b->at = b->end = 0;
    b->bytes = eg__counted_alloc((size_t)size + TRAILER);
    if (!b->bytes) {
        return eg__no_memory(s->op, size + TRAILER);
    }
    b->place = place;
    eg_status st = eg__source_read(s, place, b->bytes, size + TRAILER);
    if (!st && eg__crc32c_mask(eg__crc32c(0, b->bytes, (size_t)size + 1)) != word(b->bytes + size + 1)) {
        st = eg__source_bad(s, place, "a block of %lld bytes does not match its checksum", (long long)size);
    }
    if (st) {
        return st;
    }
    const uint8_t packed = (uint8_t)b->bytes[size];
    st = packed == 1 ? unpack(s, place, &b->bytes, &size) : EG_OK;
    if (!st && packed > 1) {
        st = eg__source_bad(s, place, "a block packed in way %d, which is unknown", packed);
    }
    const int64_t restarts = st || size < WORD ? -1 : (int64_t)word(b->bytes + size - WORD);
    if (!st && (restarts < 0 || restarts > size / WORD - 1)) {
        st = eg__source_bad(s, place, "a block of %lld bytes has no room for its %lld restarts", (long long)size,
                            (long long)restarts);
    }
    b->end = st ? 0 : size - WORD * (restarts + 1);
    b->first = true;
    return st;
}

/* The lengths of an entry: of the key what it shares with the one before and what is its own, and the value. */
static bool read_lengths(eg__sstable_block *b, uint64_t length[3])
{
    eg__wire w = eg__wire_of(b->bytes + b->at, (size_t)(b->end - b->at));
    for (int i = 0; i < 3; i++) {
        length[i] = eg__wire_varint(&w);
    }
    const uint64_t left = eg__wire_size(&w);
    b->at = b->end - (int64_t)left;
    return !w.bad && length[0] <= (b->first ? 0 : b->nkey) && length[1] <= left && length[2] <= left - length[1];
}

/* The next entry of the block, which has one. */
static eg_status read_entry(eg__sstable_block *b, const eg__source *s)
{
    uint64_t length[3];
    if (!read_lengths(b, length) || length[0] + length[1] > INT32_MAX) {
        return eg__source_bad(s, b->place, "an entry does not fit into its block");
    }
    const char *own = b->bytes + b->at;
    const size_t shared = (size_t)length[0], n = (size_t)length[1];
    if (b->any && eg__sstable_order(own, n, b->key + shared, b->nkey - shared) <= 0) {
        return eg__source_bad(s, b->place, "keys are not in their order");
    }
    while (b->ckey < shared + n) {
        if (!eg__counted_grow(&b->key, &b->ckey, 1)) {
            return eg__no_memory(s->op, (int64_t)(shared + n));
        }
    }
    if (n) {
        memcpy(b->key + shared, own, n);
    }
    b->nkey = (uint32_t)(shared + n);
    b->value = own + n;
    b->nvalue = (int64_t)length[2];
    b->at += (int64_t)(length[1] + length[2]);
    b->first = false;
    b->any = true;
    return EG_OK;
}

/* ---- the table --------------------------------------------------------------------------------- */

bool eg__sstable_is(const eg__source *s)
{
    uint8_t end[MAGIC];
    return s->size >= FOOTER && !eg__source_read(s, s->size - MAGIC, end, MAGIC) &&
           !memcmp(end, EG__SSTABLE_MAGIC, MAGIC);
}

/* A block's place and size; it must lie between `from` and the footer. */
static eg_status read_handle(const eg__source *s, eg__wire *w, int64_t from, int64_t at, int64_t *place, int64_t *size)
{
    const uint64_t p = eg__wire_varint(w), n = eg__wire_varint(w), room = (uint64_t)(s->size - FOOTER);
    if (w->bad || p > room || n > room - p || TRAILER > room - p - n || p < (uint64_t)from) {
        return eg__source_bad(s, at, "a block lies outside of the file, or of its turn");
    }
    *place = (int64_t)p;
    *size = (int64_t)n;
    return EG_OK;
}

eg_status eg__sstable_open(eg__sstable *t, const eg__source *s)
{
    uint8_t footer[FOOTER];
    int64_t place = 0, size = 0;
    *t = (eg__sstable){.source = s};
    if (!eg__sstable_is(s)) {
        return eg__source_bad(s, s->size, "it does not end as a sorted-string table");
    }
    eg_status st = eg__source_read(s, s->size - FOOTER, footer, FOOTER);
    eg__wire w = eg__wire_of(footer, FOOTER - MAGIC);
    st = st ? st : read_handle(s, &w, 0, s->size - FOOTER, &place, &size); /* of blocks about blocks: not used */
    st = st ? st : read_handle(s, &w, 0, s->size - FOOTER, &place, &size);
    return st ? st : load(&t->index, s, place, size);
}

void eg__sstable_close(eg__sstable *t)
{
    eg__counted_free(t->index.bytes);
    eg__counted_free(t->index.key);
    eg__counted_free(t->data.bytes);
    eg__counted_free(t->data.key);
    *t = (eg__sstable){.source = NULL};
}

void eg__sstable_rewind(eg__sstable *t)
{
    eg__counted_free(t->data.bytes);
    t->data.bytes = NULL;
    t->data.any = t->index.any = t->there = false;
    t->index.at = t->behind = 0;
    t->index.first = true;
}

/* To the next entry of the index, whose block is at the place given. */
static eg_status next_block(eg__sstable *t, int64_t *place, int64_t *size)
{
    eg_status st = read_entry(&t->index, t->source);
    if (st) {
        return st;
    }
    eg__wire w = eg__wire_of(t->index.value, (size_t)t->index.nvalue);
    st = read_handle(t->source, &w, t->behind, t->index.place, place, size);
    t->behind = st ? t->behind : *place + *size + TRAILER;
    return st;
}

eg_status eg__sstable_next(eg__sstable *t)
{
    eg_status st = EG_OK;
    t->there = false;
    while (!st && (!t->data.bytes || t->data.at == t->data.end)) {
        int64_t place = 0, size = 0;
        if (t->index.at == t->index.end) {
            return EG_OK;
        }
        st = next_block(t, &place, &size);
        st = st ? st : load(&t->data, t->source, place, size);
    }
    st = st ? st : read_entry(&t->data, t->source);
    t->there = !st;
    return st;
}

static int order(const eg__sstable_block *b, const void *key, size_t nkey)
{
    return eg__sstable_order(b->key, b->nkey, key, nkey);
}

/* Loads the block that would have the key; there may be none. */
static eg_status seek_block(eg__sstable *t, const void *key, size_t nkey)
{
    int64_t place = 0, size = 0;
    eg_status st = EG_OK;
    bool found = false;
    while (!st && !found && t->index.at < t->index.end) {
        st = next_block(t, &place, &size);
        found = !st && order(&t->index, key, nkey) >= 0;
    }
    t->there = false;
    t->data.at = t->data.end;
    return found ? load(&t->data, t->source, place, size) : st;
}

eg_status eg__sstable_seek(eg__sstable *t, const void *key, size_t nkey)
{
    if (!t->there || order(&t->data, key, nkey) > 0) {
        eg__sstable_rewind(t);
    }
    const bool same = t->data.bytes && order(&t->index, key, nkey) >= 0;
    eg_status st = same ? EG_OK : seek_block(t, key, nkey);
    while (!st && (!t->there || order(&t->data, key, nkey) < 0)) {
        t->there = t->data.at < t->data.end;
        if (!t->there) {
            return EG_OK;
        }
        st = read_entry(&t->data, t->source);
    }
    t->there = !st && order(&t->data, key, nkey) == 0;
    return st;
}
