/* palette.h - at most 256 colours for a picture. */
#ifndef DRAW_PALETTE_H
#define DRAW_PALETTE_H

#include "canvas.h"

typedef struct palette {
    rgb colour[256];
    int count;
} palette;

/* Chooses colours for a picture of width x height pixels of r, g, b and writes the number of each
 * pixel's to `index`. Exact if there are no more than 256 colours; else what a pixel is off by is
 * spread over its neighbours, so that shades stay smooth. False: out of memory. */
bool palette_make(palette *p, const uint8_t *pixels, int width, int height, uint8_t *index);

#endif
