/* ema.c - exponential moving averages of parameters. */
#include <stdlib.h>

#include "lib/step/capture.h"
#include "lib/io/assign.h"
#include "lib/core/live.h"
#include "optim/optim.h"

typedef struct member {
    eg_tensor *parameter, *average;
    eg_tensor *saved; /* the parameter's own values while the average is in its place */
    char *name;
} member;

struct eg_ema {
    double decay;
    bool warm_up, swapped;
    int64_t updates;
    int count;
    member *members;
    eg_tensor **in; /* what the kernel gets: averages, towards parameters */
    int *group;     /* all the first */
};

/* ---- making -------------------------------------------------------------------------------- */

static eg_status check_new(const char *op, const eg_ema *e, const eg_tensor *t, const char *name, bool *again)
{
    *again = false;
    for (int i = 0; i < e->count; i++) {
        *again |= e->members[i].parameter == t;
    }
    for (int i = 0; i < e->count && !*again; i++) {
        if (!strcmp(e->members[i].name, name)) {
            return eg__fail(EG_EINVAL, op, "two parameters are named \"%.160s\"", name);
        }
    }
    return EG_OK;
}

static eg_status add(const char *op, eg_ema *e, eg_tensor *p, const char *name)
{
    bool again;
    if (check_new(op, e, p, name, &again)) {
        return eg__why();
    }
    if (again) {
        return EG_OK;
    }
    member *m = &e->members[e->count++];
    m->parameter = eg_keep(p);
    m->name = eg__joined(op, name, "", "");
    m->average = m->name ? eg_cast(eg_detach(p), p->dtype == EG_F64 ? EG_F64 : EG_F32) : NULL;
    if (m->average && m->average->storage == p->storage) {
        m->average = eg_copy(m->average);
    }
    m->average = eg_keep(m->average);
    return m->average ? EG_OK : eg__why();
}

