/* open.c - the module's table. */
#include "lua/bind.h"
#include "lua/show/show.h"

int luaopen_egret(lua_State *L)
{
    eg__lua *c = eg__lua_new_state(L);
    luaL_newmetatable(L, "egret.tensor");
    c->tensor_meta = lua_topointer(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &c->tensor_meta);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, "egret");
    eg__lua_set_functions(L, eg__lua_functions);
    for (const eg__lua_word *w = eg__lua_constants; w->word; w++) {
        lua_pushinteger(L, (lua_Integer)w->value);
        lua_setfield(L, -2, w->word);
    }
    for (int i = 0; i < eg__lua_dtypes->count; i++) {
        lua_pushstring(L, eg__lua_dtypes->words[i].word);
        lua_setfield(L, -2, eg__lua_dtypes->words[i].word);
    }
    eg__lua_open_tensor(L);
    eg__lua_open_handles(L);
    eg__lua_open_lock(L);
    eg__lua_open_tape(L);
    eg__lua_open_modules(L);
    eg__lua_open_data(L);
    eg__lua_open_steps(L);
    eg__lua_open_runs(L);
    eg__lua_open_devices(L);
    eg__lua_open_lists(L);
    eg__lua_open_decoding(L);
    eg__lua_open_json(L);
    eg__lua_open_show(L);
    eg__lua_open_manual(L);
    eg__lua_open_scripts(L);
    eg__lua_open_hints(L);
    return 1;
}
