/* omp.c - the few functions of OpenMP that oneDNN calls, on the library's own threads: oneDNN's loops and ours wait
 * for each other in one place, and politely. The loader gives oneDNN these, since the module that brings it comes
 * first. The build checks that it calls no other. (https://gcc.gnu.org/onlinedocs/libgomp, "The libgomp ABI") */
#include "lib/cpu/dnnl/module.h"
#include "lib/cpu/dnnl/signals.h"

#define CALLED_BY_ONEDNN __attribute__((visibility("default")))

typedef struct region {
    void (*fn)(void *);
    void *data;
    bool signals_wait;
} region;

static void run_region(void *ctx, int number, int n)
{
    const region *r = ctx;
    (void)number, (void)n;
    const bool holds = r->signals_wait && !eg__signals_held();
    const uint64_t before = holds ? eg__signals_hold() : 0;
    r->fn(r->data);
    if (holds) {
        eg__signals_release(before);
    }
}

CALLED_BY_ONEDNN void GOMP_parallel(void (*fn)(void *), void *data, unsigned n, unsigned flags);
CALLED_BY_ONEDNN void GOMP_barrier(void);
CALLED_BY_ONEDNN int omp_get_max_threads(void);
CALLED_BY_ONEDNN int omp_get_num_threads(void);
CALLED_BY_ONEDNN int omp_get_thread_num(void);
CALLED_BY_ONEDNN int omp_in_parallel(void);
CALLED_BY_ONEDNN void omp_set_num_threads(int n);

/* For parallel regions of the calling thread; 0: as many as the library says, also when that changes. */
static _Thread_local int wanted;

void omp_set_num_threads(int n)
{
    wanted = n < 1 || n == eg_threads() ? 0 : n;
}

/* Flags bind threads to places, of which there are none. */
void GOMP_parallel(void (*fn)(void *), void *data, unsigned n, unsigned flags)
{
    (void)flags;
    eg__workers_run_together(n ? (int)n : omp_get_max_threads(), run_region, &(region){fn, data, eg__signals_held()});
}

void GOMP_barrier(void)
{
    eg__workers_barrier();
}

int omp_get_max_threads(void)
{
    return eg__workers_ready(wanted ? wanted : eg_threads());
}

int omp_get_num_threads(void)
{
    return eg__workers_size();
}

int omp_get_thread_num(void)
{
    return eg__workers_number();
}

int omp_in_parallel(void)
{
    return eg__workers_inside();
}