static eg_status make(const char *op, eg_ema *e, eg_parameters p)
{
    size_t n = (size_t)p.count;
    e->members = eg__malloc(n * sizeof *e->members);
    e->in = eg__malloc(n * EG__OPTIM_SLOTS * sizeof *e->in);
    e->group = eg__malloc(n * sizeof *e->group);
    if (!e->members || !e->in || !e->group) {
        return eg__no_memory(op, (int64_t)(n * EG__OPTIM_SLOTS * sizeof *e->in));
    }
    memset(e->members, 0, n * sizeof *e->members);
    memset(e->in, 0, n * EG__OPTIM_SLOTS * sizeof *e->in);
    memset(e->group, 0, n * sizeof *e->group);
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? EG_OK : eg__why();
    for (int i = 0; i < p.count && !st; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", i);
        st = add(op, e, p.tensors[i], p.names ? p.names[i] : number);
    }
    for (int i = 0; i < e->count && !st; i++) {
        e->in[i * EG__OPTIM_SLOTS + EG__OPTIM_PARAMETER] = e->members[i].average;
        e->in[i * EG__OPTIM_SLOTS + EG__OPTIM_GRADIENT] = e->members[i].parameter;
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

eg_ema *eg_ema_new_with(eg_parameters parameters, const eg_ema_options *options)
{
    static const char op[] = "eg_ema";
    eg_ema_options o;
    eg__options(&o, sizeof o, options);
    o.decay = eg__or(o.decay, 0.999);
    if (eg__check_parameters(op, parameters)) {
        return NULL;
    }
    if (!(o.decay >= 0 && o.decay < 1)) {
        return eg__fail_null(EG_EINVAL, op, "decay is %g, must be in 0..1 and below 1", o.decay);
    }
    eg_ema *e = eg__handle_new(sizeof *e);
    if (!e) {
        eg__no_memory(op, sizeof *e);
        return NULL;
    }
    *e = (eg_ema){.decay = o.decay, .warm_up = o.warm_up};
    if (make(op, e, parameters)) {
        eg_ema_free(e);
        return NULL;
    }
    return e;
}

void eg_ema_free(eg_ema *e)
{
    if (!eg__handle_ends(e, "eg_ema_free")) {
        return;
    }
    if (e->swapped) {
        eg_ema_swap(e);
    }
    for (int i = 0; i < e->count; i++) {
        eg_release(e->members[i].parameter);
        eg_release(e->members[i].average);
        eg_release(e->members[i].saved);
        free(e->members[i].name);
    }
    free(e->members);
    free(e->in);
    free(e->group);
    free(e);
}

/* ---- using --------------------------------------------------------------------------------- */

/* Averages go where parameters went. */
static eg_status follow(eg_ema *e)
{
    for (int i = 0; i < e->count; i++) {
        if (eg__beside(&e->members[i].average, e->members[i].parameter)) {
            return eg__why();
        }
        e->in[i * EG__OPTIM_SLOTS + EG__OPTIM_PARAMETER] = e->members[i].average;
    }
    return EG_OK;
}

/* a = d a + (1 - d) p as the step of plain descent it is: the gradient p - a, the rate d - 1. */
static eg__optim_group numbers_of(const eg_ema *e)
{
    const double t = (double)e->updates, warm = (1 + t) / (10 + t);
    const double d = e->warm_up && warm < e->decay ? warm : e->decay;
    return (eg__optim_group){.scale = 1, .limit = (double)INFINITY, .decay = -1, .lr = d - 1, .gain = 1};
}

static eg_status not_swapped(const char *op, const eg_ema *e)
{
    return e->swapped ? eg__fail(EG_ESTATE, op, "the averages are swapped in: swap back first") : EG_OK;
}

static eg_status again(void *owner, void *to)
{
    eg_ema *e = owner;
    eg_status st = not_swapped("eg_ema_update", e);
    if (st) {
        return st;
    }
    *(eg__optim_now *)to = (eg__optim_now){.sets = 1, .group = {numbers_of(e)}};
    e->updates++;
    return EG_OK;
}

static void undo(void *owner)
{
    ((eg_ema *)owner)->updates--;
}

/* While a step is captured. */
static eg_status into_capture(eg_ema *e, eg__capture *c, uint32_t *place)
{
    const eg__moving n = {.again = again, .undo = undo, .owner = e};
    void *at;
    eg_status st = eg__capture_numbers(c, sizeof(eg__optim_now), &n, &at, place);
    if (!st && at) {
        return again(e, at);
    }
    e->updates += !st;
    return st;
}

eg_status eg_ema_update(eg_ema *e)
{
    static const char op[] = "eg_ema_update";
    if (!e) {
        return eg__null_argument(op, "ema");
    }
    if (not_swapped(op, e)) {
        return eg__why();
    }
    const eg__optim_group group = numbers_of(e);
    eg__optim_opts opts = {.groups = &group, .group = e->group, .ngroups = 1, .sets = 1};
    eg__thread *T = eg__thread_get();
    if (follow(e)) {
        return eg__why();
    }
    eg__call c = {.op = &eg__op_sgd_update,
                  .T = T,
                  .in = e->in,
                  .nin = e->count * EG__OPTIM_SLOTS,
                  .device = eg__rows_device(e->in, e->count),
                  .opts = &opts};
    eg_status st = EG_OK;
    if (T->capture && c.device) {
        st = into_capture(e, T->capture, &opts.now);
    } else {
        e->updates++;
    }
    return st ? st : eg__run_rows(&c);
}

static void drop_saved(eg_ema *e)
{
    for (int i = 0; i < e->count; i++) {
        eg_release(e->members[i].saved);
        e->members[i].saved = NULL;
    }
}

/* Copies of the parameters for the way back; on failure there are none. */
static eg_status save(eg_ema *e)
{
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? EG_OK : eg__why();
    for (int i = 0; i < e->count && !st; i++) {
        e->members[i].saved = eg_keep(eg_copy(e->members[i].parameter));
        st = e->members[i].saved ? EG_OK : eg__why();
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    if (st) {
        drop_saved(e);
    }
    return st;
}

eg_status eg_ema_swap(eg_ema *e)
{
    static const char op[] = "eg_ema_swap";
    if (!e) {
        return eg__null_argument(op, "ema");
    }
    if (eg__thread_get()->record->recording) {
        return eg__fail(EG_ESTATE, op, "a tape records: ask or close it first");
    }
    if (!e->swapped && save(e)) {
        return eg__why();
    }
    eg_status st = EG_OK;
    int done = 0;
    for (; done < e->count && !st; done++) {
        const member *m = &e->members[done];
        st = eg__overwrite(op, m->parameter, e->swapped ? m->saved : m->average);
    }
    while (st && !e->swapped && done-- > 0) { /* what was written already goes back */
        eg__overwrite(op, e->members[done].parameter, e->members[done].saved);
    }
    e->swapped = st ? e->swapped : !e->swapped;
    if (!e->swapped) {
        drop_saved(e);
    }
    return st;
}

bool eg_ema_swapped(const eg_ema *e)
{
    return e && e->swapped;
}

/* ---- state --------------------------------------------------------------------------------- */

eg_tensors *eg_ema_state(eg_ema *e)
{
    static const char op[] = "eg_ema_state";
    eg_tensors *map = e ? eg_tensors_new() : NULL;
    if (!map) {
        return e ? NULL : (eg__null_argument(op, "ema"), NULL);
    }
    eg_status st = eg__put_number(map, "updates", (double)e->updates, EG_I64);
    for (int i = 0; i < e->count && !st; i++) {
        char *name = eg__joined(op, e->members[i].name, ".", "average");
        st = name ? eg_tensors_set(map, name, e->members[i].average) : eg__why();
        free(name);
    }
    if (st) {
        eg_tensors_free(map);
        return NULL;
    }
    return map;
}

eg_status eg_ema_load_state(eg_ema *e, const eg_tensors *map)
{
    static const char op[] = "eg_ema_load_state";
    if (!e || !map) {
        return eg__null_argument(op, e ? "map" : "ema");
    }
    if (not_swapped(op, e)) {
        return eg__why();
    }
    double updates = 0;
    if (eg__get_number(op, map, "updates", 0, eg__most_steps, &updates)) {
        return eg__why();
    }
    eg_status st = eg__put_back(op, eg_ema_state(e), map);
    e->updates = st ? e->updates : (int64_t)updates;
    return st;
}
