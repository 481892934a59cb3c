/* table.c - tensors from lists and bytes, and back; places in brackets.
 *
 * In brackets Lua's way of counting holds: the first element is 1, and a range has both its ends.
 *
 *     x[2]                    the second row, without its axis; x[-1] the last
 *     x[{2, {3, 5}, eg.all}]  an entry for each axis: a place, a range {first, last, step}, all of it
 *     x[{{}, {4}}]            {} is all, {4} the fourth alone, with its axis
 *     x[mask]                 the elements where a bool tensor is true, 1-D
 *     x[index]                rows by an integer tensor, which counts as functions do, from 0 (eg.index_select)
 *
 * All but the last two are views. x[...] = y writes over them: a tensor, a number, a list. */
#include <string.h>

#include "lua/bind.h"

/* ---- lists -------------------------------------------------------------------------------------------- */

typedef struct reading {
    lua_State *L;
    eg_shape shape;
    bool floats, bools, any;
    double *values; /* one of the two is filled */
    int64_t *integers;
    int64_t at;
} reading;

/* Finds shape and kind of the list on top: from first elements the shape, from all the kind. */
static void measure(reading *r, int depth)
{
    lua_State *L = r->L;
    if (!lua_istable(L, -1)) {
        if (depth != r->shape.ndim) {
            eg__lua_error(L, "the list is not regular: a %s where a list is expected", luaL_typename(L, -1));
        }
        if (lua_type(L, -1) != LUA_TNUMBER && lua_type(L, -1) != LUA_TBOOLEAN) {
            eg__lua_error(L, "numbers or booleans are expected, got a %s", luaL_typename(L, -1));
        }
        bool is = lua_isboolean(L, -1);
        if (r->any && is != r->bools) {
            eg__lua_error(L, "numbers and booleans in one list");
        }
        r->bools = is;
        r->any = true;
        r->floats |= !is && !lua_isinteger(L, -1);
        return;
    }
    int64_t n = (int64_t)lua_rawlen(L, -1);
    if (depth >= r->shape.ndim || r->shape.dim[depth] != n) {
        eg__lua_error(L, "the list is not regular: %I elements at depth %d", (LUAI_UACINT)n, depth + 1);
    }
    luaL_checkstack(L, 4, "a nested list");
    eg__lua_no_names(L, -1);
    for (int64_t k = 1; k <= n; k++) {
        lua_rawgeti(L, -1, k);
        measure(r, depth + 1);
        lua_pop(L, 1);
    }
}

static void fill(reading *r, int depth)
{
    lua_State *L = r->L;
    if (depth == r->shape.ndim) {
        if (r->integers) {
            r->integers[r->at++] = r->bools ? lua_toboolean(L, -1) : lua_tointeger(L, -1);
        } else {
            r->values[r->at++] = lua_tonumber(L, -1);
        }
        return;
    }
    for (int64_t k = 1; k <= r->shape.dim[depth]; k++) {
        lua_rawgeti(L, -1, k);
        fill(r, depth + 1);
        lua_pop(L, 1);
    }
}

static void first_shape(reading *r)
{
    lua_State *L = r->L;
    int top = lua_gettop(L);
    while (lua_istable(L, -1)) {
        if (r->shape.ndim == EG_MAX_DIMS) {
            eg__lua_error(L, "a list more than %d deep", EG_MAX_DIMS);
        }
        r->shape.dim[r->shape.ndim++] = (int64_t)lua_rawlen(L, -1);
        lua_rawgeti(L, -1, 1);
    }
    lua_settop(L, top);
}

/* eg.tensor(list or number, dtype): integers are i64, booleans bool, other numbers f32 if no dtype is given. */
int eg__lua_from_table(lua_State *L)
{
    EG__LUA_BEGIN(2)
    reading r = {.L = L};
    if (eg__lua_is_tensor(L, 1)) {
        eg_tensor *x = eg__lua_tensor(L, 1);
        eg_dtype to = lua_isnil(L, 2) ? eg_dtype_of(x) : (eg_dtype)eg__lua_enum(L, 2, eg__lua_dtypes);
        EG__LUA_TENSOR(eg_copy(eg_cast(x, to)));
    }
    lua_pushvalue(L, 1);
    first_shape(&r);
    measure(&r, 0);
    eg_dtype natural = r.floats || !r.any ? EG_F32 : r.bools ? EG_BOOL : EG_I64;
    eg_dtype dtype = lua_isnil(L, 2) ? natural : (eg_dtype)eg__lua_enum(L, 2, eg__lua_dtypes);
    int64_t n = 1;
    for (int d = 0; d < r.shape.ndim; d++) {
        n *= r.shape.dim[d];
    }
    void *room = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof(double), 0);
    lua_insert(L, -2);
    if (r.floats) {
        r.values = room;
    } else {
        r.integers = room;
    }
    fill(&r, 0);
    if (r.values) {
        EG__LUA_TENSOR(eg_from_values(r.shape, dtype, r.values));
    }
    EG__LUA_TENSOR(eg_cast(eg_from(r.shape, EG_I64, r.integers), dtype));
}

