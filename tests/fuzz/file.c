/* file.c - bytes as a file, for targets whose reader takes a path. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

static char path[64];

static void remove_file(void)
{
    unlink(path);
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (fd < 0) {
        /* In memory where there is such a folder: a disk may have others to serve. */
        snprintf(path, sizeof path, "/dev/shm/egret-fuzz-XXXXXX");
        if ((fd = mkstemp(path)) < 0) {
            snprintf(path, sizeof path, "/tmp/egret-fuzz-XXXXXX");
            fd = mkstemp(path);
        }
        if (fd < 0 || atexit(remove_file)) {
            abort();
        }
    }
    if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size) {
        abort();
    }
    return path;
}

void fuzz_expect(int ok)
{
    const eg_error *e = eg_last_error();
    if (!ok && (e->code == EG_OK || !e->message[0])) {
        abort();
    }
}
