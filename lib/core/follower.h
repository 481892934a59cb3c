/* follower.h - who is told of each op of a thread after it ran, under EG__MODE_FOLLOW. */
#ifndef EGRET_CORE_FOLLOWER_H
#define EGRET_CORE_FOLLOWER_H

#include "lib/core/op.h"

typedef struct eg__follower {
    /* A finished call with the inputs that were given. What it returns is the call's status. */
    eg_status (*call)(struct eg__follower *f, const eg__call *c, eg_tensor *const *in);
    /* A tensor is about to be changed in place. */
    eg_status (*write)(struct eg__follower *f, const eg_tensor *x, const char *name);
} eg__follower;

#endif
