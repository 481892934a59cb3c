/* copies.cc - the fake runtime's copies and fills. As on a device, what is copied from memory of
 * the host that is not pinned is read at once, and what is copied to it is there when the call
 * ends; pinned memory is read and written when the work runs. */
#include "tools/emulator/runtime.h"

/* Rows of bytes; one row where there is no pitch. */
struct rows {
    void *to;
    const void *from;
    size_t to_pitch, from_pitch, bytes, count;

    size_t to_span() const
    {
        return count ? to_pitch * (count - 1) + bytes : 0;
    }
    size_t from_span() const
    {
        return count ? from_pitch * (count - 1) + bytes : 0;
    }
    size_t all() const
    {
        return bytes * count;
    }
    void run() const
    {
        for (size_t i = 0; i < count; i++) {
            memmove(static_cast<char *>(to) + i * to_pitch, static_cast<const char *>(from) + i * from_pitch, bytes);
        }
    }
};

/* Whether the kind says of an end what is true of it. */
static bool kind_fits(cudaMemcpyKind kind, bool to_device, bool from_device)
{
    switch (kind) {
    case cudaMemcpyHostToHost:
        return !to_device && !from_device;
    case cudaMemcpyHostToDevice:
        return to_device && !from_device;
    case cudaMemcpyDeviceToHost:
        return !to_device && from_device;
    case cudaMemcpyDeviceToDevice:
        return to_device && from_device;
    default:
        return kind == cudaMemcpyDefault;
    }
}

static void tally(eg_fake_counts &c, const eg__place &to, const eg__place &from, int64_t bytes)
{
    if (to.kind == EG__DEVICE && from.kind == EG__DEVICE) {
        bool within = to.device == from.device;
        (within ? c.copies_within : c.copies_across)++;
        (within ? c.bytes_within : c.bytes_across) += bytes;
    } else if (to.kind == EG__DEVICE) {
        c.copies_in++;
        c.bytes_in += bytes;
    } else if (from.kind == EG__DEVICE) {
        c.copies_out++;
        c.bytes_out += bytes;
    }
}

static unsigned reach_of(const eg__fake &fake, const eg__place &to, const eg__place &from)
{
    return (to.kind == EG__DEVICE ? eg__reach(fake, to.device) : 0) |
           (from.kind == EG__DEVICE ? eg__reach(fake, from.device) : 0);
}

/* Streams that the stream 0 waits for. */
static void wait_for_blocking(eg__call &call, int device)
{
    eg__run_until(call, [&call, device] {
        for (cudaStream_t s : call.fake.streams) {
            bool idle = s->queue.empty() && !s->busy;
            if (s->device == device && !(s->flags & cudaStreamNonBlocking) && !idle) {
                return false;
            }
        }
        return true;
    });
}

/* On the stream 0: done when it returns. */
static cudaError_t do_now(eg__call &call, const eg__task &task)
{
    if (eg__capture_forbids(call.fake)) {
        return cudaErrorStreamCaptureUnsupported;
    }
    call.fake.counts.syncs++;
    wait_for_blocking(call, eg__fake_device);
    eg__run_task(call, eg__fake_device, task);
    eg__open_memory(0);
    return call.fake.device[eg__fake_device].broken;
}

static cudaError_t copy(eg__call &call, rows r, cudaMemcpyKind kind, cudaStream_t s)
{
    eg__fake &fake = call.fake;
    if (!r.all()) {
        return cudaSuccess;
    }
    eg__place to = eg__place_of(r.to, r.to_span()), from = eg__place_of(r.from, r.from_span());
    if (to.kind == EG__NOWHERE || from.kind == EG__NOWHERE || !r.to || !r.from ||
        !kind_fits(kind, to.kind == EG__DEVICE, from.kind == EG__DEVICE)) {
        return cudaErrorInvalidValue;
    }
    if (s && !eg__stream_alive(fake, s)) {
        return cudaErrorInvalidResourceHandle;
    }
    tally(fake.counts, to, from, int64_t(r.all()));
    eg__task task;
    task.reach = reach_of(fake, to, from);
    task.run = [r] { r.run(); };
    if (!s) {
        return do_now(call, task);
    }
    bool pageable_in = from.kind == EG__HOST && !from.pinned, pageable_out = to.kind == EG__HOST && !to.pinned;
    if (pageable_in && !s->capture) {
        const char *bytes = static_cast<const char *>(r.from);
        auto staged = std::make_shared<std::vector<char>>(bytes, bytes + r.from_span());
        r.from = staged->data();
        task.run = [r, staged] { r.run(); };
    }
    cudaError_t e = eg__push(call, s, std::move(task));
    if (!e && pageable_out && !s->capture) {
        fake.counts.syncs++;
        int device = s->device;
        eg__run_until(call, [s] { return s->queue.empty() && !s->busy; });
        e = fake.device[device].broken;
    }
    return e;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s)
{
    EG__CALL(eg__fake_device)
    return call.done(copy(call, {to, from, bytes, bytes, bytes, 1}, kind, s));
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    EG__CALL(eg__fake_device)
    return call.done(copy(call, {to, from, bytes, bytes, bytes, 1}, kind, nullptr));
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t s)
{
    EG__CALL(eg__fake_device)
    if (width > to_pitch || width > from_pitch) {
        return call.done(cudaErrorInvalidPitchValue);
    }
    return call.done(copy(call, {to, from, to_pitch, from_pitch, width, height}, kind, s));
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                cudaStream_t s)
{
    EG__CALL(eg__fake_device)
    if (bytes && (eg__place_of(to, bytes).device != to_device || eg__place_of(from, bytes).device != from_device)) {
        return call.done(cudaErrorInvalidValue);
    }
    return call.done(copy(call, {to, from, bytes, bytes, bytes, 1}, cudaMemcpyDeviceToDevice, s));
}

static cudaError_t fill(eg__call &call, void *at, int value, size_t bytes, cudaStream_t s)
{
    eg__fake &fake = call.fake;
    if (!bytes) {
        return cudaSuccess;
    }
    eg__place p = eg__place_of(at, bytes);
    if (p.kind != EG__DEVICE && !p.pinned) {
        return cudaErrorInvalidValue;
    }
    if (s && !eg__stream_alive(fake, s)) {
        return cudaErrorInvalidResourceHandle;
    }
    fake.counts.memsets++;
    eg__task task;
    task.reach = reach_of(fake, p, p);
    task.run = [at, value, bytes] { memset(at, value, bytes); };
    return s ? eg__push(call, s, std::move(task)) : do_now(call, task);
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t s)
{
    EG__CALL(eg__fake_device)
    return call.done(fill(call, at, value, bytes, s));
}

cudaError_t cudaMemset(void *at, int value, size_t bytes)
{
    EG__CALL(eg__fake_device)
    return call.done(fill(call, at, value, bytes, nullptr));
}
