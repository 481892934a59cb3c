/* solid.h - things of triangles, put together from blocks and round parts. */
#ifndef EXAMPLES_KEYPOINTS_SOLID_H
#define EXAMPLES_KEYPOINTS_SOLID_H

#include <egret/egret.h>

enum { SOLID_MOST = 4096 };

typedef struct vertex {
    double at[3], normal[3];
} vertex;

typedef struct triangle {
    vertex corner[3];
    double colour[3];
} triangle;

typedef struct solid {
    int count;
    triangle at[SOLID_MOST];
} solid;

/* Where a part is: its middle, and from there half of what it is long along x, y and z. */
typedef struct extent {
    double middle[3], half[3];
} extent;

/* A block whose top is the bottom times `taper` along x and z, moved by `shift` along x. */
typedef struct block {
    extent e;
    double taper[2], shift;
} block;
void solid_block(solid *s, const block *b, const double *colour);
/* One that does not taper. */
void solid_box(solid *s, const extent *e, const double *colour);

/* A part that is round about an axis, 0..2. */
typedef enum round_form { CYLINDER, CONE, BALL } round_form;
void solid_round(solid *s, round_form form, int axis, const extent *e, const double *colour);

/* Moves the middle of all to 0 and makes the farthest corner as far away as that. */
void solid_fit(solid *s, double radius);

#endif
