/* ready.c - telling the caller of each gradient when it is whole: when the entry that adds to it last has been passed.
 */
#include "autograd/record.h"

static const char me[] = "eg_tape_gradients";

static int64_t index_of_x(const eg__walk *w, int i)
{
    bool no_memory = false; /* it has a slot by now */
    return eg__walk_index(w, eg__slot_of(w->T, w->ready->xs[i], &no_memory));
}

static eg_status make_tables(eg__walk *w, eg__ready *r)
{
    const size_t places = (size_t)(w->nslots + w->nolder), n = (size_t)r->n;
    const size_t bytes = places * (sizeof *r->last + sizeof *r->first + sizeof *r->read_on) + n * sizeof *r->next;
    char *p = eg__block_alloc(w->T, bytes + 1, &r->cls);
    if (!p) {
        return eg__no_memory(me, (int64_t)bytes);
    }
    memset(p, 0, bytes);
    r->tables = p;
    r->last = (const eg__entry **)p;
    r->first = (int32_t *)(r->last + places);
    r->next = r->first + places;
    r->read_on = (bool *)(r->next + n);
    for (size_t k = 0; k < places; k++) {
        r->first[k] = r->n;
    }
    for (int i = r->n - 1; i >= 0; i--) {
        const int64_t k = index_of_x(w, i);
        r->next[i] = r->first[k];
        r->first[k] = i;
    }
    return EG_OK;
}

/* The walk is backwards: what adds to a gradient last is what used the tensor first. */
static void find_last(eg__walk *w, eg__ready *r, const eg__entry *first, uint8_t from_y)
{
    for (const eg__entry *e = first; e && e->out < w->end; e = e->next) {
        uint8_t marks = 0;
        for (int j = 0; j < e->nout; j++) {
            const int64_t k = (int64_t)(e->out - w->start) + j;
            marks |= w->mark[k];
            r->read_on[k] = true;
        }
        for (int i = 0; i < e->nin && marks & from_y; i++) {
            const int64_t k = eg__walk_index(w, e->in[i].slot);
            if (k >= 0 && r->first[k] < r->n && !r->last[k]) {
                r->last[k] = e;
            }
        }
    }
}

/* In a scope of its own, but for the gradient where the caller asked for it. */
static eg_status call(eg__walk *w, int i, int64_t k)
{
    const eg__ready *r = w->ready;
    eg_scope s = {0, 0};
    if (!r->out && !(s = eg_scope_push()).depth) {
        return eg__why();
    }
    eg_tensor *g = w->grad[k] ? eg__hand_over(w, k) : r->null_unconnected ? NULL : eg_zeros_like(r->xs[i]);
    eg_status st = g || (!w->grad[k] && r->null_unconnected) ? EG_OK : eg__why();
    if (!st && r->out) {
        r->out[i] = g;
        s = eg_scope_push();
        st = s.depth ? EG_OK : eg__why();
    }
    if (!st) {
        eg_error before;
        eg__user_begin(&before);
        st = eg__user_end(&before, r->call(i, g, r->user), me, "function that waits for gradients");
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

/* What the caller does to one must not be seen by others, nor by rules that read it on: they get copies. */
static eg_status call_all(eg__walk *w, int64_t k)
{
    const eg__ready *r = w->ready;
    const bool shared = w->grad[k] && (r->read_on[k] || r->next[r->first[k]] < r->n);
    eg_status st = EG_OK;
    if (shared) {
        eg__ref_inc(&w->grad[k]->refs);
    }
    for (int i = r->first[k]; i < r->n && !st; i = r->next[i]) {
        st = call(w, i, k);
    }
    if (shared) {
        eg__unref(w->T, w->grad[k]);
    }
    if (w->grad[k] && !r->read_on[k]) {
        eg__unref(w->T, w->grad[k]);
        w->grad[k] = NULL;
    }
    return st;
}

eg_status eg__ready_begin(eg__walk *w, const eg__entry *first, uint8_t from_y)
{
    eg__ready *r = w->ready;
    eg_status st = make_tables(w, r);
    if (!st) {
        find_last(w, r, first, from_y);
    }
    for (int i = 0; i < r->n && !st; i++) {
        const int64_t k = index_of_x(w, i);
        st = !r->last[k] && r->first[k] == i ? call_all(w, k) : EG_OK;
    }
    return st;
}

eg_status eg__ready_after(eg__walk *w, const eg__entry *e)
{
    const eg__ready *r = w->ready;
    eg_status st = EG_OK;
    for (int i = 0; i < e->nin && !st; i++) {
        const int64_t k = eg__walk_index(w, e->in[i].slot);
        if (k >= 0 && r->last[k] == e) {
            r->last[k] = NULL;
            st = call_all(w, k);
        }
    }
    return st;
}

void eg__ready_end(eg__walk *w)
{
    if (w->ready && w->ready->tables) {
        eg__block_free(w->T, w->ready->tables, w->ready->cls);
    }
}
