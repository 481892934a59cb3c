/* shapes.h - cars, planes and chairs of chance proportions and colours: x is forward, y up. */
#ifndef EXAMPLES_KEYPOINTS_SHAPES_H
#define EXAMPLES_KEYPOINTS_SHAPES_H

#include "solid.h"

#define SHAPES_CHOICES "car|plane|chair"

/* Shape number i of a kind, one of the choices, which is always the same; its farthest corner is 1 away from 0. For
 * free(). NULL: no memory. */
solid *shapes_new(const char *kind, int64_t i);

#endif
