/* write_png.h - a canvas as a PNG file. */
#ifndef EXAMPLES_WRITE_PNG_H
#define EXAMPLES_WRITE_PNG_H

#include <egret/error.h>

#include "draw/canvas.h"

/* Writes the picture to `path`, whole or not at all. Given NULL, for what could not be drawn, it returns what is on
 * record. */
eg_status write_png(const canvas *c, const char *path);

#endif
