/* folder.c - see folder.h. */
#define _POSIX_C_SOURCE 200809L
#include "run/record/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/io/file.h"

static const char prefix[] = "checkpoint-", suffix[] = ".safetensors";

/* ---- the folder ------------------------------------------------------------------------------ */

static bool make_one(const char *path)
{
    struct stat about;
    return !mkdir(path, 0777) || (errno == EEXIST && !stat(path, &about) && S_ISDIR(about.st_mode)) ||
           (errno = errno == EEXIST ? ENOTDIR : errno, false);
}

eg_status eg__folder_make(const char *op, const char *folder)
{
    char *path = eg__folder_path(op, folder, "");
    if (!path) {
        return EG_ENOMEM;
    }
    bool made = true;
    for (char *slash = strchr(path + 1, '/'); slash && made; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        made = make_one(path);
        *slash = '/';
    }
    eg_status st = !made                       ? eg__system_says(op, "make the folder", folder, errno)
                   : access(path, W_OK | X_OK) ? eg__system_says(op, "write into", folder, errno)
                                               : EG_OK;
    free(path);
    return st;
}

char *eg__folder_path(const char *op, const char *folder, const char *name)
{
    size_t n = strlen(folder), bytes = n + strlen(name) + 2;
    char *path = eg__malloc(bytes);
    if (!path) {
        return eg__no_memory(op, (int64_t)bytes), NULL;
    }
    snprintf(path, bytes, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
    return path;
}

char *eg__folder_checkpoint(const char *op, const char *folder, int64_t step)
{
    char name[64];
    snprintf(name, sizeof name, "%s%010lld%s", prefix, (long long)step, suffix);
    return eg__folder_path(op, folder, name);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The step in a checkpoint's name, and what follows the name; -1: it is none. */
static int64_t step_of(const char *name, const char **rest)
{
    char again[64], *end;
    if (strncmp(name, prefix, sizeof prefix - 1)) {
        return -1;
    }
    errno = 0;
    long long step = strtoll(name + sizeof prefix - 1, &end, 10);
    if (step < 0 || errno) {
        return -1;
    }
    int n = snprintf(again, sizeof again, "%s%010lld%s", prefix, step, suffix);
    *rest = name + n;
    return strncmp(name, again, (size_t)n) ? -1 : step;
}

/* "checkpoint-0000000001.safetensors.tmp-PID-N" or "best.safetensors.tmp-PID-N", of no process here. */
static bool orphan(const char *name)
{
    static const char best[] = "best.safetensors";
    const char *rest = name + sizeof best - 1;
    long pid;
    int n = 0;
    if (strncmp(name, best, sizeof best - 1) && step_of(name, &rest) < 0) {
        return false;
    }
    return sscanf(rest, ".tmp-%ld-%*u%n", &pid, &n) == 1 && n && !rest[n] && pid > 0 && kill((pid_t)pid, 0) &&
           errno == ESRCH;
}

void eg__folder_clean(const char *folder)
{
    DIR *list = opendir(folder);
    for (struct dirent *e = list ? readdir(list) : NULL; e; e = readdir(list)) {
        struct stat about;
        /* Numbers of processes on other machines say nothing here, so only what is long left alone. */
        if (orphan(e->d_name) && !fstatat(dirfd(list), e->d_name, &about, AT_SYMLINK_NOFOLLOW) &&
            time(NULL) - about.st_mtime > 3600) {
            unlinkat(dirfd(list), e->d_name, 0);
        }
    }
    if (list) {
        closedir(list);
    }
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static int by_step(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

eg_status eg__folder_steps(const char *op, const char *folder, int64_t **steps, int64_t *count)
{
    uint32_t n = 0, capacity = 0;
    eg_status st = EG_OK;
    DIR *list = opendir(folder);
    *steps = NULL;
    *count = 0;
    if (!list) {
        return eg__system_says(op, "read the folder", folder, errno);
    }
    for (struct dirent *e = readdir(list); e && !st; e = readdir(list)) {
        const char *rest = "";
        int64_t step = step_of(e->d_name, &rest);
        if (step < 0 || *rest) {
            continue;
        }
        if (n == capacity && !eg__grow(steps, &capacity, sizeof **steps)) {
            st = eg__no_memory(op, capacity);
        } else {
            (*steps)[n++] = step;
        }
    }
    closedir(list);
    if (n) {
        qsort(*steps, n, sizeof **steps, by_step);
    }
    *count = n;
    if (st) {
        free(*steps);
        *steps = NULL;
    }
    return st;
}

eg_status eg__folder_prune(const char *op, const char *folder, int64_t step, int64_t keep)
{
    int64_t *steps, count, up_to = 0;
    eg_status st = eg__folder_steps(op, folder, &steps, &count);
    if (st) {
        return st;
    }
    while (up_to < count && steps[up_to] <= step) {
        up_to++;
    }
    for (int64_t i = 0; i < up_to - keep && !st; i++) {
        char *path = eg__folder_checkpoint(op, folder, steps[i]);
        if (!path) {
            st = EG_ENOMEM;
        } else if (unlink(path) && errno != ENOENT) { /* another process may prune too */
            st = eg__system_says(op, "remove", path, errno);
        }
        free(path);
    }
    free(steps);
    return st;
}
