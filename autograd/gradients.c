/* gradients.c - the walk: mark backwards what y depends on, forwards what the xs reach, then run the
 * rules backwards over the entries on a path between them. */
#include "autograd/record.h"
#include "lib/core/device.h"
#include "lib/core/follower.h"
#include "lib/ops/options.h"
#include "lib/trace/profile.h"

static const char me[] = "eg_tape_gradients";

enum { FROM_Y = 1, TO_X = 2, IS_X = 4 };

/* ---- tables ---------------------------------------------------------------------------------- */

static void add_older(eg__walk *w, uint64_t slot)
{
    uint32_t h = eg__slot_hash(slot) & w->hash_mask;
    while (w->key[h] && w->key[h] != slot) {
        h = (h + 1) & w->hash_mask;
    }
    if (!w->key[h]) {
        w->key[h] = slot;
        w->value[h] = w->nolder++;
    }
}

/* ---- what rules use -------------------------------------------------------------------------- */

bool eg__needs(const eg__walk *w, int i)
{
    if (i >= w->e->nin || !w->e->in[i].slot) {
        return false;
    }
    int64_t k = eg__walk_index(w, w->e->in[i].slot);
    return k >= 0 && w->mark[k] & TO_X;
}

void eg__widen(eg__walk *w)
{
    for (int i = 0; i < w->e->nin && !w->wide; i++) {
        if (unlikely(eg__is_half(w->e->in[i].dtype))) {
            w->wide = true;
            memset(w->wide_save, 0, sizeof w->wide_save);
            memset(w->wide_dy, 0, sizeof w->wide_dy);
        }
    }
}

/* t, or f32 instead of a half, converted once. */
static eg_tensor *widened(eg_tensor *t, eg_tensor **once)
{
    if (t && eg__is_half(t->dtype)) {
        *once = *once ? *once : eg_cast(t, EG_F32);
        t = *once;
    }
    return t;
}

static eg_tensor *saved(eg__walk *w, uint32_t which)
{
    const eg__entry *e = w->e;
    for (int k = 0; k < e->nsave; k++) {
        if (e->save[k].which == which) {
            eg_tensor *t = e->save[k].t;
            if (likely(atomic_load_explicit(&t->storage->version, memory_order_relaxed) == e->save[k].version)) {
                return unlikely(w->wide) ? widened(t, &w->wide_save[k]) : t;
            }
            const char *wrote = atomic_load_explicit(&t->storage->wrote, memory_order_relaxed);
            return eg__fail_null(EG_ESTATE, me,
                                 "%s saved a tensor that %s changed in place "
                                 "afterwards",
                                 e->op->name, wrote ? wrote : "something");
        }
    }
    return eg__fail_null(EG_EINVAL, e->op->name, "its row does not save what its gradient asks for");
}

eg_tensor *eg__saved_in(eg__walk *w, int i)
{
    return saved(w, EG__IN(i));
}

eg_tensor *eg__saved_out(eg__walk *w, int j)
{
    return saved(w, EG__OUT(j));
}

eg_tensor *eg__dy_or_null(eg__walk *w, int j)
{
    eg_tensor *dy = w->grad[w->e->out + (uint64_t)j - w->start];
    return unlikely(w->wide) ? widened(dy, &w->wide_dy[j]) : dy;
}

eg_tensor *eg__dy(eg__walk *w, int j)
{
    eg_tensor *dy = eg__dy_or_null(w, j);
    if (dy || !w->e->out_desc) {
        return dy;
    }
    const eg__desc *d = &w->e->out_desc[j];
    eg_shape s = {.ndim = d->ndim};
    memcpy(s.dim, d->shape, sizeof s.dim);
    return eg__full_on(d->device, s, 0, (eg_dtype)d->dtype);
}

eg_shape eg__in_shape(const eg__walk *w, int i)
{
    const eg__edge *in = &w->e->in[i];
    eg_shape s = {.ndim = in->ndim};
    const int64_t *from = in->shape        ? in->shape
                          : w->e->out_desc ? w->e->out_desc[0].shape
                                           : w->grad[w->e->out - w->start]->shape;
    memcpy(s.dim, from, in->ndim * sizeof *from);
    return s;
}

eg_dtype eg__in_dtype(const eg__walk *w, int i)
{
    return (eg_dtype)w->e->in[i].dtype;
}

static bool has_shape(const eg_tensor *t, const eg_shape *s)
{
    return t->ndim == s->ndim && !memcmp(t->shape, s->dim, t->ndim * sizeof *t->shape);
}

