/* drawn.h - drawings of a few plain things, as a hand would make them: what there is to learn without files. */
#ifndef EXAMPLES_QUICKDRAW_DRAWN_H
#define EXAMPLES_QUICKDRAW_DRAWN_H

#include <egret/tensor.h>

enum { DRAWN_KINDS = 10 };
extern const char *const drawn_names[DRAWN_KINDS];

/* The i-th drawing, of kind i mod DRAWN_KINDS, as strokes (ink.h), f32 [points, 3]. */
eg_tensor *drawn_strokes(int64_t i);

#endif
