/* carrier.c - a stream of its own on which a thread of a communicator moves memory, and adds it up. */
#include <stdlib.h>

#include "lib/core/capture.h"
#include "lib/core/live.h"
#include "lib/cuda/ranks/carrier.h"

static eg__cuda *card_of(const eg__carrier *carrier)
{
    return eg__cuda_of(carrier->device);
}

static eg__carrier *open_carrier(eg_device *device, const char *op)
{
    eg__cuda *d = eg__cuda_of(device);
    eg__carrier *carrier = eg__cuda_enter(d, op) ? NULL : eg__malloc(sizeof *carrier);
    if (!carrier) {
        return d->lost ? NULL : (eg__no_memory(op, (int64_t)sizeof *carrier), NULL);
    }
    *carrier = (eg__carrier){.device = device};
    const cudaError_t e = eg__fail_injected() ? cudaErrorMemoryAllocation
                                              : cudaStreamCreateWithFlags(&carrier->stream, cudaStreamNonBlocking);
    if (eg__cuda_check(d, op, e, "a stream")) {
        free(carrier);
        return NULL;
    }
    return carrier;
}

static void close_carrier(eg__carrier *carrier)
{
    if (!eg__cuda_enter(card_of(carrier), "eg_comm_free")) {
        cudaStreamSynchronize(carrier->stream);
        cudaStreamDestroy(carrier->stream);
    }
    free(carrier);
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

static eg_status copy(eg__carrier *carrier, char *to, const eg__carrier *of, const char *from, int64_t bytes)
{
    eg__cuda *d = card_of(carrier);
    eg_status st = eg__cuda_enter(d, "eg_comm");
    if (st || !bytes) {
        return st;
    }
    const int here = d->ordinal, there = card_of(of)->ordinal;
    const cudaError_t e = here == there
                              ? cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToDevice, carrier->stream)
                              : cudaMemcpyPeerAsync(to, here, from, there, (size_t)bytes, carrier->stream);
    return eg__cuda_check(d, "eg_comm", e, "copying from another rank");
}

static eg_status reduce(eg__carrier *carrier, eg_dtype dtype, eg_comm_reduction how, int ranks, const char *parts,
                        int64_t apart, int64_t count, char *out)
{
    const eg__rank_sum sum = {parts, out, apart, count, dtype, how, ranks};
    eg_status st = eg__cuda_enter(card_of(carrier), "eg_comm");
    return st || !count
               ? st
               : eg__cuda_check(card_of(carrier), "eg_comm", eg__launch_rank_sum(&sum, carrier->stream), "adding up");
}

static eg_status settled(eg__carrier *carrier, bool *yes)
{
    eg__cuda *d = card_of(carrier);
    eg_status st = eg__cuda_enter(d, "eg_comm");
    const cudaError_t e = st ? cudaSuccess : cudaStreamQuery(carrier->stream);
    *yes = !st && e == cudaSuccess;
    return st || e == cudaErrorNotReady ? st : eg__cuda_check(d, "eg_comm", e, "asking after a stream");
}

static void finish(eg__carrier *carrier)
{
    if (!eg__cuda_enter(card_of(carrier), "eg_comm")) {
        cudaStreamSynchronize(carrier->stream);
    }
}

const eg__carriers eg__cuda_carriers = {open_carrier, close_carrier, leave, happened, copy, reduce, settled, finish};
