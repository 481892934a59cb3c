/* stream.h - what is written to stdout or stderr, by the process or its children, in a pipe. */
#ifndef EGRET_LUA_KERNEL_STREAM_H
#define EGRET_LUA_KERNEL_STREAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { STREAM_BYTES = 65536 };

typedef struct stream {
    const char *name; /* as messages have it */
    int fd, saved;    /* the descriptor led here, and a copy of what it was */
    int pipe;         /* where to read */
    size_t used;
    char bytes[STREAM_BYTES];
} stream;

/* From now on what is written to the descriptor comes here. */
bool stream_open(stream *s, const char *name, int fd);
/* Leads the descriptor back. Fit for one that was never opened but has only zeros. */
void stream_close(stream *s);

/* How many bytes wait in the pipe. */
size_t stream_waiting(const stream *s);

/* Reads what waits, as far as there is room; how much it was. Never waits itself. */
size_t stream_read(stream *s);

/* Everything read as content of a message, NULL for nothing; a character that is not yet complete
 * stays, unless this is the end. */
json_t *stream_take(stream *s, bool end);

#endif
