/* test_shell.c - what the prompt and the notebook share, and pictures: when memory runs out at any
 * place, when texts are broken, and what takes no terminal to see. */
#include <lauxlib.h>
#include <lualib.h>

#include "lua/bind.h"
#include "lua/shell/shell.h"
#include "lua/show/picture.h"
#include "tests/egt.h"

static long left = -1; /* allocations that still succeed; -1: all */

static void *allocate(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    if (size == 0) {
        free(p);
        return NULL;
    }
    if (left == 0 && (!p || size > old)) {
        return NULL;
    }
    left -= left > 0;
    return realloc(p, size);
}

static lua_State *state(void)
{
    left = -1;
    lua_State *L = lua_newstate(allocate, NULL);
    EGT_CHECK(L);
    luaL_openlibs(L);
    luaL_requiref(L, "egret", luaopen_egret, 1);
    lua_setglobal(L, "eg");
    shell_open_help(L, 0);
    shell_open_functions(L);
    shell_open_interrupt(L);
    /* Lua's buffers have a metatable that 5.4.4 leaves half made if memory runs out then: it is
     * made now. */
    EGT_EQ(luaL_dostring(L, "return ('x'):rep(100000)"), LUA_OK);
    lua_settop(L, 0);
    return L;
}

/* Calls a function with fewer and fewer failures, until it has all the memory it wants. */
static void starve(lua_CFunction f)
{
    lua_State *L = state();
    int status = LUA_ERRMEM, failed = 0;
    for (long n = 0; status != LUA_OK; n++) {
        lua_pushcfunction(L, f);
        left = n;
        status = lua_pcall(L, 0, 0, 0);
        left = -1;
        if (status != LUA_OK) {
            EGT_CHECK(strstr(luaL_tolstring(L, -1, NULL), "memory"));
            failed++;
        }
        lua_settop(L, 0);
        lua_gc(L, LUA_GCCOLLECT);
        EGT_CHECK(n < 100000);
    }
    EGT_CHECK(failed > 0);
    lua_close(L);
    eg_clear_error();
}

static int do_string(lua_State *L, const char *code)
{
    if (luaL_loadstring(L, code) != LUA_OK) {
        return lua_error(L);
    }
    lua_call(L, 0, LUA_MULTRET);
    return lua_gettop(L);
}

/* ---- memory -------------------------------------------------------------------------------- */

static int pretty(lua_State *L)
{
    int n = do_string(L, "local t = {1, 'a\\0\"', {x = {y = eg.ones{2, 2}}}, print}\n"
                         "for i = 1, 60 do t['key' .. i] = i t[#t + 1] = {i} end return t, nil, 2.5, t");
    shell_pretty_values(L, n, 60);
    return 0;
}

static int complete(lua_State *L)
{
    size_t start;
    shell_complete(L, "eg.optim.a", 10, &start);
    return 0;
}

static int load(lua_State *L)
{
    EGT_EQ(shell_load(L, "1 + 1", 5, "=t"), SHELL_COMPLETE);
    EGT_EQ(shell_load(L, "for i = 1, 2 do", 15, "=t"), SHELL_UNFINISHED);
    return 0;
}

static int help(lua_State *L)
{
    lua_pushliteral(L, "conv2d");
    shell_help(L, 1, 60);
    shell_help(L, 3, 60);
    return 0;
}

static int show(lua_State *L)
{
    return do_string(L, "eg.display(function() end) eg.show({eg.ones{2, 3}, eg.ones{3, 2, 2}}, {scale = 2})");
}

static int plot(lua_State *L)
{
    return do_string(L, "eg.display(function() end)\n"
                        "eg.plot({{1, 2}, eg.ones{2}}, {title = 't', labels = {'a', 'b'}, width = "
                        "200, height = 120})");
}

EGT(memory_of_values)
{
    starve(pretty);
}

EGT(memory_of_completion)
{
    starve(complete);
}

