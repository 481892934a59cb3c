/* handles.c - modules, optimizers, datasets and other things with an owner, as userdata. */
#include <string.h>

#include "lua/bind.h"

static const char known; /* address of the registry's table of handles by pointer, weak */

static void push_known(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &known);
}

eg__lua_hold *eg__lua_hold_at(lua_State *L, int i, const eg__lua_type *type)
{
    eg__lua_hold *hold = lua_touserdata(L, i);
    if (hold && lua_getmetatable(L, i)) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, type);
        bool is = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
        return is ? hold : NULL;
    }
    return NULL;
}

static void expected(lua_State *L, int i, const eg__lua_type *type)
{
    eg__lua_error(L, "bad argument #%d (a %s is expected, got %s)", i, type->name, luaL_typename(L, i));
}

/* Refuses a dtype in place of a device: x:to is for devices. */
static void refuse_dtype(lua_State *L, int i)
{
    const char *word = lua_tostring(L, i), *ours = eg__lua_dtype_hint(word);
    for (int k = 0; k < eg__lua_dtypes->count && !ours; k++) {
        if (strcmp(word, eg__lua_dtypes->words[k].word) == 0) {
            ours = lua_pushfstring(L, "\"%s\"", word);
        }
    }
    if (ours) {
        eg__lua_error(L, "'%s' is a dtype, not a device: use x:cast %s, of a module net:to %s", word, ours, ours);
    }
}

void *eg__lua_handle(lua_State *L, int i, const eg__lua_type *type)
{
    if (lua_isnoneornil(L, i)) {
        return NULL;
    }
    if (type == &eg__lua_type_device && lua_type(L, i) == LUA_TSTRING) {
        refuse_dtype(L, i);
        eg_device *device = eg_device_open(eg__lua_string(L, i));
        return device ? device : (void *)(intptr_t)eg__lua_raise(L);
    }
    eg__lua_hold *hold = eg__lua_hold_at(L, i, type);
    if (!hold) {
        expected(L, i, type);
    }
    if (!hold->p) {
        eg__lua_error(L, "this %s has been closed, or is part of another one", type->name);
    }
    return hold->p;
}

void *eg__lua_handle_to_take(lua_State *L, int i, const eg__lua_type *type)
{
    void *p = eg__lua_handle(L, i, type);
    eg__lua_hold *hold = eg__lua_hold_at(L, i, type);
    if (p && !hold->owned) {
        eg__lua_error(L, "this %s is part of another one already", type->name);
    }
    return p;
}

void *const *eg__lua_handles(lua_State *L, int i, const eg__lua_type *type, int *n)
{
    luaL_checktype(L, i, LUA_TTABLE);
    eg__lua_no_names(L, i);
    *n = (int)luaL_len(L, i);
    void **to = lua_newuserdatauv(L, (size_t)(*n + 1) * sizeof *to, 0);
    for (int k = 0; k < *n; k++) {
        lua_rawgeti(L, i, k + 1);
        to[k] = eg__lua_handle_to_take(L, lua_gettop(L), type);
        if (!to[k]) {
            eg__lua_error(L, "element %d of the list is nil, a %s is expected", k + 1, type->name);
        }
        for (int j = 0; j < k; j++) {
            if (to[j] == to[k]) {
                eg__lua_error(L, "element %d of the list is element %d again", k + 1, j + 1);
            }
        }
        lua_pop(L, 1);
    }
    return to;
}

eg__lua_hold *eg__lua_new_hold(lua_State *L, const eg__lua_type *type)
{
    eg__lua_hold *hold = lua_newuserdatauv(L, sizeof *hold, 2);
    *hold = (eg__lua_hold){type, NULL, false};
    lua_rawgetp(L, LUA_REGISTRYINDEX, type);
    lua_setmetatable(L, -2);
    return hold;
}

int eg__lua_own(lua_State *L, eg__lua_hold *hold)
{
    if (!hold->p) {
        return eg__lua_raise(L);
    }
    hold->owned = true;
    push_known(L);
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -2, hold->p); /* without room it is known by this userdata alone: an error, but no loss */
    lua_pop(L, 1);
    return 1;
}

int eg__lua_borrow(lua_State *L, const eg__lua_type *type, void *p)
{
    if (!p) {
        return eg_last_error()->code ? eg__lua_raise(L) : (lua_pushnil(L), 1);
    }
    push_known(L);
    if (lua_rawgetp(L, -1, p) == LUA_TUSERDATA) {
        return 1;
    }
    eg__lua_hold *hold = eg__lua_new_hold(L, type);
    hold->p = p;
    lua_pushvalue(L, -1);
    lua_rawsetp(L, -4, p);
    if (lua_isuserdata(L, 1) && lua_rawlen(L, 1) == sizeof(eg__lua_hold)) {
        lua_pushvalue(L, 1);
        lua_setiuservalue(L, -2, 1);
    }
    return 1;
}

/* The table of what lives as long as the handle at i: pushes it. */
static void push_parts(lua_State *L, int i)
{
    i = lua_absindex(L, i);
    if (lua_getiuservalue(L, i, 2) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_setiuservalue(L, i, 2);
    }
}

