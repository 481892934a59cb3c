/* prune_steps.c - optimizers that prune their parameters in the course of their steps. */
#include <stdlib.h>

#include "optim/optim.h"
#include "optim/options.h"
#include "optim/parallel.h"
#include "optim/prune.h"

struct eg__pruning {
    eg_prune_options what;
    char *name; /* what.name */
    bool planned;
    eg_schedule plan;
    int64_t begin, every;
    double latest; /* the density there is; above 1: not pruned yet */
};

void eg__optim_prune_end(eg_optim *o)
{
    if (o->pruning) {
        free(o->pruning->name);
        free(o->pruning);
        o->pruning = NULL;
    }
}

/* The parameters that are meant, first of all `lists`, which are to be freed. */
static eg_parameters meant_of(const eg_optim *o, const eg_prune_options *what, void **lists)
{
    eg_parameters p = {0};
    eg_tensor **tensors = eg__malloc((size_t)o->count * (sizeof *tensors + sizeof *p.names));
    const char **names = (const char **)(tensors + o->count);
    *lists = tensors;
    if (!tensors) {
        eg__no_memory(o->name, o->count * (int64_t)(2 * sizeof *tensors));
        return p;
    }
    for (int i = 0; i < o->count; i++) {
        eg_tensor *t = o->in[i * EG__OPTIM_SLOTS + EG__OPTIM_PARAMETER];
        if (o->names[i] && eg__prune_means(t, o->names[i], what)) {
            tensors[p.count] = t;
            names[p.count++] = o->names[i];
        }
    }
    p.tensors = tensors;
    p.names = names;
    return p;
}

static eg_status prune(eg_optim *o, eg__pruning *g, double density)
{
    void *lists;
    eg_prune_options what = g->what;
    what.density = what.m ? 0 : density;
    what.axis = what.axis ? what.axis : EG_ZERO;
    const eg_parameters p = meant_of(o, &g->what, &lists);
    eg_status st = p.tensors ? eg_prune_with(p, &what) : eg__why();
    g->latest = st ? g->latest : density;
    free(lists);
    return st;
}

eg_status eg__optim_prune_now(eg_optim *o)
{
    eg__pruning *g = o->pruning;
    if (!g || o->steps < g->begin) {
        return EG_OK;
    }
    const int64_t due = o->steps - (o->steps - g->begin) % g->every; /* the same in a run that goes on */
    const double density = g->planned ? eg_schedule_at(&g->plan, due) : g->what.density;
    if (!(density > 0 || g->what.m) || density > 1) {
        return eg__fail(EG_EINVAL, o->name, "the plan's density of step %lld is %g", (long long)due, density);
    }
    return density == g->latest ? EG_OK : prune(o, g, density);
}

/* ---- settings -------------------------------------------------------------------------------- */

static eg_status check(const char *op, const eg_optim *o, const eg_schedule *plan, const eg_optim_prune_options *g,
                       eg_prune_options *what)
{
    *what = (eg_prune_options){
        sizeof *what, g->name, g->min_axes, g->max_axes, g->density, g->global, g->n, g->m, (int)eg__or(g->axis, 1)};
    if (plan && (g->density != 0 || g->m || g->n)) {
        return eg__fail(EG_EINVAL, op, "a plan stands instead of density, n and m");
    }
    if (g->begin < 0 || g->every < 0) {
        return eg__fail(EG_EINVAL, op, "begin is %lld, every %lld; must be 0 or more", (long long)g->begin,
                        (long long)g->every);
    }
    if (o->parallel && o->parallel->zero == 3) {
        return eg__fail(EG_ESTATE, op, "its parameters are shared out among ranks");
    }
    if (plan) {
        what->density = 1;
        return isnan(eg_schedule_at(plan, o->steps)) ? eg__why() : eg__prune_check(op, what);
    }
    return eg__prune_check(op, what);
}

/* What is to be pruned, in groups that keep zeros. */
static eg_status keep(const char *op, eg_optim *o, const eg_prune_options *what)
{
    bool *which = eg__malloc((size_t)o->count * sizeof *which);
    if (!which) {
        return eg__no_memory(op, o->count);
    }
    int count = 0;
    for (int i = 0; i < o->count; i++) {
        which[i] = o->names[i] && eg__prune_means(o->in[i * EG__OPTIM_SLOTS + EG__OPTIM_PARAMETER], o->names[i], what);
        count += which[i];
    }
    eg_status st = count ? eg__optim_keep_zeros(o, which)
                         : eg__fail(EG_EINVAL, op, "none of the %d parameters is meant", o->count);
    free(which);
    return st;
}

eg_status eg_optim_prune_with(eg_optim *o, const eg_schedule *plan, const eg_optim_prune_options *options)
{
    static const char op[] = "eg_optim_prune";
    eg_optim_prune_options g;
    eg_prune_options what;
    eg__options(&g, sizeof g, options);
    if (!o) {
        return eg__null_argument(op, "optim");
    }
    if (eg__optim_treats_apart(op, o) || check(op, o, plan, &g, &what)) {
        return eg__why();
    }
    if (eg__thread_get()->record->recording) {
        return eg__fail(EG_ESTATE, op, "a tape records: ask or close it first");
    }
    eg__pruning *made = eg__malloc(sizeof *made);
    char *name = made && g.name ? eg__joined(op, g.name, "", "") : NULL;
    if (!made || (g.name && !name) || keep(op, o, &what)) {
        free(name);
        free(made);
        return made ? eg__why() : eg__no_memory(op, (int64_t)sizeof *made);
    }
    *made = (eg__pruning){what, name, plan != NULL, {0}, g.begin, g.every ? g.every : 100, 2};
    made->what.name = name;
    if (plan) {
        eg__options(&made->plan, sizeof made->plan, plan);
    }
    eg__optim_prune_end(o);
    o->pruning = made;
    eg_status st = eg__optim_prune_now(o);
    if (st) {
        eg__optim_prune_end(o);
    }
    return st;
}
