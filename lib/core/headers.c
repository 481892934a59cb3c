/* headers.c - tensor headers.
 *
 * A thread keeps up to two batches of free headers; whole batches are exchanged with a pool that all threads share, so
 * headers that one thread allocates and another frees do not pile up. The pool takes slabs from regions that stay
 * mapped until the library ends: a header that was freed can still be told from a live one, also after a trim, which
 * returns the memory of unused slabs to the system but keeps their addresses. Slabs in use count as reserved memory. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/core/alloc.h"
#include "lib/core/subsystem.h"
#include "lib/core/tensor.h"

#ifdef EG_TINY_LIMITS
enum { SLAB_BYTES = 4096 };
#else
enum { SLAB_BYTES = 16384 };
#endif
enum { SLABS = 64 };

/* A free header. The first of a batch links to the next batch. These fields replace storage, offset and n. */
typedef struct free_header {
    struct free_header *next, *next_batch;
    int64_t count; /* headers in the batch */
} free_header;
_Static_assert(offsetof(eg_tensor, n) == offsetof(eg_tensor, storage) + offsetof(free_header, count), "same layout");

enum { SLAB_HEAD = 16, SLAB_HEADERS = (SLAB_BYTES - SLAB_HEAD) / sizeof(eg_tensor) };
typedef struct slab {
    uint32_t unused; /* headers in the pool, counted during a trim */
    _Alignas(SLAB_HEAD) eg_tensor header[SLAB_HEADERS];
} slab;
_Static_assert(sizeof(slab) <= SLAB_BYTES, "a slab fits its alignment");

typedef struct region {
    struct region *next;
    char *memory;    /* SLABS slabs, aligned to their size */
    uint64_t absent; /* one bit per slab without memory of the system */
} region;

