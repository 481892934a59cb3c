/* tell.h - what egret-classify says of the net and of its steps. */
#ifndef EXAMPLES_CLASSIFY_TELL_H
#define EXAMPLES_CLASSIFY_TELL_H

#include "options.h"

/* Lines of the log, by a hook behind every step. */
typedef struct log_lines {
    eg_run *run;
    const options *o;
    eg_optim *optim;
    int64_t per_epoch; /* training images; 0: not known */
    int64_t examples;  /* of the latest step */
    int64_t seen;      /* examples since the latest line */
    int64_t steps;     /* and steps */
    double since;      /* when that was, seconds; 0: not yet */
} log_lines;

/* A hook's step: every --log_loss_every_n_iters steps seconds per step, examples per second, loss, accuracy, rate. */
eg_status tell_step(eg_run *run, void *user);

/* What --print_model_statistics, --print_optimizer_statistics and --log_device_placement ask for. */
eg_status tell_model(eg_run *run, const options *o, eg_module *net, int64_t channels, int64_t side, eg_optim *optim);

#endif
