/* step.c - one update over all parameters: gradients, rate, clipping, the rule. */
#include "optim/optim.h"

#include <stdlib.h>

/* Refuses before anything moves; fills the gradients in, dense. */
static eg_status take_gradients(eg_optim *o, eg_tensor *const *gradients)
{
    for (int i = 0; i < o->count; i++) {
        eg_tensor **in = o->in + i * EG__OPTIM_SLOTS;
        eg_tensor *p = in[EG__OPTIM_PARAMETER], *g = gradients[i];
        if (g && eg__check(g, o->name, "a gradient")) {
            return eg__why();
        }
        if (g && (!eg__same_shape(g, p) || g->dtype != p->dtype)) {
            return eg__fail(EG_ESHAPE, o->name, "gradient %d is %s %s, its parameter %s %s", i,
                            eg_dtype_name((eg_dtype)g->dtype), EG__SHAPE_OF(g),
                            eg_dtype_name((eg_dtype)p->dtype), EG__SHAPE_OF(p));
        }
        in[EG__OPTIM_GRADIENT] = g && o->names[i] ? eg_contiguous(g) : NULL;
        if (g && o->names[i] && !in[EG__OPTIM_GRADIENT]) {
            return eg__why();
        }
    }
    return EG_OK;
}

/* Measures if somebody asks, and gives what gradients are to be multiplied with. */
static eg_status clip(eg_optim *o, double unscale, bool *skipped, double *scale)
{
    const double p = skipped && o->max_norm == 0 ? (double)INFINITY : o->clip.p;
    *scale = unscale;
    if (o->max_norm == 0 && !skipped) {
        return EG_OK;
    }
    eg_tensor **g = eg__malloc((size_t)o->count * sizeof *g);
    if (!g) {
        return eg__no_memory(o->name, o->count * (int64_t)sizeof *g);
    }
    for (int i = 0; i < o->count; i++) {
        g[i] = o->in[i * EG__OPTIM_SLOTS + EG__OPTIM_GRADIENT];
    }
    double norm;
    eg_status st = eg__total_norm(o->name, g, o->count, p, &norm);
    free(g);
    if (st) {
        return st;
    }
    norm *= unscale;
    if (!isfinite(norm) && skipped) {
        *skipped = true;
        return EG_OK;
    }
    if (o->max_norm == 0) {
        return EG_OK;
    }
    o->norm = norm;
    if (!isfinite(norm)) {
        return eg__fail(EG_EINVAL, o->name, "the norm of the gradients is %g; nothing has moved",
                        norm);
    }
    *scale *= fmin(1, o->max_norm / (norm + o->clip.eps));
    return EG_OK;
}

static eg_status next_rate(eg_optim *o, double *lr)
{
    *lr = o->follows ? eg_schedule_at(&o->schedule, o->steps) : o->lr;
    return isfinite(*lr) ? EG_OK
                         : eg__fail(EG_EINVAL, o->name, "the schedule's rate of step %lld is %g",
                                    (long long)o->steps, *lr);
}

static void run(eg_optim *o, double scale)
{
    eg__thread *T = eg__thread_get();
    for (int i = 0; i < o->groups; i++) {
        eg__optim_group *g = &o->now[i];
        *g = (eg__optim_group){.lr = o->lr * o->settings[i].lr_scale,
                               .decay = o->settings[i].weight_decay,
                               .shrink = 1};
        o->rule->fill(o, g);
        g->scale = scale;
        g->limit = o->max_value;
    }
    const eg__optim_opts opts = {o->now, o->group};
    eg__call c = {
        .op = o->rule->op, .T = T, .in = o->in, .nin = o->count * EG__OPTIM_SLOTS, .opts = &opts};
    c.device = c.nin ? o->in[EG__OPTIM_PARAMETER]->device : 0;
    eg__run_call(&c); /* takes no memory and so cannot fail */
}

