/* palette.c - see palette.h. */
#include "palette.h"

#include <stdlib.h>
#include <string.h>

/* Colours are counted in cells of 2^5 steps per channel. */
enum { BITS = 5, CELLS = 1 << 3 * BITS, MOST = 256 };

/* What fell into one cell. */
typedef struct cell {
    int64_t count, sum[3];
} cell;

/* A run of the list of cells. */
typedef struct box {
    int first, count;
    int64_t pixels;
    double mean[3];
    int axis;     /* the channel that varies most */
    double error; /* squares of the distances from its mean, added up */
} box;

/* ---- few colours ---- */

/* The number of the colour among those known, or a new one; -1 if there is no room. */
static int number_of(palette *p, int16_t *slots, const uint8_t *pixel)
{
    uint32_t v = (uint32_t)pixel[0] << 16 | (uint32_t)pixel[1] << 8 | pixel[2];
    uint32_t h = (v * 2654435769u) >> 22;
    for (;; h = (h + 1) & 1023) {
        if (slots[h] < 0) {
            if (p->count == MOST) {
                return -1;
            }
            p->colour[p->count] = (rgb){pixel[0], pixel[1], pixel[2]};
            slots[h] = (int16_t)p->count;
            return p->count++;
        }
        const rgb *c = &p->colour[slots[h]];
        if (c->r == pixel[0] && c->g == pixel[1] && c->b == pixel[2]) {
            return slots[h];
        }
    }
}

static bool make_exact(palette *p, const uint8_t *pixels, int64_t count, uint8_t *index)
{
    int16_t slots[1024];
    memset(slots, -1, sizeof slots);
    p->count = 0;
    for (int64_t i = 0; i < count; i++) {
        int n = number_of(p, slots, pixels + 3 * i);
        if (n < 0) {
            return false;
        }
        index[i] = (uint8_t)n;
    }
    return true;
}

/* ---- many colours ---- */

static int cell_of(const uint8_t *pixel)
{
    return (pixel[0] >> (8 - BITS)) << 2 * BITS | (pixel[1] >> (8 - BITS)) << BITS | pixel[2] >> (8 - BITS);
}

static double level(const cell *c, int channel)
{
    return (double)c->sum[channel] / (double)c->count;
}

static void measure(box *b, cell *const *list)
{
    double error[3] = {0, 0, 0};
    b->pixels = 0;
    memset(b->mean, 0, sizeof b->mean);
    for (int i = b->first; i < b->first + b->count; i++) {
        b->pixels += list[i]->count;
        for (int k = 0; k < 3; k++) {
            b->mean[k] += (double)list[i]->sum[k];
        }
    }
    for (int k = 0; k < 3; k++) {
        b->mean[k] /= (double)b->pixels;
        for (int i = b->first; i < b->first + b->count; i++) {
            double away = level(list[i], k) - b->mean[k];
            error[k] += away * away * (double)list[i]->count;
        }
    }
    b->axis = error[1] > error[0] ? 1 : 0;
    b->axis = error[2] > error[b->axis] ? 2 : b->axis;
    b->error = error[b->axis];
}

/* Cuts the box at its mean; what lies above goes to `rest`. */
static void cut(box *b, box *rest, cell **list)
{
    int below = b->first;
    for (int i = b->first; i < b->first + b->count; i++) {
        if (level(list[i], b->axis) < b->mean[b->axis]) {
            cell *c = list[i];
            list[i] = list[below];
            list[below++] = c;
        }
    }
    *rest = (box){.first = below, .count = b->first + b->count - below};
    b->count = below - b->first;
    measure(b, list);
    measure(rest, list);
}

/* The box whose cut helps most; -1 if none would. */
static int worst(const box *boxes, int count)
{
    int found = -1;
    double most = 1e-6;
    for (int i = 0; i < count; i++) {
        if (boxes[i].count > 1 && boxes[i].error > most) {
            most = boxes[i].error;
            found = i;
        }
    }
    return found;
}

