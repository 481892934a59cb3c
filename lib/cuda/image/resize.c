/* resize.c - the host side of resizing: tables of taps, kept on the device, since every step asks for the same
 * ones and a captured step cannot bring any there. */
#include "lib/core/capture.h"
#include "lib/cuda/image/resize.h"
#include "lib/cuda/common/launches.h"
#include "lib/ops/resize.h"

/* ---- tables ------------------------------------------------------------------------------------------- */

enum { TABLES = 64 };

typedef struct table {
    eg__resize_opts o; /* of one axis */
    int ordinal;
    bool adjoint, identity;
    eg__tap_table taps;
    char *memory; /* NULL: empty, or the identity */
    uint64_t used;
} table;

static struct {
    pthread_mutex_t lock;
    uint64_t clock;
    table table[TABLES];
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What a table of an axis depends on, as options of one axis. */
static table asked_for(const eg__call *c, const eg__resize_opts *o, int axis, bool adjoint)
{
    table t;
    memset(&t, 0, sizeof t); /* the options are compared with their gaps */
    t.o.naxes = 1;
    t.o.mode = o->mode;
    t.o.grid = o->grid;
    t.o.antialias = o->antialias;
    t.o.cubic = o->cubic;
    t.o.ratio[0] = o->ratio[axis];
    t.o.in[0] = o->in[axis];
    t.o.out[0] = o->out[axis];
    t.ordinal = eg__cuda_at(c->device)->ordinal;
    t.adjoint = adjoint;
    return t;
}

static bool same(const table *a, const table *b)
{
    return a->used && a->ordinal == b->ordinal && a->adjoint == b->adjoint && !memcmp(&a->o, &b->o, sizeof a->o);
}

/* Brings a band to the device and waits until it is there: any stream may read it then. */
static eg_status bring(const eg__call *c, const eg__band *b, table *t)
{
    const size_t weights = (size_t)(b->n * b->width) * sizeof(double), firsts = (size_t)b->n * sizeof *b->first;
    void *memory = NULL;
    cudaError_t e = eg__fail_injected() ? cudaErrorMemoryAllocation : cudaMalloc(&memory, weights + firsts);
    e = e ? e : cudaMemcpy(memory, b->weight, weights, cudaMemcpyHostToDevice);
    e = e ? e : cudaMemcpy((char *)memory + weights, b->first, firsts, cudaMemcpyHostToDevice);
    if (e) {
        cudaFree(memory);
        return e == cudaErrorMemoryAllocation
                   ? (cudaGetLastError(), eg__no_memory_on(c->device, c->op->name, (int64_t)(weights + firsts)))
                   : eg__cuda_check(eg__cuda_at(c->device), c->op->name, e, "a table");
    }
    t->memory = memory;
    t->taps = (eg__tap_table){(const int32_t *)(const void *)(t->memory + weights),
                              (const double *)(const void *)t->memory, (int)b->width};
    return EG_OK;
}

static eg_status make(const eg__call *c, table *t)
{
    eg__band b;
    eg_status st = eg__band_make(c, &t->o, 0, t->adjoint, &b);
    if (!st) {
        t->identity = b.identity;
        st = b.identity ? EG_OK : bring(c, &b, t);
        eg__scratch_put(c, &b.memory);
    }
    return st;
}

/* The table, or a new one in an empty place or that of the one used longest ago, which work may still read: it is
 * waited for. Under the lock, which is held until the work is queued: nobody else may free it before. */
static eg_status find(const eg__call *c, const table *asked, eg__tap_table *taps)
{
    eg_status st = EG_OK;
    table *t = kept.table;
    for (table *p = kept.table; p < kept.table + TABLES; p++) {
        t = p->used < t->used ? p : t;
        if (same(p, asked)) {
            t = p;
            break;
        }
    }
    if (!same(t, asked)) {
        if (t->used == UINT64_MAX) {
            return eg__fail(EG_ENOKERNEL, c->op->name, "captured steps use all of %d tables", TABLES);
        }
        st = eg__capture_stop(c->op->name, NULL);
        if (t->memory) {
            cudaFree(t->memory); /* which waits for the device */
        }
        memcpy(t, asked, sizeof *t);
        st = st ? st : make(c, t);
    }
    if (st) {
        *t = (table){.used = 0};
    } else {
        t->used = c->T->capture || t->used == UINT64_MAX ? UINT64_MAX : ++kept.clock;
        *taps = t->taps;
    }
    return st;
}

/* ---- a call ------------------------------------------------------------------------------------------- */

static eg_status resize(const eg__call *c, bool adjoint)
{
    const eg__resize_opts *o = c->opts;
    eg_tensor *x = c->in[0], *y = c->out[0];
    const bool nearest = o->mode == EG_RESIZE_NEAREST || o->mode == EG_RESIZE_NEAREST_EXACT;
    const bool last = !(y->flags & EG__DENSE);
    int64_t size[3] = {1, 1, 1};
    eg__resizing k = {.y = eg__ptr(y),
                      .dtype = y->dtype,
                      .size = (int)eg__esize(y),
                      .copies = nearest && !adjoint,
                      .source = {1, 1, 1}};
    eg_status st = EG_OK;
    if (!y->n) {
        return st;
    }
    if (!last && !(x->flags & EG__DENSE)) { /* else x lies as y */
        x = eg__cuda_dense(c, x, x->ndim, x->shape);
        st = x ? EG_OK : eg__why();
    }
    pthread_mutex_lock(&kept.lock);
    for (int d = 3 - o->naxes, a = 0; a < o->naxes && !st; d++, a++) {
        const table asked = asked_for(c, o, a, adjoint);
        k.source[d] = adjoint ? o->out[a] : o->in[a];
        size[d] = adjoint ? o->in[a] : o->out[a];
        st = find(c, &asked, &k.axis[d]);
    }
    if (!st) {
        k.x = eg__ptr(x);
        k.positions = eg__positions_of(y->n, y->shape[1], size, last);
        st = eg__launched(c, eg__launch_resize(&k, eg__stream_of(c)));
    }
    pthread_mutex_unlock(&kept.lock);
    return st;
}

eg_status eg__cuda_resize(const eg__call *c)
{
    return resize(c, false);
}

eg_status eg__cuda_resize_grad(const eg__call *c)
{
    return resize(c, true);
}
