/* tfrecord.c - TFRecord files. */
#include "data/chain/dataset.h"
#include "data/readers/shards.h"
#include "data/readers/stream.h"
#include "lib/io/crc32c.h"
#include "lib/core/live.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef EG_HAVE_ZLIB
#include "lib/io/zlib.h"

#define FUNCTIONS(X) \
    X(deflate)       \
    X(deflateEnd)    \
    X(deflateInit2_)
EG__ZLIB(lib, FUNCTIONS);
#endif

enum { HEAD = 12, GROWTH = 1 << 20 };

/* ---- reading -------------------------------------------------------------------------------- */

typedef struct reader {
    eg_dataset d;
    eg_tfrecord_options o;
    eg__names files;
    uint32_t next; /* file to open */
    eg__stream stream;
    bool open;
    eg__bytes packed; /* a record whose length cannot be trusted yet */
} reader;

static uint32_t word(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool sound(const void *data, int64_t n, const uint8_t *crc)
{
    return eg__crc32c_mask(eg__crc32c(0, data, (size_t)n)) == word(crc);
}

static void shut(reader *r)
{
    eg__stream_close(&r->stream);
    r->open = false;
}

/* gzip and zlib could also be the first bytes of a length, whose checksum then tells. */
static eg_status guess(const char *path, eg_compression *c)
{
    uint8_t b[HEAD] = {0};
    eg__source s;
    eg_status st = eg__source_open(&s, "eg_tfrecord", path);
    *c = EG_COMPRESSION_NONE;
    if (st) {
        return st;
    }
    st = eg__source_read(&s, 0, b, eg__min(s.size, HEAD));
    if (!st && !(s.size >= HEAD && sound(b, 8, b + 8))) {
        bool gzip = b[0] == 0x1f && b[1] == 0x8b;
        bool zlib = (b[0] & 15) == 8 && b[0] >> 4 <= 7 && (b[0] << 8 | b[1]) % 31 == 0;
        *c = gzip ? EG_COMPRESSION_GZIP : zlib ? EG_COMPRESSION_ZLIB : EG_COMPRESSION_NONE;
    }
    eg__source_close(&s);
    return st;
}

static eg_status open_next(reader *r, const char *path)
{
    eg_compression c = r->o.compression;
    eg_status st = c == EG_COMPRESSION_AUTO ? guess(path, &c) : EG_OK;
    st = st ? st : eg__stream_open(&r->stream, "eg_tfrecord", path, c);
    r->open = !st;
    return st;
}

/* The next record's length into *n; -1 at the file's end. */
static eg_status read_head(reader *r, int64_t at, int64_t *n)
{
    uint8_t head[HEAD];
    int64_t got;
    eg__stream *s = &r->stream;
    *n = -1;
    eg_status st = eg__stream_read(s, head, HEAD, &got);
    if (st || !got) {
        return st;
    }
    if (got < HEAD) {
        return eg__stream_bad(s, at, "%lld bytes are left, a record begins with %d", (long long)got, HEAD);
    }
    uint64_t length = word(head) | (uint64_t)word(head + 4) << 32;
    if (!r->o.no_crc && !sound(head, 8, head + 8)) {
        return eg__stream_bad(s, at, "the checksum of the record's length is wrong");
    }
    int64_t room = s->unpacker ? INT32_MAX : s->source.size - s->offset - 4;
    if (length > INT32_MAX || (int64_t)length > room) {
        return eg__stream_bad(s, at, "a record of %llu bytes is %s", (unsigned long long)length,
                              length > INT32_MAX ? "too long" : "cut short");
    }
    if (s->unpacker && eg__source_unpacks(&s->source, at, "a record has", (int64_t)length)) {
        return EG_EFORMAT;
    }
    *n = (int64_t)length;
    return EG_OK;
}

/* The record's bytes and checksum as a tensor of n bytes: at once where the file's size vouches for
 * the length, else as they come. */
static eg_status read_body(reader *r, int64_t at, int64_t n, eg_tensor **out)
{
    eg__stream *s = &r->stream;
    int64_t got = 0;
    uint8_t crc[4];
    eg_status st = EG_OK;
    eg_tensor *t = NULL;
    if (!s->unpacker) {
        t = eg__empty_on(0, EG_SHAPE(n), EG_U8);
        st = t ? eg__stream_read(s, eg__ptr(t), n, &got) : eg__why();
    } else {
        r->packed.n = 0;
        while (!st && r->packed.n < n) {
            int64_t piece = eg__min(GROWTH, n - r->packed.n);
            if (!eg__bytes_room(&r->packed, piece)) {
                return eg__no_memory(s->source.op, n);
            }
            st = eg__stream_read(s, r->packed.p + r->packed.n, piece, &got);
            r->packed.n += got;
            if (got < piece) {
                break;
            }
        }
        got = r->packed.n;
        if (!st && got == n) {
            t = eg__bytes_tensor(r->packed.p, n);
            st = t ? EG_OK : eg__why();
        }
    }
    if (!st && got == n) {
        st = eg__stream_read(s, crc, 4, &got);
        n = st ? n : 4;
    }
    if (st || got < n) {
        return st ? st : eg__stream_bad(s, at, "the file ends within the record");
    }
    *out = t;
    return r->o.no_crc || sound(eg__ptr(t), t->n, crc)
               ? EG_OK
               : eg__stream_bad(s, at, "the checksum of the record's bytes is wrong");
}

/* One step: opens files until there is a record, whose place goes to *s. A failure that leaves no
 * way on in a file shuts it. */
static eg_status find(reader *r, eg__sample *s, int64_t *n)
{
    *n = -1;
    while (r->open || r->next < r->files.n) {
        bool fresh = !r->open;
        s->file = r->files.name[r->next - !fresh];
        s->at = fresh ? 0 : r->stream.offset;
        r->next += fresh;
        eg_status st = fresh ? open_next(r, s->file) : EG_OK;
        st = st ? st : read_head(r, s->at, n);
        if (st || *n < 0) {
            shut(r);
        }
        if (st || *n >= 0) {
            return st;
        }
    }
    return EG_OK;
}

static eg_status tfrecord_next(eg_dataset *d, eg__sample *s)
{
    reader *r = (reader *)d;
    int64_t n;
    eg_tensor *t = NULL;
    eg_status st = find(r, s, &n);
    if (st || n < 0) {
        return st;
    }
    eg_scope scope = eg_scope_push();
    st = scope.depth ? read_body(r, s->at, n, &t) : eg__why();
    if (st && !t) {
        shut(r);
    }
    st = st ? st : eg__sample_keep(d->is->name, s, &t, 1);
    eg_scope_pop(scope, NULL);
    return st;
}

/* Passes over the bytes; a failure is a step like others and leaves no words. */
static eg_status tfrecord_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    reader *r = (reader *)d;
    eg_error was = *eg_last_error();
    eg__sample s = {0};
    int64_t length, got;
    for (*done = 0; *done < n; ++*done) {
        eg_status st = find(r, &s, &length);
        if (st == EG_ENOMEM) {
            return st;
        }
        if (!st && length < 0) {
            break;
        }
        if (!st && (eg__stream_read(&r->stream, NULL, length + 4, &got) || got < length + 4)) {
            shut(r);
        }
    }
    eg__thread_get()->error = was;
    return EG_OK;
}

