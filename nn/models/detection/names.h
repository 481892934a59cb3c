/* names.h - what torchvision calls the weights of detectors, as maps for eg_tensors_renamed. */
#ifndef EGRET_NN_MODELS_DETECTION_NAMES_H
#define EGRET_NN_MODELS_DETECTION_NAMES_H

extern const char eg__names_rcnn[], eg__names_retinanet[];

#endif
