/* capture.c - captured steps: recording what a thread queues as a CUDA graph, and launching that. */
#include "lib/core/capture.h"
#include "lib/cuda/runtime/cuda.h"

static const char op[] = "eg_step_run";

/* With the mark that other threads wait for meanwhile. */
static eg_status begin(eg__cuda *d, eg_stream *s, eg__capture *c)
{
    pthread_mutex_lock(&d->lock);
    cudaError_t e = cudaEventRecord(s->mark, s->handle);
    e = e ? e : cudaStreamBeginCapture(s->handle, cudaStreamCaptureModeThreadLocal);
    s->capture = e ? NULL : c;
    pthread_mutex_unlock(&d->lock);
    return eg__cuda_check(d, op, e, "capturing");
}

/* graph NULL: it is not wanted. */
static cudaError_t end(eg__cuda *d, eg_stream *s, cudaGraph_t *graph)
{
    cudaGraph_t unwanted = NULL;
    pthread_mutex_lock(&d->lock);
    cudaError_t e = cudaStreamEndCapture(s->handle, graph ? graph : &unwanted);
    s->capture = NULL;
    pthread_mutex_unlock(&d->lock);
    if (unwanted) {
        cudaGraphDestroy(unwanted);
    }
    return e;
}

eg_status eg__cuda_capture_begin(eg__thread *T, eg__capture *c)
{
    eg__cuda *d = eg__cuda_of(c->device);
    eg_stream *s = eg__cuda_stream(T, c->device, op);
    eg_status st = s ? eg__cuda_enter(d, op) : eg__why();
    if (st) {
        return st;
    }
    eg__heap_trim(d->heap); /* what calls before it have left is about as much as it will take */
    st = begin(d, s, c);
    if (st) {
        return st;
    }
    c->pool = c->pool ? c->pool : eg__pool_new(d->heap, s->handle);
    if (!c->pool) {
        end(d, s, NULL);
        return eg__no_memory(op, 0);
    }
    c->stream = s;
    s->usual = s->pool;
    s->pool = c->pool;
    return EG_OK;
}

eg_status eg__cuda_capture_end(eg__capture *c)
{
    eg_stream *s = c->stream;
    eg__cuda *d = eg__cuda_of(c->device);
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    s->pool = s->usual;
    eg_status st = eg__cuda_check(d, op, end(d, s, &graph), "capturing");
    if (st) {
        end(d, s, NULL); /* whatever state the refusal has left it in */
        cudaGetLastError();
    }
    st = st ? st : eg__cuda_check(d, op, cudaGraphInstantiateWithFlags(&exec, graph, 0), "making a graph");
    if (graph) {
        cudaGraphDestroy(graph);
    }
    c->graph = exec;
    return st;
}

eg_status eg__cuda_capture_launch(eg__thread *T, eg__capture *c)
{
    eg_stream *s = c->stream;
    eg__cuda *d = eg__cuda_of(c->device);
    eg_status st = eg__cuda_enter(d, op);
    (void)T;
    for (uint32_t i = 0; i < c->read.count && !st; i++) {
        st = eg__cuda_reads(s, c->read.at[i], op);
    }
    for (uint32_t i = 0; i < c->written.count && !st; i++) {
        st = eg__cuda_writes(s, c->written.at[i], op);
    }
    st = st ? st : eg__cuda_check(d, op, cudaGraphLaunch(c->graph, s->handle), "launching a graph");
    atomic_fetch_add_explicit(&s->queued, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < c->written.count; i++) {
        eg__cuda_wrote(s, c->written.at[i]);
    }
    return st;
}

static bool is_held(const eg__block *b, const void *who)
{
    const eg__storages *held = who;
    for (uint32_t i = 0; i < held->count; i++) {
        if (held->at[i]->user == b) {
            return true;
        }
    }
    return false;
}

int eg__cuda_capture_left(eg__capture *c, const eg__storages *held)
{
    return eg__pool_left(c->pool, is_held, held);
}

/* The device may still be at work on it. */
void eg__cuda_capture_free(eg__capture *c)
{
    cudaStreamSynchronize(c->stream->handle);
    cudaGraphExecDestroy(c->graph);
    c->graph = NULL;
}

void eg__cuda_pool_free(eg_device *d, void *pool)
{
    (void)d;
    eg__pool_free(pool);
}
