/* modules.c - modules written in Lua:
 *
 *     local Block = function(channels)
 *         return eg.module {
 *             conv = eg.nn.conv2d(channels, channels, {kernel = 3, padding = eg.SAME}),
 *             scale = eg.ones{channels, 1, 1}:requires_grad(),
 *             forward = function(self, x) return (x + self.conv(x) * self.scale):relu() end,
 *         }
 *     end
 *
 * Modules among the fields are children, parameters its own, tensors in `buffers` its buffers, in the order of their
 * names; everything else is left to the functions. self.training is true in train mode, false in eval mode. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "lua/bind.h"

typedef struct member {
    enum { CHILD, PARAMETER, BUFFER } what;
    char *name;
    void *p; /* eg_module or eg_tensor, owned */
} member;

typedef struct lua_module {
    eg_module base;
    eg__lua_callback *forward; /* held by the handle */
    member *members;
    int count;
} lua_module;

typedef struct forward_job {
    eg_module *m;
    eg_tensor *x, *y;
} forward_job;

/* forward(self, x): one tensor. */
static int run_forward(lua_State *L)
{
    forward_job *j = lua_touserdata(L, 1);
    int f = lua_gettop(L);
    eg__lua_borrow(L, &eg__lua_type_module, j->m); /* known, so this is the handle with the fields */
    lua_replace(L, f + 1);
    lua_settop(L, f + 1);
    eg__lua_push_tensor(L, j->x);
    lua_call(L, 2, 1);
    j->y = eg__lua_hand_over(L, -1);
    return 0;
}

static eg_tensor *forward(eg_module *m, eg_tensor *x)
{
    forward_job j = {.m = m, .x = x};
    return eg__lua_visit(((lua_module *)m)->forward, run_forward, &j) ? NULL : j.y;
}

static void name_members(eg_module *m, eg_members *members)
{
    lua_module *l = (lua_module *)m;
    for (int k = 0; k < l->count; k++) {
        member *e = &l->members[k];
        if (e->what == CHILD) {
            eg_member_child(members, e->name, (eg_module **)&e->p);
        } else if (e->what == PARAMETER) {
            eg_member_parameter(members, e->name, (eg_tensor **)&e->p);
        } else {
            eg_member_buffer(members, e->name, (eg_tensor **)&e->p);
        }
    }
}

static void free_members(eg_module *m)
{
    lua_module *l = (lua_module *)m;
    for (int k = 0; k < l->count; k++) {
        free(l->members[k].name);
    }
    free(l->members);
    l->members = NULL;
    l->count = 0;
}

static const eg_module_kind kind = {
    .size = sizeof kind, .name = "lua", .forward = forward, .members = name_members, .free = free_members};

/* ---- making one --------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const member *)a)->name, ((const member *)b)->name);
}

/* Members among the fields of the table at t: CHILD and PARAMETER, or all as BUFFER. Fills to, unless it is NULL. */
static int find_members(lua_State *L, int t, bool buffers, member *to)
{
    int n = 0;
    for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING) {
            continue;
        }
        int what = -1;
        void *p = NULL;
        if (eg__lua_is_tensor(L, -1)) {
            p = eg__lua_tensor(L, -1);
            what = buffers ? BUFFER : eg_is_parameter(p) ? PARAMETER : -1;
        } else if (!buffers && eg__lua_hold_at(L, lua_gettop(L), &eg__lua_type_module)) {
            p = eg__lua_handle_to_take(L, lua_gettop(L), &eg__lua_type_module);
            what = CHILD;
        }
        if (what >= 0) {
            if (to) {
                to[n] = (member){what, (char *)eg__lua_string_called(L, -2, "the name of a member"), p};
            }
            n++;
        }
    }
    return n;
}

/* The module in C, of members whose names are Lua's; NULL: the record says why. *taken: children are no longer their
 * handles', but the module's or gone. */
