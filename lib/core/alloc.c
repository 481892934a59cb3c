/* alloc.c - the caching allocator. First touch of fresh pages costs ten times a write to warm ones, so
 * memory once taken from the system is kept:
 *
 *   small blocks   up to 64 KiB, four size classes per doubling; a free list per thread, refilled from
 *                  and spilled to a shared one of blocks that slabs are cut into (slabs.c)
 *   large blocks   best fit inside segments of 32 MiB or more, mapped with huge pages; neighbours merge
 *                  when freed; whole free segments go back to the system on trim or at the cap
 *
 * Sanitizer builds and the "nocache" word take every block from the system instead. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "lib/core/alloc.h"
#include "lib/core/counted.h"
#include "lib/core/error.h"
#include "lib/core/memory.h"
#include "lib/core/subsystem.h"
#include "lib/core/tensor.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CACHED = 0 };
#else
enum { CACHED = 1 };
#endif

#ifdef EG_TINY_LIMITS
enum { SMALL_MAX = 1024, SEGMENT = 1 << 20, SPILL_BYTES = 2048 };
#else
enum { SMALL_MAX = 65536, SEGMENT = 32 << 20, SPILL_BYTES = 1 << 20 };
#endif
enum { HUGE_PAGE = 2 << 20, BIN_COUNT = 160, LINK = 128 };

typedef struct free_block {
    struct free_block *next;
} free_block;

/* A large block starts with one of these; the caller's bytes follow after LINK. */
typedef struct large {
    struct large *prev, *next;           /* neighbours in the segment */
    struct large *free_prev, *free_next; /* in its bin, when free */
    size_t bytes;                        /* of the whole block */
    eg__segment *segment;
    int64_t owned; /* bytes of tensor data, 0 for other uses */
    uint16_t made_by;
    bool used;
} large;

struct eg__segment {
    eg__segment *prev, *next;
    size_t bytes;
    large *first;
};

