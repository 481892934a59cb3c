/* layouts.h - ways other programs lay weights out, by the words a map of names has for them (io.h). */
#ifndef EGRET_LAYOUTS_H
#define EGRET_LAYOUTS_H

#include <egret/tensor.h>

#include "lib/io/name_map.h"

enum { EG__JOIN_MOST = 64 };

/* Whether there is a layout of that name: "hwio", or "places=64". */
bool eg__layout_known(eg__span word);
/* Whether the word is "join=I/OF", of EG__JOIN_MOST parts at most. */
bool eg__layout_is_join(eg__span word, int64_t *i, int64_t *of);

/* What is in that layout as Egret has it, borrowed from the innermost scope. NULL and EG_ESHAPE, in words with the
 * tensor's name and the line of the map, where it is nothing of the layout's. */
eg_tensor *eg__layout_undone(const char *op, const char *name, eg_tensor *t, eg__span word, int line);

#endif
