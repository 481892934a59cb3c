/* plan.h - where the large blocks of a step lie that is done again and again on the CPU.
 *
 * While the step is recorded the allocator notes which blocks are asked for and given back, in which order. From
 * that each gets its place in one piece of memory, the arena, such that those alive at the same time do not
 * overlap. Later calls get the places in turn as long as they ask and give back in the same order; what comes
 * otherwise, and what outlives the step, is the allocator's as ever. */
#ifndef EGRET_PLAN_H
#define EGRET_PLAN_H

#include "lib/core/memory.h"
#include "lib/core/thread.h"

typedef struct eg__arena eg__arena;
typedef struct eg__plan eg__plan;

/* NULL: no memory, or too little under the cap. Freeing leaves it to the blocks that are alive. */
eg__arena *eg__arena_new(size_t bytes);
void eg__arena_free(eg__arena *a);
size_t eg__arena_bytes(const eg__arena *a);

/* NULL: no memory. */
eg__plan *eg__plan_new(void);
void eg__plan_free(eg__plan *p);

/* Around a call of the step by this thread: it is recorded, or gets places in the arena. The latter is false, and
 * nothing begins, while a block of the arena is alive, and if there is none or it is too small. */
void eg__plan_record(eg__plan *p);
bool eg__plan_begin(eg__plan *p, eg__arena *a);
/* After recording, the bytes the arena must have; 0: there is nothing to plan, or no memory for it. After a call
 * with places, what the arena must have, or 0 if it was not as recorded. */
size_t eg__plan_end(eg__plan *p);

#endif
