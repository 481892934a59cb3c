/* calls.c - what programs call: looks at the tensors, and finds or makes the memory that is moved. */
#include <stdlib.h>

#include <egret/ops.h>

#include "lib/comm/comm.h"
#include "lib/core/layout.h"
#include "lib/core/memory.h"
#include "lib/io/assign.h"

/* ---- works, made and ended ------------------------------------------------------------------- */

/* What a lost process may yet read or write is kept for good. */
static void free_work(eg_work *w)
{
    if (w->stays) {
        return;
    }
    for (int i = 0; i < w->n; i++) {
        if (w->x[i]) {
            eg_release(w->x[i]);
        }
    }
    if (w->y) {
        eg_release(w->y);
    }
    eg_release(w->own[0]);
    eg_release(w->own[1]);
    eg_release(w->sums);
    eg_event_free(w->ready);
    free(w->sent);
    free(w->x);
    free(w);
}

/* One with n tensors, or NULL. */
static eg_work *work_of(const char *op, eg_comm *comm, eg__work_kind kind, eg_tensor *const *x, int n)
{
    if (eg__comm_check(comm, op)) {
        return NULL;
    }
    if (n < 0 || (n && !x)) {
        return eg__fail_null(EG_EINVAL, op, "%d tensors, and %s array of them", n, x ? "an" : "no");
    }
    for (int i = 0; i < n; i++) {
        if (eg__check(x[i], op, "x")) {
            return NULL;
        }
        if (x[i]->dtype != x[0]->dtype) {
            return eg__fail_null(EG_EDTYPE, op, "tensors of %s and %s in one call", eg_dtype_name(x[0]->dtype),
                                 eg_dtype_name(x[i]->dtype));
        }
    }
    eg_work *w = eg__malloc(sizeof *w);
    eg_tensor **kept = w ? eg__malloc((size_t)n * sizeof *kept) : NULL;
    if (!kept) {
        free(w);
        return eg__fail_null(EG_ENOMEM, op, "no memory for %d tensors", n);
    }
    *w = (eg_work){.comm = comm, .op = op, .kind = kind, .x = kept, .peer = -1};
    w->dtype = n ? x[0]->dtype : EG_U8;
    for (int i = 0; i < n; i++) {
        w->x[w->n++] = eg_keep(x[i]);
        w->count += x[i]->n;
    }
    return w;
}

/* ---- memory ---------------------------------------------------------------------------------- */

eg_tensor *eg__work_memory(uint8_t device, int64_t n, eg_dtype dtype)
{
    eg_scope scope = eg_scope_push();
    eg_tensor *made = scope.depth ? eg_keep(eg__empty_on(device, EG_SHAPE(n), dtype)) : NULL;
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return made;
}

/* Where memory of the work has to lie, for which that of all its tensors counts, and how it is come by. */
static bool find_home(eg_work *w)
{
    const eg__transport *t = w->comm->transport;
    const uint8_t device = w->n ? w->x[0]->device : 0;
    bool together = true;
    for (int i = 1; i < w->n; i++) {
        together = together && w->x[i]->device == device;
    }
    together = together && (!w->y || w->y->device == device);
    const uint8_t home = t ? t->is->home(t, together ? device : 0, eg__work_of_two(w)) : 0;
    w->carrier = home ? eg__comm_carrier(w->comm, home, eg__work_of_two(w), w->op) : NULL;
    w->ready = w->carrier ? eg_event_new(eg__carrier_device(w->carrier)) : NULL;
    return !home || w->ready;
}

/* t itself, if it lies as and where it has to; else a copy, or room for one. NULL: words. */
static eg_tensor *memory_of(eg_work *w, int i, eg_tensor *t, int64_t n)
{
    if (t && t->device == eg__work_home(w) && eg_is_contiguous(t)) {
        return t;
    }
    w->own[i] = eg__work_memory(eg__work_home(w), n, w->dtype);
    return w->own[i];
}

