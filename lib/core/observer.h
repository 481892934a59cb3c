/* observer.h - who looks on while ops run: a profile, under EG__MODE_PROFILE. */
#ifndef EGRET_CORE_OBSERVER_H
#define EGRET_CORE_OBSERVER_H

#include "lib/core/op.h"

/* Work on a device that is no op's: copies and fills. */
typedef struct eg__work {
    const char *what; /* static */
    eg_device *device;
    int64_t bytes, start;
    struct eg__timer *timer;
} eg__work;

typedef struct eg__observer {
    /* Runs the kernel of a located call. */
    eg_status (*kernel)(const eg__call *c, eg__kernel *k);
    /* Around work. */
    eg__work (*begin)(eg__thread *T, eg_device *d, const char *what, int64_t bytes);
    void (*end)(eg__thread *T, const eg__work *w);
} eg__observer;

/* Before the first thread has the mode; the same from then on. */
void eg__observe(const eg__observer *by);
const eg__observer *eg__observing(void);

#endif
