/* adam.c - Adam and AdamW. */
#include "optim/optim.h"

#include <math.h>

typedef struct adam {
    eg_optim base;
    eg_adam_options o;
} adam;

static void fill(const eg_optim *base, eg__optim_opts *opts)
{
    const eg_adam_options *o = &((const adam *)base)->o;
    double t = (double)base->steps, c1 = 1 - pow(o->beta1, t), c2 = sqrt(1 - pow(o->beta2, t));
    *opts = (eg__optim_opts){.lr = base->lr / c1 * (o->epsilon_outside ? c2 : 1),
                             .beta1 = o->beta1,
                             .beta2 = o->beta2,
                             .eps = o->eps,
                             .gain = o->epsilon_outside ? 1 : 1 / c2,
                             .decay = o->decoupled ? 0 : o->weight_decay,
                             .shrink = o->decoupled ? 1 - base->lr * o->weight_decay : 1};
}

static const eg__optim_rule rule = {&eg__op_adam_update, 4, fill};

static double or_default(double v, double otherwise)
{
    return v == 0 ? otherwise : v;
}

eg_optim *eg_adam_new_with(eg_parameters parameters, const eg_adam_options *options)
{
    static const char name[] = "eg_adam";
    const double any = (double)INFINITY;
    eg_adam_options o = {0};
    o = options ? *options : o;
    o.lr = or_default(o.lr, 1e-3);
    o.beta1 = or_default(o.beta1, 0.9);
    o.beta2 = or_default(o.beta2, 0.999);
    o.eps = or_default(o.eps, 1e-8);
    if (eg__optim_number(name, "lr", o.lr, any) || eg__optim_number(name, "beta1", o.beta1, 1) ||
        eg__optim_number(name, "beta2", o.beta2, 1) || eg__optim_number(name, "eps", o.eps, any) ||
        eg__optim_number(name, "weight_decay", o.weight_decay, any)) {
        return NULL;
    }
    eg_optim *base = eg__optim_new(name, &rule, parameters, sizeof(adam));
    if (base) {
        base->lr = o.lr;
        ((adam *)base)->o = o;
    }
    return base;
}
