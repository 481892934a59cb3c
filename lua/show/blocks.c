/* blocks.c - pictures of characters: the upper half block has one pixel as its colour and the one
 * below as that behind it. Without colours, letters of more and less ink. */
#include <stdlib.h>
#include <string.h>

#include "terminal.h"

/* The nearest of xterm's 256: a 6 x 6 x 6 cube from 16 on, 24 grays from 232 on. */
static int nearest_of_256(const uint8_t *p)
{
    static const int levels[6] = {0, 95, 135, 175, 215, 255};
    int cube = 0, away = 0, mean = (p[0] + p[1] + p[2]) / 3, gray = mean < 8 ? 0 : mean > 238 ? 23 : (mean - 3) / 10;
    for (int c = 0; c < 3; c++) {
        int best = 0;
        for (int i = 1; i < 6; i++) {
            best = abs(levels[i] - p[c]) < abs(levels[best] - p[c]) ? i : best;
        }
        cube = 6 * cube + best;
        away += abs(levels[best] - p[c]);
    }
    int gray_away = abs(8 + 10 * gray - p[0]) + abs(8 + 10 * gray - p[1]) + abs(8 + 10 * gray - p[2]);
    return gray_away < away ? 232 + gray : 16 + cube;
}

void blocks_colour(char *code, size_t size, int layer, const uint8_t *p, int colours)
{
    if (colours > 256) {
        snprintf(code, size, "\033[%d;2;%d;%d;%dm", layer, p[0], p[1], p[2]);
    } else {
        snprintf(code, size, "\033[%d;5;%dm", layer, nearest_of_256(p));
    }
}

static void set_colour(FILE *out, int layer, const uint8_t *p, int colours)
{
    char code[32];
    blocks_colour(code, sizeof code, layer, p, colours);
    fputs(code, out);
}

/* One line of characters; `low` is NULL below the last row of an odd number. */
static void write_line(FILE *out, const uint8_t *high, const uint8_t *low, int width, int colours)
{
    for (int x = 0; x < width; x++) {
        if (x == 0 || memcmp(high + 3 * x, high + 3 * x - 3, 3) != 0) {
            set_colour(out, 38, high + 3 * x, colours);
        }
        if (low && (x == 0 || memcmp(low + 3 * x, low + 3 * x - 3, 3) != 0)) {
            set_colour(out, 48, low + 3 * x, colours);
        }
        fputs("▀", out);
    }
    fputs("\033[0m\n", out);
}

/* Bright is much ink, as terminals are mostly dark. */
static void write_inks(FILE *out, const uint8_t *high, const uint8_t *low, int width)
{
    static const char inks[] = " .:-=+*#%@";
    for (int x = 0; x < 3 * width; x += 3) {
        int sum = 299 * high[x] + 587 * high[x + 1] + 114 * high[x + 2];
        sum = low ? (sum + 299 * low[x] + 587 * low[x + 1] + 114 * low[x + 2]) / 2 : sum;
        fputc(inks[sum * 10 / 255001], out);
    }
    fputc('\n', out);
}

void blocks_write(FILE *out, const uint8_t *pixels, int width, int height, int colours)
{
    size_t row = 3 * (size_t)width;
    for (int y = 0; y < height; y += 2) {
        const uint8_t *high = pixels + row * (size_t)y, *low = y + 1 < height ? high + row : NULL;
        if (colours) {
            write_line(out, high, low, width, colours);
        } else {
            write_inks(out, high, low, width);
        }
    }
}