static eg_status tfrecord_start(eg_dataset *d, uint64_t epoch)
{
    reader *r = (reader *)d;
    (void)epoch;
    shut(r);
    r->next = 0;
    return EG_OK;
}

static int64_t tfrecord_count(const eg_dataset *d)
{
    (void)d;
    return -1;
}

static void tfrecord_free(eg_dataset *d)
{
    reader *r = (reader *)d;
    shut(r);
    eg__names_free(&r->files);
    eg__bytes_free(&r->packed);
}

static const eg__dataset_class tfrecord_class = {.name = "eg_tfrecord_new",
                                                 .start = tfrecord_start,
                                                 .next = tfrecord_next,
                                                 .skip = tfrecord_skip,
                                                 .count = tfrecord_count,
                                                 .free = tfrecord_free};

static eg_status check_compression(const char *op, eg_compression c)
{
    return (unsigned)c <= EG_COMPRESSION_ZLIB ? EG_OK : eg__fail(EG_EINVAL, op, "no compression %d", c);
}

/* Takes over the names. */
static eg_dataset *read_files(eg__names files, const eg_tfrecord_options *o)
{
    reader *r = (reader *)eg__dataset_new(&tfrecord_class, sizeof *r, NULL);
    if (!r) {
        eg__names_free(&files);
        return NULL;
    }
    r->o = *o;
    r->files = files;
    return &r->d;
}

