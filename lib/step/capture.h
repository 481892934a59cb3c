/* capture.h - a step while it is captured on a device: what ops, optimizers and the CUDA module ask of it.
 *
 * Nothing that is queued runs until the capture ends, so nobody may look at it. What must not be captured ends the
 * capture first (eg__capture_stop): what was queued so far is launched, and all goes on as usual. */
#ifndef EGRET_CAPTURE_H
#define EGRET_CAPTURE_H

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

/* With a reference; false: no memory. */
bool eg__storages_add(eg__storages *l, eg__storage *s);
void eg__storages_drop(eg__storages *l);

/* ---- what is asked while one is under way ----------------------------------------------------- */

/* Ends the calling thread's capture, if there is one, before `op` does what cannot be captured. Fails if what was
 * queued cannot be launched. The texts are static; why NULL: it is only so this time. */
eg_status eg__capture_stop(const char *op, const char *why);

/* A call is about to run: ends the capture if it reads what is no part of it. */
eg_status eg__capture_look(const eg__call *c);
/* A storage of the CPU was made. False: no memory to note it. */
bool eg__capture_made(eg__thread *T, eg__storage *s);
/* A storage of the device that was there before is read or written. */
eg_status eg__capture_uses(eg__capture *c, eg__storage *s, bool written);

/* Room for numbers that are others each time, and who writes them: *at gets a place to write those of this time to,
 * and *place where that is on the device, in c->memory. Where there is no room the capture ends, and *at is NULL. */
eg_status eg__capture_numbers(eg__capture *c, size_t bytes, const eg__moving *n, void **at,
                              uint32_t *place);

/* Whether random numbers from here on move with those of the thread, in which case *offset is told from where the
 * step began. */
bool eg__capture_draws(eg__thread *T, eg_random_state from, uint64_t *offset);

/* ---- what a step does with it ------------------------------------------------------------------ */

/* All that the calling thread queues on its stream of d goes into the capture from now on, and memory for it comes
 * from a pool of its own, or the one of an earlier capture. After a failure it is to be freed. */
eg_status eg__capture_begin(eg__capture *c, eg_device *d, void *pool);
/* Makes a graph of it. A failure is in c->lost too: nothing has run, nor will. */
eg_status eg__capture_end(eg__capture *c);
/* Queues the graph, with the numbers that are there and random ones from here on. */
eg_status eg__capture_launch(eg__capture *c, eg_random_state from);
/* Asks for the numbers of the next time, then queues the graph. After a failure nothing has moved. */
eg_status eg__capture_again(eg__capture *c);
/* Takes back what the host counted for a capture that is lost. */
void eg__capture_undo(eg__capture *c);
/* Once it is complete. */
void eg__capture_tidy(eg__capture *c);
void eg__capture_free(eg__capture *c);

#endif
