/* run.c - what training programs keep, in Lua: parts of savers, rows of journals. */
#include <stdlib.h>
#include <string.h>

#include "lua/bind.h"

/* ---- parts of a saver --------------------------------------------------------------------------------------- */

typedef struct part_function {
    eg_saver_part part;
    eg__lua_callback *state, *load;
} part_function;

typedef struct part_job {
    eg_tensors *map;
    const eg_tensors *from;
} part_job;

/* state(): a table of names and tensors. */
static int run_state(lua_State *L)
{
    part_job *j = lua_touserdata(L, 1);
    lua_call(L, 0, 1);
    if (!lua_istable(L, -1)) {
        return eg__lua_error(L, "state must return a table of names and tensors, not a %s", luaL_typename(L, -1));
    }
    lua_Integer n = eg__lua_push_keys(L, "the name of a part");
    for (lua_Integer k = 1; k <= n; k++) { /* sorted: the same state is the same file */
        lua_rawgeti(L, -1, k);
        const char *name = lua_tostring(L, -1);
        lua_pushvalue(L, -1);
        lua_rawget(L, -4);
        if (eg_tensors_set(j->map, name, eg__lua_tensor(L, -1))) {
            return eg__lua_raise(L);
        }
        lua_pop(L, 2);
    }
    return 0;
}

static eg_tensors *part_state(void *user)
{
    part_function *p = user;
    part_job j = {.map = eg_tensors_new()};
    if (j.map && eg__lua_visit(p->state, run_state, &j)) {
        eg_tensors_free(j.map);
        j.map = NULL;
    }
    return j.map;
}

/* load(table). */
static int run_load(lua_State *L)
{
    part_job *j = lua_touserdata(L, 1);
    int64_t n = eg_tensors_count(j->from);
    lua_createtable(L, 0, (int)n);
    for (int64_t k = 0; k < n; k++) {
        eg__lua_push_tensor(L, eg_tensors_at(j->from, k));
        lua_setfield(L, -2, eg_tensors_name(j->from, k));
    }
    lua_call(L, 1, 0);
    return 0;
}

static eg_status part_load(void *user, const eg_tensors *from)
{
    part_function *p = user;
    part_job j = {.from = from};
    return eg__lua_visit(p->load, run_load, &j);
}

/* saver:add(name, {state = function() return {name = tensor} end, load = function(tensors) end}). */
static int saver_add(lua_State *L)
{
    static const char *const names[] = {"state", "load", NULL};
    EG__LUA_BEGIN(3)
    eg_saver *s = eg__lua_handle(L, 1, &eg__lua_type_saver);
    const char *name = eg__lua_string(L, 2);
    luaL_argcheck(L, name, 2, "the part's name is expected");
    eg__lua_only_names(L, 3, "saver:add", names);
    part_function *p = lua_newuserdatauv(L, sizeof *p, 2);
    p->state = eg__lua_callback_in(L, 3, "saver:add", "state");
    lua_setiuservalue(L, 4, 1);
    p->load = eg__lua_callback_in(L, 3, "saver:add", "load");
    lua_setiuservalue(L, 4, 2);
    p->part = (eg_saver_part){sizeof p->part, part_state, part_load, p};
    eg__lua_keep_part(L, 1, 4);
    EG__LUA_STATUS(eg_saver_add(s, name, &p->part))
    lua_pushvalue(L, 1);
    return 1;
}

/* ---- journals -------------------------------------------------------------------------------------------------- */

/* journal:row("step", 7, "loss", 0.25, "note", "warm"). */
static int journal_row(lua_State *L)
{
    enum { MOST = 64 };
    eg_field fields[MOST];
    int n = (lua_gettop(L) - 1) / 2;
    eg_journal *j = eg__lua_handle(L, 1, &eg__lua_type_journal);
    luaL_argcheck(L, n <= MOST && lua_gettop(L) == 2 * n + 1, 2, "names with their values, at most 64, are expected");
    for (int k = 0; k < n; k++) {
        const char *name = eg__lua_string(L, 2 * k + 2);
        luaL_argcheck(L, name, 2 * k + 2, "a name is expected");
        int at = 2 * k + 3;
        if (lua_isinteger(L, at)) {
            fields[k] = (eg_field)EG_INTEGER(name, lua_tointeger(L, at));
        } else if (lua_type(L, at) == LUA_TNUMBER) {
            fields[k] = (eg_field)EG_REAL(name, lua_tonumber(L, at));
        } else if (lua_isboolean(L, at)) {
            fields[k] = (eg_field)EG_INTEGER(name, lua_toboolean(L, at));
        } else {
            fields[k] = (eg_field)EG_TEXT(name, eg__lua_string(L, at));
        }
    }
    EG__LUA_STATUS(eg_journal_row_with(j, fields, n))
    lua_pushvalue(L, 1);
    return 1;
}

/* On the stack: the module's table. */
void eg__lua_open_runs(lua_State *L)
{
    static const eg__lua_place methods[] = {
        {"saver", "add", saver_add},
        {"journal", "row", journal_row},
        {0},
    };
    eg__lua_set_methods(L, methods);
}
