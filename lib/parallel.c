/* parallel.c - the threads an op runs on: OpenMP's, shared with oneDNN, and only here. */
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef EG_HAVE_BACKTRACE
#include <execinfo.h>
#endif

#include "lib/cpu/stream.h"
#include "lib/engine.h"
#include "lib/fork.h"

enum { MOST_THREADS = 1024 };

static _Atomic int wanted; /* 0: as many as processors */
static _Atomic bool bereft; /* of the threads of OpenMP: they are the parent's, and it does not know */

#ifdef _OPENMP
static _Atomic bool started; /* worker threads may exist */

/* A thread that ends makes glibc look for its unwinder, under the loader's lock, once per process. While the
 * library is unloaded that lock is taken, so by then it must have been found: backtrace finds it too. */
static void note_start(void)
{
    if (unlikely(!atomic_load_explicit(&started, memory_order_relaxed))) {
#ifdef EG_HAVE_BACKTRACE
        void *frame;
        backtrace(&frame, 1);
#endif
        atomic_store_explicit(&started, true, memory_order_relaxed);
    }
}
#endif

static int processors(void)
{
#ifdef _OPENMP
    return omp_get_num_procs();
#else
    return 1;
#endif
}

int eg_threads(void)
{
    int n = atomic_load_explicit(&wanted, memory_order_relaxed);
    if (unlikely(eg__self && eg__self->alone)) {
        return 1;
    }
    if (unlikely(!n)) {
        n = processors();
        atomic_store_explicit(&wanted, n, memory_order_relaxed);
    }
    return n;
}

eg_status eg_set_threads(int n)
{
    if (n < 1 || n > MOST_THREADS) {
        return eg__fail(EG_EINVAL, "eg_set_threads", "n is %d, must be 1..%d", n, MOST_THREADS);
    }
    if (n > 1 && atomic_load_explicit(&bereft, memory_order_relaxed)) {
        return eg__fail(EG_ESTATE, "eg_set_threads", "n is %d: this process was made by a fork after ops had used "
                        "several threads, and has one", n);
    }
    atomic_store_explicit(&wanted, n, memory_order_relaxed);
#ifdef _OPENMP
    omp_set_num_threads(n); /* oneDNN asks OpenMP */
#endif
    return EG_OK;
}

/* What rows wrote past the caches is there for all threads when their range ends; a fence per row would
 * cost more than the row. */
static void run_range(eg__range_fn *fn, void *ctx, int64_t begin, int64_t end)
{
    fn(ctx, begin, end);
    eg__stream_end();
}

void eg__parallel(int64_t n, int64_t grain, eg__range_fn *fn, void *ctx)
{
    if (n <= grain || n < 2) {
        fn(ctx, 0, n);
        return;
    }
#ifdef _OPENMP
    int64_t pieces = eg__min(eg_threads(), (n + grain - 1) / grain);
    if (pieces > 1 && !omp_in_parallel()) {
        note_start();
#pragma omp parallel num_threads((int)pieces)
        {
            /* OpenMP may grant fewer threads than asked. */
            int64_t k = omp_get_thread_num(), of = omp_get_num_threads();
            int64_t share = (n + of - 1) / of;
            share = share < 256 ? share : (share + 15) & ~(int64_t)15; /* whole cache lines of f32 */
            int64_t begin = eg__min(k * share, n), end = k == of - 1 ? n : eg__min(begin + share, n);
            if (begin < end) {
                run_range(fn, ctx, begin, end);
            }
        }
        return;
    }
#endif
    run_range(fn, ctx, 0, n);
}

/* OpenMP's own count is per calling thread; the other library asks it. */
int eg__threads_lend(void)
{
#ifdef _OPENMP
    int was = omp_get_max_threads(), n = eg_threads();
    note_start();
    if (was != n) {
        omp_set_num_threads(n);
    }
    return was;
#else
    return 1;
#endif
}

void eg__threads_return(int lent)
{
#ifdef _OPENMP
    if (lent != eg_threads()) {
        omp_set_num_threads(lent);
    }
#else
    (void)lent;
#endif
}

void eg__parallel_fork(eg__fork when)
{
#ifdef _OPENMP
    if (when == EG__FORK_CHILD && atomic_load_explicit(&started, memory_order_relaxed)) {
        atomic_store_explicit(&bereft, true, memory_order_relaxed);
        atomic_store_explicit(&wanted, 1, memory_order_relaxed); /* OpenMP may hold locks now; lending tells it */
    }
#else
    (void)when;
#endif
}

/* libgomp may go with its threads asleep in it. LLVM's runtime never goes, and loses memory with every pause. */
void eg__parallel_end(void)
{
#if defined(EG_HAVE_OMP_PAUSE) && !defined(__clang__)
    if (atomic_load_explicit(&started, memory_order_relaxed) &&
        !atomic_load_explicit(&bereft, memory_order_relaxed)) { /* else it would wait for the parent's */
        omp_pause_resource_all(omp_pause_hard);
    }
#endif
}
