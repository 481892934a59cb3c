/* step.h - whole training steps of well-known models, as compare.py sets them against PyTorch's. */
#ifndef EGRET_BENCH_STEP_H
#define EGRET_BENCH_STEP_H

#include <egret/egret.h>

enum { STEP_PARTS = 8 };

/* A model ready to be trained on one batch of random numbers. */
typedef struct training {
    eg_module *net[STEP_PARTS];
    eg_optim *optim[2];
    eg_tensor *x[STEP_PARTS]; /* the batch, kept */
} training;

typedef struct step_model {
    const char *name;
    /* Fills in nets, optimizers and the batch; what is NULL afterwards failed. */
    void (*make)(training *s);
    /* One step: forward, loss, gradients and, where there is an optimizer, the update. */
    eg_status (*run)(training *s, eg_tensor **loss);
} step_model;

/* Each ended by a row without a name. */
extern const step_model step_images[], step_generators[], step_texts[], step_sounds[], step_photos[];

/* The size of a model, or in a smoke run the small one. */
int64_t step_size(int64_t full, int64_t small);
/* Random numbers in 0..1, and whole ones below n, kept. */
eg_tensor *step_random(eg_shape shape);
eg_tensor *step_integers(eg_shape shape, int64_t n);
/* The gradients of all parameters of a net, and of x unless that is NULL; no update. */
eg_status step_gradients(eg_module *net, eg_tensor *x, eg_tape tape, eg_tensor *loss);

/* Where and how steps are run. */
typedef struct step_way {
    const char *device, *precision; /* f32, tf32, bf16 */
    bool captured;                  /* by eg_step */
} step_way;

/* Answers "run MICROSECONDS" on stdin with {"steps_us": [...], "loss": .., "peak_kib": ..}, "profile" with
 * [{"op": .., "calls": .., "us": .., "device_us": ..}, ...] of one step. On a device that is not the CPU steps are
 * queued some at a time, each between two events whose distance is its time; "device_mib" is the most memory that
 * was in use there, "variant" what kept a step from being captured. */
int bench_step(const char *name, const step_way *way);
/* So many steps of a model by all processes that mpirun has started, which average their gradients; rank 0 says
 * {"steps_us": [...], "loss": ..}. */
int bench_ranks(const char *name, const step_way *way, int steps);

#endif
