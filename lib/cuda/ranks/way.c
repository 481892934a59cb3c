/* way.c - a stream of its own on which a thread of a communicator moves memory, and adds it up. */
#include <stdlib.h>

#include "lib/core/capture.h"
#include "lib/core/live.h"
#include "lib/cuda/ranks/way.h"

static eg__cuda *card_of(const eg__way *way)
{
    return eg__cuda_of(way->device);
}

static eg__way *open_way(eg_device *device, const char *op)
{
    eg__cuda *d = eg__cuda_of(device);
    eg__way *way = eg__cuda_enter(d, op) ? NULL : eg__malloc(sizeof *way);
    if (!way) {
        return d->lost ? NULL : (eg__no_memory(op, (int64_t)sizeof *way), NULL);
    }
    *way = (eg__way){.device = device};
    const cudaError_t e = eg__fail_injected() ? cudaErrorMemoryAllocation
                                              : cudaStreamCreateWithFlags(&way->stream, cudaStreamNonBlocking);
    if (eg__cuda_check(d, op, e, "a stream")) {
        free(way);
        return NULL;
    }
    return way;
}

static void close_way(eg__way *way)
{
    if (!eg__cuda_enter(card_of(way), "eg_comm_free")) {
        cudaStreamSynchronize(way->stream);
        cudaStreamDestroy(way->stream);
    }
    free(way);
}

static eg_status leave(eg__thread *T, eg_tensor *t, bool written, const char *op)
{
    eg_stream *s = eg__cuda_stream(T, eg__host_devices[t->device], op);
    eg_status st = s ? eg__capture_stop(op, "it exchanges with other ranks") : eg__why();
    st = st ? st : eg__cuda_enter(eg__cuda_at(t->device), op);
    st = st ? st : eg__cuda_reads(s, t->storage, op);
    return st || !written ? st : eg__cuda_writes(s, t->storage, op);
}

static eg_status happened(eg_event *event, bool *yes)
{
    eg__cuda *d = eg__cuda_of(event->device);
    const cudaError_t e = cudaEventQuery(event->handle);
    *yes = e == cudaSuccess;
    return e == cudaErrorNotReady ? EG_OK : eg__cuda_check(d, "eg_comm", e, "asking after an event");
}

static eg_status copy(eg__way *way, char *to, const eg__way *of, const char *from, int64_t bytes)
{
    eg__cuda *d = card_of(way);
    eg_status st = eg__cuda_enter(d, "eg_comm");
    if (st || !bytes) {
        return st;
    }
    const int here = d->ordinal, there = card_of(of)->ordinal;
    const cudaError_t e = here == there
                              ? cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToDevice, way->stream)
                              : cudaMemcpyPeerAsync(to, here, from, there, (size_t)bytes, way->stream);
    return eg__cuda_check(d, "eg_comm", e, "copying from another rank");
}

static eg_status reduce(eg__way *way, eg_dtype dtype, eg_comm_reduction how, int ranks, const char *parts,
                        int64_t apart, int64_t count, char *out)
{
    const eg__rank_sum sum = {parts, out, apart, count, dtype, how, ranks};
    eg_status st = eg__cuda_enter(card_of(way), "eg_comm");
    return st || !count ? st
                        : eg__cuda_check(card_of(way), "eg_comm", eg__launch_rank_sum(&sum, way->stream), "adding up");
}

static eg_status settled(eg__way *way, bool *yes)
{
    eg__cuda *d = card_of(way);
    eg_status st = eg__cuda_enter(d, "eg_comm");
    const cudaError_t e = st ? cudaSuccess : cudaStreamQuery(way->stream);
    *yes = !st && e == cudaSuccess;
    return st || e == cudaErrorNotReady ? st : eg__cuda_check(d, "eg_comm", e, "asking after a stream");
}

static void finish(eg__way *way)
{
    if (!eg__cuda_enter(card_of(way), "eg_comm")) {
        cudaStreamSynchronize(way->stream);
    }
}

const eg__ways eg__cuda_ways = {open_way, close_way, leave, happened, copy, reduce, settled, finish};
