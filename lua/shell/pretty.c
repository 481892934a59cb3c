/* pretty.c - values as people like to read them; see shell.h.
 *
 * Texts are put together on Lua's stack and in its buffers, so that nothing is lost when a
 * __tostring raises. */
#include <ctype.h>
#include <lauxlib.h>
#include <string.h>

#include "letters.h"
#include "lua/bind.h"
#include "shell.h"
#include "sort.h"

enum {
    DEPTH_MOST = 4,
    ITEMS_MOST = 40,       /* of one table */
    ALL_ITEMS_MOST = 4000, /* of a table and those in it */
    KEYS_MOST = 1000,      /* more are not even sorted */
    TEXT_MOST = 4000,      /* bytes of a string alone */
    INNER_TEXT_MOST = 60   /* and of one in a table */
};

typedef struct printer {
    lua_State *L;
    int around; /* stack place of the set of tables that are being shown */
    int left;   /* items that may still be shown */
} printer;

static void push_value(printer *p, int index, int depth, int width);

/* ---- strings ------------------------------------------------------------------------------- */

/* How many bytes the character at s has; 0 if it is none that a terminal just shows: some obey the
 * controls beyond ASCII too. */
static size_t printable(const char *s, const char *end)
{
    size_t length = shell_character(s, (size_t)(end - s));
    unsigned char c = (unsigned char)*s;
    bool control = c < 0x20 || c == 0x7f || (c == 0xc2 && length && (unsigned char)s[1] < 0xa0);
    return control ? 0 : length;
}

static void add_escaped(luaL_Buffer *b, char byte, bool digit_follows)
{
    static const char plain[] = "\a\b\t\n\v\f\r", letters[] = "abtnvfr";
    const char *at = byte ? strchr(plain, byte) : NULL;
    char text[8];
    if (at) {
        snprintf(text, sizeof text, "\\%c", letters[at - plain]);
    } else {
        snprintf(text, sizeof text, digit_follows ? "\\%03u" : "\\%u", (unsigned char)byte);
    }
    luaL_addstring(b, text);
}

static void push_string(lua_State *L, int index, size_t most)
{
    size_t length;
    const char *s = lua_tolstring(L, index, &length), *end = s + length;
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addchar(&b, '"');
    for (const char *begin = s; s < end && (size_t)(s - begin) < most;) {
        size_t bytes = printable(s, end);
        if (*s == '"' || *s == '\\') {
            luaL_addchar(&b, '\\');
        }
        if (bytes) {
            luaL_addlstring(&b, s, bytes);
        } else {
            add_escaped(&b, *s, s + 1 < end && isdigit((unsigned char)s[1]));
        }
        s += bytes ? bytes : 1;
    }
    luaL_addchar(&b, '"');
    luaL_pushresult(&b);
    if (s < end) {
        lua_pushfstring(L, "... (%I bytes)", (LUAI_UACINT)length);
        lua_concat(L, 2);
    }
}

/* ---- tables -------------------------------------------------------------------------------- */

/* Pushes the keys beyond 1..n in their order; how many there are in all. */
static int push_keys(lua_State *L, int table, lua_Integer n, int *kept)
{
    int count = 0;
    *kept = 0;
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, table)) {
        lua_pop(L, 1);
        bool listed = lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 1 && lua_tointeger(L, -1) <= n;
        if (!listed && count++ < KEYS_MOST) {
            lua_pushvalue(L, -1);
            lua_rawseti(L, -3, ++*kept);
        }
    }
    shell_sort(L, *kept);
    return count;
}

/* Pushes "key = value" for the key on top of the stack, which it removes. */
static void push_pair(printer *p, int table, int depth, int width)
{
    lua_State *L = p->L;
    int key = lua_gettop(L);
    size_t n = 0;
    const char *name = lua_type(L, key) == LUA_TSTRING ? lua_tolstring(L, key, &n) : NULL;
    if (name && n <= INNER_TEXT_MOST && shell_is_name(name, n)) {
        lua_pushvalue(L, key);
        lua_pushliteral(L, " = ");
    } else {
        lua_pushliteral(L, "[");
        push_value(p, key, DEPTH_MOST, width);
        lua_pushliteral(L, "] = ");
        lua_concat(L, 2);
    }
    lua_concat(L, 2);
    lua_pushvalue(L, key);
    lua_rawget(L, table);
    push_value(p, lua_gettop(L), depth + 1, width - 2);
    lua_remove(L, -2);
    lua_concat(L, 2);
    lua_remove(L, key);
}

/* What has been said of a table: a list of texts, and whether they fit one line. */
typedef struct items {
    int list; /* its stack place */
    int count, pairs_from, width;
    bool tall; /* one has several lines */
} items;

/* Adds the text on top of the stack. */
static void add_item(lua_State *L, items *it)
{
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    it->width += (int)shell_count(text, length) + 2;
    it->tall = it->tall || memchr(text, '\n', length);
    lua_rawseti(L, it->list, ++it->count);
}

static void collect_items(printer *p, int table, int depth, int width, items *it)
{
    lua_State *L = p->L;
    lua_Integer n = (lua_Integer)lua_rawlen(L, table);
    int kept, keys_at, pairs = 0;
    for (lua_Integer i = 1; i <= n && i <= ITEMS_MOST && p->left-- > 0; i++) {
        lua_rawgeti(L, table, i);
        push_value(p, lua_gettop(L), depth + 1, width - 2);
        lua_remove(L, -2);
        add_item(L, it);
    }
    if (n > it->count) {
        lua_pushfstring(L, "... %I more", (LUAI_UACINT)(n - it->count));
        add_item(L, it);
    }
    it->pairs_from = it->count;
    int count = push_keys(L, table, n, &kept);
    for (keys_at = lua_gettop(L); pairs < kept && pairs < ITEMS_MOST && p->left-- > 0;) {
        lua_rawgeti(L, keys_at, ++pairs);
        push_pair(p, table, depth, width);
        add_item(L, it);
    }
    if (count > pairs) {
        lua_pushfstring(L, "... %d more", count - pairs);
        add_item(L, it);
    }
    lua_pop(L, 1);
}

