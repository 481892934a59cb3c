/* thin.c - weights that are left out in the course of the training. */
#include "thin.h"

#include <stdio.h>

#include <egret/pruning.h>

eg_status thin_out(eg_run *run, eg_optim *optim, const thinning *t)
{
    const int64_t quarter = eg_run_steps(run) / 4, every = quarter / 100 > 0 ? quarter / 100 : 1;
    const eg_schedule plan = EG_SCHEDULE(.kind = EG_RATE_POLYNOMIAL, .power = 3, .lr = 1, .end = t->density,
                                         .start = quarter, .steps = quarter > 0 ? quarter : 1);
    int n, m;
    char rest;
    if (!t->keep) {
        return t->density < 1 ? eg_optim_prune(optim, &plan, .every = every) : EG_OK;
    }
    if (sscanf(t->keep, "%d:%d%c", &n, &m, &rest) != 2) {
        return eg_fail(EG_EINVAL, "--keep", "it must be N:M, two numbers");
    }
    return t->density < 1 ? eg_fail(EG_EINVAL, "--keep", "goes without --density")
                          : eg_optim_prune(optim, NULL, .n = n, .m = m, .begin = quarter);
}

eg_status thin_save(eg_run *run, eg_module *net, const thinning *t)
{
    if (!t->keep && t->density == 1) {
        return EG_OK;
    }
    eg_tensors *state = eg_module_state(net);
    eg_status st = state ? eg_tensors_save(state, eg_run_path(run, "thin.safetensors").text, .sparse = true)
                         : eg_last_error()->code;
    eg_tensors_free(state);
    eg_run_say(run, "%.1f %% of the weights are left; thin.safetensors has them",
               100 * eg_density(eg_module_parameters(net)));
    return st;
}
