/* npz_save.c - writing npz: members as they are, not packed, whose elements begin at multiples of 64 bytes, so that
 * they can be mapped. */
#include "lib/io/npz.h"

#include <stdlib.h>

#include "lib/io/buffer.h"
#include "lib/io/crc32c.h"
#include "lib/io/lazy.h"
#include "lib/io/npy.h"
#include "lib/io/zip.h"

enum {
    ALIGN = 64,
    LOCAL = 30,
    FIELD = 4,        /* of an extra field, before what it has */
    WIDE = 1,         /* the field of sizes of 64 bits */
    PADDING = 0xd935, /* the one that Android's tools align with */
    UTF8 = 1 << 11,   /* a flag: so are names */
    DAY = 0x21,       /* 1 January 1980: the same map gives the same bytes */
};

#define MOST 0xffffffff /* and more: in a field of 64 bits */

typedef struct member {
    int64_t at, size;
    uint32_t crc;
} member;

static void put(eg__buffer *b, uint64_t v, int bytes)
{
    char s[8];
    for (int i = 0; i < bytes; i++) {
        s[i] = (char)(v >> 8 * i);
    }
    eg__put(b, s, (size_t)bytes);
}

/* What local headers and the directory both have, from the version on. */
static void put_common(eg__buffer *b, const member *m, size_t name, size_t extra)
{
    const uint64_t size = m->size >= MOST ? MOST : (uint64_t)m->size;
    put(b, m->size >= MOST || m->at >= MOST ? 45 : 20, 2);
    put(b, UTF8, 2);
    put(b, 0, 2); /* not packed */
    put(b, 0, 2);
    put(b, DAY, 2);
    put(b, m->crc, 4);
    put(b, size, 4);
    put(b, size, 4);
    put(b, name, 2);
    put(b, extra, 2);
}

static void put_name(eg__buffer *b, const char *name)
{
    eg__put_word(b, name);
    eg__put_word(b, ".npy");
}

static size_t name_bytes(const char *name)
{
    return strlen(name) + 4;
}

/* Everything before the member's bytes, which begin at a multiple of 64. */
static void put_local(eg__buffer *b, const member *m, const char *name)
{
    const bool wide = m->size >= MOST;
    size_t extra = wide ? FIELD + 16 : 0;
    const size_t fixed = LOCAL + name_bytes(name) + extra + FIELD;
    const size_t padding = (ALIGN - (size_t)(m->at + (int64_t)fixed) % ALIGN) % ALIGN;
    extra += FIELD + padding;
    put(b, 0x04034b50, 4);
    put_common(b, m, name_bytes(name), extra);
    put_name(b, name);
    if (wide) {
        put(b, WIDE, 2);
        put(b, 16, 2);
        put(b, (uint64_t)m->size, 8);
        put(b, (uint64_t)m->size, 8);
    }
    put(b, PADDING, 2);
    put(b, padding, 2);
    for (size_t i = 0; i < padding; i++) {
        put(b, 0, 1);
    }
}

static void put_entry(eg__buffer *b, const member *m, const char *name)
{
    const bool wide = m->size >= MOST, far = m->at >= MOST;
    const size_t numbers = (wide ? 16 : 0) + (far ? 8 : 0);
    put(b, 0x02014b50, 4);
    put(b, 45, 2);
    put_common(b, m, name_bytes(name), numbers ? FIELD + numbers : 0);
    put(b, 0, 2);
    put(b, 0, 2);
    put(b, 0, 2);
    put(b, 0, 4);
    put(b, far ? MOST : (uint64_t)m->at, 4);
    put_name(b, name);
    if (numbers) {
        put(b, WIDE, 2);
        put(b, numbers, 2);
    }
    if (wide) {
        put(b, (uint64_t)m->size, 8);
        put(b, (uint64_t)m->size, 8);
    }
    if (far) {
        put(b, (uint64_t)m->at, 8);
    }
}

