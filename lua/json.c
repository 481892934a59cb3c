/* json.c - tables of Lua as JSON and back:
 *
 *     object    table with strings as keys       array    list; so that an empty one is told from an object,
 *     number    integer or float                          those that are read have the metatable of eg.json.array
 *     null      eg.json.null                     boolean, string */
#include <string.h>

#include "lua/bind.h"

enum { DEEPEST = 64 };

static const char null_key, array_key, tree_key; /* of the registry */

/* A place for a tree, on the stack, that the collector frees whatever Lua raises. */
static eg_json **new_tree(lua_State *L)
{
    eg_json **tree = lua_newuserdatauv(L, sizeof *tree, 0);
    *tree = NULL;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &tree_key);
    lua_setmetatable(L, -2);
    return tree;
}

static int free_tree(lua_State *L)
{
    eg_json **tree = lua_touserdata(L, 1);
    eg_json_free(*tree);
    *tree = NULL;
    return 0;
}

static void push_null(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &null_key);
}

static void mark_array(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &array_key);
    lua_setmetatable(L, -2);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void push_json(lua_State *L, const eg_json *j);

static void push_list(lua_State *L, const eg_json *j, bool object)
{
    int64_t n = eg_json_count(j);
    luaL_checkstack(L, 4, "values in each other");
    lua_createtable(L, object ? 0 : (int)n, object ? (int)n : 0);
    for (int64_t i = 0; i < n; i++) {
        if (object) {
            size_t bytes;
            const char *key = eg_json_key(j, i, &bytes);
            lua_pushlstring(L, key, bytes);
        }
        push_json(L, eg_json_at(j, i));
        if (object) {
            lua_rawset(L, -3);
        } else {
            lua_rawseti(L, -2, i + 1);
        }
    }
    if (!object) {
        mark_array(L);
    }
}

static void push_number(lua_State *L, const eg_json *j)
{
    int64_t whole;
    if (eg_json_is_integer(j) && !eg_json_integer(j, &whole)) {
        lua_pushinteger(L, whole);
    } else {
        lua_pushnumber(L, eg_json_number(j));
    }
}

static void push_json(lua_State *L, const eg_json *j)
{
    size_t bytes;
    const char *text;
    switch (eg_json_kind_of(j)) {
    case EG_JSON_NULL:
        push_null(L);
        break;
    case EG_JSON_BOOL:
        lua_pushboolean(L, eg_json_bool(j));
        break;
    case EG_JSON_NUMBER:
        push_number(L, j);
        break;
    case EG_JSON_TEXT:
        text = eg_json_text(j, &bytes);
        lua_pushlstring(L, text, bytes);
        break;
    default:
        push_list(L, j, eg_json_kind_of(j) == EG_JSON_OBJECT);
    }
}

static int give(lua_State *L, eg_json **tree)
{
    if (!*tree) {
        return eg__lua_raise(L);
    }
    push_json(L, *tree);
    eg_json_free(*tree);
    *tree = NULL;
    return 1;
}

/* eg.json.decode(text) */
static int decode(lua_State *L)
{
    EG__LUA_BEGIN(1)
    size_t bytes;
    const void *text = eg__lua_bytes(L, 1, &bytes);
    eg_json **tree = new_tree(L);
    *tree = eg_json_parse(text, bytes);
    return give(L, tree);
}

/* eg.json.load(path) */
static int load(lua_State *L)
{
    EG__LUA_BEGIN(1)
    const char *path = eg__lua_string(L, 1);
    eg_json **tree = new_tree(L);
    *tree = eg_json_load(path);
    return give(L, tree);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static void take(lua_State *L, eg_json *in, const char *key, int depth);

static void must(lua_State *L, bool ok)
{
    if (!ok) {
        eg__lua_raise(L);
    }
}

/* Whether the table on top is a list: its keys are 1..n, or it is empty and was marked as one. */
static bool is_list(lua_State *L)
{
    bool marked = false;
    if (lua_getmetatable(L, -1)) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, &array_key);
        marked = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
    }
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1), keys = 0, words = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        words += lua_type(L, -2) == LUA_TSTRING;
        keys++;
    }
    if (words != keys && (words || n != keys)) {
        eg__lua_error(L, words ? "a table with a list and names is no JSON" : "a list with holes is no JSON");
    }
    if (marked && words) {
        eg__lua_error(L, "an array with names is no JSON");
    }
    return marked || (keys && !words);
}

