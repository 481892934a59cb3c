/* copy.c - bytes between host and device. Pageable memory goes through a ring of pinned buffers, so that the
 * call returns when the last piece has been copied out of it, not when the device has got it. */
#include "lib/core/capture.h"
#include "lib/cuda/runtime/cuda.h"
#include "lib/cuda/pointwise/pointwise.h"
#include "lib/ops/options.h"

/* ---- the ring ------------------------------------------------------------------------------------------ */

/* The next buffer, free: what went through it before is done. */
static eg_status stage(eg_stream *s, const char *op, int *which)
{
    eg__cuda *d = eg__cuda_of(s->device);
    eg__staging *g = &s->staging;
    const int k = *which = g->next;
    g->next = (k + 1) % EG__STAGES;
    if (likely(g->memory[k] != NULL)) {
        return eg__cuda_check(d, op, cudaEventSynchronize(g->done[k]), "waiting for pinned memory");
    }
    void *memory = NULL;
    cudaError_t e =
        eg__fail_injected() ? cudaErrorMemoryAllocation : cudaEventCreateWithFlags(&g->done[k], cudaEventDisableTiming);
    if (!e && (e = cudaHostAlloc(&memory, EG__STAGE_BYTES, cudaHostAllocDefault))) {
        cudaEventDestroy(g->done[k]);
    }
    g->memory[k] = memory;
    return eg__cuda_check(d, op, e, "pinned memory");
}

void eg__staging_end(eg__staging *g)
{
    for (int k = 0; k < EG__STAGES; k++) {
        if (g->memory[k]) {
            cudaFreeHost(g->memory[k]);
            cudaEventDestroy(g->done[k]);
        }
    }
}

/* ---- to the device --------------------------------------------------------------------------------------- */

static eg_status enter(eg__thread *T, const eg_tensor *t, const char *op, eg_stream **s)
{
    *s = eg__cuda_stream(T, eg__host_devices[t->device], op);
    return *s ? eg__cuda_enter(eg__cuda_at(t->device), op) : eg__why();
}

eg_status eg__cuda_upload(const char *op, eg__thread *T, eg_tensor *t, const void *from, size_t bytes)
{
    eg_stream *s = NULL;
    eg_status st = eg__capture_stop(op, "it copies from the host");
    st = st ? st : enter(T, t, op, &s);
    st = st ? st : eg__cuda_writes(s, t->storage, op);
    for (size_t at = 0; at < bytes && !st; at += EG__STAGE_BYTES) {
        size_t n = bytes - at < EG__STAGE_BYTES ? bytes - at : EG__STAGE_BYTES;
        int k;
        st = stage(s, op, &k);
        if (!st) {
            memcpy(s->staging.memory[k], (const char *)from + at, n);
            cudaError_t e =
                cudaMemcpyAsync(eg__ptr(t) + at, s->staging.memory[k], n, cudaMemcpyHostToDevice, s->handle);
            e = e ? e : cudaEventRecord(s->staging.done[k], s->handle);
            st = eg__cuda_check(eg__cuda_of(s->device), op, e, "copying to the device");
        }
    }
    atomic_fetch_add_explicit(&s->queued, 1, memory_order_relaxed);
    eg__cuda_wrote(s, t->storage);
    return st;
}

/* ---- to the host ----------------------------------------------------------------------------------------- */

typedef struct piece {
    size_t at, bytes;
    int stage;
} piece;

static eg_status fetch(eg_stream *s, const char *op, const char *from, piece *p)
{
    eg_status st = stage(s, op, &p->stage);
    if (st) {
        return st;
    }
    cudaError_t e =
        cudaMemcpyAsync(s->staging.memory[p->stage], from + p->at, p->bytes, cudaMemcpyDeviceToHost, s->handle);
    e = e ? e : cudaEventRecord(s->staging.done[p->stage], s->handle);
    return eg__cuda_check(eg__cuda_of(s->device), op, e, "copying from the device");
}

static eg_status arrive(eg_stream *s, const char *op, char *to, const piece *p)
{
    eg_status st =
        eg__cuda_check(eg__cuda_of(s->device), op, cudaEventSynchronize(s->staging.done[p->stage]), "waiting");
    if (!st) {
        memcpy(to + p->at, s->staging.memory[p->stage], p->bytes);
    }
    return st;
}

