/* write_png.c - see write_png.h. */
#define _POSIX_C_SOURCE 200809L
#include "write_png.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <png.h>

/* "a new file": fails rather than follow a link or overwrite what somebody else put there. */
static FILE *create(const char *path)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (descriptor >= 0 && !file) {
        close(descriptor);
        unlink(path);
    }
    return file;
}

static bool encode(const canvas *c, FILE *file, problem *why)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)c->width,
                       .height = (png_uint_32)c->height,
                       .format = PNG_FORMAT_RGB};
    errno = 0;
    if (png_image_write_to_stdio(&image, file, 0, c->pixels, 3 * c->width, NULL)) {
        return true;
    }
    problem_say(why, "%s", errno ? strerror(errno) : image.message);
    png_image_free(&image);
    return false;
}

/* Writes, flushes and closes a new file; the reason alone on failure. */
static bool write_new_file(const canvas *c, const char *path, problem *why)
{
    FILE *file = create(path);
    if (!file) {
        return problem_say(why, "%s", strerror(errno));
    }
    bool written = encode(c, file, why);
    if (written && (fflush(file) != 0 || fsync(fileno(file)) != 0)) {
        written = problem_say(why, "%s", strerror(errno));
    }
    if (fclose(file) != 0 && written) {
        written = problem_say(why, "%s", strerror(errno));
    }
    if (!written) {
        unlink(path);
    }
    return written;
}

bool write_png(const canvas *c, const char *path, problem *why)
{
    problem reason = {""};
    size_t size = strlen(path) + 32;
    char *beside = malloc(size);
    if (!beside) {
        return problem_say(why, "cannot write %s: out of memory", path);
    }
    snprintf(beside, size, "%s.%ld.tmp", path, (long)getpid());
    bool written = write_new_file(c, beside, &reason);
    if (written && rename(beside, path) != 0) {
        written = problem_say(&reason, "%s", strerror(errno));
        unlink(beside);
    }
    free(beside);
    return written || problem_say(why, "cannot write %s: %s", path, reason.text);
}
