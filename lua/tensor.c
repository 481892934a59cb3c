/* tensor.c - tensors as userdata: made, checked, collected, shown. */
#include <stdlib.h>
#include <string.h>

#include "lua/bind.h"

/* The tensor at i if there is one: by its metatable's address, which costs less than its name. */
static inline eg__lua_box *box_at(lua_State *L, int i, const void *meta)
{
    eg__lua_box *box = lua_touserdata(L, i);
    if (box && lua_getmetatable(L, i)) {
        bool is = lua_topointer(L, -1) == meta;
        lua_pop(L, 1);
        return is ? box : NULL;
    }
    return NULL;
}

bool eg__lua_is_tensor(lua_State *L, int i)
{
    return box_at(L, i, eg__lua_of(L)->tensor_meta) != NULL;
}

eg_tensor *eg__lua_tensor(lua_State *L, int i)
{
    eg__lua_box *box = box_at(L, i, eg__lua_of(L)->tensor_meta);
    if (!box || !box->t) {
        eg__lua_error(L, "a tensor is expected, got %s", box ? "one that has been closed" : luaL_typename(L, i));
    }
    return box->t;
}

bool eg__lua_is_whole(lua_State *L, int i)
{
    eg__lua_box *box = box_at(L, i, eg__lua_of(L)->tensor_meta);
    eg_dtype dtype = eg_dtype_of(box ? box->t : NULL);
    return dtype == EG_I64 || dtype == EG_I32 || dtype == EG_U8;
}

static eg__lua_box *new_box(lua_State *L)
{
    eg__lua_box *box = lua_newuserdatauv(L, sizeof *box, 0);
    box->t = NULL;
    return box;
}

eg__lua_box *eg__lua_slot(lua_State *L)
{
    eg__lua_box *box = new_box(L);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_setmetatable(L, -2);
    return box;
}

static void push_meta(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &eg__lua_of(L)->tensor_meta);
}

void eg__lua_push_tensor(lua_State *L, eg_tensor *t)
{
    if (!t) {
        eg__lua_raise(L);
    }
    eg__lua_box *box = new_box(L);
    push_meta(L);
    lua_setmetatable(L, -2);
    box->t = eg_keep(t);
}

static int64_t bytes_of(const eg_tensor *t)
{
    return eg_numel(t) * (int64_t)eg_dtype_size(eg_dtype_of(t));
}

int eg__lua_finish(lua_State *L, eg__lua_box *box)
{
    if (!box->t) {
        return eg__lua_raise(L);
    }
    eg__lua_owe(eg__lua_here(L), L, bytes_of(box->t));
    return 1;
}

/* Whether tensors of the dtype take the number without losing what it is. */
static bool holds(eg_dtype dtype, int64_t whole)
{
    return dtype == EG_U8 ? whole >= 0 && whole <= UINT8_MAX : dtype != EG_I32 || whole == (int32_t)whole;
}

/* A number where a tensor is expected: 0-dim, of a dtype that does not widen the others'. A whole number the others
 * cannot hold widens them, as one with an axis, instead of losing digits. */
static eg_tensor *number(lua_State *L, int i, const void *meta)
{
    eg_dtype beside = EG_BOOL, dtype = lua_isinteger(L, i) ? EG_I64 : EG_F32;
    bool axes = false;
    for (int k = 1; k <= lua_gettop(L) && k < 5; k++) {
        eg__lua_box *other = box_at(L, k, meta);
        beside = other ? eg_promote(beside, eg_dtype_of(other->t)) : beside;
        axes |= other && eg_ndim(other->t) > 0;
    }
    dtype = beside == EG_F64 ? EG_F64 : dtype;
    const double value = lua_tonumber(L, i);
    const int64_t whole = lua_tointeger(L, i);
    const eg_shape shape = dtype == EG_I64 && axes && !holds(beside, whole) ? EG_SHAPE(1) : EG_SCALAR;
    eg__lua_box *box = eg__lua_slot(L);
    eg_device *before = eg_use_device(eg_cpu());
    eg_scope scope = eg_scope_push();
    box->t = eg_keep(dtype == EG_I64 ? eg_full_int(shape, whole, dtype) : eg_full(shape, value, dtype));
    eg_scope_pop(scope, NULL);
    eg_use_device(before);
    if (!box->t) {
        eg__lua_raise(L);
    }
    lua_replace(L, i);
    return box->t;
}