static lua_module *build(const member *members, int n, bool *taken)
{
    lua_module *m = eg_module_new(sizeof *m, &kind);
    if (!m) {
        return NULL;
    }
    m->members = calloc((size_t)n + 1, sizeof *m->members);
    if (!m->members) {
        eg_fail(EG_ENOMEM, "eg.module", "no memory for the members");
        eg_module_free(&m->base);
        return NULL;
    }
    for (int k = 0; k < n; k++) {
        char *name = strdup(members[k].name);
        if (!name) {
            eg_fail(EG_ENOMEM, "eg.module", "no memory for a name");
            m->count = 0; /* children are still their handles' */
            for (int j = 0; j < k; j++) {
                if (members[j].what != CHILD) {
                    eg_release(members[j].p);
                }
                free(m->members[j].name);
            }
            eg_module_free(&m->base);
            return NULL;
        }
        m->members[k] = (member){members[k].what, name, members[k].p};
        if (members[k].what != CHILD) {
            eg_keep(members[k].p);
        }
    }
    m->count = n;
    *taken = true;
    return (lua_module *)eg_module_finish(&m->base);
}

/* eg.module(fields). */
static int module_new(lua_State *L)
{
    EG__LUA_BEGIN(1)
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argcheck(L, !eg__lua_says(L, 1, "training"), 1, "training is set by net:train() and net:eval()");
    lua_getfield(L, 1, "buffers");
    bool buffers = lua_istable(L, 2);
    int n = find_members(L, 1, false, NULL), nb = buffers ? find_members(L, 2, true, NULL) : 0;
    member *members = lua_newuserdatauv(L, (size_t)(n + nb + 1) * sizeof *members, 0);
    find_members(L, 1, false, members);
    if (buffers) {
        find_members(L, 2, true, members + n);
    }
    qsort(members, (size_t)(n + nb), sizeof *members, by_name);
    eg__lua_hold *hold = eg__lua_new_hold(L, &eg__lua_type_module);
    int handle = lua_gettop(L);
    lua_newtable(L); /* what lives with it: its fields, and what takes no part in them */
    for (lua_pushnil(L); lua_next(L, 1);) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
    lua_getfield(L, 1, "forward");
    eg__lua_callback *callback = NULL;
    if (!lua_isnil(L, -1)) {
        callback = eg__lua_new_callback(L, -1, sizeof *callback);
        lua_rawseti(L, -3, 1);
    }
    lua_pop(L, 1);
    lua_setiuservalue(L, handle, 2);
    lua_settop(L, handle);
    luaL_checkstack(L, n + 8, "members");
    int first = handle + 1;
    for (lua_pushnil(L); lua_next(L, 1);) { /* children one behind the other, to be tied */
        if (eg__lua_hold_at(L, lua_gettop(L), &eg__lua_type_module)) {
            lua_insert(L, -2);
        } else {
            lua_pop(L, 1);
        }
    }
    int last = lua_gettop(L);
    lua_pushvalue(L, handle);
    eg__lua_taking(L, first, last);
    bool taken = false;
    lua_module *m = build(members, n + nb, &taken);
    if (m) {
        m->forward = callback;
        hold->p = &m->base;
    }
    if (taken) {
        eg__lua_taken(L, first, last);
    }
    return eg__lua_own(L, hold);
}

/* ---- using them ------------------------------------------------------------------------------------------------ */

/* m(x, ...), m:forward(x, ...). One written in Lua may take and give what it likes. */
static int module_call(lua_State *L)
{
    eg__lua_here(L)->L = L;
    eg_module *m = eg__lua_handle(L, 1, &eg__lua_type_module);
    luaL_argcheck(L, m != NULL, 1, "a module is expected");
    if (m->kind == &kind) {
        lua_getiuservalue(L, 1, 2);
        lua_getfield(L, -1, "forward");
        luaL_argcheck(L, lua_isfunction(L, -1), 1, "this module has no forward");
        lua_replace(L, -2);
        lua_insert(L, 1);
        lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
        return lua_gettop(L);
    }
    EG__LUA_BEGIN(2)
    eg_tensor *x = eg__lua_argument(L, 2);
    luaL_argcheck(L, x != NULL, 2, "a tensor is expected, got nil");
    EG__LUA_TENSOR(eg_module_forward(m, x));
}

/* list[i]: the i-th part of a sequence or a list, from 1, or from -1 backwards; nil beyond, so that ipairs ends. */
static int module_part(lua_State *L)
{
    eg__lua_here(L)->L = L;
    eg_module *m = eg__lua_handle(L, 1, &eg__lua_type_module);
    lua_Integer i = lua_tointeger(L, 2), n = eg_module_count(m);
    if (n < 0) {
        return eg__lua_raise(L);
    }
    if (i == 0 || i > n || i < -n) {
        return 0;
    }
    return eg__lua_borrow(L, &eg__lua_type_module, eg_module_at(m, (int)(i > 0 ? i - 1 : i)));
}

