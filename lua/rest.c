/* rest.c - what the rules of generate.py do not reach: steps, savers' own parts, journals, autocast, lists. */
#include <stdlib.h>
#include <string.h>

#include "lua/bind.h"

/* ---- captured steps ---------------------------------------------------------------------------------------- */

typedef struct step_function {
    eg__lua_callback base;
    int results;
} step_function;

typedef struct step_job {
    eg_tensor *const *in;
    int nin;
    eg_tensor **out;
    int nout;
} step_job;

static int run_step(lua_State *L)
{
    step_job *j = lua_touserdata(L, 1);
    luaL_checkstack(L, j->nin + j->nout + 4, "arguments");
    int f = lua_gettop(L);
    for (int k = 0; k < j->nin; k++) {
        eg__lua_push_tensor(L, j->in[k]);
    }
    lua_call(L, j->nin, j->nout);
    for (int k = 0; k < j->nout; k++) {
        j->out[k] = lua_isnil(L, f + k) ? NULL : eg__lua_hand_over(L, f + k);
    }
    return 0;
}

static eg_status step_f(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    step_job j = {in, nin, out, nout};
    return eg__lua_visit(user, run_step, &j);
}

/* eg.step(f, {results = 1, device = , ...}): f(tensors...) as one piece of work; step(tensors...) does it. */
static int step_new(lua_State *L)
{
    EG__LUA_BEGIN(2)
    luaL_checktype(L, 1, LUA_TFUNCTION);
    int64_t results = 1;
    if (lua_istable(L, 2)) {
        lua_newtable(L);
        for (lua_pushnil(L); lua_next(L, 2);) {
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_rawset(L, 3);
        }
        lua_replace(L, 2);
        lua_getfield(L, 2, "results");
        results = lua_isnil(L, -1) ? 1 : eg__lua_integer_called(L, -1, "results");
        luaL_argcheck(L, results >= 0 && results <= 16, 2, "0..16 results are possible");
        lua_pop(L, 1);
        lua_pushnil(L);
        lua_setfield(L, 2, "results");
    }
    eg_step_options o;
    eg__lua_record(L, 2, eg__lua_layout_step, &o);
    step_function *f = eg__lua_new_callback(L, 1, sizeof *f);
    f->results = (int)results;
    int callback = lua_gettop(L);
    eg__lua_hold *hold = eg__lua_new_hold(L, &eg__lua_type_step);
    lua_pushvalue(L, callback);
    lua_setiuservalue(L, -2, 1);
    hold->p = eg_step_new_with(step_f, f, &o);
    return eg__lua_own(L, hold);
}

/* step(tensors...), step:run(tensors...). */
static int step_run(lua_State *L)
{
    eg__lua_here(L)->L = L;
    eg_step *step = eg__lua_handle(L, 1, &eg__lua_type_step);
    luaL_argcheck(L, step != NULL, 1, "a step is expected");
    int n = lua_gettop(L) - 1;
    lua_getiuservalue(L, 1, 1);
    int results = ((step_function *)lua_touserdata(L, -1))->results;
    lua_pop(L, 1);
    eg_tensor **in = eg__lua_room(L, n), *out[16] = {0};
    for (int k = 0; k < n; k++) {
        in[k] = eg__lua_tensor(L, k + 2);
    }
    eg__lua_box *boxes[16];
    luaL_checkstack(L, results + 4, "results");
    for (int k = 0; k < results; k++) {
        boxes[k] = eg__lua_slot(L);
    }
    eg_scope scope = eg_scope_push();
    eg_status st = eg_step_run(step, in, n, out, results);
    for (int k = 0; !st && k < results; k++) {
        boxes[k]->t = eg_keep(out[k]);
    }
    eg_scope_pop(scope, NULL);
    EG__LUA_STATUS(st)
    eg__lua_owe(eg__lua_here(L), L, 1 << 16);
    return results;
}

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
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *name = eg__lua_string_called(L, -2, "the name of a part");
        if (eg_tensors_set(j->map, name, eg__lua_tensor(L, -1))) {
            return eg__lua_raise(L);
        }
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

/* ---- precision, devices, streams --------------------------------------------------------------------------------- */

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

/* ---- lists ------------------------------------------------------------------------------------------------------ */

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
void eg__lua_open_rest(lua_State *L)
{
    static const eg__lua_place functions[] = {
        {"", "step", step_new}, {"", "step_new", step_new}, {"", "autocast", autocast}, {"", "use_stream", use_stream},
        {"", "op_walk", op_walk}, {"", "profile_totals", profile_totals}, {"", "device_describe", device_describe},
        {"", "each", each}, {0},
    };
    static const eg__lua_place methods[] = {
        {"step", "run", step_run}, {"step", "__call", step_run}, {"saver", "add", saver_add},
        {"journal", "row", journal_row}, {"device", "describe", device_describe}, {0},
    };
    eg__lua_set_functions(L, functions);
    eg__lua_set_methods(L, methods);
}
