/* replay.c - calls of Lua's functions from C, and what comes of them. */
#include "tests/lua/replay.h"

#include <stdlib.h>
#include <string.h>

#include <lualib.h>

static lua_State *L;
static int base;
static bool failed, nothing; /* a failure is on record; a tensor is NULL */

static void close_state(void)
{
    lua_close(L);
}

static void open_state(void)
{
    L = luaL_newstate();
    luaL_openlibs(L);
    luaL_requiref(L, "egret", luaopen_egret, 0);
    lua_setglobal(L, "eg");
    atexit(close_state);
}

void egt_begin(const char *name)
{
    if (!L) {
        open_state();
    }
    lua_checkstack(L, 64);
    lua_getglobal(L, "eg");
    lua_getfield(L, -1, name);
    lua_replace(L, -2);
    base = lua_gettop(L);
    failed = eg_last_error()->code != EG_OK;
    nothing = false;
}

/* ---- arguments ------------------------------------------------------------------------------------------ */

void egt_push_tensor(const eg_tensor *t)
{
    if (t) {
        eg__lua_push_tensor(L, (eg_tensor *)t);
    } else {
        nothing = true;
        lua_pushnil(L);
    }
}

void egt_push_tensors(eg_tensor *const *t, int n)
{
    lua_createtable(L, n, 0);
    for (int k = 0; k < n; k++) {
        egt_push_tensor(t[k]);
        lua_rawseti(L, -2, k + 1);
    }
}

void egt_push_number(double value)
{
    lua_pushnumber(L, value);
}

void egt_push_integer(int64_t value)
{
    lua_pushinteger(L, value);
}

void egt_push_boolean(bool value)
{
    lua_pushboolean(L, value);
}

void egt_push_string(const char *value)
{
    lua_pushstring(L, value);
}

void egt_push_enum(const eg__lua_enumeration *e, int value)
{
    eg__lua_push_enum(L, e, value);
}

void egt_push_shape(eg_shape shape)
{
    eg__lua_push_shape(L, shape);
}

void egt_push_integers(const int64_t *values, int64_t n)
{
    lua_createtable(L, (int)n, 0);
    for (int64_t k = 0; k < n; k++) {
        lua_pushinteger(L, values[k]);
        lua_rawseti(L, -2, k + 1);
    }
}

void egt_push_axes(eg_axes axes)
{
    int64_t list[EG_MAX_DIMS];
    for (int k = 0; k < axes.count; k++) {
        list[k] = axes.axis[k];
    }
    egt_push_integers(list, axes.count);
}

/* The function of Lua for one of C. */
static void push_unary(eg_tensor *(*c)(eg_tensor *))
{
    for (const egt_alias *a = egt_aliases; a->c; a++) {
        c = a->lua == c ? a->c : c;
    }
    const eg__lua_function *u = eg__lua_unaries;
    while (u->c != c) {
        u++;
    }
    const eg__lua_place *p = eg__lua_functions;
    while (p->f != u->lua) {
        p++;
    }
    lua_getglobal(L, "eg");
    lua_getfield(L, -1, p->name);
    lua_replace(L, -2);
}

static size_t size_of(const eg__lua_field *f)
{
    switch (f->kind) {
    case EG__LUA_INT:
    case EG__LUA_UNSIGNED:
    case EG__LUA_ENUM:
        return sizeof(int);
    case EG__LUA_BOOL:
    case EG__LUA_CHAR:
        return 1;
    case EG__LUA_SHAPE:
        return sizeof(eg_shape);
    case EG__LUA_AXES:
        return sizeof(eg_axes);
    default:
        return 8;
    }
}

static void push_value(const eg__lua_field *f, const char *at)
{
    switch (f->kind) {
    case EG__LUA_DOUBLE:
        lua_pushnumber(L, *(const double *)at);
        break;
    case EG__LUA_BOOL:
        lua_pushboolean(L, *(const bool *)at);
        break;
    case EG__LUA_I64:
    case EG__LUA_U64:
        lua_pushinteger(L, *(const int64_t *)at);
        break;
    case EG__LUA_INT:
    case EG__LUA_UNSIGNED:
        lua_pushinteger(L, *(const int *)at);
        break;
    case EG__LUA_STRING:
        lua_pushstring(L, *(const char *const *)at);
        break;
    case EG__LUA_ENUM:
        eg__lua_push_enum(L, f->of, *(const int *)at);
        break;
    case EG__LUA_SHAPE:
        egt_push_shape(*(const eg_shape *)at);
        break;
    case EG__LUA_AXES:
        egt_push_axes(*(const eg_axes *)at);
        break;
    case EG__LUA_TENSOR:
        egt_push_tensor(*(eg_tensor *const *)at);
        break;
    case EG__LUA_WANTED:
        lua_pushboolean(L, true);
        break;
    case EG__LUA_UNARY:
        push_unary(*(eg_tensor * (*const *)(eg_tensor *)) at);
        break;
    default:
        lua_pushnil(L);
    }
}

