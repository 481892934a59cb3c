/* engine.c - the CPU as an engine: which instruction set's kernels run, the best this processor has or the one asked
 * for, and what an engine does. Memory of the host is the core's. */
#ifdef EG_HAVE_AVX2
#include <cpuid.h>
#endif
#include <stdio.h>

#include "lib/core/alloc.h"
#include "lib/core/device.h"
#include "lib/cpu/dnnl/dnnl.h"

/* ---- kernels ------------------------------------------------------------------------------------------ */

extern eg__kernel *const eg__ref_kernels[];

extern eg__kernel *const eg__cpu_kernels_base[];
#ifdef EG_HAVE_AVX2
extern eg__kernel *const eg__cpu_kernels_avx2[];
#endif
#ifdef EG_HAVE_AVX512
extern eg__kernel *const eg__cpu_kernels_avx512[];
#endif

static bool always(void)
{
    return true;
}

#ifdef EG_HAVE_AVX2
/* clang before 15 does not know this name. Where AVX2 is usable, so are these of its registers. */
static bool has_f16c(void)
{
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}
#endif

#ifdef EG_HAVE_AVX512
static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

static const struct level {
    const char *name;
    bool (*available)(void);
    eg__kernel *const *kernels;
} levels[] = {
/* best first */
#ifdef EG_HAVE_AVX512
    {"avx512", has_avx512, eg__cpu_kernels_avx512},
#endif
#ifdef EG_HAVE_AVX2
    {"avx2", has_avx2, eg__cpu_kernels_avx2},
#endif
    {"base", always, eg__cpu_kernels_base},
};

static const struct level *_Atomic chosen;

static const struct level *best(void)
{
    const struct level *l = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (!l) {
        for (l = levels; !l->available(); l++) {
        }
        atomic_store_explicit(&chosen, l, memory_order_relaxed);
    }
    return l;
}

static eg__kernel *const *table(uint32_t mode)
{
    return mode & EG__DEBUG_REF ? eg__ref_kernels : best()->kernels;
}

const char *eg_cpu_isa(void)
{
    return best()->name;
}

eg_status eg_debug_isa(const char *name)
{
    for (int i = 0; name && i < EG__COUNT(levels); i++) {
        if (!strcmp(levels[i].name, name) && levels[i].available()) {
            atomic_store(&chosen, &levels[i]);
            eg__thread *T = eg__thread_get();
            T->kernels = table(eg__mode(T));
            return EG_OK;
        }
    }
    return eg__fail(EG_ENODEVICE, "eg_debug_isa",
                    "no instruction set \"%s\" in this build on this "
                    "processor; it runs %s",
                    name ? name : "NULL", best()->name);
}

/* ---- the engine --------------------------------------------------------------------------------------- */

static eg_status describe(eg_device *d, eg_device_info *info)
{
    (void)d;
    snprintf(info->name, sizeof info->name, "CPU with %s", eg_cpu_isa());
    info->processors = eg_threads();
    return EG_OK;
}

static void memory(eg_device *d, eg_memory *m)
{
    (void)d, (void)m; /* it is that of the host */
}

static void limit(eg_device *d, int64_t bytes)
{
    (void)d;
    eg_memory_limit(bytes);
}

static void reset_peak(eg_device *d)
{
    (void)d;
    eg_memory_reset_peak();
}

static void trim(eg_device *d)
{
    (void)d;
    eg_memory_trim();
}

static void holders(eg_device *d, int64_t *bytes_by_op, int count)
{
    (void)d;
    eg__alloc_holders(bytes_by_op, count);
}

static eg_status run(const eg__call *c, eg__kernel *k)
{
    return k(c);
}

static eg_status synchronize(eg_device *d)
{
    (void)d;
    return EG_OK;
}

static void thread_end(eg_device *d, eg__thread *T)
{
    (void)d;
    eg__dnnl_thread_end(T);
}

const eg__engine eg__cpu_engine = {
    .table = table,
    .describe = describe,
    .memory = memory,
    .limit = limit,
    .reset_peak = reset_peak,
    .trim = trim,
    .holders = holders,
    .run = run,
    .synchronize = synchronize,
    .thread_end = thread_end,
};
