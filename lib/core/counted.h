/* counted.h - memory for all that grows with an input: eg_memory_limit counts it. */
#ifndef EGRET_CORE_COUNTED_H
#define EGRET_CORE_COUNTED_H

#include <stddef.h>

/* NULL: out of memory, or the limit. */
void *eg__counted_alloc(size_t bytes);
/* NULL is fine. */
void eg__counted_free(void *p);

#endif
