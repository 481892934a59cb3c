/* optim.c - two steps of each rule, on the parameter x[0] with the gradient x[1]. */
#include "tests/cases.h"

#define DIMS(...) {EG_COUNT_(int64_t, __VA_ARGS__), {__VA_ARGS__}}

static eg_tensor *two_steps(eg_optim *o, eg_tensor *p, eg_tensor *gradient)
{
    bool ok = o && eg_optim_step(o, &gradient) == EG_OK && eg_optim_step(o, &gradient) == EG_OK;
    eg_optim_free(o);
    return ok ? p : NULL;
}

#define CASE_FUNCTION(name, rule)                                                                  \
    static eg_tensor *name(eg_tensor *const *x, int n, void *user)                                 \
    {                                                                                              \
        (void)n, (void)user;                                                                       \
        eg_tensor *p = eg_contiguous(eg_copy(x[0]));                                               \
        eg_parameters list = {&p, NULL, 1};                                                        \
        return p && x[1] ? two_steps(rule, p, x[1]) : eg_add(x[0], x[1]);                          \
    }
CASE_FUNCTION(sgd, eg_sgd_new(list, .lr = 0.1))
CASE_FUNCTION(momentum, eg_sgd_new(list, .lr = 0.1, .momentum = 0.9, .weight_decay = 0.01))
CASE_FUNCTION(nesterov, eg_sgd_new(list, .lr = 0.1, .momentum = 0.9, .nesterov = true))
CASE_FUNCTION(adam, eg_adam_new(list, .lr = 0.1, .weight_decay = 0.01))
CASE_FUNCTION(adamw, eg_adam_new(list, .lr = 0.1, .weight_decay = 0.1, .decoupled = true))
CASE_FUNCTION(adam_tf, eg_adam_new(list, .lr = 0.1, .eps = 1e-3, .epsilon_outside = true))

#define INPUTS {{DIMS(3, 70), -1, 1, 0}, {DIMS(3, 70), 0.1, 1, 0}}, 2, EGT_NO_GRAD | EGT_NO_HALF, 0, 0, NULL

EGT_CASES(optim, {"sgd_update", "plain", sgd, INPUTS}, {"sgd_update", "momentum", momentum, INPUTS},
          {"sgd_update", "nesterov", nesterov, INPUTS}, {"adam_update", "plain", adam, INPUTS},
          {"adam_update", "decoupled", adamw, INPUTS},
          {"adam_update", "epsilon outside", adam_tf, INPUTS})