/* ---- files in turns ------------------------------------------------------------------------- */

static eg_dataset *open_file(const char *path, void *user)
{
    eg__names one = {0};
    if (!eg__names_add(&one, path, strlen(path))) {
        eg__names_free(&one);
        return eg__no_memory(tfrecord_class.name, (int64_t)strlen(path)), NULL;
    }
    return read_files(one, user);
}

static eg_dataset *read_in_turns(const char *pattern, const eg_tfrecord_options *o)
{
    eg_tfrecord_options *copy = eg__malloc(sizeof *copy);
    if (!copy) {
        return eg__no_memory(tfrecord_class.name, (int64_t)sizeof *copy), NULL;
    }
    *copy = *o;
    eg__shards_plan p = {.op = tfrecord_class.name, .open = open_file, .user = copy, .free_user = free};
    eg_shards_options turns = {.size = sizeof turns,
                               .shuffle = o->shuffle_files,
                               .seed = o->seed,
                               .cycle = o->cycle,
                               .block = o->block,
                               .rank = o->rank,
                               .ranks = o->ranks,
                               .ahead = o->ahead};
    return eg__shards_new(&p, pattern, &turns);
}

eg_dataset *eg_tfrecord_new_with(const char *pattern, const eg_tfrecord_options *options)
{
    eg_tfrecord_options o;
    eg__names files;
    eg__options(&o, sizeof o, options);
    if (check_compression(tfrecord_class.name, o.compression)) {
        return NULL;
    }
    if (o.shuffle_files || o.cycle || o.block || o.rank || o.ranks || o.ahead) {
        return read_in_turns(pattern, &o);
    }
    return eg__names_match(&files, tfrecord_class.name, pattern) ? NULL : read_files(files, &o);
}

/* ---- writing -------------------------------------------------------------------------------- */

struct eg_tfrecord_writer {
    eg__target file;
    char *path;
    eg_status status; /* of the writes so far */
    eg__bytes buffer;
#ifdef EG_HAVE_ZLIB
    z_stream z;
#endif
    bool packs;
    uint8_t out[1 << 16];
};

static const char me[] = "eg_tfrecord_writer";

#ifdef EG_HAVE_ZLIB
static eg_status start_packing(eg_tfrecord_writer *w, eg_compression c)
{
    int bits = MAX_WBITS + (c == EG_COMPRESSION_GZIP ? 16 : 0);
    eg_status st = eg__library_open(&lib_library, me);
    if (st) {
        return st;
    }
    w->packs = lib.deflateInit2_(&w->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                                 sizeof w->z) == Z_OK;
    return w->packs ? EG_OK : eg__no_memory(me, 0);
}

static eg_status pack(eg_tfrecord_writer *w, int flush)
{
    eg_status st = EG_OK;
    w->z.next_in = w->buffer.p;
    w->z.avail_in = (unsigned)w->buffer.n;
    do {
        w->z.next_out = w->out;
        w->z.avail_out = sizeof w->out;
        lib.deflate(&w->z, flush);
        st = eg__target_write(&w->file, w->out, sizeof w->out - w->z.avail_out);
    } while (!st && w->z.avail_out == 0);
    return st;
}
#else
enum { Z_NO_FLUSH, Z_FINISH };

static eg_status start_packing(eg_tfrecord_writer *w, eg_compression c)
{
    (void)w, (void)c;
    return eg__fail(EG_ENOKERNEL, me, "this build has no zlib");
}

