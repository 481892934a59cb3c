/* map.h - heat maps made of characters. */
#ifndef EGRET_SHOW_MAP_H
#define EGRET_SHOW_MAP_H

#include <lua.h>

#include "draw/heatmap.h"

/* Pushes the map as text in lines of at most `columns` characters, words down and along its sides, the scale below.
 * colours: 0, 256 or 1 << 24; without any, letters of more and less ink. False, and nothing is pushed, if it is larger
 * than that. */
bool map_push(lua_State *L, const heatmap *h, int columns, int colours);

#endif
