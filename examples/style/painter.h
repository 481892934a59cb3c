/* painter.h - a net that paints photos in one manner, in one pass (Johnson, Alahi, Fei-Fei 2016). */
#ifndef EXAMPLES_STYLE_PAINTER_H
#define EXAMPLES_STYLE_PAINTER_H

#include <egret/nn.h>

/* A canvas (pictures.h) to a canvas as large, whose sides are multiples of 4: two strided convolutions down, five
 * residual blocks, and up again by nearest neighbours and convolutions, with instance norms. width times the published
 * 32, 64 and 128 channels. over: what they make is added to the photo, which is there from the first step on. */
eg_module *painter_new(double width, bool over);

#endif
