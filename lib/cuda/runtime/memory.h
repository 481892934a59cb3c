/* memory.h - the caching allocator of a CUDA device: memory once taken from the driver is kept, since asking
 * for it stops the device.
 *
 * Blocks are cut from segments and belong to a pool: that of a stream, in whose order a freed block may be
 * used again at once, or a private one of a captured step. A segment is a range of addresses into which pages
 * are mapped at its end as it grows (expandable: sizes that change a little from step to step leave no
 * slivers), or, where the driver has no virtual memory calls, one cudaMalloc.
 *
 * All functions may be called from any thread, but not from a function that a stream calls on the host. The
 * current device and the thread's capture mode are as before when they return. While a pool's stream captures,
 * memory of its heap is taken but none given back and no event waited for. A noted stream lives as long as
 * the blocks it is noted on and those of them that wait for it; a pool's stream as long as the pool. */
#ifndef EGRET_CUDA_MEMORY_H
#define EGRET_CUDA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

#include <egret/tensor.h>

typedef struct eg__heap eg__heap; /* the memory of one logical device */
typedef struct eg__pool eg__pool;

typedef struct eg__block {
    char *data; /* 512-byte aligned, on the device */
    eg__pool *pool;
    struct eg_stream *writer; /* who last wrote it, as its how manieth op: stream.c's; NULL in a new block */
    int64_t wrote_at;
    /* what follows is the allocator's */
    size_t bytes, asked;
    uint16_t made_by;
    uint8_t state, cls;
    struct eg__block_user *users;  /* streams other than the pool's that read or write it */
    struct eg__block *prev, *next; /* neighbours in the segment */
    struct eg__block *link[2];     /* smaller and larger ones in a tree; or before and after in a list */
    struct eg__segment *segment;
} eg__block;

/* Whether this allocation is to fail, for tests; asked before each taking of memory from the driver or the host.
 * The including program's. */
bool eg__fail_injected(void);

/* Of the CUDA device with this number; limit: most bytes to take from the driver, 0: no cap. NULL: out of
 * host memory. Freeing it frees its pools, blocks that are alive included. */
eg__heap *eg__heap_new(int device, int64_t limit);
void eg__heap_free(eg__heap *h);

/* The pool of a stream. Freeing it gives what is cached to the heap's other pools or the driver; blocks still
 * alive stay valid and are released as before. Made while the stream captures, it is a private one: what it
 * takes stays its own until it is freed, since replays of the graph use it. NULL: out of host memory. */
eg__pool *eg__pool_new(eg__heap *h, cudaStream_t stream);
void eg__pool_free(eg__pool *p);

/* The op that made a block of the pool which is in use and not known, or -1. */
int eg__pool_left(eg__pool *p, bool (*known)(const eg__block *b, const void *who), const void *who);

/* A block of at least `bytes` (0: a block of the least size), or NULL: cached memory of every pool was given
 * back first. Nothing is recorded as an error: the caller knows the op. Under 100 ns from the cache. */
eg__block *eg__block_new(eg__pool *p, size_t bytes, uint16_t made_by);
/* Free for the pool's stream at once; after what other streams had queued when this is called, if it was used
 * on others. */
void eg__block_free_later(eg__block *b);
/* Another stream of the device has or will have work queued that reads or writes the block. Refused: it is
 * not noted. */
cudaError_t eg__block_used_on(eg__block *b, cudaStream_t stream);

/* reserved_bytes, peak_bytes, system_calls, limit_bytes, and live_bytes as asked for; the rest stays. */
void eg__heap_stats(eg__heap *h, eg_memory *m);
void eg__heap_limit(eg__heap *h, int64_t bytes);
void eg__heap_reset_peak(eg__heap *h);
void eg__heap_trim(eg__heap *h);
/* Adds to bytes_by_op[made_by] what live blocks hold, as asked for, if made_by < count. */
void eg__heap_holders(eg__heap *h, int64_t *bytes_by_op, int count);

#endif
