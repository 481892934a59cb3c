/* run_folder.c - see run_folder.h. */
#define _POSIX_C_SOURCE 200809L
#include "run_folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char function[] = "run_folder_open";

/* Makes one folder; one that is there already is fine. */
static eg_status make_one(const char *path)
{
    struct stat info;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))) {
        return EG_OK;
    }
    return eg_failf(EG_EIO, function, "cannot make the folder %s: %s", path,
                    errno == EEXIST ? "a file of that name is there" : strerror(errno));
}

static eg_status make_with_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        eg_status st = make_one(path);
        *slash = '/';
        if (st) {
            return st;
        }
    }
    return make_one(path);
}

eg_status run_folder_open(run_folder *folder, const char *out, const char *program)
{
    char *path = folder->path.text;
    int most = RUN_PATH_SIZE - RUN_NAME_MOST - 2;
    int length = out ? snprintf(path, sizeof folder->path.text, "%s", out)
                     : snprintf(path, sizeof folder->path.text, "egret-out/%s", program);
    if (length == 0) {
        return eg_fail(EG_EINVAL, function, "the output folder needs a name");
    }
    if (length > most) {
        return eg_failf(EG_EINVAL, function, "the name of the output folder is longer than %d bytes", most);
    }
    while (length > 1 && path[length - 1] == '/') {
        path[--length] = '\0';
    }
    eg_status st = make_with_parents(path);
    if (!st && access(path, W_OK | X_OK) != 0) {
        st = eg_failf(EG_EIO, function, "cannot write into the folder %s: %s", path, strerror(errno));
    }
    return st;
}

run_path run_folder_path(const run_folder *folder, const char *name)
{
    run_path path = folder->path;
    size_t length = strlen(path.text);
    snprintf(path.text + length, sizeof path.text - length, "%s%.*s", path.text[length - 1] == '/' ? "" : "/",
             RUN_NAME_MOST, name);
    return path;
}
