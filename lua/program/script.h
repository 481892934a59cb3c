/* script.h - running chunks that are there as a whole: files, arguments, standard input. */
#ifndef EGRET_SCRIPT_H
#define EGRET_SCRIPT_H

#include <lua.h>
#include <stdbool.h>

/* Each says on standard error what went wrong, with the way it came. */

/* -e TEXT */
bool script_text(lua_State *L, const char *text);
/* -l NAME or -l GLOBAL=NAME */
bool script_module(lua_State *L, const char *name);
/* A file, or standard input for NULL, with the arguments that `arg` holds. */
bool script_file(lua_State *L, const char *path);

/* Calls the function on the stack below `count` arguments; leaves its results, or nothing after an
 * error. */
bool script_call(lua_State *L, int count, int results);

/* Ctrl-C: the running chunk is told to stop. Where that may take too long, as in one op of the
 * library, a second one ends the program, if `twice`. */
void script_catch_interrupts(bool twice);

/* Whether one was, when the program should end as interrupted ones do. */
bool script_was_interrupted(void);

/* require "egret.signals": hold(), take() and release() of run/signals.h; take gives nil for none. While they are held
 * Ctrl-C does not stop the chunk. */
int script_open_signals(lua_State *L);

#endif