eg_status eg__cuda_download(const char *op, eg__thread *T, const eg_tensor *t, void *to, size_t bytes)
{
    enum { AHEAD = EG__STAGES / 2 };
    piece ring[AHEAD];
    eg_stream *s = NULL;
    eg_status st = eg__capture_stop(op, "it asks for values of the device");
    st = st ? st : enter(T, t, op, &s);
    st = st ? st : eg__cuda_reads(s, t->storage, op);
    size_t asked = 0, got = 0; /* pieces */
    const size_t all = (bytes + EG__STAGE_BYTES - 1) / EG__STAGE_BYTES;
    while (got < all && !st) {
        if (asked < all && asked < got + AHEAD) {
            piece *p = &ring[asked++ % AHEAD];
            p->at = (asked - 1) * EG__STAGE_BYTES;
            p->bytes = bytes - p->at < EG__STAGE_BYTES ? bytes - p->at : EG__STAGE_BYTES;
            st = fetch(s, op, eg__ptr(t), p);
            if (asked == all) {
                eg__cuda_timer_mark(T, t->device);
            }
        } else {
            st = arrive(s, op, to, &ring[got++ % AHEAD]);
        }
    }
    return st ? st : eg__cuda_faults(eg__cuda_of(s->device));
}

/* ---- eg_to with a result on a CUDA device ------------------------------------------------------------------ */

/* Both streams wait for each other: the copy for what computes x, whoever frees x for the copy. */
static eg_status across(const eg__call *c, const eg_tensor *x, eg_tensor *y)
{
    const char *op = c->op->name;
    eg__cuda *from = eg__cuda_at(x->device), *to = eg__cuda_at(y->device);
    eg_stream *there = c->T->lane[y->device].now;
    eg_stream *here = eg__cuda_stream(c->T, from->device, op);
    eg_status st = here ? eg__capture_stop(op, "it copies between devices") : eg__why();
    st = st ? st : eg__cuda_enter(from, op);
    st = st ? st : eg__cuda_reads(here, x->storage, op);
    st = st ? st : eg__cuda_check(from, op, cudaEventRecord(here->mark, here->handle), "a mark");
    st = st ? st : eg__cuda_enter(to, op);
    if (st) {
        return st;
    }
    cudaError_t e = cudaStreamWaitEvent(there->handle, here->mark, 0);
    e = e ? e
          : cudaMemcpyPeerAsync(eg__ptr(y), to->ordinal, eg__ptr(x), from->ordinal, (size_t)x->n * eg__esize(x),
                                there->handle);
    e = e ? e : cudaEventRecord(there->mark, there->handle);
    st = eg__cuda_check(to, op, e, "copying between devices");
    st = st ? st : eg__cuda_enter(from, op);
    st = st ? st : eg__cuda_check(from, op, cudaStreamWaitEvent(here->handle, there->mark, 0), "ordering streams");
    atomic_fetch_add_explicit(&here->queued, 1, memory_order_relaxed);
    eg_status back = eg__cuda_enter(to, op);
    return st ? st : back;
}

eg_status eg__cuda_to(const eg__call *c)
{
    const eg_tensor *x = c->in[0];
    if (!x->n) {
        return EG_OK;
    }
    return x->device ? across(c, x, c->out[0])
                     : eg__cuda_upload(c->op->name, c->T, c->out[0], eg__ptr(x), (size_t)x->n * eg__esize(x));
}

/* ---- operands in another form ------------------------------------------------------------------------------ */

eg_tensor *eg__cuda_dense(const eg__call *c, const eg_tensor *t, int ndim, const int64_t *shape)
{
    const eg__copy_opts dense = {EG__TO_DENSE};
    eg_tensor *from = (eg_tensor *)(uintptr_t)t;
    eg__desc d = {.dtype = t->dtype, .ndim = (uint8_t)ndim, .device = t->device};
    memcpy(d.shape, shape, (size_t)ndim * sizeof *shape);
    eg__desc_dense(&d);
    eg_tensor *copy = eg__new(&d, c->op->name, c->op->id);
    return copy && !eg__run(eg__host_ops()[EG__ID_copy], &from, 1, &dense, copy) ? copy : NULL;
}

/* ---- filling ------------------------------------------------------------------------------------------------- */

eg_status eg__cuda_fill(const char *op, eg__thread *T, eg_tensor *t, uint64_t bits)
{
    const size_t size = eg__esize(t);
    const uint64_t low = size == 8 ? bits : bits & (((uint64_t)1 << 8 * size) - 1);
    eg_stream *s;
    eg_status st = enter(T, t, op, &s);
    st = st ? st : eg__cuda_writes(s, t->storage, op);
    if (st || !t->n) {
        return st;
    }
    cudaError_t e = low == 0 || size == 1
                        ? cudaMemsetAsync(eg__ptr(t), (int)(low & 0xff), (size_t)t->n * size, s->handle)
                        : eg__launch_fill(eg__ptr(t), t->n, (int)size, low, s->handle);
    atomic_fetch_add_explicit(&s->queued, 1, memory_order_relaxed);
    eg__cuda_wrote(s, t->storage);
    return eg__cuda_check(eg__cuda_of(s->device), op, e, "filling");
}
