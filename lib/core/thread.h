/* thread.h - what a thread knows: its scopes, modes, caches of memory, and where its ops run. */
#ifndef EGRET_CORE_THREAD_H
#define EGRET_CORE_THREAD_H

#include <egret/debug.h>
#include <egret/device.h>
#include <egret/tensor.h>

#include "lib/core/base.h"

/* What everybody sees of the record in which this thread's tapes write: without a tape so far, of one that is empty
 * and that all such threads share. */
typedef struct eg__recording {
    uint64_t base, next; /* a slot s of this thread is live iff base <= s < next */
    int recording;       /* how many tapes record */
    uint32_t ntapes;
    const struct eg__recorder *by; /* who keeps the rest, lib/core/recorder.h; NULL: nobody yet */
} eg__recording;
extern eg__recording eg__no_record;

enum { EG__NCLASS = 48, EG__MAX_DEVICES = 32, EG__HEADER_BATCH = EG__START_CAPACITY };

enum { /* eg__thread.mode */
       EG__DEBUG_OPS = 1,
       EG__DEBUG_NAN = 2,
       EG__DEBUG_POISON = 4,
       EG__DEBUG_NOCACHE = 8,
       EG__DEBUG_ABORT = 16,
       EG__DEBUG_REF = 32,
       EG__MODE_PROFILE = 64,
       EG__MODE_MACS = 128, /* adds up what products do, for eg_summary */
       EG__DEBUG_SYNC = 256,
       EG__DEBUG_STEP = 512,
       EG__MODE_CAPTURE = 1024, /* a step is captured on a device */
       EG__DEBUG_SCOPE = 2048,
       EG__DEBUG_TAPE = 4096,
       EG__DEBUG_FALLBACK = 8192,
       EG__DEBUG_SLOW = 16384,
       EG__MODE_FOLLOW = 32768, /* somebody is told of each op, lib/core/follower.h */
       EG__DEBUG_ENV = 65536,
       /* the bits dispatch tests, once per op */
       EG__MODE_DISPATCH = EG__DEBUG_OPS | EG__DEBUG_NAN | EG__DEBUG_SYNC | EG__MODE_PROFILE | EG__MODE_MACS |
                           EG__MODE_CAPTURE | EG__MODE_FOLLOW,
};

typedef struct eg__scope_state {
    uint32_t own, serial;
    uint8_t autocast; /* of when it was opened */
} eg__scope_state;

struct eg__thread {
    eg_tensor **own; /* what the open scopes own, innermost last */
    uint32_t nown, cown;
    eg__scope_state *scopes;
    uint32_t nscopes, cscopes, serial;
    _Atomic uint32_t mode; /* a profile switches its bit from another thread */
    eg__kernel *const *kernels;
    struct {
        void *list, *spare; /* free ones; a full batch of them, or NULL */
        uint32_t count;     /* in the list, at most EG__HEADER_BATCH */
    } headers;              /* of tensors, lib/core/headers.c */
    struct {
        void *free;
        uint32_t count;
    } cls[EG__NCLASS];
    eg__recording *record;
    _Atomic int64_t live_tensors, live_bytes; /* written by this thread only, summed by others */
    eg_random_state random;
    int forwards;                  /* of modules, inside each other */
    int64_t macs;                  /* multiply-adds counted under EG__MODE_MACS */
    struct eg__placer *placer;     /* of the step that is called, lib/core/memory.h */
    struct eg__capture *capture;   /* under EG__MODE_CAPTURE, lib/step/capture.h */
    struct eg__follower *follower; /* under EG__MODE_FOLLOW */
    eg_error error;
    uint8_t device;   /* of makers; EG__MAX_DEVICES: what EGRET_DEVICE names, not looked at yet */
    uint8_t math;     /* an eg_math_mode */
    uint8_t autocast; /* a dtype; EG_F32, which is 0: none */
    struct {
        eg_stream *now, *own;
        struct eg__timer *timer; /* the innermost that is open, of a profile */
        void *state;             /* the engine's of this thread; its thread_end frees it */
    } lane[EG__MAX_DEVICES];     /* by device; NULL before first use */
    eg__thread *prev, *next;
    bool alone; /* its ops use no further threads */
    bool dead;  /* stands in for a thread whose own state could not be allocated */
};

extern _Thread_local eg__thread *eg__self __attribute__((tls_model("initial-exec")));
eg__thread *eg__thread_start(void);

static inline eg__thread *eg__thread_get(void)
{
    eg__thread *T = eg__self;
    return likely(T != NULL) ? T : eg__thread_start();
}

/* Sets or clears bits of the mode of all threads, those to come included. */
void eg__threads_mode(uint32_t bits, bool set);

/* Adds the tensors and bytes that all threads count. */
void eg__threads_count(int64_t *tensors, int64_t *bytes);

static inline uint32_t eg__mode(eg__thread *T)
{
    return atomic_load_explicit(&T->mode, memory_order_relaxed);
}

static inline void eg__count(_Atomic int64_t *counter, int64_t d)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + d, memory_order_relaxed);
}

#endif
