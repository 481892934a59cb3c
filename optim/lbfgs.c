/* lbfgs.c - limited-memory BFGS, as PyTorch's optimizer has it. A step works on a copy of the memory and knows where
 * the parameters were, so that it is done whole or not at all. */
#include "optim/lbfgs.h"

#include <stdlib.h>

#include "lib/core/capture.h"
#include "lib/core/device.h"
#include "lib/io/assign.h"
#include "optim/options.h"
#include "optim/parallel.h"
#include "optim/wolfe.h"

typedef struct step {
    eg_optim *optim;
    const eg_lbfgs_options *o;
    const eg__loss *f;
    eg_tensor **gradients; /* of the latest evaluation; only whether there are any counts afterwards */
    eg_tensor **pieces;    /* of a vector that is put together */
    eg_tensor **begin;     /* where the parameters were before the step, */
    eg_tensor **from;      /* and before the iteration */
    eg__memory memory;
    eg_tensor *first;    /* the loss before the step, kept */
    eg_tensor *gradient; /* where the parameters are, kept */
    double loss, lr;
    int looks;
} step;

/* ---- parameters and vectors ---------------------------------------------------------------- */

static eg_tensor *parameter(const step *s, int i)
{
    return s->optim->names[i] ? s->optim->in[i * EG__OPTIM_SLOTS] : NULL;
}

/* The gradients as one vector, with zeros for what the loss does not depend on. */
static eg_tensor *flatten(const step *s)
{
    const eg_dtype dtype = eg__lbfgs_dtype(s->optim);
    int n = 0;
    for (int i = 0; i < s->optim->count; i++) {
        const eg_tensor *p = parameter(s, i);
        eg_tensor *g = p ? s->gradients[i] : NULL;
        if (p) {
            s->pieces[n++] =
                g ? eg_cast(eg_reshape(g, EG_SHAPE(p->n)), dtype) : eg__full_on(p->device, EG_SHAPE(p->n), 0, dtype);
        }
    }
    return eg_concat(s->pieces, n, 0);
}

/* p += t d for a parameter, whose part of the direction begins at `at`. */
static eg_status move_one(eg_tensor *p, eg_tensor *direction, int64_t at, double t)
{
    eg_tensor *d = eg_reshape(eg_slice(direction, 0, at, at + p->n, 1), eg_shape_of(p));
    return eg_add_(p, eg_cast(eg_mul_scalar(d, t), (eg_dtype)p->dtype)) ? EG_OK : eg__why();
}

/* All parameters of the loss along the direction, from where they are or were. */
static eg_status move(const step *s, eg_tensor *const *from, double t)
{
    int64_t at = 0;
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? EG_OK : eg__why();
    for (int i = 0; i < s->optim->count && !st; i++) {
        eg_tensor *p = parameter(s, i);
        if (p && s->gradients[i]) {
            st = from ? eg__overwrite(s->optim->name, p, from[i]) : EG_OK;
            st = st ? st : move_one(p, s->memory.direction, at, t);
        }
        at += p ? p->n : 0;
    }
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return st;
}

static eg_status copy_parameters(const step *s, eg_tensor **to)
{
    for (int i = 0; i < s->optim->count; i++) {
        eg_tensor *p = parameter(s, i);
        if (p && !(to[i] = eg_copy(p))) {
            return eg__why();
        }
    }
    return EG_OK;
}

static void move_back(const step *s)
{
    const eg_error why = *eg_last_error();
    for (int i = 0; i < s->optim->count; i++) {
        if (s->begin[i]) {
            eg__overwrite(s->optim->name, parameter(s, i), s->begin[i]);
        }
    }
    eg_fail(why.code, why.op, why.message);
}

static eg_status largest(eg_tensor *v, double *value)
{
    return eg__number(eg_max(eg_abs(v)), value);
}

/* ---- the loss ------------------------------------------------------------------------------ */

/* Of several ranks the mean, so that all go the same way; as their gradients, which have come averaged. */
static eg_status share_loss(const step *s, double *loss)
{
    const eg__ranks *p = s->optim->parallel;
    eg_tensor *mean = eg__from_on(0, EG_SHAPE(1), EG_F64, loss);
    eg_status st = eg__parallel_tell(s->optim, mean ? EG_OK : eg__why());
    st = st ? st : eg_comm_all_reduce(p->comm, &mean, 1, EG_COMM_MEAN);
    return st ? st : eg__number(mean, loss);
}

