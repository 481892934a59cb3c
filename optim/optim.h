/* optim.h - how a rule is written: its options, its state, and what its fused kernel gets. */
#ifndef EGRET_OPTIM_INTERNAL_H
#define EGRET_OPTIM_INTERNAL_H

#include <egret/ops.h>
#include <egret/optim.h>

#include "lib/ops/options.h"
#include "lib/optable.h"

enum {
    EG__OPTIM_GRADIENT = 1, /* slot 0 is the parameter, 1 its gradient, then the state */
    EG__OPTIM_STATE = 2,
    EG__MAX_PARAMETERS = 10000,
};

typedef struct eg__optim_rule {
    const eg__op *op; /* a row whose kernel updates all parameters: in[slots * i + slot] */
    int slots;
    void (*fill)(const eg_optim *o, eg__optim_opts *opts);
} eg__optim_rule;

/* The head of every optimizer; a rule's own struct begins with it. */
struct eg_optim {
    const char *name;
    const eg__optim_rule *rule;
    int count;
    int64_t steps;
    double lr;
    eg_tensor **in; /* count * slots, kept but the gradients */
};

/* Allocates and keeps parameters and zeroed state. */
eg_optim *eg__optim_new(const char *name, const eg__optim_rule *rule, eg_parameters p, size_t size);
/* An option in 0..most, or words. */
eg_status eg__optim_number(const char *name, const char *what, double v, double most);

#endif
