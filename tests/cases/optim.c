/* optim.c - two steps of each rule, on the parameter x[0] with the gradient x[1]. */
#include "tests/cases.h"

static eg_tensor *two_steps(eg_optim *o, eg_tensor *p, eg_tensor *gradient)
{
    bool ok = o && eg_optim_step(o, &gradient) == EG_OK && eg_optim_step(o, &gradient) == EG_OK;
    eg_optim_free(o);
    return ok ? p : NULL;
}

#define UPDATE(name, rule)                                                                         \
    static eg_tensor *name(eg_tensor *const *x, int n, void *user)                                 \
    {                                                                                              \
        (void)n, (void)user;                                                                       \
        eg_tensor *p = x[1] ? eg_contiguous(eg_copy(x[0])) : eg_add(x[0], x[1]);                   \
        eg_parameters list = {&p, NULL, 1};                                                        \
        return p ? two_steps(rule, p, x[1]) : NULL;                                                \
    }
UPDATE(sgd, eg_sgd_new(list, .lr = 0.1))
UPDATE(momentum, eg_sgd_new(list, .lr = 0.1, .momentum = 0.9, .weight_decay = 0.01))
UPDATE(nesterov, eg_sgd_new(list, .lr = 0.1, .momentum = 0.9, .nesterov = true))
UPDATE(adam, eg_adam_new(list, .lr = 0.1, .weight_decay = 0.01))
UPDATE(adamw, eg_adam_new(list, .lr = 0.1, .weight_decay = 0.1, .decoupled = true))
UPDATE(adam_tf, eg_adam_new(list, .lr = 0.1, .eps = 1e-3, .epsilon_outside = true))
UPDATE(bert, eg_adam_new(list, .lr = 0.1, .no_bias_correction = true, .decoupled = true))
UPDATE(nadam, eg_nadam_new(list, .lr = 0.1))
UPDATE(radam, eg_radam_new(list, .lr = 0.1))
UPDATE(adamax, eg_adamax_new(list, .lr = 0.1))
UPDATE(rmsprop, eg_rmsprop_new(list, .lr = 0.1))
UPDATE(rmsprop_momentum, eg_rmsprop_new(list, .lr = 0.01, .momentum = 0.9))
UPDATE(rmsprop_centered, eg_rmsprop_new(list, .lr = 0.01, .centered = true))
UPDATE(rmsprop_tf, eg_rmsprop_new(list, .lr = 0.1, .momentum = 0.9, .centered = true,
                                  .tensorflow = true))
UPDATE(adagrad, eg_adagrad_new(list, .lr = 0.1, .lr_decay = 0.1))
UPDATE(adagrad_tf, eg_adagrad_new(list, .lr = 0.1, .tensorflow = true))
UPDATE(adadelta, eg_adadelta_new(list))
UPDATE(ftrl, eg_ftrl_new(list, .lr = 0.1, .l1 = 0.1, .l2 = 0.1))
UPDATE(ftrl_power, eg_ftrl_new(list, .lr = 0.1, .lr_power = -0.7))
UPDATE(rprop, eg_rprop_new(list, .lr = 0.1))

static eg_optim *cut(eg_optim *o)
{
    return !eg_optim_clip_norm(o, 3) && !eg_optim_clip_value(o, 0.2) ? o : NULL;
}
UPDATE(clipped, cut(eg_sgd_new(list, .lr = 0.1)))

/* Only some rows of x[1] are not zero: those from x[2] on. */
static eg_tensor *lazy(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    if (!x[1] || !x[2]) {
        return eg_add(x[0], x[1] ? x[2] : x[1]);
    }
    eg_tensor *p = eg_contiguous(eg_copy(x[0]));
    eg_tensor *g = eg_mul(x[1], eg_unsqueeze(eg_gt(x[2], eg_scalar(0, EG_F64)), 1));
    eg_parameters list = {&p, NULL, 1};
    return p && g ? two_steps(eg_adam_new(list, .lr = 0.1, .lazy = true), p, g) : NULL;
}

/* The norms of x[0] and x[1] together: 1, 2 and the largest. */
static eg_tensor *norms(eg_tensor *const *x, int n, void *user)
{
    (void)user;
    const double p[3] = {1, 2, (double)INFINITY};
    double norm[3];
    for (int k = 0; k < 3; k++) {
        if (!x[0] || !x[1]) {
            return eg_add(x[0], x[1]);
        }
        if (eg_clip_grad_norm(x, n, 1e30, &norm[k], .p = p[k])) {
            return NULL;
        }
    }
    return eg_cast(eg_from(EG_SHAPE(3), EG_F64, norm), eg_dtype_of(x[0]));
}

#define INPUTS {{DIMS(3, 70), -1, 1, 0}, {DIMS(3, 70), 0.1, 1, 0}}, 2, EGT_NO_GRAD | EGT_NO_HALF, 0, 0, NULL
#define ROWS                                                                                       \
    {{DIMS(9, 70), -1, 1, 0}, {DIMS(9, 70), 0.1, 1, 0}, {DIMS(9), -1, 1, 0}}, 3,                   \
        EGT_NO_GRAD | EGT_NO_HALF, 0, 0, NULL

EGT_CASES(optim, {"sgd_update", "plain", sgd, INPUTS}, {"sgd_update", "momentum", momentum, INPUTS},
          {"sgd_update", "nesterov", nesterov, INPUTS}, {"adam_update", "plain", adam, INPUTS},
          {"adam_update", "decoupled", adamw, INPUTS},
          {"adam_update", "epsilon outside", adam_tf, INPUTS},
          {"adam_update", "no bias correction", bert, INPUTS},
          {"adam_update", "nadam", nadam, INPUTS}, {"adam_update", "radam", radam, INPUTS},
          {"adam_update", "lazy", lazy, ROWS}, {"adamax_update", "plain", adamax, INPUTS},
          {"rmsprop_update", "plain", rmsprop, INPUTS},
          {"rmsprop_update", "momentum", rmsprop_momentum, INPUTS},
          {"rmsprop_update", "centered", rmsprop_centered, INPUTS},
          {"rmsprop_update", "tensorflow", rmsprop_tf, INPUTS},
          {"adagrad_update", "plain", adagrad, INPUTS},
          {"adagrad_update", "tensorflow", adagrad_tf, INPUTS},
          {"adadelta_update", "plain", adadelta, INPUTS}, {"ftrl_update", "plain", ftrl, INPUTS},
          {"ftrl_update", "another power", ftrl_power, INPUTS},
          {"rprop_update", "plain", rprop, INPUTS},
          {"total_norm sgd_update", "clipped", clipped, INPUTS},
          {"total_norm", "three norms", norms,
           {{DIMS(3, 1000), -1, 1, 0}, {DIMS(3, 5), 0.1, 1, 0}}, 2, EGT_NO_GRAD | EGT_NO_HALF, 0, 0,
           NULL})
