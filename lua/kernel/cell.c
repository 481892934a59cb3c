/* cell.c - running what is in a cell. */
#define _GNU_SOURCE
#include <ctype.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "lua/shell/shell.h"

#include "session.h"
#include "text.h"

enum { WIDTH = 100, TRIES = 200 };

typedef struct cell {
    const char *code;
    size_t length;
    char name[32]; /* of the chunk, in messages */
    bool silent;   /* its values are not wanted */
    bool compiled; /* what goes wrong now is not the compiler's */
    json_t *shown; /* its values as text, or NULL */
} cell;

/* ---- compiling ---- */

/* The values of an expression come behind the chunk's argument, a mark. Besides, a call alone
 * behind `return` would take the chunk's place, and be missing in the way that an error came. */
#define EXPRESSION "return ..., "

/* Leaves the chunk, or the compiler's message. */
static bool load(lua_State *L, const cell *c, const char *text, size_t n)
{
    int status = luaL_loadbufferx(L, text, n, c->name, "t");
    if (status == LUA_ERRMEM) {
        lua_error(L);
    }
    return status == LUA_OK;
}

/* Leaves the chunk that runs what is before `at` and returns the values of the expression that
 * begins there, or nothing: whether there is one. */
static bool load_split(lua_State *L, const cell *c, size_t at)
{
    size_t n;
    int top = lua_gettop(L);
    lua_pushlstring(L, c->code, at);
    lua_pushliteral(L, EXPRESSION);
    lua_pushlstring(L, c->code + at, c->length - at);
    lua_concat(L, 3);
    const char *text = lua_tolstring(L, -1, &n);
    /* Both parts must be something by themselves: not the end of a loop, say. */
    bool good =
        load(L, c, text + at, n - at) && (at == 0 || load(L, c, c->code, at)) && (at == 0 || load(L, c, text, n));
    if (good) {
        lua_replace(L, top + 1);
    }
    lua_settop(L, top + good);
    return good;
}

/* Whether the cell's last expression may begin there. Where the whole is good Lua already, only
 * with a name: a bracket would go on with what is before it. */
static bool may_begin(const cell *c, size_t at, bool whole_compiles)
{
    if (at == c->length || (c->length - at >= 2 && memcmp(c->code + at, "--", 2) == 0)) {
        return false;
    }
    return !whole_compiles || isalpha((unsigned char)c->code[at]) || c->code[at] == '_';
}

/* Looks for an expression at the cell's end, at the beginnings of lines and behind semicolons. */
static bool load_with_expression(lua_State *L, const cell *c, bool whole_compiles)
{
    int tries = 0;
    for (size_t i = c->length; i > 0 && tries < TRIES; i--) {
        size_t at = i;
        if (c->code[i - 1] != '\n' && c->code[i - 1] != ';') {
            continue;
        }
        while (at < c->length && isspace((unsigned char)c->code[at])) {
            at++;
        }
        if (may_begin(c, at, whole_compiles)) {
            tries++;
            if (load_split(L, c, at)) {
                return true;
            }
        }
    }
    return false;
}

/* Leaves a chunk, or the compiler's message: whether it is a chunk. */
static bool compile(lua_State *L, const cell *c)
{
    if (load_split(L, c, 0)) {
        return true;
    }
    bool good = load(L, c, c->code, c->length);
    return load_with_expression(L, c, good) || good;
}

/* ---- running ---- */

/* What io.write returns, for those who would go on writing. */
static bool is_console(lua_State *L, int index)
{
    const luaL_Stream *file = luaL_testudata(L, index, LUA_FILEHANDLE);
    return file && (file->f == stdout || file->f == stderr);
}

static int run(lua_State *L)
{
    cell *c = lua_touserdata(L, 1);
    c->compiled = compile(L, c);
    if (!c->compiled) {
        lua_error(L);
    }
    int first = lua_gettop(L); /* of the results */
    lua_pushlightuserdata(L, c);
    lua_call(L, 1, LUA_MULTRET);
    int count = lua_gettop(L) - first + 1 - (lua_touserdata(L, first) == c);
    if (count > 0 && !c->silent && !(count == 1 && is_console(L, -1))) {
        size_t n;
        shell_pretty_values(L, count, WIDTH);
        const char *text = lua_tolstring(L, -1, &n);
        c->shown = text_json(text, n);
    }
    return 0;
}

static const cell *running; /* for the message handler, which gets nothing but the error */

/* Makes of the error a text with the way it came, unless the compiler made it. */
static int explain(lua_State *L)
{
    return running->compiled ? shell_traceback(L) : 1;
}

static json_t *lines_of(const char *text, size_t n)
{
    json_t *lines = json_array();
    for (const char *end = text + n; text <= end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop ? stop : end;
        if (json_array_append_new(lines, text_json(text, (size_t)(stop - text))) < 0) {
            json_decref(lines);
            return NULL;
        }
        text = stop + 1;
    }
    return lines;
}

/* An error's text, whose first line is the message, as {"ename", "evalue", "traceback"}. */
static json_t *error_of(const char *text, size_t n, bool interrupted)
{
    const char *end = memchr(text, '\n', n);
    json_t *words = text_json(text, end ? (size_t)(end - text) : n);
    json_t *error = json_pack("{s:s, s:o, s:o}", "ename", interrupted ? "interrupted" : "error", "evalue", words,
                              "traceback", lines_of(text, n));
    return error ? error : message_refusal("not enough memory");
}

