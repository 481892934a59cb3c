/* sample.h - how images are read at points. Plain C and CUDA. */
#ifndef EGRET_OPS_SAMPLE_INTERNAL_H
#define EGRET_OPS_SAMPLE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

/* (images [N, C, H, W], x and y [B, rows, cols] of the points, image [B] of each picture or NULL) -> pictures. What
 * is a pair is along x, along y. */
typedef struct eg__sample_opts {
    int mode, border;               /* eg_sample_mode, eg_sample_border */
    bool corners;                   /* mirrored at the centres of the border's pixels */
    bool away;                      /* nearest: halves away from 0 */
    double add, scale[2], shift[2]; /* pixel = (coordinate + add) * scale + shift */
    double reach, fill;             /* points further out than so many pixels have this value */
    int64_t block[2];               /* points that are summed to a pixel; several: fill 0, no gradient to points */
    double share;                   /* of each in the sum */
    int64_t size[4];                /* of the images */
} eg__sample_opts;

#endif