/* Puts the text on top of the stack on lines of its own, two columns further in. */
static void indent(lua_State *L)
{
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, "\n  ");
    for (size_t i = 0; i < length; i++) {
        luaL_addchar(&b, text[i]);
        luaL_addstring(&b, text[i] == '\n' ? "  " : "");
    }
    luaL_pushresult(&b);
    lua_remove(L, -2);
}

/* Pushes the items in braces on as few lines as it takes; a few pairs that do not fit one have a
 * line each. */
static void join_items(lua_State *L, const items *it, int width)
{
    bool line = !it->tall && it->width <= width, few = it->count - it->pairs_from <= 12;
    int column = 0;
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addchar(&b, '{');
    for (int i = 1; i <= it->count; i++) {
        size_t length;
        lua_rawgeti(L, it->list, i);
        const char *text = lua_tolstring(L, -1, &length);
        int wide = (int)shell_count(text, length) + 2;
        bool new_line = !line && (i == 1 || it->tall || (few && i > it->pairs_from) || column + wide > width - 2);
        if (new_line) {
            indent(L);
            column = 0;
        } else if (i > 1) {
            lua_pushliteral(L, " ");
            lua_insert(L, -2);
            lua_concat(L, 2);
        }
        column += wide;
        luaL_addvalue(&b);
        luaL_addstring(&b, i < it->count ? "," : "");
    }
    luaL_addstring(&b, line ? "}" : "\n}");
    luaL_pushresult(&b);
}

static void push_table(printer *p, int table, int depth, int width)
{
    lua_State *L = p->L;
    lua_pushvalue(L, table);
    bool inside_itself = lua_rawget(L, p->around) != LUA_TNIL;
    lua_pushnil(L);
    bool empty = !lua_next(L, table);
    lua_settop(L, empty ? -2 : -4);
    if (empty || inside_itself || depth >= DEPTH_MOST) {
        lua_pushstring(L, empty ? "{}" : "{...}");
        return;
    }
    luaL_checkstack(L, 40, "values too deep to show");
    lua_pushvalue(L, table);
    lua_pushboolean(L, true);
    lua_rawset(L, p->around);
    items it = {.list = lua_gettop(L) + 1};
    lua_newtable(L);
    collect_items(p, table, depth, width, &it);
    join_items(L, &it, width);
    lua_remove(L, it.list);
    lua_pushvalue(L, table);
    lua_pushnil(L);
    lua_rawset(L, p->around);
}

/* ---- values -------------------------------------------------------------------------------- */

/* A tensor among other things: its kind, and its numbers only if they take one short line. */
static void push_inner_tensor(lua_State *L, int index)
{
    eg_tensor *t = eg__lua_tensor(L, index);
    eg_shape shape = eg_shape_of(t);
    size_t length;
    const char *text = luaL_tolstring(L, index, &length);
    if (length <= INNER_TEXT_MOST && !memchr(text, '\n', length)) {
        return;
    }
    lua_pop(L, 1);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, eg_dtype_name(eg_dtype_of(t)));
    for (int i = 0; i < shape.ndim; i++) {
        lua_pushfstring(L, "%s%I", i ? ", " : " [", (LUAI_UACINT)shape.dim[i]);
        luaL_addvalue(&b);
    }
    luaL_addchar(&b, ']');
    luaL_pushresult(&b);
}

static void push_value(printer *p, int index, int depth, int width)
{
    lua_State *L = p->L;
    if (lua_type(L, index) == LUA_TSTRING) {
        push_string(L, index, depth ? INNER_TEXT_MOST : TEXT_MOST);
    } else if (lua_type(L, index) == LUA_TTABLE && luaL_getmetafield(L, index, "__tostring") == LUA_TNIL) {
        push_table(p, index, depth, width > 20 ? width : 20);
    } else if (depth && lua_isfunction(L, index)) {
        lua_pushliteral(L, "function"); /* its address says nothing */
    } else if (depth && eg__lua_is_tensor(L, index)) {
        push_inner_tensor(L, index);
    } else {
        if (lua_type(L, index) == LUA_TTABLE) {
            lua_pop(L, 1); /* its __tostring */
        }
        luaL_tolstring(L, index, NULL);
    }
}

void shell_pretty(lua_State *L, int index, int width)
{
    index = lua_absindex(L, index);
    luaL_checkstack(L, 40, "a value too deep to show");
    lua_newtable(L);
    push_value(&(printer){L, lua_gettop(L), ALL_ITEMS_MOST}, index, 0, width);
    lua_remove(L, -2);
}

void shell_pretty_values(lua_State *L, int count, int width)
{
    int first = lua_gettop(L) - count + 1;
    bool tall = false;
    luaL_checkstack(L, count + 40, "too many values to show");
    for (int i = first; i < first + count; i++) {
        shell_pretty(L, i, width);
        lua_replace(L, i);
        tall = tall || strchr(lua_tostring(L, i), '\n');
    }
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = first; i < first + count; i++) {
        luaL_addstring(&b, i == first ? "" : tall ? "\n" : "  ");
        lua_pushvalue(L, i);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    lua_replace(L, first);
    lua_settop(L, first);
}
