/* step.c - steps done again and again: what has been captured for which inputs. */
#include <egret/step.h>

#include <stdio.h>
#include <stdlib.h>

#include "lib/step/capture.h"
#include "lib/core/device.h"
#include "lib/core/live.h"
#include "lib/ops/options.h"
#include "lib/ops/optable.h"
#include "lib/step/plan.h"

enum { MOST = 16, FORMS = 32, WARMUP = 2, ATTEMPTS = 4 };

static const char me[] = "eg_step_run";

/* Inputs of one set of shapes, dtypes and orders of axes. */
typedef struct form {
    struct form *next;
    uint8_t autocast, math;
    int nin, nout, calls, attempts;
    bool eager;     /* it cannot be captured */
    bool captured;  /* what follows counts */
    uint64_t drawn; /* blocks of random numbers, each time */
    eg__capture capture;
    eg__plan *plan;                  /* on the CPU */
    eg_tensor *in[MOST], *out[MOST]; /* what the graph reads and writes, kept */
    eg__desc like[];                 /* the inputs, on the step's device */
} form;

struct eg_step {
    eg_step_fn *fn;
    void *user;
    eg_step_options options;
    eg_device *device; /* of the forms */
    eg_stream *stream; /* and their pool's */
    void *pool;
    eg__arena *arena; /* of all plans */
    form *forms;
    int nforms;
    eg_step_info info;
};

eg_step *eg_step_new_with(eg_step_fn *fn, void *user, const eg_step_options *options)
{
    static const char op[] = "eg_step_new";
    if (!fn) {
        return eg__null_argument(op, "fn"), NULL;
    }
    eg_step *s = eg__handle_new(sizeof *s);
    if (!s) {
        return eg__no_memory(op, sizeof *s), NULL;
    }
    *s = (eg_step){.fn = fn, .user = user};
    eg__options(&s->options, sizeof s->options, options);
    if (s->options.warmup < 0 || s->options.most < 0) {
        eg__fail(EG_EINVAL, op, "warmup is %d, most is %d; they must not be negative", s->options.warmup,
                 s->options.most);
        eg_step_free(s);
        return NULL;
    }
    s->options.warmup = s->options.warmup ? s->options.warmup : WARMUP;
    s->options.most = s->options.most ? s->options.most : FORMS;
    return s;
}

/* ---- forms ------------------------------------------------------------------------------------ */

static void form_forget(form *f)
{
    eg__capture_free(&f->capture);
    for (int i = 0; i < MOST; i++) {
        eg_release(f->in[i]);
        eg_release(f->out[i]);
        f->in[i] = f->out[i] = NULL;
    }
}

void eg_step_reset(eg_step *s)
{
    if (!s) {
        return;
    }
    while (s->forms) {
        form *f = s->forms;
        s->forms = f->next;
        form_forget(f);
        eg__plan_free(f->plan);
        free(f);
    }
    eg__arena_free(s->arena);
    s->arena = NULL;
    s->info.planned = 0;
    if (s->pool) {
        s->device->engine->graphs->pool_free(s->device, s->pool);
    }
    s->pool = s->stream = NULL;
    s->nforms = s->info.graphs = 0;
}

void eg_step_free(eg_step *s)
{
    if (eg__handle_ends(s, "eg_step_free")) {
        eg_step_reset(s);
        free(s);
    }
}

eg_step_info eg_step_stats(const eg_step *s)
{
    return s ? s->info : (eg_step_info){0};
}

/* As a tensor of it would be made. */
static eg__desc desc_of(const eg_tensor *t, const eg_device *d)
{
    eg__desc k;
    memset(&k, 0, sizeof k);
    eg__desc_like(&k, t);
    k.device = d->id;
    if (k.dense) {
        eg__desc_dense(&k);
    }
    return k;
}

