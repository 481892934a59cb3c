/* write_png.h - a canvas as a PNG file. */
#ifndef EXAMPLES_WRITE_PNG_H
#define EXAMPLES_WRITE_PNG_H

#include "draw/canvas.h"
#include "draw/problem.h"

/* Writes the picture to `path`, whole or not at all. */
bool write_png(const canvas *c, const char *path, problem *why);

#endif
