/* run.h - what a training program needs: a library of its own, libegret-run.
 *
 *     static eg_status work(eg_run *run, void *user)
 *     {
 *         const options *o = user;
 *         eg_module *net = eg_run_module(run, "net", lenet());
 *         eg_optim *adam = eg_run_optim(run, "adam", eg_adam_new(eg_module_parameters(net), .lr = o->lr));
 *         eg_run_train_on(run, digits(eg_run_settings_of(run)));
 *         EG_RUN_EPOCHS(run) {
 *             EG_RUN_STEPS(sample, run) {
 *                 eg_tape tape = eg_tape_open();
 *                 eg_tensor *loss = eg_cross_entropy(eg_module_forward(net, sample[0]), sample[1]);
 *                 eg_run_minimize(run, adam, tape, loss);
 *                 eg_run_note(run, EG_RUN_VALUE("loss", loss));
 *             }
 *         }
 *         return eg_run_status(run);
 *     }
 *
 *     int main(int argc, char **argv)
 *     {
 *         options o;
 *         const eg_flag flags[] = {EG_FLAG_REAL("lr", &o.lr, "1e-3", 1e-9, 10, "learning rate")};
 *         return eg_run_main(argc, argv, work, &o, .name = "digits", .about = "Reads digits.", .flags = flags,
 *                            .flag_count = 1, .epochs = 3, .batch = 64);
 *     }
 *
 * That program has flags and --help, a folder with checkpoints, a journal, event files and curves, a progress bar, a
 * device and a precision, it stops at Ctrl-C and goes on with --resume. Where the loop is the ordinary one eg_fit
 * (run/fit.h) has it. The first failure of a call is the run's: the loops end, what comes after does nothing, and the
 * program ends with its words and status 1; so only the end asks (eg_run_status).
 *
 * mpirun -n 4 program --batch 64 is the same training by four ranks, each with 16 examples of every batch: data are
 * dealt out (eg_dataset_distribute), optimizers average their gradients (eg_optim_parallel), numbers of steps are means
 * of all. Rank 0 prints, logs and saves; what the others write into the run's folder goes into one of their own, which
 * is removed at the end. All make the same calls; a failure on one ends all. docs/parallel.md has the rest.
 *
 * A run is one thread's: device, precision, random numbers and number of threads are set for it. Signals are the
 * process's: the first of several runs heeds them. */
#ifndef EGRET_RUN_H
#define EGRET_RUN_H

#include <egret/draw.h>
#include <egret/egret.h>
#include <egret/run/flags.h>
#include <egret/run/folder.h>
#include <egret/run/progress.h>

EG_BEGIN_DECLS

typedef struct eg_run eg_run;

/* What the flags say that every run has. */
typedef struct eg_run_settings {
    const char *data;            /* --data, a folder; NULL: none was given */
    const char *device;          /* --device, "cpu", "cuda" or "cuda:N", "gpu" being "cuda" */
    const char *precision;       /* --precision, "f32", "tf32", "bf16" or "f16" */
    const char *out;             /* --out, a folder; NULL: egret-out/ and the program's name */
    int64_t epochs, steps;       /* --epochs; --steps, 0: of the epochs */
    int64_t batch;               /* --batch; of several ranks this one's share of it */
    int64_t seed, threads;       /* --seed; --threads, 0: one per processor */
    int64_t save_every;          /* --save-every, steps; 0: none but where a signal stops the run */
    int64_t keep;                /* checkpoints, 3 unless the program says otherwise; 0: all */
    bool resume, smoke, profile; /* --resume, --smoke, --profile */
    bool watch;                  /* --watch */
    int64_t zero;                /* --zero: what ranks share out (parallel.h) */
    bool sync_batch_norm;        /* --sync-batch-norm */
    double rank_timeout;         /* --rank-timeout, seconds */
    const char *gpu_memory;      /* --gpu-memory, a size; NULL: no limit of the run's own */
    int rank, ranks;             /* which of the run's ranks this is, of how many */
} eg_run_settings;

