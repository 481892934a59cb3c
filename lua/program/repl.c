/* repl.c - see repl.h.
 *
 * Everything that touches Lua runs in protected calls: out of memory, or a __tostring that raises,
 * ends the statement and not the session. */
#define _POSIX_C_SOURCE 200809L
#include "repl.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "edit.h"
#include "lua/bind.h"
#include "lua/shell/shell.h"
#include "past.h"
#include "script.h"

typedef enum cost_lines { COSTS_AUTO, COSTS_ALWAYS, COSTS_NEVER } cost_lines;

typedef struct repl {
    editor *e;
    bool terminal, over;
    bool colours, error_colours; /* of what goes to standard output and standard error */
    cost_lines costs;
} repl;

static const char dim[] = "\033[2m", red[] = "\033[31m", plain[] = "\033[0m";

static const char *style(bool colours, const char *code)
{
    return colours ? code : "";
}

static bool has_colours(int file)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(file) && !(none && *none) && term && *term && strcmp(term, "dumb") != 0;
}

/* Says the message on top of the stack, its way dimmed, and removes it. */
static void kernel_complain(const repl *r, lua_State *L)
{
    const char *message = lua_tostring(L, -1);
    message = message ? message : "an error without words";
    const char *way = strchr(message, '\n');
    int first = way ? (int)(way - message) : (int)strlen(message);
    fflush(stdout);
    fprintf(stderr, "%s%.*s%s", style(r->error_colours, red), first, message, style(r->error_colours, plain));
    fprintf(stderr, "%s%s%s\n", style(r->error_colours, dim), message + first, style(r->error_colours, plain));
    lua_pop(L, 1);
}

/* ---- what a statement cost ----------------------------------------------------------------- */

typedef struct meter {
    struct timespec since;
    eg_memory before;
} meter;

/* The device of the thread's new tensors. */
static eg_device *device_in_use(void)
{
    eg_device *device = eg_use_device(eg_cpu());
    eg_use_device(device);
    return device;
}

static meter start_meter(void)
{
    meter m = {.before = eg_device_memory(device_in_use())};
    clock_gettime(CLOCK_MONOTONIC, &m.since);
    return m;
}

static void show_costs(const repl *r, const meter *m)
{
    enum { MIB = 1 << 20 };
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)(now.tv_sec - m->since.tv_sec) + (double)(now.tv_nsec - m->since.tv_nsec) * 1e-9;
    if (r->costs == COSTS_NEVER || (r->costs == COSTS_AUTO && seconds < 0.1)) {
        return;
    }
    eg_device *device = device_in_use();
    eg_memory after = eg_device_memory(device);
    double live = (double)after.live_bytes / MIB, change = (double)(after.live_bytes - m->before.live_bytes) / MIB;
    printf("%s  ", style(r->colours, dim));
    if (seconds < 1) {
        printf("%.3g ms", seconds * 1e3);
    } else {
        printf("%.*f s", seconds < 10 ? 2 : 1, seconds);
    }
    printf(", %s: %.1f MiB of tensors (%+.1f), peak %.1f%s\n", eg_device_name(device), live, change,
           (double)after.peak_bytes / MIB, style(r->colours, plain));
}

/* ---- statements ---------------------------------------------------------------------------- */

/* ":time on|off|auto", ":quit": what is for the prompt itself. */
static void obey(repl *r, const char *command)
{
    static const char *const words[] = {"time auto", "time on", "time off"}; /* as cost_lines */
    for (int i = 0; i < 3; i++) {
        if (strcmp(command, words[i]) == 0 || (i == COSTS_ALWAYS && strcmp(command, "time") == 0)) {
            r->costs = (cost_lines)i;
            return;
        }
    }
    if (strcmp(command, "quit") == 0) {
        r->over = true;
        return;
    }
    fputs(":time on    after each statement its time and the memory of tensors\n"
          ":time auto  after those of more than 0.1 s (so it begins)\n"
          ":time off   never\n"
          ":quit       leaves, as Ctrl-D does\n",
          stdout);
}

/* Whether a chunk of several lines means the same in one: comments end with lines, long strings
 * have them. */
static bool fits_one_line(const char *text)
{
    return !strstr(text, "--") && !strstr(text, "[[") && !strstr(text, "[=") && !strstr(text, "\\\n");
}

static void remember_one(const repl *r, const char *line)
{
    if (r->terminal && line[strspn(line, " \t")] != '\0') {
        editor_remember(r->e, line);
        past_add(line);
    }
}

