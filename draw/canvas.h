/* canvas.h - a picture of 8-bit RGB pixels to draw on.
 *
 * x grows to the right, y downwards, both from 0 at the outer edge of the top left pixel, whose
 * centre is therefore at (0.5, 0.5). Whatever falls outside is cut off. */
#ifndef DRAW_CANVAS_H
#define DRAW_CANVAS_H

#include <stdint.h>

#include "font.h"

typedef struct rgb {
    uint8_t r, g, b;
} rgb;

typedef struct canvas {
    int width, height;
    uint8_t *pixels; /* height rows of width pixels of r, g, b */
    uint8_t *ink;    /* width * height, all 0 between calls: coverage of the line being drawn */
} canvas;

enum { CANVAS_SIDE_MOST = 32768 };

/* A canvas filled with one colour; sides from 1 to CANVAS_SIDE_MOST. Free with canvas_free. */
canvas *canvas_new(int width, int height, rgb paper);
void canvas_free(canvas *c);

/* Colours everything, or a rectangle, or a frame that lies around the outside of a rectangle. */
void canvas_fill(canvas *c, rgb colour);
void canvas_rectangle(canvas *c, int x, int y, int width, int height, rgb colour);
void canvas_frame(canvas *c, int x, int y, int width, int height, int thickness, rgb colour);

/* Mixes a rectangle with a colour: opacity 0 leaves it, 1 covers it. */
void canvas_tint(canvas *c, int x, int y, int width, int height, rgb colour, double opacity);

/* Antialiased strokes with round ends, `thickness` pixels wide (at most 64). A polyline is drawn as
 * one shape, so its joints are no darker than the rest. Points that are not finite interrupt it; a
 * point alone between two such is drawn as a dot. */
void canvas_line(canvas *c, double x0, double y0, double x1, double y1, double thickness, rgb colour);
void canvas_polyline(canvas *c, const double *xs, const double *ys, int count, double thickness, rgb colour,
                     double opacity);

typedef enum canvas_align { CANVAS_LEFT, CANVAS_CENTRE, CANVAS_RIGHT } canvas_align;

/* Draws a line of UTF-8, with y at its base line and x at its left end, middle or right end.
 * A NULL font draws nothing: a picture without words is better than none. */
void canvas_text(canvas *c, const font *f, double size, double x, double y, canvas_align align, rgb colour,
                 const char *text);

/* The same turned to the left: the line runs upwards, its base line at x, its lower end, middle or
 * upper end at y. */
void canvas_text_up(canvas *c, const font *f, double size, double x, double y, canvas_align align, rgb colour,
                    const char *text);

/* Copies an image of height x width x channels bytes (1: gray, 3: RGB), each of its pixels `scale`
 * pixels wide and high, its top left corner at (x, y). */
void canvas_image(canvas *c, int x, int y, const uint8_t *pixels, int width, int height, int channels, int scale);

#endif