eg_tensor *eg__sum_to(eg_tensor *g, eg_shape shape)
{
    eg_reduce_options o = {.size = sizeof o, .keepdim = true};
    if (!g || has_shape(g, &shape)) {
        return g;
    }
    int lead = g->ndim - shape.ndim;
    for (int d = 0; d < g->ndim; d++) {
        if (d < lead || (shape.dim[d - lead] == 1 && g->shape[d] != 1)) {
            o.axes.axis[o.axes.count++] = d;
        }
    }
    g = o.axes.count ? eg_sum_with(g, &o) : g;
    return lead && g ? eg_reshape(g, shape) : g;
}

/* A fresh result on top of the rule's scope moves into the table without touching its count. */
static inline void take(eg__thread *T, eg_tensor *g)
{
    uint32_t low = T->scopes[T->nscopes - 1].own;
    if (T->nown > low && T->own[T->nown - 1] == g) {
        T->nown--;
    } else {
        eg__ref_inc(&g->refs);
    }
}

/* Whether nothing else can see the gradient, so that it may be added to in place. */
static inline bool sole(const eg__thread *T, eg_tensor *g)
{
    return !T->record->recording && eg__ref_get(&g->refs) == 1 && eg__ref_get(&g->storage->refs) == 1 &&
           g->flags & EG__PACKED;
}

eg_status eg__give(eg__walk *w, int i, eg_tensor *g)
{
    eg__thread *T = w->T;
    if (unlikely(!g)) {
        return w->status = eg__why();
    }
    const eg__edge *in = &w->e->in[i];
    if (unlikely(in->shape || g->ndim != in->ndim || w->e->op->nout > 1)) {
        eg_shape s = eg__in_shape(w, i);
        if (!has_shape(g, &s)) {
            if (!(w->e->op->flags & EG__POINTWISE)) {
                return w->status =
                           eg__fail(EG_EUSER, w->e->op->name, "the gradient of input %d has shape %s, the input %s", i,
                                    EG__SHAPE_OF(g), eg__shape_text(s.ndim, s.dim).s);
            }
            g = eg__sum_to(g, s);
        }
    }
    if (g && unlikely(g->dtype != in->dtype)) {
        g = eg_cast(g, (eg_dtype)in->dtype);
    }
    if (g && unlikely(g->device != in->device)) {
        g = eg_to(g, eg__devices[in->device]);
    }
    if (unlikely(!g)) {
        return w->status = eg__why();
    }
    eg_tensor **p = &w->grad[eg__walk_index(w, in->slot)], *old = *p;
    if (!old) {
        take(T, g);
        *p = g;
        return EG_OK;
    }
    if (sole(T, old)) {
        eg_status st = eg__run(&eg__op_add, (eg_tensor *[]){old, g}, 2, NULL, old);
        return st ? (w->status = st) : EG_OK;
    }
    eg_tensor *s = eg_add(old, g);
    if (!s) {
        return w->status = eg__why();
    }
    take(T, s);
    eg__unref(T, old);
    *p = s;
    return EG_OK;
}

/* Whether y += a b can be left to the kernel: matrices of one float dtype, batched alike or b for all. Debug words
 * that look at each op's result see the product by itself. */
static bool adds_product(eg__thread *T, const eg_tensor *y, const eg_tensor *a, const eg_tensor *b)
{
    bool seen = eg__mode(T) & (EG__DEBUG_OPS | EG__DEBUG_NAN);
    if (seen || (y->dtype != EG_F32 && y->dtype != EG_F64) || a->dtype != y->dtype || b->dtype != y->dtype ||
        !(y->flags & EG__DENSE) || y->ndim != a->ndim || (b->ndim != 2 && b->ndim != a->ndim)) {
        return false;
    }
    for (int d = 0; d < y->ndim - 2; d++) {
        if (y->shape[d] != a->shape[d] || (b->ndim > 2 && y->shape[d] != b->shape[d])) {
            return false;
        }
    }
    return y->shape[y->ndim - 2] == a->shape[a->ndim - 2] && y->shape[y->ndim - 1] == b->shape[b->ndim - 1];
}

eg_status eg__give_product(eg__walk *w, int i, eg_tensor *a, eg_tensor *b)
{
    eg_tensor *y = w->grad[eg__walk_index(w, w->e->in[i].slot)];
    if (y && a && b && sole(w->T, y) && adds_product(w->T, y, a, b)) {
        const eg__matmul_opts add = {.add = true};
        eg_status st = eg__run(&eg__op_matmul, (eg_tensor *[]){a, b}, 2, &add, y);
        return st ? (w->status = st) : EG_OK;
    }
    return eg__give(w, i, eg_matmul(a, b));
}

