/* session.h - Lua in a notebook: one state, and the requests that need it, one after the other. */
#ifndef EGRET_LUA_KERNEL_SESSION_H
#define EGRET_LUA_KERNEL_SESSION_H

#include <jansson.h>
#include <lua.h>
#include <stdbool.h>

#include "message.h"
#include "wire.h"

enum { NOTEBOOK_COLUMNS = 100 }; /* of texts */

typedef struct session {
    lua_State *L;
    wire *w;
    const message *request; /* that is being served; NULL: none */
    long long count;        /* of cells */
} session;

/* Opens Lua, its libraries, ours as `eg`, and what only notebooks have. False, with words, where it
 * cannot. */
bool session_open(session *s, wire *w);
void session_close(session *s);

/* Serves requests until it is time to leave. */
void session_serve(session *s);

/* Calls f with the pointer as its argument, protected and open to interruption. True, and nothing
 * on the stack, when it returned; else what it raised is on the stack, or what the handler (NULL:
 * none) made of it. *interrupted (NULL: never mind): whether somebody asked to stop it. */
bool session_call(session *s, lua_CFunction f, void *argument, lua_CFunction handler, bool *interrupted);

/* Whether somebody asked to stop what runs now. */
bool session_interrupted(void);

/* ---- answers: the content of a reply to a request's content; NULL for want of memory ---- */

json_t *cell_execute(session *s, const json_t *content);
json_t *cell_is_complete(session *s, const json_t *content);
json_t *ask_complete(session *s, const json_t *content);
json_t *ask_inspect(session *s, const json_t *content);

/* ---- what notebooks have instead of a terminal ---- */

/* Makes C's and Lua's stdin ask the frontend, and stdout and stderr keep their order. */
bool console_open(session *s);
void console_close(void);
/* Lets what children write stand in its place: replaces os.execute and io.popen. */
void console_open_children(lua_State *L, session *s);
/* A new cell: nothing is left of what was typed for the one before. */
void console_begin(void);

/* Sends pictures to the frontend: `eg.display` gets a function for it. Called inside a protected
 * call with the module's table on the stack. */
void display_open(lua_State *L, session *s);

#endif
