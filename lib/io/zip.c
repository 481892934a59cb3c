/* zip.c - see zip.h. */
#include "lib/io/zip.h"
#include "lib/core/counted.h"

#include <stdlib.h>

#include "lib/io/crc32c.h"
#include "lib/io/formats.h"

enum {
    END = 22,
    LOCATOR = 20,
    END64 = 56,
    ENTRY = 46,
    LOCAL = 30,
    MOST_COMMENT = 65535,
    MOST_NAME = 1024,
    WIDE = 1, /* the extra field of sizes of 64 bits */
};

/* In the place of a number that another place has in 64 bits. */
#define ELSEWHERE 0xffffffff

static uint64_t number(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    while (bytes--) {
        v = v << 8 | p[bytes];
    }
    return v;
}

static uint32_t word(const uint8_t *p, int bytes)
{
    return (uint32_t)number(p, bytes);
}

/* ---- the end of the directory ---------------------------------------------------------------- */

typedef struct directory {
    uint64_t at, bytes, count;
    int64_t end; /* where it must end */
} directory;

/* The end of 64 bits, if the place in front of the other has its locator. */
static eg_status find_wide_end(const eg__source *s, directory *d)
{
    uint8_t b[END64];
    const int64_t locator = d->end - LOCATOR;
    eg_status st = locator < 0 ? EG_OK : eg__source_read(s, locator, b, LOCATOR);
    if (st || locator < 0 || word(b, 4) != 0x07064b50) {
        return st;
    }
    const uint64_t at = number(b + 8, 8);
    if (at > (uint64_t)s->size || (int64_t)at > locator - END64) {
        return eg__source_bad(s, locator + 8, "no end of a zip directory is at %llu", (unsigned long long)at);
    }
    st = eg__source_read(s, (int64_t)at, b, END64);
    if (!st && (word(b, 4) != 0x06064b50 || number(b + 4, 8) != (uint64_t)(locator - (int64_t)at - 12))) {
        return eg__source_bad(s, (int64_t)at, "no end of a zip directory");
    }
    *d = (directory){number(b + 40 + 8, 8), number(b + 40, 8), number(b + 32, 8), (int64_t)at};
    return !st && (word(b + 16, 4) || word(b + 20, 4) || number(b + 24, 8) != d->count)
               ? eg__source_bad(s, (int64_t)at + 16, "the archive is split")
               : st;
}

/* Where the directory is and how many entries it has, from the end of the file. */
static eg_status find_directory(const eg__source *s, directory *d)
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
        *d = (directory){word(p + 16, 4), word(p + 12, 4), word(p + 10, 2), s->size - n + k};
        if (word(p + 4, 2) || word(p + 6, 2) || word(p + 8, 2) != d->count) {
            st = eg__source_bad(s, d->end + 4, "the archive is split");
        }
    }
    free(tail);
    st = st ? st : find_wide_end(s, d);
    if (!st && (d->at > (uint64_t)d->end || d->bytes != (uint64_t)d->end - d->at)) {
        st = eg__source_bad(s, d->end + 12, "the directory is not in front of its end");
    }
    return !st && d->count > d->bytes / ENTRY
               ? eg__source_bad(s, d->end + 8, "a directory of %llu bytes has no %llu entries",
                                (unsigned long long)d->bytes, (unsigned long long)d->count)
               : st;
}

/* ---- entries ----------------------------------------------------------------------------------- */

/* Neither ".." as a part of the path, nor a path from the root. */
bool eg__zip_name(const char *name)
{
    for (const char *p = name; *p; p++) {
        bool begins = p == name || p[-1] == '/' || p[-1] == '\\';
        if (begins && (*p == '/' || (p[0] == '.' && p[1] == '.' && (!p[2] || p[2] == '/' || p[2] == '\\')))) {
            return false;
        }
    }
    return strlen(name) <= MOST_NAME && !strchr(name, '\\');
}

