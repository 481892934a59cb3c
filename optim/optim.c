/* optim.c - what all rules share: the parameters, their state, their groups. */
#include "optim/optim.h"
#include "optim/options.h"
#include "optim/parallel.h"

#include <stdlib.h>

#include "lib/core/live.h"

/* ---- checking ------------------------------------------------------------------------------ */

/* Whether two tensors without gaps have memory in common. */
static bool share(const eg_tensor *a, const eg_tensor *b)
{
    return a->storage == b->storage && a->offset < b->offset + b->n && b->offset < a->offset + a->n;
}

/* The same tensor may be there twice; other views of its memory would be moved twice. */
static eg_status check_views(const char *op, eg_tensor *const *p, int at)
{
    for (int i = 0; i < at; i++) {
        if (p[i] != p[at] && share(p[i], p[at])) {
            return eg__fail(EG_EINVAL, op, "parameters %d and %d are two views of the same memory", i, at);
        }
    }
    return EG_OK;
}

eg_status eg__check_parameters(const char *op, eg_parameters p)
{
    if (!p.tensors) {
        return eg__null_argument(op, "parameters");
    }
    if (p.count < 1 || p.count > EG__MAX_PARAMETERS) {
        return eg__fail(EG_EINVAL, op, "%d parameters given, 1..%d are possible", p.count, EG__MAX_PARAMETERS);
    }
    for (int i = 0; i < p.count; i++) {
        eg_tensor *t = p.tensors[i];
        if (eg__check(t, op, "a parameter")) {
            return eg__why();
        }
        if (!eg__is_float(t->dtype) || !(t->flags & EG__DENSE)) {
            return eg__fail(EG_EINVAL, op,
                            "parameter %d is %s %s%s; it must be a contiguous float "
                            "tensor",
                            i, eg_dtype_name((eg_dtype)t->dtype), EG__SHAPE_OF(t),
                            t->flags & EG__DENSE ? "" : ", not contiguous");
        }
        if (p.names && !p.names[i]) {
            return eg__fail(EG_EINVAL, op, "parameter %d has no name, others have", i);
        }
        if (check_views(op, p.tensors, i)) {
            return eg__why();
        }
    }
    return EG_OK;
}

char *eg__joined(const char *op, const char *prefix, const char *name, const char *suffix)
{
    size_t bytes = strlen(prefix) + strlen(name) + strlen(suffix) + 1;
    char *s = eg__malloc(bytes);
    if (!s) {
        eg__no_memory(op, (int64_t)bytes);
        return NULL;
    }
    snprintf(s, bytes, "%s%s%s", prefix, name, suffix);
    return s;
}

uint8_t eg__optim_device(const eg_optim *o)
{
    return eg__rows_device(o->in, o->count);
}

/* ---- parameters and their state ------------------------------------------------------------ */

/* Where a tensor stands in the optimizer, or -1. */
static int place_of(const eg_optim *o, const eg_tensor *t, int count)
{
    for (int i = 0; i < count; i++) {
        if (o->in[i * EG__OPTIM_SLOTS] == t) {
            return i;
        }
    }
    return -1;
}

static eg_status check_name(const eg_optim *o, const char *name, int count)
{
    for (int i = 0; i < count; i++) {
        if (o->names[i] && !strcmp(o->names[i], name)) {
            return eg__fail(EG_EINVAL, o->name, "two parameters are named \"%.160s\"", name);
        }
    }
    return EG_OK;
}

/* A state of constant value takes the memory of one element until eg__optim_allocate: ranks that shard the states never
 * allocate whole ones. */
static eg_tensor *constant(const eg_tensor *p, double value)
{
    eg_shape shape = {.ndim = p->ndim};
    memcpy(shape.dim, p->shape, sizeof shape.dim);
    eg_tensor *one = eg__full_on(p->device, EG_SCALAR, value, p->dtype == EG_F64 ? EG_F64 : EG_F32);
    return eg_keep(eg_expand(one, shape));
}

eg_status eg__optim_allocate(eg_optim *o, int i)
{
    eg_status st = EG_OK;
    for (int k = EG__OPTIM_MASTER; k < EG__OPTIM_SLOTS && !st; k++) {
        eg_tensor **state = &o->in[i * EG__OPTIM_SLOTS + k];
        if (*state && !((*state)->flags & EG__DENSE)) {
            eg_tensor *whole = eg_keep(eg_contiguous(*state));
            st = whole ? EG_OK : eg__why();
            if (whole) {
                eg_release(*state);
                *state = whole;
            }
        }
    }
    return st;
}