/* The ends of the directory that begins there, of 64 bits too where they are needed. */
static void put_end(eg__buffer *b, int64_t at, int64_t bytes, int64_t count)
{
    const int64_t end = at + bytes;
    if (count >= 0xffff || end >= MOST) {
        put(b, 0x06064b50, 4);
        put(b, 44, 8);
        put(b, 45, 2);
        put(b, 45, 2);
        put(b, 0, 8);
        put(b, (uint64_t)count, 8);
        put(b, (uint64_t)count, 8);
        put(b, (uint64_t)bytes, 8);
        put(b, (uint64_t)at, 8);
        put(b, 0x07064b50, 4);
        put(b, 0, 4);
        put(b, (uint64_t)end, 8);
        put(b, 1, 4);
    }
    put(b, 0x06054b50, 4);
    put(b, 0, 4);
    put(b, (uint64_t)eg__min(count, 0xffff), 2);
    put(b, (uint64_t)eg__min(count, 0xffff), 2);
    put(b, (uint64_t)eg__min(bytes, MOST), 4);
    put(b, (uint64_t)eg__min(at, MOST), 4);
    put(b, 0, 2);
}

/* ---- the file ------------------------------------------------------------------------------------ */

static eg_status check_name(const char *op, const char *name)
{
    bool fits = eg__zip_name(name) && name_bytes(name) <= 1024;
    const int64_t length = (int64_t)strlen(name);
    for (int64_t i = 0; fits && i < length;) {
        const int n = eg__utf8_length(name + i, length - i);
        fits = n > 0;
        i += n;
    }
    return fits ? EG_OK : eg__fail(EG_EINVAL, op, "\"%.160s\" cannot be a name in an npz file", name);
}

static eg_status flush(eg__target *file, eg__buffer *b)
{
    eg_status st = b->full ? eg__no_memory(file->op, b->n) : eg__target_write(file, b->s, b->n);
    b->n = 0;
    return st;
}

/* The i-th tensor as a member at m->at; then *end is behind it. */
static eg_status write_member(eg__target *file, const eg_tensors *map, int64_t i, member *m, eg__buffer *b,
                              int64_t *end)
{
    char header[EG__NPY_HEADER];
    const eg_tensor_about about = eg_tensors_about(map, i);
    const size_t n = eg__npy_header(&about, header), bytes = (size_t)eg__about_bytes(&about);
    eg_tensor *t = eg__lazy_read(map, i);
    t = t ? eg__file_order(t) : NULL;
    if (!t) {
        return eg__why();
    }
    m->size = (int64_t)(n + bytes);
    m->crc = eg__crc32(eg__crc32(0, header, n), eg__ptr(t), bytes);
    put_local(b, m, eg_tensors_name(map, i));
    eg__put(b, header, n);
    *end = m->at + b->n + (int64_t)bytes;
    eg_status st = flush(file, b);
    return st ? st : eg__target_write(file, eg__ptr(t), bytes);
}

static eg_status write_all(eg__target *file, const eg_tensors *map, member *m, eg__buffer *b)
{
    const int64_t count = eg_tensors_count(map);
    int64_t at = 0;
    eg_status st = EG_OK;
    for (int64_t i = 0; i < count && !st; i++) {
        eg_scope s = eg_scope_push();
        m[i].at = at;
        st = s.depth ? write_member(file, map, i, &m[i], b, &at) : eg__why();
        if (s.depth) {
            eg_scope_pop(s, NULL);
        }
    }
    for (int64_t i = 0; i < count && !st; i++) {
        put_entry(b, &m[i], eg_tensors_name(map, i));
    }
    if (!st) {
        put_end(b, at, b->n, count);
        st = flush(file, b);
    }
    return st;
}

eg_status eg__npz_save(const char *op, const eg_tensors *map, const char *path, const eg_save_options *o)
{
    const int64_t count = eg_tensors_count(map);
    eg__target file;
    eg__buffer b = {0};
    eg_status st = o->shard_bytes ? eg__fail(EG_EINVAL, op, "npz files are not written in shards") : EG_OK;
    for (int64_t i = 0; i < count && !st; i++) {
        st = check_name(op, eg_tensors_name(map, i));
    }
    member *m = st ? NULL : eg__malloc((size_t)count * sizeof *m + 1);
    if (!st && !m) {
        st = eg__no_memory(op, count * (int64_t)sizeof *m);
    }
    if (!st && !(st = eg__target_open(&file, op, path))) {
        st = eg__target_close(&file, write_all(&file, map, m, &b));
    }
    free(m);
    eg__buffer_free(&b);
    return st;
}
