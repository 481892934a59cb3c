/* adagrad.c - Adagrad. */
#include "optim/optim.h"
#include "optim/options.h"

typedef struct adagrad {
    eg_optim base;
    eg_adagrad_options o;
} adagrad;

static void fill(eg_optim *base, eg__optim_group *g)
{
    const eg_adagrad_options *o = &((const adagrad *)base)->o;
    g->lr /= 1 + (double)(base->steps - 1) * o->lr_decay;
    g->eps = o->eps;
}

static const eg__optim_rule rule = {.op = &eg__op_adagrad_update, .fill = fill};

eg_optim *eg_adagrad_new_with(eg_parameters parameters, const eg_adagrad_options *options)
{
    static const char name[] = "eg_adagrad";
    const double any = (double)INFINITY;
    eg_adagrad_options o;
    eg__options(&o, sizeof o, options);
    if (o.tensorflow && o.eps != 0) {
        return eg__fail_null(EG_EINVAL, name, "eps is %g, TensorFlow's form has none", o.eps);
    }
    o.lr = eg__or(o.lr, 1e-2);
    o.eps = o.tensorflow ? 0 : eg__or(o.eps, 1e-10);
    o.initial_accumulator_value = eg__or(o.initial_accumulator_value, o.tensorflow ? 0.1 : 0);
    if (eg__optim_number(name, "lr", o.lr, any) || eg__optim_number(name, "lr_decay", o.lr_decay, any) ||
        eg__optim_number(name, "initial_accumulator_value", o.initial_accumulator_value, any) ||
        eg__optim_number(name, "eps", o.eps, any) || eg__optim_number(name, "weight_decay", o.weight_decay, any)) {
        return NULL;
    }
    eg_optim *base = eg__optim_new(name, &rule, o.lr, o.weight_decay, sizeof(adagrad));
    if (base) {
        ((adagrad *)base)->o = o;
        base->slot[0] = "sum";
        base->start[0] = o.initial_accumulator_value;
    }
    return eg__optim_begin(base, parameters);
}
