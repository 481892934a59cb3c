/* npz.c - arrays in a zip archive, by its central directory (PKWARE's APPNOTE 6.3). */
#include <egret/data/readers.h>
#include <stdlib.h>

#include "lib/io/npy.h"

#ifdef EG_HAVE_ZLIB
#include "lib/io/zlib.h"

#define FUNCTIONS(X) \
    X(crc32)         \
    X(inflate)       \
    X(inflateEnd)    \
    X(inflateInit2_)
EG__ZLIB(lib, FUNCTIONS);

enum { END = 22, ENTRY = 46, LOCAL = 30, MOST_COMMENT = 65535, MOST_NAME = 1024 };

/* An entry of the directory. */
typedef struct member {
    char name[MOST_NAME + 1];
    uint32_t flags, method, crc;
    int64_t at, packed, size; /* at: its local header; then its data */
} member;

static uint32_t word(const uint8_t *p, int bytes)
{
    uint32_t v = 0;
    while (bytes--) {
        v = v << 8 | p[bytes];
    }
    return v;
}

/* ---- the directory -------------------------------------------------------------------------- */

/* Where the directory is and how many entries it has, from the end of the file. */
static eg_status find_directory(const eg__source *s, int64_t *at, int64_t *bytes, int *count)
{
    int64_t n = eg__min(s->size, END + MOST_COMMENT), k = n - END;
    uint8_t *tail = eg__malloc((size_t)n + 1);
    if (!tail) {
        return eg__no_memory(s->op, n);
    }
    eg_status st = eg__source_read(s, s->size - n, tail, n);
    while (!st && k >= 0 && (word(tail + k, 4) != 0x06054b50 || word(tail + k + 20, 2) != n - END - k)) {
        k--;
    }
    if (!st && k < 0) {
        st = eg__source_bad(s, s->size, "no end of a zip directory");
    }
    if (!st) {
        const uint8_t *p = tail + k;
        *count = (int)word(p + 10, 2);
        *bytes = word(p + 12, 4);
        *at = word(p + 16, 4);
        int64_t end = s->size - n + k;
        if (word(p + 4, 2) || word(p + 6, 2) || (int)word(p + 8, 2) != *count) {
            st = eg__source_bad(s, end + 4, "the archive is split");
        } else if (*count == 0xffff || *bytes == 0xffffffff || *at == 0xffffffff) {
            st = eg__source_bad(s, end + 8, "the archive is of zip's 64-bit form");
        } else if (*at + *bytes != end) {
            st = eg__source_bad(s, end + 12, "the directory is not in front of its end");
        }
    }
    free(tail);
    return st;
}

/* ".." as a part of the path, or a path from the root. */
static bool leads_out(const char *name)
{
    for (const char *p = name; *p; p++) {
        bool begins = p == name || p[-1] == '/' || p[-1] == '\\';
        if (begins && (*p == '/' || (p[0] == '.' && p[1] == '.' && (!p[2] || p[2] == '/' || p[2] == '\\')))) {
            return true;
        }
    }
    return strchr(name, '\\') != NULL;
}

static eg_status check_name(const eg__source *s, int64_t at, member *m, int64_t n)
{
    if ((int64_t)strlen(m->name) != n || leads_out(m->name)) {
        return eg__source_bad(s, at, "\"%.80s\" is no name for an array", m->name);
    }
    if (n < 5 || strcmp(m->name + n - 4, ".npy")) {
        return eg__source_bad(s, at, "\"%.80s\" is no npy file", m->name);
    }
    return EG_OK;
}

static eg_status read_entry(const eg__source *s, int64_t *at, int64_t end, member *m)
{
    uint8_t b[ENTRY];
    if (*at + ENTRY > end) {
        return eg__source_bad(s, *at, "the directory ends within an entry");
    }
    eg_status st = eg__source_read(s, *at, b, ENTRY);
    if (st) {
        return st;
    }
    int64_t name = word(b + 28, 2), more = word(b + 30, 2) + word(b + 32, 2);
    if (word(b, 4) != 0x02014b50 || name > MOST_NAME || *at + ENTRY + name + more > end) {
        return eg__source_bad(s, *at, "no entry of a zip directory");
    }
    *m = (member){.flags = word(b + 8, 2),
                  .method = word(b + 10, 2),
                  .crc = word(b + 16, 4),
                  .packed = word(b + 20, 4),
                  .size = word(b + 24, 4),
                  .at = word(b + 42, 4)};
    st = eg__source_read(s, *at + ENTRY, m->name, name);
    st = st ? st : check_name(s, *at, m, name);
    if (!st && (m->flags & 1 || (m->method != 0 && m->method != 8))) {
        st = eg__source_bad(s, *at, "\"%.80s\" is %s", m->name,
                            m->flags & 1 ? "encrypted" : "packed by other than deflate");
    }
    if (!st && (m->packed == 0xffffffff || m->size == 0xffffffff || m->at == 0xffffffff)) {
        st = eg__source_bad(s, *at, "\"%.80s\" is of zip's 64-bit form", m->name);
    }
    *at += ENTRY + name + more;
    return st;
}

/* The local header must tell the same; m->at then is where the data begin. NumPy leaves room in it
 * for sizes of 64 bits and writes 2^32 - 1 in their places. */
