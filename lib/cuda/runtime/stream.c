/* stream.c - streams: each thread's own and the user's, who waits for whom, and running kernels on them. */
#include <stdlib.h>

#include "lib/core/capture.h"
#include "lib/cuda/runtime/cuda.h"
#include "lib/core/live.h"

static const char waits[] = "it waits for the device";

/* ---- making and giving back: handles are kept for the next thread ---------------------------------- */

static eg_stream *new_locked(eg__cuda *d, const char *op)
{
    if (d->nstreams == EG__MAX_STREAMS) {
        return eg__fail_null(EG_ENODEVICE, op, "%s has %d streams already, no more are possible", d->device->name,
                             EG__MAX_STREAMS);
    }
    eg_stream *s = eg__malloc(sizeof *s);
    if (!s) {
        return eg__no_memory(op, (int64_t)sizeof *s), NULL;
    }
    *s = (eg_stream){.device = d->device, .id = d->nstreams};
    eg_status st = eg__cuda_check(d, op, cudaStreamCreateWithFlags(&s->handle, cudaStreamNonBlocking), "a stream");
    st = st ? st : eg__cuda_check(d, op, cudaEventCreateWithFlags(&s->mark, cudaEventDisableTiming), "an event");
    if (!st && !(s->pool = eg__pool_new(d->heap, s->handle))) {
        st = eg__no_memory(op, 0);
    }
    if (st) {
        if (s->mark) {
            cudaEventDestroy(s->mark);
        }
        if (s->handle) {
            cudaStreamDestroy(s->handle);
        }
        free(s);
        return NULL;
    }
    return d->streams[d->nstreams++] = s;
}

static eg_stream *take(eg__cuda *d, const char *op, bool thread)
{
    if (eg__cuda_enter(d, op)) {
        return NULL;
    }
    eg_stream *s = NULL;
    pthread_mutex_lock(&d->lock);
    for (int i = 0; i < d->nstreams && !s; i++) {
        s = d->streams[i]->taken ? NULL : d->streams[i];
    }
    s = s ? s : new_locked(d, op);
    if (s) {
        s->taken = true;
        s->thread = thread;
    }
    pthread_mutex_unlock(&d->lock);
    return s;
}

static void give_back(eg_stream *s)
{
    eg__cuda *d = eg__cuda_of(s->device);
    pthread_mutex_lock(&d->lock);
    s->taken = false;
    pthread_mutex_unlock(&d->lock);
}

static eg_stream *own(eg__thread *T, eg_device *device, const char *op)
{
    eg_stream *s = T->lane[device->id].own;
    if (unlikely(!s) && (s = take(eg__cuda_of(device), op, true))) {
        T->lane[device->id].own = T->lane[device->id].now = s;
    }
    return s;
}

eg_stream *eg__cuda_own_stream(eg__thread *T, eg_device *device)
{
    return own(T, device, "eg_stream_own");
}

eg_stream *eg__cuda_stream(eg__thread *T, eg_device *device, const char *op)
{
    eg_stream *s = T->lane[device->id].now;
    return likely(s != NULL) ? s : own(T, device, op);
}

void eg__cuda_thread_end(eg_device *device, eg__thread *T)
{
    give_back(T->lane[device->id].own);
    T->lane[device->id].own = T->lane[device->id].now = NULL;
}

void eg__cuda_streams_end(eg__cuda *d)
{
    while (d->nstreams) {
        eg_stream *s = d->streams[--d->nstreams];
        cudaStreamSynchronize(s->handle);
        eg__staging_end(&s->staging);
        eg__pool_free(s->pool);
        cudaEventDestroy(s->mark);
        cudaStreamDestroy(s->handle);
        free(s);
    }
}

eg_stream *eg__cuda_stream_new(eg_device *device)
{
    return take(eg__cuda_of(device), "eg_stream_new", false);
}

eg_status eg__cuda_stream_free(eg_stream *s)
{
    if (!s->taken || s->thread) {
        return eg__fail(EG_ESTATE, "eg_stream_free", s->taken ? "it is a thread's own stream" : "it was freed already");
    }
    give_back(s);
    return EG_OK;
}

eg_stream *eg__cuda_use_stream(eg__thread *T, eg_stream *s)
{
    eg_stream *before = eg__cuda_stream(T, s->device, "eg_use_stream");
    if (before && before != s && eg__capture_stop("eg_use_stream", "what follows is on another stream")) {
        return NULL;
    }
    if (before) {
        T->lane[s->device->id].now = s;
    }
    return before;
}

eg_status eg__cuda_stream_synchronize(eg_stream *s)
{
    return eg__cuda_wait(s, "eg_stream_synchronize");
}

