/* live.h - which handles are alive, so that one that is freed twice is refused instead of followed. For objects that
 * are made by the hand, not by the step: a lock and a look into a table each. What is made at the address of a freed
 * one is taken for it. */
#ifndef EGRET_LIVE_H
#define EGRET_LIVE_H

#include "lib/core/error.h"
#include "lib/core/memory.h"

/* Zeroed memory for a handle, alive from now on; NULL without words. */
void *eg__handle_new(size_t bytes);
bool eg__handle_lives(const void *handle);
/* Whether the handle was alive and may be taken apart, then free()d: it no longer is. Else EG_ESTATE, in words. NULL is
 * not, silently. */
bool eg__handle_ends(void *handle, const char *op);

#endif
