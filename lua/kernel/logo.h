/* logo.h - the bird. */
#ifndef EGRET_LUA_KERNEL_LOGO_H
#define EGRET_LUA_KERNEL_LOGO_H

#include <egret/egret.h>

/* A square picture with `size` pixels a side, u8 [4, size, size], borrowed. */
eg_tensor *logo_draw(int size);

#endif
