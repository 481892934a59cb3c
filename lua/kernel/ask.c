/* ask.c - completion and inspection: what a frontend asks about the words at the cursor. */
#include <lauxlib.h>
#include <string.h>

#include "lua/shell/letters.h"
#include "lua/shell/shell.h"

#include "session.h"
#include "text.h"

typedef struct question {
    const char *code;
    size_t length, cursor;
    size_t start; /* where the word begins, in bytes */
    json_t *answer;
} question;

/* A request's code and cursor, which counts characters; false if there is none. */
static bool read_question(question *q, const json_t *content)
{
    json_t *code = json_object_get(content, "code");
    json_t *cursor = json_object_get(content, "cursor_pos");
    *q = (question){.code = json_string_value(code), .length = json_string_length(code)};
    if (!q->code) {
        return false;
    }
    q->cursor = q->length;
    if (json_is_integer(cursor)) {
        q->cursor = text_offset(q->code, q->length, json_integer_value(cursor));
    }
    q->start = q->cursor;
    return true;
}

/* ---- completion ---- */

static int complete(lua_State *L)
{
    question *q = lua_touserdata(L, 1);
    shell_complete(L, q->code, q->cursor, &q->start);
    q->answer = json_array();
    for (lua_Integer i = 1; lua_geti(L, -1, i) == LUA_TSTRING; i++) {
        size_t n;
        const char *name = lua_tolstring(L, -1, &n);
        json_array_append_new(q->answer, text_json(name, n));
        lua_pop(L, 1);
    }
    return 0;
}

json_t *ask_complete(session *s, const json_t *content)
{
    question q;
    if (!read_question(&q, content)) {
        return message_refusal("complete_request has no code");
    }
    session_call(s, complete, &q, NULL, NULL);
    return json_pack("{s:s, s:o, s:I, s:I, s:{}}", "status", "ok", "matches", q.answer ? q.answer : json_array(),
                     "cursor_start", (json_int_t)shell_count(q.code, q.start < q.cursor ? q.start : q.cursor),
                     "cursor_end", (json_int_t)shell_count(q.code, q.cursor), "metadata");
}

/* ---- inspection ---- */

static bool in_word(char c)
{
    return shell_is_name_part(c) || c == '.' || c == ':';
}

/* The dotted name around the cursor, or that of the call which it stands in the brackets of. Behind
 * the cursor a name ends with its own part: in eg.nn.linear that may be eg.nn. */
static void find_word(question *q)
{
    size_t start = q->cursor, end = q->cursor;
    int open = 0;
    while (end < q->length && in_word(q->code[end]) && q->code[end] != '.' && q->code[end] != ':') {
        end++;
    }
    while (start > 0 && in_word(q->code[start - 1])) {
        start--;
    }
    if (start == end) {
        for (; start > 0 && q->code[start - 1] != '\n' && open >= 0; start--) {
            char c = q->code[start - 1];
            open += (c == ')' || c == '}') - (c == '(' || c == '{');
        }
        end = start;
        while (start > 0 && in_word(q->code[start - 1])) {
            start--;
        }
    }
    q->start = start;
    q->cursor = end;
}

/* Leaves the value of a dotted name, nil where one of its parts has none. */
static void push_value(lua_State *L, const question *q)
{
    lua_pushglobaltable(L);
    for (size_t at = q->start; at < q->cursor;) {
        size_t end = at;
        while (end < q->cursor && q->code[end] != '.' && q->code[end] != ':') {
            end++;
        }
        bool has_fields = lua_type(L, -1) == LUA_TTABLE || luaL_getmetafield(L, -1, "__index") != LUA_TNIL;
        lua_settop(L, 2);
        if (!has_fields) {
            lua_pushnil(L);
            return;
        }
        lua_pushlstring(L, q->code + at, end - at);
        lua_gettable(L, -2);
        lua_remove(L, 2);
        at = end + (end < q->cursor);
    }
}

static void push_kind(lua_State *L)
{
    lua_Debug d;
    if (lua_type(L, -1) != LUA_TFUNCTION) {
        lua_pushfstring(L, "%s ", luaL_typename(L, -1));
        shell_pretty(L, -2, 100);
        lua_concat(L, 2);
        return;
    }
    lua_pushvalue(L, -1);
    lua_getinfo(L, ">S", &d);
    if (*d.what == 'C') {
        lua_pushliteral(L, "function");
    } else {
        lua_pushfstring(L, "function, defined at %s:%d", d.short_src, d.linedefined);
    }
}

/* Pushes what there is to say of the value on top of the stack. */
static void push_words(lua_State *L)
{
    if (lua_type(L, -1) != LUA_TSTRING) { /* help would look for what the text says */
        shell_help(L, -1, NOTEBOOK_COLUMNS);
        if (lua_isstring(L, -1)) {
            return;
        }
        lua_pop(L, 1);
    }
    push_kind(L);
}

static int inspect(lua_State *L)
{
    question *q = lua_touserdata(L, 1);
    find_word(q);
    push_value(L, q);
    if (q->start == q->cursor || lua_isnil(L, -1)) {
        return 0;
    }
    push_words(L);
    size_t n;
    const char *text = lua_tolstring(L, -1, &n);
    q->answer = text_json(text, n);
    return 0;
}

json_t *ask_inspect(session *s, const json_t *content)
{
    question q;
    if (!read_question(&q, content)) {
        return message_refusal("inspect_request has no code");
    }
    session_call(s, inspect, &q, NULL, NULL);
    bool found = q.answer != NULL;
    json_t *data = found ? json_pack("{s:o}", "text/plain", q.answer) : json_object();
    return json_pack("{s:s, s:b, s:o, s:{}}", "status", "ok", "found", found, "data", data, "metadata");
}
