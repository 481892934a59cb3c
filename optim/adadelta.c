/* adadelta.c - Adadelta. */
#include "optim/optim.h"
#include "optim/options.h"

typedef struct adadelta {
    eg_optim base;
    eg_adadelta_options o;
} adadelta;

static void fill(eg_optim *base, eg__optim_group *g)
{
    const eg_adadelta_options *o = &((const adadelta *)base)->o;
    g->beta2 = o->rho;
    g->eps = o->eps;
}

static const eg__optim_rule rule = {.op = &eg__op_adadelta_update, .fill = fill};

eg_optim *eg_adadelta_new_with(eg_parameters parameters, const eg_adadelta_options *options)
{
    static const char name[] = "eg_adadelta";
    const double any = (double)INFINITY;
    eg_adadelta_options o;
    eg__options(&o, sizeof o, options);
    o.lr = eg__or(o.lr, 1);
    o.rho = eg__or(o.rho, 0.9);
    o.eps = eg__or(o.eps, 1e-6);
    if (eg__optim_number(name, "lr", o.lr, any) || eg__optim_weight(name, "rho", o.rho) ||
        eg__optim_number(name, "eps", o.eps, any) || eg__optim_number(name, "weight_decay", o.weight_decay, any)) {
        return NULL;
    }
    eg_optim *base = eg__optim_new(name, &rule, o.lr, o.weight_decay, sizeof(adadelta));
    if (base) {
        ((adadelta *)base)->o = o;
        base->slot[0] = "square_avg";
        base->slot[1] = "acc_delta";
    }
    return eg__optim_begin(base, parameters);
}
