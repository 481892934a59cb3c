/* recorder.h - the one hook for tapes: who records what a thread computes. The first tape of a thread brings it. */
#ifndef EGRET_CORE_RECORDER_H
#define EGRET_CORE_RECORDER_H

#include "lib/core/tensor.h"

typedef struct eg__recorder {
    /* Appends an entry for the call if an input is tracked. False: out of memory, nothing changed. */
    bool (*call)(eg__thread *T, const eg__call *c);
    /* Whether a tensor without a live slot of its own has one on record. */
    bool (*knows)(const eg__thread *T, const eg_tensor *t);
    /* Closes tapes opened in scopes of this depth or deeper. */
    void (*close)(eg__thread *T, uint32_t depth);
    /* The thread ends: frees the record. */
    void (*end)(eg__thread *T);
} eg__recorder;

static inline bool eg__live_slot(const eg__recording *R, uint64_t slot)
{
    return slot - R->base < R->next - R->base;
}

/* Whether a tape of this thread follows t, or would. */
static inline bool eg__tracked(const eg__thread *T, const eg_tensor *t)
{
    const eg__recording *R = T->record;
    return t->flags & EG__PARAM || eg__live_slot(R, atomic_load_explicit(&t->slot, memory_order_relaxed)) ||
           (R->by && R->by->knows(T, t));
}

#endif