EGT(memory_of_chunks)
{
    starve(load);
}

EGT(memory_of_help)
{
    starve(help);
}

EGT(memory_of_show)
{
    starve(show);
}

EGT(memory_of_plot)
{
    starve(plot);
}

static bool make_picture(void *user)
{
    (void)user;
    eg_tensor *png = NULL;
    EG_SCOPE {
        eg_tensor *images[2] = {eg_full(EG_SHAPE(2, 4, 5, 6), 0.5, EG_F32), eg_zeros(EG_SHAPE(3, 3), EG_U8)};
        bool made = images[0] && images[1];
        eg_tensor *picture = made ? picture_of(images, 2, &(picture_options){0}) : NULL;
        png = picture ? eg_keep(picture_png(picture_scaled(picture, 0.5, 0, 100, 100))) : NULL;
    }
    eg_release(png);
    return png;
}

EGT(memory_of_pictures)
{
    EGT_CHECK(egt_fail_allocations(make_picture, NULL) > 10);
}

/* ---- texts --------------------------------------------------------------------------------- */

/* Completes every beginning of a text. */
static void complete_all(lua_State *L, const char *text)
{
    for (size_t n = 0; n <= strlen(text); n++) {
        size_t start = 99;
        shell_complete(L, text, n, &start);
        EGT_CHECK(start <= n && lua_istable(L, -1));
        lua_pop(L, 1);
    }
}

EGT(completion_of_anything)
{
    lua_State *L = state();
    static const char *const texts[] = {
        "x = eg.nn.linear(2, 3).we",
        "a[1][2]['x'].y:z",
        "..",
        "]].x",
        "[[[.x",
        "1.5.x",
        "''.x",
        "\"\\",
        "eg..nn.",
        "eg[\"nn\"].lin",
        "eg [ 'nn' ] . lin",
        ":",
        ".:.:",
        "end.x",
        "(eg).nn",
        "\xff\xfe.\xff",
        "a.b.c.d.e.f.g",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        complete_all(L, texts[i]);
    }
    char noise[40];
    static const char letters[] = "eg.nn[]'\":x1 \\(){}\n_";
    for (unsigned i = 0, seed = 1; i < 3000; i++) {
        for (size_t k = 0; k < sizeof noise; k++) {
            seed = seed * 1664525u + 1013904223u;
            noise[k] = letters[(seed >> 16) % (sizeof letters - 1)];
        }
        size_t start;
        shell_complete(L, noise, sizeof noise, &start);
        lua_pop(L, 1);
    }
    EGT_EQ(lua_gettop(L), 0);
    lua_close(L);
}

static void check_names(lua_State *L, const char *text, const char *first, size_t at, int least, int most)
{
    size_t start;
    shell_complete(L, text, strlen(text), &start);
    int count = (int)lua_rawlen(L, -1);
    EGT_EQ(start, at);
    EGT_CHECK(count >= least && count <= most);
    lua_rawgeti(L, -1, 1);
    EGT_STR(count ? lua_tostring(L, -1) : "", first);
    lua_pop(L, 2);
}

EGT(completion)
{
    lua_State *L = state();
    do_string(L, "t = {one = {two = {three_a = 1, three_b = print}}, ['a b'] = 1, _hidden = 1} s = 'x'\n"
                 "m = setmetatable({}, {__index = setmetatable({near = 1}, {__index = {far = 2}})})");
    check_names(L, "t.", "one", 2, 1, 1);
    check_names(L, "t._", "_hidden", 2, 1, 1);
    check_names(L, "print(t.one.two.th", "three_a", 16, 2, 2);
    check_names(L, "t.one.two:th", "three_b", 10, 1, 1);
    check_names(L, "m.", "far", 2, 2, 2);
    check_names(L, "s:up", "upper", 2, 1, 1);
    check_names(L, "a = 'x'..t", "t", 9, 1, 20);
    check_names(L, "eg.conv2d_n", "conv2d_new", 3, 1, 1);
    do_string(L, "endless = setmetatable({}, {__index = function() while true do end end})");
    check_names(L, "endless.x.y", "", 10, 0, 0);
    check_names(L, "absent.x.y", "", 9, 0, 0);
    check_names(L, "eg.zeros({1}, 'f1", "f16", 15, 1, 1);
    lua_close(L);
}

