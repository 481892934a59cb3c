/* run.h - a run from the inside: what the files of egret/run.h share. */
#ifndef EGRET_RUN_INTERNAL_H
#define EGRET_RUN_INTERNAL_H

#include <egret/egret.h>
#include <egret/run.h>

/* How many steps' numbers wait on a device before they are read, and how many there are of one; how many names of
 * numbers an epoch's line knows. */
enum { RUN_BEHIND = 20, RUN_VALUES_MOST = 8, RUN_NAMES_MOST = 16, RUN_PARTS_MOST = 64, RUN_HOOKS_MOST = 16 };

typedef struct run_row {
    int64_t step;
    int count;
    eg_run_value values[RUN_VALUES_MOST]; /* their tensors kept */
} run_row;

/* A number's mean over the epoch so far. */
typedef struct run_mean {
    char name[64];
    double sum, latest;
    int64_t count;
} run_mean;

typedef enum run_part_kind {
    RUN_MODULE,
    RUN_OPTIM,
    RUN_EMA,
    RUN_METRICS,
    RUN_DATASET,
    RUN_THING,  /* no part of checkpoints */
    RUN_TENSOR, /* from here on not the run's */
    RUN_SHARE,
    RUN_NUMBER,
    RUN_OTHER
} run_part_kind;

/* What is in checkpoints, and what the run owns. */
typedef struct run_part {
    run_part_kind kind;
    char name[104];
    eg_module *module;
    eg_optim *optim;
    eg_ema *ema;
    eg_scaler *scaler; /* of the optimizer; NULL: none */
    eg_dataset *dataset;
    eg_metrics *metrics;
    void *thing;
    void (*free_thing)(void *);
    eg_tensor *tensor;
    int axis; /* along which ranks have shares of it */
    eg_run *run;
    int64_t *number;
    eg_saver_part other;
} run_part;

struct eg_run {
    eg_run_options options;
    eg_run_settings settings;
    eg_flags line;
    eg_flag *table;  /* the line's */
    const char *url; /* of get-data */
    char device_name[32];
    char *const *words; /* of the command line, as it was */
    FILE *out, *err;
    eg_comm *comm; /* NULL: of a single rank */
    int rank, ranks;
    FILE *null;          /* where other ranks than the first say things, NULL: of the first; */
    FILE *failures;      /* but for what only they know */
    eg_path own;         /* their folder; "": none */
    eg_work *asking;     /* whether a signal came to one of them, */
    eg_tensor *came;     /* i32 [1] */
    int64_t whole_batch; /* --batch, where it was shared out; else 0 */
    eg_dataset *given;   /* to eg_run_train_on, before it was dealt out */
    eg_device *device;
    eg_dtype low; /* of --precision bf16 and f16: what products are of; else EG_F32 */
    eg_scaler_options scaling;
    run_part parts[RUN_PARTS_MOST];
    int part_count;
    eg_dataset *data; /* what steps walk over; NULL: nothing */
    eg_path folder;
    eg_saver *saver;     /* of the folder */
    eg_events *board;    /* for TensorBoard, in the folder "events"; NULL if Egret has no protobuf-c */
    eg_journal *journal; /* log.jsonl */
    bool is_open, stopping, hushed, refused;
    eg_status status;
    eg_error failure;  /* the first */
    int signal;        /* what stopped the run, behind step `step`; 0: nothing did */
    bool after_signal; /* the loops have ended, and the status is that of what follows them */
    bool heeds_signals;

    int64_t step, steps, per_epoch, epochs_done;
    int64_t no_better;      /* evaluations since the best one */
    bool in_epoch, in_step; /* the body of a step */
    eg_scope scope;         /* of a pass; open while in_pass */
    bool in_pass;
    eg_run_walk walk;       /* of the steps */
    eg_progress bar, clock; /* of the steps; of the run */
    bool has_bar;
    double epoch_began;         /* by the clock, as those below */
    bool past_first;            /* step */
    double step_began, stepped; /* of steps behind it: when the latest began, seconds of all, */
    int64_t timed;              /* and how many they are */

