/* stream.h - files read from front to back, unpacked on the way; and lists of files. */
#ifndef EGRET_STREAM_H
#define EGRET_STREAM_H

#include <egret/data/records.h>

#include "data/readers/bytes.h"
#include "lib/io/file.h"

/* Bytes of a file as they are, or of what is packed in it. */
typedef struct eg__stream {
    eg__source source;
    void *unpacker; /* NULL: as they are */
    uint8_t *packed, *ready;
    int64_t raw;             /* offset in the source after the bytes read so far */
    int64_t begin, end;      /* of `ready` not handed out yet */
    int64_t offset;          /* bytes handed out */
    bool inside;             /* of a packed member: its end must come */
    bool whole;              /* all of it is kept: eg_unpack_limit is for the file */
    bool any_end;            /* a lone CR ends a line too */
    uint8_t *memory;         /* packed and ready */
    const char *end_of_line; /* of the latest line: LF, CR LF, CR, or "" where the file ends */
} eg__stream;

/* EG_COMPRESSION_AUTO goes by the first two bytes; zlib only where it is asked for. */
eg_status eg__stream_open(eg__stream *s, const char *op, const char *path, eg_compression c);
void eg__stream_close(eg__stream *s); /* a zeroed one is fine */
/* Up to n bytes; *got < n only at the end. `to` NULL: they are skipped. */
eg_status eg__stream_read(eg__stream *s, void *to, int64_t n, int64_t *got);
/* The next line without its end, LF or CR LF (with any_end also CR), and a 0 behind it; *more false: there was none.
 * Lines of more than `most` bytes are EG_EFORMAT, with *more true: they have been passed over. */
eg_status eg__stream_line(eg__stream *s, eg__bytes *line, int64_t most, bool *more);
/* Fails with EG_EFORMAT naming the file and the place, in unpacked bytes. */
eg_status eg__stream_bad(const eg__stream *s, int64_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Names of files, sorted. */
typedef struct eg__names {
    char **name;
    uint32_t n, capacity;
} eg__names;

bool eg__names_add(eg__names *names, const char *name, size_t length);
void eg__names_sort(eg__names *names);
void eg__names_free(eg__names *names);
/* Files that match a pattern of glob(7), sorted by their bytes; EG_EIO if there are none. */
eg_status eg__names_match(eg__names *names, const char *op, const char *pattern);

#endif
