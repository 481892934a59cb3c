/* file.c - opening, reading and replacing files, with the system's reason in words. */
#define _POSIX_C_SOURCE   200809L
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <egret/io.h>
#include <egret/ops.h>

#include "lib/io/file.h"

enum { PIECE = 1 << 30 }; /* of one read or write */

eg_status eg__system_says(const char *op, const char *doing, const char *path, int error)
{
    char words[80] = "";
    if (strerror_r(error, words, sizeof words)) {
        snprintf(words, sizeof words, "error %d", error);
    }
    return eg__fail(EG_EIO, op, "cannot %s \"%.140s\": %s", doing, path, words);
}

bool eg__file_exists(const char *path)
{
    return !access(path, F_OK);
}

/* ---- reading --------------------------------------------------------------------------------- */

eg_status eg__source_open(eg__source *s, const char *op, const char *path)
{
    struct stat about;
    *s = (eg__source){.op = op, .name = path, .fd = -1};
    if (!path) {
        return eg__null_argument(op, "path");
    }
    /* Without O_NONBLOCK a FIFO would wait for its writer. */
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->fd < 0 || fstat(s->fd, &about)) {
        eg_status st = eg__system_says(op, "open", path, errno);
        eg__source_close(s);
        return st;
    }
    if (!S_ISREG(about.st_mode)) {
        eg__source_close(s);
        return eg__fail(EG_EIO, op, "\"%.140s\" is not a regular file", path);
    }
    s->size = about.st_size;
    return EG_OK;
}

eg_status eg__source_memory(eg__source *s, const char *op, const void *data, size_t bytes)
{
    *s = (eg__source){.op = op, .name = "memory", .data = data ? data : "", .fd = -1, .size = (int64_t)bytes};
    if (bytes > INT64_MAX || (!data && bytes)) {
        return data ? eg__fail(EG_EINVAL, op, "bytes is %zu", bytes) : eg__null_argument(op, "data");
    }
    return EG_OK;
}

void eg__source_close(eg__source *s)
{
    if (s->fd >= 0) {
        close(s->fd);
        s->fd = -1;
    }
}

eg_status eg__source_read(const eg__source *s, int64_t at, void *to, int64_t bytes)
{
    if (bytes > s->size - at) {
        return eg__source_bad(s, s->size, "the file ends where %lld more bytes should be",
                              (long long)(bytes - (s->size - at)));
    }
    if (s->data) {
        memcpy(to, s->data + at, (size_t)bytes);
        return EG_OK;
    }
    for (char *p = to; bytes > 0;) {
        ssize_t n = pread(s->fd, p, (size_t)eg__min(bytes, PIECE), (off_t)at);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n ? eg__system_says(s->op, "read", s->name, errno)
                     : eg__fail(EG_EIO, s->op, "\"%.140s\" became shorter while it was read", s->name);
        }
        p += n;
        at += n;
        bytes -= n;
    }
    return EG_OK;
}

eg_status eg__source_bad(const eg__source *s, int64_t at, const char *format, ...)
{
    char words[160];
    size_t n = strlen(s->name);
    va_list ap;
    va_start(ap, format);
    vsnprintf(words, sizeof words, format, ap);
    va_end(ap);
    return eg__fail(EG_EFORMAT, s->op, "%s%s, byte %lld: %s", n > 60 ? "..." : "", s->name + (n > 60 ? n - 57 : 0),
                    (long long)at, words);
}

/* ---- unpacking ------------------------------------------------------------------------------- */

enum { UNPACKED = 1 << 28, TIMES = 32 };

static _Atomic int64_t unpack_limit; /* 0: none was asked for */

eg_status eg_unpack_limit(int64_t bytes)
{
    if (bytes < 0) {
        return eg__fail(EG_EINVAL, "eg_unpack_limit", "bytes is %lld, must be 0 or more", (long long)bytes);
    }
    atomic_store_explicit(&unpack_limit, bytes, memory_order_relaxed);
    return EG_OK;
}

int64_t eg__unpack_most(int64_t packed)
{
    int64_t asked = atomic_load_explicit(&unpack_limit, memory_order_relaxed);
    return asked ? asked : eg__max(UNPACKED, packed < INT64_MAX / TIMES ? packed * TIMES : INT64_MAX);
}

