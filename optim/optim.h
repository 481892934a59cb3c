/* optim.h - how a rule is written: its options, its state, and what its fused kernel gets. */
#ifndef EGRET_OPTIM_INTERNAL_H
#define EGRET_OPTIM_INTERNAL_H

#include <math.h>

#include <egret/ops.h>
#include <egret/optim.h>

#include "lib/core/device.h"
#include "lib/ops/options.h"
#include "lib/ops/optable.h"

enum {
    EG__MAX_PARAMETERS = 10000,
    EG__MAX_GROUPS = 64,
};
static const double eg__most_steps = 0x1p53; /* of a count in a file: a double can say it */

typedef struct eg__ranks eg__ranks;     /* parallel.h */
typedef struct eg__pruning eg__pruning; /* prune_steps.c */

/* A loss that can be made again. */
typedef struct eg__loss {
    eg_tensor *(*f)(void *user);
    void *user;
} eg__loss;

typedef struct eg__optim_rule {
    const eg__op *op;   /* the row whose kernel updates all parameters */
    bool divides_by_lr; /* at a rate of 0 nothing moves */
    /* Turns the rule's options into the numbers of the step that optim->steps counts. lr and decay
     * of the parameters in question are there already, shrink is 1, the rest 0. */
    void (*fill)(eg_optim *optim, eg__optim_group *group);
    /* Instead of these two: a step that asks for the loss as often as it likes, in a scope of its own; gives the first
     * one. Then all parameters are one vector, and the rule itself keeps its state: puts it into a map, loads it from
     * one as eg_optim_load_state says, and ends it. */
    eg_tensor *(*descend)(eg_optim *optim, const eg__loss *loss);
    eg_status (*put)(const eg_optim *optim, eg_tensors *map);
    eg_status (*load)(const char *op, eg_optim *optim, const eg_tensors *map);
    void (*end)(eg_optim *optim);
} eg__optim_rule;

/* Settings of some of the parameters; group 0 is everybody's until eg_optim_group. */
typedef struct eg__optim_setting {
    double lr_scale, weight_decay;
    bool keep_zeros;
} eg__optim_setting;

/* The head of every optimizer; a rule's own struct begins with it. */
struct eg_optim {
    const char *name;
    const eg__optim_rule *rule;
    const char *slot[EG__OPTIM_STATES]; /* names of the states the rule keeps; NULL: not this one */
    double start[EG__OPTIM_STATES];
    double lr;
    int64_t steps;
    bool follows;
    eg_schedule schedule;
    eg_clip_options clip;
    double max_norm, max_value, norm; /* no limit: 0, infinity */
    /* Judgement of gradients (EG__GATE_...), beside the parameters; NULL before the first. On a device nobody waits
     * for it: `steps` counts those of the latest `pending` ones as done, which were judged for a scaler or not. */
    eg_tensor *gate;
    int pending;
    bool for_scaler, captured_gate; /* the latter: whether steps of a captured graph are judged */
    int64_t skipped;                /* before them */
    eg__ranks *parallel;            /* NULL: of this rank alone */
    eg__pruning *pruning;           /* NULL: nothing is pruned */
    bool whole_rows;                /* the rule looks at rows of parameters */
    int count;
    eg_tensor **in;       /* count * EG__OPTIM_SLOTS, kept but the gradients */
    eg_tensor **gathered; /* by eg_optim_backward, kept; NULL: none */
    char **names;         /* NULL: the tensor was in the list before, here it is passed over */
    int *group;
    bool *plain; /* required no gradients when it was added: it takes steps with gradients in hand only */
    int groups;
    eg__optim_setting settings[EG__MAX_GROUPS];
    eg__optim_group now[EG__MAX_GROUPS];
};

/* An optimizer without parameters, for the rule to complete; and its first parameters: on failure
 * the optimizer is freed. NULL passes through. */
eg_optim *eg__optim_new(const char *name, const eg__optim_rule *rule, double lr, double weight_decay, size_t size);
eg_optim *eg__optim_begin(eg_optim *optim, eg_parameters parameters);

