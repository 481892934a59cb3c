/* grid.h - many small images on one sheet, each with its caption. */
#ifndef DRAW_GRID_H
#define DRAW_GRID_H

#include "canvas.h"

typedef struct grid_cell {
    const uint8_t *pixels; /* height x width x channels bytes */
    const char *caption;   /* one line under the image; NULL for none */
    bool wrong;            /* framed and captioned in red */
} grid_cell;

typedef struct grid {
    const char *title; /* NULL for none */
    const grid_cell *cells;
    int count, columns;          /* columns 0: about as many as rows */
    int width, height, channels; /* of every image; 1 (gray) or 3 (RGB) channels */
    int scale;                   /* screen pixels per image pixel; 0: images about 84 pixels wide */
} grid;

/* Draws the sheet; free the canvas with canvas_free. The font may be NULL: then there are no words.
 */
canvas *grid_draw(const grid *g, const font *f);

#endif
