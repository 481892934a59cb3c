/* device.c - precision, devices and streams in Lua. */
#include "lua/bind.h"

/* eg.autocast(dtype, f, ...): f(...) with its ops in that precision; its results. */
static int autocast(lua_State *L)
{
    eg__lua_here(L)->L = L;
    eg_dtype dtype = (eg_dtype)eg__lua_enum(L, 1, eg__lua_dtypes);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    eg_clear_error();
    eg_autocast_block block = eg_autocast_begin(dtype);
    EG__LUA_CHECK();
    int failed = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
    eg_autocast_end(&block);
    return failed ? lua_error(L) : lua_gettop(L) - 1;
}

static int device_describe(lua_State *L)
{
    EG__LUA_BEGIN(1)
    eg_device_info info;
    EG__LUA_STATUS(eg_device_describe(eg__lua_handle(L, 1, &eg__lua_type_device), &info))
    eg__lua_push_record(L, eg__lua_layout_device_info, &info);
    return 1;
}

/* eg.use_stream(stream): the one before. A stream in use is not collected. */
static int use_stream(lua_State *L)
{
    static const char current;
    EG__LUA_BEGIN(1)
    eg_stream *before = eg_use_stream(eg__lua_handle(L, 1, &eg__lua_type_stream));
    if (!before) {
        return eg__lua_raise(L);
    }
    lua_pushvalue(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &current);
    lua_settop(L, 0);
    return eg__lua_borrow(L, &eg__lua_type_stream, before);
}

/* On the stack: the module's table. */
void eg__lua_open_devices(lua_State *L)
{
    static const eg__lua_place functions[] = {
        {"", "autocast", autocast},
        {"", "use_stream", use_stream},
        {"", "device_describe", device_describe},
        {0},
    };
    static const eg__lua_place methods[] = {
        {"device", "describe", device_describe},
        {0},
    };
    eg__lua_set_functions(L, functions);
    eg__lua_set_methods(L, methods);
}
