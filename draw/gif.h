/* gif.h - pictures one after the other, as an animated GIF that repeats.
 *
 *     gif *film = gif_new("progress.gif", 280, 280, 0.25);
 *     for (...) {
 *         gif_add(film, pixels, 1);
 *     }
 *     gif_close(film, true);
 *
 * Each frame has at most 256 colours: gray pictures and those with few colours are exact; of others
 * the colours are the means of 256 boxes, made by cutting again and again the box whose colours vary
 * most, and mixed by dots. */
#ifndef DRAW_GIF_H
#define DRAW_GIF_H

#include <stdbool.h>
#include <stdint.h>

#include <egret/error.h>

typedef struct gif gif;

/* Begins a film of frames of this size, each shown for so many seconds (in steps of 0.01). */
gif *gif_new(const char *path, int width, int height, double seconds);

/* Adds a frame of height x width x channels bytes, 1 (gray) or 3 (RGB). After a failure only
 * gif_close is left. */
eg_status gif_add(gif *g, const uint8_t *pixels, int channels);

/* Puts the file into its place, if it is to be written and nothing failed, and frees. Returns the first failure. */
eg_status gif_close(gif *g, bool write);

#endif