    run_row behind[RUN_BEHIND];
    int rows_behind;
    double latest; /* the first value of the latest row that was read; NaN: none yet */
    char latest_name[64];
    run_mean means[RUN_NAMES_MOST];
    int mean_count;

    eg_hook hooks[RUN_HOOKS_MOST];
    int hook_count;
    int64_t timeline_every;
    bool timeline_runs;
};

/* ---- ranks.c ---- */

/* Whether this process is to be silent, as is known before there are ranks. */
eg_status run_be_silent(eg_run *run);
/* Joins the others; the batch becomes this rank's share. False: *status. */
bool run_join(eg_run *run, int *status);
/* A folder of this rank's own, the threads of each rank on one machine, and its card. */
eg_status run_settle_in(eg_run *run);
/* Has processes' cards reach each other, if they can. */
void run_link_cards(eg_run *run);
/* From here on each has random numbers of its own, which depend on those of rank 0. */
void run_part_random(const eg_run *run);
/* Frees what there is of ranks; `folder`: and this rank's own. */
void run_leave(eg_run *run);
/* A part of checkpoints that is made of the ranks' shares; `user` is the run_part. */
eg_tensors *run_share_state(void *user);
eg_status run_share_load(void *user, const eg_tensors *state);
/* Buffers of modules become those of rank 0. */
eg_status run_same_buffers(eg_run *run);
/* The signal that has come to this or another rank, one step later; 0: none. */
int run_agreed_signal(eg_run *run, int own);
/* Whether the failure is another rank's, which says it itself. */
bool run_failed_elsewhere(const eg_run *run);

/* ---- folder.c ---- */

/* The saver and the logs; what an earlier run has left is put aside unless this one goes on with it. */
eg_status run_open_saver(eg_run *run);
/* append: behind the rows there are, of which those after last_step are removed; 0: none are. */
eg_status run_open_logs(eg_run *run, bool append, int64_t last_step);
/* They are open: with the run, or, of one that was restored, behind what is there. */
eg_status run_need_logs(eg_run *run);

/* ---- curves.c ---- */

/* The file of a picture behind an epoch. */
eg_path run_epoch_picture(const eg_run *run, const char *name, int64_t epoch);

/* ---- parts.c ---- */

/* All that is known so far, into the saver there is now. */
eg_status run_save_parts(eg_run *run);
/* Fails if the latest checkpoint was written with --precision f16, whose optimizers have loss scales, and this run has
 * another precision, or the other way round. */
eg_status run_check_precision(const eg_run *run);
void run_free_parts(eg_run *run);

/* ---- notes.c ---- */

/* Reads and logs all rows that wait; forgets them. */
eg_status run_catch_up(eg_run *run);
void run_forget_rows(eg_run *run);
/* "loss 0.1234, valid/accuracy 0.9876" of the epoch's means, which begin anew. */
void run_take_means(eg_run *run, char *text, size_t size);

/* ---- watch.c ---- */

/* The first tensor of a module that is not finite, as "net/0.weight"; "" if there is none. */
void run_find_bad(eg_run *run, char *name, size_t size);
/* Fails if there is one. */
eg_status run_watch(eg_run *run);

/* ---- steps.c ---- */

/* Ends the pass under way: its scope, device and precision. */
void run_end_pass(eg_run *run);

/* Whether nothing keeps from another step. */
bool run_has_steps_left(const eg_run *run);

/* ---- stop.c ---- */

/* Writes the command that goes on with the run. */
void run_say_how_to_go_on(const eg_run *run);
/* Heeds a signal that came: true if one did; a checkpoint of the step is written, and the run is over. */
bool run_heed_signal(eg_run *run);
eg_status run_save(eg_run *run);

#endif
