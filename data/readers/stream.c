/* stream.c - files read from front to back, unpacked on the way. */
#define _POSIX_C_SOURCE 200809L
#include "data/readers/stream.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef EG_HAVE_ZLIB
#include "lib/io/zlib.h"

#define FUNCTIONS(X) \
    X(inflate)       \
    X(inflateEnd)    \
    X(inflateInit2_) \
    X(inflateReset)
EG__ZLIB(lib, FUNCTIONS);
#endif

enum { PIECE = 1 << 16 };

/* ---- opening -------------------------------------------------------------------------------- */

#ifdef EG_HAVE_ZLIB
static eg_status start_unpacking(eg__stream *s, eg_compression c)
{
    eg_status st = eg__library_open(&lib_library, s->source.op);
    z_stream *z = st ? NULL : eg__malloc(sizeof *z);
    if (st) {
        return st;
    }
    if (!z) {
        return eg__no_memory(s->source.op, (int64_t)sizeof *z);
    }
    memset(z, 0, sizeof *z);
    if (lib.inflateInit2_(z, MAX_WBITS + (c == EG_COMPRESSION_GZIP ? 16 : 0), ZLIB_VERSION, sizeof *z) != Z_OK) {
        free(z);
        return eg__no_memory(s->source.op, 0);
    }
    s->unpacker = z;
    return EG_OK;
}
#else
static eg_status start_unpacking(eg__stream *s, eg_compression c)
{
    (void)c;
    return eg__fail(EG_ENOKERNEL, s->source.op, "\"%.140s\" is packed and this build has no zlib", s->source.name);
}
#endif

static eg_status begin(eg__stream *s, eg_compression c)
{
    uint8_t magic[2];
    if (c == EG_COMPRESSION_AUTO) {
        c = EG_COMPRESSION_NONE;
        if (s->source.size >= 2) {
            eg_status st = eg__source_read(&s->source, 0, magic, 2);
            if (st) {
                return st;
            }
            c = magic[0] == 0x1f && magic[1] == 0x8b ? EG_COMPRESSION_GZIP : c;
        }
    }
    s->memory = eg__malloc(2 * PIECE);
    if (!s->memory) {
        return eg__no_memory(s->source.op, 2 * PIECE);
    }
    s->packed = s->memory;
    s->ready = s->memory + PIECE;
    return c == EG_COMPRESSION_NONE ? EG_OK : start_unpacking(s, c);
}

eg_status eg__stream_open(eg__stream *s, const char *op, const char *path, eg_compression c)
{
    *s = (eg__stream){0};
    eg_status st = eg__source_open(&s->source, op, path);
    if (!st && (st = begin(s, c))) {
        eg__stream_close(s);
    }
    return st;
}

void eg__stream_close(eg__stream *s)
{
    if (!s->source.op) {
        return;
    }
    eg__source_close(&s->source);
#ifdef EG_HAVE_ZLIB
    if (s->unpacker) {
        lib.inflateEnd(s->unpacker);
    }
#endif
    free(s->unpacker);
    free(s->memory);
    *s = (eg__stream){0};
}

eg_status eg__stream_bad(const eg__stream *s, int64_t at, const char *format, ...)
{
    char words[160];
    va_list ap;
    va_start(ap, format);
    vsnprintf(words, sizeof words, format, ap);
    va_end(ap);
    return eg__source_bad(&s->source, at, "%s", words);
}

/* ---- reading -------------------------------------------------------------------------------- */

static eg_status read_raw(eg__stream *s, uint8_t *to, int64_t *n)
{
    *n = eg__min(PIECE, s->source.size - s->raw);
    eg_status st = eg__source_read(&s->source, s->raw, to, *n);
    s->raw += st ? 0 : *n;
    return st;
}

#ifdef EG_HAVE_ZLIB
/* Some unpacked bytes into `ready`; none at the end. Members may follow each other. */
static eg_status unpack(eg__stream *s)
{
    z_stream *z = s->unpacker;
    z->next_out = s->ready;
    z->avail_out = PIECE;
    while (z->avail_out == PIECE) {
        if (!z->avail_in) {
            int64_t n;
            eg_status st = read_raw(s, s->packed, &n);
            if (st) {
                return st;
            }
            if (!n && s->inside) {
                return eg__source_bad(&s->source, s->raw, "the packed data end too early");
            }
            if (!n) {
                break;
            }
            z->next_in = s->packed;
            z->avail_in = (unsigned)n;
        }
        s->inside = true;
        int r = lib.inflate(z, Z_NO_FLUSH);
        if (r == Z_STREAM_END) {
            s->inside = false;
            r = lib.inflateReset(z);
        }
        if (r != Z_OK && r != Z_BUF_ERROR) {
            return r == Z_MEM_ERROR
                       ? eg__no_memory(s->source.op, 0)
                       : eg__source_bad(&s->source, s->raw - z->avail_in, "cannot unpack: %s", z->msg ? z->msg : "?");
        }
    }
    s->end = PIECE - z->avail_out;
    return s->whole ? eg__source_unpacks(&s->source, s->raw - z->avail_in, "the text has", s->offset + s->end) : EG_OK;
}
#else
static eg_status unpack(eg__stream *s)
{
    s->end = 0;
    return EG_OK;
}
#endif