static eg_status update(eg_optim *o, eg_tensor *const *gradients, double unscale, bool *skipped)
{
    double scale, lr;
    eg_status st = take_gradients(o, gradients);
    st = st ? st : next_rate(o, &lr);
    st = st ? st : clip(o, unscale, skipped, &scale);
    if (st || (skipped && *skipped)) {
        return st;
    }
    for (int i = 0; i < o->count && !st; i++) {
        eg_tensor **in = o->in + i * EG__OPTIM_SLOTS;
        st = in[EG__OPTIM_GRADIENT] ? eg__begin_write(in[EG__OPTIM_PARAMETER], o->name) : EG_OK;
    }
    if (st) {
        return st;
    }
    o->lr = lr;
    o->steps++;
    if (lr > 0 || !o->rule->divides_by_lr) {
        run(o, scale);
    }
    return EG_OK;
}

static eg_status step(eg_optim *o, eg_tensor *const *gradients, double unscale, bool *skipped)
{
    if (eg__thread_get()->record.recording) {
        return eg__fail(EG_ESTATE, o->name, "a tape records: ask or close it before the step");
    }
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? update(o, gradients, unscale, skipped) : eg__why();
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

eg_status eg_optim_step(eg_optim *o, eg_tensor *const *gradients)
{
    if (!o) {
        return eg__null_argument("eg_optim_step", "optim");
    }
    return gradients ? step(o, gradients, 1, NULL) : eg__null_argument(o->name, "gradients");
}

/* ---- minimize ------------------------------------------------------------------------------ */

/* Who is asked for a gradient: not tensors that come a second time, nor frozen ones. */
static int who_moves(const eg_optim *o, eg_tensor **ask)
{
    eg__thread *T = eg__thread_get();
    int n = 0;
    for (int i = 0; i < o->count; i++) {
        eg_tensor *p = o->in[i * EG__OPTIM_SLOTS];
        if (o->names[i] && eg__tracked(T, p)) {
            ask[n++] = p;
        }
    }
    return n;
}

static eg_status ask_tape(eg_optim *o, eg_tape tape, eg_tensor *loss, double scale, eg_tensor **ask,
                          eg_tensor **g)
{
    eg_tensor *dy = NULL, **got = ask + o->count;
    int n = who_moves(o, ask);
    if (!n) {
        return eg__fail(EG_ESTATE, o->name, "all %d parameters are frozen", o->count);
    }
    if (loss->n != 1) {
        return eg__fail(EG_ESHAPE, o->name, "the loss has shape %s, not one element",
                        EG__SHAPE_OF(loss));
    }
    if (scale != 1 && !(dy = eg_full(eg_shape_of(loss), scale, (eg_dtype)loss->dtype))) {
        return eg__why();
    }
    eg_status st = eg_tape_gradients(tape, loss, ask, n, got, .dy = dy, .null_unconnected = true);
    for (int i = 0, k = 0; i < o->count && !st; i++) {
        bool asked = k < n && ask[k] == o->in[i * EG__OPTIM_SLOTS] && o->names[i];
        g[i] = asked ? got[k++] : NULL;
    }
    return st;
}

static eg_status add_gathered(eg_optim *o, eg_tensor *const *g)
{
    if (!o->gathered) {
        size_t bytes = (size_t)o->count * sizeof *o->gathered;
        if (!(o->gathered = eg__malloc(bytes))) {
            return eg__no_memory(o->name, (int64_t)bytes);
        }
        memset(o->gathered, 0, bytes);
    }
    eg_status st = EG_OK;
    for (int i = 0; i < o->count && !st; i++) {
        eg_tensor **sum = &o->gathered[i];
        if (g[i] && *sum) {
            st = eg_add_(*sum, g[i]) ? EG_OK : eg__why();
        } else if (g[i]) {
            *sum = eg_keep(g[i]);
        }
    }
    return st;
}

/* A step with the gradients of a loss, or they are gathered. */
static eg_status use_gradients(const char *op, eg_optim *o, eg_tape tape, eg_tensor *loss,
                               double scale, bool gather, bool *skipped)
{
    if (!o || !loss) {
        return eg__null_argument(op, o ? "loss" : "optim");
    }
    if (eg__check(loss, o->name, "loss")) {
        return eg__why();
    }
    eg_scope s = eg_scope_push();
    if (!s.depth) {
        return eg__why();
    }
    size_t n = (size_t)o->count;
    eg_tensor **lists = eg__malloc(3 * n * sizeof *lists); /* asked, got, per parameter */
    eg_status st = lists ? EG_OK : eg__no_memory(o->name, (int64_t)(3 * n * sizeof *lists));
    st = st ? st : ask_tape(o, tape, loss, scale, lists, lists + 2 * n);
    if (!st) {
        eg_tensor **g = lists + 2 * n;
        st = gather ? add_gathered(o, g) : step(o, g, 1 / scale, skipped);
    }
    free(lists);
    eg_scope_pop(s, NULL);
    return st;
}

eg_status eg__optim_minimize(eg_optim *o, eg_tape tape, eg_tensor *loss, double scale,
                             bool *skipped)
{
    return use_gradients("eg_optim_minimize", o, tape, loss, scale, false, skipped);
}

eg_status eg_optim_minimize(eg_optim *o, eg_tape tape, eg_tensor *loss)
{
    return eg__optim_minimize(o, tape, loss, 1, NULL);
}

/* ---- gathering ----------------------------------------------------------------------------- */

eg_status eg_optim_backward(eg_optim *o, eg_tape tape, eg_tensor *loss)
{
    return use_gradients("eg_optim_backward", o, tape, loss, 1, true, NULL);
}

void eg__optim_forget(eg_optim *o)
{
    for (int i = 0; o->gathered && i < o->count; i++) {
        eg_release(o->gathered[i]);
    }
    free(o->gathered);
    o->gathered = NULL;
}

eg_status eg_optim_update(eg_optim *o)
{
    if (!o) {
        return eg__null_argument("eg_optim_update", "optim");
    }
    if (!o->gathered) {
        return eg__fail(EG_ESTATE, o->name, "no gradients: eg_optim_backward comes first");
    }
    eg_status st = step(o, o->gathered, 1, NULL);
    if (!st) {
        eg__optim_forget(o);
    }
    return st;
}

/* ---- settings ------------------------------------------------------------------------------ */

double eg_optim_rate(const eg_optim *o)
{
    return o ? o->lr : (double)NAN;
}

int64_t eg_optim_steps(const eg_optim *o)
{
    return o ? o->steps : 0;
}

double eg_optim_grad_norm(const eg_optim *o)
{
    return o ? o->norm : (double)NAN;
}

eg_status eg_optim_set_rate(eg_optim *o, double lr)
{
    if (!o) {
        return eg__null_argument("eg_optim_set_rate", "optim");
    }
    if (o->follows) {
        return eg__fail(EG_ESTATE, o->name, "the rate follows a schedule: end that first");
    }
    eg_status st = eg__optim_number(o->name, "lr", lr, (double)INFINITY);
    o->lr = st ? o->lr : lr;
    return st;
}

eg_status eg_optim_follow(eg_optim *o, const eg_schedule *schedule)
{
    if (!o) {
        return eg__null_argument("eg_optim_follow", "optim");
    }
    if (!schedule) {
        o->follows = false;
        return EG_OK;
    }
    double lr = eg_schedule_at(schedule, o->steps);
    if (isnan(lr)) {
        return eg__why();
    }
    eg__options(&o->schedule, sizeof o->schedule, schedule);
    o->follows = true;
    o->lr = lr;
    return EG_OK;
}

eg_status eg_optim_clip_norm_with(eg_optim *o, double max, const eg_clip_options *options)
{
    static const char op[] = "eg_optim_clip_norm";
    eg_clip_options clip_options;
    if (!o) {
        return eg__null_argument(op, "optim");
    }
    if (!(max >= 0)) {
        return eg__fail(EG_EINVAL, op, "max is %g, must be 0 or more", max);
    }
    eg_status st = eg__clip_options(op, options, &clip_options);
    if (!st) {
        o->clip = clip_options;
        o->max_norm = max;
    }
    return st;
}

eg_status eg_optim_clip_value(eg_optim *o, double max)
{
    static const char op[] = "eg_optim_clip_value";
    if (!o) {
        return eg__null_argument(op, "optim");
    }
    if (!(max >= 0)) {
        return eg__fail(EG_EINVAL, op, "max is %g, must be 0 or more", max);
    }
    o->max_value = max == 0 ? (double)INFINITY : max;
    return EG_OK;
}