static void push_array(const eg__lua_field *f, const char *at)
{
    size_t step = size_of(f) * (size_t)f->inner;
    lua_createtable(L, f->count, 0);
    for (int k = 0; k < f->count; k++) {
        eg__lua_field one = *f;
        one.count = f->inner > 1 ? f->inner : 0;
        one.inner = 1;
        if (one.count) {
            push_array(&one, at + (size_t)k * step);
        } else {
            push_value(&one, at + (size_t)k * step);
        }
        lua_rawseti(L, -2, k + 1);
    }
}

void egt_push_record(const eg__lua_layout *layout, const void *record)
{
    static const char zeros[1024];
    if (!record) {
        lua_pushnil(L);
        return;
    }
    lua_newtable(L);
    for (int k = 0; k < layout->count; k++) {
        const eg__lua_field *f = &layout->fields[k];
        const char *at = (const char *)record + f->offset;
        size_t bytes = size_of(f) * (size_t)(f->count ? f->count * f->inner : 1);
        if (memcmp(at, zeros, bytes) == 0) {
            continue;
        }
        if (f->count) {
            push_array(f, at);
        } else {
            push_value(f, at);
        }
        lua_setfield(L, -2, f->name);
    }
}

/* ---- the call ---------------------------------------------------------------------------------------------- */

/* Lua's error as a record: the code is the one whose words stand behind. */
static void record(const char *text)
{
    eg_status code = EG_EINVAL;
#define FIND(name, value, words)       \
    if (strstr(text, "(" words ")")) { \
        code = name;                   \
    }
    EG_STATUS_LIST(FIND)
#undef FIND
    eg_fail(code, "lua", text);
}

/* Arguments are let go at once: the tests count what is alive. */
static void let_go(int from, int to)
{
    for (int i = from; i <= to; i++) {
        if (eg__lua_is_tensor(L, i)) {
            eg__lua_box *box = lua_touserdata(L, i);
            eg_release(box->t);
            box->t = NULL;
        } else if (lua_istable(L, i)) {
            luaL_checkstack(L, 8, NULL);
            for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
                let_go(lua_gettop(L), lua_gettop(L));
            }
        }
    }
}

bool egt_call(int results)
{
    int n = lua_gettop(L) - base;
    for (int k = 0; k <= n; k++) { /* a second copy below, to be let go */
        lua_pushvalue(L, base + k);
    }
    if (failed && nothing) { /* the first cause stays on record, as it does in C */
        let_go(base + 1, base + n);
        lua_settop(L, base - 1);
        return false;
    }
    bool well = lua_pcall(L, n, results, 0) == LUA_OK;
    let_go(base + 1, base + n);
    if (!well) {
        record(lua_tostring(L, -1));
        lua_settop(L, base - 1);
    } else {
        base += n; /* result k is at base + k */
    }
    return well;
}

static void take_at(eg_tensor **to, int i)
{
    eg__lua_box *box = eg__lua_is_tensor(L, i) ? lua_touserdata(L, i) : NULL;
    eg_tensor *t = box ? box->t : NULL;
    if (box) {
        box->t = NULL;
        t = eg_scope_adopt(t);
    }
    if (to) {
        *to = t;
    } /* else it is the scope's, and nobody's */
}

void egt_take(eg_tensor **to, int k)
{
    take_at(to, base + k);
}

void egt_take_list(eg_tensor **to, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        lua_rawgeti(L, base + 1, k + 1);
        take_at(&to[k], lua_gettop(L));
        lua_pop(L, 1);
    }
}

void egt_take_field(eg_tensor **to, const char *name)
{
    lua_getfield(L, base + 1, name);
    take_at(to, lua_gettop(L));
    lua_pop(L, 1);
}

void egt_end(void)
{
    lua_settop(L, 0);
}
