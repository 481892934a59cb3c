/* sgd.c - stochastic gradient descent with momentum. */
#include "optim/optim.h"

#include <math.h>

typedef struct sgd {
    eg_optim base;
    eg_sgd_options o;
} sgd;

static void fill(const eg_optim *base, eg__optim_opts *opts)
{
    const eg_sgd_options *o = &((const sgd *)base)->o;
    *opts = (eg__optim_opts){.lr = base->lr,
                             .beta1 = o->momentum,
                             .gain = base->steps == 1 ? 1 : 1 - o->dampening,
                             .decay = o->weight_decay,
                             .nesterov = o->nesterov};
}

static const eg__optim_rule plain = {&eg__op_sgd_update, 2, fill};
static const eg__optim_rule with_momentum = {&eg__op_sgd_update, 3, fill};

eg_optim *eg_sgd_new_with(eg_parameters parameters, const eg_sgd_options *options)
{
    static const char name[] = "eg_sgd";
    const double any = (double)INFINITY;
    eg_sgd_options o = {0};
    o = options ? *options : o;
    o.lr = o.lr == 0 ? 1e-3 : o.lr;
    if (eg__optim_number(name, "lr", o.lr, any) ||
        eg__optim_number(name, "momentum", o.momentum, any) ||
        eg__optim_number(name, "dampening", o.dampening, any) ||
        eg__optim_number(name, "weight_decay", o.weight_decay, any)) {
        return NULL;
    }
    if (o.nesterov && (o.momentum == 0 || o.dampening != 0)) {
        return eg__fail_null(EG_EINVAL, name, "nesterov needs a momentum and no dampening, they are "
                             "%g and %g", o.momentum, o.dampening);
    }
    eg_optim *base = eg__optim_new(name, o.momentum > 0 ? &with_momentum : &plain, parameters,
                                   sizeof(sgd));
    if (base) {
        base->lr = o.lr;
        ((sgd *)base)->o = o;
    }
    return base;
}
