/* capture.h - a step while it is captured on a device: what those ask of it who must not, or may, be part of it.
 *
 * Nothing that is queued runs until the capture ends, so nobody may look at it. What must not be captured ends the
 * capture first (eg__capture_stop): what was queued so far is launched, and all goes on as usual. */
#ifndef EGRET_CORE_CAPTURE_H
#define EGRET_CORE_CAPTURE_H

#include "lib/core/op.h"

/* Numbers that a captured call reads from the device's memory, since they are others each time: `again` does what
 * the host does for the call (counting, say) and writes them to `to`; it may refuse. `undo` takes one time back. */
typedef struct eg__moving {
    eg_status (*again)(void *owner, void *to);
    void (*undo)(void *owner);
    void *owner;
    uint32_t at; /* where, in bytes */
} eg__moving;

enum { EG__CAPTURE_BYTES = 32768, EG__CAPTURE_NUMBERS = 16 };

/* Storages with a reference to each. */
typedef struct eg__storages {
    eg__storage **at;
    uint32_t count, room;
} eg__storages;

typedef struct eg__capture {
    const struct eg__capturing *by; /* the step's answers to what is asked below */
    eg_device *device;
    const char *op, *why; /* what ended it too early; NULL: nothing */
    eg_status lost;       /* what was queued was lost with it, for this reason */
    eg_random_state from; /* the thread's when it began */
    bool draws;           /* random numbers */
    eg_tensor *memory;    /* of the device, for numbers; at 0 the eg_random_state of a launch */
    char *host;           /* what comes there */
    uint32_t used, count;
    eg__moving numbers[EG__CAPTURE_NUMBERS];
    eg__storages read, written; /* on the device, made before; in no order, and some more than once */
    eg__storages made;          /* on the CPU, during it */
    /* the engine's */
    eg_stream *stream;
    void *pool, *graph;
} eg__capture;

/* Who captures: the functions below by their names. */
typedef struct eg__capturing {
    eg_status (*stop)(eg__capture *c, const char *op, const char *why);
    eg_status (*look)(eg__capture *c, const eg__call *call);
    bool (*made)(eg__capture *c, eg__storage *s);
    eg_status (*uses)(eg__capture *c, eg__storage *s, bool written);
    bool (*draws)(eg__capture *c, eg_random_state from, uint64_t *offset);
} eg__capturing;

/* Ends the calling thread's capture, if there is one, before `op` does what cannot be captured. Fails if what was
 * queued cannot be launched. The texts are static; why NULL: it is only so this time. */
eg_status eg__capture_stop(const char *op, const char *why);

/* A call is about to run: ends the capture if it reads what is no part of it. */
eg_status eg__capture_look(const eg__call *c);
/* A storage of the CPU was made. False: no memory to note it. */
bool eg__capture_made(eg__thread *T, eg__storage *s);
/* A storage of the device that was there before is read or written. */
eg_status eg__capture_uses(eg__capture *c, eg__storage *s, bool written);

/* Whether random numbers from here on move with those of the thread, in which case *offset is told from where the
 * step began. */
bool eg__capture_draws(eg__thread *T, eg_random_state from, uint64_t *offset);

#endif
