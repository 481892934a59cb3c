/* layouts.h - ways other programs lay weights out, by the words a map of names has for them (io.h). */
#ifndef EGRET_LAYOUTS_H
#define EGRET_LAYOUTS_H

#include <egret/tensor.h>

#include "lib/io/name_map.h"

/* Whether there is a layout of that name: "hwio", or "places=64". */
bool eg__layout_known(eg__span word);

/* What is in that layout as Egret has it, borrowed from the innermost scope. NULL and EG_ESHAPE, in words with the
 * tensor's name, where its shape is none of the layout's. */
eg_tensor *eg__layout_undone(const char *op, const char *name, eg_tensor *t, eg__span word);

#endif
