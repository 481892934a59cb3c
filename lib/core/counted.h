/* counted.h - memory for all that grows with an input: eg_memory_limit counts it. */
#ifndef EGRET_CORE_COUNTED_H
#define EGRET_CORE_COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL: out of memory, or the limit. */
void *eg__counted_alloc(size_t bytes);
/* A block of `had` bytes, of which there may be none, as one of `bytes`; NULL: out of memory, and nothing changed. */
void *eg__counted_realloc(void *p, size_t had, size_t bytes);
/* NULL is fine. */
void eg__counted_free(void *p);
/* Doubles the room of an array of such memory; false: out of memory, nothing changed. */
bool eg__counted_grow(void *array, uint32_t *capacity, size_t element);

#endif
