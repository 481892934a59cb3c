/* slabs.c - small blocks: slabs that are cut into blocks of one size class, and the free blocks of all threads. Threads
 * have lists of their own (alloc.c), which are filled from here and spill to here. A trim frees unused slabs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/core/alloc.h"
#include "lib/core/subsystem.h"

#ifdef EG_TINY_LIMITS
enum { SLAB_BYTES = 4096 };
#else
enum { SLAB_BYTES = 131072 };
#endif
enum { HEAD = 64, PAGE = 4096, REFILL = 32 };

typedef struct free_block {
    struct free_block *next;
} free_block;

/* In the first HEAD bytes; the blocks follow. */
typedef struct slab {
    struct slab *next;
    size_t bytes, blocks; /* all of it; blocks in it */
    size_t unused;        /* blocks in the shared lists, counted during a trim */
} slab;
_Static_assert(sizeof(slab) <= HEAD, "a slab's head has room");

static struct {
    pthread_mutex_t lock;
    free_block *free[EG__NCLASS];
    slab *slabs;
    size_t count;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Cuts a new slab into blocks of the class. Under the lock. */
static void grow(int c, size_t block)
{
    const size_t two = (HEAD + 2 * block + PAGE - 1) & ~(size_t)(PAGE - 1);
    const size_t bytes = two > SLAB_BYTES ? two : SLAB_BYTES;
    if (!eg__reserve((int64_t)bytes)) {
        return;
    }
    slab *s = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED) {
        eg__unreserve((int64_t)bytes);
        return;
    }
    *s = (slab){shared.slabs, bytes, (bytes - HEAD) / block, 0};
    shared.slabs = s;
    shared.count++;
    for (size_t i = 0; i < s->blocks; i++) {
        free_block *b = (free_block *)((char *)s + HEAD + i * block);
        b->next = shared.free[c];
        shared.free[c] = b;
    }
}

bool eg__slabs_refill(eg__thread *T, int c, size_t block)
{
    pthread_mutex_lock(&shared.lock);
    if (!shared.free[c]) {
        grow(c, block);
    }
    for (int k = 0; k < REFILL && shared.free[c]; k++) {
        free_block *b = shared.free[c];
        shared.free[c] = b->next;
        b->next = T->cls[c].free;
        T->cls[c].free = b;
        T->cls[c].count++;
    }
    pthread_mutex_unlock(&shared.lock);
    return T->cls[c].free != NULL;
}

void eg__slabs_spill(eg__thread *T, int c, uint32_t keep)
{
    pthread_mutex_lock(&shared.lock);
    while (T->cls[c].count > keep) {
        free_block *b = T->cls[c].free;
        T->cls[c].free = b->next;
        T->cls[c].count--;
        b->next = shared.free[c];
        shared.free[c] = b;
    }
    pthread_mutex_unlock(&shared.lock);
}

static void thread_end(eg__thread *T)
{
    for (int c = 0; c < EG__NCLASS; c++) {
        if (T->cls[c].count) {
            eg__slabs_spill(T, c, 0);
        }
    }
}

/* ---- trimming ------------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t) * (slab *const *)a, y = (uintptr_t) * (slab *const *)b;
    return (x > y) - (x < y);
}

/* The slab of a block: the last of the sorted ones that begins before it. */
static slab *slab_of(slab *const *sorted, const free_block *b)
{
    size_t low = 0, high = shared.count;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        *((uintptr_t)sorted[middle] < (uintptr_t)b ? &low : &high) = middle;
    }
    return sorted[low];
}

static void count_unused(slab *const *sorted)
{
    for (size_t i = 0; i < shared.count; i++) {
        sorted[i]->unused = 0;
    }
    for (int c = 0; c < EG__NCLASS; c++) {
        for (free_block *b = shared.free[c]; b; b = b->next) {
            slab_of(sorted, b)->unused++;
        }
    }
}

/* Takes the blocks of unused slabs out of the lists. */
static void take_out_unused(slab *const *sorted)
{
    for (int c = 0; c < EG__NCLASS; c++) {
        for (free_block **at = &shared.free[c]; *at;) {
            const slab *s = slab_of(sorted, *at);
            if (s->unused == s->blocks) {
                *at = (*at)->next;
            } else {
                at = &(*at)->next;
            }
        }
    }
}

static int64_t free_unused(void)
{
    int64_t freed = 0;
    for (slab **at = &shared.slabs, *s; (s = *at);) {
        if (s->unused < s->blocks) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        freed += (int64_t)s->bytes;
        shared.count--;
        munmap(s, s->bytes);
    }
    return freed;
}

bool eg__slabs_trim(eg__thread *T)
{
    int64_t freed = 0;
    if (!T->dead) {
        thread_end(T);
    }
    pthread_mutex_lock(&shared.lock);
    slab **sorted = shared.count ? malloc(shared.count * sizeof *sorted) : NULL;
    if (sorted) {
        size_t n = 0;
        for (slab *s = shared.slabs; s; s = s->next) {
            sorted[n++] = s;
        }
        qsort(sorted, n, sizeof *sorted, by_address);
        count_unused(sorted);
        take_out_unused(sorted);
        freed = free_unused();
        free(sorted);
    }
    pthread_mutex_unlock(&shared.lock);
    eg__unreserve(freed);
    return freed > 0;
}

/* ---- forks and the end ---------------------------------------------------------------------------- */

static void around_fork(eg__fork when)
{
    eg__fork_lock(&shared.lock, when);
}

static void end(void)
{
    while (shared.slabs) {
        slab *next = shared.slabs->next;
        munmap(shared.slabs, shared.slabs->bytes);
        shared.slabs = next;
    }
    memset(shared.free, 0, sizeof shared.free);
    shared.count = 0;
}

EG__SUBSYSTEM_OF_CORE(.order = EG__ORDER_SLABS, .thread_end = thread_end, .fork = around_fork, .end = end)
