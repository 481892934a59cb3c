/* text.c - arguments that are texts. C's end at the first zero. */
#include <string.h>

#include "lua/bind.h"

bool eg__lua_has_zero(lua_State *L, int i)
{
    size_t length;
    const char *s = lua_tolstring(L, i, &length);
    return strlen(s) != length;
}

const char *eg__lua_string(lua_State *L, int i)
{
    const char *s = luaL_optstring(L, i, NULL);
    if (s && eg__lua_has_zero(L, i)) {
        luaL_argerror(L, i, lua_pushfstring(L, "the string has a zero byte, behind '%s'", s));
    }
    return s;
}

const char *eg__lua_string_called(lua_State *L, int i, const char *what)
{
    if (lua_type(L, i) != LUA_TSTRING) {
        eg__lua_error(L, "%s is a %s, not a string", what, luaL_typename(L, i));
    }
    const char *s = lua_tostring(L, i);
    if (eg__lua_has_zero(L, i)) {
        eg__lua_error(L, "%s has a zero byte, behind '%s'", what, s);
    }
    return s;
}
