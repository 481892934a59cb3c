/* hdf5_heap.c - what HDF5 keeps apart from a header when it is much: objects in a heap of blocks that double, found
 * through a tree (HDF5 File Format Specification 3.0: III.G). */
#include "lib/io/hdf5.h"
#include "lib/core/counted.h"

#include <stdlib.h>

typedef struct heap {
    eg__hdf5 *h;
    const eg__hdf5_dense *dense;
    eg__hdf5_visit *visit;
    void *user;
    int id;              /* bytes of an identifier */
    int offset, length;  /* and of the numbers in it */
    int width, start;    /* blocks in a row, and bytes of one in the first, as powers of two */
    int direct;          /* bytes of the largest one without others in it */
    uint64_t root, rows; /* no rows: the root is a block */
} heap;

static eg_status bad(const heap *p)
{
    return eg__hdf5_bad(p->h, "damaged is a heap of");
}

/* The largest power of two that v reaches. */
static int log2_of(uint64_t v)
{
    return 63 - __builtin_clzll(v | 1);
}

static eg_status open_heap(heap *p)
{
    enum { HEAD = 142 };
    eg__hdf5_head k;
    eg_status st = eg__hdf5_look(p->h, p->dense->heap, HEAD, "FRHP", &k);
    eg__hdf5_bytes b = k.b;
    if (st) {
        return st;
    }
    eg__hdf5_take(&b, 1);
    p->id = (int)eg__hdf5_number(&b, 2);
    const uint64_t packed = eg__hdf5_number(&b, 2);
    eg__hdf5_take(&b, 1);
    const uint64_t most = eg__hdf5_number(&b, 4);
    eg__hdf5_take(&b, 96);
    p->width = eg__hdf5_power(eg__hdf5_number(&b, 2));
    p->start = eg__hdf5_power(eg__hdf5_number(&b, 8));
    const uint64_t direct = eg__hdf5_number(&b, 8), bits = eg__hdf5_number(&b, 2);
    p->direct = eg__hdf5_power(direct);
    eg__hdf5_take(&b, 2);
    p->root = eg__hdf5_number(&b, 8);
    p->rows = eg__hdf5_number(&b, 2);
    if (packed) {
        return eg__hdf5_bad(p->h, "a heap that is packed, which is not read, has");
    }
    p->offset = (int)(bits + 7) / 8;
    p->length = log2_of(eg__min(direct, most)) / 8 + 1;
    return bits > 64 || p->width < 0 || p->start < 0 || p->start > 32 || p->direct < p->start || p->direct > 32 ||
                   p->id < 1 + p->offset + p->length
               ? bad(p)
               : EG_OK;
}

/* Where the object at that place of the heap is in the file. All blocks of a row are of one size, of the first two rows
 * of the same, then each time of twice that. */
static eg_status find(const heap *p, uint64_t place, uint64_t *at)
{
    uint64_t block = p->root, rows = p->rows;
    eg_status st = EG_OK;
    while (rows && !st) {
        const int first = p->start + p->width;
        const uint64_t row = place >> first ? (uint64_t)(log2_of(place) - first + 1) : 0;
        const int size = p->start + (row ? (int)row - 1 : 0);
        if (row >= rows || size > 56) {
            return bad(p);
        }
        const uint64_t in = row ? place - (UINT64_C(1) << log2_of(place)) : place;
        const uint64_t entry = (row << p->width) + (in >> size);
        eg__hdf5_head k;
        st = eg__hdf5_look(p->h, block, 4, "FHIB", &k);
        st = st ? st : eg__hdf5_look(p->h, block + 13 + (uint64_t)p->offset + 8 * entry, 8, NULL, &k);
        block = eg__hdf5_number(&k.b, 8);
        place = in & ((UINT64_C(1) << size) - 1);
        rows = size > p->direct ? (uint64_t)eg__max(size - first + 1, 0) : 0;
        st = !st && size > p->direct && !rows ? bad(p) : st;
    }
    *at = block + place;
    return !st && block == EG__HDF5_NOWHERE ? bad(p) : st;
}

static eg_status visit_record(void *user, eg__hdf5_bytes record)
{
    const heap *p = user;
    eg__hdf5_take(&record, (uint64_t)p->dense->skip);
    eg__hdf5_bytes id = {eg__hdf5_take(&record, (uint64_t)p->id), p->id, false}, object;
    if (record.ended) {
        return bad(p);
    }
    if (eg__hdf5_number(&id, 1) & 0xf0) { /* not in the blocks, or of another version */
        return EG_OK;
    }
    const uint64_t place = eg__hdf5_number(&id, p->offset), size = eg__hdf5_number(&id, p->length);
    uint64_t at = 0;
    eg_status st = find(p, place, &at);
    uint8_t *all = st ? NULL : eg__hdf5_load(p->h, at, size, NULL, &object);
    st = all ? p->visit(p->user, object) : eg__why();
    eg__counted_free(all);
    return st;
}

eg_status eg__hdf5_objects(eg__hdf5 *h, const eg__hdf5_dense *d, eg__hdf5_visit *visit, void *user)
{
    heap p = {.h = h, .dense = d, .visit = visit, .user = user};
    eg_status st = open_heap(&p);
    return st ? st : eg__hdf5_tree2(h, d->tree, d->type, visit_record, &p);
}
