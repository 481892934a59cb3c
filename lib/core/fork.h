/* fork.h - what a child of the process finds. */
#ifndef EGRET_FORK_H
#define EGRET_FORK_H

#include <pthread.h>
#include <stdatomic.h>

#include "lib/core/device.h"

typedef enum eg__fork { EG__FORK_BEFORE, EG__FORK_PARENT, EG__FORK_CHILD } eg__fork;

/* Forks between the first process and this one: what was made in an ancestor, threads above all, has another
 * number. */
uint32_t eg__forks(void);

/* Once, before anything is locked. What it registers goes with the library when that is unloaded. */
void eg__forks_watch(void);

/* A lock is held over a fork, so that what it guards is whole in the child. */
static inline void eg__fork_lock(pthread_mutex_t *lock, eg__fork when)
{
    if (when == EG__FORK_BEFORE) {
        pthread_mutex_lock(lock);
    } else {
        pthread_mutex_unlock(lock);
    }
}

/* A part of the library that the core does not know, from when it is first used: what it does around a fork, and when
 * the library ends. Static; either may be NULL. To be joined before a lock of the part is taken. */
typedef struct eg__part {
    void (*fork)(eg__fork when);
    void (*end)(void);
    struct eg__part *next;
    _Atomic bool joined;
} eg__part;
void eg__part_join(eg__part *part);
void eg__parts_end(void);

/* Each file's own; called before a fork in the order in which locks are taken, after it the other way round. */
void eg__devices_fork(eg__fork when);
void eg__headers_fork(eg__fork when);
void eg__live_fork(eg__fork when);
void eg__threads_fork(eg__fork when);
void eg__alloc_fork(eg__fork when);
void eg__workers_fork(eg__fork when);
void eg__libraries_fork(eg__fork when);
void eg__log_fork(eg__fork when);

/* The engine of devices that the parent opened: it refuses in words, and frees nothing. */
const eg__engine *eg__lost_engine(void);
bool eg__is_lost(const eg_device *d);
eg_status eg__lost(const char *op);

#endif
