/* exchange.c - gradients of all ranks become their mean: in buckets that leave while others are still being made. */
#include "optim/parallel.h"

#include <stdlib.h>

static const char me[] = "eg_optim_parallel";

/* Bytes of gradients in flight at most, in buckets. Each exchange holds buffers for sending and receiving: without a
 * bound all gradients would stay in memory until the last exchange is done. One larger than this goes alone. */
enum { IN_FLIGHT = 4 };

/* Gradients leave in the order in which a walk makes them, more or less: the last parameter's first. */
static int place_of(const eg__exchange *e, int i)
{
    return e->n - 1 - i;
}

static void *zeroed(size_t bytes)
{
    void *p = eg__malloc(bytes + 1);
    if (p) {
        memset(p, 0, bytes + 1);
    }
    return p;
}

/* Where buckets end: they are of one dtype and device, and full once they have enough bytes. What has enough by itself
 * goes alone, for then nothing of it is copied. */
static void cut(eg__exchange *e)
{
    const int64_t most = e->o->parallel->bucket;
    int64_t bytes = 0;
    for (int k = 0; k < e->n; k++) {
        const int64_t own = eg__max(1, eg__bytes_of(e->like[k]->n, (eg_dtype)e->like[k]->dtype));
        if (bytes && (bytes >= most || own >= most || e->like[k]->dtype != e->like[k - 1]->dtype ||
                      e->like[k]->device != e->like[k - 1]->device)) {
            e->end[e->buckets++] = k;
            bytes = 0;
        }
        bytes += own;
    }
    e->end[e->buckets++] = e->n;
}

static void free_lists(eg__exchange *e)
{
    for (int k = 0; e->x && k < e->n; k++) {
        eg_release(e->x[k]);
    }
    eg_release(e->used);
    for (int b = 0; e->shared && b < e->buckets; b++) {
        eg_release(e->shared[b]);
    }
    free(e->like);
    free(e->x);
    free(e->shared);
    free(e->work);
    free(e->end);
    free(e->at);
    *e = (eg__exchange){.o = e->o};
}

eg_status eg__exchange_begin(eg__exchange *e, eg_optim *o, eg_tensor *const *parameters, int n)
{
    const size_t room = (size_t)n;
    *e = (eg__exchange){.o = o, .n = n};
    e->like = zeroed(room * sizeof *e->like);
    e->x = zeroed(room * sizeof *e->x);
    e->shared = zeroed(room * sizeof *e->shared);
    e->work = zeroed(room * sizeof *e->work);
    e->end = zeroed(room * sizeof *e->end);
    e->at = zeroed(room * sizeof *e->at);
    if (!e->like || !e->x || !e->shared || !e->work || !e->end || !e->at) {
        free_lists(e);
        return eg__no_memory(me, (int64_t)(room * 6 * sizeof *e->x));
    }
    for (int i = 0; i < n; i++) {
        e->like[place_of(e, i)] = parameters[i];
    }
    cut(e);
    e->used = eg_keep(eg__full_on(0, EG_SHAPE(n), 0, EG_U8));
    eg_status st = e->used ? EG_OK : eg__why();
    if (st) {
        free_lists(e);
    }
    return st;
}

/* ---- a bucket leaves ------------------------------------------------------------------------- */

static int first_of(const eg__exchange *e, int b)
{
    return b ? e->end[b - 1] : 0;
}

/* Returns x[first..end-1] as a matrix with one row per rank, the rank's parts of all of them. Releases what it copied.
 * A single gradient of equal parts is such a matrix already, and is not copied. */
