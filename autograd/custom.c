/* custom.c - ops that are not in the table: the user's own, and checkpoints. Both run unrecorded and leave
 * one entry whose rule asks again. */
#include "autograd/record.h"

enum { MAX_INPUTS = EG__MAX_SAVED_IN };

/* Entries of these ops save all their inputs. */
#define EACH_INPUT(bits)                                                                               \
    {                                                                                                  \
        bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits \
    }

static eg_status check_inputs(const char *name, eg_tensor *const *inputs, int n)
{
    if (n < 1 || n > MAX_INPUTS) {
        return eg__fail(EG_EINVAL, name, "%d inputs given, 1..%d are possible", n, MAX_INPUTS);
    }
    if (!inputs) {
        return eg__null_argument(name, "inputs");
    }
    for (int i = 0; i < n; i++) {
        if (eg__check(inputs[i], name, "an input")) {
            return eg__why();
        }
    }
    return EG_OK;
}

eg_tensor *eg__ask(eg_function f, eg_tensor *const *inputs, int n, void *user, const char *op, const char *what)
{
    eg_error before;
    eg__user_begin(&before);
    eg_tensor *y = f(inputs, n, user);
    eg__user_end(&before, y ? EG_OK : EG_EUSER, op, what);
    return y;
}

/* One entry for y = op(inputs). */
static eg_status leave_entry(eg__thread *T, const eg__free_op *op, eg_tensor *const *inputs, int n, const void *opts,
                             eg_tensor *y)
{
    eg_tensor *in[MAX_INPUTS];
    memcpy(in, inputs, (size_t)n * sizeof *in);
    eg__call c = {.op = &op->op, .T = T, .in = in, .nin = n, .opts = opts, .out = {y}};
    return eg__append(T, &c, op->rule) ? EG_OK : eg__no_memory(op->op.name, 0);
}

/* ---- eg_custom ------------------------------------------------------------------------------- */

typedef struct custom_opts {
    const eg_custom_op *user;
} custom_opts;

static eg_status custom_rule(eg__walk *w)
{
    const eg_custom_op *user = ((const custom_opts *)w->opts)->user;
    eg_tensor *in[MAX_INPUTS], *dx[MAX_INPUTS] = {NULL};
    unsigned needed = 0;
    eg_tensor *y = eg__saved_out(w, 0);
    for (int i = 0; i < w->e->nin; i++) {
        if (!(in[i] = eg__saved_in(w, i))) {
            return eg__why();
        }
        needed |= eg__needs(w, i) ? 1u << i : 0;
    }
    if (!y) {
        return eg__why();
    }
    eg_error before;
    eg__user_begin(&before);
    eg_status st = user->backward(in, w->e->nin, y, eg__dy(w, 0), needed, dx, user->user);
    st = eg__user_end(&before, st, user->name, "backward");
    if (st) {
        return st;
    }
    for (int i = 0; i < w->e->nin && !w->status; i++) {
        if (!(needed >> i & 1) || !dx[i]) {
            continue;
        }
        if (eg__check(dx[i], user->name, "a gradient")) {
            return eg__why();
        }
        if (!eg__same_shape(dx[i], in[i])) {
            return eg__fail(EG_EUSER, user->name, "backward gave %s for input %d of shape %s", EG__SHAPE_OF(dx[i]), i,
                            EG__SHAPE_OF(in[i]));
        }
        eg__give(w, i, dx[i]);
    }
    return w->status;
}

static const eg__free_op custom_op = {{.name = "custom",
                                       .id = EG__OP_COUNT,
                                       .opts_size = sizeof(custom_opts),
                                       .nin_max = MAX_INPUTS,
                                       .nout = 1,
                                       .saves = EACH_INPUT(0xffffu | EG__OUT(0))},
                                      custom_rule};

