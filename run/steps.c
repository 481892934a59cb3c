/* steps.c - the loops of a run: epochs, and the steps of each. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/run.h"
#include "run/signals.h"

/* ---- device and precision, and other walks ---- */

eg_run_walk eg_run_walk_begin(eg_run *run, eg_dataset *dataset)
{
    if (dataset && dataset != run->data) {
        run_same_buffers(run);
    }
    return (eg_run_walk){.run = run,
                         .dataset = dataset,
                         .device = eg_use_device(run->device),
                         .cast = eg_autocast_begin(run->low),
                         .open = true};
}

eg_run_walk eg_run_share_begin(eg_run *run, eg_dataset *dataset)
{
    eg_run_walk w = eg_run_walk_begin(run, dataset);
    w.shared = run->ranks > 1;
    return w;
}

/* The sample on the device. */
static eg_tensor *const *bring(eg_run_walk *w, eg_tensor *const *sample)
{
    int n = sample ? eg_dataset_width(w->dataset) : 0;
    for (int i = 0; i < n; i++) {
        w->sample[i] = eg_to(sample[i], w->run->device);
        if (!w->sample[i]) {
            eg_run_heed(w->run, eg_last_error()->code);
            return NULL;
        }
    }
    return sample ? w->sample : NULL;
}

/* Datasets are read where their tensors are: on the CPU. */
static eg_tensor *const *fetch(eg_run_walk *w, eg_tensor *const *(*step)(eg_dataset *d))
{
    if (w->run->status) {
        return NULL;
    }
    eg_device *here = eg_use_device(w->device);
    eg_tensor *const *sample = step(w->dataset);
    eg_use_device(here);
    if (!sample) {
        eg_run_heed(w->run, w->dataset ? eg_dataset_status(w->dataset) : eg_fail(EG_EINVAL, "eg_run", "no dataset"));
    }
    return bring(w, sample);
}

/* Rank r begins with sample r. */
eg_tensor *const *eg_run_walk_first(eg_run_walk *walk)
{
    const int rank = walk->shared ? walk->run->rank : 0;
    eg_tensor *const *sample = fetch(walk, eg_dataset_first);
    if (!rank || !sample) {
        return sample;
    }
    eg_run_heed(walk->run, eg_dataset_pass(walk->dataset, rank - 1));
    return fetch(walk, eg_dataset_next);
}

eg_tensor *const *eg_run_walk_next(eg_run_walk *walk)
{
    if (walk->shared && !walk->run->status) {
        eg_run_heed(walk->run, eg_dataset_pass(walk->dataset, walk->run->ranks - 1));
    }
    return fetch(walk, eg_dataset_next);
}

void eg_run_walk_end(eg_run_walk *walk)
{
    eg_autocast_end(&walk->cast);
    eg_use_device(walk->device);
    walk->open = false;
}

/* ---- a pass ---- */

bool run_has_steps_left(const eg_run *run)
{
    return !run->status && !run->stopping && (!run->steps || run->step < run->steps);
}

/* The body of the next step, in the run's device and precision. */
static eg_tensor *const *begin_step(eg_run *run, eg_tensor *const *(*fetch_sample)(eg_run_walk *w))
{
    if (run->timeline_every && !run->timeline_runs && (run->step + 1) % run->timeline_every == 0 &&
        !run->settings.profile) {
        run->timeline_runs = !eg_run_heed(run, eg_profile_begin());
    }
    run->step_began = eg_progress_seconds(&run->clock);
    run->walk = eg_run_walk_begin(run, run->data);
    eg_tensor *const *sample = run->data ? fetch_sample(&run->walk) : run->walk.sample;
    if (!sample || run->status) {
        run_end_pass(run);
        return NULL;
    }
    run->step++;
    run->in_step = true;
    return sample;
}

void run_end_pass(eg_run *run)
{
    if (run->walk.open) {
        eg_run_walk_end(&run->walk);
    }
    eg_scope_pop(run->scope, NULL);
    run->in_pass = run->in_step = false;
    eg_progress_clear(&run->bar);
    run->has_bar = false;
}

eg_tensor *const *eg_run_first(eg_run *run)
{
    if (run->in_pass) { /* left by break */
        run_end_pass(run);
    }
    if (!run_has_steps_left(run)) {
        return NULL;
    }
    run->scope = eg_scope_push();
    run->in_pass = run->has_bar = true;
    eg_progress_start(&run->bar, run->err, "training", run->steps, "steps");
    run->bar.total = run->steps - run->step > 0 ? run->steps : 0;
    run->bar.before = run->step;
    return begin_step(run, eg_run_walk_first);
}

static eg_status end_timeline(eg_run *run)
{
    char name[48];
    if (!run->timeline_runs) {
        return EG_OK;
    }
    run->timeline_runs = false;
    snprintf(name, sizeof name, "timeline-%lld.json", (long long)run->step);
    return eg_run_heed(run, eg_profile_end(eg_run_path(run, name).text));
}

/* A hook that fails without a word gets one. */
static eg_status call_hook(eg_run *run, eg_status (*f)(eg_run *run, void *user), void *user)
{
    eg_clear_error();
    eg_status st = f(run, user);
    if (st && !eg_last_error()->code) {
        st = eg_failf(EG_EUSER, "eg_run_hook", "a hook failed at step %lld without a word", (long long)run->step);
    }
    return eg_run_heed(run, st);
}

