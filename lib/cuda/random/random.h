/* random.h - the kernels of random numbers, draws and dropout. Plain C and CUDA. */
#ifndef EGRET_CUDA_RANDOM_H
#define EGRET_CUDA_RANDOM_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/elements.h"
#include "lib/cuda/runtime/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The stream of `seed` from block `offset` on; in a captured step from that many blocks after where its launch
 * finds, in `now`, a seed and a block. */
typedef struct eg__draws {
    uint64_t seed, offset;
    const uint64_t *now; /* on the device, or NULL */
} eg__draws;

/* n elements in a row, of words of that stream. */
typedef struct eg__drawing {
    char *y;
    int64_t n;
    eg__draws from;
    int dtype, size;
    int aligned; /* y to 16 bytes */
} eg__drawing;

enum { EG__DRAW_UNIFORM, EG__DRAW_NORMAL, EG__DRAW_TRUNCATED };

/* Numbers of one of these kinds: a and b as lib/ops/options.h has them; of a uniform one also b - a, and the
 * number below b. */
typedef struct eg__shaping {
    double a, b, range, last;
} eg__shaping;
cudaError_t eg__launch_numbers(const eg__drawing *d, int kind, const eg__shaping *o, cudaStream_t s);

/* The bits of `one` with a chance of threshold / 2^24, else 0. */
cudaError_t eg__launch_chances(const eg__drawing *d, uint32_t threshold, uint64_t one, cudaStream_t s);
/* low..low + range - 1; a range of 0 is 2^64. */
cudaError_t eg__launch_integers(const eg__drawing *d, int64_t low, uint64_t range, cudaStream_t s);

/* 0..n-1 shuffled, in i64. Memory for the kernels: 2 n numbers of 4 bytes, or 8 where n is 2^32 or more, of
 * which the first half is zero. */
cudaError_t eg__launch_permutation(const eg__drawing *d, void *links, cudaStream_t s);

/* Operands: y, x. The element that comes first is number `first` in the memory of y. */
typedef struct eg__dropping {
    eg__draws from;
    int64_t first;
    uint32_t threshold;
    double scale;
} eg__dropping;
cudaError_t eg__launch_dropout(const eg__elements *e, const eg__dropping *o, cudaStream_t s);

/* Draws from rows of weights [rows, classes]: y [rows, n]; sums [rows, classes] is for the kernels. The first
 * row is number `row` among all. */
typedef struct eg__choosing {
    const void *x;
    double *sums;
    int64_t *y;
    int64_t rows, row, classes, n;
    eg__draws from;
    int dtype, logits, op;
    eg__fault *fault;
} eg__choosing;
cudaError_t eg__launch_categorical(const eg__choosing *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