eg_status eg__source_unpacks(const eg__source *s, int64_t at, const char *what, int64_t bytes)
{
    int64_t most = eg__unpack_most(s->size);
    return bytes <= most ? EG_OK
                         : eg__source_bad(s, at,
                                          "%.40s %lld bytes or more in a file of %lld, at most %lld are "
                                          "unpacked (eg_unpack_limit)",
                                          what, (long long)bytes, (long long)s->size, (long long)most);
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool replaceable(const char *path)
{
    struct stat about;
    return stat(path, &about) || S_ISREG(about.st_mode);
}

eg_status eg__target_open(eg__target *t, const char *op, const char *path)
{
    static _Atomic unsigned serial;
    *t = (eg__target){.op = op, .path = path, .fd = -1};
    if (!path) {
        return eg__null_argument(op, "path");
    }
    if (!*path) {
        return eg__fail(EG_EINVAL, op, "the path is empty");
    }
    if (!replaceable(path)) {
        return eg__fail(EG_EIO, op, "\"%.140s\" is not a regular file", path);
    }
    size_t room = strlen(path) + 40;
    t->temporary = eg__malloc(room);
    if (!t->temporary) {
        return eg__no_memory(op, (int64_t)room);
    }
    for (int attempt = 0; attempt < 100; attempt++) {
        snprintf(t->temporary, room, "%s.tmp-%ld-%u", path, (long)getpid(), atomic_fetch_add(&serial, 1));
        t->fd = open(t->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (t->fd >= 0 || errno != EEXIST) {
            break;
        }
    }
    if (t->fd >= 0) {
        return EG_OK;
    }
    eg_status st = eg__system_says(op, "create", t->temporary, errno);
    free(t->temporary);
    t->temporary = NULL;
    return st;
}

eg_status eg__target_write(eg__target *t, const void *data, size_t bytes)
{
    for (const char *p = data; bytes > 0;) {
        ssize_t n = write(t->fd, p, bytes < PIECE ? bytes : PIECE);
        if (n < 0 && errno != EINTR) {
            return eg__system_says(t->op, "write", t->temporary, errno);
        }
        p += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return EG_OK;
}

/* The rename itself is only on the disk once its folder is. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = strdup(slash ? path : ".");
    if (!folder) {
        return;
    }
    if (slash) {
        folder[slash > path ? slash - path : 1] = 0;
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd); /* some file systems cannot; the data are safe under one name or the other */
        close(fd);
    }
    free(folder);
}

eg_status eg__target_close(eg__target *t, eg_status st)
{
    if (t->fd < 0) {
        return st;
    }
    if (!st && fsync(t->fd)) {
        st = eg__system_says(t->op, "sync", t->temporary, errno);
    }
    if (close(t->fd) && !st) {
        st = eg__system_says(t->op, "close", t->temporary, errno);
    }
    if (!st && rename(t->temporary, t->path)) {
        st = eg__system_says(t->op, "replace", t->path, errno);
    }
    if (st) {
        unlink(t->temporary);
    } else {
        sync_folder(t->path);
    }
    free(t->temporary);
    *t = (eg__target){.fd = -1};
    return st;
}

eg_status eg__file_write(const char *op, const char *path, const void *data, size_t bytes)
{
    eg__target file;
    eg_status st = eg__target_open(&file, op, path);
    return st ? st : eg__target_close(&file, eg__target_write(&file, data, bytes));
}

eg_status eg_file_write(const char *path, const void *data, size_t bytes)
{
    static const char op[] = "eg_file_write";
    if (!data && bytes) {
        return eg__null_argument(op, "data");
    }
    if (bytes > PTRDIFF_MAX) {
        return eg__fail(EG_EINVAL, op, "bytes is %zu, more than memory has in one piece", bytes);
    }
    return eg__file_write(op, path, data, bytes);
}

eg_tensor *eg__file_order(const eg_tensor *x)
{
    eg_tensor *dense = eg_contiguous(eg_to(eg_detach((eg_tensor *)x), eg_cpu()));
    if (dense && eg__big_endian() && eg__esize(dense) > 1) {
        dense = eg_copy(dense);
        if (dense) {
            eg__swap_bytes(eg__ptr(dense), dense->n, eg__esize(dense));
        }
    }
    return dense;
}

eg_status eg__target_write_tensor(eg__target *t, const eg_tensor *x)
{
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? EG_OK : eg__why();
    eg_tensor *dense = st ? NULL : eg__file_order(x);
    st = st ? st : dense ? eg__target_write(t, eg__ptr(dense), (size_t)dense->n * eg__esize(dense)) : eg__why();
    eg_scope_pop(s, NULL);
    return st;
}

/* ---- bytes and characters -------------------------------------------------------------------- */

void eg__swap_bytes(void *data, int64_t n, size_t element)
{
    char *p = data;
    for (int64_t i = 0; i < n && element > 1; i++, p += element) {
        for (size_t a = 0, b = element - 1; a < b; a++, b--) {
            char c = p[a];
            p[a] = p[b];
            p[b] = c;
        }
    }
}

bool eg__big_endian(void)
{
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 0;
}

int eg__utf8_length(const char *text, int64_t left)
{
    const uint8_t *s = (const uint8_t *)text;
    if (left < 1 || s[0] < 0x80) {
        return left > 0;
    }
    int n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n > left) {
        return 0;
    }
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    /* Overlong forms, surrogates, past U+10FFFF. */
    bool bad = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
               (s[0] == 0xf4 && s[1] > 0x8f);
    return bad ? 0 : n;
}

bool eg__utf8(const char *s, int64_t n)
{
    int bytes = 1;
    while (n > 0 && bytes) {
        bytes = eg__utf8_length(s, n);
        s += bytes;
        n -= bytes;
    }
    return n == 0;
}

eg_tensor *eg__file_bytes(const char *op, const char *path)
{
    eg__source s;
    if (eg__source_open(&s, op, path)) {
        return NULL;
    }
    eg_tensor *t = eg__empty_on(0, EG_SHAPE(s.size), EG_U8);
    if (t && eg__source_read(&s, 0, eg__ptr(t), s.size)) {
        t = NULL;
    }
    eg__source_close(&s);
    return t;
}
