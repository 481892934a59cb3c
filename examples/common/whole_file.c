/* whole_file.c - see whole_file.h. */
#define _POSIX_C_SOURCE 200809L
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

eg_status whole_file_open(whole_file *file, const char *path)
{
    size_t size = strlen(path) + 32;
    *file = (whole_file){NULL, malloc(size), malloc(size)};
    if (!file->path || !file->beside) {
        free(file->path);
        free(file->beside);
        return eg_failf(EG_ENOMEM, "whole_file_open", "cannot write %s: out of memory", path);
    }
    snprintf(file->path, size, "%s", path);
    snprintf(file->beside, size, "%s.%ld.tmp", path, (long)getpid());
    int descriptor = open(file->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    file->stream = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (file->stream) {
        return EG_OK;
    }
    eg_failf(EG_EIO, "whole_file_open", "cannot write %s: %s", path, strerror(errno));
    if (descriptor >= 0) {
        close(descriptor);
        unlink(file->beside);
    }
    free(file->path);
    free(file->beside);
    return EG_EIO;
}

eg_status whole_file_close(whole_file *file, eg_status st)
{
    bool good = !st && fflush(file->stream) == 0 && fsync(fileno(file->stream)) == 0;
    good = fclose(file->stream) == 0 && good;
    good = good && rename(file->beside, file->path) == 0;
    if (!st && !good) {
        st = eg_failf(EG_EIO, "whole_file_close", "cannot write %s: %s", file->path, strerror(errno));
    }
    if (st) {
        unlink(file->beside);
    }
    free(file->path);
    free(file->beside);
    return st;
}
