/* cache.h - what a net remembers of the rows it decodes, by owner: modules name theirs by their addresses. */
#ifndef EGRET_NN_DECODE_CACHE_H
#define EGRET_NN_DECODE_CACHE_H

#include <egret/nn/decode.h>

#include "lib/ops/dispatch.h"

/* An owner's place: NULL and a user's name, or a module and a word. */
typedef struct eg__cache_key {
    const void *owner;
    const char *name;
} eg__cache_key;

eg_tensor *eg__cache_get(const eg_cache *c, eg__cache_key key);
/* As eg_cache_put; held: eg_cache_hold. */
eg_status eg__cache_put(eg_cache *c, eg__cache_key key, eg_tensor *t, bool held);
eg_tensor *eg__cache_append(eg_cache *c, eg__cache_key key, eg_tensor *t, int axis);

/* eg_cache_select of checked rows. `within`: each is a row of the same sentence's, so that what is held stays. */
eg_status eg__cache_select(eg_cache *c, const int64_t *rows, int64_t n, bool within);
/* Rows of the tensors; -1: there is none. */
int64_t eg__cache_rows(const eg_cache *c);

#endif
