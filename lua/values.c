/* values.c - numbers, words, lists and tables of Lua as the plain types of C, and back. */
#include <limits.h>
#include <string.h>

#include "lua/bind.h"

/* ---- numbers ------------------------------------------------------------------------------------------ */

double eg__lua_number(lua_State *L, int i)
{
    return luaL_checknumber(L, i);
}

int64_t eg__lua_integer(lua_State *L, int i)
{
    return luaL_checkinteger(L, i);
}

int64_t eg__lua_integer_called(lua_State *L, int i, const char *what)
{
    int is;
    int64_t value = lua_tointegerx(L, i, &is);
    if (!is) {
        bool number = lua_type(L, i) == LUA_TNUMBER;
        eg__lua_error(L, "%s is %s%s, not an integer", what, number ? "" : "a ",
                      number ? lua_tostring(L, i) : luaL_typename(L, i));
    }
    return value;
}

uint64_t eg__lua_unsigned(lua_State *L, int i)
{
    return (uint64_t)luaL_checkinteger(L, i);
}

int eg__lua_int(lua_State *L, int i)
{
    lua_Integer value = luaL_checkinteger(L, i);
    luaL_argcheck(L, value >= INT_MIN && value <= INT_MAX, i, "out of range");
    return (int)value;
}

bool eg__lua_boolean(lua_State *L, int i)
{
    luaL_argexpected(L, lua_isnoneornil(L, i) || lua_isboolean(L, i), i, "true or false");
    return lua_toboolean(L, i);
}

bool eg__lua_decision(lua_State *L, int i, const char *name)
{
    if (!lua_isboolean(L, i)) {
        luaL_argerror(L, i, lua_pushfstring(L, "%s, true or false, must be said, got %s", name, luaL_typename(L, i)));
    }
    return lua_toboolean(L, i);
}

/* ---- words ---------------------------------------------------------------------------------------------- */

int64_t eg__lua_enum(lua_State *L, int i, const eg__lua_enumeration *e)
{
    if (lua_isnoneornil(L, i)) {
        return e->words[0].value;
    }
    const char *word = luaL_checkstring(L, i);
    for (int k = 0; k < e->count && !eg__lua_has_zero(L, i); k++) {
        if (strcmp(word, e->words[k].word) == 0) {
            return e->words[k].value;
        }
    }
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int k = 0; k < e->count; k++) {
        luaL_addstring(&b, k ? ", " : "");
        luaL_addstring(&b, e->words[k].word);
    }
    luaL_pushresult(&b);
    const bool dtypes = e == eg__lua_dtypes;
    if (dtypes && (strncmp(word, "cuda", 4) == 0 || strcmp(word, "cpu") == 0)) {
        return eg__lua_error(L, "'%s' is a device, not a dtype: use net:to_device('%s')", word, word);
    }
    const char *hint = dtypes ? eg__lua_dtype_hint(word) : NULL;
    return eg__lua_error(L, "'%s' is none of %s%s%s", word, lua_tostring(L, -1), hint ? ": use " : "",
                         hint ? hint : "");
}

int eg__lua_push_enum(lua_State *L, const eg__lua_enumeration *e, int64_t value)
{
    for (int k = 0; k < e->count; k++) {
        if (e->words[k].value == value) {
            lua_pushstring(L, e->words[k].word);
            return 1;
        }
    }
    lua_pushinteger(L, value);
    return 1;
}

/* ---- lists ------------------------------------------------------------------------------------------------ */

/* Element k of the list at i as an integer. */
static int64_t element(lua_State *L, int i, int k)
{
    int is;
    lua_rawgeti(L, i, k);
    int64_t value = lua_tointegerx(L, -1, &is);
    if (!is) {
        eg__lua_error(L, "element %d of the list is a %s, not an integer", k, luaL_typename(L, -1));
    }
    lua_pop(L, 1);
    return value;
}

