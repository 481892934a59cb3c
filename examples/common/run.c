/* run.c - see run.h. */
#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <egret/egret.h>

enum { KEEP = 3, TOTALS_MOST = 12 };

bool run_say(const run *r, const problem *why)
{
    fprintf(stderr, "%s: %s\n", r->program, why->text);
    return false;
}

/* ---- the beginning ---- */

static bool is_cuda(const char *device)
{
    const char *number = device + 5;
    return strcmp(device, "cuda") == 0 ||
           (strncmp(device, "cuda:", 5) == 0 && *number && !number[strspn(number, "0123456789")]);
}

static bool check_device(const run *r, problem *why)
{
    const char *device = r->options->device;
    if (strcmp(device, "cpu") == 0) {
        return true;
    }
    return is_cuda(device) ? problem_say(why, "--device %s: Egret computes on the CPU only so far", device)
                           : problem_say(why, "--device is cpu, cuda or cuda:N, not '%.60s'", device);
}

/* Whether a run leaves a file of that name that the next one would add to or mistake for its own. */
static bool is_left(const char *name)
{
    return strncmp(name, "checkpoint-", 11) == 0 || strcmp(name, "best.safetensors") == 0 ||
           strcmp(name, "log.jsonl") == 0 || strcmp(name, "events") == 0;
}

static bool move_all(const run_folder *from, const run_folder *to, problem *why)
{
    bool good = true;
    DIR *list = opendir(from->path.text);
    for (struct dirent *e = list ? readdir(list) : NULL; e && good; e = readdir(list)) {
        if (is_left(e->d_name)) {
            run_path old = run_folder_path(from, e->d_name), aside = run_folder_path(to, e->d_name);
            good = rename(old.text, aside.text) == 0 ||
                   problem_say(why, "cannot put %s aside: %s", old.text, strerror(errno));
        }
    }
    if (list) {
        closedir(list);
    }
    return good;
}

static bool put_aside(const run *r, problem *why)
{
    run_folder aside;
    run_path path;
    for (int n = 1; n < 10000; n++) {
        char name[32];
        snprintf(name, sizeof name, "earlier-%d", n);
        path = run_folder_path(&r->folder, name);
        if (access(path.text, F_OK) != 0) {
            break;
        }
    }
    if (!run_folder_open(&aside, path.text, "", why) ||
        !move_all(&r->folder, &aside, why)) {
        return false;
    }
    printf("an earlier run is now in %s\n", aside.path.text);
    return true;
}

static bool open_saver(run *r, problem *why)
{
    r->saver = eg_saver_new(r->folder.path.text, .keep = KEEP);
    if (!r->saver || r->options->resume || eg_saver_latest(r->saver) < 0) {
        return r->saver != NULL;
    }
    eg_saver_free(r->saver); /* it knows the best of the earlier run */
    r->saver = put_aside(r, why) ? eg_saver_new(r->folder.path.text, .keep = KEEP) : NULL;
    return r->saver != NULL;
}

static bool open_logs(run *r)
{
    r->journal = eg_journal_new(run_folder_path(&r->folder, "log.jsonl").text,
                                .append = r->options->resume);
    r->board = r->journal ? eg_events_new(run_folder_path(&r->folder, "events").text) : NULL;
    if (!r->board && eg_last_error()->code == EG_ENOKERNEL) {
        eg_clear_error(); /* it goes without */
        return true;
    }
    return r->board != NULL;
}

bool run_begin(run *r, const run_options *o, const char *program)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* a log being followed shows each line at once */
    problem why = {""};
    *r = (run){.options = o, .program = program};
    bool good = check_device(r, &why) && run_folder_open(&r->folder, o->out, program, &why) &&
                open_saver(r, &why) && open_logs(r) &&
                (!o->threads || eg_set_threads((int)o->threads) == EG_OK) &&
                (!o->profile || eg_profile_begin(.memory = true) == EG_OK);
    eg_seed((uint64_t)o->seed);
    return good || (*why.text && run_say(r, &why));
}

/* ---- on the way ---- */

bool run_resume(run *r, int64_t *step)
{
    if (!r->options->resume) {
        return true;
    }
    if (eg_saver_restore(r->saver, step) != EG_OK) {
        return false;
    }
    const char *path = eg_saver_path(r->saver);
    if (*path) {
        printf("going on behind step %lld (%s)\n", (long long)*step, path);
    } else {
        printf("there is no checkpoint yet; starting anew\n");
    }
    return true;
}

bool run_log_with(run *r, int64_t step, const eg_field *fields, int count)
{
    enum { MOST = 32 };
    eg_field row[MOST + 1] = {EG_INTEGER("step", step)};
    bool good = true;
    count = count < MOST ? count : MOST;
    for (int i = 0; i < count && good; i++) {
        const eg_field *f = &fields[i];
        row[i + 1] = *f;
        if (r->board && f->kind != EG_FIELD_TEXT) {
            double value = f->kind == EG_FIELD_REAL ? f->real : (double)f->integer;
            good = eg_events_scalar(r->board, f->name, step, value) == EG_OK;
        }
    }
    return good && eg_journal_row_with(r->journal, row, count + 1) == EG_OK;
}

/* ---- the end ---- */

static bool write_profile(const run *r)
{
    eg_profile_total totals[TOTALS_MOST];
    run_path trace = run_folder_path(&r->folder, "trace.json");
    if (eg_profile_end(trace.text) != EG_OK) {
        return false;
    }
    int count = eg_profile_totals(totals, TOTALS_MOST);
    printf("profile %s\n%10s %10s  op\n", trace.text, "seconds", "calls");
    for (int i = 0; i < count && i < TOTALS_MOST; i++) {
        const eg_profile_total *t = &totals[i];
        printf("%10.3f %10lld  %s%s\n", t->seconds, (long long)t->calls, t->name,
               t->backward ? ", backward" : "");
    }
    return true;
}

int run_end(run *r, bool good)
{
    good = good && (!r->options->profile || write_profile(r));
    eg_events_free(r->board);
    eg_journal_free(r->journal);
    eg_saver_free(r->saver);
    if (!good) {
        eg_error_print(stderr);
    }
    return !good;
}
