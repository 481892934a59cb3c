/* drawn.h - house fronts without a download: plans with photos, both drawn from random numbers.
 *
 * Like those of the CMP facades, a plan shows walls, windows, doors, sills, cornices, pillars,
 * balconies and shops as flat boxes of one colour each; the photo has plaster with stains, glass,
 * shadows and grain. */
#ifndef EXAMPLES_PIX2PIX_DRAWN_H
#define EXAMPLES_PIX2PIX_DRAWN_H

#include <stdint.h>

enum { DRAWN_SIDE = 256, DRAWN_BYTES = DRAWN_SIDE * DRAWN_SIDE * 2 * 3 };

/* Draws facade number `index` of the endless series `seed`: rows of r, g, b, the photo in the left
 * half, the plan in the right one. It depends on nothing but these two numbers. */
void drawn_facade(uint64_t seed, int64_t index, uint8_t pixels[DRAWN_BYTES]);

#endif
