/* streams.cc - the fake runtime's streams, events and launches. Work is only queued; what waits for
 * it runs all that can run, one piece at a time, of a stream drawn at random. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <chrono>

#include "tools/emulator/emulator.h"
#include "tools/emulator/runtime.h"

static double now(const eg__fake &fake)
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return fake.clock_rate * (double(t.tv_sec) + 1e-9 * double(t.tv_nsec)) + fake.clock_offset;
}

bool eg__stream_alive(const eg__fake &fake, cudaStream_t s)
{
    for (cudaStream_t one : fake.streams) {
        if (one == s) {
            return !s->destroyed;
        }
    }
    return false;
}

static bool event_alive(const eg__fake &fake, cudaEvent_t e)
{
    return fake.events.count(e);
}

/* Running work. */

void eg__run_task(eg__call &call, int device, const eg__task &task)
{
    cudaError_t &broken = call.fake.device[device].broken;
    if (task.broken) {
        broken = cudaErrorIllegalAddress;
    }
    if (!task.run || broken) {
        return;
    }
    eg__open_memory(task.host ? 0 : task.reach);
    eg__inside = task.host ? EG__IN_HOST_FUNCTION : EG__IN_KERNEL;
    if (task.host) {
        call.lock.unlock();
    }
    task.run();
    if (task.host) {
        call.lock.lock();
    }
    eg__inside = EG__OUTSIDE;
}

static bool can_run(const CUstream_st *s)
{
    if (s->busy || s->queue.empty()) {
        return false;
    }
    const eg__task &t = s->queue.front();
    return !t.wait || t.wait->done >= t.wait_for;
}

static void step_stream(eg__call &call, cudaStream_t s)
{
    s->busy = true;
    eg__task &t = s->queue.front();
    bool over = true;
    if (t.replay) {
        over = eg__replay_step(call, s->device, *t.replay);
    } else {
        eg__run_task(call, s->device, t);
    }
    s->busy = false;
    call.fake.ended.notify_all();
    if (!over) {
        return;
    }
    if (t.record) {
        t.record->done = t.record_as;
        t.record->time = now(call.fake);
    }
    s->queue.pop_front();
}

static void bury_streams(eg__fake &fake)
{
    for (size_t i = fake.streams.size(); i-- > 0;) {
        cudaStream_t s = fake.streams[i];
        if (s->destroyed && !s->busy && s->queue.empty()) {
            fake.streams.erase(fake.streams.begin() + long(i));
            delete s;
        }
    }
}

/* One piece of work, if any can run. */
static bool step(eg__call &call)
{
    auto &streams = call.fake.streams;
    size_t n = streams.size(), first = n ? eg__draw(call.fake, uint32_t(n)) : 0;
    for (size_t i = 0; i < n; i++) {
        cudaStream_t s = streams[(first + i) % n];
        if (can_run(s)) {
            step_stream(call, s);
            return true;
        }
    }
    return false;
}

static bool someone_busy(const eg__fake &fake)
{
    for (cudaStream_t s : fake.streams) {
        if (s->busy) {
            return true;
        }
    }
    return false;
}

void eg__run_until(eg__call &call, const std::function<bool()> &enough)
{
    while (!enough()) {
        if (step(call)) {
            continue;
        }
        if (!someone_busy(call.fake) && eg__nccl_waits()) {
            call.fake.ended.wait_for(call.lock, std::chrono::milliseconds(2));
            continue;
        }
        if (!someone_busy(call.fake)) {
            fprintf(stderr, "fake CUDA: queued work waits for what never comes\n");
            abort();
        }
        call.fake.ended.wait(call.lock);
    }
    eg__open_memory(0);
    bury_streams(call.fake);
}

static bool is_idle(const CUstream_st *s)
{
    return s->queue.empty() && !s->busy;
}

void eg__drain(eg__call &call)
{
    eg__run_until(call, [&call] {
        for (cudaStream_t s : call.fake.streams) {
            if (!is_idle(s)) {
                return false;
            }
        }
        return true;
    });
}

void eg__run_a_little(eg__call &call)
{
    for (uint32_t i = eg__draw(call.fake, 4); i > 0 && step(call); i--) {
    }
    eg__open_memory(0);
    bury_streams(call.fake);
}

cudaError_t eg__push(eg__call &call, cudaStream_t s, eg__task task)
{
    if (s->capture) {
        if (!s->capture->valid) {
            return cudaErrorStreamCaptureInvalidated;
        }
        eg__capture_add(s, std::move(task));
        return cudaSuccess;
    }
    if (call.fake.device[s->device].broken) {
        return call.fake.device[s->device].broken;
    }
    s->queue.push_back(std::move(task));
    if (!call.fake.defer) {
        eg__run_until(call, [s] { return is_idle(s); });
    }
    return cudaSuccess;
}

/* Launches. */