/* How many a list has, or 1 for a number; at most `most`. */
int eg__lua_length(lua_State *L, int i, int most)
{
    if (lua_type(L, i) == LUA_TNUMBER) {
        return 1;
    }
    luaL_checktype(L, i, LUA_TTABLE);
    lua_Integer n = (lua_Integer)lua_rawlen(L, i);
    eg__lua_no_names(L, i);
    if (n > most) {
        eg__lua_error(L, "a list of %I, at most %d are possible", (LUAI_UACINT)n, most);
    }
    return (int)n;
}

eg_shape eg__lua_shape(lua_State *L, int i)
{
    eg_shape shape = {0};
    if (lua_isnoneornil(L, i)) {
        return shape;
    }
    i = lua_absindex(L, i);
    shape.ndim = eg__lua_length(L, i, EG_MAX_DIMS);
    if (lua_type(L, i) == LUA_TNUMBER) {
        shape.dim[0] = luaL_checkinteger(L, i);
        return shape;
    }
    for (int k = 0; k < shape.ndim; k++) {
        shape.dim[k] = element(L, i, k + 1);
    }
    return shape;
}

int eg__lua_push_shape(lua_State *L, eg_shape shape)
{
    lua_createtable(L, shape.ndim, 0);
    for (int k = 0; k < shape.ndim; k++) {
        lua_pushinteger(L, shape.dim[k]);
        lua_rawseti(L, -2, k + 1);
    }
    return 1;
}

eg_axes eg__lua_axes(lua_State *L, int i)
{
    eg_axes axes = {0};
    if (lua_isnoneornil(L, i)) {
        return axes;
    }
    i = lua_absindex(L, i);
    axes.count = eg__lua_length(L, i, EG_MAX_DIMS);
    for (int k = 0; k < axes.count; k++) {
        int64_t axis = lua_type(L, i) == LUA_TNUMBER ? luaL_checkinteger(L, i) : element(L, i, k + 1);
        if (axis < INT_MIN || axis > INT_MAX) {
            eg__lua_error(L, "axis %I", (LUAI_UACINT)axis);
        }
        axes.axis[k] = (int)axis;
    }
    return axes;
}

/* The list's length, checked against count unless that is negative. */
static int counted(lua_State *L, int i, int *n, int64_t count)
{
    int have = eg__lua_length(L, i, INT_MAX / 16);
    if (count >= 0 && have != count) {
        eg__lua_error(L, "a list of %d numbers, %I are needed", have, (LUAI_UACINT)count);
    }
    if (n) {
        *n = have;
    }
    return have;
}

const int64_t *eg__lua_integers(lua_State *L, int i, int *n, int64_t count)
{
    if (lua_isnoneornil(L, i)) {
        return n ? *n = 0, NULL : NULL;
    }
    i = lua_absindex(L, i);
    int have = counted(L, i, n, count);
    int64_t *to = lua_newuserdatauv(L, (size_t)(have + 1) * sizeof *to, 0);
    for (int k = 0; k < have; k++) {
        to[k] = lua_type(L, i) == LUA_TNUMBER ? luaL_checkinteger(L, i) : element(L, i, k + 1);
    }
    return to;
}

/* Fills to[0..n-1] from the list, or the number, at i. */
static void fill_numbers(lua_State *L, int i, double *to, int n)
{
    for (int k = 0; k < n; k++) {
        if (lua_type(L, i) == LUA_TNUMBER) {
            to[k] = lua_tonumber(L, i);
            continue;
        }
        int is;
        lua_rawgeti(L, i, k + 1);
        to[k] = lua_tonumberx(L, -1, &is);
        if (!is) {
            eg__lua_error(L, "element %d of the list is a %s, not a number", k + 1, luaL_typename(L, -1));
        }
        lua_pop(L, 1);
    }
}