static eg_status pack(eg_tfrecord_writer *w, int flush)
{
    (void)flush;
    return w->status;
}
#endif

static eg_status drain(eg_tfrecord_writer *w, int flush)
{
    if (!w->status) {
        w->status = w->packs ? pack(w, flush) : eg__target_write(&w->file, w->buffer.p, (size_t)w->buffer.n);
    }
    w->buffer.n = 0;
    return w->status;
}

static eg_status end_writing(eg_tfrecord_writer *w, eg_status st)
{
#ifdef EG_HAVE_ZLIB
    if (w->packs) {
        lib.deflateEnd(&w->z);
    }
#endif
    st = eg__target_close(&w->file, st);
    eg__bytes_free(&w->buffer);
    free(w->path);
    free(w);
    return st;
}

eg_tfrecord_writer *eg_tfrecord_writer_new_with(const char *path, const eg_tfrecord_writer_options *options)
{
    eg_tfrecord_writer_options o;
    eg__options(&o, sizeof o, options);
    if (!path) {
        return eg__null_argument(me, "path"), NULL;
    }
    eg_tfrecord_writer *w = NULL;
    size_t length = strlen(path) + 1;
    if (check_compression(me, o.compression)) {
        return NULL;
    }
    if (!(w = eg__handle_new(sizeof *w))) {
        return eg__no_memory(me, (int64_t)sizeof *w), NULL;
    }
    w->file.fd = -1;
    w->path = eg__malloc(length);
    w->status = w->path ? EG_OK : eg__no_memory(me, (int64_t)length);
    if (w->path) {
        memcpy(w->path, path, length);
    }
    if (!w->status && o.compression > EG_COMPRESSION_NONE) {
        w->status = start_packing(w, o.compression);
    }
    if (!w->status) {
        w->status = eg__target_open(&w->file, me, w->path);
    }
    if (w->status) {
        eg_tfrecord_writer_free(w);
        return NULL;
    }
    return w;
}

static void put(uint8_t *p, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        p[i] = (uint8_t)(v >> (8 * i));
    }
}

static eg_status refuse_broken(const eg_tfrecord_writer *w, const char *op)
{
    return eg__fail(EG_ESTATE, op, "\"%.140s\" is given up: a write failed", w->path);
}

eg_status eg_tfrecord_write(eg_tfrecord_writer *w, const void *data, size_t bytes)
{
    uint8_t head[HEAD], crc[4];
    if (!w || (!data && bytes)) {
        return eg__null_argument("eg_tfrecord_write", w ? "data" : "w");
    }
    if (bytes > INT32_MAX) {
        return eg__fail(EG_EINVAL, "eg_tfrecord_write", "a record of %zu bytes, most are 2^31 - 1", bytes);
    }
    if (w->status) {
        return refuse_broken(w, "eg_tfrecord_write");
    }
    put(head, bytes, 8);
    put(head + 8, eg__crc32c_mask(eg__crc32c(0, head, 8)), 4);
    put(crc, eg__crc32c_mask(eg__crc32c(0, data, bytes)), 4);
    if (!eg__bytes_add(&w->buffer, head, HEAD) || !eg__bytes_add(&w->buffer, data, (int64_t)bytes) ||
        !eg__bytes_add(&w->buffer, crc, 4)) {
        return w->status = eg__no_memory("eg_tfrecord_write", (int64_t)bytes);
    }
    return w->buffer.n >= (int64_t)sizeof w->out ? drain(w, Z_NO_FLUSH) : EG_OK;
}

eg_status eg_tfrecord_writer_close(eg_tfrecord_writer *w)
{
    if (!w) {
        return eg__null_argument(me, "w");
    }
    if (!eg__handle_ends(w, me)) {
        return eg__why();
    }
    eg_status st = w->status ? refuse_broken(w, me) : drain(w, Z_FINISH);
    return end_writing(w, st);
}

void eg_tfrecord_writer_free(eg_tfrecord_writer *w)
{
    if (eg__handle_ends(w, me)) {
        end_writing(w, w->status ? w->status : EG_ESTATE);
    }
}
