/* winograd_tile.h - the sums of winograd.h for one tile: y = A'[(G g) x (B' d)], per axis
 *
 *   3 taps g, 4 cells d                                2 taps g, 3 cells d
 *        1  0 -1  0        1   0   0                        1 -1  0        1  0
 *   B' = 0  1  1  0    G = ½   ½   ½    A' = 1  1  1  0   B' = 0  1  0    G = 1  1    A' = 1  1  0
 *        0 -1  1  0        ½  -½   ½         0  1 -1 -1        0 -1  1        0  1         0  1  1
 *        0  1  0 -1        0   0   1
 *
 * and for the gradient of g: dg = G'[(A dy) x (B' d)]. Each map is applied to the columns of a
 * square of vectors and then to its rows. */
#ifndef EGRET_WINOGRAD_TILE_H
#define EGRET_WINOGRAD_TILE_H

#include "lib/cpu/common/lanes.h"
#include "lib/cpu/conv/winograd.h"

typedef eg__f32s vec;

/* From every `s`th of x to every `t`th of y. */
typedef void line_map(const vec *x, int s, vec *y, int t, const int taps);

static EG__INLINE void cells_map(const vec *x, int s, vec *y, int t, const int taps) /* B' */
{
    if (taps == 3) {
        y[0] = x[0] - x[2 * s];
        y[t] = x[s] + x[2 * s];
        y[2 * t] = x[2 * s] - x[s];
        y[3 * t] = x[s] - x[3 * s];
    } else {
        y[0] = x[0] - x[s];
        y[t] = x[s];
        y[2 * t] = x[2 * s] - x[s];
    }
}

static EG__INLINE void taps_map(const vec *x, int s, vec *y, int t, const int taps) /* G */
{
    y[0] = x[0];
    if (taps == 3) {
        vec half = (x[0] + x[2 * s]) * .5f, middle = x[s] * .5f;
        y[t] = half + middle;
        y[2 * t] = half - middle;
        y[3 * t] = x[2 * s];
    } else {
        y[t] = x[0] + x[s];
        y[2 * t] = x[s];
    }
}

static EG__INLINE void sums_map(const vec *x, int s, vec *y, int t, const int taps) /* A' */
{
    if (taps == 3) {
        y[0] = x[0] + x[s] + x[2 * s];
        y[t] = x[s] - x[2 * s] - x[3 * s];
    } else {
        y[0] = x[0] + x[s];
        y[t] = x[s] + x[2 * s];
    }
}

static EG__INLINE void sums_back(const vec *x, int s, vec *y, int t, const int taps) /* A */
{
    y[0] = x[0];
    y[t] = x[0] + x[s];
    if (taps == 3) {
        y[2 * t] = x[0] - x[s];
        y[3 * t] = -x[s];
    } else {
        y[2 * t] = x[s];
    }
}

static EG__INLINE void taps_back(const vec *x, int s, vec *y, int t, const int taps) /* G' */
{
    if (taps == 3) {
        vec half = (x[s] + x[2 * s]) * .5f;
        y[0] = x[0] + half;
        y[t] = (x[s] - x[2 * s]) * .5f;
        y[2 * t] = half + x[3 * s];
    } else {
        y[0] = x[0] + x[s];
        y[t] = x[s] + x[2 * s];
    }
}

/* A square of `in` by `in` vectors to one of `out` by `out`. */
static EG__INLINE void square_map(line_map *map, const vec *x, const int in, vec *y, const int out, const int taps)
{
    vec half[EG__WINOGRAD_SIDE * EG__WINOGRAD_SIDE];
    for (int c = 0; c < in; c++) {
        map(x + c, in, half + c, in, taps);
    }
    for (int r = 0; r < out; r++) {
        map(half + r * in, 1, y + r * out, 1, taps);
    }
}

#endif
