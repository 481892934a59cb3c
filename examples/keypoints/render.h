/* render.h - pictures of solids: a camera that looks at the origin, triangles with a z-buffer, soft edges. */
#ifndef EXAMPLES_KEYPOINTS_RENDER_H
#define EXAMPLES_KEYPOINTS_RENDER_H

#include "solid.h"

/* How far away the camera is, and how large it shows what is there: (x, y, z) in its coordinates, in which it looks
 * along -z, is seen at (-FOCAL x / z, -FOCAL y / z), and the picture is -1..1 wide and high. */
#define RENDER_DISTANCE 30.0
#define RENDER_FOCAL    26.0

/* The solid's coordinates to the camera's and back, rows of 4x4 matrices: the camera is turned around the y axis by
 * `around` and lifted by `up`, radians. */
typedef struct view {
    double into[16], back[16];
} view;
view render_view(double around, double up);

/* u8 [4, side, side]: colours on white, and which part of each pixel is the solid's. */
eg_tensor *render_solid(const solid *s, const view *v, int64_t side);

#endif
