/* sstable_make.c - writing sorted-string tables, unpacked. */

#include "lib/io/crc32c.h"
#include "lib/io/sstable.h"

/* A block is closed that has so many bytes; every so many entries have a whole key. */
enum { BLOCK = EG__CHUNK_BYTES, WHOLE = 16 };

void eg__put_varint(eg__buffer *b, uint64_t v)
{
    for (; v > 127; v >>= 7) {
        eg__put(b, &(uint8_t){(uint8_t)(v | 128)}, 1);
    }
    eg__put(b, &(uint8_t){(uint8_t)v}, 1);
}

void eg__put_fixed32(eg__buffer *b, uint32_t v)
{
    const uint8_t bytes[] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
    eg__put(b, bytes, sizeof bytes);
}

static void put_entry(eg__buffer *b, size_t shared, const void *key, size_t nkey, const void *value, size_t nvalue)
{
    eg__put_varint(b, shared);
    eg__put_varint(b, nkey - shared);
    eg__put_varint(b, nvalue);
    eg__put(b, (const char *)key + shared, nkey - shared);
    eg__put(b, value, nvalue);
}

/* Puts a block, with its trailer, behind all; its place and size into `handle`. */
static void close_block(eg__sstable_maker *m, eg__buffer *block, const eg__buffer *restarts, eg__buffer *handle)
{
    const uint32_t at = m->all.n;
    eg__put(block, restarts->s, restarts->n);
    eg__put_fixed32(block, restarts->n / 4);
    eg__put(&m->all, block->s, block->n);
    eg__put(&m->all, "", 1); /* not packed */
    m->all.full = m->all.full || block->full || restarts->full;
    if (!m->all.full) {
        eg__put_varint(handle, at);
        eg__put_varint(handle, block->n);
        eg__put_fixed32(&m->all, eg__crc32c_mask(eg__crc32c(0, m->all.s + at, m->all.n - at)));
    }
}

static void end_block(eg__sstable_maker *m)
{
    eg__buffer handle = {0};
    close_block(m, &m->block, &m->restarts, &handle);
    eg__put_fixed32(&m->places, m->index.n);
    put_entry(&m->index, 0, m->key.s, m->key.n, handle.s, handle.n);
    m->all.full = m->all.full || handle.full || m->key.full;
    m->block.n = m->restarts.n = 0;
    m->count = 0;
    eg__buffer_free(&handle);
}

void eg__sstable_add(eg__sstable_maker *m, const void *key, size_t nkey, const void *value, size_t nvalue)
{
    size_t shared = 0;
    if (m->count % WHOLE == 0) {
        eg__put_fixed32(&m->restarts, m->block.n);
    } else {
        while (shared < nkey && shared < m->key.n && ((const char *)key)[shared] == m->key.s[shared]) {
            shared++;
        }
    }
    put_entry(&m->block, shared, key, nkey, value, nvalue);
    m->key.n = 0;
    eg__put(&m->key, key, nkey);
    m->count++;
    if (m->block.n >= BLOCK) {
        end_block(m);
    }
}

bool eg__sstable_end(eg__sstable_maker *m)
{
    eg__buffer handles = {0};
    if (m->count) {
        end_block(m);
    }
    eg__put_fixed32(&m->restarts, 0);
    close_block(m, &m->block, &m->restarts, &handles); /* of blocks about blocks: none */
    close_block(m, &m->index, &m->places, &handles);
    while (!handles.full && handles.n < EG__SSTABLE_FOOTER - 8) {
        eg__put(&handles, "", 1);
    }
    eg__put(&handles, EG__SSTABLE_MAGIC, 8);
    eg__put(&m->all, handles.s, handles.n);
    m->all.full = m->all.full || handles.full;
    eg__buffer_free(&handles);
    return !m->all.full;
}

void eg__sstable_free(eg__sstable_maker *m)
{
    eg__buffer_free(&m->all);
    eg__buffer_free(&m->index);
    eg__buffer_free(&m->places);
    eg__buffer_free(&m->block);
    eg__buffer_free(&m->restarts);
    eg__buffer_free(&m->key);
    *m = (eg__sstable_maker){0};
}
