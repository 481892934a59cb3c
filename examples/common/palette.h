/* palette.h - at most 256 colours for a picture. */
#ifndef EXAMPLES_PALETTE_H
#define EXAMPLES_PALETTE_H

#include "canvas.h"

typedef struct palette {
    rgb colour[256];
    int count;
} palette;

/* Chooses colours for `count` pixels of r, g, b and writes the number of each pixel's to `index`. Exact if
 * there are no more than 256 colours. False: out of memory. */
bool palette_make(palette *p, const uint8_t *pixels, int64_t count, uint8_t *index);

#endif
