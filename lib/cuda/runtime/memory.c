/* memory.c - pools and blocks of the caching allocator.
 *
 *   small blocks   up to 1 MiB, four size classes per doubling. A freed one goes to the list of its class,
 *                  unmerged; a request whose list is empty is cut from the tree of merged free blocks. When
 *                  the lists hold as much as growing would take they are merged into the tree first
 *   large blocks   best fit in a tree; neighbours merge when freed
 *
 * Capture. The driver lets memory be mapped while a stream captures; cudaMalloc and asking an event that was
 * recorded outside are allowed in relaxed mode, so every way to the driver goes through enter and leave. Not
 * allowed at all is to wait for the device, and a stream cannot be asked for what it has not run: so no event
 * is recorded on a capturing stream (that is made up for later), and nothing is given back or waited for
 * while a pool's stream captures. What a captured step has freed stays in its private pool. */
#include <stdint.h>
#include <stdlib.h>

#include "lib/cuda/runtime/heap.h"

enum { SMALL_MAX = 1 << 20, PENDING_MANY = 64 };

/* ---- size classes: 512, 1024, 1536, 2048, then four per doubling --------------------------- */

static inline int class_of(size_t bytes)
{
    size_t units = (bytes + EG__BLOCK_UNIT - 1) / EG__BLOCK_UNIT;
    if (units <= 4) {
        return units ? (int)units - 1 : 0;
    }
    int top = 63 - __builtin_clzll(units - 1);
    return (int)((units - 1) >> (top - 2)) + 4 * (top - 2);
}

static size_t class_bytes(int c)
{
    if (c < 4) {
        return EG__BLOCK_UNIT * (size_t)(c + 1);
    }
    int shift = c / 4 - 1;
    return (EG__BLOCK_UNIT * (size_t)(c % 4 + 5)) << shift;
}

/* Moves what is in the lists of the classes to the tree. */
static void merge_classes(eg__pool *p)
{
    for (int c = 0; c < EG__CLASS_COUNT; c++) {
        while (p->classes[c]) {
            eg__block *b = p->classes[c];
            p->classes[c] = b->link[0];
            eg__block_put(b);
        }
    }
    p->class_bytes = 0;
}

static inline eg__block *class_pop(eg__pool *p, int c)
{
    eg__block *b = p->classes[c];
    if (b) {
        p->classes[c] = b->link[0];
        p->class_bytes -= b->bytes;
    }
    return b;
}

static eg__block *grow_and_fit(eg__pool *p, int kind, size_t bytes, bool exact)
{
    eg__block *b = eg__headers(p->heap, 3) ? eg__segment_grow(p, kind, bytes, exact) : NULL;
    if (b) {
        eg__block_put(b);
        b = eg__block_fit(p, kind, bytes);
    }
    return b;
}

/* ---- the driver's state while the allocator talks to it ------------------------------------ */

typedef struct visit {
    int device;
    enum cudaStreamCaptureMode mode;
} visit;

static visit enter(const eg__heap *h)
{
    visit v = {.device = h->device, .mode = cudaStreamCaptureModeRelaxed};
    cudaGetDevice(&v.device);
    if (v.device != h->device) {
        cudaSetDevice(h->device);
    }
    cudaThreadExchangeStreamCaptureMode(&v.mode);
    return v;
}

static void leave(const eg__heap *h, visit v)
{
    cudaThreadExchangeStreamCaptureMode(&v.mode);
    if (v.device != h->device) {
        cudaSetDevice(v.device);
    }
}

/* A refusal that is dealt with here must not be found by who asks for errors next. */
static bool succeeds(cudaError_t e)
{
    if (e) {
        cudaGetLastError();
    }
    return !e;
}

static bool stream_captures(cudaStream_t s)
{
    enum cudaStreamCaptureStatus status;
    return !succeeds(cudaStreamIsCapturing(s, &status)) || status != cudaStreamCaptureStatusNone;
}

static bool any_captures(const eg__heap *h)
{
    for (eg__pool *p = h->pools; p; p = p->next) {
        if (!p->orphan && stream_captures(p->stream)) {
            return true;
        }
    }
    return false;
}

/* ---- giving back --------------------------------------------------------------------------- */

/* Waits for work that may still use what is free in the pool: unmapping does not. */
static bool settle(const eg__pool *p)
{
    return succeeds(p->captured || p->orphan ? cudaDeviceSynchronize() : cudaStreamSynchronize(p->stream));
}

