/* view.h - a plate on a wall as a camera sees it. */
#ifndef EXAMPLES_OCR_VIEW_H
#define EXAMPLES_OCR_VIEW_H

#include <egret/base.h>

#include "plate.h"

/* Into side x side pixels of three bytes, rows so many bytes apart. Where other views can be asked, more is in the way.
 */
eg_status view_draw(const plate *p, int side, bool others, chance *c, uint8_t *to, int64_t row);

#endif
