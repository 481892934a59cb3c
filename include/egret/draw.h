/* draw.h - curves, tables and sheets of images as pictures, and pictures as films. */
#ifndef EGRET_DRAW_H
#define EGRET_DRAW_H

#include <egret/base.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

EG_END_DECLS

#endif
