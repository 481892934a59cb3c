/* pack.h - rearranged copies of weights. They hang on the storage they were made from: they serve as long
 * as its version stands, their memory is reused for the next version, and they go when the storage goes.
 * Memory that callers wrapped is never remembered: it may change without telling. */
#ifndef EGRET_PACK_H
#define EGRET_PACK_H

#include "lib/core/tensor.h"

typedef struct eg__pack {
    struct eg__pack *next;
    void *data; /* 64-byte aligned */
    size_t bytes;
    uint64_t used;    /* when last asked for */
    uint32_t version; /* of the storage it was made from */
    int users;        /* kernels reading or filling it */
    uint16_t cls;
    uint16_t nkey;
    bool full;
    int64_t key[];
} eg__pack;

/* The copy of storage s that `key` describes (geometry in s, target layout), `bytes` long. If it is not
 * `full`, the caller fills data and says eg__pack_filled. NULL: no memory or not to be remembered, with
 * nothing on record; work without. */
eg__pack *eg__pack_get(eg__thread *T, eg__storage *s, const int64_t *key, int nkey, size_t bytes);
void eg__pack_filled(eg__pack *p);
/* The kernel is done with it. */
void eg__pack_put(eg__pack *p);

/* Counts one more use of the storage in its present version, as it is (way 0) or transposed (way 1), and
 * says whether there were so many that keeping a packed copy pays; it does not beside the other way's. */
bool eg__pack_pays(eg__storage *s, int way);

#endif