static bool fits(const eg__desc *a, const eg__desc *b)
{
    size_t axes = a->ndim * sizeof *a->shape;
    return a->dtype == b->dtype && a->ndim == b->ndim && a->dense == b->dense && !memcmp(a->shape, b->shape, axes) &&
           (a->dense || !memcmp(a->strides, b->strides, axes));
}

/* The form of these inputs, made if it is new; NULL if there are too many or no memory: the call goes on. */
static form *form_of(eg_step *s, eg_tensor *const *in, int nin, int nout)
{
    const eg__thread *T = eg__thread_get();
    eg__desc like[MOST];
    for (int i = 0; i < nin; i++) {
        like[i] = desc_of(in[i], s->device);
    }
    for (form *f = s->forms; f; f = f->next) {
        bool same = f->nin == nin && f->nout == nout && f->autocast == T->autocast && f->math == T->math;
        for (int i = 0; i < nin && same; i++) {
            same = fits(&f->like[i], &like[i]);
        }
        if (same) {
            return f;
        }
    }
    const size_t bytes = sizeof(form) + (size_t)nin * sizeof *like;
    form *f = s->nforms < s->options.most ? eg__malloc(bytes) : NULL;
    if (f) {
        memset(f, 0, sizeof *f);
        memcpy(f->like, like, (size_t)nin * sizeof *like);
        f->autocast = T->autocast;
        f->math = T->math;
        f->nin = nin;
        f->nout = nout;
        f->next = s->forms;
        s->forms = f;
        s->nforms++;
    }
    return f;
}

/* ---- calling ---------------------------------------------------------------------------------- */

static eg_status ask(eg_step *s, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    eg_error before;
    eg__user_begin(&before);
    return eg__user_end(&before, s->fn(s->user, in, nin, out, nout), me, "function");
}

/* The function as it is; its results move out. */
static eg_status call(eg_step *s, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    eg_tensor *use[MOST];
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? EG_OK : eg__why();
    for (int i = 0; i < nin && !st; i++) {
        use[i] = eg_to(in[i], s->device);
        st = use[i] ? EG_OK : eg__why();
    }
    s->info.calls++;
    st = st ? st : ask(s, use, nin, out, nout);
    for (int j = 0; st && j < nout; j++) {
        out[j] = NULL;
    }
    return scope.depth && eg_scope_pop_n(scope, out, nout) ? eg__why() : st;
}

static eg_status copy_in(const form *f, eg_tensor *const *in)
{
    eg_status st = EG_OK;
    for (int i = 0; i < f->nin && !st; i++) {
        eg_scope scope = eg_scope_push();
        eg_tensor *x = in[i];
        if (!x->device && x->n) { /* straight to where it is read */
            eg_tensor *packed = x->flags & EG__PACKED ? x : eg_contiguous(x);
            st = packed ? eg__upload(me, eg__thread_get(), f->in[i], eg__ptr(packed), (size_t)x->n * eg__esize(x))
                        : eg__why();
        } else if (x->n) {
            x = eg_to(x, eg__device(f->in[i]));
            st = x ? eg__run(&eg__op_copy, &x, 1, &(eg__copy_opts){EG__TO_DENSE}, f->in[i]) : eg__why();
        }
        eg_scope_pop(scope, NULL);
    }
    return st;
}

/* Copies of what a graph computed. */
static eg_status copy_out(const form *f, eg_tensor **out)
{
    eg_status st = EG_OK;
    for (int j = 0; j < f->nout && !st; j++) {
        out[j] = f->out[j] ? eg_copy(f->out[j]) : NULL;
        st = out[j] || !f->out[j] ? EG_OK : eg__why();
    }
    return st;
}

static eg_status replay(eg_step *s, form *f, eg_tensor *const *in, eg_tensor **out)
{
    eg__thread *T = eg__thread_get();
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? copy_in(f, in) : eg__why();
    st = st ? st : eg__capture_again(&f->capture);
    if (!st) {
        T->random.offset += f->drawn;
        s->info.replays++;
        st = copy_out(f, out);
    }
    for (int j = 0; st && j < f->nout; j++) {
        out[j] = NULL;
    }
    return scope.depth && eg_scope_pop_n(scope, out, f->nout) ? eg__why() : st;
}

