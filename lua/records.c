/* records.c - tables of Lua as structs of C, options above all, and back: by layouts made from the headers. */
#include <limits.h>
#include <string.h>

#include "lua/bind.h"

static void read_field(lua_State *L, const eg__lua_field *f, char *to, char *record);

/* An array: of records or shapes a list, of numbers a list of up to f->count, or nested lists of f->inner. */
static void read_array(lua_State *L, const eg__lua_field *f, char *to)
{
    int value = lua_gettop(L), n = eg__lua_length(L, value, f->count);
    size_t step = f->kind == EG__LUA_INT ? sizeof(int) : f->kind == EG__LUA_SHAPE ? sizeof(eg_shape) : sizeof(int64_t);
    for (int k = 0; k < n; k++) {
        if (lua_type(L, value) == LUA_TNUMBER) {
            lua_pushvalue(L, value);
        } else {
            lua_rawgeti(L, value, k + 1);
        }
        eg__lua_field one = *f;
        one.count = f->inner > 1 ? f->inner : 0;
        one.inner = 1;
        char *at = to + (size_t)k * step * (size_t)f->inner;
        if (one.count) {
            read_array(L, &one, at);
        } else {
            read_field(L, &one, at, NULL);
        }
        lua_settop(L, value);
    }
}

static double want_number(lua_State *L, const eg__lua_field *f)
{
    int is;
    double value = lua_tonumberx(L, -1, &is);
    if (!is) {
        eg__lua_error(L, "%s is a %s, not a number", f->name, luaL_typename(L, -1));
    }
    return f->zero && value == 0 ? EG_ZERO : value;
}

static int64_t want_integer(lua_State *L, const eg__lua_field *f)
{
    int64_t value = eg__lua_integer_called(L, -1, f->name);
    return f->zero && value == 0 ? EG_ZERO : value;
}

static const char *want_string(lua_State *L, const eg__lua_field *f)
{
    return eg__lua_string_called(L, -1, f->name); /* the table holds it */
}

/* 0 would be true. */
static bool want_boolean(lua_State *L, const eg__lua_field *f)
{
    if (!lua_isboolean(L, -1)) {
        eg__lua_error(L, "%s is a %s, not true or false", f->name, luaL_typename(L, -1));
    }
    return lua_toboolean(L, -1);
}

static char want_character(lua_State *L, const eg__lua_field *f)
{
    const char *s = want_string(L, f);
    if (strlen(s) != 1) {
        eg__lua_error(L, "%s is '%s', not one character", f->name, s);
    }
    return *s;
}

/* Puts the value on top of the stack into a member. What must live on with it stays on the stack below. */
static void read_field(lua_State *L, const eg__lua_field *f, char *to, char *record)
{
    if (f->count && f->kind != EG__LUA_TEXT) {
        read_array(L, f, to);
        return;
    }
    int64_t n;
    switch (f->kind) {
    case EG__LUA_DOUBLE:
        *(double *)to = want_number(L, f);
        break;
    case EG__LUA_BOOL:
        *(bool *)to = want_boolean(L, f);
        break;
    case EG__LUA_I64:
    case EG__LUA_U64:
        *(int64_t *)to = want_integer(L, f);
        break;
    case EG__LUA_INT:
    case EG__LUA_UNSIGNED:
        n = want_integer(L, f);
        if (n < INT_MIN || n > INT_MAX) {
            eg__lua_error(L, "%s is out of range", f->name);
        }
        *(int *)to = (int)n;
        break;
    case EG__LUA_CHAR:
        *to = want_character(L, f);
        break;
    case EG__LUA_STRING:
        *(const char **)to = want_string(L, f);
        break;
    case EG__LUA_ENUM:
        *(int *)to = (int)eg__lua_enum(L, lua_gettop(L), f->of);
        break;
    case EG__LUA_SHAPE:
        *(eg_shape *)to = eg__lua_shape(L, -1);
        break;
    case EG__LUA_AXES:
        *(eg_axes *)to = eg__lua_axes(L, -1);
        break;
    case EG__LUA_TENSOR:
        *(eg_tensor **)to = eg__lua_tensor(L, -1);
        break;
    case EG__LUA_HANDLE:
        *(void **)to = eg__lua_handle(L, lua_gettop(L), f->of);
        break;
    case EG__LUA_RECORD:
        eg__lua_record(L, lua_gettop(L), f->of, to);
        break;
    case EG__LUA_STRINGS:
        *(const char *const **)to = eg__lua_strings(L, -1, &n);
        *(int64_t *)(record + (size_t)f->of) = n;
        break;
    case EG__LUA_INTEGERS:
        *(const int64_t **)to = eg__lua_integers(L, -1, NULL, -1);
        break;
    case EG__LUA_UNARY:
        *(eg_tensor * (**)(eg_tensor *)) to = eg__lua_unary(L, lua_gettop(L));
        break;
    case EG__LUA_WANTED: /* where to is eg__lua_wants's business */
        want_boolean(L, f);
        break;
    default: /* SKIP and TEXT are not for writing */
        break;
    }
}

