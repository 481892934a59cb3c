/* segment.c - taking memory from the driver and giving it back, in two ways:
 *
 *   ranges       addresses for as much memory as the device has, one range per pool and kind; chunks are
 *                mapped where it has holes, first of all the one at its end, next to free blocks where
 *                there are any, so that only the missing bytes are taken
 *   cudaMalloc   where the driver cannot do that: a segment each time, given back whole
 *
 * A chunk is unmapped only as it was mapped, hence the table of their sizes. The memory of a chunk lives as
 * long as it is mapped: its handle is let go at once. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cuda/runtime/heap.h"

enum { GRANULE = 2 << 20, LARGE_ALONE = 10 << 20 };

/* ---- the driver ---------------------------------------------------------------------------- */

static CUmemAllocationProp on_device(const eg__heap *h)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = h->device}};
}

void eg__driver_find(eg__heap *h)
{
    static const struct {
        const char *name;
        size_t at;
    } calls[] = {
        {"cuMemGetAllocationGranularity", offsetof(struct eg__driver, granularity)},
        {"cuMemAddressReserve", offsetof(struct eg__driver, reserve)},
        {"cuMemAddressFree", offsetof(struct eg__driver, unreserve)},
        {"cuMemCreate", offsetof(struct eg__driver, create)},
        {"cuMemRelease", offsetof(struct eg__driver, release)},
        {"cuMemMap", offsetof(struct eg__driver, map)},
        {"cuMemUnmap", offsetof(struct eg__driver, unmap)},
        {"cuMemSetAccess", offsetof(struct eg__driver, set_access)},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *f = NULL;
        enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
        if (cudaGetDriverEntryPointByVersion(calls[i].name, &f, 10020, cudaEnableDefault, &found) ||
            found != cudaDriverEntryPointSuccess || !f) {
            cudaGetLastError();
            return;
        }
        memcpy((char *)&h->driver + calls[i].at, &f, sizeof f);
    }
    CUmemAllocationProp prop = on_device(h);
    size_t unused, least = 0;
    if (cudaMemGetInfo(&unused, &h->total)) {
        cudaGetLastError();
        return;
    }
    h->expandable = !h->driver.granularity(&least, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) && least;
    h->granule = h->expandable ? eg__round_up(GRANULE, least) : 0;
}

static bool may_take(const eg__heap *h, size_t bytes)
{
    return !h->limit || h->reserved + (int64_t)bytes <= h->limit;
}

static void taken(eg__pool *p, size_t bytes)
{
    eg__heap *h = p->heap;
    p->reserved += bytes;
    h->reserved += (int64_t)bytes;
    h->peak = h->peak > h->reserved ? h->peak : h->reserved;
}

static void given(eg__pool *p, size_t bytes)
{
    p->reserved -= bytes;
    p->heap->reserved -= (int64_t)bytes;
}

static CUdeviceptr device_address(const char *p)
{
    return (CUdeviceptr)(uintptr_t)p;
}

/* How many bytes are mapped together. */
static size_t chunk_bytes(const eg__heap *h, int kind)
{
    return eg__round_up(kind == EG__SMALL ? EG__SMALL_CHUNK : EG__LARGE_CHUNK, h->granule);
}

static void unmap(eg__segment *s, char *at, size_t bytes)
{
    eg__heap *h = s->pool->heap;
    for (char *end = at + bytes; at < end;) {
        uint16_t *chunk = &s->chunks[(size_t)(at - s->base) / h->granule];
        size_t n = *chunk * h->granule;
        h->driver.unmap(device_address(at), n);
        *chunk = 0;
        at += n;
    }
}