eg_status eg__give_slice(eg__walk *w, int i, eg_tensor *g, const eg__slice_opts *o)
{
    eg_tensor *all = w->grad[eg__walk_index(w, w->e->in[i].slot)];
    if (all && g && g->dtype == all->dtype && sole(w->T, all)) {
        /* The parts of a sequence, one after the other: only the first fills zeros in between. */
        eg_tensor part = *all;
        part.offset += o->count ? o->start * part.strides[o->axis] : 0;
        part.strides[o->axis] *= o->step;
        part.shape[o->axis] = o->count;
        part.n = g->n;
        part.flags = eg__layout_flags(part.ndim, part.shape, part.strides);
        eg_tensor *in[2] = {&part, g};
        eg_status st = g->n ? eg__run(&eg__op_add, in, 2, NULL, &part) : EG_OK;
        return st ? (w->status = st) : EG_OK;
    }
    eg__slice_grad_opts wide = {*o, eg__in_shape(w, i).dim[o->axis]};
    return eg__give(w, i, eg__op1(&eg__op_slice_grad, g, &wide));
}

/* ---- before the walk --------------------------------------------------------------------------- */

typedef struct question {
    eg__tape_state *tape;
    int index;
    eg_tensor *y, *const *xs;
    int n;
    eg_gradients_options o;
} question;

static uint64_t slot_now(eg__thread *T, eg_tensor *t)
{
    bool no_memory = false;
    return eg__slot_of(T, t, &no_memory);
}

/* Refuses before anything changes. */
static eg_status validate(eg__thread *T, const question *q)
{
    const eg__record *R = eg__record_of(T);
    const eg_tensor *y = q->y, *dy = q->o.dy;
    uint64_t slot = atomic_load_explicit(&y->slot, memory_order_relaxed);
    if (!eg__live_slot(&R->now, slot) || slot < q->tape->start || (!q->tape->recording && slot >= q->tape->end)) {
        return eg__fail(EG_ESTATE, me,
                        "y was not computed from anything watched while this tape "
                        "recorded");
    }
    if (!dy && y->n != 1) {
        return eg__fail(EG_ESHAPE, me, "y has shape %s: sum it, or give .dy", EG__SHAPE_OF(y));
    }
    if (dy && (eg__check(dy, me, ".dy"))) {
        return eg__why();
    }
    if (dy && (!eg__same_shape(dy, y) || dy->dtype != y->dtype)) {
        return eg__fail(EG_ESHAPE, me, ".dy is %s %s, y is %s %s", eg_dtype_name((eg_dtype)dy->dtype), EG__SHAPE_OF(dy),
                        eg_dtype_name((eg_dtype)y->dtype), EG__SHAPE_OF(y));
    }
    for (int i = 0; i < q->n; i++) {
        if (eg__check(q->xs[i], me, "an x")) {
            return eg__why();
        }
        bool no_memory = false;
        if (!eg__slot_of(T, q->xs[i], &no_memory)) {
            return no_memory ? eg__no_memory(me, 0)
                             : eg__fail(EG_ESTATE, me, "xs[%d] %s was never watched", i, EG__SHAPE_OF(q->xs[i]));
        }
    }
    return EG_OK;
}

static void stop_recording(eg__record *R, eg__tape_state *t)
{
    if (t->recording) {
        t->recording = false;
        R->now.recording--;
        t->end = R->now.next;
        t->last = R->tail && R->tail->out >= t->start ? R->tail : NULL;
    }
}

/* Sizes and clears the tables, and marks the xs. */
static void *make_tables(eg__walk *w, const question *q, uint16_t *cls)
{
    uint32_t older = 0;
    for (int i = 0; i < q->n; i++) {
        older += slot_now(w->T, q->xs[i]) - w->start >= w->end - w->start;
    }
    uint32_t capacity = older ? 4 : 0;
    while (capacity < 2 * older) {
        capacity *= 2;
    }
    size_t total = (size_t)w->nslots + older;
    size_t bytes = total * (sizeof *w->grad + 1) + capacity * (sizeof *w->key + sizeof *w->value);
    char *p = eg__block_alloc(w->T, bytes + 1, cls);
    if (!p) {
        return NULL;
    }
    memset(p, 0, bytes);
    w->grad = (eg_tensor **)p;
    w->key = (uint64_t *)(w->grad + total);
    w->value = (int32_t *)(w->key + capacity);
    w->mark = (uint8_t *)(w->value + capacity);
    w->hash_mask = capacity - 1;
    for (int i = 0; i < q->n; i++) {
        uint64_t s = slot_now(w->T, q->xs[i]);
        if (s - w->start >= w->end - w->start) {
            add_older(w, s);
        }
        w->mark[eg__walk_index(w, s)] |= TO_X | IS_X;
    }
    return p;
}

