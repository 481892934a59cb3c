/* heap.h - what memory.c, block.c and segment.c share. A heap has pools, a pool has segments of two kinds, a
 * segment has blocks in the order of their addresses, without gaps. All stands under the heap's lock. */
#ifndef EGRET_CUDA_HEAP_H
#define EGRET_CUDA_HEAP_H

#include <pthread.h>

#include <cudaTypedefs.h>

#include "lib/cuda/runtime/memory.h"

enum { EG__SMALL, EG__LARGE, EG__KINDS };
enum { EG__CLASS_COUNT = 40 }; /* of small blocks; large ones have this number as theirs */
enum { EG__BLOCK_UNIT = 512, EG__SMALL_CHUNK = 2 << 20, EG__LARGE_CHUNK = 20 << 20 };

enum {
    EG__BLOCK_USED,
    EG__BLOCK_PENDING, /* freed, waiting for other streams */
    EG__BLOCK_CLASS,   /* free, in the list of its size class, not merged yet */
    EG__BLOCK_FREE,    /* free, in the tree */
    EG__BLOCK_HOLE     /* addresses without memory */
};

typedef struct eg__segment {
    struct eg__segment *next;
    eg__pool *pool;
    int kind;
    char *base;
    size_t bytes;
    eg__block *first;
    uint16_t *chunks; /* of a range, per granule: how many of them were mapped together from here on. NULL:
                       * the segment is a cudaMalloc */
} eg__segment;

struct eg__pool {
    eg__heap *heap;
    eg__pool *prev, *next;
    cudaStream_t stream;
    bool captured; /* replays of a graph use its free blocks too */
    bool orphan;   /* freed while blocks were alive: its stream may be gone */
    int64_t live;  /* blocks used or pending */
    size_t reserved;
    eg__block *classes[EG__CLASS_COUNT];
    size_t class_bytes; /* in all of them */
    struct {
        eg__segment *segments;
        eg__block *tree;  /* free blocks by size, then address */
        eg__block *holes; /* a list */
    } kind[EG__KINDS];
};

typedef struct eg__block_user {
    struct eg__block_user *next;
    cudaStream_t stream;
    cudaEvent_t event;
    bool recorded;
} eg__block_user;

struct eg__heap {
    pthread_mutex_t lock;
    int device;
    int64_t limit, reserved, peak, system_calls, live_bytes;
    eg__pool *pools;
    eg__block *pending, **pending_end; /* oldest first */
    int64_t pending_count, pending_look;
    eg__block_user *users; /* unused ones, with their events */
    eg__block *headers;    /* unused ones */
    int header_count;
    struct eg__slab *slabs;
    bool expandable; /* the driver has the calls below and has not refused them yet */
    size_t total, granule;
    struct eg__driver {
        PFN_cuMemGetAllocationGranularity_v10020 granularity;
        PFN_cuMemAddressReserve_v10020 reserve;
        PFN_cuMemAddressFree_v10020 unreserve;
        PFN_cuMemCreate_v10020 create;
        PFN_cuMemRelease_v10020 release;
        PFN_cuMemMap_v10020 map;
        PFN_cuMemUnmap_v10020 unmap;
        PFN_cuMemSetAccess_v10020 set_access;
    } driver;
};

static inline size_t eg__round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* ---- block.c: what needs headers says how many --------------------------------------------- */

/* Zeroed memory of the host, for free(). */
void *eg__host_new(size_t bytes);
/* Sees to it that the next n headers can be had; out of host memory: false. */
bool eg__headers(eg__heap *h, int n);
void eg__headers_free(eg__heap *h);
eg__block *eg__header_new(eg__heap *h);
void eg__header_free(eg__heap *h, eg__block *b);
/* Shortens b to `bytes`; the rest, in the state of b and in no list or tree, follows it. One header. */
eg__block *eg__block_cut(eg__block *b, size_t bytes);
/* b swallows its right neighbour, which is in no list or tree. */
void eg__block_absorb(eg__block *b);
/* Into the tree, merged with its neighbours there. */
void eg__block_put(eg__block *b);
/* The best fit, out of the tree, cut where the rest is of use. One header. */
eg__block *eg__block_fit(eg__pool *p, int kind, size_t bytes);
/* Gives back this part of a block in the tree; returns the block after it. Two headers. */
eg__block *eg__block_hollow(eg__block *b, const char *from, const char *to);

/* ---- segment.c ----------------------------------------------------------------------------- */

/* Looks for the driver's virtual memory calls. */
void eg__driver_find(eg__heap *h);
/* A fresh block, in no list or tree, that together with free neighbours has at least `bytes`; exact: the
 * least that can be taken. NULL: refused, nothing changed. Two headers. */
eg__block *eg__segment_grow(eg__pool *p, int kind, size_t bytes, bool exact);
/* The part of a free block that can be given back alone, not much more than enough; false: none. */
bool eg__segment_spare(const eg__block *b, size_t enough, char **from, char **to);
/* Gives back the memory of a block that is such a part and in no tree; returns what follows it. */
eg__block *eg__segment_give_back(eg__block *b);
/* Ends a segment whatever is in it. */
void eg__segment_free(eg__segment *s);

#endif
