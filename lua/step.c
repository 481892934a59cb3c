/* step.c - captured steps in Lua. */
#include <stdlib.h>
#include <string.h>

#include "lua/bind.h"

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

/* On the stack: the module's table. */
void eg__lua_open_steps(lua_State *L)
{
    static const eg__lua_place functions[] = {
        {"", "step", step_new},
        {"", "step_new", step_new},
        {0},
    };
    static const eg__lua_place methods[] = {
        {"step", "run", step_run},
        {"step", "__call", step_run},
        {0},
    };
    eg__lua_set_functions(L, functions);
    eg__lua_set_methods(L, methods);
}
