/* plot.h - curves on paper. */
#ifndef DRAW_PLOT_H
#define DRAW_PLOT_H

#include <egret/error.h>

#include "canvas.h"
#include "ticks.h"

typedef struct plot_series {
    const char *name; /* in the legend; NULL: not there */
    const double *x;  /* NULL: 1, 2, 3, ... */
    const double *y;  /* what is not finite, or not positive on a log axis, leaves a gap */
    int count;
    double smooth; /* from 0, not at all, towards 1: a moving average before the pale values */
} plot_series;

enum { PLOT_MOST_SERIES = 8 }; /* as many as there are colours to tell apart */

typedef struct plot {
    const char *title, *x_label, *y_label; /* each may be NULL */
    const plot_series *series;
    int count;
    bool log_x, log_y;
    int width, height; /* 0: 1200 x 720; letters and lines grow with the height */
    bool equal;        /* a unit is as long on both axes, neither of which is a log axis */
} plot;

/* Draws the curves; free the canvas with canvas_free. NULL if there is not one point to
 * draw. The font may be NULL: then there are no words. */
canvas *plot_draw(const plot *p, const font *f);

/* ---- for charts of other kinds ---- */

extern const rgb plot_colours[PLOT_MOST_SERIES];

double plot_x(const plot_series *s, int i);

/* Whether a point can be placed on the axes. */
bool plot_shows(const plot *p, double x, double y);

/* The axes that hold all points, with some air above and below, still without ticks. Fails if
 * there is not one point to draw, or are too many curves. */
eg_status plot_find_axes(const plot *p, axis *x, axis *y);

/* Fills in the moving average of a curve's values, of those that can be placed; NAN for the others. As many are
 * filled in as the curve has points; `sums` is scratch space, as much again. */
void plot_smooth(const plot *p, const plot_series *line, double *smoothed, double *sums);

#endif
