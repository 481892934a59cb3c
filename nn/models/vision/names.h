/* names.h - what others call the weights of the nets, as maps for eg_tensors_renamed. models.def says which map is
 * whose. */
#ifndef EGRET_NN_MODELS_VISION_NAMES_H
#define EGRET_NN_MODELS_VISION_NAMES_H

#define MAP(name, ...) extern const char eg__names_##name[];
#include "nn/models/vision/names.def"
#undef MAP

/* Of nets whose weights nobody else has published. */
#define eg__names_none NULL

#endif
