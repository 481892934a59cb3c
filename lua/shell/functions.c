/* functions.c - functions as values: how they are shown, and what is said where one was meant to be
 * called; see shell.h. */
#include <string.h>

#include <lauxlib.h>

#include "shell.h"

/* Pushes how the manual says the function at 1 is called, or nil if it is not the module's. */
static void push_usage(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "egret");
    if (lua_istable(L, -1)) {
        lua_getfield(L, -1, "manual");
        lua_pushvalue(L, 1);
        lua_call(L, 1, 1);
        if (lua_istable(L, -1)) {
            lua_getfield(L, -1, "usage");
            return;
        }
    }
    lua_pushnil(L);
}

/* The same with a tensor's method as one, "x:shape(...)". */
static void push_call(lua_State *L)
{
    push_usage(L);
    const int usage = lua_gettop(L);
    if (lua_isstring(L, usage) && strncmp(lua_tostring(L, usage), "x:", 2) == 0) {
        return;
    }
    if (luaL_getmetatable(L, "egret.tensor") == LUA_TTABLE) {
        lua_getfield(L, -1, "methods");
        for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
            if (lua_rawequal(L, -1, 1) || (lua_iscfunction(L, 1) && lua_tocfunction(L, -1) == lua_tocfunction(L, 1))) {
                lua_pushfstring(L, "x:%s(...)", lua_tostring(L, -2));
                return;
            }
        }
    }
    lua_pushvalue(L, usage);
}

static int function_tostring(lua_State *L)
{
    lua_settop(L, 1);
    push_call(L);
    if (lua_isnil(L, -1)) {
        lua_pushfstring(L, "function: %p", lua_topointer(L, 1));
    } else {
        lua_pushfstring(L, "function: %s", lua_tostring(L, -1));
    }
    return 1;
}

/* Lua's own words, and how it is called. */
static int function_index(lua_State *L)
{
    lua_settop(L, 2);
    push_call(L);
    const char *call = lua_tostring(L, -1), *field = luaL_tolstring(L, 2, NULL);
    return call ? luaL_error(L, "attempt to index a function value: it is to be called, %s", call)
                : luaL_error(L, "attempt to index a function value (field '%s' of it)", field);
}

void shell_open_functions(lua_State *L)
{
    static const luaL_Reg events[] = {{"__tostring", function_tostring}, {"__index", function_index}, {NULL, NULL}};
    lua_pushcfunction(L, function_index);
    if (!lua_getmetatable(L, -1)) {
        luaL_newlib(L, events);
        lua_setmetatable(L, -2);
    }
    lua_settop(L, -2);
}