void eg__lua_keep_part(lua_State *L, int whole, int part)
{
    part = lua_absindex(L, part);
    push_parts(L, whole);
    lua_pushvalue(L, part);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_pop(L, 1);
}

/* Calls f for the handles at first..last, and those in lists there; the new owner is on top. */
static void each_taken(lua_State *L, int first, int last, void (*f)(lua_State *L, int owner, int part))
{
    int owner = lua_gettop(L);
    for (int i = first; i <= last; i++) {
        if (lua_istable(L, i)) {
            lua_Integer n = (lua_Integer)lua_rawlen(L, i);
            for (lua_Integer k = 1; k <= n; k++) {
                lua_rawgeti(L, i, k);
                f(L, owner, lua_gettop(L));
                lua_pop(L, 1);
            }
        } else if (lua_isuserdata(L, i) && lua_rawlen(L, i) == sizeof(eg__lua_hold)) {
            f(L, owner, i);
        }
    }
}

static void tie(lua_State *L, int owner, int part)
{
    eg__lua_keep_part(L, owner, part);
    lua_pushvalue(L, owner);
    lua_setiuservalue(L, part, 1);
}

/* Before the call: all that needs memory. */
void eg__lua_taking(lua_State *L, int first, int last)
{
    each_taken(L, first, last, tie);
}

/* After it: a module stays usable as a child, the link of a chain does not. Where the call failed all are gone. */
static void part_is_taken(lua_State *L, int owner, int part)
{
    eg__lua_hold *whole = lua_touserdata(L, owner), *hold = lua_touserdata(L, part);
    hold->owned = false;
    if (!whole->p || hold->type != &eg__lua_type_module) {
        hold->p = NULL;
    }
}

void eg__lua_taken(lua_State *L, int first, int last)
{
    each_taken(L, first, last, part_is_taken);
}

void eg__lua_set_methods(lua_State *L, const eg__lua_place *rows)
{
    for (; rows->name; rows++) {
        for (const eg__lua_type *const *t = eg__lua_types; *t; t++) {
            if (strcmp((*t)->name, rows->space) == 0) {
                lua_rawgetp(L, LUA_REGISTRYINDEX, *t);
                if (strncmp(rows->name, "__", 2) != 0) {
                    lua_getfield(L, -1, "methods");
                    lua_replace(L, -2);
                }
                eg__lua_push_function(L, rows->f);
                lua_setfield(L, -2, rows->name);
                lua_pop(L, 1);
            }
        }
    }
}

/* ---- metatables ------------------------------------------------------------------------------------------ */

/* A program may call this with anything. */
static int handle_gc(lua_State *L)
{
    eg__lua_hold *hold = lua_touserdata(L, 1);
    bool is = hold && luaL_getmetafield(L, 1, "__gc") && lua_tocfunction(L, -1) == handle_gc;
    luaL_argcheck(L, is, 1, "this is nothing to free");
    lua_settop(L, 1);
    bool frees = hold->p && hold->owned && hold->type->free;
    if (frees && eg__lua_defer(L)) {
        return 0;
    }
    void *p = hold->p;
    hold->p = NULL;
    if (frees) {
        EG__LUA_LET_OTHERS(hold->type->free(p);)
    }
    return 0;
}

static int handle_free(lua_State *L)
{
    EG__LUA_BEGIN(1)
    return handle_gc(L);
}

static int handle_tostring(lua_State *L)
{
    eg__lua_hold *hold = lua_touserdata(L, 1);
    lua_pushfstring(L, hold->p ? "%s: %p" : "%s (closed)", hold->type->name, hold->p);
    return 1;
}

static int device_tostring(lua_State *L)
{
    eg__lua_hold *hold = lua_touserdata(L, 1);
    lua_pushstring(L, eg_device_name(hold->p));
    return 1;
}

static void open_type(lua_State *L, const eg__lua_type *type)
{
    lua_newtable(L);
    lua_newtable(L);
    for (const eg__lua_place *m = eg__lua_methods; m->name; m++) {
        if (strcmp(m->space, type->name) == 0) {
            eg__lua_push_function(L, m->f);
            lua_setfield(L, -2, m->name);
        }
    }
    if (type->free && type != &eg__lua_type_module && type != &eg__lua_type_optim) {
        eg__lua_push_function(L, handle_free);
        lua_setfield(L, -2, "free");
        eg__lua_push_function(L, handle_gc);
        lua_setfield(L, -3, "__close");
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "methods");
    lua_setfield(L, -2, "__index");
    eg__lua_push_function(L, handle_gc);
    lua_setfield(L, -2, "__gc");
    eg__lua_push_function(L, type == &eg__lua_type_device ? device_tostring : handle_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pushfstring(L, "egret.%s", type->name);
    lua_setfield(L, -2, "__name");
    lua_pushfstring(L, "egret.%s", type->name);
    lua_pushvalue(L, -2);
    lua_settable(L, LUA_REGISTRYINDEX);
    lua_rawsetp(L, LUA_REGISTRYINDEX, type);
}

void eg__lua_new_weak_table(lua_State *L, const void *key)
{
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

void eg__lua_open_handles(lua_State *L)
{
    eg__lua_new_weak_table(L, &known);
    for (const eg__lua_type *const *t = eg__lua_types; *t; t++) {
        open_type(L, *t);
    }
}
