/* alloc.h - what the thread and tensor files need of the allocator beyond memory.h. */
#ifndef EGRET_ALLOC_H
#define EGRET_ALLOC_H

#include "lib/core/thread.h"

typedef struct eg__segment eg__segment;

/* Notes whose data a large block holds; eg__alloc_holders sums that by op id. */
void eg__block_label(void *p, int64_t bytes, uint16_t made_by);
void eg__alloc_holders(int64_t *bytes_by_op, int count);

/* What any machine has: to ask one for its size takes long. */
enum { EG__ANY_HAS = 1 << 28 };

/* Bytes that the cap and the machine allow, however little is in use; asked for as many as any has, the cap. */
int64_t eg__memory_most(int64_t bytes);

/* Adds memory that another file takes from the system to the reserved bytes; false: the limit does not allow it. */
bool eg__reserve(int64_t bytes);
/* The same memory was returned to the system. */
void eg__unreserve(int64_t bytes);

/* Small blocks (slabs.c): some of the class, of `block` bytes each, for a thread's list; all but `keep` of a thread's
 * list to the shared one; unused slabs to the system, false: there were none. */
bool eg__slabs_refill(eg__thread *T, int c, size_t block);
void eg__slabs_spill(eg__thread *T, int c, uint32_t keep);
bool eg__slabs_trim(eg__thread *T);

/* Returns unused header memory to the system (headers.c). False: there was none. */
bool eg__headers_trim(eg__thread *T);

#endif
