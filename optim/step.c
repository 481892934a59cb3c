/* step.c - one update over all parameters: gradients, rate, clipping, the rule. */
#include "optim/optim.h"
#include "optim/options.h"
#include "optim/parallel.h"

#include <stdlib.h>

#include "lib/step/capture.h"

/* Whether it is of the parameter, or, with gradients shared out, of this rank's part of it. */
static bool fits(const eg_optim *o, const eg_tensor *g, const eg_tensor *p)
{
    int64_t first;
    const bool part = o->parallel && o->parallel->zero == 2;
    return g->dtype == p->dtype &&
           (part ? g->n == eg__shared_at(o->parallel, p->n, o->parallel->rank, &first) : eg__same_shape(g, p));
}

/* Refuses before anything moves; fills the gradients in, dense. What the optimizer keeps of a parameter follows it
 * to another device. */
static eg_status take_gradients(eg_optim *o, eg_tensor *const *gradients)
{
    eg_status st = EG_OK;
    for (int i = 0; i < o->count && !st; i++) {
        eg_tensor **in = o->in + i * EG__OPTIM_SLOTS;
        eg_tensor *p = in[EG__OPTIM_PARAMETER], *g = gradients[i];
        if (g && eg__check(g, o->name, "a gradient")) {
            return eg__why();
        }
        if (g && !fits(o, g, p)) {
            return eg__fail(EG_ESHAPE, o->name, "gradient %d is %s %s, its parameter %s %s", i,
                            eg_dtype_name((eg_dtype)g->dtype), EG__SHAPE_OF(g), eg_dtype_name((eg_dtype)p->dtype),
                            EG__SHAPE_OF(p));
        }
        if (g && g->device != p->device) {
            return eg__fail(EG_EDEVICE, o->name, "parameter %d is on %s, its gradient on %s", i, eg__device(p)->name,
                            eg__device(g)->name);
        }
        in[EG__OPTIM_GRADIENT] = g && o->names[i] ? eg_contiguous(g) : NULL;
        if (g && o->names[i] && !in[EG__OPTIM_GRADIENT]) {
            return eg__why();
        }
        st = eg__optim_allocate(o, i);
        for (int k = EG__OPTIM_MASTER; k < EG__OPTIM_SLOTS && !st; k++) {
            st = eg__beside(&in[k], p);
        }
    }
    return st;
}

/* ---- judging gradients ----------------------------------------------------------------------- */

/* Steps that may be pending: there are numbers for each outcome. A rule that does not move at a rate of 0 decides
 * that here, so it must know its step. */
static int most_pending(const eg_optim *o)
{
    enum { AHEAD = 15 };
    const int fit = EG__OPTIM_NUMBERS / o->groups - 1;
    return o->rule->divides_by_lr ? 0 : fit < AHEAD ? fit : AHEAD;
}

static int64_t lost_of(const eg_optim *o, const double *gate)
{
    return (int64_t)gate[EG__GATE_SKIPPED] - o->skipped;
}

eg_status eg__optim_settle(eg_optim *o)
{
    double gate[EG__GATE_SIZE];
    if (!o->pending) {
        return EG_OK;
    }
    if (eg__capture_stop(o->name, NULL) || eg_copy_out(o->gate, gate, sizeof gate)) {
        return eg__why();
    }
    const int64_t lost = lost_of(o, gate);
    const int of = o->pending;
    o->pending = 0;
    o->skipped += lost;
    o->steps -= lost;
    o->norm = gate[EG__GATE_NORM];
    if (lost && o->follows && o->steps) {
        o->lr = eg_schedule_at(&o->schedule, o->steps - 1);
    }
    return !lost || o->for_scaler
               ? EG_OK
               : eg__fail(EG_EINVAL, o->name,
                          "of the latest %d steps, %lld have moved nothing: the norm of their gradients was not "
                          "finite",
                          of, (long long)lost);
}

/* Sees to it that there is a gate beside the parameters, and that no more steps are pending than may be. */
static eg_status ready(eg_optim *o, bool gated, bool for_scaler)
{
    const double fresh[EG__GATE_SIZE] = {1, 0, 0, (double)NAN};
    const uint8_t device = eg__optim_device(o);
    eg_status st = EG_OK;
    if (!gated || o->for_scaler != for_scaler || o->pending > most_pending(o) ||
        (o->gate && o->gate->device != device)) {
        st = eg__optim_settle(o);
    }
    if (!st && gated && !o->gate) {
        o->gate = eg__numbers_on(device, fresh, EG__GATE_SIZE);
        o->skipped = 0;
        st = o->gate ? EG_OK : eg__why();
    }
    o->for_scaler = for_scaler;
    return st || !gated ? st : eg__at(&o->gate, device);
}

