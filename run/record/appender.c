/* appender.c - see appender.h. */
#define _POSIX_C_SOURCE 200809L
#include "run/record/appender.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/io/file.h"

eg_status eg__appender_open(eg__appender *a, const char *op, char *path, int flags)
{
    struct stat about;
    *a = (eg__appender){path, -1};
    /* Without O_NONBLOCK a FIFO would wait for its reader. */
    a->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | flags, 0666);
    eg_status st = a->fd < 0 || fstat(a->fd, &about) ? eg__system_says(op, "open", path, errno) : EG_OK;
    if (!st && !S_ISREG(about.st_mode)) {
        st = eg__fail(EG_EIO, op, "\"%.140s\" is not a regular file", path);
    }
    if (st) {
        eg__appender_close(a);
    }
    return st;
}

void eg__appender_close(eg__appender *a)
{
    if (a->fd >= 0) {
        close(a->fd);
    }
    free(a->path);
    *a = (eg__appender){NULL, -1};
}

eg_status eg__appender_write(eg__appender *a, const char *op, const void *data, size_t bytes)
{
    off_t before = lseek(a->fd, 0, SEEK_END);
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(a->fd, (const char *)data + done, bytes - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            eg_status st = eg__system_says(op, "write", a->path, errno);
            /* Unless somebody else writes here too, what is left of the record goes again. */
            if (done && lseek(a->fd, 0, SEEK_END) == before + (off_t)done && ftruncate(a->fd, before)) {
                return st; /* the file ends in half a record, which readers pass over */
            }
            return st;
        }
        done += (size_t)n;
    }
    return EG_OK;
}

eg_status eg__appender_flush(eg__appender *a, const char *op)
{
    return fsync(a->fd) ? eg__system_says(op, "sync", a->path, errno) : EG_OK;
}