static void cut_all(palette *p, cell **list, int count)
{
    box boxes[MOST] = {{.count = count}};
    measure(&boxes[0], list);
    p->count = 1;
    for (int i; p->count < MOST && (i = worst(boxes, p->count)) >= 0; p->count++) {
        cut(&boxes[i], &boxes[p->count], list);
    }
    for (int n = 0; n < p->count; n++) {
        const double *mean = boxes[n].mean;
        p->colour[n] = (rgb){(uint8_t)(mean[0] + 0.5), (uint8_t)(mean[1] + 0.5), (uint8_t)(mean[2] + 0.5)};
    }
}

static bool choose(palette *p, const uint8_t *pixels, int64_t count)
{
    cell *cells = calloc(CELLS, sizeof *cells), **list = malloc(CELLS * sizeof *list);
    bool there = cells && list;
    int used = 0;
    for (int64_t i = 0; there && i < count; i++) {
        const uint8_t *pixel = pixels + 3 * i;
        cell *c = &cells[cell_of(pixel)];
        if (!c->count++) {
            list[used++] = c;
        }
        for (int k = 0; k < 3; k++) {
            c->sum[k] += pixel[k];
        }
    }
    if (there) {
        cut_all(p, list, used);
    }
    free(cells);
    free(list);
    return there;
}

/* ---- the nearest of them ---- */

static int nearest(const palette *p, const uint8_t *v)
{
    int found = 0, least = INT32_MAX;
    for (int n = 0; n < p->count; n++) {
        const rgb *c = &p->colour[n];
        int r = c->r - v[0], g = c->g - v[1], b = c->b - v[2], away = r * r + g * g + b * b;
        if (away < least) {
            least = away;
            found = n;
        }
    }
    return found;
}

static uint8_t clamp(int v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* Of one row, the errors of which are here and below, in sixteenths, with a pixel more at both ends
 * (Floyd and Steinberg 1976). `known` remembers the nearest colour of a cell, plus 1. */
static void spread_row(const palette *p, const uint8_t *pixels, int width, uint8_t *index, int *here, int *below,
                       int16_t *known)
{
    memset(below, 0, 3 * ((size_t)width + 2) * sizeof *below);
    for (int x = 0; x < width; x++) {
        uint8_t v[3];
        for (int k = 0; k < 3; k++) {
            v[k] = clamp(pixels[3 * x + k] + (here[3 * (x + 1) + k] + 8) / 16);
        }
        int16_t *n = &known[cell_of(v)];
        *n = *n ? *n : (int16_t)(nearest(p, v) + 1);
        index[x] = (uint8_t)(*n - 1);
        const rgb *c = &p->colour[index[x]];
        const int off[3] = {v[0] - c->r, v[1] - c->g, v[2] - c->b};
        for (int k = 0; k < 3; k++) {
            here[3 * (x + 2) + k] += 7 * off[k];
            below[3 * x + k] += 3 * off[k];
            below[3 * (x + 1) + k] += 5 * off[k];
            below[3 * (x + 2) + k] += off[k];
        }
    }
}

bool palette_make(palette *p, const uint8_t *pixels, int width, int height, uint8_t *index)
{
    int64_t count = (int64_t)width * height;
    if (make_exact(p, pixels, count, index)) {
        return true;
    }
    size_t row = 3 * ((size_t)width + 2);
    int *error = calloc(2 * row, sizeof *error);
    int16_t *known = calloc(CELLS, sizeof *known);
    bool there = error && known && choose(p, pixels, count);
    for (int y = 0; y < height && there; y++) {
        int64_t at = (int64_t)y * width;
        spread_row(p, pixels + 3 * at, width, index + at, error + (size_t)(y % 2) * row,
                   error + (size_t)(1 - y % 2) * row, known);
    }
    free(error);
    free(known);
    return there;
}