/* Puts what the extra field of 64 bits has into those that lack it; whether it has them all. */
static bool fill_wide(const uint8_t *extra, uint32_t n, uint64_t *const *numbers, int count)
{
    const uint8_t *field = NULL;
    uint32_t left = 0;
    for (uint32_t at = 0; at + 4 <= n && !field; at += 4 + left) {
        left = word(extra + at + 2, 2);
        field = word(extra + at, 2) == WIDE && left <= n - at - 4 ? extra + at + 4 : NULL;
    }
    for (int i = 0; i < count; i++) {
        if (*numbers[i] == ELSEWHERE) {
            if (!field || left < 8) {
                return false;
            }
            *numbers[i] = number(field, 8);
            field += 8;
            left -= 8;
        }
    }
    return true;
}

/* What the directory says of a member; `at` is then that of its local header. */
typedef struct entry {
    eg__zip_member member;
    uint32_t flags, method;
    int64_t size; /* in the directory */
} entry;

/* The entry at p, `left` bytes before the directory's end; its place in the file is for words. */
static eg_status read_entry(const eg__source *s, const uint8_t *p, int64_t left, int64_t place, char *name, entry *e)
{
    const uint32_t n = left < ENTRY ? 0 : word(p + 28, 2), extra = left < ENTRY ? 0 : word(p + 30, 2);
    *e = (entry){.size = ENTRY + (int64_t)n + extra};
    if (left < ENTRY || word(p, 4) != 0x02014b50 || n > MOST_NAME || (e->size += word(p + 32, 2)) > left) {
        return eg__source_bad(s, place,
                              left < ENTRY ? "the directory ends within an entry" : "no entry of a zip directory");
    }
    memcpy(name, p + ENTRY, n);
    name[n] = 0;
    if (strlen(name) != n || !eg__zip_name(name)) {
        return eg__source_bad(s, place, "\"%.80s\" is no name for a member", name);
    }
    e->flags = word(p + 8, 2);
    e->method = word(p + 10, 2);
    if (e->flags & 1 || (e->method != 0 && e->method != 8)) {
        return eg__source_bad(s, place, "\"%.80s\" is %s", name,
                              e->flags & 1 ? "encrypted" : "packed by other than deflate");
    }
    uint64_t size = word(p + 24, 4), packed = word(p + 20, 4), at = word(p + 42, 4);
    const bool filled = fill_wide(p + ENTRY + n, extra, (uint64_t *const[]){&size, &packed, &at}, 3);
    if (!filled || size > INT64_MAX || packed > (uint64_t)s->size || at > (uint64_t)s->size) {
        return eg__source_bad(s, place, "\"%.80s\" %s", name,
                              filled ? "lies outside the archive" : "lacks its sizes of 64 bits");
    }
    e->member = (eg__zip_member){name, (int64_t)at, (int64_t)packed, (int64_t)size, word(p + 16, 4), e->method != 0};
    return EG_OK;
}

/* The local header must tell the same; at then is where the data begin. Who writes more than it knows yet puts zeros
 * or 2^32 - 1 in the places of sizes. */
static eg_status check_local(const eg__source *s, entry *e, int64_t end)
{
    uint8_t b[LOCAL];
    char name[MOST_NAME];
    eg__zip_member *m = &e->member;
    const int64_t n = (int64_t)strlen(m->name), at = m->at;
    if (at > end - LOCAL - n) {
        return eg__source_bad(s, at, "\"%.80s\" lies outside the archive", m->name);
    }
    eg_status st = eg__source_read(s, at, b, LOCAL);
    st = st ? st : eg__source_read(s, at + LOCAL, name, n);
    if (st) {
        return st;
    }
    const bool later = e->flags & 8; /* sizes and checksum follow the data */
    const uint32_t crc = word(b + 14, 4), packed = word(b + 18, 4), size = word(b + 22, 4);
    const bool same = word(b, 4) == 0x04034b50 && word(b + 6, 2) == e->flags && word(b + 8, 2) == e->method &&
                      word(b + 26, 2) == n && !memcmp(name, m->name, (size_t)n);
    const bool sizes = later || (crc == m->crc && (packed == m->packed || packed == ELSEWHERE) &&
                                 (size == m->size || size == ELSEWHERE));
    m->at += LOCAL + n + word(b + 28, 2);
    if (!same || !sizes || m->packed > end - m->at) {
        return eg__source_bad(s, at, "\"%.80s\" is not as the directory tells", m->name);
    }
    if (m->deflated ? m->size / 1100 > m->packed : m->size != m->packed) {
        return eg__source_bad(s, at, "\"%.80s\": %lld bytes cannot become %lld", m->name, (long long)m->packed,
                              (long long)m->size);
    }
    return EG_OK;
}

