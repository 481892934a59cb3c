/* file.h - what readers read from and writers write to: whole regular files, or memory. */
#ifndef EGRET_FILE_H
#define EGRET_FILE_H

#include "lib/core/tensor.h"

/* A regular file open for reading, or memory. */
typedef struct eg__source {
    const char *op, *name; /* for words */
    const char *data;      /* memory, or NULL: the file */
    int fd;
    int64_t size;
} eg__source;

eg_status eg__source_open(eg__source *s, const char *op, const char *path);
eg_status eg__source_memory(eg__source *s, const char *op, const void *data, size_t bytes);
void eg__source_close(eg__source *s);
/* Reads exactly `bytes` from place `at`. */
eg_status eg__source_read(const eg__source *s, int64_t at, void *to, int64_t bytes);
/* Fails with EG_EFORMAT, naming the file and the place of the fault. */
eg_status eg__source_bad(const eg__source *s, int64_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* All of a file, u8 [n]; NULL: words. */
eg_tensor *eg__file_bytes(const char *op, const char *path);

/* How many bytes what is packed in `packed` bytes may become, in one piece (eg_unpack_limit). */
int64_t eg__unpack_most(int64_t packed);
/* Fails with EG_EFORMAT if `bytes` are more than that of the source; `what` becomes so many. */
eg_status eg__source_unpacks(const eg__source *s, int64_t at, const char *what, int64_t bytes);

/* A file being written beside the one it will replace. */
typedef struct eg__target {
    const char *op, *path;
    char *temporary;
    int fd;
} eg__target;

eg_status eg__target_open(eg__target *t, const char *op, const char *path);
eg_status eg__target_write(eg__target *t, const void *data, size_t bytes);
/* Syncs and renames if st is EG_OK, else removes what was written; frees in either case. Returns
 * st, or why the file could not be put in place. */
eg_status eg__target_close(eg__target *t, eg_status st);
/* All of it at once. */
eg_status eg__file_write(const char *op, const char *path, const void *data, size_t bytes);
/* x with its elements row-major and little-endian, borrowed. */
eg_tensor *eg__file_order(const eg_tensor *x);
/* Those elements. */
eg_status eg__target_write_tensor(eg__target *t, const eg_tensor *x);

/* Fails with EG_EIO: "cannot <doing> "<path>": <what the system says of errno>". */
eg_status eg__system_says(const char *op, const char *doing, const char *path, int error);
bool eg__file_exists(const char *path);

/* Reverses the bytes of each of n elements. */
void eg__swap_bytes(void *data, int64_t n, size_t element);
bool eg__big_endian(void);

/* Bytes of the UTF-8 sequence at s, at most `left`; 0 if it is none. */
int eg__utf8_length(const char *s, int64_t left);
bool eg__utf8(const char *s, int64_t n);

#endif
