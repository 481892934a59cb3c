/* stop.c - checkpoints, and stopping where it is good to stop. */
#include <stdio.h>
#include <string.h>

#include "run/run.h"
#include "run/signals.h"

eg_status run_save(eg_run *run)
{
    eg_status st = run_catch_up(run);
    st = st ? st : run_same_buffers(run);
    st = st ? st : eg_saver_save(run->saver, run->step);
    if (st) {
        int64_t latest = eg_saver_latest(run->saver);
        fprintf(run->err, "%s: step %lld is not saved", run->options.name, (long long)run->step);
        if (latest < 0) {
            fprintf(run->err, ", and there is no checkpoint\n");
        } else {
            fprintf(run->err, "; the latest checkpoint is of step %lld\n", (long long)latest);
        }
    }
    return eg_run_heed(run, st);
}

bool run_heed_signal(eg_run *run)
{
    int signal = run_agreed_signal(run, run->heeds_signals ? signals_take() : 0);
    if (!signal || run->status || run_save(run)) {
        return false;
    }
    run->signal = signal;
    eg_run_heed(run, eg_failf(EG_ESTATE, "eg_run", "stopped at step %lld by signal %d", (long long)run->step, signal));
    return true;
}

/* As a shell wants it: in quotes unless there is nothing in it that could mean something else. */
static void print_word(FILE *to, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_+:,./@=";
    bool assigns = *word != '-' && strchr(word, '=');
    if (*word && !word[strspn(word, plain)] && !assigns) {
        fputs(word, to);
        return;
    }
    fputc('\'', to);
    for (; *word; word++) {
        if (*word == '\'') {
            fputs("'\\'", to);
        }
        fputc(*word, to);
    }
    fputc('\'', to);
}

void run_say_how_to_go_on(const eg_run *run)
{
    fprintf(run->err, "stopped at step %lld; go on with: ", (long long)run->step);
    bool added = run->settings.resume;
    for (char *const *word = run->words; *word; word++) {
        if (!added && strcmp(*word, "--") == 0) { /* no flags behind it */
            fputs("--resume ", run->err);
            added = true;
        }
        print_word(run->err, *word);
        fputs(word[1] ? " " : "", run->err);
    }
    fputs(added ? "\n" : " --resume\n", run->err);
}
