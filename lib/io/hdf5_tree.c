/* hdf5_tree.c - B-trees of HDF5, of both versions (HDF5 File Format Specification 3.0: III.A). */
#include "lib/io/hdf5.h"
#include "lib/core/counted.h"

#include <stdlib.h>

enum { MOST_LEVELS = 16 };

static eg_status bad(const eg__hdf5 *h)
{
    return eg__hdf5_bad(h, "damaged is a tree of");
}

/* ---- version 1 ------------------------------------------------------------------------------------------ */

typedef struct tree {
    eg__hdf5 *h;
    int type, key; /* what it is for, and bytes of a key */
    eg__hdf5_visit *visit;
    void *user;
} tree;

/* `level`: how many are below the node; -1: as many as it says. */
static eg_status walk(const tree *t, uint64_t at, int level)
{
    enum { HEAD = 24 };
    eg__hdf5_head k;
    eg__hdf5_bytes b;
    eg_status st = eg__hdf5_look(t->h, at, HEAD, "TREE", &k);
    const int type = (int)eg__hdf5_number(&k.b, 1), own = (int)eg__hdf5_number(&k.b, 1);
    const uint64_t n = eg__hdf5_number(&k.b, 2);
    if (st || type != t->type || own > MOST_LEVELS || (level >= 0 && own != level)) {
        return st ? st : bad(t->h);
    }
    uint8_t *all = eg__hdf5_load(t->h, at + HEAD, n * (uint64_t)(t->key + 8), NULL, &b);
    st = all ? EG_OK : eg__why();
    for (uint64_t i = 0; i < n && !st; i++) {
        eg__hdf5_bytes record = {eg__hdf5_take(&b, (uint64_t)(t->key + 8)), t->key + 8, false}, child = record;
        eg__hdf5_take(&child, (uint64_t)t->key);
        st = own ? walk(t, eg__hdf5_number(&child, 8), own - 1) : t->visit(t->user, record);
    }
    eg__counted_free(all);
    return st;
}

eg_status eg__hdf5_tree(eg__hdf5 *h, uint64_t at, int type, int key, eg__hdf5_visit *visit, void *user)
{
    const tree t = {h, type, key, visit, user};
    return walk(&t, at, -1);
}

/* ---- version 2 ------------------------------------------------------------------------------------------ */

typedef struct tree2 {
    eg__hdf5 *h;
    uint64_t node;               /* bytes of one */
    int record;                  /* bytes of one */
    int count;                   /* bytes that tell how many of them a node has */
    int counts[MOST_LEVELS + 1]; /* bytes that tell how many of them are in and below a node at that level */
    eg__hdf5_visit *visit;
    void *user;
} tree2;

/* Bytes of the numbers up to v. */
static int width(uint64_t v)
{
    int n = 1;
    while (v >>= 8) {
        n++;
    }
    return n;
}

/* Nodes are all of one size, from which it follows how many records they may have, and from that how wide the numbers
 * are that tell how many they have. */
static bool measure(tree2 *t, int depth)
{
    enum { AROUND = 10 }; /* the word, version, type, checksum */
    uint64_t all = 0;
    for (int level = 0; level <= depth; level++) {
        const uint64_t pointer = level ? (uint64_t)(8 + t->count + t->counts[level - 1]) : 0;
        if (t->node < AROUND + pointer || !t->record) {
            return false;
        }
        const uint64_t own = (t->node - AROUND - pointer) / ((uint64_t)t->record + pointer);
        if (!own || __builtin_mul_overflow(all, own + 1, &all) || __builtin_add_overflow(all, own, &all)) {
            return false;
        }
        t->count = level ? t->count : width(own);
        t->counts[level] = level ? width(all) : 0;
    }
    return true;
}

static eg_status visit_record(const tree2 *t, eg__hdf5_bytes *records)
{
    const eg__hdf5_bytes r = {eg__hdf5_take(records, (uint64_t)t->record), t->record, false};
    return records->ended ? bad(t->h) : t->visit(t->user, r);
}

/* A node of n records, which in one that is no leaf are between what is below. */
static eg_status walk2(const tree2 *t, uint64_t at, uint64_t n, int level)
{
    eg__hdf5_bytes b;
    uint8_t *all = eg__hdf5_load(t->h, at, t->node, level ? "BTIN" : "BTLF", &b);
    eg_status st = !all ? eg__why() : n > t->node ? bad(t->h) : EG_OK;
    eg__hdf5_take(&b, 2);
    eg__hdf5_bytes below = b;
    eg__hdf5_take(&below, n * (uint64_t)t->record);
    for (uint64_t i = 0; i < n + (level > 0) && !st; i++) {
        if (level) {
            const uint64_t child = eg__hdf5_number(&below, 8), count = eg__hdf5_number(&below, t->count);
            eg__hdf5_take(&below, (uint64_t)t->counts[level - 1]);
            st = below.ended ? bad(t->h) : walk2(t, child, count, level - 1);
        }
        st = st || i == n ? st : visit_record(t, &b);
    }
    eg__counted_free(all);
    return st;
}

eg_status eg__hdf5_tree2(eg__hdf5 *h, uint64_t at, int type, eg__hdf5_visit *visit, void *user)
{
    eg__hdf5_head k;
    eg_status st = eg__hdf5_look(h, at, 34, "BTHD", &k);
    eg__hdf5_bytes b = k.b;
    eg__hdf5_take(&b, 1);
    const int own = (int)eg__hdf5_number(&b, 1);
    tree2 t = {
        .h = h, .node = eg__hdf5_number(&b, 4), .record = (int)eg__hdf5_number(&b, 2), .visit = visit, .user = user};
    const int depth = (int)eg__hdf5_number(&b, 2);
    eg__hdf5_take(&b, 2);
    const uint64_t root = eg__hdf5_number(&b, 8), n = eg__hdf5_number(&b, 2);
    if (st || own != type || depth > MOST_LEVELS || !measure(&t, depth)) {
        return st ? st : bad(h);
    }
    return root == EG__HDF5_NOWHERE ? EG_OK : walk2(&t, root, n, depth);
}
