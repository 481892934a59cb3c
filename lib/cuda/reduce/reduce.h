/* reduce.h - between the kernels of reductions and their host side. Plain C and CUDA. */
#ifndef EGRET_CUDA_REDUCE_H
#define EGRET_CUDA_REDUCE_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/axes.h"
#include "lib/cuda/common/elements.h"

enum { EG__STATE_BYTES = 24 }; /* of a partial result, at most */

/* Results are numbered by the kept axes; behind each are the elements of the reduced ones, which are cut into
 * parts where there are too few results to keep the device busy: a second kernel joins those. */
typedef struct eg__reduction {
    const char *x;
    char *y, *parts_at;
    int dtype, size, to;       /* of x; of y */
    int in;                    /* what it is computed in, EG__IN_F32 ... */
    eg__axes kept;             /* strides of x, y */
    eg__axes reduced;          /* of x; without the run, if there is one */
    int64_t count;             /* elements behind each result */
    int64_t run;               /* elements side by side, a line at each place of `reduced`; 0: no such thing */
    int64_t part;              /* elements of a part, of a run or of all; at most 2^30 */
    unsigned parts, part_runs; /* parts in all; of each run, the others are of places of `reduced` */
    /* Threads per result, a power of two. Neighbouring threads are at neighbouring elements, else at neighbouring
     * results. */
    unsigned lanes;
    int along;
} eg__reduction;

/* What is done with elements. */
typedef enum eg__reducer {
#define EG_REDUCTION(name, ...) EG__REDUCE_##name,
#include "lib/ops/reduce.def"
#undef EG_REDUCTION
    EG__REDUCE_norm
} eg__reducer;

typedef struct eg__reduce_how {
    eg__reducer op;
    double p;    /* of a norm */
    double free; /* var, std: what the sum of squares is divided by */
} eg__reduce_how;

#ifdef __cplusplus
extern "C" {
#endif

/* Sums, means, products and norms; counts, any and all; extremes and their places; logsumexp, var, std. */
cudaError_t eg__launch_sum(const eg__reduction *r, const eg__reduce_how *how, cudaStream_t s);
cudaError_t eg__launch_count(const eg__reduction *r, const eg__reduce_how *how, cudaStream_t s);
cudaError_t eg__launch_extreme(const eg__reduction *r, const eg__reduce_how *how, cudaStream_t s);
cudaError_t eg__launch_spread(const eg__reduction *r, const eg__reduce_how *how, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
