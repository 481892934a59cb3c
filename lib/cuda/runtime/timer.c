/* timer.c - times for a profile: a clock on a stream that nothing else is queued on, and pairs of events around
 * work, kept for the next to ask. What the driver refuses is cleared and nobody's error: who works on the device
 * will be told the same. */
#include <stdlib.h>

#include "lib/cuda/runtime/cuda.h"

struct eg__cuda_timer {
    eg__timer head; /* first: the profile knows no more */
    cudaEvent_t from, to;
    eg_stream *on;
    bool ended, failed;
};

/* ---- the driver's state ------------------------------------------------------------------------------------ */

static bool fine(cudaError_t e)
{
    if (e) {
        cudaGetLastError();
    }
    return !e;
}

/* Asking for an event would break a capture of this thread or of others, were they not kept out of it. */
static void exchange(enum cudaStreamCaptureMode *mode)
{
    cudaThreadExchangeStreamCaptureMode(mode);
}

/* Timing events are of the device that is current when they are made. */
static bool choose(const eg__cuda *d)
{
    return !d->lost && fine(cudaSetDevice(d->ordinal));
}

static bool new_event(cudaEvent_t *e)
{
    return fine(cudaEventCreateWithFlags(e, cudaEventDefault));
}

static void end_event(cudaEvent_t e)
{
    if (e) {
        fine(cudaEventDestroy(e));
    }
}

/* ---- the clock ----------------------------------------------------------------------------------------------- */

static bool make_clock(eg__clock *k)
{
    return (k->stream || fine(cudaStreamCreateWithFlags(&k->stream, cudaStreamNonBlocking))) &&
           (k->origin || new_event(&k->origin)) && (k->mark || new_event(&k->mark));
}

bool eg__cuda_clock(eg_device *device, bool restart, int64_t *ns)
{
    eg__cuda *d = eg__cuda_of(device);
    eg__clock *k = &d->clock;
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    float ms = 0;
    if (!choose(d) || !make_clock(k)) {
        return false;
    }
    cudaEvent_t e = restart ? k->origin : k->mark;
    exchange(&mode);
    bool good = fine(cudaEventRecord(e, k->stream)) && fine(cudaEventSynchronize(e)) &&
                (restart || fine(cudaEventElapsedTime(&ms, k->origin, e)));
    exchange(&mode);
    k->since = restart ? 0 : k->since;
    *ns = k->since + (int64_t)(1e6 * (double)ms);
    return good;
}

/* ---- timers -------------------------------------------------------------------------------------------------- */

static void free_timer(eg__cuda_timer *s)
{
    end_event(s->from);
    end_event(s->to);
    free(s);
}

static void give_back(eg__cuda_timer *s)
{
    eg__cuda *d = eg__cuda_at(s->head.device);
    pthread_mutex_lock(&d->lock);
    s->head.next = d->clock.spare ? &d->clock.spare->head : NULL;
    d->clock.spare = s;
    pthread_mutex_unlock(&d->lock);
}

static eg__cuda_timer *take(eg__cuda *d)
{
    pthread_mutex_lock(&d->lock);
    eg__cuda_timer *s = d->clock.spare;
    if (s) {
        d->clock.spare = (eg__cuda_timer *)s->head.next;
    }
    pthread_mutex_unlock(&d->lock);
    if (!s && (s = eg__malloc(sizeof *s))) {
        *s = (eg__cuda_timer){.head = {.device = d->device->id}};
        if (!new_event(&s->from) || !new_event(&s->to)) {
            free_timer(s);
            return NULL;
        }
    }
    return s;
}

static bool captured(const eg_stream *s)
{
    enum cudaStreamCaptureStatus status;
    return !fine(cudaStreamIsCapturing(s->handle, &status)) || status != cudaStreamCaptureStatusNone;
}

/* What the thread queues on. */
static eg_stream *stream_of(eg__thread *T, eg_device *device)
{
    eg_stream *s = T->lane[device->id].now;
    if (unlikely(!s)) {
        const eg_error record = T->error;
        s = eg__cuda_stream(T, device, "profile");
        T->error = record;
    }
    return s;
}

eg__timer *eg__cuda_timer_begin(eg__thread *T, eg_device *device)
{
    eg__cuda *d = eg__cuda_of(device);
    eg_stream *s = d->lost ? NULL : stream_of(T, device);
    eg__cuda_timer *p = s && choose(d) && !captured(s) ? take(d) : NULL;
    if (!p) {
        return NULL;
    }
    if (!fine(cudaEventRecord(p->from, s->handle))) {
        give_back(p);
        return NULL;
    }
    p->head.outer = T->lane[device->id].timer;
    p->head.stream = (uint8_t)s->id;
    p->head.inner = 0;
    p->on = s;
    p->ended = p->failed = false;
    T->lane[device->id].timer = &p->head;
    return &p->head;
}

void eg__cuda_timer_mark(eg__thread *T, uint8_t device)
{
    eg__cuda_timer *p = (eg__cuda_timer *)T->lane[device].timer;
    if (unlikely(p != NULL) && !p->ended) {
        p->ended = true;
        p->failed = !choose(eg__cuda_at(device)) || captured(p->on) || !fine(cudaEventRecord(p->to, p->on->handle));
    }
}

void eg__cuda_timer_end(eg__thread *T, eg__timer *timer)
{
    eg__cuda_timer_mark(T, timer->device);
    T->lane[timer->device].timer = timer->outer;
}

/* Floats hold a second's nanoseconds well, a day's not: the clock is counted on from a timer every second. */
static void count_on(eg__clock *k, eg__cuda_timer *p, int64_t start)
{
    if (start - k->since > 1000000000) {
        cudaEvent_t origin = k->origin;
        k->origin = p->from;
        k->since = start;
        p->from = origin;
    }
}

int eg__cuda_timer_read(eg__timer *timer, bool wait, int64_t *start, int64_t *time)
{
    eg__cuda_timer *p = (eg__cuda_timer *)timer;
    eg__cuda *d = eg__cuda_at(timer->device);
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    float at = 0, took = 0;
    bool good = !p->failed && !d->lost;
    if (good) {
        exchange(&mode);
        cudaError_t e = wait ? cudaEventSynchronize(p->to) : cudaEventQuery(p->to);
        good = fine(e) && fine(cudaEventElapsedTime(&at, d->clock.origin, p->from)) &&
               fine(cudaEventElapsedTime(&took, p->from, p->to));
        exchange(&mode);
        if (e == cudaErrorNotReady) {
            return 0;
        }
    }
    *start = d->clock.since + (int64_t)(1e6 * (double)at);
    *time = (int64_t)(1e6 * (double)took);
    if (good) {
        count_on(&d->clock, p, *start);
    }
    give_back(p);
    return good ? 1 : -1;
}

void eg__cuda_timer_drop(eg__timer *timer)
{
    give_back((eg__cuda_timer *)timer);
}

void eg__cuda_timers_end(eg__cuda *d)
{
    eg__clock *k = &d->clock;
    while (k->spare) {
        eg__cuda_timer *s = k->spare;
        k->spare = (eg__cuda_timer *)s->head.next;
        free_timer(s);
    }
    end_event(k->origin);
    end_event(k->mark);
    if (k->stream) {
        fine(cudaStreamDestroy(k->stream));
    }
}
