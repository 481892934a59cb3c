/* sampler.h - which pixels of an image a network's input is made of, and making it of them. */
#ifndef EGRET_SAMPLER_H
#define EGRET_SAMPLER_H

#include "data/image/scaled_crop.h"
#include "lib/ops/dispatch.h"

/* How places between pixels get their values. */
typedef enum eg__filter {
    EG__LINEAR, /* as TensorFlow 1 resizes: place o is at o in / out, nothing is smoothed */
    EG__NEAREST,
    EG__CUBIC,
    EG__AREA,   /* the mean of what an output pixel covers, parts of pixels by their share */
    EG__SMOOTH, /* linear between centres, wider where it shrinks: torchvision with antialias */
} eg__filter;

/* A part of an image, an image of its own to the filter, is resized; of that a window is wanted. */
typedef struct eg__view {
    int64_t box[4];        /* the part: top, left, height, width */
    int64_t rows, columns; /* what it becomes */
    int64_t top, left;     /* where in that the window lies, which may leave it: there is nothing */
    int64_t height, width; /* of the window */
    eg__filter filter;
    bool before, after; /* mirrored left to right before it is resized, or behind */
} eg__view;

/* The taps of a view, in pixels of the image, and those they need. */
typedef struct eg__sampler {
    eg__taps down, right;
    int64_t top, left, rows, columns;
} eg__sampler;

eg_status eg__sampler_make(eg__sampler *s, const char *op, const eg__view *v);
void eg__sampler_free(eg__sampler *s); /* a zeroed one is fine */

/* f32 [height, width, channels], value scale[c] x + offset[c], of pixels u8 [rows, columns, step] that begin at
 * (top, left) of the image, row-major. step is 1, 3 or 4: then the fourth is not looked at. Borrowed. */
eg_tensor *eg__sampler_run(const eg__sampler *s, const char *op, const eg_tensor *pixels, int64_t top, int64_t left,
                           const float *scale, const float *offset);

#endif
