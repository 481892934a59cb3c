/* sort.h - lists of keys in the order people look for them in. */
#ifndef EGRET_SHELL_SORT_H
#define EGRET_SHELL_SORT_H

#include <lua.h>

/* Sorts the list of `count` values on top of the stack: numbers first, then strings, then the rest
 * in no order. */
void shell_sort(lua_State *L, int count);

#endif
