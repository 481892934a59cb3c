/* optimizers.c - see optimizers.h. Formulas are TensorFlow's where it and PyTorch differ. */
#include "optimizers.h"

#include <stdlib.h>
#include <string.h>

/* An option whose 0 is meant. */
static double meant(double value)
{
    return value == 0 ? EG_ZERO : value;
}

static eg_optim *adadelta(const options *o, eg_parameters p)
{
    return eg_adadelta_new(p, .lr = o->learning_rate, .rho = meant(o->adadelta_rho), .eps = o->opt_epsilon,
                           .weight_decay = o->weight_decay);
}

static eg_optim *adagrad(const options *o, eg_parameters p)
{
    return eg_adagrad_new(p, .lr = o->learning_rate, .initial_accumulator_value = o->adagrad_initial_accumulator_value,
                          .weight_decay = o->weight_decay, .tensorflow = true);
}

static eg_optim *adam(const options *o, eg_parameters p)
{
    return eg_adam_new(p, .lr = o->learning_rate, .beta1 = meant(o->adam_beta1), .beta2 = meant(o->adam_beta2),
                       .eps = o->opt_epsilon, .weight_decay = o->weight_decay, .epsilon_outside = true);
}

/* BERT's: decay beside the gradient, no correction of the means. */
static eg_optim *adam_weight_decay(const options *o, eg_parameters p)
{
    return eg_adam_new(p, .lr = o->learning_rate, .beta1 = meant(o->adam_beta1), .beta2 = meant(o->adam_beta2),
                       .eps = o->opt_epsilon, .weight_decay = o->weight_decay, .decoupled = true,
                       .no_bias_correction = true);
}

static eg_optim *ftrl(const options *o, eg_parameters p)
{
    return eg_ftrl_new(p, .lr = o->learning_rate, .lr_power = meant(o->ftrl_learning_rate_power),
                       .initial_accumulator_value = meant(o->ftrl_initial_accumulator_value), .l1 = o->ftrl_l1,
                       .l2 = o->ftrl_l2, .weight_decay = o->weight_decay);
}

static eg_optim *momentum(const options *o, eg_parameters p)
{
    return eg_sgd_new(p, .lr = o->learning_rate, .momentum = o->momentum, .weight_decay = o->weight_decay);
}

static eg_optim *sgd(const options *o, eg_parameters p)
{
    return eg_sgd_new(p, .lr = o->learning_rate, .weight_decay = o->weight_decay);
}

static eg_optim *rmsprop(const options *o, eg_parameters p)
{
    return eg_rmsprop_new(p, .lr = o->learning_rate, .alpha = meant(o->rmsprop_decay), .eps = o->opt_epsilon,
                          .momentum = o->rmsprop_momentum, .weight_decay = o->weight_decay, .tensorflow = true);
}

static const struct {
    const char *name;
    eg_optim *(*make)(const options *o, eg_parameters p);
} optimizers[] = {
    {"adadelta", adadelta}, {"adagrad", adagrad},   {"adam", adam}, {"adamweightdecay", adam_weight_decay},
    {"ftrl", ftrl},         {"momentum", momentum}, {"sgd", sgd},   {"rmsprop", rmsprop}};

/* ---- parameters ---- */

/* Returns whether --trainable_scopes includes the parameter, by its name here or in the file. */
static bool is_trained(const options *o, const char *name, const eg_tensors *names)
{
    const char *theirs = names ? eg_tensors_text(names, name) : NULL;
    return options_begins(o->trainable_scopes, name) || (theirs && options_begins(o->trainable_scopes, theirs));
}

static eg_optim *make(const options *o, eg_parameters p)
{
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        if (strcmp(optimizers[i].name, o->optimizer) == 0) {
            return optimizers[i].make(o, p);
        }
    }
    return NULL;
}

/* Of those that --trainable_scopes names. */
static eg_optim *make_of_some(const options *o, eg_parameters all, const eg_tensors *names)
{
    eg_tensor **tensors = calloc((size_t)all.count + 1, sizeof *tensors);
    const char **called = calloc((size_t)all.count + 1, sizeof *called);
    eg_parameters some = {.tensors = tensors, .names = called};
    eg_optim *made = NULL;
    for (int i = 0; i < all.count && tensors && called; i++) {
        if (is_trained(o, all.names[i], names)) {
            tensors[some.count] = all.tensors[i];
            called[some.count++] = all.names[i];
        }
    }
    if (!tensors || !called) {
        eg_fail(EG_ENOMEM, "classify", "out of memory");
    } else if (!some.count) {
        eg_failf(EG_EINDEX, "classify",
                 "--trainable_scopes %.200s: no weight has such a name; --print_model_statistics lists them",
                 o->trainable_scopes);
    } else {
        made = make(o, some);
    }
    free(tensors);
    free(called);
    return made;
}

eg_optim *optimizer_new(const options *o, eg_module *net, int64_t examples, const eg_tensors *names)
{
    eg_parameters all = eg_module_parameters(net);
    eg_optim *made = o->trainable_scopes ? make_of_some(o, all, names) : make(o, all);
    eg_schedule plan = options_schedule(o, examples);
    eg_status st = made ? eg_optim_follow(made, &plan) : eg_last_error()->code;
    st = st ? st : eg_optim_group(made, .max_axes = 1);
    st = st ? st : eg_optim_clip_norm(made, o->max_gradient_norm);
    if (st) {
        eg_optim_free(made);
        return NULL;
    }
    return made;
}