/* Keeps the chunk at the top of the stack: as one line, if it can be. */
static void remember(const repl *r, lua_State *L)
{
    const char *text = lua_tostring(L, -1);
    if (!r->terminal) {
        return;
    }
    if (fits_one_line(text)) {
        remember_one(r, luaL_gsub(L, text, "\n", " "));
        lua_pop(L, 1);
        return;
    }
    while (text) {
        const char *end = strchr(text, '\n');
        lua_pushlstring(L, text, end ? (size_t)(end - text) : strlen(text));
        remember_one(r, lua_tostring(L, -1));
        lua_pop(L, 1);
        text = end ? end + 1 : NULL;
    }
}

/* Compiles the text on top of the stack, with as many further lines as it takes: the function or
 * message comes on top of the whole text. *last: how the last line was read. */
static shell_chunk compile(const repl *r, lua_State *L, edit_result *last)
{
    for (;;) {
        size_t length;
        const char *line, *text = lua_tolstring(L, -1, &length);
        shell_chunk chunk = shell_load(L, text, length, "=stdin");
        if (chunk != SHELL_UNFINISHED) {
            return chunk;
        }
        *last = editor_read(r->e, ">>", r->colours, &line);
        if (*last != EDIT_LINE) {
            return chunk;
        }
        lua_pop(L, 1);
        lua_pushfstring(L, "%s\n%s", text, line);
        lua_remove(L, -2);
    }
}

/* Reads a whole statement and pushes it compiled; false if there is nothing to run. */
static bool read_statement(repl *r, lua_State *L)
{
    const char *line;
    edit_result result = editor_read(r->e, ">", r->colours, &line);
    r->over = result == EDIT_END;
    if (result != EDIT_LINE || line[strspn(line, " \t")] == '\0') {
        return false;
    }
    if (*line == ':' && line[1] != ':') {
        remember_one(r, line);
        obey(r, line + 1);
        return false;
    }
    lua_pushstring(L, line);
    shell_chunk chunk = compile(r, L, &result);
    lua_insert(L, -2);
    if (result != EDIT_CLEARED) {
        remember(r, L);
    }
    lua_pop(L, 1);
    bool given_up = chunk == SHELL_UNFINISHED && (result == EDIT_CLEARED || r->terminal);
    if (chunk != SHELL_COMPLETE && !given_up) {
        kernel_complain(r, L);
    }
    r->over = result == EDIT_END && !r->terminal;
    return chunk == SHELL_COMPLETE;
}

/* Calls the chunk at index 1 and shows its values. */
static int evaluate(lua_State *L)
{
    lua_call(L, 0, LUA_MULTRET);
    int count = lua_gettop(L);
    if (count > 0) {
        shell_pretty_values(L, count, shell_columns());
        size_t length;
        const char *text = lua_tolstring(L, -1, &length);
        fwrite(text, 1, length, stdout);
        fputc('\n', stdout);
    }
    return 0;
}

static void run_statement(repl *r, lua_State *L)
{
    lua_pushcfunction(L, shell_traceback);
    lua_pushcfunction(L, evaluate);
    lua_rotate(L, -3, 2);
    int handler = lua_gettop(L) - 2;
    meter m = start_meter();
    shell_run_begin(L);
    int status = lua_pcall(L, 1, 0, handler);
    shell_run_end(L);
    if (status != LUA_OK) {
        kernel_complain(r, L);
    }
    lua_remove(L, handler);
    show_costs(r, &m);
    fflush(stdout);
}

static int one_statement(lua_State *L)
{
    repl *r = lua_touserdata(L, 1);
    if (read_statement(r, L)) {
        run_statement(r, L);
    }
    return 0;
}

void repl_run(lua_State *L, bool terminal)
{
    repl r = {.terminal = terminal, .colours = has_colours(STDOUT_FILENO), .error_colours = has_colours(STDERR_FILENO)};
    past h = terminal ? past_load() : (past){0};
    r.e = editor_new(L, terminal, &h);
    past_free(&h);
    if (!r.e) {
        fputs("egret: out of memory for a prompt\n", stderr);
        return;
    }
    if (terminal) {
        printf("%sEgret %s, %s. help() explains, Tab completes, Ctrl-D leaves.%s\n", style(r.colours, dim),
               eg_version(), LUA_VERSION, style(r.colours, plain));
    }
    while (!r.over) {
        lua_pushcfunction(L, one_statement);
        lua_pushlightuserdata(L, &r);
        if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
            kernel_complain(&r, L);
        }
    }
    if (terminal) {
        fputc('\n', stdout);
    }
    editor_free(r.e);
}
