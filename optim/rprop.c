/* rprop.c - Rprop. */
#include "optim/optim.h"
#include "optim/options.h"

typedef struct rprop {
    eg_optim base;
    eg_rprop_options o;
} rprop;

static void fill(eg_optim *base, eg__optim_group *g)
{
    const eg_rprop_options *o = &((const rprop *)base)->o;
    g->beta1 = o->eta_minus;
    g->beta2 = o->eta_plus;
    g->low = o->step_min;
    g->high = o->step_max;
}

static const eg__optim_rule rule = {.op = &eg__op_rprop_update, .fill = fill};

eg_optim *eg_rprop_new_with(eg_parameters parameters, const eg_rprop_options *options)
{
    static const char name[] = "eg_rprop";
    const double any = (double)INFINITY;
    eg_rprop_options o;
    eg__options(&o, sizeof o, options);
    o.lr = eg__or(o.lr, 1e-2);
    o.eta_minus = eg__or(o.eta_minus, 0.5);
    o.eta_plus = eg__or(o.eta_plus, 1.2);
    o.step_min = eg__or(o.step_min, 1e-6);
    o.step_max = eg__or(o.step_max, 50);
    if (eg__optim_number(name, "lr", o.lr, any) || eg__optim_number(name, "eta_minus", o.eta_minus, 1) ||
        eg__optim_range(name, "eta_plus", o.eta_plus, 1, any) || eg__optim_number(name, "step_min", o.step_min, any) ||
        eg__optim_range(name, "step_max", o.step_max, o.step_min, any) ||
        eg__optim_number(name, "weight_decay", o.weight_decay, any)) {
        return NULL;
    }
    eg_optim *base = eg__optim_new(name, &rule, o.lr, o.weight_decay, sizeof(rprop));
    if (base) {
        ((rprop *)base)->o = o;
        base->slot[0] = "prev";
        base->slot[1] = "step_size";
        base->start[1] = o.lr;
    }
    return eg__optim_begin(base, parameters);
}