/* What the kernel gets: with states shared out this rank's part of everything. */
static eg_tensor **list_of(const eg_optim *o)
{
    return o->parallel && o->parallel->in ? o->parallel->in : o->in;
}

static eg_status judge(eg_optim *o, const eg__scaling *s)
{
    eg__total_norm_opts opts = {.p = o->max_norm == 0 ? (double)INFINITY : o->clip.p,
                                .rule = {.max = o->max_norm, .eps = o->clip.eps}};
    eg_tensor **g = eg__malloc((size_t)o->count * sizeof *g);
    if (!g) {
        return eg__no_memory(o->name, o->count * (int64_t)sizeof *g);
    }
    if (s) {
        opts.rule.growth = s->growth;
        opts.rule.backoff = s->backoff;
        opts.rule.interval = s->interval;
        opts.rule.least = s->least;
    }
    for (int i = 0; i < o->count; i++) {
        g[i] = o->in[i * EG__OPTIM_SLOTS + EG__OPTIM_GRADIENT];
    }
    eg__call c = {.op = &eg__op_total_norm,
                  .T = eg__thread_get(),
                  .in = g,
                  .nin = o->count,
                  .device = o->gate->device,
                  .opts = &opts,
                  .out = {[EG__NORM_GATE] = o->gate, [EG__NORM_SCALER] = s ? s->state : NULL}};
    eg_tensor *norms = NULL;
    if (o->parallel && o->parallel->zero >= 2) {
        norms = eg__sharded_norms(o, g, opts.p);
        c.in = &norms;
        c.nin = 1;
    } else if (eg__several_devices(o->in, o->count)) {
        double norm;
        norms = eg__total_norm(o->name, g, o->count, opts.p, &norm) ? NULL : eg_scalar(norm, EG_F64);
        c.in = &norms;
        c.nin = 1;
    }
    eg_status st = c.in == &norms && !norms ? eg__why() : eg__run_call(&c);
    free(g);
    return st;
}

