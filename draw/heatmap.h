/* heatmap.h - a table of numbers as colours, with words along both sides: what a translator looked
 * at while it wrote. */
#ifndef DRAW_HEATMAP_H
#define DRAW_HEATMAP_H

#include "canvas.h"

typedef struct heatmap {
    const char *title;    /* NULL for none */
    const double *values; /* rows x columns; what is not finite is left white */
    int rows, columns;
    const char *const *row_words, *const *column_words; /* each may be NULL */
    double least, most; /* what the ends of the colour scale stand for; both 0: the values' own range */
} heatmap;

/* Draws the map, its colour scale beside it; free the canvas with canvas_free. The font may be NULL:
 * then there are no words. */
canvas *heatmap_draw(const heatmap *h, const font *f);

/* What the ends of its colour scale stand for, and the share of the scale, 0 to 1, at which a finite value stands. */
void heatmap_range(const heatmap *h, double *least, double *most);
double heatmap_share(double value, double least, double most);

/* The colour of a share of the scale, 0 (dark blue) to 1 (yellow), by way of green: as bright as the
 * share is large, also in gray and for the colour-blind. */
rgb heatmap_colour(double share);

#endif
