/* lists.c - what Lua gets as tables: ops, totals of a profile, tensors by name. */
#include <stdlib.h>
#include <string.h>

#include <lualib.h>

#include "lua/bind.h"

/* ---- keys -------------------------------------------------------------------------------------------------- */

static int by_bytes(lua_State *L)
{
    size_t a, b;
    const char *s = lua_tolstring(L, 1, &a), *t = lua_tolstring(L, 2, &b);
    int sign = memcmp(s, t, a < b ? a : b);
    lua_pushboolean(L, sign < 0 || (!sign && a < b));
    return 1;
}

lua_Integer eg__lua_push_keys(lua_State *L, const char *what)
{
    lua_Integer n = 0;
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, -3); lua_pop(L, 1)) {
        eg__lua_string_called(L, -2, what);
        lua_pushvalue(L, -2);
        lua_rawseti(L, -4, ++n);
    }
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, LUA_TABLIBNAME);
    lua_getfield(L, -1, "sort");
    lua_pushvalue(L, -4);
    lua_pushcfunction(L, by_bytes);
    lua_call(L, 2, 0);
    lua_pop(L, 2);
    return n;
}

/* ---- ops, profiles, tensors by name ------------------------------------------------------------------------ */

typedef struct infos {
    eg_op_info *of;
    int count, room;
} infos;

static void add_info(const eg_op_info *info, void *user)
{
    infos *all = user;
    if (all->count < all->room) {
        all->of[all->count] = *info;
    }
    all->count++;
}

/* eg.op_walk(): a list with a table for each row of the op table. */
static int op_walk(lua_State *L)
{
    EG__LUA_BEGIN(0)
    infos all = {0};
    eg_op_walk(add_info, &all);
    all.room = all.count;
    all.of = lua_newuserdatauv(L, (size_t)(all.room + 1) * sizeof *all.of, 0);
    all.count = 0;
    eg_op_walk(add_info, &all);
    lua_createtable(L, all.room, 0);
    for (int k = 0; k < all.room; k++) {
        eg__lua_push_record(L, eg__lua_layout_op_info, &all.of[k]);
        lua_rawseti(L, -2, k + 1);
    }
    return 1;
}

/* The next name and tensor of the map, which is upvalue 3. */
static int next_of_map(lua_State *L)
{
    lua_settop(L, 1);
    eg__lua_here(L)->L = L;
    eg_tensors *map = eg__lua_handle(L, lua_upvalueindex(3), &eg__lua_type_tensors);
    lua_Integer i = lua_tointeger(L, lua_upvalueindex(4));
    if (i >= eg_tensors_count(map)) {
        return 0;
    }
    lua_pushinteger(L, i + 1);
    lua_replace(L, lua_upvalueindex(4));
    lua_pushstring(L, eg_tensors_name(map, i));
    eg_scope scope = eg_scope_push();
    eg__lua_box *box = eg__lua_slot(L);
    box->t = eg_keep(eg_tensors_at(map, i));
    eg_scope_pop(scope, NULL);
    return 1 + eg__lua_finish(L, box);
}

/* for name, tensor in eg.each(map) do */
static int each(lua_State *L)
{
    EG__LUA_BEGIN(1)
    luaL_argexpected(L, eg__lua_handle(L, 1, &eg__lua_type_tensors), 1, "tensors");
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_of_map, 4);
    return 1;
}

/* eg.profile_totals(most): a list, of what took longest first. */
static int profile_totals(lua_State *L)
{
    EG__LUA_BEGIN(1)
    int most = lua_isnil(L, 1) ? 1000 : eg__lua_int(L, 1);
    luaL_argcheck(L, most >= 0 && most < 1 << 20, 1, "out of range");
    eg_profile_total *totals = lua_newuserdatauv(L, (size_t)(most + 1) * sizeof *totals, 0);
    int n = eg_profile_totals(totals, most);
    n = n < most ? n : most;
    lua_createtable(L, n, 0);
    for (int k = 0; k < n; k++) {
        eg__lua_push_record(L, eg__lua_layout_profile_total, &totals[k]);
        lua_rawseti(L, -2, k + 1);
    }
    return 1;
}

/* On the stack: the module's table. */
void eg__lua_open_lists(lua_State *L)
{
    static const eg__lua_place functions[] = {
        {"", "op_walk", op_walk},
        {"", "profile_totals", profile_totals},
        {"", "each", each},
        {0},
    };
    eg__lua_set_functions(L, functions);
}
