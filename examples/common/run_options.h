/* run_options.h - what all training programs have on their command lines, and what it does.
 *
 *     run_options run;
 *     const arg table[] = {
 *         RUN_OPTIONS(&run, "folder with the MNIST files", "50", "64"),
 *         ARG_REAL("lr", &rate, "1e-4", 1e-9, 10, "learning rate"),
 *     };
 *     ...
 *     run_folder folder;
 *     if (!run_begin(&run, "dcgan", &folder, &why)) ...
 *     ... training ...
 *     if (!run_end(&run, &folder, &why)) ...
 */
#ifndef EXAMPLES_RUN_OPTIONS_H
#define EXAMPLES_RUN_OPTIONS_H

#include "args.h"
#include "run_folder.h"

typedef struct run_options {
    const char *data, *device, *out;
    int64_t epochs, steps, batch, seed, threads;
    bool resume, smoke, profile;
} run_options;

/* clang-format off */

/* The common rows; what the data are, and the defaults of epochs and batch. */
#define RUN_OPTIONS(run, data_help, epochs_, batch_)                                               \
    ARG_TEXT("data", &(run)->data, NULL, "DIR", data_help),                                        \
    ARG_TEXT("device", &(run)->device, "cpu", "cpu|cuda[:N]", "where to compute"),                 \
    ARG_TEXT("out", &(run)->out, NULL, "DIR",                                                      \
             "where checkpoints, pictures and logs go (egret-out/ and the program's name)"),       \
    ARG_INTEGER("epochs", &(run)->epochs, epochs_, 1, 100000, "passes over the data"),             \
    ARG_INTEGER("steps", &(run)->steps, "0", 0, 1000000000, "steps in all, instead of epochs"),    \
    ARG_INTEGER("batch", &(run)->batch, batch_, 1, 100000, "examples per step"),                   \
    ARG_INTEGER("seed", &(run)->seed, "1", 0, 1000000000, "of weights, order and noise"),          \
    ARG_INTEGER("threads", &(run)->threads, "0", 0, 1024, "threads per op; 0: one per processor"), \
    ARG_FLAG("resume", &(run)->resume, "go on from the newest checkpoint in the folder"),          \
    ARG_FLAG("smoke", &(run)->smoke, "seconds only, and fail unless the loss falls"),              \
    ARG_FLAG("profile", &(run)->profile,                                                           \
             "write trace.json for chrome://tracing, and say which ops took the time")

/* clang-format on */

/* Opens the folder, checks the device, sets threads and seed, and begins the profile. */
bool run_begin(const run_options *run, const char *program, run_folder *folder, problem *why);

/* Writes the profile, if there is one, and prints its table. */
bool run_end(const run_options *run, const run_folder *folder, problem *why);

#endif
