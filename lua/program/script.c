/* script.c - see script.h. */
#define _POSIX_C_SOURCE 200809L
#include "script.h"

#include <errno.h>
#include <lauxlib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lua/shell/shell.h"
#include "run/signals.h"

static bool interrupted;

static void on_interrupt(int signal)
{
    int before = errno;
    (void)signal;
    shell_interrupt();
    errno = before;
}

void script_catch_interrupts(bool twice)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = twice ? (int)SA_RESETHAND : 0};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

bool script_was_interrupted(void)
{
    return interrupted;
}

/* Says and removes the message on top of the stack. */
static bool say_error(lua_State *L)
{
    const char *message = lua_tostring(L, -1);
    fflush(stdout);
    fprintf(stderr, "egret: %s\n", message ? message : "an error without words");
    lua_pop(L, 1);
    return false;
}

bool script_call(lua_State *L, int count, int results)
{
    int base = lua_gettop(L) - count;
    lua_pushcfunction(L, shell_traceback);
    lua_insert(L, base);
    shell_run_begin(L);
    int status = lua_pcall(L, count, results, base);
    signals_release(); /* a chunk that failed may not have */
    interrupted = shell_run_end(L) || interrupted;
    lua_remove(L, base);
    return status == LUA_OK || say_error(L);
}

bool script_text(lua_State *L, const char *text)
{
    return luaL_loadbufferx(L, text, strlen(text), "=-e", "t") == LUA_OK ? script_call(L, 0, 0) : say_error(L);
}

bool script_module(lua_State *L, const char *name)
{
    const char *equals = strchr(name, '=');
    if (equals) {
        lua_pushlstring(L, name, (size_t)(equals - name));
    } else {
        lua_pushstring(L, name);
    }
    lua_getglobal(L, "require");
    lua_pushstring(L, equals ? equals + 1 : name);
    if (!script_call(L, 1, 1)) {
        lua_pop(L, 1);
        return false;
    }
    lua_setglobal(L, lua_tostring(L, -2));
    lua_pop(L, 1);
    return true;
}

/* Pushes arg[1], arg[2], ...; how many. */
static int push_arguments(lua_State *L)
{
    if (lua_getglobal(L, "arg") != LUA_TTABLE) {
        lua_pop(L, 1);
        return 0;
    }
    int table = lua_gettop(L), count = (int)luaL_len(L, table);
    luaL_checkstack(L, count + 3, "too many arguments");
    for (int i = 1; i <= count; i++) {
        lua_rawgeti(L, table, i);
    }
    lua_remove(L, table);
    return count;
}

bool script_file(lua_State *L, const char *path)
{
    if (luaL_loadfile(L, path) != LUA_OK) {
        return say_error(L);
    }
    return script_call(L, push_arguments(L), 0);
}