static unsigned marks_of(const eg__walk *w, const eg__entry *e)
{
    unsigned m = 0;
    for (int j = 0; j < e->nout; j++) {
        m |= w->mark[e->out + (uint64_t)j - w->start];
    }
    return m;
}

/* Backwards from y, then forwards from the xs; an entry is on a path when both meet in an input. */
static eg__entry *mark_paths(eg__walk *w, eg__entry *last)
{
    eg__entry *first = NULL;
    for (eg__entry *e = last; e && e->out >= w->start; first = e, e = e->prev) {
        if (marks_of(w, e) & FROM_Y) {
            for (int i = 0; i < e->nin; i++) {
                int64_t k = eg__walk_index(w, e->in[i].slot);
                if (k >= 0) {
                    w->mark[k] |= FROM_Y;
                }
            }
        }
    }
    for (eg__entry *e = first; e && e->out < w->end; e = e->next) {
        if (!(marks_of(w, e) & FROM_Y)) {
            continue;
        }
        for (int i = 0; i < e->nin; i++) {
            int64_t k = eg__walk_index(w, e->in[i].slot);
            if (k >= 0 && w->mark[k] & TO_X) {
                for (int j = 0; j < e->nout; j++) {
                    w->mark[e->out + (uint64_t)j - w->start] |= TO_X;
                }
                break;
            }
        }
    }
    return first;
}

static bool leads_to_x(const eg__walk *w, const eg__entry *e)
{
    for (int i = 0; i < e->nin; i++) {
        int64_t k = eg__walk_index(w, e->in[i].slot);
        if (k >= 0 && w->mark[k] & TO_X) {
            return true;
        }
    }
    return false;
}

static bool has_gradient(const eg__walk *w, const eg__entry *e)
{
    for (int j = 0; j < e->nout; j++) {
        if (w->grad[e->out + (uint64_t)j - w->start]) {
            return true;
        }
    }
    return false;
}

/* ---- the walk ---------------------------------------------------------------------------------- */

static eg_status seed(eg__walk *w, const question *q)
{
    eg_scope s = eg_scope_push();
    if (!s.depth) {
        return eg__why();
    }
    eg_tensor *dy = q->o.dy ? q->o.dy : eg_ones_like(q->y);
    if (dy) {
        eg__ref_inc(&dy->refs);
        w->grad[q->y->slot - w->start] = dy;
    }
    eg_scope_pop(s, NULL);
    return dy ? EG_OK : eg__why();
}

static EG__COLD eg_status profiled_rule(eg__walk *w)
{
    eg__profile_rule r = eg__profile_rule_begin(w->e->op->name);
    eg_status st = w->e->rule(w);
    eg__profile_rule_end(r);
    return st;
}

static eg_status run_rule(eg__walk *w, const eg__entry *e)
{
    eg_scope s = eg_scope_push();
    if (unlikely(!s.depth)) {
        return eg__why();
    }
    w->e = e;
    w->opts = e->opts;
    w->status = EG_OK;
    w->wide = false;
    eg_status st = likely(!(eg__mode(w->T) & EG__MODE_PROFILE)) ? e->rule(w) : profiled_rule(w);
    st = st ? st : w->status;
    eg_scope_pop(s, NULL);
    return st;
}

static eg_status walk_back(eg__walk *w, eg__entry *last, bool free_saves)
{
    eg_status st = EG_OK;
    for (eg__entry *e = last; e && e->out >= w->start; e = e->prev) {
        if (!st && has_gradient(w, e) && leads_to_x(w, e)) {
            st = run_rule(w, e);
        }
        if (!st && unlikely(w->ready != NULL)) {
            st = eg__ready_after(w, e);
        }
        for (int j = 0; j < e->nout; j++) {
            int64_t k = (int64_t)(e->out - w->start) + j;
            if (w->grad[k] && !(w->mark[k] & IS_X)) {
                eg__unref(w->T, w->grad[k]);
                w->grad[k] = NULL;
            }
        }
        if (free_saves) {
            eg__drop_saves(w->T, e);
        }
    }
    return st;
}

