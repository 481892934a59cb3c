/* index.h - the kernels of picking, putting and finding. Indices come checked, but for those of
 * eg__launch_check and where there is a eg__raw_index. Plain C and CUDA. */
#ifndef EGRET_CUDA_INDEX_H
#define EGRET_CUDA_INDEX_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/divide.h"
#include "lib/cuda/common/elements.h"
#include "lib/cuda/runtime/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Indices against the sizes of as many axes, in turns; they may count from the end unless strict. */
typedef struct eg__checking {
    const void *index;
    int64_t *y; /* 0..size-1 */
    int64_t n, size[EG_MAX_DIMS];
    int axes, wide; /* wide: i64, else i32 */
    int strict, op;
    const char *name;
    eg__fault *fault;
} eg__checking;
cudaError_t eg__launch_check(const eg__checking *k, cudaStream_t s);

/* y [outer, n, row] = x [outer, size, row] at index [n]; a row is in units of `unit` bytes, to which x and y
 * are aligned: 1, 2, 4, 8 or 16. */
typedef struct eg__selecting {
    char *y;
    const char *x;
    const int64_t *index;
    eg__raw_index raw;
    int64_t units, size; /* units: of y */
    eg__divisor row, n;
    int unit;
} eg__selecting;
cudaError_t eg__launch_select(const eg__selecting *k, cudaStream_t s);

/* Operands: y; index, x at element 0 of the axis, along which elements are `step` bytes apart. */
cudaError_t eg__launch_gather(const eg__elements *e, int64_t step, cudaStream_t s);

/* Each place notes the last source put there: 1 + its place along the axis. Operands: index; winner (u32) at
 * element 0 of the axis, `step` bytes apart; places along the axis, as addresses counted from `origin`. */
cudaError_t eg__launch_mark(const eg__elements *e, int64_t step, const char *origin, cudaStream_t s);
/* Operands: y; winner; source at element 0 of the axis; base, or y itself: zero. */
cudaError_t eg__launch_take(const eg__elements *e, int64_t step, cudaStream_t s);

/* y [n, depth] */
typedef struct eg__marking {
    char *y;
    const int64_t *ids;
    int64_t n; /* of y */
    eg__divisor depth;
    int dtype, size;
    double on, off;
} eg__marking;
cudaError_t eg__launch_one_hot(const eg__marking *k, cudaStream_t s);

/* Places [n, ndim] to numbers [n], or back. */
typedef struct eg__numbering {
    const int64_t *x;
    int64_t *y;
    int64_t n;
    int ndim;
    eg__divisor shape[EG_MAX_DIMS];
} eg__numbering;
cudaError_t eg__launch_ravel(const eg__numbering *k, cudaStream_t s);
cudaError_t eg__launch_unravel(const eg__numbering *k, cudaStream_t s);

/* Places of the bytes of x that are not 0; tiles: scratch, one number for each EG__TILE bytes. */
enum { EG__TILE = 4096 };
typedef struct eg__finding {
    const uint8_t *x;
    int64_t *y, *tiles;
    int64_t n;
    int ndim;
    eg__divisor shape[EG_MAX_DIMS];
} eg__finding;
cudaError_t eg__launch_nonzero(const eg__finding *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
