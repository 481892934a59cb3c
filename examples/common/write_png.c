/* write_png.c - see write_png.h. */
#include "write_png.h"

#include <errno.h>
#include <string.h>

#include <png.h>

#include "whole_file.h"

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

bool write_png(const canvas *c, const char *path, problem *why)
{
    problem reason = {""};
    whole_file file;
    if (!whole_file_open(&file, path, why)) {
        return false;
    }
    if (encode(c, file.stream, &reason)) {
        return whole_file_close(&file, true, why);
    }
    whole_file_close(&file, false, NULL);
    return problem_say(why, "cannot write %s: %s", path, reason.text);
}
