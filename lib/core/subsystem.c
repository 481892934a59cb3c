/* subsystem.c - tells the parts of the library of threads, forks and the end. A child of the process has one thread,
 * the one that forked; what was the others' is lost. */
#include "lib/core/subsystem.h"

/* In the order of `order`; complete before there is a second thread. */
static eg__subsystem *core;

static struct {
    pthread_mutex_t lock; /* held over a fork, so that none comes in between */
    eg__subsystem *first;
} others = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void insert(eg__subsystem **at, eg__subsystem *s)
{
    while (*at && (*at)->order < s->order) {
        at = &(*at)->next;
    }
    s->next = *at;
    *at = s;
}

void eg__subsystem_join(eg__subsystem *s)
{
    if (s->order != EG__ORDER_OTHERS) {
        insert(&core, s);
        return;
    }
    if (atomic_load_explicit(&s->joined, memory_order_acquire)) {
        return;
    }
    pthread_mutex_lock(&others.lock);
    if (!atomic_load(&s->joined)) {
        insert(&others.first, s);
        atomic_store_explicit(&s->joined, true, memory_order_release);
    }
    pthread_mutex_unlock(&others.lock);
}

void eg__subsystems_thread_begin(struct eg__thread *T)
{
    for (eg__subsystem *s = core; s; s = s->next) {
        if (s->thread_begin) {
            s->thread_begin(T);
        }
    }
}

void eg__subsystems_thread_end(struct eg__thread *T)
{
    for (eg__subsystem *s = core; s; s = s->next) {
        if (s->thread_end) {
            s->thread_end(T);
        }
    }
}

static void end(eg__subsystem *s)
{
    for (; s; s = s->next) {
        if (s->end) {
            s->end();
        }
    }
}

void eg__subsystems_end(void)
{
    end(others.first);
    end(core);
}

/* ---- forks ------------------------------------------------------------------------------------------ */

static _Atomic uint32_t forks;

uint32_t eg__forks(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

/* Those from s on, below the order `until`, from the last to the first. */
static void tell_back(eg__subsystem *s, int until, eg__fork when)
{
    if (s && s->order < until) {
        tell_back(s->next, until, when);
        if (s->fork) {
            s->fork(when);
        }
    }
}

static eg__subsystem *tell(eg__subsystem *s, int until)
{
    for (; s && s->order < until; s = s->next) {
        if (s->fork) {
            s->fork(EG__FORK_BEFORE);
        }
    }
    return s;
}

static void before(void)
{
    eg__subsystem *rest = tell(core, EG__ORDER_OTHERS);
    pthread_mutex_lock(&others.lock);
    tell(others.first, INT32_MAX);
    tell(rest, INT32_MAX);
}

static void after(eg__fork when)
{
    eg__subsystem *rest = core;
    while (rest && rest->order < EG__ORDER_OTHERS) {
        rest = rest->next;
    }
    tell_back(rest, INT32_MAX, when);
    tell_back(others.first, INT32_MAX, when);
    pthread_mutex_unlock(&others.lock);
    tell_back(core, EG__ORDER_OTHERS, when);
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

/* What this registers goes with the library when that is unloaded. */
__attribute__((constructor)) static void watch(void)
{
    pthread_atfork(before, in_parent, in_child);
}
