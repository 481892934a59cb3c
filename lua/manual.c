/* manual.c - what is known of the functions: their pages, and words for calls that do not fit them. */
#include <string.h>

#include "lua/bind.h"

static const char known; /* address of the registry's table of pages by C function */

/* ---- pages by name ------------------------------------------------------------------------------------------ */

/* How one writes the function: of "y, i = eg.data.from(f, count)" that is "eg.data.from". *n: its length. */
static const char *head(const char *usage, size_t *n)
{
    const char *end = usage + strcspn(usage, "("), *begin = end;
    while (begin > usage && begin[-1] != ' ') {
        begin--;
    }
    *n = (size_t)(end - begin);
    return begin;
}

/* Whether a page is of "eg.data.from" or its last word. */
static bool is_usage_of(const char *usage, const char *name)
{
    size_t n, length = strlen(name);
    const char *begin = head(usage, &n), *end = begin + n - length;
    return length <= n && strncmp(end, name, length) == 0 && (end == begin || strchr(".:", end[-1]));
}

static const eg__lua_page *page_of(const char *name)
{
    const char *bare = strncmp(name, "eg.", 3) == 0 ? name + 3 : name;
    size_t n = strlen(bare);
    for (const eg__lua_page *p = eg__lua_pages; p->name; p++) {
        if (*p->name == *bare && strcmp(p->name, bare) == 0) {
            return p;
        }
    }
    for (const eg__lua_page *p = eg__lua_pages; p->name; p++) {
        if ((strncmp(p->name, bare, n) == 0 && strcmp(p->name + n, "_new") == 0) || is_usage_of(p->usage, name)) {
            return p;
        }
    }
    return NULL;
}

/* ---- pages by function -------------------------------------------------------------------------------------- */

/* Pushes what stands behind "eg.nn.linear", "x:item" or "optim:step"; nil if that is nothing. */
static void push_function_of(lua_State *L, const char *name, size_t n)
{
    const char *colon = memchr(name, ':', n), *at = colon ? colon : name, *end = name + n;
    if (colon) {
        lua_pushlstring(L, name, (size_t)(colon - name));
        const char *type = lua_tostring(L, -1);
        luaL_getmetatable(L, lua_pushfstring(L, "egret.%s", strcmp(type, "x") ? type : "tensor"));
        if (lua_istable(L, -1)) {
            lua_getfield(L, -1, "methods");
        }
    } else {
        lua_getfield(L, LUA_REGISTRYINDEX, "egret");
        at = n > 2 && strncmp(name, "eg.", 3) == 0 ? name + 2 : end;
    }
    for (const char *next; at < end && lua_istable(L, -1); at = next) {
        next = memchr(at + 1, '.', (size_t)(end - at - 1));
        next = next ? next : end;
        lua_pushlstring(L, at + 1, (size_t)(next - at - 1));
        lua_rawget(L, -2);
    }
}

/* Notes for the function on top that this is its page, unless it has one. */
static void note(lua_State *L, int pages, int i)
{
    lua_CFunction f = lua_tocfunction(L, -1);
    if (f && lua_rawgetp(L, pages, (const void *)(uintptr_t)f) == LUA_TNIL) {
        lua_pushinteger(L, i);
        lua_rawsetp(L, pages, (const void *)(uintptr_t)f);
    }
}

/* Pushes the table, which is made at the first question. */
static void push_known(lua_State *L)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &known) == LUA_TTABLE) {
        return;
    }
    lua_pop(L, 1);
    lua_newtable(L);
    int pages = lua_gettop(L);
    for (int again = 0; again < 2; again++) { /* as it is written, then by its plain name */
        for (int i = 0; eg__lua_pages[i].name; i++) {
            size_t n;
            const char *name = head(eg__lua_pages[i].usage, &n);
            if (again) {
                lua_pushfstring(L, "eg.%s", eg__lua_pages[i].name);
                name = lua_tolstring(L, -1, &n);
            }
            push_function_of(L, name, n);
            note(L, pages, i);
            lua_settop(L, pages);
        }
    }
    lua_pushvalue(L, pages);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &known);
}

static const eg__lua_page *page_of_function(lua_State *L, int f)
{
    lua_CFunction c = lua_tocfunction(L, f);
    push_known(L);
    const eg__lua_page *page = NULL;
    if (c && lua_rawgetp(L, -1, (const void *)(uintptr_t)c) == LUA_TNUMBER) {
        page = &eg__lua_pages[lua_tointeger(L, -1)];
    }
    lua_pop(L, c ? 2 : 1);
    return page;
}

/* ---- calls that do not fit ------------------------------------------------------------------------------------ */

