/* write_png.h - a canvas as a PNG file. */
#ifndef EXAMPLES_WRITE_PNG_H
#define EXAMPLES_WRITE_PNG_H

#include "canvas.h"

/* Writes the picture to `path`. It goes to a file of another name beside it, is flushed to the disk
 * and then renamed, so whoever looks finds the old picture or the whole new one, and after a
 * failure the old one. */
bool write_png(const canvas *c, const char *path, problem *why);

#endif