/* ---- the archive ------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const eg__zip_member *const *)a)->name, (*(const eg__zip_member *const *)b)->name);
}

static int by_place(const void *a, const void *b)
{
    const eg__zip_member *p = *(const eg__zip_member *const *)a, *q = *(const eg__zip_member *const *)b;
    const int64_t p_end = p->at + p->packed, q_end = q->at + q->packed;
    return p->at != q->at ? (p->at < q->at ? -1 : 1) : p_end < q_end ? -1 : p_end > q_end;
}

/* No two share bytes, nor a name. */
static eg_status check_all(const eg__source *s, eg__zip *zip)
{
    const eg__zip_member **m = zip->by_name;
    const size_t n = (size_t)zip->count;
    for (size_t i = 0; i < n; i++) {
        m[i] = &zip->member[i];
    }
    qsort(m, n, sizeof *m, by_place);
    for (size_t i = 1; i < n; i++) {
        const int64_t header = LOCAL + (int64_t)strlen(m[i]->name);
        if (m[i]->at - header < m[i - 1]->at + m[i - 1]->packed) {
            return eg__source_bad(s, m[i]->at, "\"%.80s\" shares its bytes with others", m[i]->name);
        }
    }
    qsort(m, n, sizeof *m, by_name);
    for (size_t i = 1; i < n; i++) {
        if (!strcmp(m[i]->name, m[i - 1]->name)) {
            return eg__source_bad(s, m[i]->at, "\"%.80s\" is there twice", m[i]->name);
        }
    }
    return EG_OK;
}

static eg_status read_entries(const eg__source *s, const directory *d, const uint8_t *bytes, eg__zip *zip)
{
    char *name = zip->names;
    int64_t at = 0;
    eg_status st = EG_OK;
    for (uint64_t i = 0; i < d->count && !st; i++) {
        entry e;
        st = read_entry(s, bytes + at, (int64_t)d->bytes - at, (int64_t)d->at + at, name, &e);
        st = st ? st : check_local(s, &e, (int64_t)d->at);
        if (!st) {
            zip->member[zip->count++] = e.member;
            name += strlen(name) + 1;
            at += e.size;
        }
    }
    return !st && at != (int64_t)d->bytes
               ? eg__source_bad(s, (int64_t)d->at + at, "the directory has more than its %lld entries",
                                (long long)zip->count)
               : st;
}

bool eg__zip_is(const eg__source *s)
{
    return eg__source_begins(s, "PK\3\4", 4) || eg__source_begins(s, "PK\5\6", 4);
}

bool eg__zip_begins(const eg__source *s, const char *ending)
{
    uint8_t b[LOCAL];
    char name[MOST_NAME + 1];
    if (!eg__zip_is(s) || s->size < LOCAL || eg__source_read(s, 0, b, LOCAL)) {
        return false;
    }
    const uint32_t n = word(b + 26, 2);
    if (word(b, 4) != 0x04034b50 || n > MOST_NAME || s->size - LOCAL < n || eg__source_read(s, LOCAL, name, n)) {
        return false;
    }
    name[n] = 0;
    return eg__ends_with(name, ending);
}

eg_status eg__zip_open(eg__zip *zip, const eg__source *s)
{
    directory d = {0};
    *zip = (eg__zip){0};
    eg_status st = find_directory(s, &d);
    if (st) {
        return st;
    }
    const size_t count = (size_t)d.count;
    uint8_t *bytes = eg__counted_alloc(d.bytes + 1);
    zip->member = eg__counted_alloc(count * sizeof *zip->member + 1);
    zip->by_name = eg__counted_alloc(count * sizeof *zip->by_name + 1);
    zip->names = eg__counted_alloc(d.bytes + 1);
    if (!bytes || !zip->member || !zip->by_name || !zip->names) {
        st = eg__no_memory(s->op, (int64_t)(d.bytes * 2 + count * sizeof *zip->member));
    }
    st = st ? st : eg__source_read(s, (int64_t)d.at, bytes, (int64_t)d.bytes);
    st = st ? st : read_entries(s, &d, bytes, zip);
    st = st ? st : check_all(s, zip);
    eg__counted_free(bytes);
    if (st) {
        eg__zip_close(zip);
    }
    return st;
}

