/* workers.c - a caller and its workers. One word, changed as a whole, says which call it is and how many numbers it
 * has; whoever begins a number marks it with the call. Each takes its own number first, so that what it left in its
 * cache serves it again, then what others did not begin. A thread that took a number is waited for: what it reads about
 * the call holds. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

#include "lib/core/base.h"
#include "lib/core/subsystem.h"
#include "lib/core/workers.h"

enum { MOST_WORKERS = 1023 };

/* How long a thread looks for work, and its caller for the end of it, before it sleeps. To wake one takes longer than
 * many an op, so as long as nobody else wants the processor it goes on looking for the next one. Who lost time to
 * others, so much at once or that share of a window, for a while looks no longer than about a wake takes. */
static const double patient = 2e-3, polite = 10e-6, window = 50e-3, at_once = 5e-3, share = 0.1, noticeable = 0.2e-3,
                    while_polite = 0.1;

enum { LINE = 64 }; /* what one thread writes and another reads is not beside what it does not need */

static struct {
    pthread_mutex_t owner;                /* held by the caller that has the workers */
    _Alignas(LINE) _Atomic uint64_t work; /* calls so far << 16 | numbers of this one */
    _Atomic(eg__member_fn *) fn;
    _Atomic(void *) ctx;
    _Alignas(LINE) _Atomic int done;    /* numbers */
    _Alignas(LINE) _Atomic int arrived; /* at the barrier */
    _Atomic uint32_t gone;              /* barriers passed */

    _Alignas(LINE) pthread_mutex_t lock; /* of all below, but for looks */
    pthread_cond_t some, all, passed;    /* work; of it done; at the barrier */
    _Atomic int idle, waiting, halted;   /* who sleeps until then: workers, the caller, members */
    _Atomic bool ending;
    _Atomic int workers;
    pthread_t thread[MOST_WORKERS];
    struct {
        _Alignas(LINE) _Atomic uint64_t begun; /* in which call last */
    } number[MOST_WORKERS + 1];
} pool = {.owner = PTHREAD_MUTEX_INITIALIZER,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .some = PTHREAD_COND_INITIALIZER,
          .all = PTHREAD_COND_INITIALIZER,
          .passed = PTHREAD_COND_INITIALIZER};

static _Thread_local struct {
    int number, n; /* n 0: outside */
    double polite_until;
    double at, used;    /* when it last looked at itself; time of the processor it had until then */
    long gave;          /* times it gave up the processor until then */
    double awake, lost; /* of the window: time in which it could run; and did not */
} self;

/* ---- waiting ----------------------------------------------------------------------------------- */

static void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

static double seconds(const struct timespec *t)
{
    return (double)t->tv_sec + 1e-9 * (double)t->tv_nsec;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return seconds(&t);
}

typedef bool condition(uint64_t from);

static bool there_is_work(uint64_t seen)
{
    return atomic_load(&pool.work) != seen || atomic_load(&pool.ending);
}

static bool all_is_done(uint64_t n)
{
    return atomic_load(&pool.done) == (int)n;
}

static bool barrier_is_gone(uint64_t past)
{
    return atomic_load(&pool.gone) != (uint32_t)past;
}

/* Adds the time since it last looked to the window, unless it slept in it: here, or elsewhere for whatever. */
static void look_at_self(double at)
{
#ifdef RUSAGE_THREAD
    struct rusage use;
    struct timespec t;
    if (getrusage(RUSAGE_THREAD, &use) || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t)) {
        return;
    }
    const double used = seconds(&t); /* to the moment, as that of getrusage is not */
    if (self.at > 0 && use.ru_nvcsw == self.gave) {
        self.awake += at - self.at;
        self.lost += at - self.at - (used - self.used);
    }
    self.at = at;
    self.used = used;
    self.gave = use.ru_nvcsw;
#else
    self.lost = self.awake = window; /* who cannot tell is polite */
#endif
}

/* Whether others want the processor too. */
static bool in_the_way(double at)
{
    look_at_self(at);
    if (self.lost < at_once && self.awake < window) {
        return false;
    }
    const bool is = self.lost > share * self.awake;
    self.awake = self.lost = 0;
    return is;
}

