/* run_folder.c - see run_folder.h. */
#define _POSIX_C_SOURCE 200809L
#include "run_folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes one folder; one that is there already is fine. */
static bool make_one(const char *path, problem *why)
{
    struct stat info;
    if (mkdir(path, 0777) == 0 ||
        (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))) {
        return true;
    }
    return problem_say(why, "cannot make the folder %s: %s", path,
                       errno == EEXIST ? "a file of that name is there" : strerror(errno));
}

static bool make_with_parents(char *path, problem *why)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = make_one(path, why);
        *slash = '/';
        if (!made) {
            return false;
        }
    }
    return make_one(path, why);
}

bool run_folder_open(run_folder *folder, const char *out, const char *program, problem *why)
{
    char *path = folder->path.text;
    int most = RUN_PATH_SIZE - RUN_NAME_MOST - 2;
    int length = out ? snprintf(path, sizeof folder->path.text, "%s", out)
                     : snprintf(path, sizeof folder->path.text, "egret-out/%s", program);
    if (length == 0) {
        return problem_say(why, "the output folder needs a name");
    }
    if (length > most) {
        return problem_say(why, "the name of the output folder is longer than %d bytes", most);
    }
    while (length > 1 && path[length - 1] == '/') {
        path[--length] = '\0';
    }
    if (!make_with_parents(path, why)) {
        return false;
    }
    if (access(path, W_OK | X_OK) != 0) {
        return problem_say(why, "cannot write into the folder %s: %s", path, strerror(errno));
    }
    return true;
}

run_path run_folder_path(const run_folder *folder, const char *name)
{
    run_path path = folder->path;
    size_t length = strlen(path.text);
    snprintf(path.text + length, sizeof path.text - length, "%s%.*s",
             path.text[length - 1] == '/' ? "" : "/", RUN_NAME_MOST, name);
    return path;
}
