/* ftrl.c - FTRL-proximal. */
#include "optim/optim.h"
#include "optim/options.h"

typedef struct ftrl {
    eg_optim base;
    eg_ftrl_options o;
} ftrl;

static void fill(eg_optim *base, eg__optim_group *g)
{
    const eg_ftrl_options *o = &((const ftrl *)base)->o;
    g->power = -o->lr_power;
    g->low = o->l1;
    g->high = o->l2;
}

static const eg__optim_rule rule = {.op = &eg__op_ftrl_update, .divides_by_lr = true, .fill = fill};

eg_optim *eg_ftrl_new_with(eg_parameters parameters, const eg_ftrl_options *options)
{
    static const char name[] = "eg_ftrl";
    const double any = (double)INFINITY;
    eg_ftrl_options o;
    eg__options(&o, sizeof o, options);
    o.lr = eg__or(o.lr, 1e-3);
    o.lr_power = eg__or(o.lr_power, -0.5);
    o.initial_accumulator_value = eg__or(o.initial_accumulator_value, 0.1);
    if (eg__optim_number(name, "lr", o.lr, any) || eg__optim_number(name, "-lr_power", -o.lr_power, any) ||
        eg__optim_number(name, "initial_accumulator_value", o.initial_accumulator_value, any) ||
        eg__optim_number(name, "l1", o.l1, any) || eg__optim_number(name, "l2", o.l2, any) ||
        eg__optim_number(name, "weight_decay", o.weight_decay, any)) {
        return NULL;
    }
    eg_optim *base = eg__optim_new(name, &rule, o.lr, o.weight_decay, sizeof(ftrl));
    if (base) {
        ((ftrl *)base)->o = o;
        base->slot[0] = "accumulator";
        base->slot[1] = "linear";
        base->start[0] = o.initial_accumulator_value;
    }
    return eg__optim_begin(base, parameters);
}
