/* shell.h - what every place to type Lua into shares, the prompt of `egret` and the notebook's
 * kernel: chunks that may go on, values as people like to read them, completion, help, errors and
 * Ctrl-C.
 *
 * Functions that leave something on the stack say so. They are called inside a protected call: like
 * Lua's own, they raise when memory runs out, and hold nothing then that Lua does not own. */
#ifndef EGRET_SHELL_H
#define EGRET_SHELL_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- chunks -------------------------------------------------------------------------------- */

typedef enum shell_chunk {
    SHELL_COMPLETE,   /* the compiled chunk is on the stack; an expression returns its values */
    SHELL_UNFINISHED, /* it goes on in the next line; the message is on the stack */
    SHELL_WRONG,      /* the compiler's message is on the stack */
} shell_chunk;

/* Compiles a text as an expression or else as a block, and leaves one value on the stack. `name` is
 * a chunk name of Lua's: "=stdin". */
shell_chunk shell_load(lua_State *L, const char *text, size_t length, const char *name);

/* ---- values -------------------------------------------------------------------------------- */

/* Pushes the value at `index` as text of lines at most about `width` characters long: strings
 * quoted, tables in braces with their keys in order, long or deep ones cut short; what has a
 * __tostring by that. Raises what a __tostring raises. */
void shell_pretty(lua_State *L, int index, int width);

/* Pushes the `count` values on top of the stack as one text, those of one line each side by side,
 * and removes them. */
void shell_pretty_values(lua_State *L, int count, int width);

/* ---- completion ---------------------------------------------------------------------------- */

/* Pushes a sorted list of all the names that can stand where the word before the cursor begins:
 * globals and keywords, fields after a dot, methods after a colon. Each is the whole name; *start
 * is where in the text the name begins. May call __index of values on the way. */
void shell_complete(lua_State *L, const char *text, size_t cursor, size_t *start);

/* ---- help ---------------------------------------------------------------------------------- */

/* Pushes what is known about a function, a name or other words to search for, the value at `index`
 * (nil or none: an overview), as text in lines of at most `width` characters; nil if that is nothing.
 * The table of the module "egret" must be in package.loaded. */
void shell_help(lua_State *L, int index, int width);

/* Defines the global function help(what), which prints that text; width 0: of the terminal. */
void shell_open_help(lua_State *L, int width);

/* How many characters fit a line of the terminal on standard output. */
int shell_columns(void);

/* ---- functions ----------------------------------------------------------------------------- */

/* Functions of the module show how they are called, and a place or field of one is an error that says
 * so: x.shape is a function, x:shape() calls it. Does nothing if functions have a metatable. */
void shell_open_functions(lua_State *L);

/* ---- errors -------------------------------------------------------------------------------- */

/* A message handler for lua_pcall: the message and below it, a line each, the Lua functions it
 * passed through, the innermost first. */
int shell_traceback(lua_State *L);

/* ---- interruption -------------------------------------------------------------------------- */

/* From here on shell_interrupt stops what L does, in the thread that called this. */
void shell_run_begin(lua_State *L);
/* From here on it does nothing. Returns whether the run was interrupted. */
bool shell_run_end(lua_State *L);
/* Before a state is closed: stops what threads of datasets begin in it, until the next run. */
void shell_stop_others(void);

/* Raises an error "interrupted" at the next instruction of the running Lua code, in a coroutine
 * too. Safe in a signal handler and in other threads; returns false if nothing runs. */
bool shell_interrupt(void);

/* Lets coroutines be interrupted: replaces coroutine.resume, wrap and close. */
void shell_open_interrupt(lua_State *L);

#endif
