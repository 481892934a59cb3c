/* trunk.h - Inception v3 (Szegedy et al. 2015) up to its third module, as TF-Slim has it: what looks at a sign. */
#ifndef EXAMPLES_OCR_TRUNK_H
#define EXAMPLES_OCR_TRUNK_H

#include <egret/egret.h>

enum { TRUNK_LEAST_SIDE = 27 }; /* smaller images leave no place behind the last pool */

/* Images [N, 3, side, side] to maps [N, channels, k, k]: k and channels as below. All widths of the published net are
 * multiplied by `width`; norms have TensorFlow's decay. */
eg_module *trunk_new(double width, double norm_decay);
int64_t trunk_channels(double width);
int64_t trunk_side(int64_t side);

#endif