/* Methods, then the mode, then fields. */
static int module_index(lua_State *L)
{
    if (lua_isinteger(L, 2)) {
        return module_part(L);
    }
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(3)) != LUA_TNIL) {
        return 1;
    }
    eg__lua_hold *hold = eg__lua_hold_at(L, 1, &eg__lua_type_module);
    eg_module *m = hold ? hold->p : NULL;
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    if (m && strcmp(name, "training") == 0) {
        lua_pushboolean(L, m->training);
        return 1;
    }
    if (lua_getiuservalue(L, 1, 2) == LUA_TTABLE) {
        lua_pushvalue(L, 2);
        if (lua_rawget(L, -2) != LUA_TNIL) {
            return 1;
        }
    }
    return eg__lua_no_name(L, "a module has", name, m && m->kind == &kind); /* whose fields may be any */
}

/* Fields may be set and changed, but not members: C knows those. */
static int module_newindex(lua_State *L)
{
    eg__lua_hold *hold = eg__lua_hold_at(L, 1, &eg__lua_type_module);
    eg_module *m = hold ? hold->p : NULL;
    luaL_argcheck(L, m && m->kind == &kind, 1, "only modules made by eg.module have fields to set");
    luaL_argcheck(L, lua_type(L, 2) == LUA_TSTRING, 2, "fields go by names");
    luaL_argcheck(L, strcmp(lua_tostring(L, 2), "training") != 0, 2, "training is set by net:train() and net:eval()");
    bool of_c = eg__lua_hold_at(L, 3, &eg__lua_type_module) ||
                (eg__lua_is_tensor(L, 3) && eg_is_parameter(eg__lua_tensor(L, 3)));
    luaL_argcheck(L, !of_c, 3, "modules and parameters are given to eg.module");
    lua_getiuservalue(L, 1, 2);
    lua_insert(L, 2);
    lua_rawset(L, 2);
    return 0;
}

/* Its kind and, of a sequence or a list, those of its parts, one behind the other. */
static void describe(luaL_Buffer *b, eg_module *m, int depth)
{
    luaL_addstring(b, m->kind->name);
    int n = depth < 2 ? eg_module_count(m) : 0;
    for (int k = 0; k < n; k++) {
        luaL_addstring(b, k ? ", " : " {");
        describe(b, eg_module_at(m, k), depth + 1);
    }
    luaL_addstring(b, n > 0 ? "}" : "");
}

/* "sequential {linear, activation, linear}" */
static int module_tostring(lua_State *L)
{
    eg__lua_hold *hold = eg__lua_hold_at(L, 1, &eg__lua_type_module);
    if (!hold || !hold->p) {
        lua_pushliteral(L, "module (gone)");
        return 1;
    }
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    describe(&b, hold->p, 0);
    eg_clear_error(); /* most have no parts to count */
    luaL_pushresult(&b);
    return 1;
}

/* #net: how many children a sequence or a list has. */
static int module_len(lua_State *L)
{
    EG__LUA_BEGIN(2) /* Lua gives the operand twice */
    eg_clear_error();
    int n = eg_module_count(eg__lua_handle(L, 1, &eg__lua_type_module));
    EG__LUA_CHECK();
    lua_pushinteger(L, n);
    return 1;
}

/* On the stack: the module's table. */
void eg__lua_open_modules(lua_State *L)
{
    static const eg__lua_place functions[] = {{"", "module", module_new}, {"nn", "module", module_new}, {0}};
    static const eg__lua_place methods[] = {
        {"module", "forward", module_call},        {"module", "__call", module_call},
        {"module", "__len", module_len},           {"module", "__newindex", module_newindex},
        {"module", "__tostring", module_tostring}, {0},
    };
    eg__lua_set_functions(L, functions);
    eg__lua_set_methods(L, methods);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &eg__lua_type_module);
    lua_pushlightuserdata(L, eg__lua_of(L));
    lua_rawgetp(L, LUA_REGISTRYINDEX, &eg__lua_of(L)->tensor_meta);
    lua_getfield(L, -3, "methods");
    lua_pushcclosure(L, module_index, 3);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}
