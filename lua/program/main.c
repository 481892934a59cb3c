/* main.c - the program egret: a prompt, a runner of scripts, and the notebook's kernel. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <langinfo.h>
#include <lauxlib.h>
#include <locale.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lua/bind.h"
#include "lua/shell/shell.h"
#include "repl.h"
#include "script.h"

static const char usage[] =
    "usage: egret [options] [script [arguments]]\n"
    "\n"
    "Runs a Lua script with Egret's tensors: local eg = require \"egret\". Without a script, and with\n"
    "a terminal, a prompt; with something else on standard input, that is the script.\n"
    "\n"
    "  -e CODE      run CODE (the module is in the global eg)\n"
    "  -l NAME      require NAME into the global NAME; -l g=NAME into g\n"
    "  -i           a prompt after the script\n"
    "  -            the script is on standard input\n"
    "  --           no options after this\n"
    "  -h, --help   this text\n"
    "  -v, --version\n"
#ifdef EG_HAVE_KERNEL
    "\n"
    "egret kernel --install makes it a kernel of Jupyter notebooks; egret kernel --help says more.\n"
#endif
    "\n"
    "At the prompt help() explains, Tab completes, Ctrl-C stops a statement, Ctrl-D leaves; :time on\n"
    "shows what each statement costs. $XDG_STATE_HOME/egret/history keeps what is typed.\n"
    "EGRET_SHOW=kitty, sixel, blocks, none or png:FILE says where pictures go, and NO_COLOR=1 that\n"
    "there shall be no colours.\n";

#ifdef EG_HAVE_KERNEL
int egret_kernel(int argc, char **argv);
#endif

typedef struct wishes {
    int script;                 /* its place among the arguments; 0: none */
    bool prompt, code, modules; /* -i, -e, -l */
} wishes;

static bool is_either(const char *argument, const char *a, const char *b)
{
    return strcmp(argument, a) == 0 || strcmp(argument, b) == 0;
}

/* Looks through the options without obeying them; an exit status, or -1 to go on. */
static int read_options(int argc, char **argv, wishes *w)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (*a != '-' || strcmp(a, "-") == 0) {
            w->script = i;
            return -1;
        }
        if (strcmp(a, "--") == 0) {
            w->script = i + 1 < argc ? i + 1 : 0;
            return -1;
        }
        if (is_either(a, "-h", "--help")) {
            fputs(usage, stdout);
            return 0;
        }
        if (is_either(a, "-v", "--version")) {
            printf("Egret %s, %s\n", eg_version(), LUA_RELEASE);
            return 0;
        }
        if (strcmp(a, "-i") == 0) {
            w->prompt = true;
        } else if (is_either(a, "-e", "-l") && i + 1 < argc) {
            w->code |= a[1] == 'e';
            w->modules |= a[1] == 'l';
            i++;
        } else {
            fprintf(stderr, "egret: %s %s\n%s", a, is_either(a, "-e", "-l") ? "needs a word" : "is no option", usage);
            return 2;
        }
    }
    return -1;
}

/* arg[0] is the script, "-" if that only is on standard input; what stands before it has negative places: as in Lua's
 * own program. */
static void make_arg(lua_State *L, int argc, char **argv, int script)
{
    lua_createtable(L, argc, 0);
    if (script == argc) {
        lua_pushliteral(L, "-");
        lua_rawseti(L, -2, 0);
    }
    for (int i = 0; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i - script);
    }
    lua_setglobal(L, "arg");
}

static void open_libraries(lua_State *L)
{
    luaL_openlibs(L);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, luaopen_egret);
    lua_setfield(L, -2, "egret");
    lua_pushcfunction(L, script_open_signals);
    lua_setfield(L, -2, "egret.signals");
    lua_pop(L, 1);
    shell_open_interrupt(L);
    shell_open_functions(L);
}

/* The module as a global, for what is typed and not written down. */
static bool open_globals(lua_State *L)
{
    shell_open_help(L, 0);
    return script_module(L, "eg=egret");
}

/* -e and -l in their order. */
static bool obey_options(lua_State *L, char **argv, int end)
{
    for (int i = 1; i < end; i++) {
        if (strcmp(argv[i], "-e") == 0 && !script_text(L, argv[++i])) {
            return false;
        }
        if (strcmp(argv[i], "-l") == 0 && !script_module(L, argv[++i])) {
            return false;
        }
    }
    return true;
}

static bool run(lua_State *L, int argc, char **argv, const wishes *w)
{
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    bool prompt = w->prompt || (!w->script && !w->code && terminal);
    const char *script = w->script ? argv[w->script] : w->code || prompt ? NULL : "-";
    script_catch_interrupts(!prompt);
    open_libraries(L);
    make_arg(L, argc, argv, script && !w->script ? argc : w->script);
    if ((prompt || w->code || w->modules) && !open_globals(L)) {
        return false;
    }
    bool good = obey_options(L, argv, w->script ? w->script : argc);
    if (good && script) {
        good = script_file(L, strcmp(script, "-") == 0 ? NULL : script);
    }
    if (prompt) { /* also after a script that failed: to look at what it left */
        repl_run(L, terminal);
        return true;
    }
    return good;
}

typedef struct call {
    int argc;
    char **argv;
    const wishes *w;
    bool good;
} call;

static int run_protected(lua_State *L)
{
    call *c = lua_touserdata(L, 1);
    c->good = run(L, c->argc, c->argv, c->w);
    return 0;
}

/* Letters beyond ASCII are typed and shown in UTF-8, whatever the locale. */
static void use_utf8(void)
{
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
        setlocale(LC_CTYPE, "C.UTF-8");
    }
}

/* The exit status, once all that was written has gone out: to a full disk it does not. */
static int finish(int status)
{
    bool lost = ferror(stdout); /* earlier, and why is no longer known */
    const char *reason = fflush(stdout) != 0 ? strerror(errno) : lost ? "not all of it went out" : NULL;
    if (reason) {
        fprintf(stderr, "egret: cannot write to standard output: %s\n", reason);
        return status == EXIT_SUCCESS ? EXIT_FAILURE : status;
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "kernel") == 0) {
#ifdef EG_HAVE_KERNEL
        return egret_kernel(argc - 1, argv + 1);
#else
        fputs("egret: this build has no notebook kernel\n", stderr);
        return 2;
#endif
    }
    wishes w = {0};
    int status = read_options(argc, argv, &w);
    if (status >= 0) {
        return finish(status);
    }
    use_utf8();
    lua_State *L = luaL_newstate();
    call c = {argc, argv, &w, false};
    if (!L) {
        fputs("egret: out of memory\n", stderr);
        return 1;
    }
    lua_pushcfunction(L, run_protected);
    lua_pushlightuserdata(L, &c);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
        fprintf(stderr, "egret: %s\n", lua_tostring(L, -1));
    }
    shell_stop_others(); /* closing waits for them */
    lua_close(L);
    eg_thread_end();
    if (script_was_interrupted() && !c.good) { /* the shell must know, to stop its own loops */
        signal(SIGINT, SIG_DFL);
        raise(SIGINT);
    }
    return finish(c.good ? EXIT_SUCCESS : EXIT_FAILURE);
}