/* Where the parameters are, with the gradient as the scope's. */
static eg_status evaluate(step *s, double *loss, eg_tensor **gradient)
{
    eg_scope scope = eg_scope_push();
    if (!scope.depth) {
        return eg__why();
    }
    eg_tape tape = eg_tape_open();
    eg_tensor *y = tape.id ? eg__loss_of(s->f, s->optim->name) : NULL;
    eg_status st = y ? eg__optim_gradients(s->optim, tape, y, NULL, s->optim->parallel, s->gradients) : eg__why();
    eg_tensor *flat = st ? NULL : flatten(s);
    st = flat ? eg__number(y, loss) : eg__why();
    if (s->optim->parallel) {
        st = eg__parallel_tell(s->optim, st);
        st = st ? st : share_loss(s, loss);
    }
    if (!st && !s->first) {
        s->first = eg_keep(y);
    }
    *gradient = eg_scope_pop(scope, st ? NULL : flat);
    s->memory.evaluations++;
    s->looks++;
    return st;
}

/* The same for the step to go on from; *steepest: the largest element of the gradient. */
static eg_status evaluate_here(step *s, double *steepest)
{
    eg_tensor *g;
    eg_status st = evaluate(s, &s->loss, &g);
    st = st ? st : eg__hold(&s->gradient, g);
    st = st ? st : largest(g, steepest);
    return st || (isfinite(s->loss) && isfinite(*steepest))
               ? st
               : eg__fail(EG_EINVAL, s->optim->name,
                          "evaluation %d of the step: the loss is %g, its largest gradient %g; nothing has moved",
                          s->looks, s->loss, *steepest);
}

/* For the line search. */
static eg_status look(void *user, eg__point *to)
{
    step *s = user;
    eg_status st = move(s, s->from, to->t);
    st = st ? st : evaluate(s, &to->loss, &to->gradient);
    st = st ? st : eg__number(eg__dot(to->gradient, s->memory.direction), &to->slope);
    if (!st && !(isfinite(to->loss) && isfinite(to->slope))) {
        to->loss = (double)INFINITY;
        to->slope = (double)NAN;
    }
    return st;
}

/* ---- iterations ---------------------------------------------------------------------------- */

static eg_status choose_direction(step *s, double *slope)
{
    eg__memory *m = &s->memory;
    const bool begins = !m->direction;
    double sum = 0;
    eg_status st = begins ? eg__number(eg_sum(eg_abs(s->gradient)), &sum) : eg__memory_learn(m, s->gradient);
    eg_tensor *d = st ? NULL : eg__memory_direction(s->optim->name, m, s->gradient);
    st = d ? eg__hold(&m->direction, d) : eg__why();
    st = st ? st : eg__hold(&m->gradient, s->gradient);
    m->t = begins ? fmin(1, 1 / sum) * s->lr : s->lr;
    m->iterations++;
    return st ? st : eg__number(eg__dot(s->gradient, d), slope);
}

static eg_status search(step *s, double slope, double reach, double *steepest)
{
    const eg__line line = {.look = look,
                           .user = s,
                           .reach = reach,
                           .tolerance = s->o->tolerance_change,
                           .most = s->o->max_eval - s->looks};
    const eg__point here = {.loss = s->loss, .slope = slope, .gradient = s->gradient};
    eg__point found;
    eg_status st = copy_parameters(s, s->from);
    st = st ? st : eg__wolfe(&line, &here, s->memory.t, &found);
    st = st ? st : move(s, s->from, found.t);
    if (!st) {
        s->memory.t = found.t;
        s->loss = found.loss;
        st = eg__hold(&s->gradient, found.gradient);
    }
    return st ? st : largest(s->gradient, steepest);
}

/* *ends: there is no more to be done, or no more to be won. */
static eg_status iterate(step *s, bool last, bool *ends)
{
    const double before = s->loss;
    double slope, reach, steepest = (double)INFINITY;
    eg_status st = choose_direction(s, &slope);
    st = st ? st : largest(s->memory.direction, &reach);
    if (st || slope > -s->o->tolerance_change) {
        *ends = true;
        return st;
    }
    if (s->o->strong_wolfe) {
        st = search(s, slope, reach, &steepest);
    } else {
        st = move(s, NULL, s->memory.t);
        st = st || last ? st : evaluate_here(s, &steepest);
    }
    *ends = last || s->looks >= s->o->max_eval || steepest <= s->o->tolerance_grad ||
            reach * s->memory.t <= s->o->tolerance_change || fabs(s->loss - before) < s->o->tolerance_change;
    return st;
}

static eg_status iterate_all(step *s)
{
    double steepest;
    eg_status st = copy_parameters(s, s->begin);
    st = st ? st : evaluate_here(s, &steepest);
    bool ends = st || steepest <= s->o->tolerance_grad;
    for (int64_t n = 1; !st && !ends; n++) {
        eg_scope scope = eg_scope_push();
        st = scope.depth ? iterate(s, n == s->o->max_iter, &ends) : eg__why();
        if (scope.depth) {
            eg_scope_pop(scope, NULL);
        }
    }
    return st;
}