/* Parameter i with its state; on failure what is there is freed with the rest. */
static eg_status add_one(eg_optim *o, int i, eg_tensor *p, char *name)
{
    eg_tensor **in = o->in + i * EG__OPTIM_SLOTS;
    in[EG__OPTIM_PARAMETER] = eg_keep(p);
    o->names[i] = name;
    o->plain[i] = !eg_is_parameter(p);
    if (!name) {
        return EG_OK;
    }
    bool half = p->dtype == EG_F16 || p->dtype == EG_BF16;
    if (half && !(in[EG__OPTIM_MASTER] = constant(p, 0))) {
        return eg__why();
    }
    for (int k = 0; k < EG__OPTIM_STATES; k++) {
        if (o->slot[k] && !(in[EG__OPTIM_STATE + k] = constant(p, o->start[k]))) {
            return eg__why();
        }
    }
    return EG_OK;
}

static eg_status add_all(eg_optim *o, eg_parameters p, const char *prefix)
{
    int had = o->count;
    for (int i = 0; i < p.count; i++) {
        int at = had + i, before = place_of(o, p.tensors[i], at);
        char number[16], *name = NULL;
        snprintf(number, sizeof number, "%d", at);
        if (before >= 0 && before < had) {
            return eg__fail(EG_EINVAL, o->name, "parameter %d is there already, as \"%.160s\"", i,
                            o->names[before] ? o->names[before] : "");
        }
        for (int k = 0; k < had && before < 0; k++) {
            if (share(o->in[k * EG__OPTIM_SLOTS], p.tensors[i])) {
                return eg__fail(EG_EINVAL, o->name,
                                "parameter %d is a view of the memory of \"%.160s\", which is there already", i,
                                o->names[k] ? o->names[k] : "");
            }
        }
        if (before < 0) {
            name = eg__joined(o->name, prefix, p.names ? p.names[i] : number, "");
            if (!name || check_name(o, name, at)) {
                free(name);
                return eg__why();
            }
        }
        o->count++;
        if (add_one(o, at, p.tensors[i], name)) {
            return eg__why();
        }
    }
    return EG_OK;
}

static void release(eg_optim *o, int from, int to)
{
    for (int i = from; i < to; i++) {
        for (int k = 0; k < EG__OPTIM_SLOTS; k++) {
            if (k != EG__OPTIM_GRADIENT) {
                eg_release(o->in[i * EG__OPTIM_SLOTS + k]);
            }
        }
        free(o->names[i]);
    }
}

/* Room for more parameters: the lists are copied over into larger ones. */
static eg_status make_room(eg_optim *o, int count)
{
    size_t n = (size_t)count, had = (size_t)o->count, slots = EG__OPTIM_SLOTS;
    eg_tensor **in = eg__malloc(n * slots * sizeof *in);
    char **names = eg__malloc(n * sizeof *names);
    int *group = eg__malloc(n * sizeof *group);
    bool *plain = eg__malloc(n * sizeof *plain);
    if (!in || !names || !group || !plain) {
        free(in);
        free(names);
        free(group);
        free(plain);
        return eg__no_memory(o->name, (int64_t)(n * slots * sizeof *in));
    }
    memset(in, 0, n * slots * sizeof *in);
    memset(names, 0, n * sizeof *names);
    memset(group, 0, n * sizeof *group);
    if (had) {
        memcpy(in, o->in, had * slots * sizeof *in);
        memcpy(names, o->names, had * sizeof *names);
        memcpy(group, o->group, had * sizeof *group);
        memcpy(plain, o->plain, had * sizeof *plain);
    }
    free(o->in);
    free(o->names);
    free(o->group);
    free(o->plain);
    o->in = in;
    o->names = names;
    o->group = group;
    o->plain = plain;
    return EG_OK;
}

static eg_status add(eg_optim *o, eg_parameters p, const char *prefix)
{
    if (eg__check_parameters(o->name, p)) {
        return eg__why();
    }
    if (p.count > EG__MAX_PARAMETERS - o->count) {
        return eg__fail(EG_EINVAL, o->name, "%d parameters and %d more; %d are possible", o->count, p.count,
                        EG__MAX_PARAMETERS);
    }
    if (o->gathered) {
        return eg__fail(EG_ESTATE, o->name, "gradients are gathered: eg_optim_update comes first");
    }
    if (o->parallel && o->parallel->zero) {
        return eg__fail(EG_ESTATE, o->name, "its states are shared out among ranks: no more parameters");
    }
    if (o->count && eg__optim_treats_apart(o->name, o)) {
        return eg__why();
    }
    int had = o->count;
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? make_room(o, had + p.count) : eg__why();
    st = st ? st : add_all(o, p, prefix);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    if (st) {
        release(o, had, o->count);
        o->count = had;
    }
    return st;
}

/* ---- public -------------------------------------------------------------------------------- */

