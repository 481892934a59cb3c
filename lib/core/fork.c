/* fork.c - a child of the process has one thread, the one that forked; what was the others' is lost. */
#include "lib/core/fork.h"

/* ---- parts that the core does not know -------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock; /* held over a fork, so that none comes in between */
    eg__part *first;
} parts = {.lock = PTHREAD_MUTEX_INITIALIZER};

void eg__part_join(eg__part *part)
{
    if (likely(atomic_load_explicit(&part->joined, memory_order_acquire))) {
        return;
    }
    pthread_mutex_lock(&parts.lock);
    if (!atomic_load(&part->joined)) {
        part->next = parts.first;
        parts.first = part;
        atomic_store_explicit(&part->joined, true, memory_order_release);
    }
    pthread_mutex_unlock(&parts.lock);
}

void eg__parts_end(void)
{
    for (eg__part *part = parts.first; part; part = part->next) {
        if (part->end) {
            part->end();
        }
    }
}

/* Their locks are not taken inside of each other, so their order does not matter. */
static void parts_fork(eg__fork when)
{
    if (when == EG__FORK_BEFORE) {
        pthread_mutex_lock(&parts.lock);
    }
    for (eg__part *part = parts.first; part; part = part->next) {
        if (part->fork) {
            part->fork(when);
        }
    }
    if (when != EG__FORK_BEFORE) {
        pthread_mutex_unlock(&parts.lock);
    }
}

/* ---- forks ------------------------------------------------------------------------------------------ */

static void (*const core[])(eg__fork) = {
    eg__devices_fork, parts_fork,       eg__headers_fork,   eg__live_fork, eg__threads_fork,
    eg__alloc_fork,   eg__workers_fork, eg__libraries_fork, eg__log_fork,
};

static _Atomic uint32_t forks;

uint32_t eg__forks(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

static void before(void)
{
    for (int i = 0; i < EG__COUNT(core); i++) {
        core[i](EG__FORK_BEFORE);
    }
}

static void after(eg__fork when)
{
    for (int i = EG__COUNT(core); i-- > 0;) {
        core[i](when);
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