/* ---- capturing -------------------------------------------------------------------------------- */

static void say(eg_step *s, const char *op, const char *why)
{
    s->info.op = op;
    s->info.why = why;
    eg__log(EG__DEBUG_STEP, op, "a step is not captured: %s", why);
}

static eg_status make_inputs(form *f, eg_tensor *const *in)
{
    for (int i = 0; i < f->nin; i++) {
        eg_release(f->in[i]);
        if (!(f->in[i] = eg_keep(eg__new(&f->like[i], me, EG__ID_copy)))) {
            return eg__why();
        }
    }
    return copy_in(f, in);
}

/* The function, while all it queues is captured. What it leaves goes to f->out, kept; unless the capture was
 * stopped, it is still to be launched. */
static eg_status record(eg_step *s, form *f)
{
    eg__thread *T = eg__thread_get();
    eg_tensor *out[MOST] = {NULL};
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? EG_OK : eg__why();
    s->info.calls++;
    st = st ? st : ask(s, f->in, f->nin, out, f->nout);
    for (int j = 0; j < f->nout && !st; j++) {
        f->out[j] = eg_keep(out[j]);
    }
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    if (st && T->capture) {
        eg_error why = T->error;
        st = eg__capture_stop(me, NULL) ? eg__why() : st;
        T->error = why;
    }
    return st;
}

/* Whether all that it made is gone but its results. Those count as written. */
static eg_status closed(const eg_step *s, form *f)
{
    eg__capture *c = &f->capture;
    eg__storages held = {0};
    eg_status st = EG_OK;
    for (const form *g = s->forms; g && !st; g = g->next) {
        for (int j = 0; j < g->nout && !st; j++) {
            eg__storage *out = g->out[j] && g->out[j]->device ? g->out[j]->storage : NULL;
            st = out && !eg__storages_add(&held, out) ? eg__no_memory(me, 0) : EG_OK;
            st = out && g == f && !st ? eg__capture_uses(c, out, true) : st;
        }
    }
    int left = st ? -1 : c->device->engine->graphs->left(c, &held);
    eg__storages_drop(&held);
    return left < 0 ? st : eg__capture_stop(eg__ops[left]->name, "what it made in the step outlives it");
}

/* The capture is over: complete, stopped, or lost. */
static void conclude(eg_step *s, form *f, uint64_t drawn)
{
    eg__capture *c = &f->capture;
    s->pool = c->pool;
    s->stream = c->stream ? c->stream : s->stream;
    if (!c->op && !c->lost) {
        f->captured = true;
        f->drawn = drawn;
        s->info.graphs++;
        eg__capture_tidy(c);
        return;
    }
    f->eager = c->lost || c->why || ++f->attempts == ATTEMPTS;
    if (f->eager) {
        say(s, c->op ? c->op : me,
            c->lost  ? "the driver refuses"
            : c->why ? c->why
                     : "it has to look at the device too often");
    }
}

static eg_status capture(eg_step *s, form *f, eg_tensor *const *in, eg_tensor **out)
{
    eg__thread *T = eg__thread_get();
    eg__capture *c = &f->capture;
    const eg_error before = T->error;
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? make_inputs(f, in) : eg__why();
    st = st ? st : eg__capture_begin(c, s->device, s->pool);
    if (st) {
        c->lost = st;
        c->pool = s->pool;
    } else {
        st = record(s, f);
        st = !st && T->capture ? closed(s, f) : st;
        if (T->capture) {
            st = eg__capture_end(c);
            st = st ? st : eg__capture_launch(c, c->from);
        }
        if (c->lost) { /* as if it had not been called */
            eg__capture_undo(c);
        }
    }
    conclude(s, f, T->random.offset - c->from.offset);
    st = st || c->lost ? st : copy_out(f, out);
    const bool lost = c->lost;
    if (!f->captured) {
        form_forget(f);
    }
    for (int j = 0; st && j < f->nout; j++) {
        out[j] = NULL;
    }
    if (scope.depth && eg_scope_pop_n(scope, out, f->nout)) {
        return eg__why();
    }
    if (!lost) {
        return st;
    }
    T->error = before;
    return call(s, in, f->nin, out, f->nout);
}