eg_optim *eg__optim_new(const char *name, const eg__optim_rule *rule, double lr, double weight_decay, size_t size)
{
    eg_optim *o = eg__handle_new(size);
    if (!o) {
        eg__no_memory(name, (int64_t)size);
        return NULL;
    }
    o->name = name;
    o->rule = rule;
    o->lr = lr;
    o->max_value = (double)INFINITY;
    o->norm = (double)NAN;
    o->groups = 1;
    o->settings[0] = (eg__optim_setting){1, weight_decay, false};
    return o;
}

eg_optim *eg__optim_begin(eg_optim *o, eg_parameters parameters)
{
    if (o && add(o, parameters, "")) {
        eg_optim_free(o);
        return NULL;
    }
    return o;
}

void eg_optim_free(eg_optim *o)
{
    if (eg__handle_ends(o, "eg_optim_free")) {
        eg__optim_forget(o);
        eg__parallel_free(o);
        eg__optim_prune_end(o);
        if (o->rule->end) {
            o->rule->end(o);
        }
        release(o, 0, o->count);
        eg_release(o->gate);
        free(o->in);
        free(o->names);
        free(o->group);
        free(o->plain);
        free(o);
    }
}

eg_status eg_optim_add_with(eg_optim *o, eg_parameters parameters, const eg_optim_add_options *options)
{
    eg_optim_add_options a;
    eg__options(&a, sizeof a, options);
    return o ? add(o, parameters, a.prefix ? a.prefix : "") : eg__null_argument("eg_optim_add", "optim");
}

static bool meant(const eg_optim *o, int i, const eg_optim_group_options *g)
{
    int axes = o->in[i * EG__OPTIM_SLOTS]->ndim;
    return o->names[i] && axes >= g->min_axes && (!g->max_axes || axes <= g->max_axes) &&
           (!g->name || strstr(o->names[i], g->name));
}

eg_status eg_optim_group_with(eg_optim *o, const eg_optim_group_options *options)
{
    static const char op[] = "eg_optim_group";
    eg_optim_group_options g;
    int count = 0;
    eg__options(&g, sizeof g, options);
    g.lr_scale = eg__or(g.lr_scale, 1);
    if (!o) {
        return eg__null_argument(op, "optim");
    }
    if (eg__optim_treats_apart(op, o) || eg__optim_number(op, "lr_scale", g.lr_scale, (double)INFINITY) ||
        eg__optim_number(op, "weight_decay", g.weight_decay, (double)INFINITY)) {
        return eg__why();
    }
    for (int i = 0; i < o->count; i++) {
        count += meant(o, i, &g);
    }
    if (!count) {
        return eg__fail(EG_EINVAL, op, "none of the %d parameters is meant: name %s%.80s%s, %d..%d axes", o->count,
                        g.name ? "\"" : "", g.name ? g.name : "any", g.name ? "\"" : "", g.min_axes,
                        g.max_axes ? g.max_axes : EG_MAX_DIMS);
    }
    if (o->groups == EG__MAX_GROUPS) {
        return eg__fail(EG_EINVAL, op, "there are %d groups already", EG__MAX_GROUPS - 1);
    }
    for (int i = 0; i < o->count; i++) {
        o->group[i] = meant(o, i, &g) ? o->groups : o->group[i];
    }
    o->settings[o->groups++] = (eg__optim_setting){g.lr_scale, g.weight_decay, g.keep_zeros};
    return EG_OK;
}

/* The group of such settings; made anew, if need be; -1: there is no room for it. */
static int group_of(eg_optim *o, const eg__optim_setting *s)
{
    for (int i = 0; i < o->groups; i++) {
        const eg__optim_setting *t = &o->settings[i];
        if (t->lr_scale == s->lr_scale && t->weight_decay == s->weight_decay && t->keep_zeros == s->keep_zeros) {
            return i;
        }
    }
    if (o->groups == EG__MAX_GROUPS) {
        return -1;
    }
    o->settings[o->groups] = *s;
    return o->groups++;
}

eg_status eg__optim_keep_zeros(eg_optim *o, const bool *which)
{
    const int had = o->groups;
    int to[EG__MAX_GROUPS] = {0}; /* of each group, the one that keeps zeros, + 1 */
    for (int i = 0; i < o->count; i++) {
        const int from = o->group[i];
        if (which[i] && !to[from]) {
            eg__optim_setting s = o->settings[from];
            s.keep_zeros = true;
            to[from] = group_of(o, &s) + 1;
            if (!to[from]) {
                o->groups = had;
                return eg__fail(EG_EINVAL, o->name, "there are %d groups: no room for those that keep zeros", had - 1);
            }
        }
    }
    for (int i = 0; i < o->count; i++) {
        o->group[i] = which[i] ? to[o->group[i]] - 1 : o->group[i];
    }
    return EG_OK;
}
