/* thread.c - what a thread knows, from its first call to its end. */
#include "lib/core/thread.h"

#include <pthread.h>
#include <stdlib.h>

#include "lib/core/subsystem.h"

_Thread_local eg__thread *eg__self __attribute__((tls_model("initial-exec")));

static struct {
    pthread_mutex_t lock;
    pthread_key_t key;
    bool key_made;
    eg__thread *all, *lost;           /* lost: of threads the parent of this process has */
    int64_t past_tensors, past_bytes; /* what ended threads counted */
    uint32_t mode;                    /* what new ones begin with */
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER};

eg__recording eg__no_record;

/* Shared by all threads for which there was no memory: every allocation in it fails. Its header list counts as full, so
 * that a header freed by such a thread goes to the pool. */
static eg__thread dead = {
    .dead = true, .error = {.op = ""}, .record = &eg__no_record, .headers.count = EG__HEADER_BATCH};

static void thread_exit(void *state)
{
    eg__thread *T = state;
    eg__subsystems_thread_end(T);
    pthread_mutex_lock(&threads.lock);
    threads.past_tensors += T->live_tensors;
    threads.past_bytes += T->live_bytes;
    if (T->prev) {
        T->prev->next = T->next;
    } else {
        threads.all = T->next;
    }
    if (T->next) {
        T->next->prev = T->prev;
    }
    pthread_mutex_unlock(&threads.lock);
    if (eg__self == T) {
        eg__self = NULL;
    }
    free(T);
}

eg__thread *eg__thread_start(void)
{
    eg__thread *T = calloc(1, sizeof *T);
    if (!T) {
        return &dead;
    }
    T->error.op = "";
    T->serial = 1;
    T->record = &eg__no_record;
    pthread_mutex_lock(&threads.lock);
    if (!threads.key_made) {
        threads.key_made = pthread_key_create(&threads.key, thread_exit) == 0;
    }
    T->next = threads.all;
    if (T->next) {
        T->next->prev = T;
    }
    threads.all = T;
    T->mode = threads.mode;
    pthread_mutex_unlock(&threads.lock);
    if (threads.key_made) {
        pthread_setspecific(threads.key, T);
    }
    eg__self = T;
    eg__subsystems_thread_begin(T);
    return T;
}

/* What the threads that stayed with the parent own is theirs for ever: it is counted and not touched. */
static void lose_others(void)
{
    for (eg__thread *T = threads.all, *next; T; T = next) {
        next = T->next;
        if (T != eg__self) {
            threads.past_tensors += T->live_tensors;
            threads.past_bytes += T->live_bytes;
            T->next = threads.lost;
            threads.lost = T;
        }
    }
    threads.all = eg__self && !eg__self->dead ? eg__self : NULL;
    if (threads.all) {
        eg__self->prev = eg__self->next = NULL;
    }
}

static void around_fork(eg__fork when)
{
    if (when == EG__FORK_CHILD) {
        lose_others();
    }
    eg__fork_lock(&threads.lock, when);
}

void eg__threads_mode(uint32_t bits, bool set)
{
    pthread_mutex_lock(&threads.lock);
    threads.mode = set ? threads.mode | bits : threads.mode & ~bits;
    for (eg__thread *T = threads.all; T; T = T->next) {
        if (set) {
            atomic_fetch_or(&T->mode, bits);
        } else {
            atomic_fetch_and(&T->mode, ~bits);
        }
    }
    pthread_mutex_unlock(&threads.lock);
}

void eg_thread_end(void)
{
    eg__thread *T = eg__self;
    if (T) {
        if (threads.key_made) {
            pthread_setspecific(threads.key, NULL);
        }
        thread_exit(T);
    }
}

/* Once all subsystems of the core have joined, and before there are threads that would share it. */
__attribute__((constructor(102))) static void dead_begins(void)
{
    eg__subsystems_thread_begin(&dead);
}

/* The library is being unloaded, or the process ends: leave no thread, key or byte behind. While other
 * threads still hold state (a process that exits under them) nothing is pulled from under their feet. */
__attribute__((destructor)) static void library_end(void)
{
    eg_thread_end();
    if (threads.all) {
        return;
    }
    if (threads.key_made) {
        pthread_key_delete(threads.key);
    }
    eg__subsystems_end();
}

EG__SUBSYSTEM_OF_CORE(.order = EG__ORDER_THREADS, .fork = around_fork)

void eg__threads_count(int64_t *tensors, int64_t *bytes)
{
    pthread_mutex_lock(&threads.lock);
    *tensors += threads.past_tensors;
    *bytes += threads.past_bytes;
    for (eg__thread *T = threads.all; T; T = T->next) {
        *tensors += atomic_load_explicit(&T->live_tensors, memory_order_relaxed);
        *bytes += atomic_load_explicit(&T->live_bytes, memory_order_relaxed);
    }
    pthread_mutex_unlock(&threads.lock);
}
