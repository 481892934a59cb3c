/* session.c - see session.h. */
#define _POSIX_C_SOURCE 200809L
#include "session.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lua/bind.h"
#include "lua/shell/shell.h"

#include "complain.h"

/* ---- interrupts ---- */

static volatile sig_atomic_t interrupts;
static pthread_t lua_thread;

/* The signal may reach one of the threads that compute; only Lua's own may stop it. */
static void on_interrupt(int number)
{
    int before = errno;
    if (pthread_equal(pthread_self(), lua_thread)) {
        interrupts = shell_interrupt() || interrupts;
    } else {
        pthread_kill(lua_thread, number);
    }
    errno = before;
}

bool session_interrupted(void)
{
    return interrupts != 0;
}

bool session_call(session *s, lua_CFunction f, void *argument, lua_CFunction handler, bool *interrupted)
{
    lua_State *L = s->L;
    int base = lua_gettop(L);
    if (handler) {
        lua_pushcfunction(L, handler);
    }
    lua_pushcfunction(L, f);
    lua_pushlightuserdata(L, argument);
    interrupts = 0;
    shell_run_begin(L);
    int status = lua_pcall(L, 1, 0, handler ? base + 1 : 0);
    bool stopped = shell_run_end(L);
    if (interrupted) {
        *interrupted = stopped;
    }
    if (handler) {
        lua_remove(L, base + 1);
    }
    return status == LUA_OK;
}

/* ---- requests ---- */

static json_t *kernel_info(session *s, const json_t *content)
{
    (void)s;
    (void)content;
    return wire_kernel_info();
}

/* Frontends keep what was typed themselves. */
static json_t *history(session *s, const json_t *content)
{
    (void)s;
    (void)content;
    return json_pack("{s:s, s:[]}", "status", "ok", "history");
}

static json_t *comm_info(session *s, const json_t *content)
{
    (void)s;
    (void)content;
    return json_pack("{s:s, s:{}}", "status", "ok", "comms");
}

typedef struct service {
    const char *request, *reply;
    json_t *(*answer)(session *s, const json_t *content);
} service;

static const service services[] = {
    {"execute_request", "execute_reply", cell_execute},
    {"is_complete_request", "is_complete_reply", cell_is_complete},
    {"complete_request", "complete_reply", ask_complete},
    {"inspect_request", "inspect_reply", ask_inspect},
    {"kernel_info_request", "kernel_info_reply", kernel_info},
    {"history_request", "history_reply", history},
    {"comm_info_request", "comm_info_reply", comm_info},
};

static const service *service_of(const message *request)
{
    for (size_t i = 0; i < sizeof services / sizeof services[0]; i++) {
        if (strcmp(services[i].request, request->type) == 0) {
            return &services[i];
        }
    }
    return NULL;
}

static void tell_state(session *s, json_t *header, const char *state)
{
    wire_tell(s->w, "status", header, json_pack("{s:s}", "execution_state", state));
}

/* Requests of a kind we do not know get no answer, as the protocol has it. */
static void serve(session *s, message *request)
{
    const service *found = service_of(request);
    tell_state(s, request->header, "busy");
    wire_set_parent(s->w, request->header);
    if (found) {
        s->request = request;
        json_t *content =
            request->aborted ? json_pack("{s:s}", "status", "aborted") : found->answer(s, request->content);
        s->request = NULL;
        lua_settop(s->L, 0);
        content = content ? content : message_refusal("not enough memory");
        wire_send(s->w, message_reply(request, found->reply, content));
    }
    tell_state(s, request->header, "idle");
}

void session_serve(session *s)
{
    tell_state(s, NULL, "starting");
    for (message *m = wire_request(s->w); m; m = wire_request(s->w)) {
        serve(s, m);
        message_free(m);
    }
}

/* ---- start and end ---- */

static int no_exit(lua_State *L)
{
    return luaL_error(L, "os.exit: a notebook's kernel is shut down or restarted from its frontend");
}

static int open_state(lua_State *L)
{
    session *s = lua_touserdata(L, 1);
    luaL_openlibs(L);
    lua_getglobal(L, "os");
    lua_pushcfunction(L, no_exit);
    lua_setfield(L, -2, "exit");
    console_open_children(L, s);
    shell_open_interrupt(L);
    shell_open_functions(L);
    luaL_requiref(L, "egret", luaopen_egret, 0);
    lua_pushvalue(L, -1);
    lua_setglobal(L, "eg");
    display_open(L, s);
    shell_open_help(L, NOTEBOOK_COLUMNS);
    return 0;
}

/* Not open to interruption: there is nothing yet that somebody could want to stop. */
static bool call_open_state(session *s)
{
    lua_pushcfunction(s->L, open_state);
    lua_pushlightuserdata(s->L, s);
    return lua_pcall(s->L, 1, 0, 0) == LUA_OK;
}

/* Calls that wait are taken up again, so that no output is lost on the way. */
static void catch_interrupts(void)
{
    lua_thread = pthread_self();
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

bool session_open(session *s, wire *w)
{
    *s = (session){.w = w};
    catch_interrupts();
    if (!console_open(s)) { /* before Lua's libraries take over its files */
        return false;
    }
    s->L = luaL_newstate();
    if (!s->L || !call_open_state(s)) {
        kernel_complain("cannot start Lua: %s", s->L ? lua_tostring(s->L, -1) : "out of memory");
        session_close(s);
        return false;
    }
    return true;
}

void session_close(session *s)
{
    if (s->L) {
        shell_stop_others(); /* closing waits for them */
        lua_close(s->L);
    }
    console_close();
}
