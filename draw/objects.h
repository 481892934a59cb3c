/* objects.h - a photo with what was found on it. */
#ifndef DRAW_OBJECTS_H
#define DRAW_OBJECTS_H

#include <stdint.h>

#include "canvas.h"

typedef struct object_mark {
    double box[4];       /* x and y of the left upper corner, of the right lower one, in pixels of the photo */
    int64_t label;       /* tells its colour; below 0: gray */
    const uint8_t *mask; /* of the photo's size, laid over it; NULL: none */
    char words[96];      /* over the box; empty: none */
    bool dashed;
} object_mark;

typedef struct object_sheet {
    const uint8_t *pixels; /* height x width x channels bytes */
    int width, height, channels, scale;
    const object_mark *marks; /* the later ones above the others */
    int count;
} object_sheet;

/* Draws the photo and the marks; free the canvas with canvas_free. The font may be NULL: then there are no words. */
canvas *objects_draw(const object_sheet *s, const font *f);

#endif
