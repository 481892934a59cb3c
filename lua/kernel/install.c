/* install.c - telling Jupyter of this program. */
#define _POSIX_C_SOURCE 200809L
#include <egret/egret.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "complain.h"
#include "install.h"
#include "logo.h"

/* Makes the folder and those it is in. */
static bool make_folder(char *path)
{
    for (char *p = path + 1;; p++) {
        if (*p == '/' || *p == '\0') {
            char end = *p;
            *p = '\0';
            bool good = mkdir(path, 0777) == 0 || errno == EEXIST;
            *p = end;
            if (!good || end == '\0') {
                return good;
            }
        }
    }
}

/* Writes a file whole or not at all. */
static bool write_file(const char *folder, const char *name, const void *bytes, size_t n)
{
    char path[PATH_MAX], part[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    int part_length = snprintf(part, sizeof part, "%s/.%s.%ld", folder, name, (long)getpid());
    if (length < 0 || part_length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    FILE *file = fopen(part, "wb");
    bool good = file && fwrite(bytes, 1, n, file) == n && fflush(file) == 0 && fsync(fileno(file)) == 0;
    good = file && fclose(file) == 0 && good && rename(part, path) == 0;
    if (!good) {
        int why = errno;
        remove(part);
        errno = why;
    }
    return good;
}

/* The running program's path, whole. */
static bool own_path(char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
    return n > 0 && n < PATH_MAX - 1;
}

/* kernel.json, for free(). */
static char *description(const char *program)
{
    json_t *spec = json_pack("{s:[s, s, s], s:s, s:s, s:s, s:{s:b}}", "argv", program, "kernel", "{connection_file}",
                             "display_name", "Lua (Egret)", "language", "lua", "interrupt_mode", "signal", "metadata",
                             "debugger", 0);
    char *text = json_dumps(spec, JSON_INDENT(2));
    json_decref(spec);
    return text;
}

static bool write_logo(const char *folder, int size)
{
    char name[32];
    snprintf(name, sizeof name, "logo-%dx%d.png", size, size);
    eg_scope scope = eg_scope_push();
    eg_tensor *png = eg_png_encode(logo_draw(size));
    /* A build without libpng has no logo. */
    bool good = !png || write_file(folder, name, eg_data(png), (size_t)eg_numel(png));
    eg_scope_pop(scope, NULL);
    return good;
}

int kernel_install(const char *data)
{
    char folder[PATH_MAX], program[PATH_MAX];
    int n = snprintf(folder, sizeof folder, "%s/kernels/egret", data);
    if (n < 0 || n >= PATH_MAX || !own_path(program)) {
        kernel_complain("cannot tell where this program is, or the path is too long");
        return 1;
    }
    char *text = description(program);
    if (!text) {
        kernel_complain("out of memory, or the program's path is no UTF-8: %s", program);
        return 1;
    }
    bool good = make_folder(folder) && write_file(folder, "kernel.json", text, strlen(text)) &&
                write_logo(folder, 32) && write_logo(folder, 64);
    free(text);
    if (!good) {
        kernel_complain("cannot write to %s: %s", folder, strerror(errno));
        return 1;
    }
    printf("installed to %s\n", folder);
    return 0;
}