/* The first name in the table at i, or NULL. */
static const char *first_name(lua_State *L, int i)
{
    if (lua_istable(L, i)) {
        for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
            if (lua_type(L, -2) == LUA_TSTRING) {
                return lua_tostring(L, -2);
            }
        }
    }
    return NULL;
}

void eg__lua_fit(lua_State *L, int arguments)
{
    int n = lua_gettop(L), at = arguments + 1;
    while (at <= n && lua_isnil(L, at)) { /* as if they were not there */
        at++;
    }
    if (at > n) {
        lua_settop(L, arguments);
        return;
    }
    lua_Debug d;
    lua_getstack(L, 0, &d);
    lua_getinfo(L, "fn", &d);
    const eg__lua_page *page = page_of_function(L, lua_gettop(L));
    const char *name = d.name ? d.name : page ? page->name : "?", *option = first_name(L, at);
    const char *call = page ? lua_pushfstring(L, "; the call is %s", page->usage) : "";
    if (option) {
        eg__lua_error(L, "%s: there is no option '%s'%s", name, option, call);
    }
    eg__lua_error(L, "%s: argument %d, a %s, is one too many%s", name, at, luaL_typename(L, at), call);
}

/* Lists of parameters have the names of these, those of table.pack an n. The elements of a long list lie side by side,
 * and behind the last one come the names; those of a short one may lie among the names. */
void eg__lua_no_names(lua_State *L, int i)
{
    enum { SHORT = 16 };
    lua_Integer n = (lua_Integer)lua_rawlen(L, i);
    i = lua_absindex(L, i);
    if (n > SHORT) {
        lua_pushinteger(L, n);
    } else {
        lua_pushnil(L);
    }
    for (; lua_next(L, i); lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        if (name && strcmp(name, "names") != 0 && strcmp(name, "n") != 0) {
            eg__lua_error(L, "'%s' in a list, which has no options: they are a table or arguments behind it", name);
        }
    }
}

void eg__lua_only_names(lua_State *L, int i, const char *function, const char *const *names)
{
    luaL_checktype(L, i, LUA_TTABLE);
    i = lua_absindex(L, i);
    for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING) {
            eg__lua_error(L, "%s: options go by names, got a %s", function, luaL_typename(L, -2));
        }
        const char *name = lua_tostring(L, -2);
        const char *const *one = names;
        while (*one && strcmp(*one, name) != 0) {
            one++;
        }
        if (!*one || strlen(name) != lua_rawlen(L, -2)) {
            eg__lua_refuse_option(L, function, name, names);
        }
    }
}

void eg__lua_gather(lua_State *L, int i)
{
    int end = i;
    while (lua_type(L, end) == LUA_TNUMBER) {
        end++;
    }
    lua_createtable(L, end - i, 0);
    for (int k = i; k < end; k++) {
        lua_pushvalue(L, k);
        lua_rawseti(L, -2, k - i + 1);
    }
    lua_replace(L, i);
    for (int k = end - 1; k > i; k--) {
        lua_remove(L, k);
    }
}

/* ---- eg.manual -------------------------------------------------------------------------------------------------- */

/* eg.manual(name or function): what the headers say. */
static int manual(lua_State *L)
{
    EG__LUA_BEGIN(1)
    const char *name = lua_type(L, 1) == LUA_TSTRING ? eg__lua_string(L, 1) : NULL;
    const eg__lua_page *p = lua_isfunction(L, 1) ? page_of_function(L, 1) : name ? page_of(name) : NULL;
    if (!p) {
        return 0;
    }
    const char *const pairs[][2] = {{"name", p->name}, {"usage", p->usage},   {"c", p->prototype},
                                    {"text", p->text}, {"header", p->header}, {"about", p->about}};
    lua_createtable(L, 0, 6);
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        lua_pushstring(L, pairs[k][1]);
        lua_setfield(L, -2, pairs[k][0]);
    }
    return 1;
}

static int manual_next(lua_State *L)
{
    lua_Integer i = lua_tointeger(L, lua_upvalueindex(1));
    if (!eg__lua_pages[i].name) {
        return 0;
    }
    lua_pushinteger(L, i + 1);
    lua_replace(L, lua_upvalueindex(1));
    lua_pushstring(L, eg__lua_pages[i].name);
    return 1;
}

/* for name in eg.manual_pages() do */
static int manual_pages(lua_State *L)
{
    EG__LUA_BEGIN(0)
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, manual_next, 1);
    return 1;
}

/* On the stack: the module's table. */
void eg__lua_open_manual(lua_State *L)
{
    static const eg__lua_place functions[] = {{"", "manual", manual}, {"", "manual_pages", manual_pages}, {0}};
    eg__lua_set_functions(L, functions);
}