static eg_tensor *packed(eg__exchange *e, int first, int end, int64_t *width)
{
    const eg__ranks *p = e->o->parallel;
    if (end == first + 1 && e->x[first]->n % p->ranks == 0 && eg_is_contiguous(e->x[first])) {
        e->at[first] = 0;
        *width = e->x[first]->n / p->ranks;
        eg_tensor *row = eg_reshape(eg_scope_adopt(e->x[first]), EG_SHAPE(e->x[first]->n));
        e->x[first] = NULL;
        return row;
    }
    *width = 0;
    for (int k = first; k < end; k++) {
        e->at[k] = *width;
        *width += eg__shared_most(p, e->x[k]->n);
    }
    const eg_dtype dtype = (eg_dtype)e->x[first]->dtype;
    eg_tensor *rows = eg__full_on(e->x[first]->device, EG_SHAPE(p->ranks * *width), 0, dtype);
    for (int k = first; rows && k < end; k++) {
        for (int r = 0; r < p->ranks; r++) {
            eg_tensor *part = eg__shared_part(p, e->x[k], r);
            const int64_t at = r * *width + e->at[k];
            if (!part || (part->n && !eg_copy_(eg_slice(rows, 0, at, at + part->n, 1), part))) {
                return NULL;
            }
        }
        eg_release(e->x[k]);
        e->x[k] = NULL;
    }
    return rows;
}

static eg_work *share_out(eg__exchange *e, int b)
{
    int64_t width;
    eg_tensor *rows = packed(e, first_of(e, b), e->end[b], &width);
    eg_tensor *own = rows ? eg__empty_on(rows->device, EG_SHAPE(width), (eg_dtype)rows->dtype) : NULL;
    e->shared[b] = eg_keep(own);
    return own ? eg_comm_reduce_scatter_start(e->o->parallel->comm, rows, own, EG_COMM_MEAN) : NULL;
}

/* Waits for a bucket's exchange. A failure before that remains the error on record. */
static eg_status wait_for(eg_work *work, eg_status st)
{
    const eg_error before = *eg_last_error();
    const eg_status got = eg_work_wait(work);
    if (st && got) {
        eg_fail(before.code, before.op, before.message);
    }
    return st ? st : got;
}

static int64_t bytes_of(const eg__exchange *e, int b)
{
    int64_t bytes = 0;
    for (int k = first_of(e, b); k < e->end[b]; k++) {
        bytes += eg__bytes_of(e->like[k]->n, (eg_dtype)e->like[k]->dtype);
    }
    return bytes;
}

/* Ends the exchanges that are done, which frees their buffers, and waits for the oldest ones until at most so many
 * bytes are in flight. */
static eg_status end_oldest(eg__exchange *e, int64_t most, eg_status st)
{
    while (e->ended < e->begun && (e->in_flight > most || eg_work_done(e->work[e->ended]))) {
        e->in_flight -= bytes_of(e, e->ended);
        st = wait_for(e->work[e->ended++], st);
    }
    return st;
}

/* The next bucket, in a scope of its own. */
static eg_status leave(eg__exchange *e)
{
    const int b = e->begun, first = first_of(e, b);
    const int64_t own = bytes_of(e, b);
    eg_status st = end_oldest(e, eg__max(0, IN_FLIGHT * e->o->parallel->bucket - own), EG_OK);
    eg_scope s = st ? (eg_scope){0} : eg_scope_push();
    if (!s.depth) {
        return eg__why();
    }
    e->work[b] = e->o->parallel->zero == 2
                     ? share_out(e, b)
                     : eg_comm_all_reduce_start(e->o->parallel->comm, e->x + first, e->end[b] - first, EG_COMM_MEAN);
    eg_scope_pop(s, NULL);
    e->in_flight += e->work[b] ? own : 0;
    e->begun += e->work[b] != NULL;
    return e->work[b] ? EG_OK : eg__why();
}

static bool is_full(const eg__exchange *e, int b)
{
    bool full = true;
    for (int k = first_of(e, b); full && k < e->end[b]; k++) {
        full = e->x[k] != NULL;
    }
    return full;
}

/* Keeps the gradient at place k, or zeros. */
static eg_status arrive(eg__exchange *e, int k, eg_tensor *gradient)
{
    eg_scope s = eg_scope_push();
    if (!s.depth) {
        return eg__why();
    }
    eg_tensor *g = gradient ? gradient : eg_zeros_like(e->like[k]);
    eg_status st = !g ? eg__why() : gradient ? eg_set(e->used, k, 1) : EG_OK;
    if (!st) {
        e->x[k] = eg_keep(g);
    }
    eg_scope_pop(s, NULL);
    return st;
}