/* Maps fresh memory there, all of it or nothing. A driver that cannot is not asked again. */
static bool map(eg__segment *s, char *at, size_t bytes)
{
    eg__heap *h = s->pool->heap;
    CUmemAllocationProp prop = on_device(h);
    size_t most = chunk_bytes(h, s->kind), done = 0;
    CUresult e = CUDA_SUCCESS;
    while (!e && done < bytes) {
        size_t n = bytes - done < most ? bytes - done : most;
        CUmemGenericAllocationHandle handle;
        e = eg__fail_injected() ? CUDA_ERROR_OUT_OF_MEMORY : h->driver.create(&handle, n, &prop, 0);
        if (!e) {
            e = h->driver.map(device_address(at + done), n, 0, handle, 0);
            h->driver.release(handle);
        }
        if (!e) {
            s->chunks[(size_t)(at + done - s->base) / h->granule] = (uint16_t)(n / h->granule);
            done += n;
            h->system_calls++;
        }
    }
    CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (!e) {
        e = h->driver.set_access(device_address(at), bytes, &access, 1);
    }
    if (e) {
        unmap(s, at, done);
        h->expandable &= e == CUDA_ERROR_OUT_OF_MEMORY;
    }
    return !e;
}

/* ---- ranges -------------------------------------------------------------------------------- */

static void hole_insert(eg__block *b)
{
    eg__block **list = &b->pool->kind[b->segment->kind].holes;
    b->state = EG__BLOCK_HOLE;
    b->link[0] = NULL;
    b->link[1] = *list;
    if (*list) {
        (*list)->link[0] = b;
    }
    *list = b;
}

static void hole_remove(eg__block *b)
{
    if (b->link[0]) {
        b->link[0]->link[1] = b->link[1];
    } else {
        b->pool->kind[b->segment->kind].holes = b->link[1];
    }
    if (b->link[1]) {
        b->link[1]->link[0] = b->link[0];
    }
}

static eg__segment *segment_new(eg__pool *p, int kind, char *base, size_t bytes)
{
    eg__segment *s = eg__host_new(sizeof *s);
    if (s) {
        eg__block *b = eg__header_new(p->heap);
        *s = (eg__segment){
            .pool = p, .kind = kind, .base = base, .bytes = bytes, .first = b, .next = p->kind[kind].segments};
        *b = (eg__block){.data = base, .pool = p, .bytes = bytes, .segment = s};
        p->kind[kind].segments = s;
    }
    return s;
}

/* A range that is one hole. */
static eg__block *range_new(eg__pool *p, int kind)
{
    eg__heap *h = p->heap;
    size_t bytes = eg__round_up(h->total, h->granule);
    uint16_t *chunks = eg__host_new(bytes / h->granule * sizeof *chunks);
    CUdeviceptr base = 0;
    if (!chunks) {
        return NULL;
    }
    if (h->driver.reserve(&base, bytes, h->granule, 0, 0)) {
        h->expandable = false;
        free(chunks);
        return NULL;
    }
    eg__segment *s = segment_new(p, kind, (char *)(uintptr_t)base, bytes);
    if (!s) {
        h->driver.unreserve(base, bytes);
        free(chunks);
        return NULL;
    }
    s->chunks = chunks;
    hole_insert(s->first);
    return s->first;
}

static size_t free_bytes(const eg__block *b)
{
    return b && b->state == EG__BLOCK_FREE ? b->bytes : 0;
}

/* The hole that can make room for `bytes` with the fewest more, the lowest of several. */
static eg__block *best_hole(const eg__pool *p, int kind, size_t bytes, size_t *missing)
{
    eg__block *best = NULL;
    for (eg__block *b = p->kind[kind].holes; b; b = b->link[1]) {
        size_t before = free_bytes(b->prev);
        size_t more = bytes - before < b->bytes ? bytes - before : b->bytes;
        if (before + b->bytes + free_bytes(b->next) >= bytes &&
            (!best || more < *missing || (more == *missing && b->data < best->data))) {
            best = b;
            *missing = more;
        }
    }
    return best;
}

static eg__block *range_grow(eg__pool *p, int kind, size_t bytes, bool exact)
{
    eg__heap *h = p->heap;
    size_t missing = bytes;
    if (bytes > h->total) {
        return NULL;
    }
    eg__block *hole = best_hole(p, kind, bytes, &missing);
    if (!hole && !(hole = range_new(p, kind))) {
        return NULL;
    }
    size_t more = eg__round_up(missing, exact ? h->granule : chunk_bytes(h, kind));
    more = more < hole->bytes ? more : hole->bytes;
    if (!may_take(h, more) || !map(hole->segment, hole->data, more)) {
        return NULL;
    }
    taken(p, more);
    hole_remove(hole);
    if (more < hole->bytes) {
        hole_insert(eg__block_cut(hole, more));
    }
    hole->state = EG__BLOCK_USED;
    return hole;
}

