/* scope.c - threads and their scopes: who owns what an op returns. */
#include <pthread.h>
#include <stdlib.h>

#include "lib/core/alloc.h"
#include "lib/core/device.h"
#include "lib/core/fork.h"
#include "lib/core/recorder.h"
#include "lib/core/workers.h"

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

/* Shared by all threads for which there was no memory: every allocation in it fails. */
static eg__thread dead = {.dead = true, .error = {.op = ""}, .record = &eg__no_record};

/* ---- what scopes own ------------------------------------------------------------------------ */

enum { MANY_TENSORS = 4096 };

/* Twice the room each time, so that a loop that never frees is told of now and then. */
bool eg__own_grow(eg__thread *T, uint32_t n)
{
    while (T->cown - T->nown < n) {
        if (!eg__grow(&T->own, &T->cown, sizeof *T->own)) {
            return false;
        }
        uint32_t held = T->nown - (T->nscopes ? T->scopes[T->nscopes - 1].own : 0);
        if (held >= MANY_TENSORS) {
            eg__log(EG__DEBUG_SCOPE, T->nscopes ? "eg_scope_push" : "egret",
                    "%s holds %u tensors; in a loop, EG_SCOPE { } around its body frees them",
                    T->nscopes ? "the innermost scope" : "the thread, which has no scope open,", held);
        }
    }
    return true;
}

/* ---- threads ------------------------------------------------------------------------------- */

static void release_thread(eg__thread *T)
{
    while (T->nown) {
        eg__unref(T, T->own[--T->nown]);
    }
    T->nscopes = 0;
    if (T->record->by) {
        T->record->by->end(T);
    }
    eg__devices_thread_end(T);
    eg__alloc_thread_end(T);
    eg__headers_thread_end(T);
    free(T->own);
    free(T->scopes);
    T->own = NULL;
    T->scopes = NULL;
    T->cown = T->cscopes = 0;
}