eg_status eg__exchange_ready(int i, eg_tensor *gradient, void *user)
{
    eg__exchange *e = user;
    eg_status st = arrive(e, place_of(e, i), gradient);
    while (!st && e->begun < e->buckets && is_full(e, e->begun)) {
        st = leave(e);
    }
    return st;
}

/* ---- and comes back -------------------------------------------------------------------------- */

/* means[i] from place k of bucket b, unless no rank had one. */
static eg_status take(eg__exchange *e, int b, int k, bool used, eg_tensor **means)
{
    const int i = place_of(e, k);
    int64_t first;
    means[i] = NULL;
    if (!used) {
        return EG_OK;
    }
    if (e->o->parallel->zero == 2) {
        const int64_t n = eg__shared_at(e->o->parallel, e->like[k]->n, e->o->parallel->rank, &first);
        means[i] = eg_slice(e->shared[b], 0, e->at[k], e->at[k] + n, 1);
    } else {
        means[i] = eg_scope_adopt(e->x[k]);
        e->x[k] = NULL;
    }
    return means[i] ? EG_OK : eg__why();
}

static eg_status take_all(eg__exchange *e, eg_tensor **means)
{
    const uint8_t *used = (const uint8_t *)eg__ptr(e->used);
    eg_status st = EG_OK;
    for (int b = 0; b < e->buckets && !st; b++) {
        for (int k = first_of(e, b); k < e->end[b] && !st; k++) {
            st = take(e, b, k, used[k], means);
        }
    }
    return st;
}

eg_status eg__exchange_end(eg__exchange *e, eg_status st, eg_tensor **means)
{
    for (int k = 0; k < e->n && !st; k++) {
        st = e->x[k] || k < (e->begun ? e->end[e->begun - 1] : 0) ? EG_OK : arrive(e, k, NULL);
    }
    while (!st && e->begun < e->buckets) {
        st = leave(e);
    }
    eg_work *flags = st ? NULL : eg_comm_all_reduce_start(e->o->parallel->comm, &e->used, 1, EG_COMM_MAX);
    st = eg__parallel_tell(e->o, st || flags ? st : eg__why());
    st = end_oldest(e, -1, st);
    st = flags ? wait_for(flags, st) : st;
    st = st ? st : take_all(e, means);
    free_lists(e);
    return st;
}

/* ---- in hand ----------------------------------------------------------------------------------- */

/* Of those parameters that take steps; means has all. */
static eg_status exchange(eg_optim *o, eg_tensor *const *gradients, bool own, eg_tensor **lists, eg_tensor **means)
{
    eg_tensor **p = lists, **got = lists + o->count;
    eg__exchange e;
    int n = 0;
    for (int i = 0; i < o->count; i++) {
        if (o->names[i]) {
            p[n++] = o->in[i * EG__OPTIM_SLOTS];
        }
    }
    eg_status st = eg__exchange_begin(&e, o, p, n);
    if (st) {
        return eg__parallel_tell(o, st);
    }
    for (int i = o->count - 1, k = n; i >= 0 && !st; i--) {
        if (o->names[i]) {
            eg_tensor *g = gradients[i];
            g = g && !own && o->parallel->zero < 2 ? eg_copy(g) : g;
            st = gradients[i] && !g ? eg__why() : eg__exchange_ready(--k, g, &e);
        }
    }
    st = eg__exchange_end(&e, st, got);
    for (int i = 0, k = 0; i < o->count && !st; i++) {
        means[i] = o->names[i] ? got[k++] : NULL;
    }
    return st;
}

eg_status eg__exchange_all(eg_optim *o, eg_tensor *const *gradients, bool own, eg_tensor **means)
{
    const size_t bytes = 2 * (size_t)o->count * sizeof *means;
    eg_tensor **lists = eg__malloc(bytes);
    eg_status st =
        lists ? exchange(o, gradients, own, lists, means) : eg__parallel_tell(o, eg__no_memory(me, (int64_t)bytes));
    free(lists);
    return st;
}
