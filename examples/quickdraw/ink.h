/* ink.h - drawings as the net gets them, and as people do. */
#ifndef EXAMPLES_QUICKDRAW_INK_H
#define EXAMPLES_QUICKDRAW_INK_H

#include <egret/tensor.h>

/* Strokes, f32 [points, 3] of x, y, and 1 at the last point of each (eg_strokes), as ink: each axis by its range to
 * 0..1, and what changes from point to point, [points - 1, 3] (create_dataset.py). */
eg_tensor *ink_of(eg_tensor *strokes);

/* Ink, f32 [points, 3], of which the first n count, as an image, f32 [1, side, side] of 0, paper, to 1. */
eg_tensor *ink_image(eg_tensor *ink, int64_t n, int64_t side);

#endif
