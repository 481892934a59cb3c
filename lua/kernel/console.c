/* console.c - C's stdin, stdout and stderr in a notebook, so that Lua's io library works there as
 * it is.
 *
 * stdin asks the frontend for a line. stdout and stderr end in two pipes (stream.h), in which
 * nobody could tell what was written first; so each waits until what was written to the other is
 * sent. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "session.h"

/* Ours, once they are made: libraries that are loaded while they stand for C's (that of C++, say) write to them as long
 * as the process lives. */
static struct {
    FILE *in, *out, *err;
    session *s; /* NULL: it has ended */
} outputs;

static struct {
    FILE *old_in, *old_out, *old_err; /* what ours stand for */
    json_t *answer;                   /* to a question, while some of it is still to be read */
    const char *rest;                 /* that */
    size_t rest_length;
    int last; /* the descriptor that was written to */
} console;

/* ---- stdin ---- */

static bool allowed(const session *s)
{
    return s->request && json_is_true(json_object_get(s->request->content, "allow_stdin"));
}

/* The answer to a question, a string; NULL: there is none. */
static json_t *ask(session *s)
{
    message *question =
        message_reply(s->request, "input_request", json_pack("{s:s, s:b}", "prompt", "", "password", 0));
    if (!question) {
        return NULL;
    }
    question->where = INPUT;
    wire_ask(s->w, question);
    message *answer = wire_answer(s->w, session_interrupted);
    json_t *value = answer ? json_object_get(answer->content, "value") : NULL;
    value = json_is_string(value) ? json_incref(value) : NULL;
    message_free(answer);
    return value;
}

static void forget_line(void)
{
    json_decref(console.answer);
    console.answer = NULL;
    console.rest = NULL;
}

/* A line may be longer than the room for it: the rest is for the next call. */
static ssize_t read_line(void *user, char *room, size_t size)
{
    session *s = outputs.s;
    (void)user;
    if (!s) {
        return 0;
    }
    if (!console.rest) {
        fflush(stdout);
        if (!allowed(s)) {
            fputs("stdin: this frontend takes no input\n", stderr);
            errno = ENOTSUP;
            return -1;
        }
        console.answer = ask(s);
        console.rest = json_string_value(console.answer);
        console.rest_length = json_string_length(console.answer);
        if (!console.rest) {
            return 0;
        }
    }
    size_t n = console.rest_length < size ? console.rest_length : size;
    memcpy(room, console.rest, n);
    console.rest += n;
    console.rest_length -= n;
    if (n < size) { /* there is room for the line's end */
        room[n++] = '\n';
        forget_line();
    }
    return (ssize_t)n;
}

/* ---- stdout and stderr ---- */

static ssize_t write_output(void *user, const char *bytes, size_t size)
{
    const int fd = *(const int *)user;
    if (fd == STDERR_FILENO) {
        fflush(stdout);
    }
    if (outputs.s && console.last != fd) {
        console.last = fd;
        wire_sync(outputs.s->w);
    }
    size_t done = 0;
    while (done < size) {
        ssize_t n = write(fd, bytes + done, size - done);
        if (n < 0 && errno != EINTR) {
            break;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)done;
}

static FILE *open_output(int fd)
{
    static int fds[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    return fopencookie(&fds[fd], "w", (cookie_io_functions_t){.write = write_output});
}

/* ---- children ---- */

/* Calls the function that this one stands for, between what was written before and after it. */
static int in_order(lua_State *L)
{
    session *s = lua_touserdata(L, lua_upvalueindex(2));
    fflush(stdout);
    wire_sync(s->w);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    wire_sync(s->w);
    return lua_gettop(L);
}

/* os.execute. While C waits for a child it ignores the signal that interrupts both: the child's end
 * tells of it. */
static int execute(lua_State *L)
{
    int count = in_order(L);
    if (count == 3 && strcmp(lua_tostring(L, 2), "signal") == 0 && lua_tointeger(L, 3) == SIGINT) {
        raise(SIGINT);
    }
    return count;
}

static void replace(lua_State *L, session *s, const char *library, const char *name, lua_CFunction by)
{
    lua_getglobal(L, library);
    lua_getfield(L, -1, name);
    lua_pushlightuserdata(L, s);
    lua_pushcclosure(L, by, 2);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

void console_open_children(lua_State *L, session *s)
{
    replace(L, s, "os", "execute", execute);
    replace(L, s, "io", "popen", in_order);
}

/* ---- all ---- */

bool console_open(session *s)
{
    outputs.s = s;
    outputs.in = outputs.in ? outputs.in : fopencookie(NULL, "r", (cookie_io_functions_t){.read = read_line});
    outputs.out = outputs.out ? outputs.out : open_output(STDOUT_FILENO);
    outputs.err = outputs.err ? outputs.err : open_output(STDERR_FILENO);
    if (!outputs.in || !outputs.out || !outputs.err) {
        kernel_complain("out of memory");
        console_close();
        return false;
    }
    setvbuf(outputs.out, NULL, _IOLBF, BUFSIZ);
    setvbuf(outputs.err, NULL, _IONBF, 0);
    console.old_in = stdin;
    console.old_out = stdout;
    console.old_err = stderr;
    stdin = outputs.in;
    stdout = outputs.out;
    stderr = outputs.err;
    return true;
}

void console_close(void)
{
    if (console.old_in) {
        fflush(stdout);
        stdin = console.old_in;
        stdout = console.old_out;
        stderr = console.old_err;
    }
    outputs.s = NULL;
    forget_line();
    memset(&console, 0, sizeof console);
}

void console_begin(void)
{
    __fpurge(stdin);
    forget_line();
    clearerr(stdin);
    clearerr(stdout);
}
