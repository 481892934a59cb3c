/* run.c - see run.h. */
#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/signals.h"

enum { KEEP = 3, TOTALS_MOST = 12 };

/* ---- the beginning ---- */

static bool is_cuda(const char *device)
{
    const char *number = device + 5;
    return strcmp(device, "cuda") == 0 ||
           (strncmp(device, "cuda:", 5) == 0 && *number && !number[strspn(number, "0123456789")]);
}

eg_device *run_device(const run_options *o)
{
    bool known = strcmp(o->device, "cpu") == 0 || is_cuda(o->device);
    eg_device *device = known ? eg_device_open(o->device) : NULL;
    if (!known) {
        eg_failf(EG_EINVAL, "run_device", "--device is cpu, cuda or cuda:N, not '%.60s'", o->device);
    } else if (!device) {
        const eg_error *e = eg_last_error();
        eg_failf(e->code, "run_device", "--device %s: %s", o->device, e->message);
    }
    return device;
}

static eg_status set_precision(run *r)
{
    static const struct {
        const char *name;
        eg_math_mode mode;
        eg_dtype low;
    } all[] = {{"f32", EG_MATH_DEFAULT, EG_F32},
               {"tf32", EG_MATH_TF32, EG_F32},
               {"bf16", EG_MATH_DEFAULT, EG_BF16},
               {"f16", EG_MATH_DEFAULT, EG_F16}};
    const char *name = r->options->precision;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(name, all[i].name) == 0) {
            r->low = all[i].low;
            return eg_set_math_mode(all[i].mode);
        }
    }
    return eg_failf(EG_EINVAL, "run_begin", "--precision is f32, tf32, bf16 or f16, not '%.60s'", name);
}

/* Whether a run leaves a file of that name that the next one would add to or mistake for its own. */
static bool is_left(const char *name)
{
    return strncmp(name, "checkpoint-", 11) == 0 || strcmp(name, "best.safetensors") == 0 ||
           strcmp(name, "log.jsonl") == 0 || strcmp(name, "events") == 0;
}

static eg_status move_all(const run_folder *from, const run_folder *to)
{
    eg_status st = EG_OK;
    DIR *list = opendir(from->path.text);
    for (struct dirent *e = list ? readdir(list) : NULL; e && !st; e = readdir(list)) {
        if (is_left(e->d_name)) {
            run_path old = run_folder_path(from, e->d_name), aside = run_folder_path(to, e->d_name);
            if (rename(old.text, aside.text) != 0) {
                st = eg_failf(EG_EIO, "run_begin", "cannot put %s aside: %s", old.text, strerror(errno));
            }
        }
    }
    if (list) {
        closedir(list);
    }
    return st;
}

static eg_status put_aside(const run *r)
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
    eg_status st = run_folder_open(&aside, path.text, "");
    st = st ? st : move_all(&r->folder, &aside);
    if (!st) {
        printf("an earlier run is now in %s\n", aside.path.text);
    }
    return st;
}

static eg_status open_saver(run *r)
{
    r->saver = eg_saver_new(r->folder.path.text, .keep = KEEP);
    if (r->saver && !r->options->resume && eg_saver_latest(r->saver) >= 0) {
        eg_saver_free(r->saver); /* it knows the best of the earlier run */
        r->saver = put_aside(r) == EG_OK ? eg_saver_new(r->folder.path.text, .keep = KEEP) : NULL;
    }
    return r->saver ? EG_OK : eg_last_error()->code;
}

static bool open_logs(run *r)
{
    r->journal = eg_journal_new(run_folder_path(&r->folder, "log.jsonl").text, .append = r->options->resume);
    r->board = r->journal ? eg_events_new(run_folder_path(&r->folder, "events").text) : NULL;
    if (!r->board && eg_last_error()->code == EG_ENOKERNEL) {
        eg_clear_error(); /* it goes without */
        return true;
    }
    return r->board != NULL;
}

