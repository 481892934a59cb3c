/* repl.h - the prompt. */
#ifndef EGRET_REPL_H
#define EGRET_REPL_H

#include <lua.h>
#include <stdbool.h>

/* Reads statements and shows what they give until there are no more. `terminal`: people type them;
 * else there are no prompts, no greeting and no memory. */
void repl_run(lua_State *L, bool terminal);

#endif