static eg_status check_local(const eg__source *s, member *m, int64_t directory)
{
    uint8_t b[LOCAL];
    char name[MOST_NAME];
    size_t n = strlen(m->name);
    int64_t at = m->at;
    if (at + LOCAL + (int64_t)n > directory) {
        return eg__source_bad(s, at, "\"%.80s\" lies outside the archive", m->name);
    }
    eg_status st = eg__source_read(s, at, b, LOCAL);
    st = st ? st : eg__source_read(s, at + LOCAL, name, (int64_t)n);
    if (st) {
        return st;
    }
    bool later = m->flags & 8; /* sizes and checksum follow the data */
    uint32_t crc = word(b + 14, 4), packed = word(b + 18, 4), size = word(b + 22, 4);
    bool same = word(b, 4) == 0x04034b50 && word(b + 6, 2) == m->flags && word(b + 8, 2) == m->method &&
                word(b + 26, 2) == n && !memcmp(name, m->name, n);
    bool sizes =
        (crc == m->crc && (packed == m->packed || packed == 0xffffffff) && (size == m->size || size == 0xffffffff)) ||
        later;
    m->at += LOCAL + (int64_t)n + word(b + 28, 2);
    if (!same || !sizes || m->packed > directory - m->at) {
        return eg__source_bad(s, at, "\"%.80s\" is not as the directory tells", m->name);
    }
    if (m->method ? m->size / 1100 > m->packed : m->size != m->packed) {
        return eg__source_bad(s, at, "\"%.80s\": %lld bytes cannot become %lld", m->name, (long long)m->packed,
                              (long long)m->size);
    }
    return EG_OK;
}

/* ---- members -------------------------------------------------------------------------------- */

static eg_status inflate_all(const eg__source *s, const member *m, uint8_t *from, uint8_t *to)
{
    z_stream z = {.next_in = from, .avail_in = (uInt)m->packed, .next_out = to, .avail_out = (uInt)m->size};
    if (lib.inflateInit2_(&z, -MAX_WBITS, ZLIB_VERSION, sizeof z) != Z_OK) {
        return eg__no_memory(s->op, 0);
    }
    int r = lib.inflate(&z, Z_FINISH);
    eg_status st = EG_OK;
    if (r != Z_STREAM_END || z.avail_in || z.avail_out) {
        st = eg__source_bad(s, m->at + (int64_t)z.total_in, "\"%.80s\" cannot be unpacked: %s", m->name,
                            z.msg ? z.msg : "its size is wrong");
    }
    lib.inflateEnd(&z);
    return st;
}

/* The unpacked bytes of a member as an array. */
static eg_status add_array(const eg__source *s, const member *m, const uint8_t *data, eg_tensors *map)
{
    char name[MOST_NAME + 80];
    size_t n = strlen(s->name);
    snprintf(name, sizeof name, "%s/%s.npy", s->name + (n > 40 ? n - 40 : 0), m->name);
    eg__source array = {.op = s->op, .name = name, .data = (const char *)data, .fd = -1, .size = m->size};
    eg_scope scope = eg_scope_push();
    eg_tensor *t = scope.depth ? eg__npy_read(&array) : NULL;
    eg_status st = t ? eg_tensors_set(map, m->name, t) : eg__why();
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return st;
}

static eg_status read_member(const eg__source *s, member *m, eg_tensors *map)
{
    bool packed = m->method != 0;
    uint8_t *data = eg__malloc((size_t)m->size + 1), *raw = data;
    if (data && packed) {
        raw = eg__malloc((size_t)m->packed + 1);
    }
    eg_status st = raw ? eg__source_read(s, m->at, raw, m->packed) : eg__no_memory(s->op, m->size + m->packed);
    if (!st && packed) {
        st = inflate_all(s, m, raw, data);
    }
    if (!st && lib.crc32(0, data, (uInt)m->size) != m->crc) {
        st = eg__source_bad(s, m->at, "the checksum of \"%.80s\" is wrong", m->name);
    }
    if (raw != data) {
        free(raw);
    }
    m->name[strlen(m->name) - 4] = 0;
    if (!st && eg_tensors_has(map, m->name)) {
        st = eg__source_bad(s, m->at, "\"%.80s\" is there twice", m->name);
    }
    st = st ? st : add_array(s, m, data, map);
    free(data);
    return st;
}

static eg_tensors *read_all(const eg__source *s)
{
    int64_t at = 0, bytes = 0, packed = 0, unpacked = 0;
    int count = 0;
    if (find_directory(s, &at, &bytes, &count)) {
        return NULL;
    }
    eg_tensors *map = eg_tensors_new();
    member *m = map ? eg__malloc(sizeof *m) : NULL;
    eg_status st = m     ? eg__library_open(&lib_library, s->op)
                   : map ? eg__no_memory(s->op, (int64_t)sizeof *m)
                         : eg__why();
    int64_t directory = at, end = at + bytes;
    for (int i = 0; i < count && !st; i++) {
        st = read_entry(s, &at, end, m);
        st = st ? st : check_local(s, m, directory);
        packed += st ? 0 : m->packed;
        if (!st && packed > directory) {
            st = eg__source_bad(s, m->at, "\"%.80s\" shares its bytes with others", m->name);
        }
        unpacked += st ? 0 : m->size;
        st = st ? st : eg__source_unpacks(s, m->at, "the arrays have", unpacked);
        st = st ? st : read_member(s, m, map);
    }
    if (!st && at != end) {
        st = eg__source_bad(s, at, "the directory has more than its %d entries", count);
    }
    free(m);
    if (st) {
        eg_tensors_free(map);
    }
    return st ? NULL : map;
}

#else

static eg_tensors *read_all(const eg__source *s)
{
    return eg__fail_null(EG_ENOKERNEL, s->op, "this build has no zlib");
}

#endif

eg_tensors *eg_npz_load(const char *path)
{
    eg__source s;
    if (eg__source_open(&s, "eg_npz_load", path)) {
        return NULL;
    }
    eg_tensors *map = read_all(&s);
    eg__source_close(&s);
    return map;
}

eg_tensors *eg_npz_parse(const void *data, size_t bytes)
{
    eg__source s;
    return eg__source_memory(&s, "eg_npz_parse", data, bytes) ? NULL : read_all(&s);
}
