/* drawn.h - handwritten-looking digits without a download: drawn from the fonts of this machine.
 *
 * Each digit is a glyph of an installed font under a random rotation, slant and stretch, bent by a
 * smooth random field, with a stroke that is thicker or thinner than the font's and uneven along
 * its way, slightly blurred and noisy. Like MNIST's it is white on black, fills a box of 20 x 20
 * pixels, and has its centre of mass in the middle of 28 x 28. */
#ifndef EXAMPLES_DRAWN_H
#define EXAMPLES_DRAWN_H

#include <stdint.h>

enum { DRAWN_SIDE = 28, DRAWN_PIXELS = DRAWN_SIDE * DRAWN_SIDE };

typedef struct drawn_fonts drawn_fonts;

/* Prepares the digits of all faces of a fixed list that are installed - handwriting first, but a
 * single text face will do - or of the one font named (see font_open), which takes some
 * milliseconds for each. Free with drawn_fonts_free. NULL if there is none. */
drawn_fonts *drawn_fonts_open(const char *name);
void drawn_fonts_free(drawn_fonts *fonts);

/* How many faces the digits are drawn from. */
int drawn_fonts_count(const drawn_fonts *fonts);

/* Draws digit number `index` of the endless series `seed` and returns which one it is, 0 to 9. It
 * depends on nothing but the fonts and these two numbers, so digits may be drawn in any order and
 * by several threads at once. Pixels are rows from the top, 0 black to 255 white. */
int drawn_digit(const drawn_fonts *fonts, uint64_t seed, int64_t index, uint8_t pixels[DRAWN_PIXELS]);

#endif
