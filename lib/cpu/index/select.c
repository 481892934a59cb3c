/* select.c - which instruction set's kernels run: the best this processor has, or the one asked for. */
#ifdef EG_HAVE_AVX2
#include <cpuid.h>
#endif

#include "lib/core/engine.h"

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
} levels[] = { /* best first */
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

eg__kernel *const *eg__cpu_best(void)
{
    return best()->kernels;
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
            T->kernels = eg__mode(T) & EG__DEBUG_REF ? eg__ref_kernels : levels[i].kernels;
            return EG_OK;
        }
    }
    return eg__fail(EG_ENODEVICE, "eg_debug_isa", "no instruction set \"%s\" in this build on this "
                    "processor; it runs %s", name ? name : "NULL", best()->name);
}
