/* follower.h - who is told of each op of a thread after it ran, under EG__MODE_FOLLOW. */
#ifndef EGRET_CORE_FOLLOWER_H
#define EGRET_CORE_FOLLOWER_H

#include "lib/core/op.h"

typedef struct eg__follower {
    /* A finished call with the inputs that were given. What it returns is the call's status. */
    eg_status (*call)(struct eg__follower *f, const eg__call *c, eg_tensor *const *in);
    /* A tensor is about to be changed in place. */
    eg_status (*write)(struct eg__follower *f, const eg_tensor *x, const char *name);
    /* The function of that name is about to read its elements on the host. */
    eg_status (*read)(struct eg__follower *f, const eg_tensor *t, const char *name);
} eg__follower;

/* Returns whether the ops of this thread are followed. Functions are then composed of ops where they have a choice. */
static inline bool eg__followed(void)
{
    return unlikely(eg__mode(eg__thread_get()) & EG__MODE_FOLLOW);
}

/* Before elements are read from which something other than a message or a size is made. */
static inline eg_status eg__follow_read(const eg_tensor *t, const char *name)
{
    eg__follower *f = eg__followed() ? eg__thread_get()->follower : NULL;
    return f ? f->read(f, t, name) : EG_OK;
}

#endif
