/* signals.c - the module "egret.signals": scripts of this program stop where it is good to stop; see run/signals.h. */
#include <lauxlib.h>

#include "run/signals.h"
#include "script.h"

static int hold(lua_State *L)
{
    (void)L;
    signals_hold();
    return 0;
}

static int take(lua_State *L)
{
    int number = signals_take();
    if (number) {
        lua_pushinteger(L, number);
    } else {
        lua_pushnil(L);
    }
    return 1;
}

static int release(lua_State *L)
{
    (void)L;
    signals_release();
    return 0;
}

int script_open_signals(lua_State *L)
{
    static const luaL_Reg functions[] = {{"hold", hold}, {"take", take}, {"release", release}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