/* Gives back free memory of a pool until `enough` bytes have been; returns how many. */
static size_t pool_give_back(eg__pool *p, size_t enough)
{
    size_t given = 0;
    bool settled = false;
    merge_classes(p);
    for (int kind = 0; kind < EG__KINDS; kind++) {
        for (eg__segment *s = p->kind[kind].segments, *after; s; s = after) {
            after = s->next;
            for (eg__block *b = s->first, *next; b && given < enough; b = next) {
                char *from, *to;
                next = b->next;
                if (b->state == EG__BLOCK_FREE && eg__segment_spare(b, enough - given, &from, &to)) {
                    settled = settled || settle(p);
                    if (!settled || !eg__headers(p->heap, 2)) {
                        return given;
                    }
                    given += (size_t)(to - from);
                    next = eg__block_hollow(b, from, to);
                }
            }
        }
    }
    return given;
}

static void pool_end(eg__pool *p)
{
    eg__heap *h = p->heap;
    for (int kind = 0; kind < EG__KINDS; kind++) {
        while (p->kind[kind].segments) {
            eg__segment_free(p->kind[kind].segments);
        }
    }
    if (p->prev) {
        p->prev->next = p->next;
    } else {
        h->pools = p->next;
    }
    if (p->next) {
        p->next->prev = p->prev;
    }
    free(p);
}

/* Ends a freed pool that no block needs any more. One that may not be waited for now is left to a trim. */
static void bury(eg__pool *p)
{
    eg__heap *h = p->heap;
    visit v = enter(h);
    if (!p->reserved || (!any_captures(h) && settle(p))) {
        pool_end(p);
    }
    leave(h, v);
}

/* Gives back free memory of all pools but those of captured steps until `enough` bytes have been. */
static void give_back(eg__heap *h, size_t enough)
{
    if (any_captures(h)) {
        return;
    }
    size_t given = 0;
    for (eg__pool *p = h->pools, *next; p && given < enough; p = next) {
        next = p->next;
        if (!p->captured || p->orphan) {
            given += pool_give_back(p, enough - given);
        }
        if (p->orphan && !p->live) {
            bury(p);
        }
    }
}

/* ---- other streams ------------------------------------------------------------------------- */

static bool record(eg__block_user *u)
{
    u->recorded = u->recorded || (!stream_captures(u->stream) && succeeds(cudaEventRecord(u->event, u->stream)));
    return u->recorded;
}

static void release(eg__block *b)
{
    eg__pool *p = b->pool;
    if (b->cls < EG__CLASS_COUNT) {
        b->state = EG__BLOCK_CLASS;
        b->link[0] = p->classes[b->cls];
        p->classes[b->cls] = b;
        p->class_bytes += b->bytes;
    } else {
        eg__block_put(b);
    }
    if (--p->live == 0 && p->orphan) {
        bury(p);
    }
}

/* Whether the block's other streams have come past its freeing; forgets those that have. */
static bool passed(eg__heap *h, eg__block *b, bool wait)
{
    for (eg__block_user *u = b->users; u; u = b->users) {
        if (!record(u) || !succeeds(wait ? cudaEventSynchronize(u->event) : cudaEventQuery(u->event))) {
            return false;
        }
        b->users = u->next;
        u->next = h->users;
        h->users = u;
    }
    return true;
}

/* Releases pending blocks, oldest first, up to one whose streams are not so far; wait: until they are. One
 * on a stream that captures is passed over. Whether there was any. */
static bool reclaim(eg__heap *h, bool wait)
{
    bool any = false;
    eg__block **at = &h->pending;
    while (*at) {
        eg__block *b = *at;
        if (passed(h, b, wait)) {
            *at = b->link[0];
            h->pending_end = *at ? h->pending_end : at;
            h->pending_count--;
            release(b);
            any = true;
        } else if (!wait && b->users->recorded) {
            break;
        } else {
            at = &b->link[0];
        }
    }
    h->pending_look = 2 * h->pending_count > PENDING_MANY ? 2 * h->pending_count : PENDING_MANY;
    return any;
}

static void suspend(eg__heap *h, eg__block *b)
{
    visit v = enter(h);
    for (eg__block_user *u = b->users; u; u = u->next) {
        u->recorded = false;
        record(u);
    }
    b->state = EG__BLOCK_PENDING;
    b->link[0] = NULL;
    *h->pending_end = b;
    h->pending_end = &b->link[0];
    if (++h->pending_count >= h->pending_look) {
        reclaim(h, false);
    }
    leave(h, v);
}

