/* scaled_crop.h - pixels to a network's input in one go: filtered to another size and normalised. */
#ifndef EGRET_SCALED_CROP_H
#define EGRET_SCALED_CROP_H

#include <stdint.h>

/* Which neighbours an output place reads along one axis: `many` from first[i] on. */
typedef struct eg__taps {
    int count, many;
    const int *first;    /* [count] */
    const float *weight; /* [count][many] */
} eg__taps;

typedef struct eg__shrink {
    const uint8_t *from; /* rows of gray (step 1), of R, G, B (3), or also a byte that is not looked at (4) */
    int64_t stride, columns;
    int step;
    int64_t top, left; /* what taps call the first row and column */
    eg__taps down, right;
    float scale[4], offset[4]; /* of the values 0..255 */
    float *row;                /* room for columns + right.many pixels, and four numbers more; zeros at first */
    float *last;               /* room for the last row, and one number more */
    float *to;                 /* rows of gray, or of R, G, B */
} eg__shrink;

typedef void eg__shrink_fn(const eg__shrink *s);

#endif
