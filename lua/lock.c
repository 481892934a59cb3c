/* lock.c - the way from C into functions of Lua, whichever thread comes. */
#include <string.h>

#include "lua/bind.h"

static const char callbacks; /* address of the registry's table of them, by address, weak */
static const char visitors;  /* and of the coroutines for threads that come */

void eg__lua_open_lock(lua_State *L)
{
    eg__lua_new_weak_table(L, &callbacks);
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &visitors);
}

/* ---- callbacks --------------------------------------------------------------------------------------- */

void *eg__lua_new_callback(lua_State *L, int function, size_t bytes)
{
    function = lua_absindex(L, function);
    luaL_checktype(L, function, LUA_TFUNCTION);
    eg__lua_callback *callback = lua_newuserdatauv(L, bytes, 2);
    memset(callback, 0, bytes);
    callback->c = eg__lua_of(L);
    lua_pushvalue(L, function);
    lua_setiuservalue(L, -2, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &callbacks);
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -2, callback);
    lua_pop(L, 1);
    return callback;
}

eg__lua_callback *eg__lua_callback_in(lua_State *L, int i, const char *what, const char *name)
{
    if (lua_getfield(L, i, name) != LUA_TFUNCTION) {
        eg__lua_error(L, "%s: %s is a function, got %s", what, name, luaL_typename(L, -1));
    }
    eg__lua_callback *callback = eg__lua_new_callback(L, -1, sizeof *callback);
    lua_remove(L, -2);
    return callback;
}

void eg__lua_push_callback(lua_State *L, eg__lua_callback *callback)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &callbacks);
    lua_rawgetp(L, -1, callback);
    lua_remove(L, -2);
}

eg_tensor *eg__lua_hand_over(lua_State *L, int i)
{
    return eg_scope_adopt(eg_keep(eg__lua_tensor(L, i)));
}

/* A coroutine that lives until the state is closed. */
static int new_visitor(lua_State *L)
{
    lua_State *co = lua_newthread(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &visitors);
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -2, co);
    *(lua_State **)lua_touserdata(L, 1) = co;
    return 0;
}

static lua_State *visitor(eg__lua *c)
{
    lua_State *co = NULL;
    if (c->idle_count) {
        return c->idle[--c->idle_count];
    }
    if (!lua_checkstack(c->L, 8)) {
        return NULL;
    }
    lua_pushcfunction(c->L, new_visitor);
    lua_pushlightuserdata(c->L, &co);
    if (lua_pcall(c->L, 1, 0, 0)) {
        lua_pop(c->L, 1);
    }
    return co;
}

/* Calls body(job, function) and puts what goes wrong on record. */
static eg_status protected(lua_State *L, eg__lua_callback *callback, lua_CFunction body, void *job)
{
    if (!lua_checkstack(L, LUA_MINSTACK)) {
        return eg_fail(EG_ENOMEM, "lua", "no memory for the stack");
    }
    int top = lua_gettop(L);
    lua_pushcfunction(L, body);
    lua_pushlightuserdata(L, job);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &callbacks);
    if (lua_rawgetp(L, -1, callback) != LUA_TUSERDATA) {
        lua_settop(L, top);
        return eg_fail(EG_ESTATE, "lua", "the function has been collected");
    }
    lua_getiuservalue(L, -1, 1);
    lua_replace(L, -3);
    lua_pop(L, 1);
    eg_status st = EG_OK;
    if (lua_pcall(L, 2, 0, 0)) {
        const char *words = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
        st = eg_fail(EG_EUSER, "lua", words ? words : "an error that is no string");
    }
    lua_settop(L, top);
    return st;
}

/* Nothing is collected while threads of chains are in Lua: a chain that is garbage would wait for its own thread. */
static void come(eg__lua *c, lua_State *L)
{
    if (!c->foreign++) {
        c->collects = lua_gc(L, LUA_GCISRUNNING);
        lua_gc(L, LUA_GCSTOP);
    }
}

static void go(eg__lua *c, lua_State *L)
{
    if (!--c->foreign && c->collects) {
        lua_gc(L, LUA_GCRESTART);
    }
}

const eg__lua_watcher *eg__lua_watch;

eg_status eg__lua_visit(eg__lua_callback *callback, lua_CFunction body, void *job)
{
    eg__lua *c = callback->c;
    if (eg__lua_locked_here(c)) {
        return protected(c->L, callback, body, job);
    }
    eg__lua_lock(c);
    lua_State *before = c->L, *co = visitor(c);
    eg_status st = EG_ENOMEM;
    if (co) {
        c->L = co;
        come(c, co);
        lua_State *outer = eg__lua_watch ? eg__lua_watch->enter(co) : NULL;
        st = protected(co, callback, body, job);
        if (eg__lua_watch) {
            eg__lua_watch->leave(outer, co);
        }
        go(c, co);
        c->L = before;
        if (c->idle_count < (int)(sizeof c->idle / sizeof *c->idle)) {
            c->idle[c->idle_count++] = co;
        }
    } else {
        eg_fail(EG_ENOMEM, "lua", "no memory for a coroutine");
    }
    eg__lua_unlock(c);
    return st;
}