/* Notes a stream, with an event to be recorded when the block is freed. */
static cudaError_t note(eg__heap *h, eg__block *b, cudaStream_t stream)
{
    eg__block_user *u = h->users;
    if (u) {
        h->users = u->next;
    } else {
        u = eg__host_new(sizeof *u);
        cudaError_t e = !u ? cudaErrorMemoryAllocation : cudaEventCreateWithFlags(&u->event, cudaEventDisableTiming);
        if (!succeeds(e)) {
            free(u);
            return e;
        }
    }
    u->stream = stream;
    u->next = b->users;
    b->users = u;
    return cudaSuccess;
}

cudaError_t eg__block_used_on(eg__block *b, cudaStream_t stream)
{
    eg__heap *h = b->pool->heap;
    cudaError_t e = cudaSuccess;
    if (stream == b->pool->stream) {
        return e;
    }
    pthread_mutex_lock(&h->lock);
    eg__block_user *u = b->users;
    while (u && u->stream != stream) {
        u = u->next;
    }
    if (!u) {
        visit v = enter(h);
        e = note(h, b, stream);
        leave(h, v);
    }
    pthread_mutex_unlock(&h->lock);
    return e;
}

/* ---- new blocks ---------------------------------------------------------------------------- */

static eg__block *cached(eg__pool *p, int c, size_t bytes)
{
    eg__block *b = c < EG__CLASS_COUNT ? class_pop(p, c) : NULL;
    return b ? b : eg__block_fit(p, c < EG__CLASS_COUNT ? EG__SMALL : EG__LARGE, bytes);
}

/* A block that is not cached: from what waits for other streams, from unmerged ones, from the driver, from
 * the driver once other cached memory is given back, and again after waiting for other streams. */
static eg__block *obtain(eg__pool *p, int c, size_t bytes)
{
    eg__heap *h = p->heap;
    int kind = c < EG__CLASS_COUNT ? EG__SMALL : EG__LARGE;
    bool found = h->pending && reclaim(h, false);
    if (kind == EG__SMALL && p->class_bytes >= EG__SMALL_CHUNK) {
        merge_classes(p);
        found = true;
    }
    eg__block *b = found && eg__headers(h, 1) ? cached(p, c, bytes) : NULL;
    for (int exact = 0; !b && exact < 2; exact++) {
        b = grow_and_fit(p, kind, bytes, exact);
    }
    for (int wait = 0; !b && wait < 2 && !any_captures(h); wait++) {
        if (wait) {
            reclaim(h, true);
        }
        merge_classes(p);
        b = eg__headers(h, 1) ? cached(p, c, bytes) : NULL;
        if (!b) {
            give_back(h, wait || !h->expandable ? SIZE_MAX : eg__round_up(bytes, h->granule));
            b = grow_and_fit(p, kind, bytes, true);
        }
    }
    return b;
}

eg__block *eg__block_new(eg__pool *p, size_t bytes, uint16_t made_by)
{
    eg__heap *h = p->heap;
    if (bytes > SIZE_MAX / 2) {
        return NULL;
    }
    int c = bytes <= SMALL_MAX ? class_of(bytes) : EG__CLASS_COUNT;
    pthread_mutex_lock(&h->lock);
    eg__block *b = c < EG__CLASS_COUNT ? class_pop(p, c) : NULL;
    if (!b) {
        size_t whole = c < EG__CLASS_COUNT ? class_bytes(c) : eg__round_up(bytes, EG__BLOCK_UNIT);
        b = eg__headers(h, 1) ? cached(p, c, whole) : NULL;
        if (!b) {
            visit v = enter(h);
            b = obtain(p, c, whole);
            leave(h, v);
        }
    }
    if (b) {
        b->state = EG__BLOCK_USED;
        b->cls = (uint8_t)c;
        b->writer = NULL;
        b->wrote_at = 0;
        b->asked = bytes;
        b->made_by = made_by;
        p->live++;
        h->live_bytes += (int64_t)bytes;
    }
    pthread_mutex_unlock(&h->lock);
    return b;
}

void eg__block_free_later(eg__block *b)
{
    eg__heap *h = b->pool->heap;
    pthread_mutex_lock(&h->lock);
    h->live_bytes -= (int64_t)b->asked;
    if (b->users) {
        suspend(h, b);
    } else {
        release(b);
    }
    pthread_mutex_unlock(&h->lock);
}

/* ---- heaps and pools ----------------------------------------------------------------------- */