void *eg__cuda_stream_handle(eg_stream *s)
{
    return s->handle;
}

/* ---- who waits for whom ---------------------------------------------------------------------------- */

/* Later work on s comes after what is queued on other now. While another thread captures there, that is what was
 * queued before, where the capture has left the mark: a new one would make s part of it. */
static eg_status wait_for(eg_stream *s, eg_stream *other, const char *op)
{
    eg__cuda *d = eg__cuda_of(s->device);
    pthread_mutex_lock(&d->lock);
    const bool marked = other->capture != NULL;
    int64_t upto = atomic_load(&other->queued);
    cudaError_t e = marked ? cudaSuccess : cudaEventRecord(other->mark, other->handle);
    if (!e) {
        e = cudaStreamWaitEvent(s->handle, other->mark, 0);
    }
    if (!e && !marked) {
        s->seen[other->id] = upto;
    }
    pthread_mutex_unlock(&d->lock);
    return eg__cuda_check(d, op, e, "ordering streams");
}

/* Memory of another stream's pool is told who else uses it. */
static eg_status note_use(eg_stream *s, eg__block *b, const char *op)
{
    return likely(b->pool == s->pool) ? EG_OK
                                      : eg__cuda_check(eg__cuda_of(s->device), op, eg__block_used_on(b, s->handle),
                                                       "noting the use of memory");
}

/* What a capture takes from its own pool is nobody else's. When its graph is launched is when others are waited for. */
static eg_status note_captured(eg_stream *s, eg__storage *of, bool written)
{
    const eg__block *b = of->user;
    return b->pool == s->pool ? EG_OK : eg__capture_uses(s->capture, of, written);
}

eg_status eg__cuda_reads(eg_stream *s, eg__storage *of, const char *op)
{
    eg__block *b = of->user;
    eg_stream *writer = b->writer;
    eg_status st = EG_OK;
    if (unlikely(s->capture != NULL)) {
        return note_captured(s, of, false);
    }
    if (unlikely(writer && writer != s && s->seen[writer->id] < b->wrote_at)) {
        st = wait_for(s, writer, op);
    }
    return st ? st : note_use(s, b, op);
}

eg_status eg__cuda_writes(eg_stream *s, eg__storage *of, const char *op)
{
    eg__block *b = of->user;
    if (unlikely(s->capture != NULL)) {
        return note_captured(s, of, true);
    }
    if (likely(!b->writer || (b->writer == s && b->pool == s->pool && !b->users))) {
        return EG_OK; /* new, or of this stream alone */
    }
    eg__cuda *d = eg__cuda_of(s->device);
    eg_status st = EG_OK;
    for (int i = 0; i < d->nstreams && !st; i++) { /* any of them may still be reading it */
        eg_stream *other = d->streams[i];
        if (other != s && s->seen[i] < atomic_load(&other->queued)) {
            st = wait_for(s, other, op);
        }
    }
    return st ? st : note_use(s, b, op);
}

void eg__cuda_wrote(eg_stream *s, eg__storage *of)
{
    eg__block *b = of->user;
    b->writer = s;
    b->wrote_at = atomic_load_explicit(&s->queued, memory_order_relaxed);
}

eg_status eg__cuda_wait(eg_stream *s, const char *op)
{
    eg__cuda *d = eg__cuda_of(s->device);
    eg_status st = eg__capture_stop(op, waits);
    st = st ? st : eg__cuda_enter(d, op);
    st = st ? st : eg__cuda_check(d, op, cudaStreamSynchronize(s->handle), "waiting");
    return st ? st : eg__cuda_faults(d);
}

/* ---- running a kernel ------------------------------------------------------------------------------ */

static eg_status before(eg_stream *s, const eg__call *c)
{
    eg_status st = EG_OK;
    for (int i = 0; i < c->nin && !st; i++) {
        if (c->in[i] && likely(c->in[i]->device == c->device) && c->in[i]->n) {
            st = eg__cuda_reads(s, c->in[i]->storage, c->op->name);
        }
    }
    for (int j = 0; j < c->op->nout && !st; j++) {
        if (c->out[j] && likely(c->out[j]->device == c->device)) {
            st = eg__cuda_writes(s, c->out[j]->storage, c->op->name);
        }
    }
    return st;
}

