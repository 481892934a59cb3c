/* complete.c - what the word before the cursor may become; see shell.h. */
#include <ctype.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "letters.h"
#include "lua/bind.h"
#include "shell.h"
#include "sort.h"

enum { METATABLES_MOST = 16, NESTING_MOST = 32 };

static const char *const keywords[] = {
    "and",   "break", "else", "elseif", "end",    "false", "for",  "function", "goto",  "in",
    "local", "nil",   "not",  "repeat", "return", "then",  "true", "until",    "while",
};

typedef struct search {
    lua_State *L;
    const char *word; /* what the names begin with */
    size_t length;
    bool functions; /* only these */
    int found;      /* stack place of the set of names */
} search;

/* ---- the value before the dot -------------------------------------------------------------- */

static int get(lua_State *L)
{
    lua_gettable(L, 1);
    return 1;
}

static void give_up(lua_State *L, lua_Debug *at)
{
    (void)at;
    luaL_error(L, "an __index that does not end");
}

/* Replaces a value and a key on the stack by what is there; false if it raises or takes too long.
 * The hook there is, maybe an interrupt's, waits meanwhile. */
static bool push_field(lua_State *L)
{
    enum { INSTRUCTIONS_MOST = 1000000 };
    lua_Hook hook = lua_gethook(L);
    int mask = lua_gethookmask(L), count = lua_gethookcount(L);
    lua_pushcfunction(L, get);
    lua_insert(L, -3);
    lua_sethook(L, give_up, LUA_MASKCOUNT, INSTRUCTIONS_MOST);
    int status = lua_pcall(L, 2, 1, 0);
    lua_sethook(L, hook, mask, count);
    return status == LUA_OK;
}

static size_t skip_spaces(const char *text, size_t end)
{
    while (end > 0 && isspace((unsigned char)text[end - 1])) {
        end--;
    }
    return end;
}

/* Pushes the value of the literal in brackets: a whole number or a plain string. */
static bool push_key(lua_State *L, const char *text, size_t begin, size_t end)
{
    if (end - begin >= 2 && (text[begin] == '"' || text[begin] == '\'') && text[end - 1] == text[begin]) {
        lua_pushlstring(L, text + begin + 1, end - begin - 2);
        return !memchr(text + begin, '\\', end - begin);
    }
    lua_pushlstring(L, text + begin, end - begin);
    if (!lua_stringtonumber(L, lua_tostring(L, -1))) {
        return false;
    }
    lua_remove(L, -2);
    return true;
}

/* Pushes the value of the names, fields and brackets that end at `end`; pushes anything if it is no
 * such. */
static bool push_value_before(lua_State *L, const char *text, size_t end, int nesting)
{
    end = skip_spaces(text, end);
    size_t begin = end;
    if (nesting > NESTING_MOST) {
        return false;
    }
    luaL_checkstack(L, 8, NULL);
    if (end > 0 && text[end - 1] == ']') {
        while (begin > 0 && text[begin] != '[') {
            begin--;
        }
        return push_value_before(L, text, begin, nesting + 1) && push_key(L, text, begin + 1, end - 1) && push_field(L);
    }
    while (begin > 0 && shell_is_name_part(text[begin - 1])) {
        begin--;
    }
    if (!shell_is_name(text + begin, end - begin)) {
        return false;
    }
    size_t before = skip_spaces(text, begin);
    bool inner = before > 0 && (text[before - 1] == '.' || text[before - 1] == ':');
    if (inner && !push_value_before(L, text, before - 1, nesting + 1)) {
        return false;
    }
    if (!inner) {
        lua_pushglobaltable(L);
    }
    lua_pushlstring(L, text + begin, end - begin);
    return push_field(L);
}

/* ---- names --------------------------------------------------------------------------------- */

static void add_name(const search *s, const char *name, size_t length)
{
    bool hidden = *name == '_' && s->length == 0;
    if (!hidden && length >= s->length && memcmp(name, s->word, s->length) == 0 && shell_is_name(name, length)) {
        lua_pushlstring(s->L, name, length);
        lua_pushboolean(s->L, true);
        lua_rawset(s->L, s->found);
    }
}

/* Adds the keys of the table on top of the stack. */
static void add_keys(const search *s)
{
    lua_State *L = s->L;
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        size_t length;
        if (lua_type(L, -2) == LUA_TSTRING && (!s->functions || lua_isfunction(L, -1))) {
            const char *name = lua_tolstring(L, -2, &length);
            add_name(s, name, length);
        }
        lua_pop(L, 1);
    }
}

/* Pushes a field of the metatable on top of the stack as Lua finds it: its own metatable does not
 * count. */
static int push_event(lua_State *L, const char *name)
{
    lua_pushstring(L, name);
    return lua_rawget(L, -2);
}

/* Adds what the value on top of the stack answers to, by itself and through its metatables; removes
 * it. A function that stands for __index cannot be asked: then the metatable's own table `methods`
 * counts, which the module's types have. */
static void add_fields(const search *s)
{
    lua_State *L = s->L;
    for (int i = 0; i < METATABLES_MOST; i++) {
        if (lua_istable(L, -1)) {
            add_keys(s);
        }
        if (!lua_getmetatable(L, -1)) {
            break;
        }
        if (push_event(L, "__index") != LUA_TTABLE) {
            lua_pop(L, 1);
            if (push_event(L, "methods") == LUA_TTABLE) {
                add_keys(s);
            }
            lua_pop(L, 2);
            break;
        }
        lua_replace(L, -3);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* Whether the cursor is in a string that began in its line. */
static bool in_string(const char *text, size_t cursor)
{
    char quote = 0;
    for (size_t i = 0; i < cursor; i++) {
        if (quote && text[i] == '\\') {
            i++;
        } else if (quote ? text[i] == quote : text[i] == '"' || text[i] == '\'') {
            quote = quote ? 0 : text[i];
        } else if (text[i] == '\n') {
            quote = 0;
        }
    }
    return quote != 0;
}

static void add_candidates(search *s, const char *text, size_t begin)
{
    lua_State *L = s->L;
    char before = begin > 0 ? text[begin - 1] : 0;
    bool joined = begin > 1 && before == '.' && text[begin - 2] == '.';
    if (in_string(text, begin)) {
        for (int i = 0; i < EG_DTYPE_COUNT; i++) {
            add_name(s, eg_dtype_name((eg_dtype)i), strlen(eg_dtype_name((eg_dtype)i)));
        }
    } else if ((before == '.' && !joined) || before == ':') {
        s->functions = before == ':';
        if (push_value_before(L, text, begin - 1, 0)) {
            add_fields(s);
        }
    } else {
        lua_pushglobaltable(L);
        add_fields(s);
        for (size_t i = 0; i < sizeof keywords / sizeof *keywords && s->length; i++) {
            add_name(s, keywords[i], strlen(keywords[i]));
        }
    }
}

void shell_complete(lua_State *L, const char *text, size_t cursor, size_t *start)
{
    size_t begin = cursor;
    while (begin > 0 && shell_is_name_part(text[begin - 1])) {
        begin--;
    }
    *start = begin;
    luaL_checkstack(L, 16, NULL);
    lua_newtable(L);
    search s = {.L = L, .word = text + begin, .length = cursor - begin, .found = lua_gettop(L)};
    add_candidates(&s, text, begin);
    lua_settop(L, s.found);
    lua_newtable(L);
    int count = 0;
    lua_pushnil(L);
    while (lua_next(L, s.found)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, ++count);
    }
    shell_sort(L, count);
    lua_remove(L, s.found);
}