/* Between t and its place in a copy, from element `at` on. */
static eg_status across(const eg_work *w, eg_tensor *t, eg_tensor *copy, int64_t at, bool back)
{
    eg_scope scope = eg_scope_push();
    eg_tensor *place = scope.depth ? eg_reshape(eg_slice(copy, 0, at, at + t->n, 1), eg_shape_of(t)) : NULL;
    eg_status st = place ? eg__overwrite(w->op, back ? t : place, back ? place : t) : eg__why();
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return st;
}

static eg_status all_across(const eg_work *w, bool back)
{
    eg_status st = EG_OK;
    int64_t at = 0;
    for (int i = 0; w->own[0] && i < w->n && !st; i++) {
        st = w->x[i]->n ? across(w, w->x[i], w->own[0], at, back) : EG_OK;
        at += w->x[i]->n;
    }
    return st;
}

/* Memory of all elements of x, one tensor behind the other; NULL: words. */
static eg_tensor *elements(eg_work *w, bool read)
{
    int64_t all = 0;
    for (int i = 0; i < w->n; i++) {
        all += w->x[i]->n;
    }
    eg_tensor *m = memory_of(w, 0, w->n == 1 ? w->x[0] : NULL, all);
    return m && read && all_across(w, false) ? NULL : m;
}

/* The work's from here on, as soon as its device has come so far. */
static bool take(eg_work *w, eg_tensor *from, eg_tensor *to)
{
    if (!from || !to) {
        return false;
    }
    w->from = eg__ptr(from);
    w->to = eg__ptr(to);
    if (!w->carrier) {
        return true;
    }
    const eg__carriers *carriers = eg__carriers_of(w->carrier);
    eg__thread *T = eg__thread_get();
    eg_status st = carriers->leave(T, from, false, w->op);
    return !st && !carriers->leave(T, to, true, w->op);
}

static eg_status put_results(const eg_work *w)
{
    eg_status st = w->writes_x ? all_across(w, true) : EG_OK;
    return !st && w->y && w->own[1] && w->y->n ? across(w, w->y, w->own[1], 0, true) : st;
}

/* ---- begun and waited for -------------------------------------------------------------------- */

/* Begins it, or frees it and gives NULL. */
static eg_work *begun(eg_work *w, bool ready)
{
    if (w && (!ready || eg__work_begin(w))) {
        free_work(w);
        return NULL;
    }
    return w;
}

bool eg_work_done(const eg_work *work)
{
    return !work || atomic_load(&work->done);
}

eg_status eg_work_wait(eg_work *work)
{
    if (!work) {
        return eg__null_argument("eg_work_wait", "work");
    }
    eg_status st = eg__comm_wait(work);
    st = st ? st : put_results(work);
    free_work(work);
    return st;
}

/* ---- in place -------------------------------------------------------------------------------- */

/* Whether x may be written, and how it is read and written from now on. */
static bool in_place(eg_work *w, bool reads, bool writes)
{
    for (int i = 0; writes && i < w->n; i++) {
        if (eg__begin_write(w->x[i], w->op)) {
            return false;
        }
    }
    if (!w->comm->transport) {
        return true;
    }
    w->writes_x = writes;
    eg_tensor *all = find_home(w) ? elements(w, reads) : NULL;
    return take(w, all, all);
}

static bool can_reduce(const eg_work *w, eg_comm_reduction how)
{
    if ((int)how < EG_COMM_SUM || how > EG_COMM_MAX) {
        eg__fail(EG_EINVAL, w->op, "%d is no reduction", (int)how);
        return false;
    }
    if (how != EG_COMM_MAX && w->n && (w->dtype == EG_BOOL || (how == EG_COMM_MEAN && !eg__is_float(w->dtype)))) {
        eg__fail(EG_EDTYPE, w->op, "no %s of %s", how == EG_COMM_MEAN ? "mean" : "sum", eg_dtype_name(w->dtype));
        return false;
    }
    return true;
}