static void thread_exit(void *state)
{
    eg__thread *T = state;
    release_thread(T);
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
    T->device = eg__device_of_threads();
    T->kernels = eg__devices[0]->engine->table(0);
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
    eg__debug_from_environment();
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

void eg__threads_fork(eg__fork when)
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

/* Here, where every program's calls begin: of a static library a program has no more than it calls. */
__attribute__((constructor)) static void library_begin(void)
{
    eg__forks_watch();
    dead.kernels = eg__devices[0]->engine->table(EG__DEBUG_REF);
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
    eg__parts_end();
    eg__devices_end();
    eg__headers_end();
    eg__alloc_end();
    eg__workers_end();
}

eg_memory eg_memory_stats(void)
{
    eg_memory m = {0};
    pthread_mutex_lock(&threads.lock);
    m.live_tensors = threads.past_tensors;
    m.live_bytes = threads.past_bytes;
    for (eg__thread *T = threads.all; T; T = T->next) {
        m.live_tensors += atomic_load_explicit(&T->live_tensors, memory_order_relaxed);
        m.live_bytes += atomic_load_explicit(&T->live_bytes, memory_order_relaxed);
    }
    pthread_mutex_unlock(&threads.lock);
    eg__alloc_stats(&m);
    return m;
}

/* ---- scopes -------------------------------------------------------------------------------- */

eg_scope eg_scope_push(void)
{
    eg__thread *T = eg__thread_get();
    if (unlikely(T->nscopes == T->cscopes) && (T->dead || !eg__grow(&T->scopes, &T->cscopes, sizeof *T->scopes))) {
        eg__no_memory("eg_scope_push", 0);
        return (eg_scope){0, 0};
    }
    T->scopes[T->nscopes] = (eg__scope_state){T->nown, ++T->serial, T->autocast};
    return (eg_scope){++T->nscopes, T->serial};
}

static bool valid(const eg__thread *T, eg_scope s)
{
    return likely(s.depth - 1 < T->nscopes && T->scopes[s.depth - 1].serial == s.serial);
}

static EG__COLD void refuse(eg_scope s)
{
    if (s.depth || eg_last_error()->code == EG_OK) {
        eg__fail(EG_ESTATE, "eg_scope_pop", "this scope is not open: it was popped already");
    }
}

eg_tensor *eg_scope_pop(eg_scope s, eg_tensor *result)
{
    eg__thread *T = eg__thread_get();
    if (!valid(T, s)) {
        refuse(s);
        return NULL;
    }
    if (unlikely(T->record->ntapes)) {
        T->record->by->close(T, s.depth);
    }
    uint32_t low = T->scopes[s.depth - 1].own, n = T->nown;
    T->autocast = T->scopes[s.depth - 1].autocast;
    bool moved = result == NULL;
    T->nscopes = s.depth - 1;
    if (result && unlikely(result->magic != EG__MAGIC)) {
        eg__check(result, "eg_scope_pop", "result");
        result = NULL;
        moved = true;
    }
    while (n > low) {
        eg_tensor *t = T->own[--n];
        if (t == result && !moved) {
            moved = true; /* its reference moves out: nothing to count */
            continue;
        }
        eg__unref(T, t);
    }
    T->nown = low;
    if (!moved) { /* owned further out already, or kept: the outer scope becomes one more owner */
        if (!eg__own_room(T, 1)) {
            eg__no_memory("eg_scope_pop", 0);
            return result;
        }
        eg__ref_inc(&result->refs);
    }
    if (result) {
        eg__own(T, result);
    }
    return result;
}

eg_status eg_scope_pop_n(eg_scope s, eg_tensor *const *results, int n)
{
    eg__thread *T = eg__thread_get();
    if (!valid(T, s)) {
        refuse(s);
        return eg__why();
    }
    if (n < 0 || (n && !results)) {
        eg_scope_pop(s, NULL);
        return n < 0 ? eg__fail(EG_EINVAL, "eg_scope_pop_n", "n is %d, must be 0 or more", n)
                     : eg__null_argument("eg_scope_pop_n", "results");
    }
    for (int i = 0; i < n; i++) {
        if (results[i] && eg__check(results[i], "eg_scope_pop_n", "a result")) {
            eg_scope_pop(s, NULL);
            return eg__why();
        }
    }
    if (!eg__own_room(T, (uint32_t)n)) {
        eg_scope_pop(s, NULL);
        return eg__no_memory("eg_scope_pop_n", 0);
    }
    for (int i = 0; i < n; i++) {
        if (results[i]) {
            eg__ref_inc(&results[i]->refs);
        }
    }
    eg_scope_pop(s, NULL);
    for (int i = 0; i < n; i++) {
        if (results[i]) {
            eg__own(T, results[i]);
        }
    }
    return EG_OK;
}

/* ---- keeping ------------------------------------------------------------------------------- */

eg_tensor *eg_keep(eg_tensor *t)
{
    if (!t || eg__check(t, "eg_keep", "t")) {
        return NULL;
    }
    eg__ref_inc(&t->refs);
    atomic_fetch_add_explicit(&t->kept, 1, memory_order_relaxed);
    return t;
}

/* One keep less, or words. */
static eg_status unkeep(eg_tensor *t, const char *op)
{
    eg_status st = eg__check(t, op, "t");
    if (st) {
        return st;
    }
    uint32_t k = atomic_load_explicit(&t->kept, memory_order_relaxed);
    do {
        if (!k) {
            return eg__fail(EG_ESTATE, op, "the tensor was not kept: %s needs an eg_keep", op);
        }
    } while (!atomic_compare_exchange_weak(&t->kept, &k, k - 1));
    return EG_OK;
}

eg_status eg_release(eg_tensor *t)
{
    if (!t) {
        return EG_OK;
    }
    eg_status st = unkeep(t, "eg_release");
    if (!st) {
        eg__unref(eg__thread_get(), t);
    }
    return st;
}

eg_tensor *eg_scope_adopt(eg_tensor *t)
{
    eg__thread *T = eg__thread_get();
    if (!t) {
        return NULL;
    }
    if (!eg__own_room(T, 1)) {
        return eg__no_memory("eg_scope_adopt", 0), NULL;
    }
    if (unkeep(t, "eg_scope_adopt")) {
        return NULL;
    }
    eg__own(T, t);
    return t;
}
