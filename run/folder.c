/* folder.c - the folder where a run leaves its checkpoints, logs and pictures. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/run.h"

eg_path eg_path_in(const char *folder, const char *name)
{
    eg_path path;
    int length = snprintf(path.text, sizeof path.text - EG_NAME_MOST - 1, "%s", folder);
    length = length < 0 ? 0 : length < EG_PATH_SIZE - EG_NAME_MOST - 2 ? length : EG_PATH_SIZE - EG_NAME_MOST - 2;
    const char *slash = length == 0 || path.text[length - 1] == '/' ? "" : "/";
    snprintf(path.text + length, sizeof path.text - (size_t)length, "%s%.*s", slash, EG_NAME_MOST, name);
    return path;
}

/* One folder; that it is there already is fine. */
static eg_status make_one(const char *path)
{
    struct stat info;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))) {
        return EG_OK;
    }
    return eg_failf(EG_EIO, "eg_folder_make", "cannot make the folder %s: %s", path,
                    errno == EEXIST ? "a file of that name is there" : strerror(errno));
}

eg_status eg_folder_make(const char *folder)
{
    char path[EG_PATH_SIZE];
    int length = snprintf(path, sizeof path, "%s", folder), most = EG_PATH_SIZE - EG_NAME_MOST - 2;
    if (length == 0 || length > most) {
        return eg_failf(EG_EINVAL, "eg_folder_make", "the name of a folder has 1 to %d bytes, not %d", most, length);
    }
    eg_status st = EG_OK;
    for (char *slash = strchr(path + 1, '/'); slash && slash[1] && !st; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        st = make_one(path);
        *slash = '/';
    }
    st = st ? st : make_one(path);
    if (!st && access(path, W_OK | X_OK) != 0) {
        st = eg_failf(EG_EIO, "eg_folder_make", "cannot write into the folder %s: %s", path, strerror(errno));
    }
    return st;
}

/* ---- a run's ---- */

eg_path eg_run_path(const eg_run *run, const char *name)
{
    return eg_path_in(*run->own.text ? run->own.text : run->folder.text, name);
}

eg_status eg_run_folder(eg_run *run, const char *name)
{
    return eg_run_heed(run, run->status ? run->status : eg_folder_make(eg_run_path(run, name).text));
}

/* ---- what an earlier run has left ---- */

/* Whether a run leaves a file of that name that the next one would add to or mistake for its own. */
static bool is_left(const char *name)
{
    return strncmp(name, "checkpoint-", 11) == 0 || strcmp(name, "best.safetensors") == 0 ||
           strcmp(name, "log.jsonl") == 0 || strcmp(name, "events") == 0;
}

static eg_status move_all(const char *from, const char *to)
{
    eg_status st = EG_OK;
    DIR *list = opendir(from);
    for (struct dirent *e = list ? readdir(list) : NULL; e && !st; e = readdir(list)) {
        if (is_left(e->d_name)) {
            eg_path old = eg_path_in(from, e->d_name), aside = eg_path_in(to, e->d_name);
            if (rename(old.text, aside.text) != 0) {
                st = eg_failf(EG_EIO, "eg_run_open", "cannot put %s aside: %s", old.text, strerror(errno));
            }
        }
    }
    if (list) {
        closedir(list);
    }
    return st;
}

static eg_status put_aside(eg_run *run)
{
    eg_path aside;
    for (int n = 1; n < 10000; n++) {
        char name[32];
        snprintf(name, sizeof name, "earlier-%d", n);
        aside = eg_run_path(run, name);
        if (access(aside.text, F_OK) != 0) {
            break;
        }
    }
    eg_status st = eg_folder_make(aside.text);
    st = st ? st : move_all(run->folder.text, aside.text);
    if (!st) {
        fprintf(run->out, "an earlier run is now in %s\n", aside.text);
    }
    return st;
}

/* Whether there is something to put aside. */
static bool has_left(const eg_run *run)
{
    bool found = false;
    DIR *list = opendir(run->folder.text);
    for (struct dirent *e = list ? readdir(list) : NULL; e && !found; e = readdir(list)) {
        found = is_left(e->d_name) && strcmp(e->d_name, "log.jsonl") != 0 && strcmp(e->d_name, "events") != 0;
    }
    if (list) {
        closedir(list);
    }
    return found;
}

/* ---- savers and logs ---- */

eg_status run_open_saver(eg_run *run)
{
    if (!run->settings.resume && run->rank == 0 && has_left(run)) {
        eg_status st = put_aside(run);
        if (st) {
            return st;
        }
    }
    run->saver = eg_saver_new(run->folder.text, .keep = run->settings.keep, .highest = true, .comm = run->comm);
    return run->saver ? EG_OK : eg_last_error()->code;
}

eg_status run_open_logs(eg_run *run, bool append, int64_t last_step)
{
    const int64_t first = append && last_step > 0 ? last_step + 1 : 0;
    run->journal = eg_journal_new(eg_run_path(run, "log.jsonl").text, .append = append, .last_step = last_step);
    run->board = run->journal ? eg_events_new(eg_run_path(run, "events").text, .purge_step = first) : NULL;
    if (!run->board && eg_last_error()->code == EG_ENOKERNEL) {
        eg_clear_error(); /* it goes without */
        return EG_OK;
    }
    return run->board ? EG_OK : eg_last_error()->code;
}

eg_status run_need_logs(eg_run *run)
{
    eg_status st = eg_run_open(run);
    return st || run->journal ? st : run_open_logs(run, true, 0);
}