typedef struct eg_run_options {
    size_t size;
    const char *name;  /* the program's */
    const char *about; /* a sentence or two for --help */
    const eg_flag *flags;
    int flag_count;                          /* rows of the program's own, read before the run begins */
    const char *data;                        /* what --data is a folder of; NULL: there is no --data */
    int64_t epochs, batch, save_every, keep; /* defaults of these flags; 0: 1, 32, 200; checkpoints to keep, 0: 3 */
    int64_t smoke_steps, smoke_batch;        /* of a --smoke that does not say them; 0: 20; as without. --steps with
                                              * --smoke is cut to ten times smoke_steps */
    const char *operand;                     /* what a word is that is not a flag, and how many there may be */
    int most_operands;
    /* The verb get-data, with flags --data (where to) and --url (where from, NULL: as the function knows). */
    eg_status (*get_data)(const char *folder, const char *url, void *user);
    const char *data_folder; /* where get-data puts them unless told: "egret-data/mnist" */
    const char *without;     /* flags of every run that this one has not, between spaces: "epochs batch" */
    /* Called once the flags are read: what the program's own make of the settings. */
    void (*settle)(eg_run_settings *settings, void *user);
    FILE *out, *err; /* what is said, and bars and failures; NULL: stdout, stderr */
    eg_comm *comm;   /* ranks of the caller's, which outlive the run; NULL: all processes that mpirun has started */
    const eg_flag_alias *aliases; /* other programs' flags (run/flags.h) */
    int alias_count;
    /* Unit of the items in a batch, "images", for the speed printed at the end; "steps" where batches have no fixed
     * size. NULL: "samples", or "steps" for a run without a dataset; "": no speed is printed. */
    const char *unit;
} eg_run_options;

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

/* All of a program but its work: reads the flags, opens device, folder and logs, calls work, ends the run. Where there
 * were steps the last line is the speed of training. Returns main's exit status: what work returned is 0 or 1 with the
 * words on err; 2 after a mistake in the flags; 128 and the signal's number where a signal stopped it. `user` is
 * work's. */
typedef eg_status (*eg_run_fn)(eg_run *run, void *user);
EG_API int eg_run_main_with(int argc, char **argv, eg_run_fn work, void *user, const eg_run_options *options);
#define eg_run_main(...) EG_RUN_MAIN_(__VA_ARGS__, )
#define EG_RUN_MAIN_(argc, argv, work, user, ...) \
    eg_run_main_with(argc, argv, work, user, EG_OPTIONS_(eg_run_options, __VA_ARGS__))

/* The same in two halves. NULL where there is nothing to do but end with *status: after --help, a mistake, get-data, or
 * a failure, whose words were said. argv must outlive the run; `user` is get_data's. eg_run_end frees what the run owns
 * and returns main's exit status. */
EG_API eg_run *eg_run_begin_with(int argc, char **argv, int *status, void *user, const eg_run_options *options);
#define eg_run_begin(...) EG_RUN_BEGIN_(__VA_ARGS__, )
#define EG_RUN_BEGIN_(argc, argv, status, user, ...) \
    eg_run_begin_with(argc, argv, status, user, EG_OPTIONS_(eg_run_options, __VA_ARGS__))
EG_API int eg_run_end(eg_run *run, eg_status st);

EG_API const eg_run_settings *eg_run_settings_of(const eg_run *run);
/* The words that are not flags. */
EG_API char *const *eg_run_operands(const eg_run *run, int *count);
EG_API eg_device *eg_run_device(const eg_run *run);
/* What the run's ranks speak by; NULL: there is one. */
EG_API eg_comm *eg_run_comm(const eg_run *run);
/* Numbers become their sum, mean or maximum over the ranks, of a single one themselves: for what all must decide alike.
 */
EG_API eg_status eg_run_all_reduce(eg_run *run, double *numbers, int n, eg_comm_reduction how);
/* The first failure; EG_OK: none so far. */
EG_API eg_status eg_run_status(const eg_run *run);
/* A mistake in the flags that only the program sees: said with the usage, and main's exit status is 2. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
EG_API eg_status
eg_run_refuse(eg_run *run, const char *format, ...);
/* Makes st the run's failure if it is one and the first; returns st. */
EG_API eg_status eg_run_heed(eg_run *run, eg_status st);

/* A path in the run's folder (run/folder.h): eg_run_path(run, "net.txt").text. */
EG_API eg_path eg_run_path(const eg_run *run, const char *name);
/* Makes a folder in it. */
EG_API eg_status eg_run_folder(eg_run *run, const char *name);

