/* state.c - what all functions share: the state and its lock, errors, and when to collect. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lua/bind.h"

static const char key; /* of the registry: its address */

eg__lua *eg__lua_of(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &key);
    eg__lua *c = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return c;
}

/* ---- the lock ---------------------------------------------------------------------------------------- */

static uintptr_t self(void)
{
    return (uintptr_t)pthread_self();
}

void eg__lua_lock(eg__lua *c)
{
    pthread_mutex_lock(&c->lock);
    atomic_store(&c->holder, self());
}

void eg__lua_unlock(eg__lua *c)
{
    atomic_store(&c->holder, 0);
    pthread_mutex_unlock(&c->lock);
}

bool eg__lua_locked_here(eg__lua *c)
{
    return atomic_load(&c->holder) == self();
}

/* ---- functions --------------------------------------------------------------------------------------- */

void eg__lua_push_function(lua_State *L, lua_CFunction f)
{
    eg__lua *c = eg__lua_of(L);
    lua_pushlightuserdata(L, c);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &c->tensor_meta);
    lua_pushcclosure(L, f, 2);
}

void eg__lua_set_functions(lua_State *L, const eg__lua_place *rows)
{
    for (; rows->name; rows++) {
        if (*rows->space) {
            luaL_getsubtable(L, -1, rows->space);
        } else {
            lua_pushvalue(L, -1);
        }
        eg__lua_push_function(L, rows->f);
        lua_setfield(L, -2, rows->name);
        lua_pop(L, 1);
    }
}

/* ---- errors ------------------------------------------------------------------------------------------ */

/* "script.lua:3: " of the innermost function that is Lua. */
static void push_place(lua_State *L)
{
    lua_Debug d;
    for (int level = 0; lua_getstack(L, level, &d); level++) {
        lua_getinfo(L, "Sl", &d);
        if (d.currentline > 0) {
            lua_pushfstring(L, "%s:%d: ", d.short_src, d.currentline);
            return;
        }
    }
    lua_pushliteral(L, "");
}

int eg__lua_error(lua_State *L, const char *words, ...)
{
    va_list values;
    va_start(values, words);
    push_place(L);
    lua_pushvfstring(L, words, values);
    va_end(values);
    lua_concat(L, 2);
    return lua_error(L);
}

/* The number of the first argument that is nil, of the function that runs; 0: none. */
static int first_nil(lua_State *L)
{
    for (int i = 1; i <= lua_gettop(L) && i < 10; i++) {
        if (lua_isnil(L, i)) {
            return i;
        }
    }
    return 0;
}

int eg__lua_raise(lua_State *L)
{
    eg_error e = *eg_last_error();
    eg_clear_error();
    size_t length = strlen(e.message);
    bool null = strcmp(e.message, "a NULL tensor was given") == 0 ||
                (length > 8 && strcmp(e.message + length - 8, " is NULL") == 0);
    int i = !e.code || null ? first_nil(L) : 0;
    if (i) {
        return luaL_argerror(L, i, "value expected, got nil");
    }
    if (!e.code) {
        return eg__lua_error(L, "there is no result");
    }
    push_place(L);
    if (e.code == EG_EUSER && strcmp(e.op, "lua") == 0) { /* says where it was itself */
        lua_pushstring(L, e.message);
        return lua_error(L);
    }
    lua_pushfstring(L, "%s: %s (%s)", e.op, e.message, eg_status_words(e.code));
    lua_concat(L, 2);
    return lua_error(L);
}

/* ---- the collector -------------------------------------------------------------------------------------- */

/* Lua sees a tensor as a few words. So it is told to collect when as many bytes of tensors have been made as were in
 * use when it was done last, sooner where memory has a cap; and when many have been made, however small: what was
 * just freed is in the cache, which is worth more than a collection of a small heap costs. */
enum { LEAST_BYTES = 64 << 20, LEAST_COUNT = 4096, COUNT_PER_KB = 8, STEP_BYTES = 4 << 20 };

static const char deferred; /* address of the registry's list of objects to finalize */

bool eg__lua_defer(lua_State *L)
{
    if (!eg__lua_of(L)->foreign) {
        return false;
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, &deferred);
    lua_pushvalue(L, 1);
    lua_rawseti(L, -2, ++eg__lua_of(L)->deferred);
    lua_pop(L, 1);
    return true;
}

/* Calls the finalizers that had to wait. */
static void catch_up(eg__lua *c, lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &deferred);
    while (c->deferred) {
        lua_rawgeti(L, -1, c->deferred);
        lua_pushnil(L);
        lua_rawseti(L, -3, c->deferred--);
        if (luaL_getmetafield(L, -1, "__gc")) {
            lua_insert(L, -2);
            lua_call(L, 1, 0);
        } else {
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
}

void eg__lua_relock(lua_State *L)
{
    eg__lua *c = eg__lua_here(L);
    eg__lua_lock(c);
    c->L = L;
    if (c->deferred && !c->foreign && lua_checkstack(L, LUA_MINSTACK)) {
        catch_up(c, L);
    }
}

static void collect(eg__lua *c, lua_State *L)
{
    lua_gc(L, LUA_GCCOLLECT);
    int64_t count = (int64_t)lua_gc(L, LUA_GCCOUNT) * COUNT_PER_KB;
    eg_memory m = eg_memory_stats();
    c->bytes_left = m.live_bytes > LEAST_BYTES ? m.live_bytes : LEAST_BYTES;
    c->count_left = count > LEAST_COUNT ? count : LEAST_COUNT;
    if (m.limit_bytes) {
        int64_t room = m.limit_bytes > m.live_bytes ? (m.limit_bytes - m.live_bytes) / 4 : 0;
        c->bytes_left = room < c->bytes_left ? room : c->bytes_left;
    }
    c->bytes_limit = c->bytes_left;
}

void eg__lua_step_begins(eg__lua *c, lua_State *L)
{
    if (c->bytes_limit - c->bytes_left > STEP_BYTES && !c->foreign && lua_gc(L, LUA_GCISRUNNING)) {
        collect(c, L);
    }
}

void eg__lua_owe(eg__lua *c, lua_State *L, int64_t bytes)
{
    c->bytes_left -= bytes;
    if ((--c->count_left <= 0 || c->bytes_left <= 0) && !c->foreign && lua_gc(L, LUA_GCISRUNNING)) {
        collect(c, L);
    }
}

bool eg__lua_made_room(lua_State *L)
{
    if (eg_last_error()->code != EG_ENOMEM) {
        return false;
    }
    collect(eg__lua_here(L), L);
    eg_clear_error();
    return true;
}

/* ---- a state's ------------------------------------------------------------------------------------------- */

static int state_gc(lua_State *L)
{
    eg__lua *c = lua_touserdata(L, 1);
    eg__lua_unlock(c);
    pthread_mutex_destroy(&c->lock);
    return 0;
}

eg__lua *eg__lua_new_state(lua_State *L)
{
    eg__lua *c = lua_newuserdatauv(L, sizeof *c, 0);
    memset(c, 0, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    c->L = L;
    c->bytes_left = c->bytes_limit = LEAST_BYTES;
    c->count_left = LEAST_COUNT;
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, state_gc);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &deferred);
    eg__lua_lock(c);
    return c;
}