/* Pushes the nested lists of a row-major array. */
static void push_lists(lua_State *L, const eg_tensor *x, const void *data, int axis, int64_t *at)
{
    if (axis == eg_ndim(x)) {
        int64_t i = (*at)++;
        switch (eg_dtype_of(x)) {
        case EG_I64:
            lua_pushinteger(L, ((const int64_t *)data)[i]);
            break;
        case EG_BOOL:
            lua_pushboolean(L, ((const double *)data)[i] != 0);
            break;
        case EG_I32:
        case EG_U8:
            lua_pushinteger(L, (lua_Integer)((const double *)data)[i]);
            break;
        default:
            lua_pushnumber(L, ((const double *)data)[i]);
        }
        return;
    }
    int64_t n = eg_size(x, axis);
    luaL_checkstack(L, 4, "nested lists");
    lua_createtable(L, (int)n, 0);
    for (int64_t k = 1; k <= n; k++) {
        push_lists(L, x, data, axis + 1, at);
        lua_rawseti(L, -2, k);
    }
}

/* x:table(): nested lists of its elements. */
static int to_table(lua_State *L)
{
    EG__LUA_BEGIN(1)
    eg_tensor *x = eg__lua_tensor(L, 1);
    int64_t n = eg_numel(x), at = 0;
    luaL_argcheck(L, n < 1 << 28, 1, "too many elements for lists");
    void *room = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof(double), 0);
    eg_status st = eg_dtype_of(x) == EG_I64 ? eg_copy_out(x, room, (size_t)n * sizeof(int64_t)) : eg_to_values(x, room);
    EG__LUA_STATUS(st)
    push_lists(L, x, room, 0, &at);
    return 1;
}

/* x:bytes(): its elements, row-major, as a string. */
static int to_bytes(lua_State *L)
{
    EG__LUA_BEGIN(1)
    eg_tensor *x = eg__lua_tensor(L, 1);
    size_t bytes = (size_t)eg_numel(x) * eg_dtype_size(eg_dtype_of(x));
    luaL_Buffer b;
    char *to = luaL_buffinitsize(L, &b, bytes);
    eg_status st = eg_copy_out(x, to, bytes);
    EG__LUA_STATUS(st)
    luaL_pushresultsize(&b, bytes);
    return 1;
}

/* eg.from_bytes(string, shape, dtype): row-major elements; without shape and dtype the bytes, u8. */
static int from_bytes(lua_State *L)
{
    EG__LUA_BEGIN(3)
    size_t bytes;
    const char *data = luaL_checklstring(L, 1, &bytes);
    eg_dtype dtype = lua_isnil(L, 3) ? EG_U8 : (eg_dtype)eg__lua_enum(L, 3, eg__lua_dtypes);
    eg_shape shape = eg__lua_shape(L, 2);
    int64_t size = (int64_t)eg_dtype_size(dtype), n = size;
    if (lua_isnil(L, 2)) {
        shape = (eg_shape){1, {(int64_t)bytes / size}};
    }
    for (int d = 0; d < shape.ndim; d++) {
        if (shape.dim[d] < 0 || __builtin_mul_overflow(n, shape.dim[d], &n)) {
            n = -1;
            break;
        }
    }
    if (n != (int64_t)bytes) {
        return eg__lua_error(L, "a string of %I bytes, the shape needs %I", (LUAI_UACINT)bytes, (LUAI_UACINT)n);
    }
    EG__LUA_TENSOR(eg_from(shape, dtype, data));
}

/* ---- numbers drawn ------------------------------------------------------------------------------------------- */

static int drawn(lua_State *L, eg_tensor *(*f)(eg_shape, double, double, eg_dtype))
{
    EG__LUA_SIZES(1)
    EG__LUA_BEGIN(2)
    eg_shape shape = eg__lua_shape(L, 1);
    eg_dtype dtype = lua_isnil(L, 2) ? EG_F32 : (eg_dtype)eg__lua_enum(L, 2, eg__lua_dtypes);
    EG__LUA_TENSOR(f(shape, 0, 1, dtype));
}