bool run_begin(run *r, const run_options *o, const char *program, char *const *words)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* a log being followed shows each line at once */
    *r = (run){.options = o, .program = program, .words = words, .low = EG_F32, .latest = (double)NAN};
    r->device = run_device(o);
    bool good = r->device && set_precision(r) == EG_OK && run_folder_open(&r->folder, o->out, program) == EG_OK &&
                open_saver(r) == EG_OK && open_logs(r) && (!o->threads || eg_set_threads((int)o->threads) == EG_OK) &&
                (!o->profile || eg_profile_begin(.memory = true) == EG_OK);
    eg_seed((uint64_t)o->seed);
    return good;
}

bool run_module(run *r, const char *name, eg_module *m)
{
    return eg_saver_module(r->saver, name, m) == EG_OK && eg_module_to_device(m, r->device) == EG_OK;
}

bool run_optim(run *r, const char *name, eg_optim *optim)
{
    char part[64];
    if (eg_saver_optim(r->saver, name, optim) != EG_OK) {
        return false;
    }
    if (r->low != EG_F16) {
        return true;
    }
    int i = 0;
    while (i < RUN_OPTIMS_MOST && r->scaled[i].optim) {
        i++;
    }
    if (i == RUN_OPTIMS_MOST) {
        eg_fail(EG_EINVAL, "run_optim", "more optimizers than RUN_OPTIMS_MOST");
        return false;
    }
    snprintf(part, sizeof part, "%.40s-scale", name);
    r->scaled[i].optim = optim;
    r->scaled[i].scaler = eg_scaler_new();
    return r->scaled[i].scaler && eg_saver_scaler(r->saver, part, r->scaled[i].scaler) == EG_OK;
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

run_computing run_compute_begin(const run *r)
{
    return (run_computing){eg_use_device(r->device), eg_autocast_begin(r->low), true};
}

void run_compute_end(run_computing *block)
{
    eg_autocast_end(&block->cast);
    eg_use_device(block->before);
    block->open = false;
}

eg_tensor *run_here(const run *r, eg_tensor *x)
{
    return eg_to(x, r->device);
}

bool run_minimize(run *r, eg_optim *optim, eg_tape tape, eg_tensor *loss)
{
    for (int i = 0; i < RUN_OPTIMS_MOST; i++) {
        if (r->scaled[i].scaler && r->scaled[i].optim == optim) {
            return eg_scaler_minimize(r->scaled[i].scaler, optim, tape, loss) == EG_OK;
        }
    }
    return eg_optim_minimize(optim, tape, loss) == EG_OK;
}

/* ---- numbers that are read later ---- */

static void forget_rows(run *r)
{
    for (int i = 0; i < r->rows_behind; i++) {
        for (int k = 0; k < r->behind[i].count; k++) {
            eg_release(r->behind[i].values[k].tensor);
        }
    }
    r->rows_behind = 0;
}

/* All tensors of the rows at once: one wait. */
static bool read_rows(const run *r, double *numbers)
{
    eg_tensor *tensors[RUN_BEHIND * RUN_VALUES_MOST];
    bool good = true;
    int n = 0;
    for (int i = 0; i < r->rows_behind; i++) {
        for (int k = 0; k < r->behind[i].count; k++) {
            eg_tensor *t = r->behind[i].values[k].tensor;
            tensors[n] = t;
            n += t != NULL;
        }
    }
    EG_SCOPE {
        for (int i = 0; i < n; i++) {
            tensors[i] = eg_reshape(eg_cast(eg_detach(tensors[i]), EG_F32), EG_SHAPE(1));
        }
        good = n == 0 || eg_to_values(eg_concat(tensors, n, 0), numbers) == EG_OK;
    }
    return good;
}

bool run_catch_up(run *r)
{
    double numbers[RUN_BEHIND * RUN_VALUES_MOST], *next = numbers;
    bool good = r->rows_behind == 0 || read_rows(r, numbers);
    for (int i = 0; i < r->rows_behind && good; i++) {
        const run_row *row = &r->behind[i];
        eg_field fields[RUN_VALUES_MOST];
        for (int k = 0; k < row->count; k++) {
            const run_value *v = &row->values[k];
            double number = v->tensor ? *next++ / (v->per > 0 ? v->per : 1) : v->number;
            fields[k] = (eg_field)EG_REAL(v->name, number);
            r->latest = k ? r->latest : number;
        }
        good = run_log_with(r, row->step, fields, row->count);
    }
    forget_rows(r);
    return good;
}

bool run_note_with(run *r, int64_t step, const run_value *values, int count)
{
    run_row *row = &r->behind[r->rows_behind++];
    bool good = true;
    row->step = step;
    row->count = 0;
    for (int i = 0; i < count && i < RUN_VALUES_MOST; i++) {
        run_value *v = &row->values[row->count++];
        *v = values[i];
        v->tensor = v->computed ? eg_keep(v->tensor) : NULL;
        good = good && (v->tensor || !v->computed);
    }
    if (!good) {
        forget_rows(r);
        return false;
    }
    bool may_wait = r->device == eg_cpu() || isnan(r->latest); /* the first: there is something to show */
    return (r->rows_behind < RUN_BEHIND && !may_wait) || run_catch_up(r);
}

/* ---- checkpoints, and stopping ---- */

bool run_goes_on(int64_t step, int64_t steps)
{
    if (step < steps) {
        signals_hold();
        return true;
    }
    signals_release();
    return false;
}

static bool save(run *r, int64_t step)
{
    if (run_catch_up(r) && eg_saver_save(r->saver, step) == EG_OK) {
        return true;
    }
    int64_t latest = eg_saver_latest(r->saver);
    fprintf(stderr, "%s: step %lld is not saved", r->program, (long long)step);
    if (latest < 0) {
        fprintf(stderr, ", and there is no checkpoint\n");
    } else {
        fprintf(stderr, "; the latest checkpoint is of step %lld\n", (long long)latest);
    }
    return false;
}

bool run_checkpoint(run *r, int64_t step, bool due)
{
    int signal = signals_take();
    if ((due || signal) && !save(r, step)) {
        return false;
    }
    r->signal = signal;
    r->stopped = step;
    return !signal;
}

/* As a shell wants it: in quotes unless there is nothing in it that could mean something else. */
static void print_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_+:,./@=";
    bool assigns = *word != '-' && strchr(word, '=');
    if (*word && !word[strspn(word, plain)] && !assigns) {
        fputs(word, stderr);
        return;
    }
    fputc('\'', stderr);
    for (; *word; word++) {
        if (*word == '\'') {
            fputs("'\\'", stderr);
        }
        fputc(*word, stderr);
    }
    fputc('\'', stderr);
}