/* Refuses a name, saying which there are. */
static void refuse(lua_State *L, const eg__lua_layout *layout, const char *name)
{
    const char **names = lua_newuserdatauv(L, sizeof *names * (size_t)(layout->count + 1), 0);
    for (int k = 0; k < layout->count; k++) {
        names[k] = layout->fields[k].name;
    }
    names[layout->count] = NULL;
    eg__lua_refuse_option(L, NULL, name, names);
}

/* The member of that name, or NULL. */
static const eg__lua_field *field_named(const eg__lua_layout *layout, const char *name)
{
    for (const eg__lua_field *f = layout->fields; f < layout->fields + layout->count; f++) {
        if (*f->name == *name && strcmp(f->name, name) == 0) {
            return f;
        }
    }
    return NULL;
}

/* Numbers in place of a table are PyTorch's first argument behind the tensors: x:max_pool2d(2) is {kernel = 2},
 * x:norm(1) is {p = 1}, x:sum(0) and x:sum{0, 1} are {axes = ...}. Whether there were any. */
static bool take_bare(lua_State *L, int i, const eg__lua_layout *layout, void *to)
{
    static const char *const names[] = {"kernel", "p", "axes"};
    const bool list = lua_istable(L, i) && lua_rawlen(L, i) > 0;
    if (lua_istable(L, i) && !list) {
        return false;
    }
    for (size_t k = 0; k < sizeof names / sizeof *names && (list || lua_type(L, i) == LUA_TNUMBER); k++) {
        const eg__lua_field *f = field_named(layout, names[k]);
        if (f && (!list || f->kind == EG__LUA_AXES)) {
            lua_pushvalue(L, i);
            read_field(L, f, (char *)to + f->offset, to);
            lua_pop(L, 1);
            return true;
        }
    }
    if (!list) {
        const char *some = layout->count ? layout->fields[0].name : "name";
        luaL_argerror(L, i,
                      lua_pushfstring(L, "a table of options is expected, such as {%s = ...}, got %s", some,
                                      luaL_typename(L, i)));
    }
    return false;
}

bool eg__lua_record(lua_State *L, int i, const eg__lua_layout *layout, void *to)
{
    memset(to, 0, layout->bytes);
    if (layout->sized) {
        *(size_t *)to = layout->bytes;
    }
    int type = lua_type(L, i);
    if (type == LUA_TNONE || type == LUA_TNIL) {
        return false;
    }
    i = lua_absindex(L, i);
    luaL_checkstack(L, 2 * layout->count + 8, "options");
    if (take_bare(L, i, layout, to)) {
        return true;
    }
    int key = lua_gettop(L) + 1;
    for (lua_pushnil(L); lua_next(L, i); lua_settop(L, key)) {
        if (lua_type(L, key) != LUA_TSTRING) {
            eg__lua_error(L, "options go by names, got a %s", luaL_typename(L, key));
        }
        const char *name = lua_tostring(L, key);
        const eg__lua_field *f = field_named(layout, name);
        if (!f || eg__lua_has_zero(L, key)) {
            refuse(L, layout, name);
        }
        read_field(L, f, (char *)to + f->offset, to);
        if (lua_gettop(L) > key + 1) { /* memory of it: below the key, for as long as the caller runs */
            lua_insert(L, key++);
        }
    }
    return true;
}

