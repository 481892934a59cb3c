/* index_add.h - the kernels of sums into places: sources are sorted by where they go, stably, and each place
 * takes its own in their order, so that results are the same every time. Plain C and CUDA. */
#ifndef EGRET_CUDA_INDEX_ADD_H
#define EGRET_CUDA_INDEX_ADD_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/divide.h"
#include "lib/cuda/common/elements.h"
#include "lib/cuda/runtime/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fewer than 2^31 keys with a value each are sorted by as many digits: those of buffer 1, or the indices with
 * their numbers as values. They end in buffer 0 after an odd number of passes, else in 1. */
enum { EG__DIGIT = 8, EG__SORT_TILE = 4096 };
typedef struct eg__sorting {
    const int64_t *index; /* NULL: buffer 1 */
    eg__raw_index raw;    /* what it is */
    unsigned *key[2];
    int *value[2];
    unsigned *counts; /* scratch: 2^EG__DIGIT for each EG__SORT_TILE keys, and as many again */
    int n, passes;
} eg__sorting;
cudaError_t eg__launch_sort(const eg__sorting *k, cudaStream_t s);

/* Operands: index; y at element 0 of the axis and the source, as if elements were bytes. Keys are the distances of
 * the places pointed to from `y`, these being `step` apart along the axis, values those of the source from x. */
cudaError_t eg__launch_keys(const eg__elements *e, int64_t step, const char *y, const char *x, unsigned *key,
                            int *value, cudaStream_t s);
/* Where each key's run begins and ends among the sorted ones; both are zeros before. */
cudaError_t eg__launch_edges(const unsigned *key, int n, unsigned *begin, unsigned *end, cudaStream_t s);

enum { EG__JOIN_ADD, EG__JOIN_MUL, EG__JOIN_MAX, EG__JOIN_MIN };
/* y [outer, size, inner] = base, or zeros, joined with x [outer, n, inner]: element k of y's second axis with
 * x's elements order[begin[k]..end[k]) in turn. Runs are cut at multiples of EG__SLOT: part[0] are the joined
 * ones of whole slots of one key, part[1] of as many of these slots. */
enum { EG__SLOT = 64 };
typedef struct eg__joining {
    char *y;
    const char *x, *base;
    const unsigned *key, *begin, *end;
    const int *order;
    char *part[2];                 /* [outer, n / EG__SLOT or its square, inner] of f32, f64 or i64; NULL: none */
    int64_t outer, n, inner, skip; /* skip: a k that takes nothing; -1: none */
    eg__divisor size;
    int dtype, mode;
    int wide; /* 16-byte accesses are possible */
} eg__joining;
cudaError_t eg__launch_join(const eg__joining *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
