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

/* ---- strings -------------------------------------------------------------------------------------------- */

static bool has_zero(lua_State *L, int i)
{
    size_t length;
    const char *s = lua_tolstring(L, i, &length);
    return strlen(s) != length;
}

const char *eg__lua_string(lua_State *L, int i)
{
    const char *s = luaL_optstring(L, i, NULL);
    if (s && has_zero(L, i)) {
        luaL_argerror(L, i, lua_pushfstring(L, "the string has a zero byte, behind '%s'", s));
    }
    return s;
}

const char *eg__lua_string_called(lua_State *L, int i, const char *what)
{
    if (lua_type(L, i) != LUA_TSTRING) {
        eg__lua_error(L, "%s is a %s, not a string", what, luaL_typename(L, i));
    }
    const char *s = lua_tostring(L, i);
    if (has_zero(L, i)) {
        eg__lua_error(L, "%s has a zero byte, behind '%s'", what, s);
    }
    return s;
}

/* ---- words ---------------------------------------------------------------------------------------------- */

int64_t eg__lua_enum(lua_State *L, int i, const eg__lua_enumeration *e)
{
    if (lua_isnoneornil(L, i)) {
        return e->words[0].value;
    }
    const char *word = luaL_checkstring(L, i);
    for (int k = 0; k < e->count && !has_zero(L, i); k++) {
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
    return eg__lua_error(L, "'%s' is none of %s", word, lua_tostring(L, -1));
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
static int length(lua_State *L, int i, int most)
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
    shape.ndim = length(L, i, EG_MAX_DIMS);
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
    axes.count = length(L, i, EG_MAX_DIMS);
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
    int have = length(L, i, INT_MAX / 16);
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

/* ---- structs ------------------------------------------------------------------------------------------------- */

static const char *const *strings(lua_State *L, int i, int64_t *n)
{
    i = lua_absindex(L, i);
    *n = length(L, i, INT_MAX / 16);
    const char **to = lua_newuserdatauv(L, (size_t)(*n + 1) * sizeof *to, 0);
    for (int k = 0; k < *n; k++) {
        lua_rawgeti(L, i, k + 1);
        const char *what = lua_pushfstring(L, "element %d of the list", k + 1);
        to[k] = eg__lua_string_called(L, -2, what); /* the list holds it */
        lua_pop(L, 2);
    }
    return to;
}

static void read_field(lua_State *L, const eg__lua_field *f, char *to, char *record);

/* An array: of records or shapes a list, of numbers a list of up to f->count, or nested lists of f->inner. */
static void read_array(lua_State *L, const eg__lua_field *f, char *to)
{
    int value = lua_gettop(L), n = length(L, value, f->count);
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
    int is;
    int64_t value = lua_tointegerx(L, -1, &is);
    if (!is) {
        eg__lua_error(L, "%s is %s, not an integer", f->name, lua_type(L, -1) == LUA_TNUMBER ? lua_tostring(L, -1) :
                   luaL_typename(L, -1));
    }
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
        *(const char *const **)to = strings(L, -1, &n);
        *(int64_t *)(record + (size_t)f->of) = n;
        break;
    case EG__LUA_INTEGERS:
        *(const int64_t **)to = eg__lua_integers(L, -1, NULL, -1);
        break;
    case EG__LUA_UNARY:
        *(eg_tensor * (**)(eg_tensor *)) to = eg__lua_unary(L, lua_gettop(L));
        break;
    default: /* WANTED: eg__lua_wants; SKIP and TEXT are not for writing */
        break;
    }
}

/* Refuses a name, saying which there are. */
static void refuse(lua_State *L, const eg__lua_layout *layout, const char *name)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int k = 0; k < layout->count; k++) {
        luaL_addstring(&b, k ? ", " : "");
        luaL_addstring(&b, layout->fields[k].name);
    }
    luaL_pushresult(&b);
    eg__lua_error(L, "there is no '%s' in these options, but %s", name, lua_tostring(L, -1));
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
    luaL_argexpected(L, lua_istable(L, i), i, "table of options");
    luaL_checkstack(L, 2 * layout->count + 8, "options");
    int key = lua_gettop(L) + 1;
    for (lua_pushnil(L); lua_next(L, i); lua_settop(L, key)) {
        if (lua_type(L, key) != LUA_TSTRING) {
            eg__lua_error(L, "options go by names, got a %s", luaL_typename(L, key));
        }
        const char *name = lua_tostring(L, key);
        const eg__lua_field *f = field_named(layout, name);
        if (!f || has_zero(L, key)) {
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
    *n = length(L, i, INT_MAX / 1024);
    char *to = lua_newuserdatauv(L, (size_t)(*n + 1) * layout->bytes, 0);
    memset(to, 0, (size_t)(*n + 1) * layout->bytes);
    for (int k = 0; k < *n; k++) {
        lua_rawgeti(L, i, k + 1);
        eg__lua_record(L, lua_gettop(L), layout, to + (size_t)k * layout->bytes);
    }
    return to;
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
        p.names = strings(L, -1, &n);
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
