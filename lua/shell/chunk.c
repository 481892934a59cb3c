/* chunk.c - texts as compiled chunks; see shell.h. */
#include <lauxlib.h>
#include <string.h>

#include "shell.h"

static int load(lua_State *L, const char *text, size_t length, const char *name)
{
    return luaL_loadbufferx(L, text, length, name, "t");
}

static bool ends_in(const char *text, size_t length, const char *end)
{
    size_t most = strlen(end);
    return length >= most && memcmp(text + length - most, end, most) == 0;
}

/* The compiler was content until the text ended. No later line ends a quoted string, but after a
 * backslash. */
static bool goes_on(lua_State *L, const char *text, size_t length)
{
    size_t bytes;
    const char *message = lua_tolstring(L, -1, &bytes);
    return message && ends_in(message, bytes, "<eof>") &&
           (!ends_in(message, bytes, "unfinished string near <eof>") || ends_in(text, length, "\\"));
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
    return status == LUA_OK ? SHELL_COMPLETE : goes_on(L, text, length) ? SHELL_UNFINISHED : SHELL_WRONG;
}