/* On the CPU the judgement is here at once. Whether the step is done. */
static eg_status obey(eg_optim *o, bool for_scaler, double *scale, bool *done)
{
    const double *gate = (const double *)eg__ptr(o->gate);
    const bool closed = gate[EG__GATE_CLOSED] != 0;
    o->skipped += closed;
    o->norm = gate[EG__GATE_NORM];
    *scale = gate[EG__GATE_SCALE];
    *done = !closed;
    return closed && !for_scaler
               ? eg__fail(EG_EINVAL, o->name, "the norm of the gradients is %g; nothing has moved", o->norm)
               : EG_OK;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* The numbers of the step after o->steps others. */
static eg_status fill(eg_optim *o, eg__optim_group *now)
{
    const double lr = o->follows ? eg_schedule_at(&o->schedule, o->steps) : o->lr;
    if (!isfinite(lr)) {
        return eg__fail(EG_EINVAL, o->name, "the schedule's rate of step %lld is %g", (long long)o->steps, lr);
    }
    o->steps++;
    for (int i = 0; i < o->groups; i++) {
        now[i] = (eg__optim_group){.lr = lr * o->settings[i].lr_scale,
                                   .decay = o->settings[i].weight_decay,
                                   .shrink = 1,
                                   .scale = 1,
                                   .limit = o->max_value,
                                   .keep_zeros = o->settings[i].keep_zeros};
        o->rule->fill(o, &now[i]);
    }
    o->steps--;
    return EG_OK;
}

/* The numbers of the next step, for each count of pending steps that may turn out not to have been done. */
static eg_status fill_all(eg_optim *o)
{
    const int64_t steps = o->steps;
    eg_status st = EG_OK;
    for (int lost = o->pending; lost >= 0 && !st; lost--) {
        o->steps = steps - lost;
        st = fill(o, o->now + lost * o->groups);
    }
    o->steps = steps;
    return st;
}

/* ---- captured steps -------------------------------------------------------------------------- */

static void advance(eg_optim *o, bool later)
{
    o->lr = o->follows ? eg_schedule_at(&o->schedule, o->steps) : o->lr;
    o->steps++;
    o->pending += later;
}

static void write_numbers(const eg_optim *o, eg__optim_now *to)
{
    to->base = (double)o->skipped;
    to->sets = o->pending + 1;
    memcpy(to->group, o->now, (size_t)(to->sets * o->groups) * sizeof *o->now);
}

/* All that the host does for a step. */
static eg_status again(void *owner, void *to)
{
    eg_optim *o = owner;
    eg_status st = ready(o, o->captured_gate, o->for_scaler);
    st = st ? st : fill_all(o);
    if (!st) {
        write_numbers(o, to);
        advance(o, o->captured_gate);
    }
    return st;
}

static void undo(void *owner)
{
    eg_optim *o = owner;
    o->steps--;
    o->pending -= o->captured_gate;
}

/* The numbers of this step, and of those to come, are in the capture's memory. */
static eg_status into_capture(eg_optim *o, eg__capture *c, bool gated, uint32_t *at)
{
    const int64_t sets = gated ? most_pending(o) + 1 : 1;
    const eg__moving n = {.again = again, .undo = undo, .owner = o};
    void *to;
    o->captured_gate = gated;
    eg_status st =
        eg__capture_numbers(c, sizeof(eg__optim_now) + (size_t)(sets * o->groups) * sizeof *o->now, &n, &to, at);
    if (!st && to) {
        write_numbers(o, to);
    }
    return st;
}

/* Counted unless it could not even be begun. */
static eg_status run(eg_optim *o, bool gated, double scale)
{
    eg__call c = {.op = o->rule->op,
                  .T = eg__thread_get(),
                  .in = list_of(o),
                  .device = eg__optim_device(o),
                  .nin = o->count * EG__OPTIM_SLOTS};
    eg__optim_opts opts = {.groups = o->now,
                           .group = o->group,
                           .ngroups = o->groups,
                           .gate = gated && c.device ? o->gate : NULL,
                           .skipped = (double)o->skipped,
                           .sets = o->pending + 1};
    for (int i = 0; i < o->groups; i++) {
        o->now[i].scale = scale;
    }
    c.opts = &opts;
    if (unlikely(c.T->capture != NULL)) {
        eg_status st = into_capture(o, c.T->capture, opts.gate != NULL, &opts.now);
        if (st) {
            return st;
        }
    }
    eg_status st = eg__run_rows(&c); /* takes no memory and so cannot fail on the CPU */
    advance(o, opts.gate != NULL);
    return st;
}

static eg_status update(eg_optim *o, eg_tensor *const *gradients, const eg__scaling *s)
{
    const bool gated = o->count && (o->max_norm != 0 || s), later = gated && eg__optim_device(o);
    double scale = 1;
    bool done = true;
    eg_status st = take_gradients(o, gradients);
    if (o->rule->divides_by_lr || o->parallel || (o->count && !eg__optim_device(o))) {
        st = st ? st : eg__capture_stop(o->name, "the host decides whether it moves");
    }
    const bool shared = list_of(o) != o->in;
    st = st || !shared ? st : eg__sharded_list(o);
    st = st ? st : ready(o, gated, s != NULL);
    st = st ? st : fill_all(o);
    st = st || !gated ? st : judge(o, s);
    st = st || !gated || later ? st : obey(o, s != NULL, &scale, &done);
    if (st || !done) {
        return st;
    }
    for (int i = 0; i < o->count && !st; i++) {
        eg_tensor **in = o->in + i * EG__OPTIM_SLOTS;
        st = in[EG__OPTIM_GRADIENT] ? eg__begin_write(in[EG__OPTIM_PARAMETER], o->name) : EG_OK;
    }
    if (st) {
        return st;
    }
    const double lr = o->follows ? eg_schedule_at(&o->schedule, o->steps) : o->lr;
    if (lr > 0 || !o->rule->divides_by_lr) {
        st = run(o, gated, scale);
        return st || !shared ? st : eg__sharded_gather(o);
    }
    advance(o, later);
    return EG_OK;
}

static eg_status step(eg_optim *o, eg_tensor *const *gradients, const eg__scaling *scaling)
{
    if (eg__optim_takes_gradients(o->name, o)) {
        return eg__why();
    }
    if (eg__thread_get()->record->recording) {
        return eg__fail(EG_ESTATE, o->name, "a tape records: ask or close it before the step");
    }
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? eg__optim_prune_now(o) : eg__why();
    st = st ? st : update(o, gradients, scaling);
    if (o->parallel) { /* what is refused because of the gradients themselves is refused by all */
        st = st == EG_EINVAL ? st : eg__parallel_tell(o, st);
        st = st ? st : eg__parallel_check(o);
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

/* Of gradients in hand, which several ranks average first. */
static eg_status step_in_hand(eg_optim *o, eg_tensor *const *gradients, bool own)
{
    if (!eg__exchanges(o)) {
        return step(o, gradients, NULL);
    }
    eg_scope s = eg_scope_push();
    eg_tensor **means = s.depth ? eg__malloc((size_t)o->count * sizeof *means) : NULL;
    eg_status st = means ? eg__exchange_all(o, gradients, own, means)
                         : eg__parallel_tell(o, s.depth ? eg__no_memory(o->name, o->count) : eg__why());
    st = st ? st : step(o, means, NULL);
    free(means);
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
    return gradients ? step_in_hand(o, gradients, false) : eg__null_argument(o->name, "gradients");
}

/* ---- minimize ------------------------------------------------------------------------------ */

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
static eg_status use_gradients(const char *op, eg_optim *o, eg_tape tape, eg_tensor *loss, const eg__scaling *scaling,
                               bool gather)
{
    if (!o || !loss) {
        return eg__null_argument(op, o ? "loss" : "optim");
    }
    if (eg__check(loss, o->name, "loss") || eg__optim_takes_gradients(o->name, o)) {
        return eg__why();
    }
    eg_scope s = eg_scope_push();
    if (!s.depth) {
        return eg__why();
    }
    if (gather && eg__capture_stop(o->name, "it gathers gradients")) {
        eg_scope_pop(s, NULL);
        return eg__why();
    }
    const size_t bytes = (size_t)o->count * sizeof(eg_tensor *);
    eg_tensor **g = eg__malloc(bytes);
    eg_status st = g ? eg__optim_gradients(o, tape, loss, scaling, eg__exchanges(o) && !gather, g)
                     : eg__no_memory(o->name, (int64_t)bytes);
    st = st ? st : gather ? add_gathered(o, g) : step(o, g, scaling);
    free(g);
    eg_scope_pop(s, NULL);
    return st;
}

eg_status eg__optim_minimize(eg_optim *o, eg_tape tape, eg_tensor *loss, const eg__scaling *scaling)
{
    return use_gradients("eg_optim_minimize", o, tape, loss, scaling, false);
}

eg_status eg_optim_minimize(eg_optim *o, eg_tape tape, eg_tensor *loss)
{
    return eg__optim_minimize(o, tape, loss, NULL);
}

/* ---- gathering ----------------------------------------------------------------------------- */

eg_status eg_optim_backward(eg_optim *o, eg_tape tape, eg_tensor *loss)
{
    return use_gradients("eg_optim_backward", o, tape, loss, NULL, true);
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
    eg_status st = eg__capture_stop(o->name, "it has gathered gradients");
    st = st ? st : step_in_hand(o, o->gathered, true);
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

/* What became of pending steps, without taking note of it; false: unknown. */
static bool look(const eg_optim *o, double *gate)
{
    return o && o->pending && !eg_copy_out(o->gate, gate, EG__GATE_SIZE * sizeof *gate);
}

int eg_optim_count(const eg_optim *o)
{
    return o ? o->count : 0;
}

int64_t eg_optim_steps(const eg_optim *o)
{
    double gate[EG__GATE_SIZE];
    return !o ? 0 : look(o, gate) ? o->steps - lost_of(o, gate) : o->steps;
}

double eg_optim_grad_norm(const eg_optim *o)
{
    double gate[EG__GATE_SIZE];
    return !o ? (double)NAN : look(o, gate) ? gate[EG__GATE_NORM] : o->norm;
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
    eg_status st = eg__optim_treats_apart(op, o);
    st = st ? st : eg__clip_options(op, options, &clip_options);
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
    if (eg__optim_treats_apart(op, o)) {
        return eg__why();
    }
    o->max_value = max == 0 ? (double)INFINITY : max;
    return EG_OK;
}