static void take_table(lua_State *L, eg_json *in, const char *key, int depth)
{
    luaL_checkstack(L, 10, "values in each other");
    if (depth == DEEPEST) {
        eg__lua_error(L, "tables are more than %d deep in each other", DEEPEST);
    }
    if (is_list(L)) {
        eg_json *list = eg_json_add_array(in, key);
        must(L, list);
        lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
        for (lua_Integer i = 1; i <= n; i++) {
            lua_rawgeti(L, -1, i);
            take(L, list, NULL, depth + 1);
            lua_pop(L, 1);
        }
        return;
    }
    eg_json *object = eg_json_add_object(in, key);
    must(L, object);
    lua_Integer n = eg__lua_push_keys(L, "a key");
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, i);
        const char *name = eg__lua_string_called(L, -1, "a key");
        lua_pushvalue(L, -1);
        lua_rawget(L, -4);
        take(L, object, name, depth + 1);
        lua_pop(L, 2);
    }
    lua_pop(L, 1);
}

/* The value on top, which stays there. */
static void take(lua_State *L, eg_json *in, const char *key, int depth)
{
    size_t bytes;
    const char *text;
    push_null(L);
    bool null = lua_rawequal(L, -1, -2);
    lua_pop(L, 1);
    switch (null ? LUA_TNIL : lua_type(L, -1)) {
    case LUA_TNIL:
        must(L, !eg_json_add_null(in, key));
        break;
    case LUA_TBOOLEAN:
        must(L, !eg_json_add_bool(in, key, lua_toboolean(L, -1)));
        break;
    case LUA_TNUMBER:
        must(L, lua_isinteger(L, -1) ? !eg_json_add_integer(in, key, lua_tointeger(L, -1))
                                     : !eg_json_add_number(in, key, lua_tonumber(L, -1)));
        break;
    case LUA_TSTRING:
        text = lua_tolstring(L, -1, &bytes);
        must(L, !eg_json_add_text(in, key, text, bytes));
        break;
    case LUA_TTABLE:
        take_table(L, in, key, depth);
        break;
    default:
        eg__lua_error(L, "a %s is no JSON", luaL_typename(L, -1));
    }
}

/* The value at i as JSON: in an array, for it may be no object. */
static const eg_json *taken(lua_State *L, int i)
{
    eg_json **tree = new_tree(L);
    *tree = eg_json_array();
    must(L, *tree);
    lua_pushvalue(L, i);
    take(L, *tree, NULL, 1);
    lua_pop(L, 1);
    return eg_json_at(*tree, 0);
}

/* eg.json.encode(value, {options}) */
static int encode(lua_State *L)
{
    EG__LUA_BEGIN(2)
    eg_json_options options;
    eg__lua_record(L, 2, eg__lua_layout_json, &options);
    const eg_json *j = taken(L, 1);
    eg__lua_box *box = eg__lua_slot(L);
    eg_scope scope = eg_scope_push();
    box->t = eg_keep(eg_json_encode_with(j, &options));
    eg_scope_pop(scope, NULL);
    eg__lua_finish(L, box);
    lua_pushlstring(L, eg_data(box->t), (size_t)eg_numel(box->t));
    return 1;
}

/* eg.json.save(value, path, {options}) */
static int save(lua_State *L)
{
    EG__LUA_BEGIN(3)
    eg_json_options options;
    const char *path = eg__lua_string(L, 2);
    eg__lua_record(L, 3, eg__lua_layout_json, &options);
    eg_status st = eg_json_save_with(taken(L, 1), path, &options);
    EG__LUA_STATUS(st)
    return 0;
}

/* eg.json.array(list): gives the list back, which is an array even if it is empty. */
static int array(lua_State *L)
{
    EG__LUA_BEGIN(1)
    luaL_checktype(L, 1, LUA_TTABLE);
    mark_array(L);
    return 1;
}

static int null_text(lua_State *L)
{
    lua_pushliteral(L, "null");
    return 1;
}

/* On the stack: the module's table. */
void eg__lua_open_json(lua_State *L)
{
    static const eg__lua_place functions[] = {
        {"json", "decode", decode}, {"json", "load", load},   {"json", "encode", encode},
        {"json", "save", save},     {"json", "array", array}, {0},
    };
    eg__lua_set_functions(L, functions);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, free_tree);
    lua_setfield(L, -2, "__gc");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &tree_key);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "json array");
    lua_setfield(L, -2, "__name");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &array_key);
    lua_newuserdatauv(L, 0, 0);
    lua_createtable(L, 0, 2);
    lua_pushliteral(L, "null");
    lua_setfield(L, -2, "__name");
    lua_pushcfunction(L, null_text);
    lua_setfield(L, -2, "__tostring");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &null_key);
    lua_getfield(L, -2, "json");
    lua_insert(L, -2);
    lua_setfield(L, -2, "null");
    lua_pop(L, 1);
}