static void check_pretty(lua_State *L, const char *code, int width, const char *right)
{
    shell_pretty_values(L, do_string(L, code), width);
    EGT_STR(lua_tostring(L, -1), right);
    lua_settop(L, 0);
}

EGT(values)
{
    lua_State *L = state();
    check_pretty(L, "return 1, 1.0, 'a', nil", 80, "1  1.0  \"a\"  nil");
    check_pretty(L, "return {}, {{}}, {1, nil, 3}", 80, "{}  {{}}  {1, nil, 3}");
    check_pretty(L, "return {11, 22, 33, 44, 55, 66, 77}", 20, "{\n  11, 22, 33, 44,\n  55, 66, 77\n}");
    check_pretty(L, "return {alpha = {1, 2}, beta = 'bbbbbbbb'}", 24, "{\n  alpha = {1, 2},\n  beta = \"bbbbbbbb\"\n}");
    check_pretty(L, "return {eg.ones{40, 50}, eg.ones{2}}", 80, "{f32 [40, 50], [1. 1.]}");
    check_pretty(L, "return '\\xff\\xc3\\xa4\\xe2\\x82'", 80, "\"\\255\xc3\xa4\\226\\130\"");
    check_pretty(L, "return {[true] = 1, [1.5] = 2, x = 3, [10] = 4}", 80, "{[1.5] = 2, [10] = 4, x = 3, [true] = 1}");
    check_pretty(L, "return {print, x = print}", 80, "{function, x = function}");
    lua_close(L);
}

EGT(chunks)
{
    lua_State *L = state();
    EGT_EQ(shell_load(L, "f(", 2, "=t"), SHELL_UNFINISHED);
    EGT_EQ(shell_load(L, "x = [[", 6, "=t"), SHELL_UNFINISHED);
    EGT_EQ(shell_load(L, "x = 'a", 6, "=t"), SHELL_WRONG);
    EGT_EQ(shell_load(L, "x = 'a\\", 7, "=t"), SHELL_UNFINISHED);
    EGT_EQ(shell_load(L, "1 2", 3, "=t"), SHELL_WRONG);
    EGT_EQ(shell_load(L, "", 0, "=t"), SHELL_COMPLETE);
    EGT_EQ(shell_load(L, "\x1bLua", 4, "=t"), SHELL_WRONG);
    lua_close(L);
}

EGT(interruption)
{
    lua_State *L = state();
    EGT_CHECK(!shell_interrupt());
    luaL_loadstring(L, "while true do pcall(coroutine.wrap(function() while true do end end)) end");
    shell_run_begin(L);
    EGT_CHECK(shell_interrupt()); /* before the first instruction: as good as any time */
    EGT_EQ(lua_pcall(L, 0, 0, 0), LUA_ERRRUN);
    EGT_STR(lua_tostring(L, -1), "interrupted");
    EGT_CHECK(shell_run_end(L));
    EGT_CHECK(!shell_interrupt());
    EGT_EQ(luaL_dostring(L, "local c = coroutine.wrap(function(a) local b = coroutine.yield(a + 1) return b, "
                            "'end' end)\n"
                            "assert(c(1) == 2) local x, y = c(5) assert(x == 5 and y == 'end')\n"
                            "assert(not pcall(c)) assert(not coroutine.resume(coroutine.create(error), 'x'))\n"
                            "assert(select('#', coroutine.resume(coroutine.create(function() return 1, nil "
                            "end))) == 3)"),
           LUA_OK);
    lua_close(L);
}
