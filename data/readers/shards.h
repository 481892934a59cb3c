/* shards.h - a set of files as one source, for readers that offer it among their options. */
#ifndef EGRET_SHARDS_H
#define EGRET_SHARDS_H

#include <egret/data/readers.h>

#include "data/readers/stream.h"

typedef struct eg__shards_plan {
    const char *op; /* for words */
    eg_open_fn open;
    void *user;
    void (*free_user)(void *); /* NULL: it is the caller's */
    bool own;                  /* open is the user's own function */
} eg__shards_plan;

/* Takes over user, if there is a free_user, also when it fails. */
eg_dataset *eg__shards_new(const eg__shards_plan *p, const char *pattern, const eg_shards_options *o);

#endif
