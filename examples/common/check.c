/* check.c - what check.py runs to see that runs and downloads work. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <egret/egret.h>
#include <egret/run.h>

#include "download.h"

static int get(int count, char **word)
{
    bool sized = strncmp(word[1], "bytes=", 6) == 0;
    download d = {.url = word[0], .unpack = count > 3 ? word[3] : NULL};
    d.sha256 = sized ? NULL : word[1];
    d.bytes = sized ? atoll(word[1] + 6) : 0;
    d.member = count > 5 ? word[4] : NULL;
    d.member_sha256 = count > 5 ? word[5] : NULL;
    return download_get(&d, word[2]) ? eg_error_print(stderr) : 0;
}

/* What a log gets, were each update `seconds` later than the one before. */
static int try_progress(double seconds)
{
    eg_progress bar;
    eg_progress_start(&bar, stderr, "counting", 4, "sheep");
    for (int i = 1; i <= 4; i++) {
        bar.started -= seconds;
        bar.painted -= seconds;
        eg_progress_update(&bar, i, "loss %g", 0.5 * i);
    }
    eg_progress_clear(&bar);
    return 0;
}

/* ---- runs ---- */

/* A run that counts its steps. */
static eg_status count_steps(eg_run *run)
{
    int64_t sum = 0;
    eg_run_number(run, "sum", &sum);
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(none, run)
        {
            int64_t step = eg_run_step(run);
            eg_exp(eg_ones(EG_SHAPE(3), EG_F32));
            sum += step;
            eg_run_log(run, EG_REAL("half", (double)step / 2), EG_TEXT("word", "so"), EG_INTEGER("sum", sum));
        }
    }
    eg_run_say(run, "sum %lld", (long long)sum);
    return eg_run_status(run);
}

/* Waits until there is a file of that name in the run's folder. */
static void wait_for(const eg_run *run, const char *name)
{
    while (access(eg_run_path(run, name).text, F_OK) != 0) {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

/* A run whose steps, and what comes behind them, end when check.py says so. Step 13 fails. */
static eg_status pace_steps(eg_run *run)
{
    int64_t sum = 0;
    eg_run_number(run, "sum", &sum);
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(none, run)
        {
            char name[32];
            snprintf(name, sizeof name, "step-%lld", (long long)eg_run_step(run));
            wait_for(run, name);
            sum += eg_run_step(run);
            eg_run_log(run, EG_INTEGER("sum", sum));
            if (eg_run_step(run) == 13) {
                eg_run_heed(run, eg_fail(EG_EUSER, "check", "13 is no step"));
            }
        }
    }
    if (!eg_run_status(run)) {
        wait_for(run, "report");
        eg_run_say(run, "sum %lld", (long long)sum);
        eg_run_plot(run, "sum.png", "Sum", "sum");
    }
    return eg_run_status(run);
}

/* A run whose numbers are computed on its device. */
static eg_status note_steps(eg_run *run)
{
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(none, run)
        {
            double step = (double)eg_run_step(run);
            eg_run_note(run, EG_RUN_SHARE("half", eg_full(EG_SCALAR, step, EG_F32), 2),
                        EG_RUN_NUMBER("step again", step));
        }
    }
    return eg_run_status(run);
}

/* An optimizer by a name that is taken is refused, and nothing goes on after that. */
static eg_status refuse_steps(eg_run *run)
{
    eg_module *net = eg_run_module(run, "net", eg_linear_new(2, 1));
    eg_run_optim(run, "sgd", eg_sgd_new(eg_module_parameters(net)));
    eg_run_optim(run, "sgd", eg_sgd_new(eg_module_parameters(net)));
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(none, run)
        {
            eg_run_say(run, "a step");
        }
    }
    return eg_run_status(run);
}

/* A number that could not be computed. */
static eg_status note_nothing(eg_run *run)
{
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(none, run)
        {
            eg_run_note(
                run, EG_RUN_VALUE("nothing", eg_matmul(eg_ones(EG_SHAPE(2, 3), EG_F32), eg_ones(EG_SHAPE(2), EG_F32))));
        }
    }
    return eg_run_status(run);
}

static const struct verb {
    const char *name;
    eg_status (*work)(eg_run *run);
} verbs[] = {{"run", count_steps},
             {"pace", pace_steps},
             {"note", note_steps},
             {"refuse", refuse_steps},
             {"nothing", note_nothing}};

static eg_status work(eg_run *run, void *user)
{
    int words;
    char *const *operands = eg_run_operands(run, &words);
    (void)user;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs && words; i++) {
        if (strcmp(operands[0], verbs[i].name) == 0) {
            return verbs[i].work(run);
        }
    }
    return eg_run_refuse(run, "what is to be done?");
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "get") == 0 && (argc == 5 || argc == 6 || argc == 8)) {
        return get(argc - 2, argv + 2);
    }
    if (strcmp(verb, "progress") == 0 && argc == 3) {
        return try_progress(atof(argv[2]));
    }
    return eg_run_main(argc, argv, work, NULL, .name = "check", .about = "Counts steps.", .epochs = 3, .save_every = 3,
                       .data = "a folder", .operand = "run|pace|note|refuse|nothing", .most_operands = 1);
}