/* Uniform in 0..1, and normal: eg.rand{3, 4}, eg.randn({3, 4}, "f64"). */
static int rand_(lua_State *L)
{
    return drawn(L, eg_uniform);
}

static int randn(lua_State *L)
{
    return drawn(L, eg_normal);
}

/* ---- places --------------------------------------------------------------------------------------------------- */

typedef struct place {
    enum { PICK, RANGE, ROWS } kind;
    int64_t at, stop, step;
    eg_tensor *rows;
} place;

typedef struct places {
    int count;
    place of[EG_MAX_DIMS];
} places;

/* A place counted from 1, or from the end, as one from 0. */
static int64_t from_zero(lua_State *L, int64_t i, int64_t size, int axis)
{
    int64_t at = i > 0 ? i - 1 : i + size;
    if (i == 0 || at < 0 || at >= size) {
        eg__lua_error(L, "place %I of axis %d, which has 1..%I", (LUAI_UACINT)i, axis, (LUAI_UACINT)size);
    }
    return at;
}

/* {first, last, step}, both ends in it; a last before the first gives nothing, one too far all there is. */
static place read_range(lua_State *L, int t, int64_t size)
{
    place p = {.kind = RANGE, .at = 0, .stop = EG_END, .step = 1};
    int64_t n = (int64_t)lua_rawlen(L, t);
    eg__lua_no_names(L, t);
    if (n == 0) {
        return p;
    }
    static const char *const names[] = {"a range's first", "a range's last", "a range's step"};
    int64_t value[3] = {1, 0, 1};
    for (int k = 0; k < 3; k++) {
        if (lua_rawgeti(L, t, k + 1) != LUA_TNIL) {
            value[k] = eg__lua_integer_called(L, -1, names[k]);
        } else if (k == 1) {
            value[1] = value[0];
        }
        lua_pop(L, 1);
    }
    if (value[0] == 0 || value[1] == 0 || value[2] == 0) {
        eg__lua_error(L, "a range {%I, %I, %I}: places count from 1, or from -1 backwards", (LUAI_UACINT)value[0],
                      (LUAI_UACINT)value[1], (LUAI_UACINT)value[2]);
    }
    int64_t first = value[0] > 0 ? value[0] - 1 : value[0] + size;
    int64_t last = value[1] > 0 ? value[1] - 1 : value[1] + size;
    p.step = value[2];
    if (p.step > 0) {
        p.at = first < 0 ? 0 : first;
        p.stop = last < 0 ? 0 : last + 1;
    } else {
        p.at = first >= size ? size - 1 : first;
        p.stop = last < 1 ? -size - 1 : last - 1;
    }
    return p;
}

static bool is_all(lua_State *L, int i)
{
    lua_CFunction f = lua_tocfunction(L, i);
    if (!f) {
        return false;
    }
    lua_getfield(L, LUA_REGISTRYINDEX, "egret");
    lua_getfield(L, -1, "all");
    bool is = lua_tocfunction(L, -1) == f;
    lua_pop(L, 2);
    return is;
}

static place read_place(lua_State *L, int i, const eg_tensor *x, int axis)
{
    int64_t size = eg_size(x, axis);
    if (axis >= eg_ndim(x)) {
        eg__lua_error(L, "place %d of a tensor with %d axes", axis + 1, eg_ndim(x));
    }
    if (lua_isinteger(L, i) || lua_type(L, i) == LUA_TNUMBER) {
        return (place){.kind = PICK, .at = from_zero(L, luaL_checkinteger(L, i), size, axis + 1)};
    }
    if (is_all(L, i)) {
        return (place){.kind = RANGE, .at = 0, .stop = EG_END, .step = 1};
    }
    if (eg__lua_is_tensor(L, i)) {
        return (place){.kind = ROWS, .rows = eg__lua_tensor(L, i)};
    }
    luaL_argcheck(L, lua_istable(L, i), 2, "a place is a number, a range {first, last, step}, eg.all or a tensor");
    return read_range(L, lua_absindex(L, i), size);
}

