/* optimizers.h - every rule in the forms it has, for tests that go through all of them:
 * X(name, op, form, an optimizer of the eg_parameters p). */
#ifndef EGRET_TESTS_OPTIMIZERS_H
#define EGRET_TESTS_OPTIMIZERS_H

#define OPTIMIZERS(X)                                                                                             \
    X(sgd, "sgd_update", "plain", eg_sgd_new(p, .lr = 0.1))                                                       \
    X(momentum, "sgd_update", "momentum",                                                                         \
      eg_sgd_new(p, .lr = 0.1, .momentum = 0.9, .dampening = 0.5, .weight_decay = 0.01))                          \
    X(nesterov, "sgd_update", "nesterov", eg_sgd_new(p, .lr = 0.1, .momentum = 0.9, .nesterov = true))            \
    X(adam, "adam_update", "plain", eg_adam_new(p, .lr = 0.1, .weight_decay = 0.01))                              \
    X(adamw, "adam_update", "decoupled", eg_adam_new(p, .lr = 0.1, .weight_decay = 0.1, .decoupled = true))       \
    X(adam_tf, "adam_update", "epsilon outside", eg_adam_new(p, .lr = 0.1, .eps = 1e-3, .epsilon_outside = true)) \
    X(bert, "adam_update", "no bias correction",                                                                  \
      eg_adam_new(p, .lr = 0.1, .no_bias_correction = true, .decoupled = true))                                   \
    X(nadam, "adam_update", "nadam", eg_nadam_new(p, .lr = 0.1))                                                  \
    X(radam, "adam_update", "radam", eg_radam_new(p, .lr = 0.1))                                                  \
    X(adamax, "adamax_update", "plain", eg_adamax_new(p, .lr = 0.1))                                              \
    X(rmsprop, "rmsprop_update", "plain", eg_rmsprop_new(p, .lr = 0.1))                                           \
    X(rmsprop_momentum, "rmsprop_update", "momentum", eg_rmsprop_new(p, .lr = 0.01, .momentum = 0.9))             \
    X(rmsprop_centered, "rmsprop_update", "centered", eg_rmsprop_new(p, .lr = 0.01, .centered = true))            \
    X(rmsprop_tf, "rmsprop_update", "tensorflow",                                                                 \
      eg_rmsprop_new(p, .lr = 0.1, .momentum = 0.9, .centered = true, .tensorflow = true))                        \
    X(adagrad, "adagrad_update", "plain", eg_adagrad_new(p, .lr = 0.1, .lr_decay = 0.1))                          \
    X(adagrad_tf, "adagrad_update", "tensorflow", eg_adagrad_new(p, .lr = 0.1, .tensorflow = true))               \
    X(adadelta, "adadelta_update", "plain", eg_adadelta_new(p))                                                   \
    X(ftrl, "ftrl_update", "plain", eg_ftrl_new(p, .lr = 0.1, .l1 = 0.1, .l2 = 0.1))                              \
    X(ftrl_power, "ftrl_update", "another power", eg_ftrl_new(p, .lr = 0.1, .lr_power = -0.7))                    \
    X(rprop, "rprop_update", "plain", eg_rprop_new(p, .lr = 0.1))

#endif