const void *eg__lua_records(lua_State *L, int i, const eg__lua_layout *layout, int *n)
{
    luaL_checktype(L, i, LUA_TTABLE);
    *n = eg__lua_length(L, i, INT_MAX / 1024);
    char *to = lua_newuserdatauv(L, (size_t)(*n + 1) * layout->bytes, 0);
    memset(to, 0, (size_t)(*n + 1) * layout->bytes);
    for (int k = 0; k < *n; k++) {
        lua_rawgeti(L, i, k + 1);
        eg__lua_record(L, lua_gettop(L), layout, to + (size_t)k * layout->bytes);
    }
    return to;
}

bool eg__lua_says(lua_State *L, int i, const char *field)
{
    if (!lua_istable(L, i)) {
        return false;
    }
    bool says = lua_getfield(L, i, field) != LUA_TNIL;
    lua_pop(L, 1);
    return says;
}

void eg__lua_range_to(lua_State *L)
{
    if (lua_isnil(L, 2) && lua_type(L, 1) == LUA_TNUMBER) {
        lua_copy(L, 1, 2);
        lua_pushinteger(L, 0);
        lua_replace(L, 1);
    }
}

bool eg__lua_wants(lua_State *L, int i, const char *field)
{
    if (!lua_istable(L, i)) {
        return false;
    }
    lua_getfield(L, i, field);
    bool wanted = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return wanted;
}

void eg__lua_slots_for(lua_State *L, eg_tensor **const *wanted, int n)
{
    for (int k = 0; k < n; k++) {
        if (wanted[k]) {
            eg__lua_slot(L);
        }
    }
}

void eg__lua_keep_wanted(lua_State *L, int first, eg_tensor **const *wanted, int n)
{
    for (int k = 0; k < n; k++) {
        if (wanted[k]) {
            ((eg__lua_box *)lua_touserdata(L, first++))->t = eg_keep(*wanted[k]);
        }
    }
}

static void push_field(lua_State *L, const eg__lua_field *f, const char *from)
{
    switch (f->kind) {
    case EG__LUA_DOUBLE:
        lua_pushnumber(L, *(const double *)from);
        break;
    case EG__LUA_BOOL:
        lua_pushboolean(L, *(const bool *)from);
        break;
    case EG__LUA_I64:
    case EG__LUA_U64:
        lua_pushinteger(L, *(const int64_t *)from);
        break;
    case EG__LUA_INT:
    case EG__LUA_UNSIGNED:
        lua_pushinteger(L, *(const int *)from);
        break;
    case EG__LUA_STRING:
        lua_pushstring(L, *(const char *const *)from);
        break;
    case EG__LUA_TEXT:
        lua_pushstring(L, from);
        break;
    case EG__LUA_ENUM:
        eg__lua_push_enum(L, f->of, *(const int *)from);
        break;
    case EG__LUA_SHAPE:
        eg__lua_push_shape(L, *(const eg_shape *)from);
        break;
    case EG__LUA_RECORD:
        eg__lua_push_record(L, f->of, from);
        break;
    default:
        lua_pushnil(L);
    }
}

void eg__lua_push_record(lua_State *L, const eg__lua_layout *layout, const void *from)
{
    luaL_checkstack(L, 8, "a table");
    lua_createtable(L, 0, layout->count);
    for (int k = 0; k < layout->count; k++) {
        push_field(L, &layout->fields[k], (const char *)from + layout->fields[k].offset);
        lua_setfield(L, -2, layout->fields[k].name);
    }
}

int eg__lua_give_record(lua_State *L, eg_scope scope, const eg__lua_layout *layout, const void *value, int tensors)
{
    int first = lua_gettop(L) - tensors + 1, at = first;
    bool any = !tensors;
    for (int k = 0; k < layout->count; k++) {
        if (layout->fields[k].kind == EG__LUA_TENSOR) {
            eg_tensor *t = *(eg_tensor *const *)((const char *)value + layout->fields[k].offset);
            ((eg__lua_box *)lua_touserdata(L, at++))->t = eg_keep(t);
            any |= t != NULL;
        }
    }
    eg_scope_pop(scope, NULL);
    if (!any || eg_last_error()->code) {
        return eg__lua_raise(L);
    }
    eg__lua_push_record(L, layout, value);
    at = first;
    for (int k = 0; k < layout->count; k++) {
        if (layout->fields[k].kind == EG__LUA_TENSOR) {
            eg__lua_box *box = lua_touserdata(L, at);
            if (box->t) {
                lua_pushvalue(L, at);
                lua_setfield(L, -2, layout->fields[k].name);
            }
            at++;
        }
    }
    return 1;
}