eg__heap *eg__heap_new(int device, int64_t limit)
{
    eg__heap *h = eg__host_new(sizeof *h);
    if (h) {
        pthread_mutex_init(&h->lock, NULL);
        h->device = device;
        h->limit = limit;
        h->pending_end = &h->pending;
        h->pending_look = PENDING_MANY;
        visit v = enter(h);
        eg__driver_find(h);
        leave(h, v);
    }
    return h;
}

static void users_free(eg__block_user *u)
{
    while (u) {
        eg__block_user *next = u->next;
        cudaEventDestroy(u->event);
        free(u);
        u = next;
    }
}

void eg__heap_free(eg__heap *h)
{
    visit v = enter(h);
    if (h->reserved) {
        succeeds(cudaDeviceSynchronize());
    }
    for (eg__pool *p = h->pools; p; p = p->next) {
        for (int kind = 0; kind < EG__KINDS; kind++) {
            for (eg__segment *s = p->kind[kind].segments; s; s = s->next) {
                for (eg__block *b = s->first; b; b = b->next) {
                    users_free(b->users);
                }
            }
        }
    }
    users_free(h->users);
    while (h->pools) {
        pool_end(h->pools);
    }
    leave(h, v);
    eg__headers_free(h);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

eg__pool *eg__pool_new(eg__heap *h, cudaStream_t stream)
{
    eg__pool *p = eg__host_new(sizeof *p);
    if (p) {
        p->heap = h;
        p->stream = stream;
        p->captured = stream_captures(stream);
        pthread_mutex_lock(&h->lock);
        p->next = h->pools;
        if (p->next) {
            p->next->prev = p;
        }
        h->pools = p;
        pthread_mutex_unlock(&h->lock);
    }
    return p;
}

void eg__pool_free(eg__pool *p)
{
    eg__heap *h = p->heap;
    pthread_mutex_lock(&h->lock);
    visit v = enter(h);
    if (!any_captures(h)) {
        pool_give_back(p, SIZE_MAX);
    }
    p->orphan = true;
    if (!p->live) {
        bury(p);
    }
    leave(h, v);
    pthread_mutex_unlock(&h->lock);
}

int eg__pool_left(eg__pool *p, bool (*known)(const eg__block *b, const void *who), const void *who)
{
    int op = -1;
    pthread_mutex_lock(&p->heap->lock);
    for (int kind = 0; kind < EG__KINDS; kind++) {
        for (eg__segment *s = p->kind[kind].segments; s; s = s->next) {
            for (eg__block *b = s->first; b && op < 0; b = b->next) {
                op = b->state == EG__BLOCK_USED && !known(b, who) ? b->made_by : -1;
            }
        }
    }
    pthread_mutex_unlock(&p->heap->lock);
    return op;
}

/* ---- statistics ---------------------------------------------------------------------------- */

void eg__heap_stats(eg__heap *h, eg_memory *m)
{
    pthread_mutex_lock(&h->lock);
    m->live_bytes = h->live_bytes;
    m->reserved_bytes = h->reserved;
    m->peak_bytes = h->peak;
    m->system_calls = h->system_calls;
    m->limit_bytes = h->limit;
    pthread_mutex_unlock(&h->lock);
}

void eg__heap_limit(eg__heap *h, int64_t bytes)
{
    pthread_mutex_lock(&h->lock);
    h->limit = bytes;
    pthread_mutex_unlock(&h->lock);
}

void eg__heap_reset_peak(eg__heap *h)
{
    pthread_mutex_lock(&h->lock);
    h->peak = h->reserved;
    pthread_mutex_unlock(&h->lock);
}

void eg__heap_trim(eg__heap *h)
{
    pthread_mutex_lock(&h->lock);
    visit v = enter(h);
    reclaim(h, false);
    give_back(h, SIZE_MAX);
    leave(h, v);
    pthread_mutex_unlock(&h->lock);
}

void eg__heap_holders(eg__heap *h, int64_t *bytes_by_op, int count)
{
    pthread_mutex_lock(&h->lock);
    for (eg__pool *p = h->pools; p; p = p->next) {
        for (int kind = 0; kind < EG__KINDS; kind++) {
            for (eg__segment *s = p->kind[kind].segments; s; s = s->next) {
                for (eg__block *b = s->first; b; b = b->next) {
                    if (b->state == EG__BLOCK_USED && b->made_by < count) {
                        bytes_by_op[b->made_by] += (int64_t)b->asked;
                    }
                }
            }
        }
    }
    pthread_mutex_unlock(&h->lock);
}
