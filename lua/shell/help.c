/* help.c - the manual at the prompt, which help.lua puts into words; see shell.h. */
#define _DEFAULT_SOURCE
#include <lauxlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shell.h"

static const char source[] =
#include "help.lua.h"
    ;

/* Pushes the function of help.lua, which is made once and kept in the registry. */
static void push_function(lua_State *L)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, source) == LUA_TFUNCTION) {
        return;
    }
    lua_pop(L, 1);
    if (luaL_loadbufferx(L, source, sizeof source - 1, "=help", "t") != LUA_OK) {
        lua_error(L);
    }
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, "egret");
    lua_remove(L, -2);
    lua_call(L, 1, 1);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, source);
}

void shell_help(lua_State *L, int index, int width)
{
    bool given = !lua_isnone(L, index);
    index = lua_absindex(L, index);
    push_function(L);
    lua_pushinteger(L, width);
    if (given) {
        lua_pushvalue(L, index);
    }
    lua_call(L, 1 + given, 1);
}

int shell_columns(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col - 1 : 79;
}

/* help(what): through print, wherever that leads. */
static int help(lua_State *L)
{
    enum { READABLE = 110 };
    int width = (int)lua_tointeger(L, lua_upvalueindex(1));
    width = width ? width : shell_columns();
    luaL_argcheck(L, lua_gettop(L) < 2, 2, "help is asked for one thing");
    lua_settop(L, 1);
    lua_getglobal(L, "print");
    shell_help(L, 1, width < READABLE ? width : READABLE);
    if (lua_isnil(L, -1)) {
        const char *name = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : luaL_typename(L, 1);
        lua_pushfstring(L, "The manual has nothing on %s; help() says what there is.", name);
        lua_replace(L, -2);
    }
    lua_call(L, 1, 0);
    return 0;
}

void shell_open_help(lua_State *L, int width)
{
    lua_pushinteger(L, width);
    lua_pushcclosure(L, help, 1);
    lua_setglobal(L, "help");
}