/* ---- the rule ------------------------------------------------------------------------------ */

static eg_status finish(step *s, eg_status st)
{
    eg_optim *o = s->optim;
    eg__memory *own = &((eg__lbfgs *)o)->memory;
    if (st) {
        move_back(s);
    } else {
        const eg__memory had = *own;
        *own = s->memory;
        s->memory = had;
        o->lr = s->lr;
        o->steps++;
    }
    eg__memory_free(&s->memory);
    eg_release(s->gradient);
    return st;
}

static eg_tensor *descend(eg_optim *o, const eg__loss *f)
{
    const eg__lbfgs *l = (const eg__lbfgs *)o;
    const size_t n = (size_t)o->count, bytes = 4 * n * sizeof(eg_tensor *);
    step s = {.optim = o, .o = &l->o, .f = f, .lr = o->follows ? eg_schedule_at(&o->schedule, o->steps) : o->lr};
    if (eg__capture_stop(o->name, "the host decides how far it goes")) {
        return NULL;
    }
    eg_tensor **lists = eg__malloc(bytes);
    if (!lists) {
        eg__no_memory(o->name, (int64_t)bytes);
        return NULL;
    }
    memset(lists, 0, bytes);
    s.gradients = lists;
    s.pieces = lists + n;
    s.begin = lists + 2 * n;
    s.from = lists + 3 * n;
    eg_status st = isfinite(s.lr) ? eg__memory_copy(o->name, &l->memory, &s.memory)
                                  : eg__fail(EG_EINVAL, o->name, "the schedule's rate of step %lld is %g",
                                             (long long)o->steps, s.lr);
    st = st ? st : eg__memory_beside(&s.memory, o->in[EG__OPTIM_PARAMETER]);
    st = finish(&s, st ? st : iterate_all(&s));
    if (o->parallel) { /* what the numbers themselves refuse all refuse */
        st = st == EG_EINVAL ? st : eg__parallel_tell(o, st);
        st = st ? st : eg__parallel_check(o);
    }
    free(lists);
    eg_scope_adopt(s.first);
    return st ? NULL : s.first;
}

static void end(eg_optim *o)
{
    eg__memory_free(&((eg__lbfgs *)o)->memory);
}

static const eg__optim_rule rule = {.descend = descend, .put = eg__lbfgs_put, .load = eg__lbfgs_load, .end = end};

static eg_status check(const char *name, const eg_lbfgs_options *o, eg_parameters p)
{
    const double any = (double)INFINITY;
    eg_status st = eg__check_parameters(name, p);
    st = st ? st : eg__optim_number(name, "lr", o->lr, any);
    st = st ? st : eg__optim_range(name, "max_iter", o->max_iter, 1, 1e9);
    st = st ? st : eg__optim_range(name, "max_eval", o->max_eval, 1, 2e9);
    st = st ? st : eg__optim_range(name, "history_size", o->history_size, 1, 10000);
    st = st ? st : eg__optim_number(name, "tolerance_grad", o->tolerance_grad, any);
    st = st ? st : eg__optim_number(name, "tolerance_change", o->tolerance_change, any);
    for (int i = 0; i < p.count && !st; i++) {
        const uint8_t dtype = p.tensors[i]->dtype;
        st = dtype == EG_F32 || dtype == EG_F64
                 ? EG_OK
                 : eg__fail(EG_EDTYPE, name, "parameter %d is %s; f32 and f64 are possible", i,
                            eg_dtype_name((eg_dtype)dtype));
    }
    return st;
}

eg_optim *eg_lbfgs_new_with(eg_parameters parameters, const eg_lbfgs_options *options)
{
    static const char name[] = "eg_lbfgs";
    eg_lbfgs_options o;
    eg__options(&o, sizeof o, options);
    o.lr = eg__or(o.lr, 1);
    o.max_iter = o.max_iter ? o.max_iter : 20;
    o.max_eval = o.max_eval ? o.max_eval : o.max_iter + o.max_iter / 4;
    o.history_size = o.history_size ? o.history_size : 100;
    o.tolerance_grad = eg__or(o.tolerance_grad, 1e-7);
    o.tolerance_change = eg__or(o.tolerance_change, 1e-9);
    if (check(name, &o, parameters)) {
        return NULL;
    }
    eg_optim *base = eg__optim_new(name, &rule, o.lr, 0, sizeof(eg__lbfgs));
    if (base) {
        eg__lbfgs *l = (eg__lbfgs *)base;
        l->o = o;
        l->memory.scale = 1;
        if (eg__memory_room(name, &l->memory, o.history_size)) {
            eg_optim_free(base);
            return NULL;
        }
    }
    return eg__optim_begin(base, parameters);
}