void eg__lua_count_in(lua_State *L, int i, const char *name, int64_t count)
{
    if (lua_istable(L, i)) {
        lua_pushstring(L, name);
        lua_rawget(L, i);
        const int64_t have = lua_isnil(L, -1) ? count : eg__lua_length(L, lua_gettop(L), INT_MAX / 16);
        if (have != count) {
            eg__lua_error(L, "%s: a list of %I numbers, %I are needed", name, (LUAI_UACINT)have, (LUAI_UACINT)count);
        }
        lua_pop(L, 1);
    }
}

const double *eg__lua_numbers(lua_State *L, int i, int *n, int64_t count)
{
    if (lua_isnoneornil(L, i)) {
        return n ? *n = 0, NULL : NULL;
    }
    i = lua_absindex(L, i);
    int have = counted(L, i, n, count);
    double *to = lua_newuserdatauv(L, (size_t)(have + 1) * sizeof *to, 0);
    fill_numbers(L, i, to, have);
    return to;
}

const void *eg__lua_bytes(lua_State *L, int i, size_t *bytes)
{
    if (lua_type(L, i) == LUA_TSTRING) {
        return lua_tolstring(L, i, bytes);
    }
    eg_tensor *t = eg__lua_tensor(L, i);
    luaL_argcheck(L, eg_dtype_of(t) == EG_U8 && eg_is_contiguous(t) && eg_device_of(t) == eg_cpu(), i,
                  "a string or a u8 tensor without gaps on the CPU is expected");
    *bytes = (size_t)eg_numel(t);
    return *bytes ? eg_data(t) : "";
}

const char *const *eg__lua_strings(lua_State *L, int i, int64_t *n)
{
    i = lua_absindex(L, i);
    *n = eg__lua_length(L, i, INT_MAX / 16);
    const char **to = lua_newuserdatauv(L, (size_t)(*n + 1) * sizeof *to, 0);
    for (int k = 0; k < *n; k++) {
        lua_rawgeti(L, i, k + 1);
        const char *what = lua_pushfstring(L, "element %d of the list", k + 1);
        to[k] = eg__lua_string_called(L, -2, what); /* the list holds it */
        lua_pop(L, 2);
    }
    return to;
}

/* ---- lists of parameters, functions of one tensor -------------------------------------------------------------- */

eg_parameters eg__lua_parameters(lua_State *L, int i)
{
    eg__lua_hold *hold = eg__lua_hold_at(L, i, &eg__lua_type_module);
    if (hold) {
        return eg_module_parameters(hold->p);
    }
    eg_parameters p = {0};
    p.tensors = eg__lua_tensors(L, i, &p.count);
    lua_getfield(L, i, "names");
    if (lua_istable(L, -1)) {
        int64_t n;
        p.names = eg__lua_strings(L, -1, &n);
        if (n != p.count) {
            eg__lua_error(L, "%d parameters and %I names", p.count, (LUAI_UACINT)n);
        }
    }
    return p;
}

int eg__lua_push_parameters(lua_State *L, eg_parameters p)
{
    if (!p.tensors) {
        return eg__lua_raise(L);
    }
    lua_createtable(L, p.count, 1);
    lua_createtable(L, p.names ? p.count : 0, 0);
    for (int k = 0; k < p.count; k++) {
        eg__lua_push_tensor(L, p.tensors[k]);
        lua_rawseti(L, -3, k + 1);
        if (p.names) {
            lua_pushstring(L, p.names[k]);
            lua_rawseti(L, -2, k + 1);
        }
    }
    lua_setfield(L, -2, "names");
    return 1;
}

eg_tensor *(*eg__lua_unary(lua_State *L, int i))(eg_tensor *)
{
    lua_CFunction f = lua_tocfunction(L, i);
    for (const eg__lua_function *u = eg__lua_unaries; f && u->lua; u++) {
        if (u->lua == f) {
            return u->c;
        }
    }
    if (!lua_isnoneornil(L, i)) {
        eg__lua_error(L, "a function like eg.relu is expected, of one tensor; for one of your own write a module");
    }
    return NULL;
}