void eg__zip_close(eg__zip *zip)
{
    eg__counted_free(zip->member);
    eg__counted_free(zip->by_name);
    eg__counted_free(zip->names);
    *zip = (eg__zip){0};
}

static int against_name(const void *name, const void *m)
{
    return strcmp(name, (*(const eg__zip_member *const *)m)->name);
}

const eg__zip_member *eg__zip_find(const eg__zip *zip, const char *name)
{
    const eg__zip_member **m =
        zip->count ? bsearch(name, zip->by_name, (size_t)zip->count, sizeof *zip->by_name, against_name) : NULL;
    return m ? *m : NULL;
}

/* ---- members ----------------------------------------------------------------------------------- */

#ifdef EG_HAVE_ZLIB
#include "lib/io/zlib.h"

#define FUNCTIONS(X) \
    X(inflate)       \
    X(inflateEnd)    \
    X(inflateInit2_)
EG__ZLIB(lib, FUNCTIONS);

enum { PIECE = 1 << 16, MOST_AT_ONCE = 1 << 30 };

/* Piece by piece through `from`, until there are so many bytes or, of all, the end. */
static eg_status inflate_through(const eg__source *s, const eg__zip_member *m, uint8_t *from, uint8_t *to,
                                 int64_t bytes, z_stream *z)
{
    const bool all = bytes == m->size;
    int64_t taken = 0, given = 0;
    eg_status st = EG_OK;
    int r = Z_OK;
    while (!st && r == Z_OK && (all || given < bytes)) {
        if (!z->avail_in) {
            const int64_t some = eg__min(m->packed - taken, PIECE);
            st = eg__source_read(s, m->at + taken, from, some);
            z->next_in = from;
            z->avail_in = (uInt)some;
            taken += some;
        }
        z->next_out = to + given;
        z->avail_out = (uInt)eg__min(bytes - given, MOST_AT_ONCE);
        r = st ? Z_ERRNO : lib.inflate(z, Z_NO_FLUSH);
        given = z->next_out - to;
    }
    const int64_t used = taken - (int64_t)z->avail_in;
    if (!st && (given < bytes || (all && (r != Z_STREAM_END || used != m->packed)))) {
        st = eg__source_bad(s, m->at + used, "\"%.80s\" cannot be unpacked: %s", m->name,
                            z->msg ? z->msg : "its size is wrong");
    }
    return st;
}

static eg_status inflate_first(const eg__source *s, const eg__zip_member *m, void *to, int64_t bytes)
{
    z_stream z = {0};
    eg_status st = eg__library_open(&lib_library, s->op);
    uint8_t *from = st ? NULL : eg__malloc(PIECE);
    if (!st && (!from || lib.inflateInit2_(&z, -MAX_WBITS, ZLIB_VERSION, sizeof z) != Z_OK)) {
        st = eg__no_memory(s->op, PIECE);
    } else if (!st) {
        st = inflate_through(s, m, from, to, bytes, &z);
        lib.inflateEnd(&z);
    }
    free(from);
    return st;
}

#else

static eg_status inflate_first(const eg__source *s, const eg__zip_member *m, void *to, int64_t bytes)
{
    (void)to;
    (void)bytes;
    return eg__fail(EG_ENOKERNEL, s->op, "\"%.80s\" is packed and this build has no zlib", m->name);
}

#endif

eg_status eg__zip_unpack_first(const eg__source *s, const eg__zip_member *m, void *to, int64_t bytes)
{
    return m->deflated ? inflate_first(s, m, to, bytes) : eg__source_read(s, m->at, to, bytes);
}

eg_status eg__zip_unpack(const eg__source *s, const eg__zip_member *m, void *to)
{
    eg_status st = eg__zip_unpack_first(s, m, to, m->size);
    return !st && eg__crc32(0, to, (size_t)m->size) != m->crc
               ? eg__source_bad(s, m->at, "the checksum of \"%.80s\" is wrong", m->name)
               : st;
}
