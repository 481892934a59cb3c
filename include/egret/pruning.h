/* pruning.h - nets most of whose weights are zero: which ones go, and how many are left.
 *
 *     eg_schedule plan = EG_SCHEDULE(.kind = EG_RATE_POLYNOMIAL, .power = 3, .lr = 1, .end = 0.1,
 *                                    .start = 1000, .steps = 8000);
 *     eg_optim_group(sgd, .min_axes = 2, .weight_decay = 1e-4, .keep_zeros = true);
 *     for (int64_t step = 0; step < 12000; step++) {
 *         if (step % 100 == 0) {
 *             eg_prune(eg_module_parameters(net), .density = eg_schedule_at(&plan, step));
 *         }
 *         ...
 *     }
 *
 * There are no masks: a weight that is zero is one that has been pruned. The optimizer's group keeps it so
 * (keep_zeros in optim.h), and a checkpoint holds it as it is. The plan above is the cubic one of Zhu and Gupta 2017.
 * Files of such weights are smaller with .sparse (eg_save_options in io.h). */
#ifndef EGRET_PRUNING_H
#define EGRET_PRUNING_H

#include <egret/base.h>
#include <egret/parameters.h>

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
