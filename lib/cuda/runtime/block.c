/* block.c - what is known of blocks, on the host since the host cannot touch what is on the device: their
 * headers, their order in a segment, and the tree of free ones. */
#include <stdint.h>
#include <stdlib.h>

#include "lib/cuda/runtime/heap.h"

enum { LARGE_REST = 64 << 10 }; /* a large block keeps what it has more than asked for below this */

/* ---- host memory --------------------------------------------------------------------------- */

typedef struct eg__slab {
    struct eg__slab *next;
    eg__block headers[64];
} eg__slab;

void *eg__host_new(size_t bytes)
{
    return eg__fail_injected() ? NULL : calloc(1, bytes);
}

bool eg__headers(eg__heap *h, int n)
{
    if (h->header_count < n) {
        eg__slab *s = eg__host_new(sizeof *s);
        if (!s) {
            return false;
        }
        s->next = h->slabs;
        h->slabs = s;
        for (size_t i = 0; i < sizeof s->headers / sizeof *s->headers; i++) {
            eg__header_free(h, &s->headers[i]);
        }
    }
    return true;
}

void eg__headers_free(eg__heap *h)
{
    while (h->slabs) {
        eg__slab *next = h->slabs->next;
        free(h->slabs);
        h->slabs = next;
    }
}

eg__block *eg__header_new(eg__heap *h)
{
    eg__block *b = h->headers;
    h->headers = b->next;
    h->header_count--;
    return b;
}

void eg__header_free(eg__heap *h, eg__block *b)
{
    b->next = h->headers;
    h->headers = b;
    h->header_count++;
}

/* ---- the tree: by size, then address; random ranks keep it flat ---------------------------- */

static inline bool before(const eg__block *a, const eg__block *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->data < b->data;
}

static inline uint64_t rank(const eg__block *b)
{
    return (uint64_t)(uintptr_t)b * UINT64_C(0x9e3779b97f4a7c15);
}

static void tree_insert(eg__block **at, eg__block *b)
{
    while (*at && rank(*at) > rank(b)) {
        at = &(*at)->link[before(*at, b)];
    }
    eg__block *t = *at, **less = &b->link[0], **more = &b->link[1];
    *at = b;
    while (t) {
        if (before(t, b)) {
            *less = t;
            less = &t->link[1];
            t = *less;
        } else {
            *more = t;
            more = &t->link[0];
            t = *more;
        }
    }
    *less = *more = NULL;
}

static void tree_remove(eg__block **at, const eg__block *b)
{
    while (*at != b) {
        at = &(*at)->link[before(*at, b)];
    }
    eg__block *less = b->link[0], *more = b->link[1];
    while (less && more) {
        if (rank(less) > rank(more)) {
            *at = less;
            at = &less->link[1];
            less = *at;
        } else {
            *at = more;
            at = &more->link[0];
            more = *at;
        }
    }
    *at = less ? less : more;
}

/* The smallest block of at least `bytes`, the lowest of several. */
static eg__block *tree_find(eg__block *t, size_t bytes)
{
    eg__block *best = NULL;
    while (t) {
        bool fits = t->bytes >= bytes;
        best = fits ? t : best;
        t = t->link[!fits];
    }
    return best;
}

static eg__block **tree_of(const eg__block *b)
{
    return &b->pool->kind[b->segment->kind].tree;
}

/* ---- blocks -------------------------------------------------------------------------------- */

eg__block *eg__block_cut(eg__block *b, size_t bytes)
{
    eg__block *rest = eg__header_new(b->pool->heap);
    *rest = (eg__block){.data = b->data + bytes,
                        .pool = b->pool,
                        .bytes = b->bytes - bytes,
                        .state = b->state,
                        .prev = b,
                        .next = b->next,
                        .segment = b->segment};
    if (rest->next) {
        rest->next->prev = rest;
    }
    b->next = rest;
    b->bytes = bytes;
    return rest;
}

void eg__block_absorb(eg__block *b)
{
    eg__block *gone = b->next;
    b->bytes += gone->bytes;
    b->next = gone->next;
    if (b->next) {
        b->next->prev = b;
    }
    eg__header_free(b->pool->heap, gone);
}

void eg__block_put(eg__block *b)
{
    if (b->next && b->next->state == EG__BLOCK_FREE) {
        tree_remove(tree_of(b), b->next);
        eg__block_absorb(b);
    }
    if (b->prev && b->prev->state == EG__BLOCK_FREE) {
        b = b->prev;
        tree_remove(tree_of(b), b);
        eg__block_absorb(b);
    }
    b->state = EG__BLOCK_FREE;
    tree_insert(tree_of(b), b);
}

eg__block *eg__block_fit(eg__pool *p, int kind, size_t bytes)
{
    eg__block *b = tree_find(p->kind[kind].tree, bytes);
    if (b) {
        tree_remove(&p->kind[kind].tree, b);
        if (b->bytes - bytes >= (kind == EG__SMALL ? EG__BLOCK_UNIT : LARGE_REST)) {
            tree_insert(&p->kind[kind].tree, eg__block_cut(b, bytes));
        }
    }
    return b;
}

eg__block *eg__block_hollow(eg__block *b, const char *from, const char *to)
{
    eg__block **tree = tree_of(b);
    tree_remove(tree, b);
    if (b->data < from) {
        eg__block *front = b;
        b = eg__block_cut(b, (size_t)(from - b->data));
        tree_insert(tree, front);
    }
    if (b->data + b->bytes > to) {
        tree_insert(tree, eg__block_cut(b, (size_t)(to - b->data)));
    }
    return eg__segment_give_back(b);
}
