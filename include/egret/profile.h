/* profile.h - where time and memory go: every op that runs, in all threads, with its shapes.
 *
 *     eg_profile_begin(.memory = true);
 *     for (...) {
 *         eg_profile_push("step");
 *         ...
 *         eg_profile_pop();
 *     }
 *     eg_profile_end("trace.json");
 *
 * The file is in Chrome's trace format ("Trace Event Format", Google 2016): chrome://tracing and
 * ui.perfetto.dev show it. Ops of a backward pass are of the category "backward" and lie inside a span named
 * after the op whose gradient it is ("linear backward"). Views do no work and are not in it. What ranks exchange
 * (comm.h) is a span in the row of the communicator's thread, waiting for it one in that of who waits. While no
 * profile runs all of this costs one test per op.
 *
 * An op on a CUDA device has two bars: in the row of its thread the time the call took, in which it was queued, and
 * in the row of its stream ("cuda:0 stream 0") the device's time. Copies and fills that are no ops ("upload",
 * "download", "fill") are of the category "memory". Device times are those between two events on the stream: where
 * the device waits for the host they hold the time a launch takes as well, a few microseconds. They are read
 * without waiting while the profile runs. Their clock is compared with the host's when the profile begins (or the
 * device is first used) and when it ends; what is left of an error is about the time of an empty launch. What a
 * step that is captured queues has no device times, counted in the file as "untimed". */
#ifndef EGRET_PROFILE_H
#define EGRET_PROFILE_H

#include <egret/base.h>

EG_BEGIN_DECLS

typedef struct eg_profile_options {
    size_t size;
    bool memory;        /* also note the bytes of live tensors after each op, as a curve for each device: of what
                           the host has made and freed so far, whether the device has come to it or not */
    int64_t most_bytes; /* of records kept in memory (about 180 per op); 0: 256 MiB. What comes when they are
                           full is left out, and counted in the file ("dropped") */
} eg_profile_options;

/* Begins to record, in all threads. EG_ESTATE while a profile runs; EG_EINVAL for negative most_bytes. */
EG_API eg_status eg_profile_begin_with(const eg_profile_options *options);
#define eg_profile_begin(...) eg_profile_begin_with(EG_OPTIONS_(eg_profile_options, __VA_ARGS__))

/* Writes the trace to the file, whole or not at all, and ends the profile; NULL: ends it without a file. Waits
 * for the work queued on devices; what went wrong in it is left to the next call that waits. EG_ESTATE if none
 * runs. If the file cannot be written (EG_EIO) the profile goes on, so that another path may be tried. */
EG_API eg_status eg_profile_end(const char *path);

/* A moment with a name, such as "epoch 1", and a span of time, in the calling thread; spans nest (at most 32
 * deep are shown). The texts are copied. A span is closed by the pop, or with the profile. All do nothing
 * while no profile runs. */
EG_API void eg_profile_mark(const char *text);
EG_API void eg_profile_push(const char *name);
EG_API void eg_profile_pop(void);

/* What an op took in all since the profile began, nothing left out but device times of captured steps: of the
 * profile that runs, or of the latest one. Time in ops that an op runs itself is counted for those. */
typedef struct eg_profile_total {
    const char *name; /* static */
    bool backward;    /* within a backward pass */
    int64_t calls;
    double seconds;        /* of the calling threads; on a device: to queue it */
    double device_seconds; /* of CUDA devices; 0 for what ran on the CPU */
} eg_profile_total;
/* Fills in up to `most` of them, those that took longest first, on the host or a device; returns how many there
 * are. While a profile runs, waits for the work queued on devices. */
EG_API int eg_profile_totals_with(eg_profile_total *totals, int most, size_t size_of_one);
#define eg_profile_totals(totals, most) eg_profile_totals_with(totals, most, sizeof(eg_profile_total))

EG_END_DECLS

#endif
