/* scripts.c - modules written in Lua that come with this one. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "lua/bind.h"

static const char training[] =
#include "training.lua.h"
    ;

/* seconds(): of a monotonic clock. */
static int seconds(lua_State *L)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    lua_pushnumber(L, (lua_Number)now.tv_sec + 1e-9 * (lua_Number)now.tv_nsec);
    return 1;
}

/* require "egret.run": see training.lua. Its chunk gives the module, as one of a file does. */
int luaopen_egret_run(lua_State *L)
{
    if (luaL_loadbufferx(L, training, sizeof training - 1, "=egret.run", "t") != LUA_OK) {
        return lua_error(L);
    }
    lua_pushcfunction(L, seconds); /* the chunk's argument */
    lua_call(L, 1, 1);
    return 1;
}

void eg__lua_open_scripts(lua_State *L)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, luaopen_egret_run);
    lua_setfield(L, -2, "egret.run");
    lua_pop(L, 1);
}