static void say_how_to_go_on(const run *r)
{
    fprintf(stderr, "stopped at step %lld; go on with: ", (long long)r->stopped);
    bool added = r->options->resume;
    for (char *const *word = r->words; *word; word++) {
        if (!added && strcmp(*word, "--") == 0) { /* no options behind it */
            fputs("--resume ", stderr);
            added = true;
        }
        print_word(*word);
        fputs(word[1] ? " " : "", stderr);
    }
    fputs(added ? "\n" : " --resume\n", stderr);
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
    printf("profile %s\n%10s %10s %10s  op\n", trace.text, "seconds", "on device", "calls");
    for (int i = 0; i < count && i < TOTALS_MOST; i++) {
        const eg_profile_total *t = &totals[i];
        printf("%10.3f %10.3f %10lld  %s%s\n", t->seconds, t->device_seconds, (long long)t->calls, t->name,
               t->backward ? ", backward" : "");
    }
    return true;
}

int run_end(run *r, bool good)
{
    signals_take(); /* of a run that failed: its words and its status come first */
    signals_release();
    good = (good || r->signal) && run_catch_up(r) && (!r->options->profile || write_profile(r));
    forget_rows(r);
    for (int i = 0; i < RUN_OPTIMS_MOST; i++) {
        eg_scaler_free(r->scaled[i].scaler);
    }
    eg_events_free(r->board);
    eg_journal_free(r->journal);
    eg_saver_free(r->saver);
    if (!good) {
        eg_error_print(stderr);
        return 1;
    }
    if (r->signal) {
        say_how_to_go_on(r);
        return 128 + r->signal;
    }
    return 0;
}
