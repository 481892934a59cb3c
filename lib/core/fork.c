/* fork.c - a child of the process has one thread, the one that forked; what was the others' is lost. */
#include "lib/core/fork.h"

static void (*const parts[])(eg__fork) = {
    eg__devices_fork, eg__profile_fork, eg__packs_fork, eg__fft_fork,
    eg__headers_fork, eg__live_fork, eg__threads_fork, eg__alloc_fork, eg__workers_fork, eg__libraries_fork,
    eg__log_fork,
};

static _Atomic uint32_t forks;

uint32_t eg__forks(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

static void before(void)
{
    for (int i = 0; i < EG__COUNT(parts); i++) {
        parts[i](EG__FORK_BEFORE);
    }
}

static void after(eg__fork when)
{
    for (int i = EG__COUNT(parts); i-- > 0;) {
        parts[i](when);
    }
}

static void in_parent(void)
{
    after(EG__FORK_PARENT);
}

static void in_child(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
    after(EG__FORK_CHILD);
}

void eg__forks_watch(void)
{
    pthread_atfork(before, in_parent, in_child);
}
