/* objects.h - a photo with what was found on it. */
#ifndef DRAW_OBJECTS_H
#define DRAW_OBJECTS_H

#include <stdint.h>

#include "canvas.h"

typedef struct object_mark {
    double box[4];        /* x and y of the left upper corner, of the right lower one, in pixels of the photo */
    int64_t label;        /* tells its colour; below 0: gray */
    const uint8_t *mask;  /* of the photo's size, laid over it; NULL: none */
    char words[96];       /* over the box; empty: none */
    bool dashed, boxed;   /* boxed: there is a box */
    const double *points; /* x, y and whether it is there, of each of the sheet's points; NULL: none */
} object_mark;

typedef struct object_sheet {
    const uint8_t *pixels; /* height x width x channels bytes */
    int width, height, channels, scale;
    const object_mark *marks; /* the later ones above the others */
    int count;
    int points;           /* of each mark */
    const int32_t *links; /* pairs of points, between which there is a line */
    int link_count;
} object_sheet;

/* Draws the photo and the marks; free the canvas with canvas_free. The font may be NULL: then there are no words. */
canvas *objects_draw(const object_sheet *s, const font *f);

#endif