eg_tensor *eg__lua_argument(lua_State *L, int i)
{
    const void *meta = eg__lua_here(L)->tensor_meta;
    eg__lua_box *box = box_at(L, i, meta);
    if (box) {
        return box->t;
    }
    switch (lua_type(L, i)) {
    case LUA_TNIL:
    case LUA_TNONE:
        return NULL;
    case LUA_TNUMBER:
        return number(L, i, meta);
    }
    luaL_argerror(L, i, lua_pushfstring(L, "a tensor is expected, got %s", luaL_typename(L, i)));
    return NULL;
}

/* ---- several -------------------------------------------------------------------------------------------- */

eg_tensor **eg__lua_room(lua_State *L, int64_t n)
{
    if (n < 0 || n > 1 << 24) {
        eg__lua_error(L, "%I results", (LUAI_UACINT)n);
    }
    size_t bytes = (size_t)(n + 1) * sizeof(eg_tensor *);
    return memset(lua_newuserdatauv(L, bytes, 0), 0, bytes);
}

eg_tensor *const *eg__lua_tensors(lua_State *L, int i, int *n)
{
    luaL_checktype(L, i, LUA_TTABLE);
    eg__lua_no_names(L, i);
    lua_Integer count = luaL_len(L, i);
    eg_tensor **t = eg__lua_room(L, count);
    *n = (int)count;
    for (int k = 0; k < *n; k++) {
        lua_rawgeti(L, i, k + 1);
        t[k] = eg__lua_tensor(L, -1);
        lua_pop(L, 1);
    }
    return t;
}

int eg__lua_fill(lua_State *L, eg_scope scope, eg_status st, eg_tensor **results, int64_t n)
{
    for (int64_t k = 0; !st && k < n; k++) {
        lua_rawgeti(L, -1, k + 1);
        ((eg__lua_box *)lua_touserdata(L, -1))->t = eg_keep(results[k]);
        lua_pop(L, 1);
    }
    eg_scope_pop(scope, NULL);
    EG__LUA_STATUS(st)
    for (int64_t k = n; k > 0 && !results[k - 1]; k--) { /* fewer than there might have been */
        lua_pushnil(L);
        lua_rawseti(L, -2, k);
    }
    return 1;
}

static int push_text(lua_State *L)
{
    lua_pushlstring(L, lua_touserdata(L, 1), (size_t)lua_tointeger(L, 2));
    return 1;
}

int eg__lua_give_text(lua_State *L, FILE *stream, eg_status st, char **text, size_t *length)
{
    if (stream) {
        fclose(stream);
    }
    if (st && !eg_last_error()->code) {
        eg_fail(EG_ENOMEM, "lua", "no memory for a text");
    }
    if (st) {
        free(*text);
        return eg__lua_raise(L);
    }
    lua_pushcfunction(L, push_text); /* no memory for the string must not lose the text */
    lua_pushlightuserdata(L, *text);
    lua_pushinteger(L, (lua_Integer)*length);
    int failed = lua_pcall(L, 2, 1, 0);
    free(*text);
    return failed ? lua_error(L) : 1;
}

/* ---- the metatable ----------------------------------------------------------------------------------------- */

static int tensor_gc(lua_State *L)
{
    eg__lua_box *box = box_at(L, 1, eg__lua_here(L)->tensor_meta); /* programs can call this with anything */
    if (box && box->t) {
        eg_release(box->t);
        box->t = NULL;
    }
    return 0;
}