/* ---- what it is made of ------------------------------------------------------------------------------------------ */

/* The run takes each over, frees it at its end - optimizers and averages first, then modules, then datasets - and has
 * it in its checkpoints under the name, for which eg_saver_module and the others have rules. Of NULL they make the run
 * fail as the constructor did. All return what they were given, or NULL. A module goes to the run's device; an
 * optimizer has a loss scaler of its own with --precision f16. */
EG_API eg_module *eg_run_module(eg_run *run, const char *name, eg_module *m);
EG_API eg_optim *eg_run_optim(eg_run *run, const char *name, eg_optim *optim);
EG_API eg_ema *eg_run_ema(eg_run *run, const char *name, eg_ema *ema);
/* What the steps walk over, "train" in checkpoints. Given once; the same one again is fine. */
EG_API eg_dataset *eg_run_train_on(eg_run *run, eg_dataset *d);
/* Other data, walked over by EG_RUN_EACH or eg_evaluate. name NULL: how far a pass over them got is in no checkpoint,
 * as it need not be where they are not shuffled. */
EG_API eg_dataset *eg_run_dataset(eg_run *run, const char *name, eg_dataset *d);
/* Anything else that must live as long as these: freed after them. */
EG_API eg_status eg_run_own(eg_run *run, void *thing, void (*free_thing)(void *));
/* How losses are scaled with --precision f16, by optimizers that come later; without it as eg_scaler_new does. */
EG_API eg_status eg_run_scaling(eg_run *run, const eg_scaler_options *options);
/* Makes metrics; the run's. */
EG_API eg_metrics *eg_run_metrics(eg_run *run, const char *name);
/* Other parts of checkpoints, which stay the caller's and must live until the run ends. */
EG_API eg_status eg_run_tensor(eg_run *run, const char *name, eg_tensor *t);
/* The same of a tensor each rank has its share of, as many along the axis: checkpoints have all of it, in the order of
 * the ranks, and can be put back by another number of them. */
EG_API eg_status eg_run_tensor_share(eg_run *run, const char *name, eg_tensor *t, int axis);
EG_API eg_status eg_run_number(eg_run *run, const char *name, int64_t *number);
EG_API eg_status eg_run_part(eg_run *run, const char *name, const eg_saver_part *part);

/* Opens the run's checkpoints and logs, once; the first call that needs them does it too. All parts are there by then.
 * With --resume the latest checkpoint is put back; without it what an earlier run has left in the folder is put aside,
 * into "earlier-N" there.
 */
EG_API eg_status eg_run_open(eg_run *run);
/* Instead of that, for programs that use what was trained: the parts there are get what the checkpoint has for them,
 * the random sequence stays as it is, and nothing is put aside. path NULL: the latest; EG_ESTATE if there is none. */
EG_API eg_status eg_run_restore(eg_run *run, const char *path);
/* The latest checkpoint in the folder; "" if there is none. */
EG_API eg_path eg_run_latest(const eg_run *run);
/* Of its checkpoints (saver.h), for what is not here; the run's. The best has the highest score. Opens the run. */
EG_API eg_saver *eg_run_saver(eg_run *run);

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* The number of the step under way, from 1; outside of the loops how many are done. Of all there are to be, of an
 * epoch's; 0: not known, before eg_run_train_on, or where the dataset does not know its length. Without a dataset all
 * steps are one epoch. */
EG_API int64_t eg_run_step(const eg_run *run);
EG_API int64_t eg_run_steps(const eg_run *run);
EG_API int64_t eg_run_per_epoch(const eg_run *run);
/* The epoch under way, from 1. */
EG_API int64_t eg_run_epoch(const eg_run *run);
/* Steps per second: their samples and bodies, not what comes between them (checkpoints, hooks, evaluation behind an
 * epoch), and not the first, which takes longer. On a device they are queued, so few steps tell little. NaN before the
 * end of the second. */
EG_API double eg_run_speed(const eg_run *run);

/* Epochs, and within each its steps. The body of a step has a scope of its own, in which makers put tensors on the
 * run's device and products are of its precision; behind it come what is due: checkpoint, hooks, watch, the bar. Behind
 * an epoch comes a line of what it was like, and a checkpoint: what the body of EG_RUN_EPOCHS does behind the steps -
 * evaluate, draw - is in it. After a failure or a signal the steps end, and so must the body: ask eg_run_status. After
 * a signal the checkpoint of the step is written, the loops end, and the status is EG_OK again: what follows the loops
 * draws and evaluates what there is; another signal ends the process at once. Do not leave either by break or return;
 * eg_run_stop ends them. */
