/* pixels.h - loops over pixels whose places or neighbours matter, built for each instruction set. */
#ifndef EGRET_PIXELS_H
#define EGRET_PIXELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each pixel of the result is one of the image, or `fill`: that at the nearest place to (m[0] j + m[1] i + m[2],
 * m[3] j + m[4] i + m[5]), column and row, of pixel (i, j). */
typedef struct eg__meeting {
    const uint8_t *from, *fill;
    uint8_t *to;
    int64_t height, width, rows, columns; /* of the image and of the result */
    size_t bytes;                         /* of a pixel */
    double m[6];
    int32_t *place; /* room for a row; the image has fewer than 2^31 pixels */
} eg__meeting;
typedef void eg__meet_fn(const eg__meeting *t);

/* n numbers of a row: centre times x and side times the eight around, in the rows above and below and `step` to the
 * left and right; limited to 0..most, of bytes rounded. */
typedef struct eg__sharpening {
    const void *above, *row, *below;
    void *to;
    int64_t n, step;
    float centre, side;
    bool bytes;
} eg__sharpening;
typedef void eg__sharpen_fn(const eg__sharpening *s);

#endif
