/* write_png.c - see write_png.h. */
#include "write_png.h"

#include <errno.h>
#include <string.h>

#include <png.h>

#include "whole_file.h"

static eg_status encode(const canvas *c, FILE *file, const char *path)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)c->width,
                       .height = (png_uint_32)c->height,
                       .format = PNG_FORMAT_RGB};
    errno = 0;
    if (png_image_write_to_stdio(&image, file, 0, c->pixels, 3 * c->width, NULL)) {
        return EG_OK;
    }
    eg_failf(EG_EIO, "write_png", "cannot write %s: %s", path, errno ? strerror(errno) : image.message);
    png_image_free(&image);
    return EG_EIO;
}

eg_status write_png(const canvas *c, const char *path)
{
    whole_file file;
    eg_status st = whole_file_open(&file, path);
    return st ? st : whole_file_close(&file, encode(c, file.stream, path));
}
