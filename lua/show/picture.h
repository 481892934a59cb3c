/* picture.h - tensors as pictures to look at.
 *
 * A picture is u8 [H, W, 3] without gaps: rows of red, green and blue. Results are borrowed, and
 * NULL after failures, as of any op. */
#ifndef EGRET_SHOW_PICTURE_H
#define EGRET_SHOW_PICTURE_H

#include <egret/egret.h>

typedef struct picture_options {
    double low, high;            /* which values are black and white; both 0: found out */
    int columns;                 /* of a grid; 0: about as many as rows */
    double scale;                /* screen pixels per pixel where words are drawn; 0: as is seen well */
    const char *title;           /* NULL: none */
    const char *const *captions; /* one for each image; NULL: none */
    int64_t caption_count;
    const char *gif; /* of eg.show: a file of an animation; NULL: none */
    double seconds;  /* of each of its images */
} picture_options;

/* One image, or a grid of all there are in n tensors: [H, W], [C, H, W] with C of 1, 3 or 4, [N, C,
 * H, W]; [K, H, W] with other K is K gray images. */
eg_tensor *picture_of(eg_tensor *const *tensors, int n, const picture_options *options);

/* Writes them as an animated GIF, each with the title and its caption; how many there are, 0 after a failure. */
int picture_film(eg_tensor *const *tensors, int n, const picture_options *options, const char *path, double seconds);

/* The picture `scale` times as large (0: as large as small ones are seen well, about `seen`
 * pixels), but no wider and higher than `width` and `height`. */
eg_tensor *picture_scaled(eg_tensor *picture, double scale, int seen, int64_t width, int64_t height);

/* As a PNG file, u8 [n]. */
eg_tensor *picture_png(eg_tensor *picture);

#endif