static int tensor_format(lua_State *L)
{
    EG__LUA_BEGIN(2)
    eg_tensor *x = eg__lua_tensor(L, 1);
    eg_print_options o;
    eg__lua_record(L, 2, eg__lua_layout_print, &o);
    int64_t length = eg_format_with(x, NULL, 0, &o);
    if (length < 0) {
        return eg__lua_raise(L);
    }
    luaL_Buffer b;
    char *to = luaL_buffinitsize(L, &b, (size_t)length + 1);
    eg_format_with(x, to, (size_t)length + 1, &o);
    luaL_pushresultsize(&b, (size_t)length);
    return 1;
}

static int tensor_tostring(lua_State *L)
{
    lua_settop(L, 1);
    return tensor_format(L);
}

static int tensor_len(lua_State *L)
{
    eg_tensor *x = eg__lua_tensor(L, 1);
    lua_pushinteger(L, eg_ndim(x) ? (lua_Integer)eg_size(x, 0) : 0);
    return 1;
}

/* True for what is one tensor, as a key of a table is. Whether two have the same elements is a tensor of answers, and
 * Lua makes true or false of what == gives: false would be taken for that. */
static int tensor_eq(lua_State *L)
{
    if (!eg__lua_is_tensor(L, 1) || !eg__lua_is_tensor(L, 2)) {
        lua_pushboolean(L, false);
    } else if (eg__lua_tensor(L, 1) == eg__lua_tensor(L, 2)) {
        lua_pushboolean(L, true);
    } else {
        return eg__lua_error(L, "== of two tensors: x:eq(y) compares their elements, x:eq(y):all():item() is one "
                                "answer");
    }
    return 1;
}

/* Two tensors compared would give tensors, but Lua makes true or false of what < gives. */
static int tensor_compare(lua_State *L)
{
    return eg__lua_error(L, "compare tensors with x:lt(y), x:le(y), x:gt(y), x:ge(y); (x:lt(y)):all():item() is one "
                            "answer");
}

/* x.T: a matrix with its axes exchanged. */
static int tensor_transposed(lua_State *L)
{
    eg_tensor *x = eg__lua_tensor(L, 1);
    if (eg_ndim(x) > 2) {
        return eg__lua_error(L, "T is for matrices, not for %d axes: x:transpose(-2, -1), x:permute(...)", eg_ndim(x));
    }
    EG__LUA_TENSOR(eg_ndim(x) == 2 ? eg_transpose(x, 0, 1) : x);
}

/* x.T, and hints for what tensors of others have. Other names are nil, as those of any value of Lua. */
static int tensor_no_method(lua_State *L)
{
    const char *name = lua_tostring(L, 2);
    return strcmp(name, "T") == 0 ? tensor_transposed(L) : eg__lua_no_name(L, "a tensor has", name, false);
}

/* Methods by name; anything else is a place. */
static int tensor_index(lua_State *L)
{
    if (lua_type(L, 2) == LUA_TSTRING) {
        lua_pushvalue(L, 2);
        return lua_rawget(L, lua_upvalueindex(3)) != LUA_TNIL ? 1 : tensor_no_method(L);
    }
    return eg__lua_index(L);
}

/* Lua gives the operand of -x and ~x twice. */
static int tensor_unm(lua_State *L)
{
    EG__LUA_BEGIN(2)
    EG__LUA_TENSOR(eg_neg(eg__lua_tensor(L, 1)));
}

static int tensor_bnot(lua_State *L)
{
    EG__LUA_BEGIN(2)
    EG__LUA_TENSOR(eg_bitwise_not(eg__lua_tensor(L, 1)));
}

