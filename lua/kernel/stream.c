/* stream.c - see stream.h. */
#define _GNU_SOURCE
#include "stream.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "text.h"

bool stream_open(stream *s, const char *name, int fd)
{
    int ends[2];
    *s = (stream){.name = name, .fd = fd, .saved = fcntl(fd, F_DUPFD_CLOEXEC, 3)};
    if (s->saved < 0) { /* it was closed */
        s->saved = open("/dev/null", O_WRONLY | O_CLOEXEC);
    }
    if (s->saved < 0 || pipe2(ends, O_CLOEXEC) < 0) {
        return false;
    }
    s->pipe = ends[0];
    fcntl(s->pipe, F_SETFL, O_NONBLOCK);
    bool good = dup2(ends[1], fd) == fd;
    close(ends[1]);
    return good;
}

void stream_close(stream *s)
{
    if (s->name && s->saved >= 0) {
        dup2(s->saved, s->fd);
        close(s->saved);
    }
    if (s->pipe > 0) {
        close(s->pipe);
    }
    s->name = NULL;
    s->pipe = 0;
}

size_t stream_waiting(const stream *s)
{
    int n = 0;
    return ioctl(s->pipe, FIONREAD, &n) == 0 && n > 0 ? (size_t)n : 0;
}

size_t stream_read(stream *s)
{
    ssize_t n = read(s->pipe, s->bytes + s->used, STREAM_BYTES - s->used);
    s->used += n > 0 ? (size_t)n : 0;
    return n > 0 ? (size_t)n : 0;
}

json_t *stream_take(stream *s, bool end)
{
    size_t rest = end ? 0 : text_unfinished(s->bytes, s->used);
    size_t n = s->used - rest;
    if (n == 0) {
        return NULL;
    }
    json_t *content = json_pack("{s:s, s:o}", "name", s->name, "text", text_json(s->bytes, n));
    memmove(s->bytes, s->bytes + n, rest);
    s->used = rest;
    return content;
}