static cudaError_t refusal(const eg__fake &fake, const eg__emu_launch &l)
{
    dim3 g = l.grid, b = l.block;
    uint64_t threads = uint64_t(b.x) * b.y * b.z;
    if (!threads || threads > 1024 || b.z > 64 || !g.x || !g.y || !g.z || g.x > INT32_MAX || g.y > 65535 ||
        g.z > 65535) {
        return cudaErrorInvalidConfiguration;
    }
    auto asked = fake.opted_in.find(l.entry);
    size_t most = asked == fake.opted_in.end() || asked->second < 49152 ? 49152 : size_t(asked->second);
    return l.shared > most ? cudaErrorInvalidValue : cudaSuccess;
}

static cudaError_t launch(eg__call &call, cudaStream_t s, std::function<void()> run)
{
    eg__fake &fake = call.fake;
    if (!s || !eg__stream_alive(fake, s) || s->device != eg__fake_device) {
        return cudaErrorInvalidResourceHandle;
    }
    fake.counts.launches++;
    eg__task task;
    task.run = std::move(run);
    task.reach = eg__reach(fake, s->device);
    task.broken = fake.fault && --fake.fault == 0;
    return eg__push(call, s, std::move(task));
}

cudaError_t eg__emu_submit(const eg__emu_launch &l, cudaStream_t s, std::function<void()> body)
{
    eg__call call("cudaLaunchKernel", eg__fake_device);
    cudaError_t e = call.error ? call.error : refusal(call.fake, l);
    return call.done(e ? e : launch(call, s, [l, body] { eg__emu_run(l, body); }));
}

cudaError_t eg_fake_enqueue(cudaStream_t s, void (*run)(void *), const void *arguments, size_t bytes)
{
    eg__call call("eg_fake_enqueue", eg__fake_device);
    if (call.error) {
        return call.done(call.error);
    }
    std::vector<max_align_t> copy(bytes / sizeof(max_align_t) + 1);
    memcpy(copy.data(), arguments, bytes);
    return call.done(launch(call, s, [run, copy]() mutable { run(copy.data()); }));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t function, void *user)
{
    EG__CALL(eg__fake_device)
    if (!s || !eg__stream_alive(fake, s)) {
        return call.done(cudaErrorInvalidResourceHandle);
    }
    fake.counts.host_functions++;
    eg__task task;
    task.run = [function, user] { function(user); };
    task.host = true;
    return call.done(eg__push(call, s, std::move(task)));
}

/* Streams. */

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    EG__CALL(eg__fake_device)
    if (flags & ~unsigned(cudaStreamNonBlocking)) {
        return call.done(cudaErrorInvalidValue);
    }
    *stream = new CUstream_st{};
    (*stream)->device = eg__fake_device;
    (*stream)->flags = flags;
    (*stream)->priority = priority < -5 ? -5 : priority > 0 ? 0 : priority;
    fake.streams.push_back(*stream);
    fake.counts.streams++;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

/* What is queued still runs, as on a device. */
cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    EG__CALL(EG__NO_DEVICE)
    if (!eg__stream_alive(fake, s)) {
        return call.done(cudaErrorInvalidResourceHandle);
    }
    if (s->capture) {
        eg__abandon(fake, s);
    }
    s->destroyed = true;
    bury_streams(fake);
    return cudaSuccess;
}

/* What a call that waits for a stream, or asks for it, gives while the stream is captured. */
static cudaError_t waiting_refused(eg__fake &fake, cudaStream_t s)
{
    if (!s || !eg__stream_alive(fake, s)) {
        return cudaErrorInvalidResourceHandle;
    }
    if (s->capture) {
        eg__invalidate(s->capture);
        return cudaErrorStreamCaptureUnsupported;
    }
    return eg__capture_forbids(fake) ? cudaErrorStreamCaptureUnsupported : fake.device[s->device].broken;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    EG__CALL(eg__fake_device)
    cudaError_t e = waiting_refused(fake, s);
    if (e) {
        return call.done(e);
    }
    fake.counts.syncs++;
    int device = s->device;
    eg__run_until(call, [s] { return is_idle(s); });
    return call.done(fake.device[device].broken);
}

