/* begin.c - a run's beginning and end: flags, device, precision, folder, profile; what a program returns. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/core/base.h"
#include "run/flags.h"
#include "run/run.h"
#include "run/signals.h"

enum { TOTALS_MOST = 12 };

/* ---- flags ---- */

/* The rows of every run; its defaults were put into the options. Numbers live as texts in `room`. */
typedef struct defaults {
    char epochs[24], batch[24], save_every[24];
} defaults;

static int own_flags(eg_run *run, const defaults *d, eg_flag *to)
{
    eg_run_settings *s = &run->settings;
    const eg_flag data = EG_FLAG_TEXT("data", &s->data, NULL, "DIR", run->options.data);
    const eg_flag url = EG_FLAG_TEXT("url", &run->url, NULL, "URL", "where get-data finds its files");
    const eg_flag rest[] = {
        EG_FLAG_CHOICE(
            "precision", &s->precision, "f32", "f32|tf32|bf16|f16",
            "of products: exact; on CUDA's tensor cores (elsewhere f32); of half the bytes, with f32 weights"),
        EG_FLAG_TEXT("device", &s->device, "cpu", "cpu|cuda[:N]", "where to compute; gpu is another word for cuda"),
        EG_FLAG_TEXT("out", &s->out, NULL, "DIR",
                     "where checkpoints, pictures and logs go (egret-out/ and the program's name)"),
        EG_FLAG_INTEGER("epochs", &s->epochs, d->epochs, 1, 1000000, "passes over the data"),
        EG_FLAG_INTEGER("steps", &s->steps, "0", 0, 1000000000, "steps in all, instead of epochs"),
        EG_FLAG_INTEGER("batch", &s->batch, d->batch, 1, 1000000, "examples per step"),
        EG_FLAG_INTEGER("seed", &s->seed, "1", 0, 1000000000, "of weights, order and noise"),
        EG_FLAG_INTEGER("threads", &s->threads, "0", 0, 1024, "threads per op; 0: one per processor"),
        EG_FLAG_INTEGER("save-every", &s->save_every, d->save_every, 0, 1000000000,
                        "steps from checkpoint to checkpoint; 0: none"),
        EG_FLAG_SWITCH("resume", &s->resume, "go on from the latest checkpoint in the folder"),
        EG_FLAG_SWITCH("smoke", &s->smoke, "seconds only, and fail unless the loss falls"),
        EG_FLAG_SWITCH("profile", &s->profile,
                       "write trace.json for chrome://tracing, and say which ops took the time"),
        EG_FLAG_SWITCH("watch", &s->watch, "look for what is not a number behind every step"),
        EG_FLAG_INTEGER("zero", &s->zero, "0", 0, 2,
                        "of several ranks: share out optimizers' states (1), gradients (2)"),
        EG_FLAG_TEXT("gpu-memory", &s->gpu_memory, NULL, "SIZE",
                     "at most so much of the device's memory, such as 15500MB, as a device of the run's own"),
        EG_FLAG_SWITCH("sync-batch-norm", &s->sync_batch_norm, "of several ranks: statistics are of all their batches"),
        EG_FLAG_REAL("rank-timeout", &s->rank_timeout, "300", 1e-3, 1e9, "seconds that a rank waits for others"),
    };
    int n = 0;
    if (run->options.data) {
        to[n++] = data;
    }
    if (run->options.get_data) {
        to[n++] = url;
    }
    memcpy(to + n, rest, sizeof rest);
    return n + EG__COUNT(rest);
}

enum { OWN_FLAGS_MOST = 20 };

