/* base.h - what every file of the library may use: hints, counts of references, options with defaults. */
#ifndef EGRET_CORE_BASE_H
#define EGRET_CORE_BASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <egret/base.h>
#include <egret/error.h>
#include <egret/named.h>

#define likely(x)    __builtin_expect(!!(x), 1)
#define unlikely(x)  __builtin_expect(!!(x), 0)
#define EG__COLD     __attribute__((cold, noinline))
#define EG__COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static inline int64_t eg__min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t eg__max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Copies what the caller's options struct has, by its size, into one of ours; NULL is all defaults. Both
 * begin with their size. */
static inline void eg__options(void *to, size_t size, const void *given)
{
    memset(to, 0, size);
    if (given) {
        size_t n = *(const size_t *)given;
        memcpy(to, given, n && n < size ? n : size);
    }
}

/* Whether the caller's struct of options has its last field: one built before there was one has a shorter struct. */
static inline bool eg__options_whole(const void *given, size_t size)
{
    const size_t n = *(const size_t *)given;
    return !n || n >= size;
}

/* An option's value, or what its 0 stands for. */
static inline double eg__or(double given, double otherwise)
{
    return given == EG_ZERO ? 0 : given == 0 ? otherwise : given;
}

static inline int64_t eg__or_count(int64_t given, int64_t otherwise)
{
    return given == EG_ZERO ? 0 : given == 0 ? otherwise : given;
}

/* The test build shrinks what starts small, so that growth is common. */
#ifdef EG_TINY_LIMITS
enum { EG__START_CAPACITY = 2, EG__CHUNK_BYTES = 4096 };
#else
enum { EG__START_CAPACITY = 64, EG__CHUNK_BYTES = 65536 };
#endif

/* What the small headers name of each other. */
typedef struct eg__call eg__call;
typedef struct eg__storage eg__storage;
typedef struct eg__thread eg__thread;
typedef eg_status eg__kernel(const eg__call *c);

/* ---- counts of references ------------------------------------------------------------------------- */

typedef _Atomic uint32_t eg__refs;

static inline void eg__ref_init(eg__refs *r)
{
    atomic_store_explicit(r, 1, memory_order_relaxed);
}

static inline void eg__ref_inc(eg__refs *r)
{
    atomic_fetch_add_explicit(r, 1, memory_order_relaxed);
}

static inline uint32_t eg__ref_get(eg__refs *r)
{
    return atomic_load_explicit(r, memory_order_acquire);
}

/* A count of one can only be the caller's: nobody else may raise it, so no locked instruction. */
static inline bool eg__ref_dec(eg__refs *r)
{
    return eg__ref_get(r) == 1 || atomic_fetch_sub_explicit(r, 1, memory_order_acq_rel) == 1;
}

#endif
