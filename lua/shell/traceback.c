/* traceback.c - errors with the way they came; see shell.h. */
#include <lauxlib.h>
#include <string.h>

#include "shell.h"

enum { FRAMES_MOST = 12, LEVELS_MOST = 1000 }; /* Lua counts to a level from the first, each time */

/* Makes the error at index 1 a text. */
static void push_message(lua_State *L)
{
    if (lua_isstring(L, 1)) {
        lua_pushvalue(L, 1);
    } else if (luaL_getmetafield(L, 1, "__tostring") != LUA_TNIL) {
        lua_pop(L, 1);
        luaL_tolstring(L, 1, NULL);
    } else {
        lua_pushfstring(L, "an error that is a %s", luaL_typename(L, 1));
    }
}

/* Whether the message, on top of the stack, says already that it comes from there. */
static bool is_told(lua_State *L, const lua_Debug *frame)
{
    const char *place = lua_pushfstring(L, "%s:%d: ", frame->short_src, frame->currentline);
    bool told = strncmp(lua_tostring(L, -2), place, strlen(place)) == 0;
    lua_pop(L, 1);
    return told;
}

static void push_frame(lua_State *L, const lua_Debug *frame)
{
    lua_pushfstring(L, "\n  %s:%d: in ", frame->short_src, frame->currentline);
    if (*frame->what == 'm') {
        lua_pushliteral(L, "the chunk");
    } else if (frame->name) {
        lua_pushfstring(L, "%s '%s'", frame->namewhat, frame->name);
    } else {
        lua_pushfstring(L, "the function of line %d", frame->linedefined);
    }
    lua_concat(L, 2);
}

/* Moves the frame to the next of Lua code: what C did, the message names if it matters. */
static bool next_frame(lua_State *L, lua_Debug *frame, int *level)
{
    while (lua_getstack(L, ++*level, frame)) {
        lua_getinfo(L, "Sln", frame);
        if (frame->currentline >= 0) {
            return true;
        }
    }
    return false;
}

int shell_traceback(lua_State *L)
{
    lua_Debug frame, next;
    int level = 0, shown = 0;
    push_message(L);
    bool more = next_frame(L, &frame, &level);
    if (more && *frame.what == 'm' && is_told(L, &frame) && !next_frame(L, &next, &level)) {
        return 1; /* a chunk by itself: there was no way to go */
    }
    for (level = 0; level < LEVELS_MOST && next_frame(L, &frame, &level); shown++) {
        if (shown < FRAMES_MOST) {
            push_frame(L, &frame);
            lua_concat(L, 2);
        }
    }
    if (shown > FRAMES_MOST) {
        lua_pushfstring(L, level < LEVELS_MOST ? "\n  and %d more" : "\n  and %d more at least", shown - FRAMES_MOST);
        lua_concat(L, 2);
    }
    return 1;
}
