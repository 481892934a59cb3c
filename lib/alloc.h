/* alloc.h - what the thread and tensor files need of the allocator beyond internal.h. */
#ifndef EGRET_ALLOC_H
#define EGRET_ALLOC_H

#include "lib/internal.h"

typedef struct eg__segment eg__segment;

void eg__alloc_stats(eg_memory *m);
/* Notes whose data a large block holds; eg__alloc_holders sums that by op id. */
void eg__block_label(void *p, int64_t bytes, uint16_t made_by);
void eg__alloc_holders(int64_t *bytes_by_op, int count);
void eg__alloc_thread_end(eg__thread *T); /* the thread's lists go to the central ones */
void eg__alloc_end(void);                 /* everything cached goes back to the system */

/* Bytes that the cap and the machine allow, however little is in use. */
int64_t eg__memory_most(void);

#endif
