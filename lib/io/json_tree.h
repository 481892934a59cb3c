/* json_tree.h - the trees of json.h: what json_tree.c, json_make.c and json_write.c share. */
#ifndef EGRET_JSON_TREE_H
#define EGRET_JSON_TREE_H

#include <egret/json.h>

#include "lib/core/tensor.h"

typedef struct eg__json_key {
    const char *text;
    uint32_t bytes, hash;
} eg__json_key;

/* What an array or an object holds. */
typedef struct eg__json_list {
    eg_json **item;
    eg__json_key *key;     /* of objects */
    uint32_t n, room;      /* of both */
    uint32_t *slot, slots; /* number + 1 by hash, a power of two; none in small objects */
} eg__json_list;

/* A tree and its memory, which goes all at once. */
typedef struct eg__json_tree eg__json_tree;

struct eg_json {
    uint8_t kind; /* eg_json_kind */
    bool whole;   /* of numbers: as.whole is it */
    uint16_t depth;
    uint32_t bytes; /* of a text */
    eg__json_tree *tree;
    union {
        bool truth;
        double real;
        int64_t whole;
        const char *text;
        eg__json_list *list;
    } as;
};

/* A new tree, its owner null; NULL with words. */
eg_json *eg__json_new(const char *op);
/* Memory of a tree, NULL without words. */
void *eg__json_room(eg__json_tree *t, size_t bytes);
/* The number of a key, -1: it is not there. */
int64_t eg__json_place(const eg__json_list *l, const char *key, size_t bytes);
/* Makes j an empty array or object. False: out of memory, as everywhere here. */
bool eg__json_open(eg_json *j, bool object);
/* A new value, null, in `in`: under a key, which must stay where it is, in place of what is there; or with NULL behind
 * the last. */
eg_json *eg__json_add(eg_json *in, const char *key, size_t bytes);

#endif