eg_tensor *eg__hand_over(eg__walk *w, int64_t k)
{
    eg__thread *T = w->T;
    eg_tensor *g = w->grad[k];
    if (!(g->flags & EG__PACKED) || eg__ref_get(&g->refs) != 1 || eg__ref_get(&g->storage->refs) != 1) {
        return eg__op1(&eg__op_copy, g, &(eg__copy_opts){EG__TO_DENSE});
    }
    if (!eg__own_room(T, 1)) {
        return eg__no_memory(me, 0), NULL;
    }
    eg__ref_inc(&g->refs);
    eg__own(T, g);
    return g;
}

static eg_status hand_over(eg__walk *w, const question *q, eg_tensor **out)
{
    for (int i = 0; i < q->n; i++) {
        eg_tensor *x = q->xs[i];
        const int64_t k = eg__walk_index(w, slot_now(w->T, x));
        out[i] = w->grad[k] ? eg__hand_over(w, k) : q->o.null_unconnected ? NULL : eg_zeros_like(x);
        if (!out[i] && (w->grad[k] || !q->o.null_unconnected)) {
            return eg__why();
        }
    }
    return EG_OK;
}

static eg_status answer(eg__thread *T, question *q, eg_tensor **out)
{
    eg__record *R = eg__record_of(T);
    eg_tape handle = {q->tape->id};
    stop_recording(R, q->tape);
    bool persistent = q->tape->persistent, only = !persistent;
    for (uint32_t i = 0; i < R->now.ntapes; i++) {
        const eg__tape_state *t = &R->tapes[i];
        only = only && (t == q->tape || !(t->recording || t->end > q->tape->start));
    }
    eg__entry *last = q->tape->last;
    eg__ready ready = {.call = q->o.ready, .user = q->o.user, .xs = q->xs, .out = out, .n = q->n};
    ready.null_unconnected = q->o.null_unconnected;
    eg__walk w = {
        .T = T, .start = q->tape->start, .end = q->tape->end, .nslots = (int64_t)(q->tape->end - q->tape->start)};
    uint16_t cls;
    void *tables = make_tables(&w, q, &cls);
    if (!tables) {
        if (!persistent) {
            eg__remove_tape(T, q->index);
        }
        return eg__no_memory(me, w.nslots);
    }
    const uint8_t autocast = T->autocast; /* rules compute in the dtypes of the forward pass */
    T->autocast = EG_F32;
    q->tape->busy = true;
    w.mark[q->y->slot - w.start] |= FROM_Y;
    eg__entry *first = mark_paths(&w, last);
    eg_status st = seed(&w, q);
    if (!st && ready.call) {
        w.ready = &ready;
        st = eg__ready_begin(&w, first, FROM_Y);
    }
    st = st ? st : walk_back(&w, last, only);
    st = st || ready.call ? st : hand_over(&w, q, out);
    eg__ready_end(&w);
    T->autocast = autocast;
    for (int64_t k = 0; k < w.nslots + w.nolder; k++) {
        eg__unref(T, w.grad[k]);
    }
    eg__block_free(T, tables, cls);
    for (uint32_t i = 0; i < R->now.ntapes; i++) { /* rules may have opened tapes and moved the list */
        if (R->tapes[i].id == handle.id) {
            R->tapes[i].busy = false;
            if (!persistent) {
                eg__remove_tape(T, (int)i);
            }
            break;
        }
    }
    return st;
}

eg_status eg_tape_gradients_with(eg_tape tape, eg_tensor *y, eg_tensor *const *xs, int n, eg_tensor **out,
                                 const eg_gradients_options *options)
{
    eg__thread *T = eg__thread_get();
    eg_gradients_options o;
    eg__options(&o, sizeof o, options);
    if (n < 0) {
        return eg__fail(EG_EINVAL, me, "n is %d, must be 0 or more", n);
    }
    for (int i = 0; out && i < n; i++) {
        out[i] = NULL;
    }
    if (n && (!xs || (!out && !o.ready))) {
        return eg__null_argument(me, xs ? "out" : "xs");
    }
    question q = {.y = y, .xs = xs, .n = n, .o = o};
    if (eg__check(y, me, "y")) {
        return eg__why();
    }
    q.index = eg__find_tape(T, tape, me);
    if (q.index < 0) {
        return eg__why();
    }
    q.tape = &eg__record_of(T)->tapes[q.index];
    eg_status st = validate(T, &q);
    st = st ? st : eg__follow_read(y, me); /* sums of gradients are not told */
    st = st ? st : answer(T, &q, out);
    for (int i = 0; out && st && i < n; i++) {
        out[i] = NULL; /* those made stay in the caller's scope and die with it */
    }
    return st;
}