static places read_places(lua_State *L, const eg_tensor *x)
{
    places p = {0};
    if (!lua_istable(L, 2)) {
        p.of[p.count++] = read_place(L, 2, x, 0);
        return p;
    }
    int64_t n = (int64_t)lua_rawlen(L, 2);
    eg__lua_no_names(L, 2);
    if (n > eg_ndim(x)) {
        eg__lua_error(L, "%I places for a tensor with %d axes", (LUAI_UACINT)n, eg_ndim(x));
    }
    for (int k = 1; k <= n; k++) {
        lua_rawgeti(L, 2, k);
        p.of[p.count++] = read_place(L, lua_gettop(L), x, k - 1);
        lua_pop(L, 1);
    }
    return p;
}

static eg_tensor *look(eg_tensor *x, const places *p)
{
    int axis = 0;
    for (int k = 0; k < p->count; k++) {
        const place *at = &p->of[k];
        switch (at->kind) {
        case PICK:
            x = eg_select(x, axis, at->at);
            break;
        case RANGE:
            x = at->at == 0 && at->stop == EG_END && at->step == 1 ? x : eg_slice(x, axis, at->at, at->stop, at->step);
            axis++;
            break;
        case ROWS:
            x = eg_index_select(x, axis, at->rows);
            axis += eg_ndim(at->rows);
            break;
        }
    }
    return x;
}

static eg_tensor *mask_at(lua_State *L, int i)
{
    eg_tensor *mask = eg__lua_is_tensor(L, i) ? eg__lua_tensor(L, i) : NULL;
    return mask && eg_dtype_of(mask) == EG_BOOL ? mask : NULL;
}

int eg__lua_index(lua_State *L)
{
    EG__LUA_BEGIN(2)
    eg_tensor *x = eg__lua_tensor(L, 1), *mask = mask_at(L, 2);
    if (mask) {
        EG__LUA_TENSOR(eg_masked_select(x, mask));
    }
    places p = read_places(L, x);
    EG__LUA_TENSOR(look(x, &p));
}

/* The value written: a tensor as it is, a number 0-dim, a list as eg.tensor makes it. */
static eg_tensor *source(lua_State *L, const eg_tensor *x)
{
    if (lua_istable(L, 3)) {
        lua_getfield(L, LUA_REGISTRYINDEX, "egret");
        lua_getfield(L, -1, "tensor");
        lua_pushvalue(L, 3);
        lua_pushstring(L, eg_dtype_name(eg_dtype_of(x)));
        lua_call(L, 2, 1);
        lua_replace(L, 3);
        lua_settop(L, 3);
    } else if (lua_isboolean(L, 3)) {
        lua_pushinteger(L, lua_toboolean(L, 3));
        lua_replace(L, 3);
    }
    return eg__lua_argument(L, 3);
}

int eg__lua_newindex(lua_State *L)
{
    EG__LUA_BEGIN(3)
    eg_tensor *x = eg__lua_tensor(L, 1), *mask = mask_at(L, 2);
    luaL_argcheck(L, lua_type(L, 2) != LUA_TSTRING, 2, "tensors have no fields to set");
    places p = {0};
    if (!mask) {
        p = read_places(L, x);
        for (int k = 0; k < p.count; k++) {
            luaL_argcheck(L, p.of[k].kind != ROWS, 2, "rows by their numbers are written by eg.index_copy");
        }
    }
    eg_tensor *y = source(L, x);
    luaL_argcheck(L, y != NULL, 3, "a tensor, a number or a list is expected");
    eg_scope scope = eg_scope_push();
    eg_tensor *to = mask ? x : look(x, &p);
    eg_tensor *from = y;
    if (mask) {
        from = eg_ndim(y) ? eg_masked_scatter(x, mask, y) : eg_where(mask, eg_cast(y, eg_dtype_of(x)), x);
    }
    bool well = to && from && eg_copy_(to, from);
    eg_scope_pop(scope, NULL);
    return well ? 0 : eg__lua_raise(L);
}

/* On the stack: the module's table. */
void eg__lua_open_table(lua_State *L)
{
    const struct {
        const char *name;
        lua_CFunction f;
        bool method;
    } rows[] = {{"tensor", eg__lua_from_table, false},
                {"from_bytes", from_bytes, false},
                {"rand", rand_, false},
                {"randn", randn, false},
                {"table", to_table, true},
                {"bytes", to_bytes, true}};
    int module = lua_gettop(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &eg__lua_of(L)->tensor_meta);
    lua_getfield(L, -1, "methods");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        eg__lua_push_function(L, rows[k].f);
        if (rows[k].method) {
            lua_pushvalue(L, -1);
            lua_setfield(L, -3, rows[k].name);
        }
        lua_setfield(L, module, rows[k].name);
    }
    lua_pop(L, 2);
}
