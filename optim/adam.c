/* adam.c - Adam and its kin: AdamW, lazy Adam, NAdam, RAdam share its loop, Adamax has its own. */
#include "optim/optim.h"
#include "optim/options.h"

typedef struct adam {
    eg_optim base;
    eg_adam_options o;
    double momentum_decay, product; /* NAdam's; product: of the momenta of steps 1..at */
    int64_t at;
} adam;

/* 1 - beta^t, which corrects an average that began at 0. */
static double corrected(double beta, const eg_optim *base)
{
    return 1 - pow(beta, (double)base->steps);
}

static void fill(eg_optim *base, eg__optim_group *g)
{
    const eg_adam_options *o = &((const adam *)base)->o;
    const double lr = g->lr;
    double c1 = corrected(o->beta1, base), c2 = sqrt(corrected(o->beta2, base));
    if (o->no_bias_correction) {
        c1 = c2 = 1;
    }
    g->beta1 = o->beta1;
    g->beta2 = o->beta2;
    g->eps = o->eps;
    g->lr = lr / c1 * (o->epsilon_outside ? c2 : 1);
    g->gain = o->epsilon_outside ? 1 : 1 / c2;
    g->lazy = o->lazy;
    if (o->decoupled) {
        g->shrink = 1 - lr * g->decay;
        g->decay = 0;
    }
}

static void fill_adamax(eg_optim *base, eg__optim_group *g)
{
    const eg_adam_options *o = &((const adam *)base)->o;
    g->beta1 = o->beta1;
    g->beta2 = o->beta2;
    g->eps = o->eps;
    g->lr /= corrected(o->beta1, base);
}

static double nadam_momentum(const adam *a, int64_t t)
{
    return a->o.beta1 * (1 - 0.5 * pow(0.96, (double)t * a->momentum_decay));
}

static void fill_nadam(eg_optim *base, eg__optim_group *g)
{
    adam *a = (adam *)base;
    const double lr = g->lr;
    fill(base, g);
    if (a->at > base->steps) { /* an earlier state was loaded */
        a->at = 0;
        a->product = 1;
    }
    while (a->at < base->steps && a->product > 0 && nadam_momentum(a, a->at + 1) < a->o.beta1) {
        a->product *= nadam_momentum(a, ++a->at);
    }
    a->product *= pow(a->o.beta1, (double)(base->steps - a->at)); /* from where the momenta are beta1; 0 stays 0 */
    a->at = base->steps;
    double now = nadam_momentum(a, a->at), next = nadam_momentum(a, a->at + 1);
    g->lr = lr * next / (1 - a->product * next);
    g->fresh = lr * (1 - now) / (1 - a->product);
}

/* While the variance of the step is not known to be finite, the divisor is 1, whatever the second moment is. */
static void fill_radam(eg_optim *base, eg__optim_group *g)
{
    const eg_adam_options *o = &((const adam *)base)->o;
    const double lr = g->lr, t = (double)base->steps;
    fill(base, g);
    double c2 = corrected(o->beta2, base), whole = 2 / (1 - o->beta2) - 1;
    double r = whole - 2 * t * (1 - c2) / c2;
    g->lr = lr / corrected(o->beta1, base);
    if (r > 5) {
        g->lr *= sqrt((r - 4) * (r - 2) * whole / ((whole - 4) * (whole - 2) * r) * c2);
        g->gain = 1;
    } else {
        g->gain = 0;
        g->eps = 1;
    }
}

static const eg__optim_rule adam_rule = {.op = &eg__op_adam_update, .fill = fill};
static const eg__optim_rule adamax_rule = {.op = &eg__op_adamax_update, .fill = fill_adamax};
static const eg__optim_rule nadam_rule = {.op = &eg__op_adam_update, .fill = fill_nadam};
static const eg__optim_rule radam_rule = {.op = &eg__op_adam_update, .fill = fill_radam};

static eg_optim *make(const char *name, const eg__optim_rule *rule, eg_parameters parameters, eg_adam_options o,
                      double lr, double momentum_decay)
{
    const double any = (double)INFINITY;
    o.lr = eg__or(o.lr, lr);
    o.beta1 = eg__or(o.beta1, 0.9);
    o.beta2 = eg__or(o.beta2, 0.999);
    o.eps = eg__or(o.eps, 1e-8);
    if (eg__optim_number(name, "lr", o.lr, any) || eg__optim_weight(name, "beta1", o.beta1) ||
        eg__optim_weight(name, "beta2", o.beta2) || eg__optim_number(name, "eps", o.eps, any) ||
        eg__optim_number(name, "momentum_decay", momentum_decay, any) ||
        eg__optim_number(name, "weight_decay", o.weight_decay, any)) {
        return NULL;
    }
    eg_optim *base = eg__optim_new(name, rule, o.lr, o.weight_decay, sizeof(adam));
    if (base) {
        adam *a = (adam *)base;
        a->o = o;
        a->momentum_decay = momentum_decay;
        a->product = 1;
        base->slot[0] = "exp_avg";
        base->slot[1] = rule == &adamax_rule ? "exp_inf" : "exp_avg_sq";
    }
    return eg__optim_begin(base, parameters);
}

eg_optim *eg_adam_new_with(eg_parameters parameters, const eg_adam_options *options)
{
    eg_adam_options o;
    eg__options(&o, sizeof o, options);
    eg_optim *optim = make("eg_adam", &adam_rule, parameters, o, 1e-3, 0);
    if (optim) {
        optim->whole_rows = o.lazy;
    }
    return optim;
}

eg_optim *eg_adamax_new_with(eg_parameters parameters, const eg_adamax_options *options)
{
    eg_adamax_options o;
    eg__options(&o, sizeof o, options);
    const eg_adam_options a = {0, o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, 0, 0, 0, 0};
    return make("eg_adamax", &adamax_rule, parameters, a, 2e-3, 0);
}

eg_optim *eg_nadam_new_with(eg_parameters parameters, const eg_nadam_options *options)
{
    eg_nadam_options o;
    eg__options(&o, sizeof o, options);
    const eg_adam_options a = {0, o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, 0, 0, 0, 0};
    return make("eg_nadam", &nadam_rule, parameters, a, 2e-3, eg__or(o.momentum_decay, 4e-3));
}

eg_optim *eg_radam_new_with(eg_parameters parameters, const eg_radam_options *options)
{
    eg_radam_options o;
    eg__options(&o, sizeof o, options);
    const eg_adam_options a = {0, o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, 0, 0, 0, 0};
    return make("eg_radam", &radam_rule, parameters, a, 1e-3, 0);
}
