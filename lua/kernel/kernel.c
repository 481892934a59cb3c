/* kernel.c - the command line of the notebook kernel. */
#include "kernel.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "connection.h"
#include "install.h"
#include "session.h"
#include "wire.h"

static const char help[] =
    "usage: egret kernel --install [--user | --prefix DIR]\n"
    "       egret kernel CONNECTION_FILE\n"
    "\n"
    "The kernel of Jupyter notebooks in Lua.\n"
    "\n"
    "  --install      tell Jupyter of this program: \"Lua (Egret)\" is then a kind of notebook\n"
    "  --user         for yourself (the default): in $JUPYTER_DATA_DIR or ~/.local/share/jupyter\n"
    "  --prefix DIR   for all who use DIR/share/jupyter: /usr/local, or a virtual environment\n"
    "\n"
    "Frontends start it with a connection file, which says where to listen.\n";

/* Two parts of a path as one, for free(). */
static char *join(const char *folder, const char *rest)
{
    size_t n = strlen(folder), m = strlen(rest);
    char *path = malloc(n + m + 1);
    if (path) {
        memcpy(path, folder, n);
        memcpy(path + n, rest, m + 1);
    }
    return path;
}

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Jupyter's folder of this user, for free(). */
static char *user_data(void)
{
    const char *jupyter = setting("JUPYTER_DATA_DIR"), *xdg = setting("XDG_DATA_HOME"), *home = setting("HOME");
    return jupyter ? join(jupyter, "")
           : xdg   ? join(xdg, "/jupyter")
           : home  ? join(home, "/.local/share/jupyter")
                   : NULL;
}

static int install(int argc, char **argv)
{
    bool prefixed = argc == 4 && strcmp(argv[2], "--prefix") == 0 && *argv[3];
    if (!prefixed && argc > 2 && (argc > 3 || strcmp(argv[2], "--user") != 0)) {
        fputs(help, stderr);
        return 2;
    }
    char *data = prefixed ? join(argv[3], "/share/jupyter") : user_data();
    if (!data) {
        kernel_complain("no folder to install to: $HOME is not set");
        return 1;
    }
    int status = kernel_install(data);
    free(data);
    return status;
}

static int serve(const char *path)
{
    connection c;
    session s;
    signal(SIGINT, SIG_IGN); /* until the session takes it, there is nothing to interrupt */
    wire *w = connection_read(&c, path) ? wire_start(&c) : NULL;
    if (!w) {
        return 1;
    }
    bool good = session_open(&s, w);
    if (good) {
        session_serve(&s);
        session_close(&s);
    }
    wire_stop(w);
    return good ? 0 : 1;
}

int egret_kernel(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--install") == 0) {
        return install(argc, argv);
    }
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        return fputs(help, stdout) < 0;
    }
    if (argc != 2 || argv[1][0] == '-') {
        fputs(help, stderr);
        return 2;
    }
    return serve(argv[1]);
}
