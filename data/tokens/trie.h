/* trie.h - texts to numbers, as a double array: the longest of many texts that begins here is found in one walk. */
#ifndef EGRET_TOKENS_TRIE_H
#define EGRET_TOKENS_TRIE_H

#include "lib/core/error.h"

typedef struct eg__trie_node {
    int32_t base, check, value; /* the child by byte b is base + b, if it has this node as check; value -1: none */
} eg__trie_node;

typedef struct eg__trie {
    eg__trie_node *node; /* the root is 0; 256 more than `size`, so that no step has to look */
    int64_t size;
} eg__trie;

typedef struct eg__trie_key {
    const uint8_t *s;
    uint32_t bytes;
    int32_t value; /* not negative */
} eg__trie_key;

/* Sorts the texts; of one that is there more than once the least value holds. */
eg_status eg__trie_build(eg__trie *t, const char *op, eg__trie_key *keys, int64_t n);
void eg__trie_free(eg__trie *t);

/* The node behind one more byte, -1: there is none. */
static inline int32_t eg__trie_step(const eg__trie *t, int32_t node, uint8_t b)
{
    const int32_t next = t->node[node].base + b;
    return t->node[next].check == node ? next : -1;
}

/* The node of a text, -1: none begins so. */
static inline int32_t eg__trie_walk(const eg__trie *t, int32_t node, const void *text, int64_t bytes)
{
    const uint8_t *s = text;
    for (int64_t i = 0; i < bytes && node >= 0; i++) {
        node = eg__trie_step(t, node, s[i]);
    }
    return node;
}

/* The number of a text, -1: it is none of them. */
static inline int32_t eg__trie_find(const eg__trie *t, const void *text, int64_t bytes)
{
    const int32_t node = t->node ? eg__trie_walk(t, 0, text, bytes) : -1;
    return node < 0 ? -1 : t->node[node].value;
}

#endif
