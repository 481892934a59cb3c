/* plate.h - a plate with a name on it, larger than it will be seen. */
#ifndef EXAMPLES_OCR_PLATE_H
#define EXAMPLES_OCR_PLATE_H

#include "../common/chance.h"
#include "draw/canvas.h"

enum { PLATE_SCALE = 2 }; /* of its pixels a view's has so many, both ways */

typedef struct plate {
    canvas *face;
    double width, height; /* in pixels of a view */
} plate;

/* The name in up to so many lines, as large as views of that side have room for, or a little smaller. NULL after a
 * failure. */
plate *plate_new(const char *name, const font *f, int side, int lines, chance *c);
void plate_free(plate *p);

#endif