/* Allocates the states of parameter i, in a scope of the caller's, unless that was done. */
eg_status eg__optim_allocate(eg_optim *optim, int i);

/* Contiguous float tensors? */
eg_status eg__check_parameters(const char *op, eg_parameters p);
/* prefix, name and suffix in one text to free, or out of memory. */
char *eg__joined(const char *op, const char *prefix, const char *name, const char *suffix);

/* What a scaler tells the optimizer: where it stands (EG__SCALER_...), and its settings. */
typedef struct eg__scaling {
    eg_tensor *state;
    double growth, backoff, interval, least;
} eg__scaling;
/* eg_optim_minimize; with a scaler (else NULL) whose state is beside the parameters the loss is multiplied, the
 * gradients are divided and judged, and if they are not finite nothing happens but that the state says so. */
eg_status eg__optim_minimize(eg_optim *optim, eg_tape tape, eg_tensor *loss, const eg__scaling *scaling);
/* The gradients of the loss, one for each parameter in the list; NULL: frozen, not connected, or there before.
 * exchange: averaged over the ranks. */
eg_status eg__optim_gradients(eg_optim *optim, eg_tape tape, eg_tensor *loss, const eg__scaling *scaling, bool exchange,
                              eg_tensor **gradients);
/* Calls the function, whose failure then has words. */
eg_tensor *eg__loss_of(const eg__loss *f, const char *op);
/* Refuses for rules that need the loss as a function, gradients in hand and treating parameters or gradients apart. */
eg_status eg__optim_takes_gradients(const char *op, const eg_optim *optim);
eg_status eg__optim_treats_apart(const char *op, const eg_optim *optim);
/* Waits for the judgement of pending steps and takes back those that were not done. EG_EINVAL: they should have
 * been. */
eg_status eg__optim_settle(eg_optim *optim);
/* The device of the parameters; of several ones the CPU, where what is decided about all of them is decided. */
uint8_t eg__optim_device(const eg_optim *optim);
/* Puts parameters, true at their places, into groups that keep zeros. All or none. */
eg_status eg__optim_keep_zeros(eg_optim *optim, const bool *which);
/* Prunes what is to be pruned before the next step; ends that. */
eg_status eg__optim_prune_now(eg_optim *optim);
void eg__optim_prune_end(eg_optim *optim);
/* Drops what eg_optim_backward gathered. */
void eg__optim_forget(eg_optim *optim);
/* The same of the first tensors of so many rows of slots. */
uint8_t eg__rows_device(eg_tensor *const *in, int count);
bool eg__several_devices(eg_tensor *const *in, int count);
/* Runs an update, whose options are eg__optim_opts: one on each device. */
eg_status eg__run_rows(eg__call *c);
/* The norm of n gradients, dense or NULL. Waits for the devices. */
eg_status eg__total_norm(const char *op, eg_tensor **gradients, int n, double p, double *norm);
/* *clip from the caller's options. */
eg_status eg__clip_options(const char *op, const eg_clip_options *options, eg_clip_options *clip);

/* Numbers in f64, kept; on a device. */
eg_tensor *eg__numbers_on(uint8_t device, const double *v, int n);
/* *own, which is kept, is moved to the device, or to where t is. */
eg_status eg__at(eg_tensor **own, uint8_t device);
eg_status eg__beside(eg_tensor **own, const eg_tensor *t);
/* One number in a map. */
eg_status eg__put_number(eg_tensors *map, const char *name, double value, eg_dtype dtype);
/* Reads it, or says that it is not in least..most; one that is not there leaves *value as it is. */
eg_status eg__get_number(const char *op, const eg_tensors *map, const char *name, double least, double most,
                         double *value);

/* Puts what a map holds into `own`, which shows the state itself, all or nothing; frees it. */
eg_status eg__put_back(const char *op, eg_tensors *own, const eg_tensors *map);

#endif