/* ---- on the CPU -------------------------------------------------------------------------------- */

/* Sees to it that the arena has so many bytes. */
static bool make_room(eg_step *s, size_t bytes)
{
    if (eg__arena_bytes(s->arena) < bytes) {
        eg__arena_free(s->arena);
        eg_memory_trim(); /* of what the recorded call took */
        s->arena = eg__arena_new(bytes);
        s->info.planned = (int64_t)eg__arena_bytes(s->arena);
    }
    return s->arena != NULL;
}

/* The call after warming up is recorded, later ones follow the plan. One that turns out otherwise is recorded
 * again the next time, a few times. */
static eg_status planned(eg_step *s, form *f, eg_tensor *const *in, eg_tensor **out)
{
    f->plan = f->plan ? f->plan : eg__plan_new();
    bool record = f->plan && !f->captured, follow = f->captured && eg__plan_begin(f->plan, s->arena);
    if (record) {
        eg__plan_record(f->plan);
    }
    eg_status st = call(s, in, f->nin, out, f->nout);
    size_t bytes = record || follow ? eg__plan_end(f->plan) : 0;
    if (record) {
        f->captured = bytes && make_room(s, bytes);
        f->eager = !bytes;
    } else if (follow) {
        f->captured = bytes != 0;
    }
    f->eager |= !f->captured && ++f->attempts == ATTEMPTS;
    return st;
}

/* ---- the step --------------------------------------------------------------------------------- */

static eg_status check(const eg_step *s, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    if (!s || (nin && !in) || (nout && !out)) {
        return eg__null_argument(me, !s ? "step" : nin && !in ? "in" : "out");
    }
    if (nin < 0 || nin > MOST || nout < 0 || nout > MOST) {
        return eg__fail(EG_EINVAL, me, "%d inputs and %d results, 0..%d are possible", nin, nout, MOST);
    }
    for (int j = 0; j < nout; j++) {
        out[j] = NULL;
    }
    for (int i = 0; i < nin; i++) {
        if (eg__check(in[i], me, "an input")) {
            return eg__why();
        }
    }
    return EG_OK;
}

/* Where it runs; what was captured elsewhere is forgotten. */
static eg_status choose_device(eg_step *s)
{
    eg__thread *T = eg__thread_get();
    int id = s->options.device ? s->options.device->id : eg__default_device(T, me);
    if (id < 0) {
        return eg__why();
    }
    if (s->device != eg__devices[id] || (id && s->stream && T->lane[id].now != s->stream)) {
        eg_step_reset(s);
        s->device = eg__devices[id];
    }
    return EG_OK;
}

eg_status eg_step_run(eg_step *s, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    if (check(s, in, nin, out, nout) || choose_device(s)) {
        return eg__why();
    }
    eg__thread *T = eg__thread_get();
    const uint32_t watched = EG__DEBUG_OPS | EG__DEBUG_NAN | EG__DEBUG_SYNC | EG__MODE_PROFILE | EG__MODE_CAPTURE;
    bool plain = s->options.eager || T->record->recording || T->placer || eg__mode(T) & watched;
    form *f = plain ? NULL : form_of(s, in, nin, nout);
    if (!f || f->eager || f->calls < s->options.warmup) {
        if (f) {
            f->calls++;
        }
        return call(s, in, nin, out, nout);
    }
    return !s->device->engine->graphs ? planned(s, f, in, out)
           : f->captured              ? replay(s, f, in, out)
                                      : capture(s, f, in, out);
}