/* ---- cudaMalloc ---------------------------------------------------------------------------- */

static eg__block *piece_new(eg__pool *p, int kind, size_t bytes, bool exact)
{
    if (!exact) {
        bytes = kind == EG__SMALL     ? EG__SMALL_CHUNK
                : bytes < LARGE_ALONE ? EG__LARGE_CHUNK
                                      : eg__round_up(bytes, GRANULE);
    }
    void *base = NULL;
    if (!may_take(p->heap, bytes) || eg__fail_injected()) {
        return NULL;
    }
    if (cudaMalloc(&base, bytes)) {
        cudaGetLastError();
        return NULL;
    }
    eg__segment *s = segment_new(p, kind, base, bytes);
    if (!s) {
        cudaFree(base);
        return NULL;
    }
    taken(p, bytes);
    p->heap->system_calls++;
    return s->first;
}

/* ---- both ---------------------------------------------------------------------------------- */

eg__block *eg__segment_grow(eg__pool *p, int kind, size_t bytes, bool exact)
{
    if (p->heap->expandable) {
        eg__block *b = range_grow(p, kind, bytes, exact);
        if (b || p->heap->expandable) {
            return b;
        }
    }
    return piece_new(p, kind, bytes, exact);
}

bool eg__segment_spare(const eg__block *b, size_t enough, char **from, char **to)
{
    const eg__segment *s = b->segment;
    if (!s->chunks) {
        *from = s->base;
        *to = s->base + s->bytes;
        return b->bytes == s->bytes;
    }
    size_t granule = s->pool->heap->granule, at = (size_t)(b->data - s->base);
    size_t first = (at + granule - 1) / granule, end = (at + b->bytes) / granule;
    while (first < end && !s->chunks[first]) {
        first++;
    }
    size_t last = first;
    while (last < end && last + s->chunks[last] <= end) {
        last += s->chunks[last];
    }
    while (first < last && (last - first - s->chunks[first]) * granule >= enough) {
        first += s->chunks[first];
    }
    *from = s->base + first * granule;
    *to = s->base + last * granule;
    return first < last;
}

eg__block *eg__segment_give_back(eg__block *b)
{
    eg__segment *s = b->segment;
    if (!s->chunks) {
        eg__segment_free(s);
        return NULL;
    }
    unmap(s, b->data, b->bytes);
    given(s->pool, b->bytes);
    if (b->next && b->next->state == EG__BLOCK_HOLE) {
        hole_remove(b->next);
        eg__block_absorb(b);
    }
    if (b->prev && b->prev->state == EG__BLOCK_HOLE) {
        b = b->prev;
        hole_remove(b);
        eg__block_absorb(b);
    }
    hole_insert(b);
    return b->next;
}

void eg__segment_free(eg__segment *s)
{
    eg__pool *p = s->pool;
    eg__heap *h = p->heap;
    if (s->chunks) {
        for (eg__block *b = s->first; b; b = b->next) {
            if (b->state == EG__BLOCK_HOLE) {
                hole_remove(b);
            } else {
                given(p, b->bytes);
            }
        }
        for (size_t i = 0; i < s->bytes / h->granule; i++) {
            if (s->chunks[i]) {
                unmap(s, s->base + i * h->granule, 1);
            }
        }
        h->driver.unreserve(device_address(s->base), s->bytes);
        free(s->chunks);
    } else {
        cudaFree(s->base);
        given(p, s->bytes);
    }
    for (eg__block *b = s->first, *next; b; b = next) {
        next = b->next;
        eg__header_free(h, b);
    }
    eg__segment **at = &p->kind[s->kind].segments;
    while (*at != s) {
        at = &(*at)->next;
    }
    *at = s->next;
    free(s);
}