static bool is_rank(eg_work *w, int rank)
{
    if (rank < 0 || rank >= w->comm->ranks) {
        eg__fail(EG_EINDEX, w->op, "rank %d of %d", rank, w->comm->ranks);
        return false;
    }
    w->peer = rank;
    return true;
}

static eg_work *all_reduce(const char *op, eg_comm *comm, eg_tensor *const *x, int n, eg_comm_reduction how)
{
    eg_work *w = work_of(op, comm, EG__WORK_ALL_REDUCE, x, n);
    if (w) {
        w->how = how;
    }
    return begun(w, w && can_reduce(w, how) && in_place(w, true, true));
}

static eg_work *broadcast(const char *op, eg_comm *comm, eg_tensor *const *x, int n, int root)
{
    eg_work *w = work_of(op, comm, EG__WORK_BROADCAST, x, n);
    const bool mine = w && comm->rank == root;
    return begun(w, w && is_rank(w, root) && in_place(w, mine, !mine));
}

/* Of two ranks, which are not the same. */
static eg_work *message(const char *op, eg_comm *comm, eg__work_kind kind, eg_tensor *x, int peer)
{
    eg_work *w = work_of(op, comm, kind, &x, 1);
    const bool sends = kind == EG__WORK_SEND;
    bool ready = w && is_rank(w, peer);
    if (ready && peer == comm->rank) {
        eg__fail(EG_EINVAL, op, "rank %d is this one", peer);
        ready = false;
    }
    return begun(w, ready && in_place(w, sends, !sends));
}

/* ---- from x to y ----------------------------------------------------------------------------- */

/* Whether `many` is `one` as often as there are ranks, along axis 0. */
static bool fit(const eg_work *w, const eg_tensor *many, const eg_tensor *one)
{
    bool same = many->ndim == one->ndim && one->ndim > 0 && many->shape[0] == w->comm->ranks * one->shape[0];
    for (int d = 1; same && d < one->ndim; d++) {
        same = many->shape[d] == one->shape[d];
    }
    if (!same) {
        eg__fail(EG_ESHAPE, w->op, "%s is not %s once for each of %d ranks", EG__SHAPE_OF(many), EG__SHAPE_OF(one),
                 w->comm->ranks);
    }
    return same;
}

static eg_work *between(const char *op, eg_comm *comm, eg__work_kind kind, eg_tensor *x, eg_tensor *y)
{
    eg_work *w = work_of(op, comm, kind, &x, 1);
    if (!w || eg__check(y, op, "y")) {
        return begun(w, false);
    }
    if (y->dtype != x->dtype) {
        eg__fail(EG_EDTYPE, op, "x is %s, y %s", eg_dtype_name(x->dtype), eg_dtype_name(y->dtype));
        return begun(w, false);
    }
    if (x->storage == y->storage) {
        eg__fail(EG_EINVAL, op, "x and y share memory");
        return begun(w, false);
    }
    w->y = eg_keep(y);
    return w;
}

static bool ready_between(eg_work *w, int64_t count)
{
    if (eg__begin_write(w->y, w->op)) {
        return false;
    }
    if (!w->comm->transport) {
        return true;
    }
    w->count = count;
    eg_tensor *from = find_home(w) ? elements(w, true) : NULL;
    return take(w, from, from ? memory_of(w, 1, w->y, w->y->n) : NULL);
}

static eg_work *all_gather(const char *op, eg_comm *comm, eg_tensor *x, eg_tensor *y)
{
    eg_work *w = between(op, comm, EG__WORK_ALL_GATHER, x, y);
    return begun(w, w && fit(w, y, x) && ready_between(w, x->n));
}