/* Whether the epoch ends with this step, where that is known: its checkpoint then comes behind what belongs to it. */
static bool ends_epoch(const eg_run *run)
{
    return run->stopping || run->step == run->steps || (run->per_epoch && run->step % run->per_epoch == 0);
}

/* All that comes behind the body of a step. */
static void end_step(eg_run *run)
{
    run->in_step = false;
    eg_run_walk_end(&run->walk);
    run->stepped += run->past_first ? eg_progress_seconds(&run->clock) - run->step_began : 0;
    run->timed += run->past_first;
    run->past_first = true;
    end_timeline(run);
    if (run->settings.watch) {
        eg_run_heed(run, run_catch_up(run));
        eg_run_heed(run, run_watch(run));
    }
    for (int i = 0; i < run->hook_count && !run->status; i++) {
        const eg_hook *h = &run->hooks[i];
        if (h->step && h->every > 0 && run->step % h->every == 0) {
            call_hook(run, h->step, h->user);
        }
    }
    if (run->status) {
        return;
    }
    if (isnan(run->latest)) {
        eg_progress_update(&run->bar, run->step, "%s", "");
    } else {
        eg_progress_update(&run->bar, run->step, "%s %.4f", run->latest_name, run->latest);
    }
    if (!ends_epoch(run) && !run_heed_signal(run) && !run->status && run->settings.save_every > 0 &&
        run->step % run->settings.save_every == 0) {
        run_save(run);
    }
}

eg_tensor *const *eg_run_next(eg_run *run)
{
    if (!run->in_step) {
        return NULL;
    }
    end_step(run);
    if (!run_has_steps_left(run)) {
        run_end_pass(run);
        return NULL;
    }
    if (!run->data) {
        eg_scope_pop(run->scope, NULL);
        run->scope = eg_scope_push();
    }
    return begin_step(run, eg_run_walk_next);
}

double eg_run_speed(const eg_run *run)
{
    return run->timed ? (double)run->timed / run->stepped : (double)NAN;
}

void eg_run_stop(eg_run *run, const char *why)
{
    if (why && !run->stopping) {
        eg_run_say(run, "%s", why);
    }
    run->stopping = true;
}

/* ---- epochs ---- */

static void begin_epoch(eg_run *run)
{
    run->epoch_began = eg_progress_seconds(&run->clock);
}

static bool has_epochs_left(const eg_run *run)
{
    return run_has_steps_left(run) && (run->steps || (run->data && run->epochs_done < run->settings.epochs));
}

/* The next epoch, or the end of the loops. */
static void go_on(eg_run *run)
{
    run->in_epoch = has_epochs_left(run);
    if (run->signal && !run->after_signal) { /* the checkpoint is written: what follows the loops draws what there is */
        run->after_signal = run->stopping = true;
        run->status = EG_OK;
        memset(&run->failure, 0, sizeof run->failure);
    }
    if (run->in_epoch) {
        begin_epoch(run);
    } else if (run->heeds_signals && !run->status) { /* else when the run ends, after its words */
        run->heeds_signals = false;
        signals_release();
    }
}

void eg_run_first_epoch(eg_run *run)
{
    run->heeds_signals = run->heeds_signals || (!run->status && signals_hold());
    eg_run_open(run);
    if (!run->steps && !run->data) {
        eg_run_heed(run, eg_fail(EG_EINVAL, "eg_run", "without a dataset a run needs --steps"));
    }
    go_on(run);
}

bool eg_run_in_epoch(const eg_run *run)
{
    return run->in_epoch;
}

static void say_epoch(eg_run *run)
{
    char means[512];
    run_take_means(run, means, sizeof means);
    if (!run->hushed) {
        eg_run_say(run, "epoch %lld: %s%s%.1f s", (long long)run->epochs_done, means, *means ? ", " : "",
                   eg_progress_seconds(&run->clock) - run->epoch_began);
    }
}

/* What belongs behind an epoch that is over. */
static void end_epoch(eg_run *run)
{
    run->epochs_done++;
    for (int i = 0; i < run->hook_count && !run->status; i++) {
        if (run->hooks[i].epoch) {
            call_hook(run, run->hooks[i].epoch, run->hooks[i].user);
        }
    }
    if (!run->status) {
        say_epoch(run);
    }
    if (!run->status && !run_heed_signal(run) && !run->status && run->settings.save_every > 0) {
        run_save(run);
    }
}

void eg_run_next_epoch(eg_run *run)
{
    if (run->in_pass) { /* left by break */
        run_end_pass(run);
    }
    if (!run->status && !eg_run_heed(run, run_catch_up(run))) {
        end_epoch(run);
    }
    go_on(run);
}

/* ---- hooks ---- */

eg_status eg_run_hook(eg_run *run, const eg_hook *hook)
{
    if (run->hook_count == RUN_HOOKS_MOST) {
        return eg_run_heed(run, eg_failf(EG_EINVAL, "eg_run_hook", "a run has at most %d hooks", RUN_HOOKS_MOST));
    }
    run->hooks[run->hook_count++] = *hook;
    return EG_OK;
}

eg_status eg_run_timeline(eg_run *run, int64_t every)
{
    run->timeline_every = every > 0 ? every : 0;
    return EG_OK;
}
