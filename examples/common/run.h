/* run.h - what all training programs share: options, device, precision, folder, checkpoints, logs, profile.
 *
 *     run_options o;
 *     const arg table[] = {
 *         RUN_OPTIONS(&o, "folder with the four MNIST files", "50", "64"),
 *         ARG_REAL("lr", &rate, "1e-4", 1e-9, 10, "learning rate"),
 *     };
 *     ...
 *     run r;
 *     return run_end(&r, run_begin(&r, &o, "dcgan", argv) && train(&r, rate));
 *
 * and in train:
 *
 *     int64_t step = 0;
 *     run_module(r, "generator", generator) && run_optim(r, "adam", adam) ...
 *     if (!run_resume(r, &step)) {
 *         return false;
 *     }
 *     while (good && run_goes_on(step, steps)) {
 *         RUN_COMPUTES(r) {
 *             eg_tape tape = eg_tape_open();
 *             eg_tensor *loss = loss_of(generator, run_here(r, batch));
 *             good = run_minimize(r, adam, tape, loss) && run_note(r, ++step, RUN_VALUE("loss", loss));
 *         }
 *         good = good && run_checkpoint(r, step, step % 200 == 0 || step == steps);
 *     }
 *
 * Outside of RUN_COMPUTES the thread makes its tensors on the CPU, as data, pictures and logs want them. */
#ifndef EXAMPLES_RUN_H
#define EXAMPLES_RUN_H

#include <egret/egret.h>
#include <egret/events.h>
#include <egret/saver.h>

#include "args.h"
#include "run_folder.h"

typedef struct run_options {
    const char *data, *device, *precision, *out;
    int64_t epochs, steps, batch, seed, threads;
    bool resume, smoke, profile;
} run_options;

/* clang-format off */

/* The rows of all of them: what the data are, and the defaults of epochs and batch. */
#define RUN_OPTIONS(o, data_help, epochs_, batch_)                                                 \
    ARG_TEXT("data", &(o)->data, NULL, "DIR", data_help),                                          \
    ARG_TEXT("device", &(o)->device, "cpu", "cpu|cuda[:N]", "where to compute"),                   \
    ARG_TEXT("precision", &(o)->precision, "f32", "f32|tf32|bf16|f16",                             \
             "of products: exact; on CUDA's tensor cores (elsewhere f32); of half the bytes, with f32 weights"), \
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

/* How many steps' numbers wait on a device before they are read; and how many there are of one. */
enum { RUN_BEHIND = 20, RUN_VALUES_MOST = 4, RUN_OPTIMS_MOST = 2 };

/* A number of a step: computed, a tensor of one element, by `per` unless that is 0; or known. */
typedef struct run_value {
    const char *name; /* static */
    bool computed;
    eg_tensor *tensor;
    double number, per;
} run_value;
#define RUN_VALUE(name_, tensor_)     RUN_SHARE(name_, tensor_, 0)
#define RUN_SHARE(name_, tensor_, by) ((run_value){.name = name_, .computed = true, .tensor = tensor_, .per = by})
#define RUN_NUMBER(name_, number_)    ((run_value){.name = name_, .number = number_})

typedef struct run_row {
    int64_t step;
    int count;
    run_value values[RUN_VALUES_MOST]; /* their tensors kept */
} run_row;

typedef struct run {
    const run_options *options;
    const char *program;
    char *const *words; /* of the command line */
    eg_device *device;
    eg_dtype low; /* of --precision bf16 and f16: what products are of; else EG_F32 */
    struct {
        eg_optim *optim;
        eg_scaler *scaler;
    } scaled[RUN_OPTIMS_MOST]; /* of --precision f16 */
    run_row behind[RUN_BEHIND];
    int rows_behind;
    double latest; /* the first value of the latest row that was read; NaN: none yet */
    run_folder folder;
    eg_saver *saver;     /* of the folder, keeping three */
    eg_events *board;    /* for TensorBoard, in the folder "events"; NULL if Egret has no protobuf-c */
    eg_journal *journal; /* log.jsonl */
    int signal;          /* what stopped the run, behind step `stopped`; 0: nothing did */
    int64_t stopped;
} run;

/* The device of --device. */
eg_device *run_device(const run_options *o);

/* Opens the device, folder and logs, sets precision, threads and seed, begins the profile. Without
 * --resume the checkpoints and logs of an earlier run are put aside into a folder "earlier-N" there,
 * so that none is lost by mistake. `words` is main's argv, whose program takes --resume. */
bool run_begin(run *r, const run_options *o, const char *program, char *const *words);

/* Adds a module to the saver and moves it to the device; adds an optimizer, with a loss scaler for f16. */
bool run_module(run *r, const char *name, eg_module *m);
bool run_optim(run *r, const char *name, eg_optim *optim);

/* With --resume: puts back all that was added to the saver, and says so. */
bool run_resume(run *r, int64_t *step);

/* A block in which makers put tensors on the device and products are of the run's precision. Leave it at its
 * end only. */
#define RUN_COMPUTES(r) \
    for (run_computing run_block_ = run_compute_begin(r); run_block_.open; run_compute_end(&run_block_))
typedef struct run_computing {
    eg_device *before;
    eg_autocast_block cast;
    bool open;
} run_computing;
run_computing run_compute_begin(const run *r);
void run_compute_end(run_computing *block);

/* x on the device; queued, not waited for. */
eg_tensor *run_here(const run *r, eg_tensor *x);

/* eg_optim_minimize, with the loss scaled for f16. */
bool run_minimize(run *r, eg_optim *optim, eg_tape tape, eg_tensor *loss);

/* A row of the journal with the step and these fields, and a point on TensorBoard for each number. */
bool run_log_with(run *r, int64_t step, const eg_field *fields, int count);
#define run_log(r, step, ...) \
    run_log_with(r, step, (eg_field[]){__VA_ARGS__}, (int)(sizeof((eg_field[]){__VA_ARGS__}) / sizeof(eg_field)))

/* The same of what a step has computed, which is not waited for: on a device other than the CPU rows are read and
 * logged RUN_BEHIND at a time, by a checkpoint, or by run_catch_up, before the log is read. */
bool run_note_with(run *r, int64_t step, const run_value *values, int count);
#define run_note(r, step, ...) \
    run_note_with(r, step, (run_value[]){__VA_ARGS__}, (int)(sizeof((run_value[]){__VA_ARGS__}) / sizeof(run_value)))
bool run_catch_up(run *r);

/* Whether there are steps left. As long as there are, the first SIGINT (Ctrl-C) or SIGTERM does not end the program:
 * the next run_checkpoint stops the run. A second one ends it at once. */
bool run_goes_on(int64_t step, int64_t steps);

/* Behind a step: a checkpoint, all rows up to it in the log, if one is due or the run is to stop. False if it is to
 * stop, which run_end then does with words of how to go on, or if the checkpoint cannot be written. Behind the last
 * step of an epoch it comes after all that belongs to the epoch: a run that goes on there begins with the next one. */
bool run_checkpoint(run *r, int64_t step, bool due);

/* Ends everything. `good`: whether all went well; if not, what is on record is printed, or, of a run that was
 * stopped, the command that goes on with it. With --profile the trace is written and its table printed. Returns main's
 * exit status: 0, 1 after a failure, or 128 and the signal's number (130, 143). */
int run_end(run *r, bool good);

#endif