/* In the way now, or not long ago. */
static bool is_polite(double at)
{
    if (at > self.polite_until) {
        self.polite_until = in_the_way(at) ? at + while_polite : 0;
    }
    return self.polite_until > 0;
}

bool eg__workers_crowded(void)
{
    return unlikely(self.polite_until > 0) && is_polite(now());
}

/* Looks for as long as it should; whether it came true. */
static bool spin_until(condition *is, uint64_t of)
{
    const double begin = now();
    double end = begin + polite;
    for (double at = begin; at < end; at = now()) {
        for (int i = 0; i < 16; i++) {
            if (is(of)) {
                return true;
            }
            pause_a_little();
        }
        if (at + polite / 2 > end && at < begin + patient && !is_polite(at)) {
            end = at + polite; /* not yet */
        }
    }
    return false;
}

/* Until it is true: awake for a while, then asleep, which `sleepers` tells whoever makes it true. */
static void wait_until(condition *is, uint64_t of, pthread_cond_t *wake, _Atomic int *sleepers)
{
    if (spin_until(is, of)) {
        return;
    }
    pthread_mutex_lock(&pool.lock);
    atomic_fetch_add(sleepers, 1);
    while (!is(of)) {
        pthread_cond_wait(wake, &pool.lock);
    }
    atomic_fetch_sub(sleepers, 1);
    pthread_mutex_unlock(&pool.lock);
    look_at_self(now());
}

/* Wakes up to n of those who sleep; what they wait for is true by now. */
static void wake(pthread_cond_t *sleeping, _Atomic int *sleepers, int n)
{
    if (!atomic_load(sleepers)) {
        return;
    }
    pthread_mutex_lock(&pool.lock);
    if (n < atomic_load(sleepers)) {
        for (int i = 0; i < n; i++) {
            pthread_cond_signal(sleeping);
        }
    } else {
        pthread_cond_broadcast(sleeping);
    }
    pthread_mutex_unlock(&pool.lock);
}

/* ---- working ----------------------------------------------------------------------------------- */

static void run_number(eg__member_fn *fn, void *ctx, int number, int n)
{
    self.number = number;
    self.n = n;
    fn(ctx, number, n);
    self.n = 0;
    self.number = 0;
}

/* Begins a number of the call, its own where nobody else did; -1: there are none left. */
static int begin_one(uint64_t call, int n, int own)
{
    for (int k = 0; k < n; k++) {
        const int number = (own + k) % n;
        uint64_t last = atomic_load_explicit(&pool.number[number].begun, memory_order_relaxed);
        if (last < call && atomic_compare_exchange_strong(&pool.number[number].begun, &last, call)) {
            return number;
        }
    }
    return -1;
}

/* Numbers of a call, as long as there are any. */
static void take_part(uint64_t work, int own)
{
    const int n = (int)(work & 0xffff);
    for (int number; (number = begin_one(work >> 16, n, own)) >= 0;) {
        run_number(atomic_load_explicit(&pool.fn, memory_order_relaxed),
                   atomic_load_explicit(&pool.ctx, memory_order_relaxed), number, n);
        if (atomic_fetch_add(&pool.done, 1) + 1 == n) {
            wake(&pool.all, &pool.waiting, 1);
            return;
        }
    }
}

static void *worker(void *place)
{
    const int own = (int)(intptr_t)place;
    for (uint64_t seen = 0; !atomic_load(&pool.ending);) {
        wait_until(there_is_work, seen, &pool.some, &pool.idle);
        seen = atomic_load(&pool.work);
        take_part(seen, own);
    }
    return NULL;
}

