/* pruning.h - nets most of whose weights are zero: which ones go, and how many are left.
 *
 *     eg_optim_prune(sgd, &plan);
 *     ...
 *     eg_optim_minimize(sgd, tape, loss);
 *
 * There are no masks: a weight that is zero is one that has been pruned. The optimizer's group keeps it so
 * (keep_zeros in optim.h), and a checkpoint holds it as it is. The plan (schedule.h) says which share of the weights is
 * left at a step; the cubic one of Zhu and Gupta 2017 is polynomial with power 3, lr 1 and, as its end, the last share,
 * 0.1 say. Files of such weights are smaller with .sparse (eg_save_options in io.h). On the CPU linear layers and
 * convolutions of single cells, of 32 rows or windows and more, in f32 pass over the zeros of a weight of which at most
 * a fifth is left. */
#ifndef EGRET_PRUNING_H
#define EGRET_PRUNING_H

#include <egret/optim.h>
#include <egret/parameters.h>
#include <egret/schedule.h>

EG_BEGIN_DECLS

typedef struct eg_prune_options {
    size_t size;
    /* Which parameters: those to which all of this applies. */
    const char *name;       /* the name contains this; NULL: any */
    int min_axes, max_axes; /* that many axes; 0: 2, and any */
    /* How many of their elements stay, those of the largest size; the smallest round((1 - density) n) of n become zero.
     * Those that are zero already are the smallest, so what is given is what there is afterwards. */
    double density; /* above 0, at most 1 */
    bool global;    /* of all these parameters together, instead of each one */
    /* Instead: of every m elements that follow one another along an axis the n largest stay (n:m; Mishra et al. 2021).
     * Parameters whose axis m does not divide are passed over. */
    int n, m; /* 0 < n < m */
    int axis; /* 0: 1, the inputs of linear layers and convolutions; EG_ZERO: the first */
} eg_prune_options;
/* Sets elements of parameters, contiguous float tensors, to zero, in place. After a failure nothing has moved. NaN
 * counts as the largest. EG_EINVAL if no parameter is meant, for a density outside its range, or together with n and m;
 * EG_ESTATE while a tape records. */
EG_API eg_status eg_prune_with(eg_parameters parameters, const eg_prune_options *options);
#define eg_prune(...)              EG_PRUNE_(__VA_ARGS__, )
#define EG_PRUNE_(parameters, ...) eg_prune_with(parameters, EG_OPTIONS_(eg_prune_options, __VA_ARGS__))

typedef struct eg_optim_prune_options {
    size_t size;
    /* Which of the optimizer's parameters and how many of their elements stay, as above. */
    const char *name; /* copied */
    int min_axes, max_axes;
    double density;
    bool global;
    int n, m, axis;
    int64_t begin; /* the first step before which they are pruned */
    int64_t every; /* from then on before each `every`-th step, where the plan says another density; 0: 100 */
} eg_optim_prune_options;
/* Prunes parameters of the optimizer in the course of its steps, at once if `begin` has come, and keeps them so. The
 * density is the plan's rate at a step; it is copied. NULL: it does not change, or n of m stay. The parameters are in
 * groups that keep zeros from now on, with the settings they had; groups made later take that away. Another call
 * takes the place of the latest. Refused as eg_prune, for a plan that eg_schedule_at refuses, for parameters that ranks
 * have shared out (ZeRO 3), and by rules that need the loss as a function. A step at which pruning fails has moved
 * nothing. */
EG_API eg_status eg_optim_prune_with(eg_optim *optim, const eg_schedule *plan, const eg_optim_prune_options *options);
#define eg_optim_prune(...) EG_OPTIM_PRUNE_(__VA_ARGS__, )
#define EG_OPTIM_PRUNE_(optim, plan, ...) \
    eg_optim_prune_with(optim, plan, EG_OPTIONS_(eg_optim_prune_options, __VA_ARGS__))

typedef struct eg_density_options {
    size_t size;
    const char *name; /* as above */
    int min_axes, max_axes;
} eg_density_options;
/* The share of the elements of such parameters that are not zero; NaN for a failure. Waits for the device. */
EG_API double eg_density_with(eg_parameters parameters, const eg_density_options *options);
#define eg_density(...)              EG_DENSITY_(__VA_ARGS__, )
#define EG_DENSITY_(parameters, ...) eg_density_with(parameters, EG_OPTIONS_(eg_density_options, __VA_ARGS__))

EG_END_DECLS

#endif