eg_tensor *eg_custom(const eg_custom_op *op, eg_tensor *const *inputs, int n)
{
    eg__thread *T = eg__thread_get();
    if (!op || !op->forward || !op->backward || !op->name) {
        return eg__fail_null(EG_EINVAL, "eg_custom", "needs a name, a forward and a backward");
    }
    if (check_inputs(op->name, inputs, n)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg__recording *R = T->record;
    const int recording = R->recording;
    if (recording) {
        R->recording = 0;
    }
    /* A header of its own, in case the function returned an input. */
    eg_tensor *y = eg__ask(op->forward, inputs, n, op->user, op->name, "forward");
    y = y ? eg_detach(y) : NULL;
    if (recording) {
        R->recording = recording;
    }
    eg_status st = y ? EG_OK : eg__why();
    if (!st && recording && eg__is_float(y->dtype)) {
        st = leave_entry(T, &custom_op, inputs, n, &(custom_opts){op}, y);
    }
    return eg_scope_pop(s, st ? NULL : y);
}

/* ---- eg_checkpoint --------------------------------------------------------------------------- */

/* Returns whether no earlier input is the same tensor. A tensor given several times has one gradient, the sum over all
 * uses. */
static bool first_of_its_tensor(eg_tensor *const *in, int i)
{
    int j = 0;
    while (in[j] != in[i]) {
        j++;
    }
    return j == i;
}

typedef struct checkpoint_opts {
    eg_tensor *(*f)(eg_tensor *const *inputs, int n, void *user);
    void *user;
    int n; /* inputs of f; what follows was read from outside */
    eg_random_state random;
    uint8_t autocast;
} checkpoint_opts;

static eg_status checkpoint_rule(eg__walk *w)
{
    const checkpoint_opts *o = w->opts;
    eg_tensor *in[MAX_INPUTS], *wanted[MAX_INPUTS], *g[MAX_INPUTS];
    int which[MAX_INPUTS], n = 0;
    eg_tape tape = eg_tape_open();
    for (int i = 0; i < w->e->nin; i++) {
        if (!(in[i] = eg__saved_in(w, i))) {
            return eg__why();
        }
        if (eg__needs(w, i) && first_of_its_tensor(in, i)) {
            if (eg_tape_watch(tape, in[i])) {
                return eg__why();
            }
            which[n] = i;
            wanted[n++] = in[i];
        }
    }
    eg_random_state now = eg_random_get_state();
    eg_random_set_state(o->random);
    w->T->autocast = o->autocast;
    eg_tensor *y = eg__ask(o->f, in, o->n, o->user, "checkpoint", "function");
    w->T->autocast = EG_F32;
    eg_random_set_state(now);
    if (!y) {
        return eg__why();
    }
    if (eg_tape_gradients(tape, y, wanted, n, g, .dy = eg__dy(w, 0), .null_unconnected = true)) {
        return eg__why();
    }
    for (int k = 0; k < n && !w->status; k++) {
        if (g[k]) {
            eg__give(w, which[k], g[k]);
        }
    }
    return w->status;
}

static const eg__free_op checkpoint_op = {{.name = "checkpoint",
                                           .id = EG__OP_COUNT,
                                           .opts_size = sizeof(checkpoint_opts),
                                           .nin_max = MAX_INPUTS,
                                           .nout = 1,
                                           .saves = EACH_INPUT(0xffffu)},
                                          checkpoint_rule};

/* What the segment read: the inputs, then tensors from outside it. */
static eg_status gather_inputs(const eg__collect *k, eg_tensor *const *inputs, int n, eg_tensor **all, int *count)
{
    memcpy(all, inputs, (size_t)n * sizeof *all);
    *count = n;
    for (int i = 0; i < k->count; i++) {
        bool known = false;
        for (int j = 0; j < n; j++) {
            known |= inputs[j] == k->tensors[i];
        }
        if (!known && *count < MAX_INPUTS) {
            all[(*count)++] = k->tensors[i];
        } else if (!known) {
            return eg__fail(EG_EINVAL, "checkpoint", "more than %d inputs and parameters inside", MAX_INPUTS);
        }
    }
    return k->full ? eg__fail(EG_EINVAL, "checkpoint", "more than %d parameters inside", MAX_INPUTS) : EG_OK;
}

/* Returns whether y was recorded as a result from slot `start` on: not an input, not a tensor from outside, and
 * dependent on tracked tensors. */
static bool computed_since(eg__thread *T, const eg_tensor *y, uint64_t start)
{
    const uint64_t slot = atomic_load_explicit(&y->slot, memory_order_relaxed);
    return eg__live_slot(T->record, slot) && slot >= start && !T->record->by->knows(T, y);
}

eg_tensor *eg_checkpoint(eg_tensor *(*f)(eg_tensor *const *inputs, int n, void *user), eg_tensor *const *inputs, int n,
                         void *user)
{
    eg__thread *T = eg__thread_get();
    eg__record *R = eg__record_of(T);
    if (!f) {
        return eg__null_argument("checkpoint", "f"), NULL;
    }
    if (check_inputs("checkpoint", inputs, n)) {
        return NULL;
    }
    checkpoint_opts o = {f, user, n, eg_random_get_state(), T->autocast};
    if (!T->record->recording) {
        return eg__ask(f, inputs, n, user, "checkpoint", "function");
    }
    /* Record the segment only to learn what it reads from outside, then forget it. */
    eg_scope s = eg_scope_push();
    eg__collect k = {.start = R->now.next}, *outer = R->collect;
    R->collect = &k;
    eg_tensor *y = eg__ask(f, inputs, n, user, "checkpoint", "function");
    R->collect = outer;
    const bool computed = y && computed_since(T, y, k.start);
    eg__truncate(T, k.start);
    if (!computed) {
        return eg_scope_pop(s, y);
    }
    eg_tensor *all[MAX_INPUTS];
    int count = 0;
    eg_status st = gather_inputs(&k, inputs, n, all, &count);
    y = st ? NULL : eg_detach(y);
    st = y ? leave_entry(T, &checkpoint_op, all, count, &o, y) : eg__why();
    return eg_scope_pop(s, st ? NULL : y);
}