int eg__workers_ready(int n)
{
    if (n - 1 <= atomic_load(&pool.workers)) {
        return n;
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_mutex_lock(&pool.lock);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the threads of the program */
    int have = atomic_load(&pool.workers);
    while (have < n - 1 && have < MOST_WORKERS &&
           !pthread_create(&pool.thread[have], NULL, worker, (void *)(intptr_t)(have + 1))) {
        have++;
    }
    atomic_store(&pool.workers, have);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_unlock(&pool.lock);
    return n - 1 <= have ? n : have + 1;
}

/* Numbers take about as long as each other. So whoever waited longer than it worked waited for a thread that others put
 * aside, and that is time lost as well. */
static void wait_was_long(double work, double wait)
{
    if (wait > work && wait > noticeable) {
        self.awake += wait;
        self.lost += wait;
    }
}

/* With the workers. */
static void run(int n, eg__member_fn *fn, void *ctx)
{
    const uint64_t work = ((atomic_load_explicit(&pool.work, memory_order_relaxed) >> 16) + 1) << 16 | (uint64_t)n;
    atomic_store_explicit(&pool.fn, fn, memory_order_relaxed);
    atomic_store_explicit(&pool.ctx, ctx, memory_order_relaxed);
    atomic_store_explicit(&pool.done, 0, memory_order_relaxed);
    atomic_store(&pool.work, work);
    wake(&pool.some, &pool.idle, n - 1);
    const double begin = now();
    take_part(work, 0);
    if (all_is_done((uint64_t)n)) {
        return;
    }
    const double end = now();
    wait_until(all_is_done, (uint64_t)n, &pool.all, &pool.waiting);
    wait_was_long(end - begin, now() - end);
}

void eg__workers_run(int n, eg__member_fn *fn, void *ctx)
{
    if (n > 1 && !self.n && !pthread_mutex_trylock(&pool.owner)) {
        eg__workers_ready(n); /* or as many as there can be */
        run(n, fn, ctx);
        pthread_mutex_unlock(&pool.owner);
        return;
    }
    for (int k = 0; k < n; k++) {
        fn(ctx, k, n);
    }
}

void eg__workers_run_together(int n, eg__member_fn *fn, void *ctx)
{
    if (n < 2 || self.n) {
        fn(ctx, 0, 1);
        return;
    }
    pthread_mutex_lock(&pool.owner);
    run(n, fn, ctx);
    pthread_mutex_unlock(&pool.owner);
}

void eg__workers_barrier(void)
{
    if (self.n < 2) {
        return;
    }
    const uint32_t past = atomic_load(&pool.gone);
    if (atomic_fetch_add(&pool.arrived, 1) + 1 < self.n) {
        wait_until(barrier_is_gone, past, &pool.passed, &pool.halted);
        return;
    }
    atomic_store(&pool.arrived, 0);
    atomic_store(&pool.gone, past + 1);
    wake(&pool.passed, &pool.halted, self.n);
}

int eg__workers_number(void)
{
    return self.number;
}

int eg__workers_size(void)
{
    return self.n ? self.n : 1;
}

bool eg__workers_inside(void)
{
    return self.n > 0;
}

/* ---- ends -------------------------------------------------------------------------------------- */

/* The workers stay with the parent; the child starts its own. */
static void around_fork(eg__fork when)
{
    if (self.n) {
        return; /* what a member forks is not to compute */
    }
    if (when == EG__FORK_BEFORE) {
        pthread_mutex_lock(&pool.owner);
        pthread_mutex_lock(&pool.lock);
        return;
    }
    if (when == EG__FORK_CHILD) {
        pool.some = pool.all = pool.passed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
        atomic_store(&pool.workers, 0);
        atomic_store(&pool.idle, 0);
        atomic_store(&pool.arrived, 0);
        self.at = 0; /* the processor's clock began anew */
    }
    pthread_mutex_unlock(&pool.lock);
    pthread_mutex_unlock(&pool.owner);
}

void eg__workers_end(void)
{
    const int workers = atomic_load(&pool.workers);
    atomic_store(&pool.ending, true);
    wake(&pool.some, &pool.idle, workers);
    for (int i = 0; i < workers; i++) {
        pthread_join(pool.thread[i], NULL);
    }
    atomic_store(&pool.workers, 0);
    atomic_store(&pool.ending, false);
}

EG__SUBSYSTEM_OF_CORE(.order = EG__ORDER_WORKERS, .fork = around_fork, .end = eg__workers_end)
