/* chunk.c - texts as compiled chunks; see shell.h. */
#include <lauxlib.h>
#include <string.h>

#include "shell.h"

static int load(lua_State *L, const char *text, size_t length, const char *name)
{
    return luaL_loadbufferx(L, text, length, name, "t");
}

/* The compiler was content until the text ended. */
static bool goes_on(lua_State *L)
{
    static const char end[] = "<eof>";
    size_t length, most = sizeof end - 1;
    const char *message = lua_tolstring(L, -1, &length);
    return message && length >= most && strcmp(message + length - most, end) == 0;
}

shell_chunk shell_load(lua_State *L, const char *text, size_t length, const char *name)
{
    lua_pushliteral(L, "return ");
    lua_pushlstring(L, text, length);
    lua_concat(L, 2);
    size_t whole;
    const char *expression = lua_tolstring(L, -1, &whole);
    if (load(L, expression, whole, name) == LUA_OK) {
        lua_remove(L, -2);
        return SHELL_COMPLETE;
    }
    lua_pop(L, 2);
    int status = load(L, text, length, name);
    if (status == LUA_ERRMEM) {
        lua_error(L);
    }
    return status == LUA_OK ? SHELL_COMPLETE : goes_on(L) ? SHELL_UNFINISHED : SHELL_WRONG;
}