/* What went wrong; NULL: nothing did, and c->shown is what came out. */
static json_t *run_cell(session *s, cell *c)
{
    bool interrupted;
    json_t *error = NULL;
    running = c;
    if (!session_call(s, run, c, explain, &interrupted)) {
        size_t n = 0;
        const char *text = lua_tolstring(s->L, -1, &n);
        error = error_of(text ? text : "", n, interrupted);
    }
    running = NULL;
    fflush(stdout);
    lua_settop(s->L, 0);
    return error;
}

/* ---- requests ---- */

static json_t *text_data(json_t *text)
{
    return json_pack("{s:{s:o}, s:{}}", "data", "text/plain", text, "metadata");
}

/* One of the expressions that a frontend wants to know behind a cell. */
static json_t *evaluate(session *s, const json_t *code)
{
    const char *text = json_string_value(code);
    cell c = {.code = text, .length = json_string_length(code), .name = "=expression"};
    json_t *error = c.code ? run_cell(s, &c) : message_refusal("an expression must be a text");
    json_t *result = error;
    if (!error) {
        result = text_data(c.shown ? c.shown : json_string(""));
    }
    json_object_set_new(result, "status", json_string(error ? "error" : "ok"));
    return result;
}

static json_t *evaluate_all(session *s, json_t *expressions)
{
    json_t *results = json_object(), *code;
    const char *name;
    json_object_foreach(expressions, name, code)
    {
        json_object_set_new(results, name, evaluate(s, code));
    }
    return results;
}

static json_t *numbered(json_t *object, long long count)
{
    json_object_set_new(object, "execution_count", json_integer(count));
    return object;
}

static json_t *succeed(session *s, const json_t *content, cell *c)
{
    json_t *header = s->request->header;
    if (c->shown) {
        wire_tell(s->w, "execute_result", header, numbered(text_data(c->shown), s->count));
    }
    json_t *expressions = evaluate_all(s, json_object_get(content, "user_expressions"));
    json_t *reply = json_pack("{s:s, s:o, s:[]}", "status", "ok", "user_expressions", expressions, "payload");
    return numbered(reply, s->count);
}

/* What failed silently is no part of a notebook: cells behind it run. */
static json_t *fail(session *s, const json_t *content, const cell *c, json_t *error)
{
    json_t *stop = json_object_get(content, "stop_on_error");
    if (!c->silent && (!stop || json_is_true(stop))) {
        wire_abort(s->w);
    }
    wire_tell(s->w, "error", s->request->header, json_copy(error));
    json_object_set_new(error, "status", json_string("error"));
    return numbered(error, s->count);
}

json_t *cell_execute(session *s, const json_t *content)
{
    json_t *code = json_object_get(content, "code");
    bool silent = json_is_true(json_object_get(content, "silent"));
    const char *text = json_string_value(code);
    cell c = {.code = text, .length = json_string_length(code), .silent = silent};
    if (!c.code) {
        return numbered(message_refusal("execute_request has no code"), s->count);
    }
    s->count += !silent && !json_is_false(json_object_get(content, "store_history"));
    snprintf(c.name, sizeof c.name, "=In[%lld]", s->count);
    if (!silent) {
        wire_tell(s->w, "execute_input", s->request->header, numbered(json_pack("{s:O}", "code", code), s->count));
    }
    console_begin();
    json_t *error = run_cell(s, &c);
    return error ? fail(s, content, &c, error) : succeed(s, content, &c);
}

/* Whether a line opens a block that is not closed there. */
static bool opens_block(const char *line, size_t n)
{
    static const char *const ends[] = {"then", "do", "else", "repeat", "{", "("};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t length = strlen(ends[i]);
        if (n >= length && memcmp(line + n - length, ends[i], length) == 0) {
            return true;
        }
    }
    return n > 0 && line[n - 1] == ')' && memmem(line, n, "function", 8);
}

/* How far the next line is indented: four blanks more than the last, where that opens a block. */
static int indent_of(const char *code, size_t n)
{
    size_t start = n, depth = 0;
    while (start > 0 && code[start - 1] != '\n') {
        start--;
    }
    while (start + depth < n && code[start + depth] == ' ') {
        depth++;
    }
    while (n > start && isspace((unsigned char)code[n - 1])) {
        n--;
    }
    depth += opens_block(code + start, n - start) ? 4 : 0;
    return depth < 100 ? (int)depth : 100;
}

static int judge(lua_State *L)
{
    cell *c = lua_touserdata(L, 1);
    shell_chunk is = compile(L, c) ? SHELL_COMPLETE : shell_load(L, c->code, c->length, "=");
    static const char *const words[] = {
        [SHELL_COMPLETE] = "complete", [SHELL_UNFINISHED] = "incomplete", [SHELL_WRONG] = "invalid"};
    c->shown = json_string(words[is]);
    return 0;
}

json_t *cell_is_complete(session *s, const json_t *content)
{
    json_t *code = json_object_get(content, "code");
    cell c = {.code = json_string_value(code), .length = json_string_length(code)};
    if (!c.code || !session_call(s, judge, &c, NULL, NULL) || !c.shown) {
        return json_pack("{s:s}", "status", "unknown");
    }
    if (strcmp(json_string_value(c.shown), "incomplete") != 0) {
        return json_pack("{s:o}", "status", c.shown);
    }
    char indent[128];
    snprintf(indent, sizeof indent, "%*s", indent_of(c.code, c.length), "");
    return json_pack("{s:o, s:s}", "status", c.shown, "indent", indent);
}