static struct {
    pthread_mutex_t lock;
    large *bins[BIN_COUNT];
    eg__segment *segments;
    int64_t reserved, peak, limit, system_calls;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic int64_t fail_countdown;

void eg_debug_fail_alloc(int64_t n)
{
    atomic_store(&fail_countdown, n > 0 ? n : 0);
}

static inline bool injected(void)
{
    return unlikely(atomic_load_explicit(&fail_countdown, memory_order_relaxed) != 0) &&
           atomic_fetch_sub(&fail_countdown, 1) == 1;
}

bool eg__fail_injected(void)
{
    return injected();
}

void *eg__malloc(size_t bytes)
{
    return injected() ? NULL : malloc(bytes ? bytes : 1);
}

bool eg__grow(void *array, uint32_t *capacity, size_t element)
{
    void **p = array;
    uint32_t c = *capacity ? 2 * *capacity : EG__START_CAPACITY;
    void *q = injected() ? NULL : realloc(*p, c * element);
    if (!q) {
        return false;
    }
    *p = q;
    *capacity = c;
    return true;
}

/* ---- size classes: 64, 128, 192, 256, then four per doubling ------------------------------ */

static inline int class_of(size_t bytes)
{
    size_t units = (bytes + 63) / 64;
    if (units <= 4) {
        return units ? (int)units - 1 : 0;
    }
    int top = 63 - __builtin_clzll(units - 1);
    return (int)((units - 1) >> (top - 2)) + 4 * (top - 2);
}

static size_t class_bytes(int c)
{
    if (c < 4) {
        return 64 * (size_t)(c + 1);
    }
    int top = (c - 4) / 4 + 2;
    return 64 * ((size_t)(c - 4 * (top - 2)) + 1) << (top - 2);
}

static int bin_of(size_t bytes)
{
    int c = class_of(bytes);
    return c < BIN_COUNT ? c : BIN_COUNT - 1;
}

/* ---- the system ---------------------------------------------------------------------------- */

static bool may_reserve(size_t bytes)
{
    return !heap.limit || heap.reserved + (int64_t)bytes <= heap.limit;
}

int64_t eg__memory_most(int64_t bytes)
{
    pthread_mutex_lock(&heap.lock);
    int64_t limit = heap.limit;
    pthread_mutex_unlock(&heap.lock);
    if (bytes <= EG__ANY_HAS) {
        return limit ? limit : INT64_MAX;
    }
    struct sysinfo there;
    int64_t most = INT64_MAX;
    if (!sysinfo(&there) &&
        __builtin_mul_overflow((int64_t)(there.totalram + there.totalswap), (int64_t)there.mem_unit, &most)) {
        most = INT64_MAX;
    }
    return limit ? eg__min(limit, most) : most;
}

static void reserved(int64_t bytes)
{
    heap.reserved += bytes;
    heap.peak = eg__max(heap.peak, heap.reserved);
    heap.system_calls += bytes > 0;
}

static void unmap_segment(eg__segment *s)
{
    if (s->prev) {
        s->prev->next = s->next;
    } else {
        heap.segments = s->next;
    }
    if (s->next) {
        s->next->prev = s->prev;
    }
    reserved(-(int64_t)s->bytes);
    munmap(s, s->bytes);
}

static void bin_remove(large *b)
{
    if (b->free_prev) {
        b->free_prev->free_next = b->free_next;
    } else {
        heap.bins[bin_of(b->bytes)] = b->free_next;
    }
    if (b->free_next) {
        b->free_next->free_prev = b->free_prev;
    }
}

static void bin_insert(large *b)
{
    large **bin = &heap.bins[bin_of(b->bytes)];
    b->free_prev = NULL;
    b->free_next = *bin;
    if (*bin) {
        (*bin)->free_prev = b;
    }
    *bin = b;
}

static void trim_locked(void)
{
    for (eg__segment *s = heap.segments, *next; s; s = next) {
        next = s->next;
        if (!s->first->used && !s->first->next) {
            bin_remove(s->first);
            unmap_segment(s);
        }
    }
}

bool eg__reserve(int64_t bytes)
{
    pthread_mutex_lock(&heap.lock);
    if (!may_reserve((size_t)bytes)) {
        trim_locked();
    }
    const bool ok = may_reserve((size_t)bytes);
    if (ok) {
        reserved(bytes);
    }
    pthread_mutex_unlock(&heap.lock);
    return ok;
}

void eg__unreserve(int64_t bytes)
{
    pthread_mutex_lock(&heap.lock);
    reserved(-bytes);
    pthread_mutex_unlock(&heap.lock);
}

static large *new_segment(size_t block)
{
    size_t bytes = block + LINK;
    bytes = bytes <= SEGMENT ? SEGMENT : (bytes + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
    if (!may_reserve(bytes)) {
        trim_locked();
        if (!may_reserve(bytes)) {
            bytes = (block + LINK + 4095) & ~(size_t)4095; /* what little the cap leaves */
            if (!may_reserve(bytes)) {
                return NULL;
            }
        }
    }
    /* Map more and cut, so that the segment starts on a huge page. The kernel is to count it: what is plainly more than
     * the machine has is refused here and not later, by the end of the process. */
    size_t slack = bytes >= HUGE_PAGE ? HUGE_PAGE : 0;
    char *p = mmap(NULL, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return NULL;
    }
    char *start = slack ? (char *)(((uintptr_t)p + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1)) : p;
    if (start > p) {
        munmap(p, (size_t)(start - p));
    }
    if (slack > (size_t)(start - p)) {
        munmap(start + bytes, slack - (size_t)(start - p));
    }
#ifdef MADV_HUGEPAGE
    madvise(start, bytes, MADV_HUGEPAGE);
#endif
    reserved((int64_t)bytes);
    eg__segment *s = (eg__segment *)start;
    s->bytes = bytes;
    s->prev = NULL;
    s->next = heap.segments;
    if (s->next) {
        s->next->prev = s;
    }
    heap.segments = s;
    large *b = s->first = (large *)(start + LINK);
    *b = (large){.bytes = bytes - LINK, .segment = s};
    bin_insert(b);
    return b;
}

/* ---- large blocks -------------------------------------------------------------------------- */

static large *best_fit(size_t bytes)
{
    large *best = NULL;
    for (int bin = bin_of(bytes); bin < BIN_COUNT && !best; bin++) {
        for (large *b = heap.bins[bin]; b; b = b->free_next) {
            if (b->bytes >= bytes && (!best || b->bytes < best->bytes)) {
                best = b;
            }
        }
    }
    return best;
}

static void *large_alloc(size_t bytes)
{
    bytes = (bytes + LINK + 4095) & ~(size_t)4095;
    pthread_mutex_lock(&heap.lock);
    large *b = best_fit(bytes);
    if (!b) {
        b = new_segment(bytes);
    }
    if (b) {
        bin_remove(b);
        if (b->bytes - bytes >= SMALL_MAX) {
            large *rest = (large *)((char *)b + bytes);
            *rest = (large){.prev = b, .next = b->next, .bytes = b->bytes - bytes, .segment = b->segment};
            if (rest->next) {
                rest->next->prev = rest;
            }
            b->next = rest;
            b->bytes = bytes;
            bin_insert(rest);
        }
        b->used = true;
        b->owned = 0;
    }
    pthread_mutex_unlock(&heap.lock);
    return b ? (char *)b + LINK : NULL;
}

/* b swallows its right neighbour, which is in no bin. */
static void absorb_next(large *b)
{
    b->bytes += b->next->bytes;
    b->next = b->next->next;
    if (b->next) {
        b->next->prev = b;
    }
}

static void large_free(void *p)
{
    large *b = (large *)((char *)p - LINK);
    pthread_mutex_lock(&heap.lock);
    b->used = false;
    if (b->next && !b->next->used) {
        bin_remove(b->next);
        absorb_next(b);
    }
    if (b->prev && !b->prev->used) {
        b = b->prev;
        bin_remove(b);
        absorb_next(b);
    }
    bin_insert(b);
    pthread_mutex_unlock(&heap.lock);
}

/* ---- small blocks -------------------------------------------------------------------------- */

static void *system_alloc(size_t bytes)
{
    pthread_mutex_lock(&heap.lock);
    size_t *p = may_reserve(bytes) ? aligned_alloc(64, 64 + ((bytes + 63) & ~(size_t)63)) : NULL;
    if (p) {
        reserved((int64_t)bytes); /* not what was refused: the peak would keep it */
    }
    pthread_mutex_unlock(&heap.lock);
    if (!p) {
        return NULL;
    }
    *p = bytes;
    return (char *)p + 64;
}

static void system_free(void *block)
{
    size_t *p = (size_t *)((char *)block - 64);
    pthread_mutex_lock(&heap.lock);
    reserved(-(int64_t)*p);
    pthread_mutex_unlock(&heap.lock);
    free(p);
}

static void *large_or_placed(eg__placer *placer, size_t bytes, uint16_t *cls)
{
    void *p = placer ? placer->place(placer, bytes) : NULL;
    *cls = p ? EG__CLS_PLACED : EG__CLS_LARGE;
    p = p ? p : large_alloc(bytes);
    if (placer && p && *cls == EG__CLS_LARGE) {
        placer->gave(placer, p, bytes);
    }
    return p;
}

static void free_other(eg__thread *T, void *p, uint16_t cls)
{
    if (cls == EG__CLS_PLACED) {
        ((eg__placed *)((char *)p - EG__PLACED))->release(T, p);
    } else if (cls == EG__CLS_LARGE) {
        if (T->placer) {
            T->placer->took(T->placer, p);
        }
        large_free(p);
    } else {
        system_free(p);
    }
}

static inline void *take_block(eg__thread *T, size_t bytes, uint16_t *cls)
{
    if (!CACHED || unlikely(eg__mode(T) & EG__DEBUG_NOCACHE)) {
        *cls = EG__CLS_SYSTEM;
        return system_alloc(bytes);
    }
    if (unlikely(bytes > SMALL_MAX)) {
        return large_or_placed(T->placer, bytes, cls);
    }
    int c = class_of(bytes);
    *cls = (uint16_t)c;
    free_block *b = T->cls[c].free;
    if (unlikely(!b)) {
        if (!eg__slabs_refill(T, c, class_bytes(c))) {
            return NULL;
        }
        b = T->cls[c].free;
    }
    T->cls[c].free = b->next;
    T->cls[c].count--;
    return b;
}

/* Returns unused small blocks and headers to the system. False: there were none. */
static bool trim_small(eg__thread *T)
{
    const bool headers = eg__headers_trim(T);
    return eg__slabs_trim(T) || headers;
}

void *eg__block_alloc(eg__thread *T, size_t bytes, uint16_t *cls)
{
    if (injected() || unlikely(T->dead) || bytes > (size_t)INT64_MAX / 2) {
        return NULL;
    }
    void *p = take_block(T, bytes, cls);
    return likely(p != NULL) || !trim_small(T) ? p : take_block(T, bytes, cls);
}

void eg__block_free(eg__thread *T, void *p, uint16_t cls)
{
    if (unlikely(cls >= EG__CLS_LARGE)) {
        free_other(T, p, cls);
        return;
    }
    free_block *b = p;
    b->next = T->cls[cls].free;
    T->cls[cls].free = b;
    if (unlikely(++T->cls[cls].count > 64 && T->cls[cls].count * class_bytes(cls) > SPILL_BYTES)) {
        eg__slabs_spill(T, cls, T->cls[cls].count / 2);
    }
    if (unlikely(T->dead)) {
        eg__slabs_spill(T, cls, 0);
    }
}

/* Before memory that is counted for an input. */
typedef struct counted {
    size_t bytes; /* with this */
    uint16_t cls;
    bool block; /* it is one of eg__block_alloc's */
} counted;

static counted *exact_alloc(size_t bytes)
{
    pthread_mutex_lock(&heap.lock);
    counted *p = may_reserve(bytes) ? malloc(bytes) : NULL;
    reserved(p ? (int64_t)bytes : 0);
    pthread_mutex_unlock(&heap.lock);
    return p;
}

/* Small ones are cached blocks. Others are of their exact size, so that a sanitizer sees every byte read too far. */
void *eg__counted_alloc(size_t bytes)
{
    counted *p = NULL;
    uint16_t cls = 0;
    if (bytes > (size_t)INT64_MAX / 2) {
        return NULL;
    }
    bytes += sizeof *p;
    const bool block = CACHED && bytes <= SMALL_MAX;
    if (block) {
        p = eg__block_alloc(eg__thread_get(), bytes, &cls);
    } else if (!injected() && !(p = exact_alloc(bytes))) {
        eg_memory_trim();
        p = exact_alloc(bytes);
    }
    if (p) {
        *p = (counted){bytes, cls, block};
    }
    return p ? p + 1 : NULL;
}

void *eg__counted_realloc(void *p, size_t had, size_t bytes)
{
    void *q = eg__counted_alloc(bytes);
    if (q && p) {
        memcpy(q, p, had < bytes ? had : bytes);
        eg__counted_free(p);
    }
    return q;
}

void eg__counted_free(void *data)
{
    counted *p = data ? (counted *)data - 1 : NULL;
    if (p && p->block) {
        eg__block_free(eg__thread_get(), p, p->cls);
    } else if (p) {
        pthread_mutex_lock(&heap.lock);
        reserved(-(int64_t)p->bytes);
        pthread_mutex_unlock(&heap.lock);
        free(p);
    }
}

bool eg__counted_grow(void *array, uint32_t *capacity, size_t element)
{
    void **p = array;
    const uint32_t more = *capacity ? 2 * *capacity : EG__START_CAPACITY;
    void *grown = more > *capacity ? eg__counted_realloc(*p, *capacity * element, more * element) : NULL;
    if (grown) {
        *p = grown;
        *capacity = more;
    }
    return grown != NULL;
}

/* ---- statistics ---------------------------------------------------------------------------- */

eg_memory eg_memory_stats(void)
{
    eg_memory m = {0};
    eg__threads_count(&m.live_tensors, &m.live_bytes);
    pthread_mutex_lock(&heap.lock);
    m.reserved_bytes = heap.reserved;
    m.peak_bytes = heap.peak;
    m.system_calls = heap.system_calls;
    m.limit_bytes = heap.limit;
    pthread_mutex_unlock(&heap.lock);
    return m;
}

void eg_memory_reset_peak(void)
{
    pthread_mutex_lock(&heap.lock);
    heap.peak = heap.reserved;
    pthread_mutex_unlock(&heap.lock);
}

eg_status eg_memory_limit(int64_t bytes)
{
    if (bytes < 0) {
        return eg__fail(EG_EINVAL, "eg_memory_limit", "bytes is %lld, must be 0 or more", (long long)bytes);
    }
    pthread_mutex_lock(&heap.lock);
    heap.limit = bytes;
    pthread_mutex_unlock(&heap.lock);
    return EG_OK;
}

void eg_memory_trim(void)
{
    trim_small(eg__thread_get());
    pthread_mutex_lock(&heap.lock);
    trim_locked();
    pthread_mutex_unlock(&heap.lock);
}

void eg__block_label(void *p, int64_t bytes, uint16_t made_by)
{
    large *b = (large *)((char *)p - LINK);
    pthread_mutex_lock(&heap.lock);
    b->owned = bytes;
    b->made_by = made_by;
    pthread_mutex_unlock(&heap.lock);
}

void eg__alloc_holders(int64_t *bytes_by_op, int count)
{
    pthread_mutex_lock(&heap.lock);
    for (eg__segment *s = heap.segments; s; s = s->next) {
        for (large *b = s->first; b; b = b->next) {
            if (b->used && b->made_by < count) {
                bytes_by_op[b->made_by] += b->owned;
            }
        }
    }
    pthread_mutex_unlock(&heap.lock);
}

/* Everything cached goes back to the system. */
static void end(void)
{
    trim_locked();
}

static void around_fork(eg__fork when)
{
    eg__fork_lock(&heap.lock, when);
}

EG__SUBSYSTEM_OF_CORE(.order = EG__ORDER_ALLOC, .fork = around_fork, .end = end)
