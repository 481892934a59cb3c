/* shapes.h - pictures of circles, squares and triangles, and where these are. */
#ifndef EXAMPLES_DETECT_SHAPES_H
#define EXAMPLES_DETECT_SHAPES_H

#include <egret/egret.h>

enum { SHAPES = 3, SHAPES_SIDE = 160, SHAPES_MOST = 5 };
extern const char *const shapes_names[SHAPES];

/* Picture number i: an image u8 [3, side, side], its boxes f32 [k, 4], their classes i64 [k], and masks u8 [k, side,
 * side] of what is to be seen of each. Some hide parts of others. */
eg_status shapes_draw(int64_t i, eg_tensor **image, eg_tensor **boxes, eg_tensor **labels, eg_tensor **masks);

#endif
