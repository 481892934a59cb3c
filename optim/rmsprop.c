/* rmsprop.c - RMSProp. */
#include "optim/optim.h"
#include "optim/options.h"

typedef struct rmsprop {
    eg_optim base;
    eg_rmsprop_options o;
} rmsprop;

/* TensorFlow's momentum gathers steps with their rates in them, so a new rate works more slowly. */
static void fill(eg_optim *base, eg__optim_group *g)
{
    const eg_rmsprop_options *o = &((const rmsprop *)base)->o;
    g->beta1 = o->momentum;
    g->beta2 = o->alpha;
    g->centered = o->centered;
    g->inside = o->tensorflow ? o->eps : 0;
    g->eps = o->tensorflow ? 0 : o->eps;
    g->gain = o->tensorflow ? g->lr : 1;
    g->lr = o->tensorflow ? 1 : g->lr;
}

static const eg__optim_rule rule = {.op = &eg__op_rmsprop_update, .fill = fill};

eg_optim *eg_rmsprop_new_with(eg_parameters parameters, const eg_rmsprop_options *options)
{
    static const char name[] = "eg_rmsprop";
    const double any = (double)INFINITY;
    eg_rmsprop_options o;
    eg__options(&o, sizeof o, options);
    o.lr = eg__or(o.lr, 1e-2);
    o.alpha = eg__or(o.alpha, o.tensorflow ? 0.9 : 0.99);
    o.eps = eg__or(o.eps, o.tensorflow ? 1e-10 : 1e-8);
    if (eg__optim_number(name, "lr", o.lr, any) || eg__optim_weight(name, "alpha", o.alpha) ||
        eg__optim_number(name, "eps", o.eps, any) || eg__optim_number(name, "momentum", o.momentum, any) ||
        eg__optim_number(name, "weight_decay", o.weight_decay, any)) {
        return NULL;
    }
    eg_optim *base = eg__optim_new(name, &rule, o.lr, o.weight_decay, sizeof(rmsprop));
    if (base) {
        ((rmsprop *)base)->o = o;
        base->slot[0] = "square_avg";
        base->slot[1] = o.momentum > 0 ? "momentum_buffer" : NULL;
        base->slot[2] = o.centered ? "grad_avg" : NULL;
        base->start[0] = o.tensorflow ? 1 : 0;
    }
    return eg__optim_begin(base, parameters);
}
