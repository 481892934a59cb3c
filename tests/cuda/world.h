/* world.h - a heap with two pools on the fake runtime, and how its tests look at it. */
#ifndef EGRET_TESTS_CUDA_WORLD_H
#define EGRET_TESTS_CUDA_WORLD_H

#include "tests/egt.h"

#include <pthread.h>

#include <cuda.h>

#include "lib/cuda/runtime/memory.h"
#include "tools/emulator/fake.h"

enum { KIB = 1 << 10, MIB = 1 << 20, CHUNK = 20 << 20 };

static _Atomic int64_t fail_at; /* the how many-th taking of memory from now fails; 0: none */

bool eg__fail_injected(void)
{
    return fail_at && --fail_at == 0;
}

/* ---- what is done on the device ------------------------------------------------------------- */

typedef struct marked {
    char *data;
    size_t bytes;
    char mark;
} marked;

static _Atomic bool spoiled; /* a mark was not found again */

static inline void write_mark(void *arguments)
{
    const marked *m = arguments;
    m->data[0] = m->data[m->bytes - 1] = m->mark;
}

static inline void look_for_mark(void *arguments)
{
    const marked *m = arguments;
    if (m->data[0] != m->mark || m->data[m->bytes - 1] != m->mark) {
        spoiled = true;
    }
}

/* Queues writing the ends of a block, or looking at them. */
static inline void put_mark(const eg__block *b, cudaStream_t s, char mark)
{
    marked m = {b->data, b->bytes, mark};
    eg_fake_enqueue(s, write_mark, &m, sizeof m);
}

static inline void find_mark(const eg__block *b, cudaStream_t s, char mark)
{
    marked m = {b->data, b->bytes, mark};
    eg_fake_enqueue(s, look_for_mark, &m, sizeof m);
}

/* Queues so much that looking at the stream does not find it done. */
static inline void keep_busy(const eg__block *b, cudaStream_t s)
{
    for (int i = 0; i < 2000; i++) {
        cudaMemsetAsync(b->data, 0, 1, s);
    }
}

/* Calls that reach for the driver's memory, or wait. */
static inline int64_t driver_calls(void)
{
    eg_fake_counts c = eg_fake_read();
    return c.mallocs + c.frees + c.creates + c.maps + c.unmaps + c.syncs + c.queries + c.records;
}

/* ---- a device with a heap and two pools ---------------------------------------------------- */

typedef struct world {
    eg__heap *heap;
    cudaStream_t stream, other;
    eg__pool *pool, *second;
} world;

static int64_t alive_before;

static inline world begin(bool expandable, int64_t limit)
{
    world w;
    spoiled = false;
    alive_before = eg_fake_alive();
    EGT_EQ(cudaStreamCreateWithFlags(&w.stream, cudaStreamNonBlocking), cudaSuccess);
    EGT_EQ(cudaStreamCreateWithFlags(&w.other, cudaStreamNonBlocking), cudaSuccess);
    eg_fake_no_virtual_memory(!expandable);
    w.heap = eg__heap_new(0, limit);
    eg_fake_no_virtual_memory(0);
    EGT_CHECK(w.heap);
    w.pool = eg__pool_new(w.heap, w.stream);
    w.second = eg__pool_new(w.heap, w.other);
    EGT_CHECK(w.pool && w.second);
    return w;
}

static inline eg_memory stats(const world *w)
{
    eg_memory m = {0};
    eg__heap_stats(w->heap, &m);
    return m;
}

/* Nothing is left of the heap and the streams. */
static inline void end(world *w)
{
    eg__heap_free(w->heap);
    EGT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EGT_CHECK(!spoiled);
    EGT_EQ(cudaStreamDestroy(w->stream), cudaSuccess);
    EGT_EQ(cudaStreamDestroy(w->other), cudaSuccess);
    EGT_EQ(eg_fake_alive(), alive_before);
    eg_fake_zero();
    eg_fake_memory((int64_t)1 << 30);
}

static inline eg__block *get(eg__pool *p, size_t bytes)
{
    eg__block *b = eg__block_new(p, bytes, 0);
    EGT_CHECK(b);
    EGT_CHECK((uintptr_t)b->data % 512 == 0 && b->pool == p && b->bytes >= bytes);
    return b;
}

#endif
