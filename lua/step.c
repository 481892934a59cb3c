/* step.c - functions of several tensors and results in Lua: captured steps, and ONNX models that are written of them.
 */
#include <stdlib.h>
#include <string.h>

#include <egret/onnx.h>

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

/* Replaces the options at a place of the stack by a copy without `results`, which is how many there are: 1 if nothing
 * is said. */
static int take_results(lua_State *L, int at, int least, int most)
{
    int64_t results = 1;
    if (lua_istable(L, at)) {
        lua_newtable(L);
        const int copy = lua_gettop(L);
        for (lua_pushnil(L); lua_next(L, at);) {
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_rawset(L, copy);
        }
        lua_replace(L, at);
        lua_getfield(L, at, "results");
        results = lua_isnil(L, -1) ? 1 : eg__lua_integer_called(L, -1, "results");
        if (results < least || results > most) {
            return luaL_argerror(L, at, lua_pushfstring(L, "%d..%d results are possible", least, most));
        }
        lua_pop(L, 1);
        lua_pushnil(L);
        lua_setfield(L, at, "results");
    }
    return (int)results;
}

/* eg.step(f, {results = 1, device = , ...}): f(tensors...) as one piece of work; step(tensors...) does it. */
static int step_new(lua_State *L)
{
    EG__LUA_BEGIN(2)
    luaL_checktype(L, 1, LUA_TFUNCTION);
    const int results = take_results(L, 2, 0, 16);
    eg_step_options o;
    eg__lua_record(L, 2, eg__lua_layout_step, &o);
    step_function *f = eg__lua_new_callback(L, 1, sizeof *f);
    f->results = results;
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

static eg_status written_f(eg_tensor *const *in, int nin, eg_tensor **out, int nout, void *user)
{
    return step_f(user, in, nin, out, nout);
}

/* eg.onnx_save_function(f, inputs, path, {results = 1, named = , ...}): what f(inputs...) computes as an ONNX model, in
 * which the tensors of the map `named` have their names. */
static int onnx_save_function(lua_State *L)
{
    EG__LUA_BEGIN(4)
    luaL_checktype(L, 1, LUA_TFUNCTION);
    int n;
    eg_tensor *const *in = eg__lua_tensors(L, 2, &n);
    const char *path = eg__lua_string(L, 3);
    const int results = take_results(L, 4, 1, 64);
    const eg_tensors *named = NULL;
    if (lua_istable(L, 4)) {
        lua_getfield(L, 4, "named"); /* stays on the stack */
        named = eg__lua_handle(L, lua_gettop(L), &eg__lua_type_tensors);
        lua_pushnil(L);
        lua_setfield(L, 4, "named");
    }
    eg_onnx_save_options o;
    eg__lua_record(L, 4, eg__lua_layout_onnx_save, &o);
    eg__lua_callback *f = eg__lua_new_callback(L, 1, sizeof *f);
    EG__LUA_STATUS(eg_onnx_save_function_with(written_f, f, named, in, n, results, path, &o))
    return 0;
}

/* On the stack: the module's table. */
void eg__lua_open_steps(lua_State *L)
{
    static const eg__lua_place functions[] = {
        {"", "step", step_new},
        {"", "step_new", step_new},
        {"", "onnx_save_function", onnx_save_function},
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