cudaError_t cudaStreamQuery(cudaStream_t s)
{
    EG__CALL(eg__fake_device)
    cudaError_t e = waiting_refused(fake, s);
    if (e) {
        return call.done(e);
    }
    fake.counts.queries++;
    eg__run_a_little(call);
    e = fake.device[s->device].broken;
    return call.done(e ? e : is_idle(s) ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaDeviceSynchronize(void)
{
    EG__UNSAFE_CALL(eg__fake_device)
    int device = eg__fake_device;
    for (auto &c : fake.captures) {
        if (c->device == device) {
            eg__invalidate(c);
            return call.done(cudaErrorStreamCaptureUnsupported);
        }
    }
    fake.counts.syncs++;
    eg__run_until(call, [&fake, device] {
        for (cudaStream_t s : fake.streams) {
            if (s->device == device && !is_idle(s)) {
                return false;
            }
        }
        return true;
    });
    return call.done(fake.device[device].broken);
}

cudaError_t cudaStreamGetDevice(cudaStream_t s, int *device)
{
    EG__CALL(EG__NO_DEVICE)
    *device = s ? s->device : eg__fake_device;
    return call.done(!s || eg__stream_alive(fake, s) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamGetPriority(cudaStream_t s, int *priority)
{
    EG__CALL(EG__NO_DEVICE)
    *priority = s ? s->priority : 0;
    return cudaSuccess;
}

/* Events. */

std::shared_ptr<eg__event> eg__event_new(int device, unsigned flags)
{
    auto e = std::make_shared<eg__event>();
    e->device = device;
    e->flags = flags;
    e->asked = e->done = 0;
    e->time = 0;
    return e;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    EG__CALL(eg__fake_device)
    *event = new CUevent_st{eg__event_new(eg__fake_device, flags)};
    fake.events.insert(*event);
    fake.counts.events++;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    EG__CALL(EG__NO_DEVICE)
    if (!event_alive(fake, event)) {
        return call.done(cudaErrorInvalidResourceHandle);
    }
    fake.events.erase(event);
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t s)
{
    EG__CALL(eg__fake_device)
    if (!s || !eg__stream_alive(fake, s) || !event_alive(fake, event) || event->state->device != s->device) {
        return call.done(cudaErrorInvalidResourceHandle);
    }
    fake.counts.records++;
    eg__event &e = *event->state;
    e.capture = s->capture;
    if (s->capture) {
        e.after = s->after;
        return call.done(s->capture->valid ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
    }
    eg__task task;
    task.record = event->state;
    task.record_as = ++e.asked;
    return call.done(eg__push(call, s, std::move(task)));
}

/* A wait for an event of a capture makes its stream part of it. */
static cudaError_t join(cudaStream_t s, const eg__event &e)
{
    if (!e.capture) {
        eg__invalidate(s->capture);
        return cudaErrorStreamCaptureIsolation;
    }
    if (!e.capture->valid) {
        return cudaErrorStreamCaptureInvalidated;
    }
    if (s->capture && s->capture != e.capture) {
        eg__invalidate(s->capture);
        eg__invalidate(e.capture);
        return cudaErrorStreamCaptureMerge;
    }
    s->capture = e.capture;
    s->after.insert(e.after.begin(), e.after.end());
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t event, unsigned)
{
    EG__CALL(eg__fake_device)
    if (!s || !eg__stream_alive(fake, s) || !event_alive(fake, event)) {
        return call.done(cudaErrorInvalidResourceHandle);
    }
    fake.counts.waits++;
    eg__event &e = *event->state;
    if (s->capture || e.capture) {
        return call.done(join(s, e));
    }
    if (!e.asked) {
        return cudaSuccess;
    }
    eg__task task;
    task.wait = event->state;
    task.wait_for = e.asked;
    return call.done(eg__push(call, s, std::move(task)));
}

static cudaError_t event_refused(eg__fake &fake, cudaEvent_t event)
{
    if (!event_alive(fake, event)) {
        return cudaErrorInvalidResourceHandle;
    }
    if (event->state->capture) {
        eg__invalidate(event->state->capture);
        return cudaErrorCapturedEvent;
    }
    return eg__capture_forbids(fake) ? cudaErrorStreamCaptureUnsupported : fake.device[event->state->device].broken;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    EG__CALL(EG__NO_DEVICE)
    cudaError_t e = event_refused(fake, event);
    if (e) {
        return call.done(e);
    }
    fake.counts.queries++;
    std::shared_ptr<eg__event> state = event->state;
    eg__run_a_little(call);
    e = fake.device[state->device].broken;
    return call.done(e ? e : state->done >= state->asked ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    EG__CALL(EG__NO_DEVICE)
    cudaError_t e = event_refused(fake, event);
    if (e) {
        return call.done(e);
    }
    fake.counts.syncs++;
    std::shared_ptr<eg__event> state = event->state;
    uint64_t asked = state->asked;
    eg__run_until(call, [&state, asked] { return state->done >= asked; });
    return call.done(fake.device[state->device].broken);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    EG__CALL(EG__NO_DEVICE)
    if (!event_alive(fake, start) || !event_alive(fake, end)) {
        return call.done(cudaErrorInvalidResourceHandle);
    }
    const eg__event &a = *start->state, &b = *end->state;
    if ((a.flags | b.flags) & cudaEventDisableTiming || !a.asked || !b.asked) {
        return call.done(cudaErrorInvalidResourceHandle);
    }
    if (a.done < a.asked || b.done < b.asked) {
        return call.done(cudaErrorNotReady);
    }
    *ms = float(1e3 * (b.time - a.time));
    return cudaSuccess;
}