eg_status eg__cuda_run(const eg__call *c, eg__kernel *k)
{
    eg_device *device = eg__host_devices[c->device];
    eg_stream *s = eg__cuda_stream(c->T, device, c->op->name);
    if (unlikely(!s)) {
        return eg__why();
    }
    eg_status st = eg__cuda_enter(eg__cuda_of(device), c->op->name);
    if (unlikely(c->T->capture && s->capture != c->T->capture) && !st) {
        st = eg__capture_stop(c->op->name, "it runs on another device");
    }
    st = st ? st : before(s, c);
    st = st ? st : k(c);
    atomic_fetch_add_explicit(&s->queued, 1, memory_order_relaxed);
    for (int j = 0; j < c->op->nout; j++) {
        if (c->out[j] && c->out[j]->device == c->device) {
            eg__cuda_wrote(s, c->out[j]->storage);
        }
    }
    if (unlikely(eg__mode(c->T) & EG__DEBUG_SYNC) && !st) {
        st = eg__cuda_wait(s, c->op->name);
    }
    return st;
}

eg_status eg__cuda_scratch(const eg__call *c, size_t bytes, eg__block **block)
{
    *block = eg__block_new(c->T->lane[c->device].now->pool, bytes, c->op->id);
    return *block ? EG_OK : eg__no_memory_on(c->device, c->op->name, (int64_t)bytes);
}

void eg__cuda_scratch_end(eg__block *block)
{
    if (block) {
        eg__block_free_later(block);
    }
}

/* ---- events ---------------------------------------------------------------------------------------- */

eg_event *eg__cuda_event_new(eg_device *device)
{
    eg__cuda *d = eg__cuda_of(device);
    eg_event *e = eg__cuda_enter(d, "eg_event_new") ? NULL : eg__handle_new(sizeof *e);
    if (!e) {
        return d->lost ? NULL : (eg__no_memory("eg_event_new", (int64_t)sizeof *e), NULL);
    }
    e->device = device;
    if (eg__cuda_check(d, "eg_event_new", cudaEventCreateWithFlags(&e->handle, cudaEventDefault), "an event")) {
        eg__handle_ends(e, "eg_event_new");
        free(e);
        return NULL;
    }
    return e;
}

eg_status eg__cuda_event_free(eg_event *e)
{
    eg_status st =
        eg__cuda_check(eg__cuda_of(e->device), "eg_event_free", cudaEventDestroy(e->handle), "freeing an event");
    free(e);
    return st;
}

eg_status eg__cuda_event_record(eg__thread *T, eg_event *e)
{
    static const char op[] = "eg_event_record";
    eg__cuda *d = eg__cuda_of(e->device);
    eg_stream *s = eg__cuda_stream(T, e->device, op);
    eg_status st = s ? eg__capture_stop(op, "an event is for others") : eg__why();
    st = st ? st : eg__cuda_enter(d, op);
    st = st ? st : eg__cuda_check(d, op, cudaEventRecord(e->handle, s->handle), "recording");
    e->recorded |= !st;
    return st;
}

static eg_status happened(const eg_event *e, const char *op)
{
    return e->recorded ? EG_OK : eg__fail(EG_ESTATE, op, "the event was not recorded");
}

eg_status eg__cuda_event_wait(eg__thread *T, eg_event *e)
{
    static const char op[] = "eg_event_wait";
    eg__cuda *d = eg__cuda_of(e->device);
    eg_stream *s = eg__cuda_stream(T, e->device, op);
    eg_status st = s ? happened(e, op) : eg__why();
    st = st ? st : eg__capture_stop(op, "an event is for others");
    st = st ? st : eg__cuda_enter(d, op);
    return st ? st : eg__cuda_check(d, op, cudaStreamWaitEvent(s->handle, e->handle, 0), "waiting");
}

eg_status eg__cuda_event_synchronize(eg_event *e)
{
    static const char op[] = "eg_event_synchronize";
    eg__cuda *d = eg__cuda_of(e->device);
    eg_status st = happened(e, op);
    st = st ? st : eg__capture_stop(op, waits);
    st = st ? st : eg__cuda_check(d, op, cudaEventSynchronize(e->handle), "waiting");
    return st ? st : eg__cuda_faults(d);
}

eg_status eg__cuda_event_elapsed(eg_event *from, eg_event *to, double *ms)
{
    static const char op[] = "eg_event_elapsed";
    float f = 0;
    if (from->device != to->device) {
        return eg__fail(EG_EDEVICE, op, "the events are of %s and %s", from->device->name, to->device->name);
    }
    eg_status st = happened(from, op);
    st = st ? st : happened(to, op);
    if (st) {
        return st;
    }
    cudaError_t e = cudaEventElapsedTime(&f, from->handle, to->handle);
    if (e == cudaErrorNotReady) {
        return eg__fail(EG_ESTATE, op, "the device has not come to both events yet");
    }
    *ms = (double)f;
    return eg__cuda_check(eg__cuda_of(from->device), op, e, "comparing events");
}
