/* sgd.c - stochastic gradient descent with momentum. */
#include "optim/optim.h"
#include "optim/options.h"

typedef struct sgd {
    eg_optim base;
    eg_sgd_options o;
} sgd;

static void fill(eg_optim *base, eg__optim_group *g)
{
    const eg_sgd_options *o = &((const sgd *)base)->o;
    g->beta1 = o->momentum;
    g->gain = base->steps == 1 || o->momentum == 0 ? 1 : 1 - o->dampening;
    g->nesterov = o->nesterov;
}

static const eg__optim_rule rule = {.op = &eg__op_sgd_update, .fill = fill};

eg_optim *eg_sgd_new_with(eg_parameters parameters, const eg_sgd_options *options)
{
    static const char name[] = "eg_sgd";
    const double any = (double)INFINITY;
    eg_sgd_options o;
    eg__options(&o, sizeof o, options);
    o.lr = eg__or(o.lr, 1e-3);
    if (eg__optim_number(name, "lr", o.lr, any) || eg__optim_number(name, "momentum", o.momentum, any) ||
        eg__optim_number(name, "dampening", o.dampening, any) ||
        eg__optim_number(name, "weight_decay", o.weight_decay, any)) {
        return NULL;
    }
    if (o.nesterov && (o.momentum == 0 || o.dampening != 0)) {
        return eg__fail_null(EG_EINVAL, name, "nesterov needs a momentum and no dampening, they are %g and %g",
                             o.momentum, o.dampening);
    }
    eg_optim *base = eg__optim_new(name, &rule, o.lr, o.weight_decay, sizeof(sgd));
    if (base) {
        ((sgd *)base)->o = o;
        base->slot[0] = o.momentum > 0 ? "momentum_buffer" : NULL;
    }
    return eg__optim_begin(base, parameters);
}