static eg_work *reduce_scatter(const char *op, eg_comm *comm, eg_tensor *x, eg_tensor *y, eg_comm_reduction how)
{
    eg_work *w = between(op, comm, EG__WORK_REDUCE_SCATTER, x, y);
    if (w) {
        w->how = how;
    }
    return begun(w, w && can_reduce(w, how) && fit(w, x, y) && ready_between(w, y->n));
}

static eg_work *all_to_all(const char *op, eg_comm *comm, eg_tensor *x, eg_tensor *y)
{
    eg_work *w = between(op, comm, EG__WORK_ALL_TO_ALL, x, y);
    bool fits = w && x->ndim > 0 && x->shape[0] % comm->ranks == 0 && eg__same_shape(x, y);
    if (w && !fits) {
        eg__fail(EG_ESHAPE, op, "x %s and y %s are not the same number of rows for each of %d ranks", EG__SHAPE_OF(x),
                 EG__SHAPE_OF(y), comm->ranks);
    }
    return begun(w, fits && ready_between(w, x->n / comm->ranks));
}

/* ---- the two forms of each ------------------------------------------------------------------- */

#define CALLS(name, parameters, ...)                         \
    eg_work *eg_comm_##name##_start parameters               \
    {                                                        \
        return name("eg_comm_" #name "_start", __VA_ARGS__); \
    }                                                        \
    eg_status eg_comm_##name parameters                      \
    {                                                        \
        eg_work *w = name("eg_comm_" #name, __VA_ARGS__);    \
        return w ? eg_work_wait(w) : eg__why();              \
    }
#define send(op, comm, x, to)      message(op, comm, EG__WORK_SEND, x, to)
#define receive(op, comm, x, from) message(op, comm, EG__WORK_RECEIVE, x, from)
CALLS(all_reduce, (eg_comm * comm, eg_tensor *const *x, int n, eg_comm_reduction how), comm, x, n, how)
CALLS(broadcast, (eg_comm * comm, eg_tensor *const *x, int n, int root), comm, x, n, root)
CALLS(all_gather, (eg_comm * comm, eg_tensor *x, eg_tensor *y), comm, x, y)
CALLS(reduce_scatter, (eg_comm * comm, eg_tensor *x, eg_tensor *y, eg_comm_reduction how), comm, x, y, how)
CALLS(all_to_all, (eg_comm * comm, eg_tensor *x, eg_tensor *y), comm, x, y)
CALLS(send, (eg_comm * comm, eg_tensor *x, int to), comm, x, to)
CALLS(receive, (eg_comm * comm, eg_tensor *x, int from), comm, x, from)

eg_status eg_comm_barrier(eg_comm *comm)
{
    eg_work *w = work_of("eg_comm_barrier", comm, EG__WORK_BARRIER, NULL, 0);
    if (w) {
        w->count = 1;
    }
    w = begun(w, w && find_home(w));
    return w ? eg_work_wait(w) : eg__why();
}

static eg_status agree(const char *op, eg_comm *comm, eg_status st)
{
    eg_tensor *own = eg__from_on(0, EG_SHAPE(1), EG_I32, &(int32_t){st}), *all = NULL;
    all = own ? eg__empty_on(0, EG_SHAPE(comm->ranks), EG_I32) : NULL;
    eg_status sent = all ? eg_comm_all_gather(comm, own, all) : eg__why();
    for (int r = 0; r < comm->ranks && !sent && !st; r++) {
        if (((const int32_t *)eg__ptr(all))[r]) {
            sent = eg__fail(EG_EIO, op, "rank %d has failed", r);
        }
    }
    return sent;
}

eg_status eg_comm_agree(eg_comm *comm, eg_status status)
{
    static const char op[] = "eg_comm_agree";
    if (!comm) {
        return eg__null_argument(op, "comm");
    }
    const eg_error own = *eg_last_error();
    eg_scope s = eg_scope_push();
    eg_status sent = s.depth ? agree(op, comm, status) : eg__why();
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    if (status) {
        eg_fail(own.code ? own.code : status, own.op, own.message);
    }
    return status ? status : sent;
}
