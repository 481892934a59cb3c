/* parallel.h - the threads of an op. */
#ifndef EGRET_CORE_PARALLEL_H
#define EGRET_CORE_PARALLEL_H

#include "lib/core/base.h"

/* Splits [0, n) into pieces of at least `grain` and calls fn for each, on all threads; where others want the
 * processors, of many grains, if a grain is more than 1. fn cannot fail and does not call the library. */
typedef void eg__range_fn(void *ctx, int64_t begin, int64_t end);
void eg__parallel(int64_t n, int64_t grain, eg__range_fn *fn, void *ctx);
enum { EG__GRAIN = 16384 }; /* elements of cheap work below which threads do not pay */

/* Before other threads may read what was written past the caches; ranges of more than a grain end with it anyhow. */
static inline void eg__stream_end(void)
{
#ifdef __SSE2__
    __builtin_ia32_sfence();
#endif
}

#endif