#define EG_RUN_EPOCHS(run)        for (eg_run_first_epoch(run); eg_run_in_epoch(run); eg_run_next_epoch(run))
#define EG_RUN_STEPS(sample, run) for (eg_tensor *const *sample = eg_run_first(run); sample; sample = eg_run_next(run))
EG_API void eg_run_first_epoch(eg_run *run);
EG_API bool eg_run_in_epoch(const eg_run *run);
EG_API void eg_run_next_epoch(eg_run *run);
EG_API eg_tensor *const *eg_run_first(eg_run *run);
EG_API eg_tensor *const *eg_run_next(eg_run *run);
/* The step under way is the last: no failure, and the run ends as it does after all steps. `why` is said; NULL: nothing
 * is. */
EG_API void eg_run_stop(eg_run *run, const char *why);

/* eg_optim_minimize, with the loss scaled for f16. */
EG_API eg_status eg_run_minimize(eg_run *run, eg_optim *optim, eg_tape tape, eg_tensor *loss);

/* A pass over other data in the same manner: a scope for each sample, on the device, in the precision. It may be left
 * by break. */
#define EG_RUN_EACH(sample, run, dataset)                                                 \
    for (eg_run_walk sample##_walk = eg_run_walk_begin(run, dataset); sample##_walk.open; \
         eg_run_walk_end(&sample##_walk))                                                 \
        for (eg_tensor *const *sample = eg_run_walk_first(&sample##_walk); sample;        \
             sample = eg_run_walk_next(&sample##_walk))
/* The same of this rank's share: of several ranks each has every so many-th sample. What is gathered of it becomes that
 * of all by eg_metrics_all_reduce. */
#define EG_RUN_EACH_SHARE(sample, run, dataset)                                            \
    for (eg_run_walk sample##_walk = eg_run_share_begin(run, dataset); sample##_walk.open; \
         eg_run_walk_end(&sample##_walk))                                                  \
        for (eg_tensor *const *sample = eg_run_walk_first(&sample##_walk); sample;         \
             sample = eg_run_walk_next(&sample##_walk))
typedef struct eg_run_walk {
    eg_run *run;
    eg_dataset *dataset;
    eg_device *device; /* of the thread before */
    eg_autocast_block cast;
    bool open, shared; /* shared: each rank has every so many-th sample */
    eg_tensor *sample[EG_SAMPLE_MAX];
} eg_run_walk;
EG_API eg_run_walk eg_run_walk_begin(eg_run *run, eg_dataset *dataset);
EG_API eg_run_walk eg_run_share_begin(eg_run *run, eg_dataset *dataset);
EG_API eg_tensor *const *eg_run_walk_first(eg_run_walk *walk);
EG_API eg_tensor *const *eg_run_walk_next(eg_run_walk *walk);
EG_API void eg_run_walk_end(eg_run_walk *walk);

/* A block with the run's device and precision, outside of the loops. Leave it at its end only. */
#define EG_RUN_COMPUTES(run) \
    for (eg_run_walk eg_block_ = eg_run_walk_begin(run, NULL); eg_block_.open; eg_run_walk_end(&eg_block_))
/* x on the run's device; queued, not waited for. */
EG_API eg_tensor *eg_run_here(const eg_run *run, eg_tensor *x);

/* ---- what is told ------------------------------------------------------------------------------------------------ */

/* A number of the step: computed, a tensor of one element, divided by `per` unless that is 0; or known. */
typedef struct eg_run_value {
    const char *name; /* static */
    bool computed;
    eg_tensor *tensor;
    double number, per;
} eg_run_value;
#define EG_RUN_VALUE(name_, tensor_)     EG_RUN_SHARE(name_, tensor_, 0)
#define EG_RUN_SHARE(name_, tensor_, by) ((eg_run_value){.name = name_, .computed = true, .tensor = tensor_, .per = by})
#define EG_RUN_NUMBER(name_, number_)    ((eg_run_value){.name = name_, .number = number_})

/* Up to 8 numbers of the step under way: a row of log.jsonl, points on TensorBoard, the first of them beside the bar,
 * their means in the epoch's line. What a device computes is not waited for: rows are read twenty at a time. A computed
 * one that turns out to be NaN ends the run (EG_ESTATE), in words that name the step and the first tensor of a module
 * that is not finite; with --watch that is looked for behind every step. */
EG_API eg_status eg_run_note_with(eg_run *run, const eg_run_value *values, int count);
#define eg_run_note(run, ...) \
    eg_run_note_with(run, EG_ARRAY_(eg_run_value, __VA_ARGS__), EG_COUNT_(eg_run_value, __VA_ARGS__))
/* What was noted or logged last under that name in this epoch; NaN: nothing. Waits for the device. */
EG_API double eg_run_latest_value(eg_run *run, const char *name);
/* A row with other fields (events.h) at this step, after an epoch for instance; its numbers are in the epoch's line. */
EG_API eg_status eg_run_log_with(eg_run *run, const eg_field *fields, int count);
#define eg_run_log(run, ...) eg_run_log_with(run, EG_ARRAY_(eg_field, __VA_ARGS__), EG_COUNT_(eg_field, __VA_ARGS__))
/* All metrics as such a row, each name with `before` in front: "valid/" makes "valid/accuracy". */
EG_API eg_status eg_run_log_metrics(eg_run *run, const char *before, eg_metrics *m);
/* Returns the stream that the run prints to: options' out on rank 0, a stream that discards everything on other ranks.
 * Programs print to no other stream. */
EG_API FILE *eg_run_out(const eg_run *run);
/* A line for people, above the bar. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
EG_API void
eg_run_say(eg_run *run, const char *format, ...);
/* The epoch's line is not said: the program has one of its own. */
EG_API void eg_run_hush(eg_run *run);

/* A picture, u8 [C, H, W], as a file of the folder, "digits.png", and on TensorBoard; with .each_epoch
 * "digits-0012.png" after epoch 12, of which eg_run_film makes "digits.gif": early ones all, later ones more and more
 * rarely, and the last. Without giflib there is no film, which is no failure. */
EG_API eg_status eg_run_picture(eg_run *run, const char *name, eg_tensor *image);
EG_API eg_status eg_run_epoch_picture(eg_run *run, const char *name, eg_tensor *image);
EG_API eg_status eg_run_film(eg_run *run, const char *name);

/* How the numbers of a tensor are distributed at this step, on TensorBoard. */
EG_API eg_status eg_run_histogram(eg_run *run, const char *tag, eg_tensor *values);

/* What the log says of a field at steps 1..: f64 [steps], NaN for a step without it, in the scope; of a run that was
 * killed and resumed the later row of a step counts. And the mean of values first..last-1 of it, NaN left out; a
 * negative place counts from the end. */
EG_API eg_tensor *eg_run_curve(eg_run *run, const char *field);
EG_API double eg_run_curve_mean(eg_run *run, const char *field, int64_t first, int64_t last);
/* The fields as curves of one picture, a file of the folder; names as in eg_module_forward_taps, between commas:
 * "loss, valid/loss". A field that is not there is left out; after a signal that stopped the run before any
 * of them was there no picture is drawn. */
EG_API eg_status eg_run_plot(eg_run *run, const char *file, const char *title, const char *fields);
/* With --smoke: EG_ESTATE unless the mean of the field over the last tenth of the steps is at most `share` of that over
 * the first. Else nothing. */
EG_API eg_status eg_run_check_fell(eg_run *run, const char *field, double share);

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

/* Called behind steps whose number `every` divides (0: never) and behind epochs, in the thread, in the order they were
 * added; a failure ends the run, one without a record becomes EG_EUSER. Up to 16. */
typedef struct eg_hook {
    size_t size;
    int64_t every;
    eg_status (*step)(eg_run *run, void *user);
    eg_status (*epoch)(eg_run *run, void *user);
    void *user;
} eg_hook;
EG_API eg_status eg_run_hook(eg_run *run, const eg_hook *hook);
/* A timeline (profile.h) of each step whose number `every` divides, "timeline-STEP.json" in the folder; 0: none. */
EG_API eg_status eg_run_timeline(eg_run *run, int64_t every);

EG_END_DECLS

#include <egret/run/fit.h>

#endif
