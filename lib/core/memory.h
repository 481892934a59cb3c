/* memory.h - memory of the host. */
#ifndef EGRET_CORE_MEMORY_H
#define EGRET_CORE_MEMORY_H

#include "lib/core/base.h"

void *eg__malloc(size_t bytes);                                 /* counted for failure injection */
bool eg__fail_injected(void);                                   /* counts an allocation of another kind */
bool eg__grow(void *array, uint32_t *capacity, size_t element); /* doubles */

/* That the device has so many bytes at all, or its limit allows them. */
eg_status eg__check_bytes(const char *op, uint8_t device, int64_t bytes);

/* Cached blocks, 64-byte aligned: storage, entries, walk tables, scratch. */
void *eg__block_alloc(eg__thread *T, size_t bytes, uint16_t *cls);
void eg__block_free(eg__thread *T, void *p, uint16_t cls);

/* Who has places of its own for large blocks while a thread does what it did before: T->placer. */
typedef struct eg__placer {
    /* A place for so many bytes, EG__PLACED behind an eg__placed; NULL: none. */
    void *(*place)(struct eg__placer *p, size_t bytes);
    /* The allocator gave this block, or got it back. */
    void (*gave)(struct eg__placer *p, void *block, size_t bytes);
    void (*took)(struct eg__placer *p, void *block);
} eg__placer;

/* Before such a block: how it is given back, whichever thread does. */
typedef struct eg__placed {
    void (*release)(eg__thread *T, void *block);
} eg__placed;
enum { EG__PLACED = 64 };

/* Scratch memory of a kernel. */
typedef struct eg__scratch {
    void *data;
    uint16_t cls;
} eg__scratch;
eg_status eg__scratch_get(const eg__call *c, size_t bytes, eg__scratch *s);
void eg__scratch_put(const eg__call *c, eg__scratch *s); /* a zeroed one is fine */

#endif
