/* run.h - what all training programs share: options, folder, checkpoints, logs, profile.
 *
 *     run_options o;
 *     const arg table[] = {
 *         RUN_OPTIONS(&o, "folder with the four MNIST files", "50", "64"),
 *         ARG_REAL("lr", &rate, "1e-4", 1e-9, 10, "learning rate"),
 *     };
 *     ...
 *     run r;
 *     return run_end(&r, run_begin(&r, &o, "dcgan") && train(&r, rate));
 *
 * and in train:
 *
 *     int64_t step = 0;
 *     eg_saver_module(r->saver, "generator", generator);
 *     ...
 *     if (!run_resume(r, &step)) {
 *         return false;
 *     }
 *     ... run_log(r, step, EG_REAL("loss", loss)) ... eg_saver_save(r->saver, step) ... */
#ifndef EXAMPLES_RUN_H
#define EXAMPLES_RUN_H

#include <egret/events.h>
#include <egret/run.h>

#include "args.h"
#include "run_folder.h"

typedef struct run_options {
    const char *data, *device, *out;
    int64_t epochs, steps, batch, seed, threads;
    bool resume, smoke, profile;
} run_options;

/* clang-format off */

/* The rows of all of them: what the data are, and the defaults of epochs and batch. */
#define RUN_OPTIONS(o, data_help, epochs_, batch_)                                                 \
    ARG_TEXT("data", &(o)->data, NULL, "DIR", data_help),                                          \
    ARG_TEXT("device", &(o)->device, "cpu", "cpu|cuda[:N]", "where to compute"),                   \
    ARG_TEXT("out", &(o)->out, NULL, "DIR",                                                        \
             "where checkpoints, pictures and logs go (egret-out/ and the program's name)"),       \
    ARG_INTEGER("epochs", &(o)->epochs, epochs_, 1, 100000, "passes over the data"),               \
    ARG_INTEGER("steps", &(o)->steps, "0", 0, 1000000000, "steps in all, instead of epochs"),      \
    ARG_INTEGER("batch", &(o)->batch, batch_, 1, 100000, "examples per step"),                     \
    ARG_INTEGER("seed", &(o)->seed, "1", 0, 1000000000, "of weights, order and noise"),            \
    ARG_INTEGER("threads", &(o)->threads, "0", 0, 1024, "threads per op; 0: one per processor"),   \
    ARG_FLAG("resume", &(o)->resume, "go on from the latest checkpoint in the folder"),            \
    ARG_FLAG("smoke", &(o)->smoke, "seconds only, and fail unless the loss falls"),                \
    ARG_FLAG("profile", &(o)->profile,                                                             \
             "write trace.json for chrome://tracing, and say which ops took the time")

/* clang-format on */

typedef struct run {
    const run_options *options;
    const char *program;
    run_folder folder;
    eg_saver *saver;     /* of the folder, keeping three */
    eg_events *board;    /* for TensorBoard, in the folder "events"; NULL if Egret has no protobuf-c */
    eg_journal *journal; /* log.jsonl */
} run;

/* Checks the device, opens folder and logs, sets threads and seed, begins the profile. Without
 * --resume the checkpoints and logs of an earlier run are put aside into a folder "earlier-N" there,
 * so that none is lost by mistake. False after saying why on stderr. */
bool run_begin(run *r, const run_options *o, const char *program);

/* With --resume: puts back all that was added to the saver, and says so. */
bool run_resume(run *r, int64_t *step);

/* A row of the journal with the step and these fields, and a point on TensorBoard for each number. */
bool run_log_with(run *r, int64_t step, const eg_field *fields, int count);
#define run_log(r, step, ...)                                                                      \
    run_log_with(r, step, (eg_field[]){__VA_ARGS__},                                               \
                 (int)(sizeof((eg_field[]){__VA_ARGS__}) / sizeof(eg_field)))

/* Says on stderr what went wrong; always false, so that `return run_say(r, &why)` fails at once. */
bool run_say(const run *r, const problem *why);

/* Ends everything. `good`: whether all went well; if not, what Egret has on record is printed. With
 * --profile the trace is written and its table printed. Returns main's exit status. */
int run_end(run *r, bool good);

#endif
