/* parallel.c - how many threads an op runs on, and its elements split among them. */
#include "lib/core/parallel.h"
#include "lib/core/error.h"
#include "lib/core/processors.h"
#include "lib/core/thread.h"
#include "lib/core/workers.h"

/* CROWDED: on processors that others want too, threads pay for that many times the work. (Beside two busy processes on
 * two processors two threads do not gain on one below some hundred microseconds, and training steps take least so.) */
enum { MOST_THREADS = 1024, CROWDED = 8 };

static _Atomic int wanted; /* 0: nobody said, and nobody asked */

int eg_threads(void)
{
    int n = atomic_load_explicit(&wanted, memory_order_relaxed);
    if (unlikely(eg__self && eg__self->alone)) {
        return 1;
    }
    if (unlikely(!n)) {
        n = (int)eg__min(eg__processors(""), MOST_THREADS);
        atomic_store_explicit(&wanted, n, memory_order_relaxed);
    }
    return n;
}

eg_status eg_set_threads(int n)
{
    if (n < 1 || n > MOST_THREADS) {
        return eg__fail(EG_EINVAL, "eg_set_threads", "n is %d, must be 1..%d", n, MOST_THREADS);
    }
    atomic_store_explicit(&wanted, n, memory_order_relaxed);
    return EG_OK;
}

typedef struct split {
    eg__range_fn *fn;
    void *ctx;
    int64_t n;
} split;

/* What rows wrote past the caches is there for all threads when their range ends; a fence per row would
 * cost more than the row. */
static void run_part(void *ctx, int number, int parts)
{
    const split *s = ctx;
    int64_t share = (s->n + parts - 1) / parts;
    share = share < 256 ? share : (share + 15) & ~(int64_t)15; /* whole cache lines of f32 */
    int64_t begin = eg__min(number * share, s->n), end = number == parts - 1 ? s->n : eg__min(begin + share, s->n);
    if (begin < end) {
        s->fn(s->ctx, begin, end);
        eg__stream_end();
    }
}

void eg__parallel(int64_t n, int64_t grain, eg__range_fn *fn, void *ctx)
{
    if (n <= grain || n < 2) {
        fn(ctx, 0, n);
        return;
    }
    const int parts = (int)eg__min(eg_threads(), (n + grain - 1) / grain);
    split s = {fn, ctx, n};
    if (grain == 1 || n / CROWDED >= grain || !eg__workers_crowded()) {
        eg__workers_run(parts, run_part, &s);
        return;
    }
    for (int k = 0; k < parts; k++) { /* the same parts: some sums depend on them in their last bits */
        run_part(&s, k, parts);
    }
}
