/* module.c - the engine that the CUDA module gives to the library. */
#include "lib/cuda/ranks/carrier.h"
#include "lib/cuda/rnn/dnn_rnn.h"

static eg__kernel *const kernels[EG__OP_COUNT] = {
#define EG_KERNEL(name) [EG__ID_##name] = eg__cuda_##name,
#include "lib/cuda/kernels.def"
#undef EG_KERNEL
};

static void *reserve(eg_device *d, eg__thread *T, size_t bytes, uint16_t made_by, char **data)
{
    eg_stream *s = eg__cuda_stream(T, d, "allocate");
    eg__block *b = s ? eg__block_new(s->pool, bytes, made_by) : NULL;
    if (b) {
        *data = b->data;
    }
    return b;
}

static void release(eg_device *d, void *block)
{
    (void)d;
    eg__block_free_later(block);
}

static void memory(eg_device *d, eg_memory *m)
{
    eg__heap_stats(eg__cuda_of(d)->heap, m);
}

static void limit(eg_device *d, int64_t bytes)
{
    eg__heap_limit(eg__cuda_of(d)->heap, bytes);
}

static void reset_peak(eg_device *d)
{
    eg__heap_reset_peak(eg__cuda_of(d)->heap);
}

static void trim(eg_device *d)
{
    eg__heap_trim(eg__cuda_of(d)->heap);
}

static void holders(eg_device *d, int64_t *bytes_by_op, int count)
{
    eg__heap_holders(eg__cuda_of(d)->heap, bytes_by_op, count);
}

static const eg__streams streams = {
    .make = eg__cuda_stream_new,
    .free = eg__cuda_stream_free,
    .use = eg__cuda_use_stream,
    .own = eg__cuda_own_stream,
    .synchronize = eg__cuda_stream_synchronize,
    .handle = eg__cuda_stream_handle,
    .event_make = eg__cuda_event_new,
    .event_free = eg__cuda_event_free,
    .event_record = eg__cuda_event_record,
    .event_wait = eg__cuda_event_wait,
    .event_synchronize = eg__cuda_event_synchronize,
    .event_elapsed = eg__cuda_event_elapsed,
};

static const eg__timing timing = {
    .clock = eg__cuda_clock,
    .begin = eg__cuda_timer_begin,
    .end = eg__cuda_timer_end,
    .read = eg__cuda_timer_read,
    .drop = eg__cuda_timer_drop,
};

static const eg__graphs graphs = {
    .begin = eg__cuda_capture_begin,
    .end = eg__cuda_capture_end,
    .launch = eg__cuda_capture_launch,
    .left = eg__cuda_capture_left,
    .free = eg__cuda_capture_free,
    .pool_free = eg__cuda_pool_free,
};

static const eg__engine engine = {
    EG__ENGINE_OF_THIS_BUILD,
    .kernels = kernels,
    .count = eg__cuda_count,
    .open = eg__cuda_open,
    .close = eg__cuda_close,
    .describe = eg__cuda_describe,
    .reserve = reserve,
    .release = release,
    .memory = memory,
    .limit = limit,
    .reset_peak = reset_peak,
    .trim = trim,
    .holders = holders,
    .rnn_reserve = eg__dnn_rnn_reserve,
    .run = eg__cuda_run,
    .fill = eg__cuda_fill,
    .upload = eg__cuda_upload,
    .download = eg__cuda_download,
    .synchronize = eg__cuda_synchronize,
    .thread_end = eg__cuda_thread_end,
    .streams = &streams,
    .timing = &timing,
    .graphs = &graphs,
    .carriers = &eg__cuda_carriers,
#ifdef EG_NCCL
    .cards = &eg__cuda_cards,
#endif
};

EG_API eg__module_fn eg__module;
const eg__engine *eg__module(const eg__host *given)
{
    if (given->abi != EG__MODULE_ABI) {
        return NULL;
    }
    eg__host_given(given);
    return &engine;
}
