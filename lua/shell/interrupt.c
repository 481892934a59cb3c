/* interrupt.c - stopping Lua code from outside; see shell.h.
 *
 * A hook that fires at the next instruction raises the error; setting a hook is what Lua allows at
 * any time, in a signal handler too. Hooks belong to one coroutine, so the one that runs has to be
 * known: coroutine.resume, wrap and close are replaced by functions that tell, and the module tells
 * of functions in datasets. */
#include <lauxlib.h>
#include <stdatomic.h>

#include "lua/bind.h"
#include "shell.h"

static _Atomic(lua_State *) running; /* the coroutine that runs; NULL: nothing to stop */
static atomic_int asked;             /* how often shell_interrupt was called in this run */

/* Asked once, it stops once, so that what is to be closed on the way out can be; asked again, at
 * every instruction: the first error may have ended in a pcall. */
static void stop(lua_State *L, lua_Debug *at)
{
    (void)at;
    if (atomic_load(&asked) < 2) {
        lua_sethook(L, NULL, 0, 0);
    }
    lua_pushliteral(L, "interrupted");
    lua_error(L);
}

static void arm(lua_State *L)
{
    lua_sethook(L, stop, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

/* Other hooks are the program's own: they stay. */
static void disarm(lua_State *L)
{
    if (lua_gethook(L) == stop) {
        lua_sethook(L, NULL, 0, 0);
    }
}

bool shell_interrupt(void)
{
    lua_State *L = atomic_load(&running);
    if (L) {
        atomic_fetch_add(&asked, 1);
        arm(L);
    }
    return L != NULL;
}

void shell_run_begin(lua_State *L)
{
    atomic_store(&asked, 0);
    atomic_store(&running, L);
}

bool shell_run_end(lua_State *L)
{
    atomic_store(&running, NULL);
    disarm(L); /* one that came too late */
    return atomic_exchange(&asked, 0) > 0;
}

void shell_stop_others(void)
{
    atomic_store(&asked, 1);
}

/* ---- coroutines ---------------------------------------------------------------------------- */

static lua_State *enter(lua_State *inner)
{
    lua_State *outer = atomic_load(&running);
    if (outer) {
        atomic_store(&running, inner);
    }
    return outer;
}

/* An interruption stops the outer one as well: else a loop around many would go on. */
static void leave(lua_State *outer, lua_State *inner)
{
    if (outer) {
        lua_State *still = inner; /* unless what ran around it has ended meanwhile */
        atomic_compare_exchange_strong(&running, &still, outer);
        disarm(inner);
        if (atomic_load(&asked)) {
            arm(outer);
        }
    }
}

/* Calls the function at index 2 with the arguments behind it while `inner`, which index 1 keeps
 * alive, is the coroutine that runs. */
static int call_inside(lua_State *L, lua_State *inner)
{
    lua_State *outer = enter(inner);
    int status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
    leave(outer, inner);
    return status == LUA_OK ? lua_gettop(L) - 1 : lua_error(L);
}

/* coroutine.resume, and coroutine.close: what the coroutine left to be closed runs in it too. */
static int call_with_coroutine(lua_State *L)
{
    lua_State *inner = lua_tothread(L, 1);
    luaL_argexpected(L, inner, 1, "coroutine");
    lua_pushvalue(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_rotate(L, 1, 2);
    return call_inside(L, inner);
}

/* Upvalues: what coroutine.wrap made, and its coroutine. */
static int call_wrapped(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_rotate(L, 1, 2);
    return call_inside(L, lua_tothread(L, lua_upvalueindex(2)));
}

static int wrap(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    if (!lua_getupvalue(L, -1, 1) || !lua_isthread(L, -1)) {
        lua_settop(L, 2); /* a wrap of another kind: left alone */
        return 1;
    }
    lua_pushcclosure(L, call_wrapped, 2);
    return 1;
}

static void replace(lua_State *L, const char *name, lua_CFunction by)
{
    lua_getfield(L, -1, name);
    lua_pushcclosure(L, by, 1);
    lua_setfield(L, -2, name);
}

/* Of a dataset with several threads the others are to stop too. */
static lua_State *enter_visitor(lua_State *inner)
{
    lua_State *outer = enter(inner);
    if (atomic_load(&asked)) {
        arm(inner);
    }
    return outer;
}

void shell_open_interrupt(lua_State *L)
{
    static const eg__lua_watcher watcher = {enter_visitor, leave};
    eg__lua_watch = &watcher;
    if (lua_getglobal(L, "coroutine") == LUA_TTABLE) {
        replace(L, "resume", call_with_coroutine);
        replace(L, "close", call_with_coroutine);
        replace(L, "wrap", wrap);
    }
    lua_pop(L, 1);
}