/* x:item(): as what it is. */
static int tensor_item(lua_State *L)
{
    EG__LUA_BEGIN(1)
    eg_tensor *x = eg__lua_tensor(L, 1);
    eg_dtype dtype = eg_dtype_of(x);
    eg_clear_error();
    if (dtype == EG_BOOL || eg__lua_is_whole(L, 1)) {
        int64_t value = eg_item_int(x);
        EG__LUA_CHECK();
        if (dtype == EG_BOOL) {
            lua_pushboolean(L, value != 0);
        } else {
            lua_pushinteger(L, value);
        }
        return 1;
    }
    double value = eg_item(x);
    EG__LUA_CHECK();
    lua_pushnumber(L, value);
    return 1;
}

/* x:size(axis), and x:size() for all of them, as x:shape(). */
static int tensor_size(lua_State *L)
{
    EG__LUA_BEGIN(2)
    eg_tensor *x = eg__lua_tensor(L, 1);
    if (lua_isnil(L, 2)) {
        return eg__lua_push_shape(L, eg_shape_of(x));
    }
    eg_clear_error();
    int64_t size = eg_size(x, eg__lua_int(L, 2));
    EG__LUA_CHECK();
    lua_pushinteger(L, size);
    return 1;
}

/* x:requires_grad(), eg.parameter(x): x itself. Its keeper stays the userdata. */
static int tensor_parameter(lua_State *L)
{
    EG__LUA_BEGIN(1)
    eg_tensor *x = eg__lua_tensor(L, 1);
    if (!eg_parameter(x)) {
        return eg__lua_raise(L);
    }
    eg_release(x);
    return 1;
}

/* Which functions stand behind operators. */
static const char *const operator_names[][2] = {
    {"__add", "add"},        {"__sub", "sub"},          {"__mul", "mul"},           {"__div", "div"},
    {"__mod", "remainder"},  {"__pow", "pow"},          {"__idiv", "floor_divide"}, {"__band", "bitwise_and"},
    {"__bor", "bitwise_or"}, {"__bxor", "bitwise_xor"}, {"__shl", "shift_left"},    {"__shr", "shift_right"},
};

/* On the stack: the module's table. */
void eg__lua_open_tensor(lua_State *L)
{
    static const eg__lua_place own[] = {
        {"", "format", tensor_format},           {"", "item", tensor_item}, {"", "parameter", tensor_parameter},
        {"", "requires_grad", tensor_parameter}, {"", "size", tensor_size}, {0},
    };
    static const eg__lua_place meta[] = {
        {"", "__gc", tensor_gc},
        {"", "__close", tensor_gc},
        {"", "__tostring", tensor_tostring},
        {"", "__len", tensor_len},
        {"", "__eq", tensor_eq},
        {"", "__lt", tensor_compare},
        {"", "__le", tensor_compare},
        {"", "__newindex", eg__lua_newindex},
        {"", "__unm", tensor_unm},
        {"", "__bnot", tensor_bnot},
        {0},
    };
    int module = lua_gettop(L);
    push_meta(L);
    lua_newtable(L); /* methods */
    for (const eg__lua_place *m = eg__lua_methods; m->name; m++) {
        if (strcmp(m->space, "tensor") == 0) {
            eg__lua_push_function(L, m->f);
            lua_setfield(L, -2, m->name);
        }
    }
    for (const eg__lua_place *m = own; m->name; m++) {
        eg__lua_push_function(L, m->f);
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, m->name);
        lua_setfield(L, module, m->name);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "methods");
    lua_pushlightuserdata(L, eg__lua_of(L));
    lua_pushvalue(L, -3);
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, tensor_index, 3);
    lua_setfield(L, -3, "__index");
    lua_pop(L, 1);
    for (const eg__lua_place *m = meta; m->name; m++) {
        eg__lua_push_function(L, m->f);
        lua_setfield(L, -2, m->name);
    }
    for (size_t k = 0; k < sizeof operator_names / sizeof *operator_names; k++) {
        lua_getfield(L, module, operator_names[k][1]);
        lua_setfield(L, -2, operator_names[k][0]);
    }
    lua_pop(L, 1);
    eg__lua_open_table(L);
}
