/* hints.c - what is said of names that are not here: those of PyTorch and Keras, and slips of the keyboard. */
#include <ctype.h>
#include <string.h>

#include "lua/bind.h"

/* ---- names much alike ---------------------------------------------------------------------------------- */

/* Pairs of neighboring letters that both have, twice, by the number of all: 1 for the same word, 0 for nothing in
 * common (Dice's coefficient). */
static double likeness(const char *a, const char *b)
{
    int n = (int)strlen(a) - 1, m = (int)strlen(b) - 1, common = 0;
    uint64_t used = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m && j < 64; j++) {
            if (!(used >> j & 1) && tolower((unsigned char)a[i]) == tolower((unsigned char)b[j]) &&
                tolower((unsigned char)a[i + 1]) == tolower((unsigned char)b[j + 1])) {
                used |= UINT64_C(1) << j;
                common++;
                break;
            }
        }
    }
    return n + m > 0 ? 2.0 * common / (n + m) : 0;
}

/* Options that others call by quite different words. */
static const char *const other_words[][2] = {
    {"dim", "axes"}, {"dim", "axis"}, {"axis", "axes"}, {"betas", "beta1"}, {"learning_rate", "lr"}};

/* The name among those, which end with NULL, that was probably meant, or NULL. */
static const char *meant(const char *name, const char *const *names)
{
    const char *best = NULL;
    double most = 0.5;
    for (const char *const *one = names; *one; one++) {
        double like = likeness(name, *one);
        for (size_t k = 0; k < sizeof other_words / sizeof *other_words; k++) {
            like = !strcmp(name, other_words[k][0]) && !strcmp(*one, other_words[k][1]) ? 1 : like;
        }
        if (like >= most && strcmp(name, *one) != 0) { /* the same: one with a zero byte behind it */
            most = like + 1e-9;
            best = *one;
        }
    }
    return best;
}

/* The name by which the function that runs was called. */
static const char *called(lua_State *L)
{
    lua_Debug d;
    return lua_getstack(L, 0, &d) && lua_getinfo(L, "n", &d) && d.name ? d.name : NULL;
}

int eg__lua_refuse_option(lua_State *L, const char *function, const char *name, const char *const *names)
{
    const char *near = meant(name, names);
    function = function ? function : called(L);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (const char *const *one = names; *one; one++) {
        luaL_addstring(&b, one > names ? ", " : "");
        luaL_addstring(&b, *one);
    }
    luaL_pushresult(&b);
    const char *all = lua_tostring(L, -1);
    return eg__lua_error(L, "%s%sthere is no option '%s'%s%s%s options are %s", function ? function : "",
                         function ? ": " : "", name, near ? "; did you mean '" : "", near ? near : "",
                         near ? "'? The" : "; the", *names ? all : "none");
}

/* ---- names of others ------------------------------------------------------------------------------------ */

static const eg__lua_hint *hint_of(const char *name)
{
    for (const eg__lua_hint *h = eg__lua_hints; h->name; h++) {
        if (strcmp(h->name, name) == 0) {
            return h;
        }
    }
    return NULL;
}

/* Returns whether two names differ only in capitals and underscores: MaxPool2d is max_pool2d. */
static bool same_letters(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += *a == '_';
        b += *b == '_';
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) {
            return false;
        }
        if (!*a) {
            return true;
        }
    }
}

/* The function of the table at i whose name differs from this one in capitals and underscores only, or NULL. */
static const char *respelled(lua_State *L, int i, const char *name)
{
    const char *found = NULL;
    for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING && same_letters(name, lua_tostring(L, -2))) {
            found = lua_tostring(L, -2); /* the table holds it */
        }
    }
    return found;
}

const char *eg__lua_dtype_hint(const char *word)
{
    const eg__lua_hint *h = hint_of(word);
    return h && strncmp(h->text, "use \"", 5) == 0 ? h->text + 4 : NULL;
}

int eg__lua_no_name(lua_State *L, const char *whose, const char *name, bool calls_only)
{
    const eg__lua_hint *h = hint_of(name);
    if (h && (h->call || !calls_only)) {
        return eg__lua_error(L, "%s no '%s': %s", whose, name, h->text);
    }
    lua_pushnil(L);
    return 1;
}

/* __index of a table of functions: raises with a hint for an unknown name. Upvalue 1 is the table's name. */
static int no_function(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING) {
        return 0;
    }
    const char *name = lua_tostring(L, 2), *where = lua_tostring(L, lua_upvalueindex(1));
    const char *ours = respelled(L, 1, name);
    if (ours) {
        return eg__lua_error(L, "%s has no '%s': use %s.%s", where, name, where, ours);
    }
    return eg__lua_no_name(L, lua_pushfstring(L, "%s has", where), name, false);
}

/* __index of a handle: raises with a hint for an unknown method. */
static int no_method(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING) {
        return 0;
    }
    const char *type = lua_tostring(L, lua_upvalueindex(1));
    type = strcmp(type, "optim") == 0 ? "optimizer" : type;
    return eg__lua_no_name(L, lua_pushfstring(L, "%s %s has", strchr("aeiou", *type) ? "an" : "a", type),
                           lua_tostring(L, 2), false);
}

/* Gives the table on top a metatable with such a function. */
static void hint_in(lua_State *L, const char *where, lua_CFunction f)
{
    lua_createtable(L, 0, 1);
    lua_pushstring(L, where);
    lua_pushcclosure(L, f, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

/* On the stack: the module's table. */
void eg__lua_open_hints(lua_State *L)
{
    static const char *const spaces[] = {"nn", "optim", "data", "models"};
    for (size_t k = 0; k < sizeof spaces / sizeof *spaces; k++) {
        lua_pushfstring(L, "eg.%s", spaces[k]);
        lua_getfield(L, -2, spaces[k]);
        hint_in(L, lua_tostring(L, -2), no_function);
        lua_pop(L, 2);
    }
    hint_in(L, "eg", no_function);
    for (const eg__lua_type *const *t = eg__lua_types; *t; t++) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, *t);
        lua_getfield(L, -1, "methods");
        hint_in(L, (*t)->name, no_method);
        lua_pop(L, 2);
    }
}