static struct {
    pthread_mutex_t lock;
    free_header *batches;
    region *regions, *open; /* open: the first that may have absent slabs */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static free_header *link_of(eg_tensor *t)
{
    return (free_header *)(void *)&t->storage;
}

static eg_tensor *header_of(free_header *f)
{
    return (eg_tensor *)((char *)f - offsetof(eg_tensor, storage));
}

static slab *slab_of(free_header *f)
{
    return (slab *)((uintptr_t)f & ~(uintptr_t)(SLAB_BYTES - 1));
}

/* ---- the pool, under its lock ------------------------------------------------------------------- */

/* Only the batch at the front may be a partial one. */
static void put_batch(free_header *first, int64_t count)
{
    const bool partial = pool.batches && pool.batches->count < EG__HEADER_BATCH;
    free_header **at = partial ? &pool.batches->next_batch : &pool.batches;
    first->count = count;
    first->next_batch = *at;
    *at = first;
}

/* Adds one free header to the batch at the front, or starts a new one. */
static void put_one(free_header *f)
{
    free_header *first = pool.batches;
    if (!first || first->count == EG__HEADER_BATCH) {
        f->next = NULL;
        put_batch(f, 1);
        return;
    }
    f->next = first->next;
    first->next = f;
    first->count++;
}

static void put_slab(slab *s)
{
    for (int i = 0; i < SLAB_HEADERS; i++) {
        s->header[i].magic = 0;
        put_one(link_of(&s->header[i]));
    }
}

static region *new_region(void)
{
    region *r = malloc(sizeof *r);
    char *memory = r ? aligned_alloc(SLAB_BYTES, (size_t)SLABS * SLAB_BYTES) : NULL;
    if (!memory) {
        free(r);
        return NULL;
    }
    *r = (region){pool.regions, memory, UINT64_MAX};
    return pool.regions = r;
}

/* Fills the pool from a slab that has no memory yet. False: out of memory. */
static bool grow(void)
{
    while (pool.open && !pool.open->absent) {
        pool.open = pool.open->next;
    }
    pool.open = pool.open ? pool.open : new_region();
    if (!pool.open || !eg__reserve(SLAB_BYTES)) {
        return false;
    }
    const int k = __builtin_ctzll(pool.open->absent);
    pool.open->absent &= pool.open->absent - 1;
    put_slab((slab *)(void *)(pool.open->memory + (size_t)k * SLAB_BYTES));
    return true;
}

/* ---- threads -------------------------------------------------------------------------------------- */

static EG__COLD bool refill(eg__thread *T)
{
    if (T->headers.spare) {
        T->headers.list = T->headers.spare;
        T->headers.count = EG__HEADER_BATCH;
        T->headers.spare = NULL;
        return true;
    }
    pthread_mutex_lock(&pool.lock);
    free_header *first = !T->dead && (pool.batches || grow()) ? pool.batches : NULL;
    if (first) {
        pool.batches = first->next_batch;
        T->headers.list = first;
        T->headers.count = (uint32_t)first->count;
    }
    pthread_mutex_unlock(&pool.lock);
    return first;
}

/* Frees a header while the thread's list is full. */
static EG__COLD void free_beyond(eg__thread *T, free_header *f)
{
    f->next = NULL;
    if (T->dead || T->headers.spare) {
        pthread_mutex_lock(&pool.lock);
        if (T->dead) {
            put_one(f);
        } else {
            put_batch(T->headers.spare, EG__HEADER_BATCH);
        }
        pthread_mutex_unlock(&pool.lock);
    }
    if (!T->dead) {
        T->headers.spare = T->headers.list;
        T->headers.list = f;
        T->headers.count = 1;
    }
}

/* Gives all that the thread keeps to the pool. Under its lock. */
static void flush(eg__thread *T)
{
    if (T->headers.spare) {
        put_batch(T->headers.spare, EG__HEADER_BATCH);
        T->headers.spare = NULL;
    }
    for (free_header *f = T->headers.list, *next; f; f = next) {
        next = f->next;
        put_one(f);
    }
    T->headers.list = NULL;
    T->headers.count = T->dead ? EG__HEADER_BATCH : 0;
}

static void thread_end(eg__thread *T)
{
    pthread_mutex_lock(&pool.lock);
    flush(T);
    pthread_mutex_unlock(&pool.lock);
}

eg_tensor *eg__header_new(eg__thread *T)
{
    if (unlikely(!T->headers.list) && !refill(T)) {
        return NULL;
    }
    free_header *f = T->headers.list;
    T->headers.list = f->next;
    T->headers.count--;
    eg_tensor *t = header_of(f);
    eg__ref_init(&t->refs);
    t->magic = EG__MAGIC;
    t->device = 0;
    t->flags = 0;
    atomic_store_explicit(&t->kept, 0, memory_order_relaxed);
    atomic_store_explicit(&t->slot, 0, memory_order_relaxed);
    t->storage = NULL;
    t->offset = 0;
    eg__count(&T->live_tensors, 1);
    return t;
}

void eg__header_free(eg__thread *T, eg_tensor *t)
{
    if (likely(t->storage != NULL)) {
        eg__storage_unref(T, t->storage);
    }
    t->magic = 0;
    eg__count(&T->live_tensors, -1);
    free_header *f = link_of(t);
    if (unlikely(T->headers.count == EG__HEADER_BATCH)) {
        free_beyond(T, f);
        return;
    }
    f->next = T->headers.list;
    T->headers.list = f;
    T->headers.count++;
}

/* ---- trimming ------------------------------------------------------------------------------------- */

static slab *slab_at(const region *r, int k)
{
    return r->absent >> k & 1 ? NULL : (slab *)(void *)(r->memory + (size_t)k * SLAB_BYTES);
}

/* Counts the pool's headers by slab. */
static void count_unused(void)
{
    for (const region *r = pool.regions; r; r = r->next) {
        for (int k = 0; k < SLABS; k++) {
            if (slab_at(r, k)) {
                slab_at(r, k)->unused = 0;
            }
        }
    }
    for (free_header *first = pool.batches; first; first = first->next_batch) {
        for (free_header *f = first; f; f = f->next) {
            slab_of(f)->unused++;
        }
    }
}

/* Takes the headers of unused slabs out of the pool. */
static void take_out_unused(void)
{
    free_header *first = pool.batches;
    pool.batches = NULL;
    for (free_header *next_batch; first; first = next_batch) {
        next_batch = first->next_batch;
        for (free_header *f = first, *next; f; f = next) {
            next = f->next;
            if (slab_of(f)->unused < SLAB_HEADERS) {
                put_one(f);
            }
        }
    }
}

/* Returns a slab's memory to the system; reads of it give zeros from now on. */
static bool return_memory(slab *s)
{
#ifdef MADV_DONTNEED
    return madvise(s, SLAB_BYTES, MADV_DONTNEED) == 0;
#else
    (void)s;
    return false;
#endif
}

bool eg__headers_trim(eg__thread *T)
{
    int64_t returned = 0;
    pthread_mutex_lock(&pool.lock);
    flush(T);
    count_unused();
    take_out_unused();
    for (region *r = pool.regions; r; r = r->next) {
        for (int k = 0; k < SLABS; k++) {
            slab *s = slab_at(r, k);
            if (!s || s->unused < SLAB_HEADERS) {
                continue;
            }
            if (return_memory(s)) {
                r->absent |= UINT64_C(1) << k;
                returned += SLAB_BYTES;
            } else {
                put_slab(s);
            }
        }
    }
    pool.open = pool.regions;
    pthread_mutex_unlock(&pool.lock);
    eg__unreserve(returned);
    return returned > 0;
}

/* ---- forks and the end ---------------------------------------------------------------------------- */

static void around_fork(eg__fork when)
{
    eg__fork_lock(&pool.lock, when);
}

static void end(void)
{
    while (pool.regions) {
        region *r = pool.regions;
        pool.regions = r->next;
        free(r->memory);
        free(r);
    }
    pool.open = NULL;
    pool.batches = NULL;
}

EG__SUBSYSTEM_OF_CORE(.order = EG__ORDER_HEADERS, .thread_end = thread_end, .fork = around_fork, .end = end)
