/* subsystem.h - parts of the library that hold something for threads or for the process. Each is told of threads, forks
 * and the end from the file it is in, so that no file has to know them all. */
#ifndef EGRET_CORE_SUBSYSTEM_H
#define EGRET_CORE_SUBSYSTEM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum eg__fork { EG__FORK_BEFORE, EG__FORK_PARENT, EG__FORK_CHILD } eg__fork;

/* Forks between the first process and this one: what was made in an ancestor, threads above all, has another
 * number. */
uint32_t eg__forks(void);

/* A lock is held over a fork, so that what it guards is whole in the child. */
static inline void eg__fork_lock(pthread_mutex_t *lock, eg__fork when)
{
    if (when == EG__FORK_BEFORE) {
        pthread_mutex_lock(lock);
    } else {
        pthread_mutex_unlock(lock);
    }
}

/* The order in which locks are taken, and in which what a thread holds is given back. */
enum {
    EG__ORDER_SCOPES = -2,
    EG__ORDER_DEVICES,
    EG__ORDER_OTHERS, /* 0: theirs are not taken inside of each other */
    EG__ORDER_HEADERS,
    EG__ORDER_LIVE,
    EG__ORDER_THREADS,
    EG__ORDER_SLABS,
    EG__ORDER_ALLOC,
    EG__ORDER_WORKERS,
    EG__ORDER_LIBRARIES,
    EG__ORDER_LOG,
};

struct eg__thread;
typedef struct eg__subsystem {
    int order;
    /* Any may be NULL; of OTHERS these two are not called. */
    void (*thread_begin)(struct eg__thread *T);
    void (*thread_end)(struct eg__thread *T);
    void (*fork)(eg__fork when);
    void (*end)(void); /* the library is unloaded, or the process ends; OTHERS first */
    struct eg__subsystem *next;
    _Atomic bool joined;
} eg__subsystem;

/* From when it is first used, before a lock of it is taken. Static. Those of the core, of another order than OTHERS,
 * join when the library is loaded: also where it is linked statically before the program's own constructors, which
 * may call it. */
void eg__subsystem_join(eg__subsystem *s);
#define EG__SUBSYSTEM_OF_CORE(...)                                     \
    __attribute__((constructor(101))) static void subsystem_join(void) \
    {                                                                  \
        static eg__subsystem s = {__VA_ARGS__};                        \
        eg__subsystem_join(&s);                                        \
    }

void eg__subsystems_thread_begin(struct eg__thread *T);
void eg__subsystems_thread_end(struct eg__thread *T);
void eg__subsystems_end(void);

#endif