/* More of `ready`, all of which has been handed out. */
static eg_status refill(eg__stream *s)
{
    s->begin = s->end = 0;
    return s->unpacker ? unpack(s) : read_raw(s, s->ready, &s->end);
}

/* What is only skipped need not be read, and large pieces go where they belong. */
static eg_status read_past_buffer(eg__stream *s, char *to, int64_t n, int64_t *got)
{
    int64_t k = s->unpacker ? 0 : eg__min(n, s->source.size - s->raw);
    *got = !to || k >= PIECE ? k : 0;
    eg_status st = to && *got ? eg__source_read(&s->source, s->raw, to, *got) : EG_OK;
    s->raw += st ? 0 : *got;
    return st;
}

eg_status eg__stream_read(eg__stream *s, void *to, int64_t n, int64_t *got)
{
    *got = 0;
    while (*got < n) {
        char *p = to ? (char *)to + *got : NULL;
        int64_t k = eg__min(n - *got, s->end - s->begin);
        if (k) {
            if (p) {
                memcpy(p, s->ready + s->begin, (size_t)k);
            }
            s->begin += k;
        } else {
            eg_status st = read_past_buffer(s, p, n - *got, &k);
            if (st || (!k && (st = refill(s)))) {
                return st;
            }
            if (!k && s->begin == s->end) {
                break;
            }
        }
        s->offset += k;
        *got += k;
    }
    return EG_OK;
}

/* Bytes of `from` before a line's end, all n of them where there is none. */
static int64_t before_end(const eg__stream *s, const uint8_t *from, int64_t n)
{
    const uint8_t *end = memchr(from, '\n', (size_t)n);
    n = end ? end - from : n;
    end = s->any_end ? memchr(from, '\r', (size_t)n) : NULL;
    return end ? end - from : n;
}

/* Makes sure of a next byte; *more false: there is none. */
static eg_status look_ahead(eg__stream *s, bool *more)
{
    eg_status st = s->begin == s->end ? refill(s) : EG_OK;
    *more = !st && s->begin < s->end;
    return st;
}

/* Passes over the end of a line, which is the next byte. */
static eg_status pass_end(eg__stream *s)
{
    bool more = false, cr = s->ready[s->begin] == '\r';
    s->begin++;
    s->offset++;
    eg_status st = cr ? look_ahead(s, &more) : EG_OK;
    bool both = more && s->ready[s->begin] == '\n';
    s->begin += both;
    s->offset += both;
    s->end_of_line = !cr ? "\n" : both ? "\r\n" : "\r";
    return st;
}

eg_status eg__stream_line(eg__stream *s, eg__bytes *line, int64_t most, bool *more)
{
    bool ended = false, fits = true, there;
    int64_t at = s->offset;
    eg_status st = EG_OK;
    line->n = 0;
    *more = false;
    s->end_of_line = "";
    while (!ended && !(st = look_ahead(s, &there)) && there) {
        const uint8_t *from = s->ready + s->begin;
        int64_t k = before_end(s, from, s->end - s->begin);
        fits = fits && line->n + k <= most;
        if (fits && !eg__bytes_room(line, k + 1)) {
            return eg__no_memory(s->source.op, line->n + k);
        }
        if (fits) {
            eg__bytes_add(line, from, k);
        }
        s->begin += k;
        s->offset += k;
        *more = ended = s->begin < s->end;
        if (ended && (st = pass_end(s))) {
            break;
        }
    }
    if (st) {
        *more = false;
        return st;
    }
    *more = *more || line->n || !fits;
    if (!fits) {
        return eg__stream_bad(s, at, "a line has more than %lld bytes", (long long)most);
    }
    if (*more && !s->any_end && line->n && line->p[line->n - 1] == '\r') {
        line->n--;
        s->end_of_line = *s->end_of_line ? "\r\n" : "\r";
    }
    if (*more) {
        line->p[line->n] = 0;
    }
    return EG_OK;
}