/* Whether the name is one of those between spaces. */
static bool has_word(const char *words, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = words; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strcspn(at, " ") == length && memcmp(at, name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* The program's rows first, then, under a heading of their own if it has any, those of every run; of a name that both
 * have the program's counts. */
static eg_status make_table(eg_run *run, const defaults *d)
{
    eg_flag own[OWN_FLAGS_MOST];
    int theirs = run->options.flag_count, count = own_flags(run, d, own), n = 0;
    run->table = calloc((size_t)(theirs + count + 1), sizeof *run->table);
    if (!run->table) {
        return eg_fail(EG_ENOMEM, "eg_run_begin", "out of memory");
    }
    for (int i = 0; i < theirs; i++) {
        run->table[n++] = run->options.flags[i];
    }
    if (theirs > 0) {
        run->table[n++] = (eg_flag)EG_FLAG_GROUP("of every run");
    }
    for (int i = 0; i < count; i++) {
        bool replaced = false;
        for (int k = 0; k < theirs; k++) {
            replaced = replaced || strcmp(run->options.flags[k].name, own[i].name) == 0;
        }
        replaced = replaced || (run->options.without && has_word(run->options.without, own[i].name));
        if (replaced) { /* it is not known what it means there: the run has its default */
            eg_flags one = {.program = run->options.name, .about = "", .table = &own[i], .count = 1};
            int status;
            eg_flags_parse(&one, 0, (char *[]){NULL}, &status);
        } else {
            run->table[n++] = own[i];
        }
    }
    run->line.table = run->table;
    run->line.count = n;
    return EG_OK;
}

/* "gpu", "GPU:1" and "CPU" are cuda, cuda:1 and cpu. */
static void name_device(eg_run *run)
{
    const char *typed = run->settings.device;
    size_t length = strcspn(typed, ":");
    const char *name = length == 3 && strncasecmp(typed, "gpu", 3) == 0    ? "cuda"
                       : length == 4 && strncasecmp(typed, "cuda", 4) == 0 ? "cuda"
                       : strcasecmp(typed, "cpu") == 0                     ? "cpu"
                                                                           : NULL;
    if (name && strlen(typed + length) < sizeof run->device_name - 4) {
        snprintf(run->device_name, sizeof run->device_name, "%s%s", name, typed + length);
        run->settings.device = run->device_name;
    }
}

/* Applies the reduced sizes of --smoke: batches and, unless they were given, steps; given steps are limited to ten
 * times the usual number. */
static void settle(eg_run *run)
{
    const eg_run_options *o = &run->options;
    eg_run_settings *s = &run->settings;
    name_device(run);
    if (s->smoke) {
        int64_t usual = o->smoke_steps ? o->smoke_steps : 20;
        s->steps = !s->steps ? usual : s->steps < 10 * usual ? s->steps : 10 * usual;
        s->batch = o->smoke_batch && s->batch > o->smoke_batch ? o->smoke_batch : s->batch;
        s->save_every = s->save_every < 5 ? s->save_every : 5;
    }
    run->steps = s->steps;
}

static bool read_flags(eg_run *run, int argc, char **argv, void *user, int *status)
{
    const eg_run_options *o = &run->options;
    defaults d;
    snprintf(d.epochs, sizeof d.epochs, "%lld", (long long)(o->epochs ? o->epochs : 1));
    snprintf(d.batch, sizeof d.batch, "%lld", (long long)(o->batch ? o->batch : 32));
    snprintf(d.save_every, sizeof d.save_every, "%lld", (long long)(o->save_every ? o->save_every : 200));
    run->line = (eg_flags){.program = o->name,
                           .about = o->about ? o->about : "",
                           .operand = o->operand ? o->operand : "get-data",
                           .most_operands = o->operand    ? o->most_operands
                                            : o->get_data ? 1
                                                          : 0,
                           .out = run->out,
                           .err = run->err,
                           .aliases = o->aliases,
                           .alias_count = o->alias_count};
    if (make_table(run, &d)) {
        *status = 1;
        return false;
    }
    bool good = eg_flags_parse(&run->line, argc, argv, status);
    if (good) {
        settle(run);
        good = run_join(run, status);
        if (good && o->settle) {
            o->settle(&run->settings, user);
            run->steps = run->settings.steps;
        }
    }
    return good;
}

/* The verb get-data. True if that was it. */
static bool get_data(eg_run *run, void *user, int *status)
{
    const eg_run_options *o = &run->options;
    if (!o->get_data || run->line.operand_count != 1 || strcmp(run->line.operands[0], "get-data") != 0) {
        if (o->get_data && !o->operand && run->line.operand_count) {
            fprintf(run->err, "%s: '%.60s' is not get-data\n", o->name, run->line.operands[0]);
            *status = 2;
            return true;
        }
        return false;
    }
    if (run->rank > 0) { /* the first has them for all */
        *status = 0;
        return true;
    }
    const char *folder = run->settings.data ? run->settings.data : o->data_folder;
    *status = o->get_data(folder, run->url, user) ? eg_error_print(run->err) : 0;
    if (!*status) {
        fprintf(run->out, "%s has the data: %s --data %s\n", folder, o->name, folder);
    }
    return true;
}

/* ---- device and precision ---- */

static bool is_cuda(const char *device)
{
    const char *number = device + 5;
    return strcmp(device, "cuda") == 0 ||
           (strncmp(device, "cuda:", 5) == 0 && *number && !number[strspn(number, "0123456789")]);
}

/* Ranks of one machine take its cards in turn, unless one is named. */
static const char *card_of(const eg_run *run, char *text, size_t size)
{
    const int cards = strcmp(run->settings.device, "cuda") == 0 && run->ranks > 1 ? eg_cuda_count() : 0;
    const int local = run->options.comm ? run->rank : eg_comm_launched().local_rank;
    snprintf(text, size, "cuda:%d", cards > 0 ? local % cards : 0);
    return cards > 0 ? text : run->settings.device;
}

static eg_status open_device(eg_run *run)
{
    char card[32];
    const char *name = card_of(run, card, sizeof card);
    if (strcmp(name, "cpu") != 0 && !is_cuda(name)) {
        return eg_failf(EG_EINVAL, "eg_run_begin", "--device is cpu, cuda or cuda:N, not '%.60s'", name);
    }
    run->device = eg_device_open(name);
    if (run->device && run->settings.gpu_memory) {
        int64_t bytes;
        run->device = eg_parse_bytes(run->settings.gpu_memory, &bytes) ? NULL : eg_device_split(run->device, bytes);
    }
    if (!run->device) {
        const eg_error *e = eg_last_error();
        return eg_failf(e->code, "eg_run_begin", "--device %s: %s", name, e->message);
    }
    return EG_OK;
}

static eg_status set_precision(eg_run *run)
{
    const char *name = run->settings.precision;
    run->low = strcmp(name, "bf16") == 0 ? EG_BF16 : strcmp(name, "f16") == 0 ? EG_F16 : EG_F32;
    return eg_set_math_mode(strcmp(name, "tf32") == 0 ? EG_MATH_TF32 : EG_MATH_DEFAULT);
}

/* ---- the beginning ---- */

static void free_run(eg_run *run)
{
    run_leave(run);
    if (run->null) {
        fclose(run->null);
    }
    eg_flags_free(&run->line);
    free(run->table);
    free(run);
}

static eg_status begin(eg_run *run)
{
    const eg_run_settings *s = &run->settings;
    eg_status st = open_device(run);
    st = st ? st : set_precision(run);
    run->folder = s->out ? eg_path_in(s->out, "") : eg_path_in("egret-out", run->options.name);
    st = st || run->rank > 0 ? st : eg_folder_make(s->out ? s->out : run->folder.text);
    st = st || !s->threads ? st : eg_set_threads((int)s->threads);
    st = st || run->ranks == 1 ? st : run_settle_in(run);
    st = st || !s->profile ? st : eg_profile_begin(.memory = true);
    eg_seed((uint64_t)s->seed);
    if (!st && run->ranks > 1) {
        run_link_cards(run);
    }
    return eg_run_heed(run, st);
}

eg_run *eg_run_begin_with(int argc, char **argv, int *status, void *user, const eg_run_options *options)
{
    eg_run *run = calloc(1, sizeof *run);
    *status = 1;
    if (!run || !options || !options->name) {
        free(run);
        eg_fail(run ? EG_EINVAL : EG_ENOMEM, "eg_run_begin", run ? "a run needs a name" : "out of memory");
        eg_error_print(stderr);
        return NULL;
    }
    eg__options(&run->options, sizeof run->options, options);
    run->settings.keep = run->options.keep ? run->options.keep : 3;
    run->out = options->out ? options->out : stdout;
    run->err = options->err ? options->err : stderr;
    eg_progress_start(&run->clock, run->err, "", 0, "");
    run->words = argv;
    run->latest = (double)NAN;
    run->ranks = 1;
    run->scaling = (eg_scaler_options){.size = sizeof run->scaling};
    if (run_be_silent(run)) {
        *status = eg_error_print(run->failures);
        free_run(run);
        return NULL;
    }
    bool goes_on = read_flags(run, argc, argv, user, status) && !get_data(run, user, status);
    if (goes_on && begin(run)) {
        *status = eg_run_end(run, run->status);
        return NULL;
    }
    if (!goes_on) {
        free_run(run);
        return NULL;
    }
    return run;
}

/* As they were typed: --batch is that of all ranks. */
static eg_status save_flags(eg_run *run)
{
    const int64_t share = run->settings.batch;
    run->settings.batch = run->whole_batch ? run->whole_batch : share;
    eg_status st = eg_flags_save(&run->line, eg_run_path(run, "flags.conf").text);
    run->settings.batch = share;
    return st;
}

eg_status eg_run_open(eg_run *run)
{
    if (run->is_open || run->status) {
        return run->status;
    }
    run->is_open = true;
    bool resume = run->settings.resume;
    eg_status st = run_open_saver(run);
    st = st ? st : run_save_parts(run);
    st = st || resume ? st : save_flags(run);
    if (!st && resume) {
        st = run_check_precision(run);
        st = st ? st : eg_saver_restore(run->saver, &run->step);
        const char *path = st ? "" : eg_saver_path(run->saver);
        if (*path) {
            eg_run_say(run, "going on behind step %lld (%s)", (long long)run->step, path);
        } else if (!st) {
            eg_run_say(run, "there is no checkpoint yet; starting anew");
        }
    }
    st = st ? st : run_open_logs(run, resume && run->step > 0, run->step);
    run_part_random(run);
    return eg_run_heed(run, st);
}

eg_path eg_run_latest(const eg_run *run)
{
    char name[64];
    eg_saver *saver = eg_saver_new(run->folder.text);
    int64_t latest = eg_saver_latest(saver);
    eg_saver_free(saver);
    snprintf(name, sizeof name, "checkpoint-%010lld.safetensors", (long long)latest);
    return latest < 0 ? (eg_path){.text = ""} : eg_path_in(run->folder.text, name);
}

eg_status eg_run_restore(eg_run *run, const char *path)
{
    eg_path latest = eg_run_latest(run);
    if (run->status) {
        return run->status;
    }
    if (run->is_open) {
        return eg_run_heed(run, eg_fail(EG_ESTATE, "eg_run_restore", "the run is open already"));
    }
    if (!path && !*latest.text && run->rank == 0) {
        return eg_run_heed(
            run, eg_failf(EG_ESTATE, "eg_run_restore", "there is no checkpoint in %s: train first", run->folder.text));
    }
    run->is_open = true;
    run->saver = eg_saver_new(run->folder.text, .comm = run->comm);
    eg_status st = run->saver ? run_save_parts(run) : eg_last_error()->code;
    return eg_run_heed(
        run, st ? st : eg_saver_restore_from(run->saver, path ? path : latest.text, &run->step, .allow_others = true));
}

/* ---- the end ---- */

static eg_status write_profile(const eg_run *run)
{
    eg_profile_total totals[TOTALS_MOST];
    eg_path trace = eg_run_path(run, "trace.json");
    eg_status st = eg_profile_end(trace.text);
    if (st) {
        return st;
    }
    int count = eg_profile_totals(totals, TOTALS_MOST);
    fprintf(run->out, "profile %s\n%10s %10s %10s  op\n", trace.text, "seconds", "on device", "calls");
    for (int i = 0; i < count && i < TOTALS_MOST; i++) {
        const eg_profile_total *t = &totals[i];
        fprintf(run->out, "%10.3f %10.3f %10lld  %s%s\n", t->seconds, t->device_seconds, (long long)t->calls, t->name,
                t->backward ? ", backward" : "");
    }
    return EG_OK;
}

/* Samples per second of all ranks together, or steps where a step has no batch. */
static void say_speed(eg_run *run)
{
    const char *unit = run->options.unit ? run->options.unit : run->data ? "samples" : "steps";
    const bool batches = strcmp(unit, "steps") != 0;
    const double speed = eg_run_speed(run) * (batches ? (double)(run->settings.batch * run->ranks) : 1);
    if (*unit && speed > 0) {
        eg_run_say(run, "training: %.*f %s per second", speed < 10 ? 2 : speed < 100 ? 1 : 0, speed, unit);
    }
}

/* What there is to say, and main's exit status. */
static int tell(eg_run *run, eg_status st)
{
    if (run->signal) {
        run_say_how_to_go_on(run);
    }
    if (run->signal && !(run->after_signal && run->failure.code)) {
        return 128 + run->signal;
    }
    if (run->refused) {
        return 2;
    }
    if (st) {
        if (run->failure.code) {
            eg_failf(run->failure.code, run->failure.op, "%s", run->failure.message);
        }
        if (run->rank > 0 && !run_failed_elsewhere(run)) {
            fprintf(run->failures, "rank %d: ", run->rank);
        }
        return run_failed_elsewhere(run) && run->rank > 0 ? 1 : eg_error_print(run->failures);
    }
    return 0;
}

int eg_run_end(eg_run *run, eg_status st)
{
    eg_run_heed(run, st);
    if (run->in_pass) { /* left by break */
        run_end_pass(run);
    }
    if (run->heeds_signals) {
        signals_take(); /* of a run that failed: its words and its status come first */
        signals_release();
    }
    if (!run->status || run->signal) {
        eg_run_heed(run, run_catch_up(run));
    }
    if (run->settings.profile && (!run->status || run->signal)) {
        eg_run_heed(run, write_profile(run));
    }
    run_forget_rows(run);
    if (!run->status) {
        say_speed(run);
    }
    int status = tell(run, run->status);
    eg_saver_free(run->saver);
    run_free_parts(run);
    eg_events_free(run->board);
    eg_journal_free(run->journal);
    free_run(run);
    return status;
}

int eg_run_main_with(int argc, char **argv, eg_run_fn work, void *user, const eg_run_options *options)
{
    int status;
    eg_run *run = eg_run_begin_with(argc, argv, &status, user, options);
    return run ? eg_run_end(run, work(run, user)) : status;
}

/* ---- what others want to know ---- */

eg_status eg_run_heed(eg_run *run, eg_status st)
{
    if (st && !run->status) {
        run->status = st;
        run->failure = *eg_last_error();
        run->failure.code = run->failure.code ? run->failure.code : st;
        if (run->ranks > 1 && (!run->signal || run->after_signal)) {
            eg_comm_give_up(run->comm); /* with these words */
        }
    }
    return st;
}

eg_status eg_run_refuse(eg_run *run, const char *format, ...)
{
    char words[512];
    va_list values;
    va_start(values, format);
    vsnprintf(words, sizeof words, format, values);
    va_end(values);
    flags_refuse(&run->line, "%s", words);
    run->refused = true;
    return eg_run_heed(run, eg_fail(EG_EINVAL, "eg_run_refuse", words));
}

eg_status eg_run_status(const eg_run *run)
{
    return run->status;
}

const eg_run_settings *eg_run_settings_of(const eg_run *run)
{
    return &run->settings;
}

char *const *eg_run_operands(const eg_run *run, int *count)
{
    *count = run->line.operand_count;
    return run->line.operands;
}

eg_device *eg_run_device(const eg_run *run)
{
    return run->device;
}

eg_saver *eg_run_saver(eg_run *run)
{
    return eg_run_open(run) ? NULL : run->saver;
}

int64_t eg_run_step(const eg_run *run)
{
    return run->step;
}

int64_t eg_run_steps(const eg_run *run)
{
    return run->steps;
}

int64_t eg_run_per_epoch(const eg_run *run)
{
    return run->data ? run->per_epoch : run->steps;
}

int64_t eg_run_epoch(const eg_run *run)
{
    return run->epochs_done + 1;
}

eg_tensor *eg_run_here(const eg_run *run, eg_tensor *x)
{
    return eg_to(x, run->device);
}
