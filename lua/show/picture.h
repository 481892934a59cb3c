/* picture.h - tensors as pictures to look at.
 *
 * A picture is u8 [H, W, 3] without gaps: rows of red, green and blue. Results are borrowed, and
 * NULL after failures, as of any op. */
#ifndef EGRET_SHOW_PICTURE_H
#define EGRET_SHOW_PICTURE_H

#include <egret/egret.h>

typedef struct picture_options {
    double low, high; /* which values are black and white; both 0: found out */
    int columns;      /* of a grid; 0: about as many as rows */
} picture_options;

/* One image, or a grid of all there are in n tensors: [H, W], [C, H, W] with C of 1, 3 or 4, [N, C,
 * H, W]; [K, H, W] with other K is K gray images. */
eg_tensor *picture_of(eg_tensor *const *tensors, int n, const picture_options *options);

/* The picture `scale` times as large (0: as large as small ones are seen well, about `seen`
 * pixels), but no wider and higher than `width` and `height`. */
eg_tensor *picture_scaled(eg_tensor *picture, double scale, int seen, int64_t width, int64_t height);

/* As a PNG file, u8 [n]. */
eg_tensor *picture_png(eg_tensor *picture);

#endif
