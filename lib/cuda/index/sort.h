/* sort.h - the kernels of order. An element becomes a key in the order wanted, and key and position one word: all
 * words differ, and sorting them is stable. Plain C and CUDA. */
#ifndef EGRET_CUDA_SORT_H
#define EGRET_CUDA_SORT_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/divide.h"
#include "lib/cuda/common/elements.h"
#include "lib/cuda/runtime/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lines of n elements, `inner` apart, of which the k first in order are wanted. */
typedef struct eg__ordering {
    const char *x;
    char *values;
    int64_t *indices;
    int64_t lines;
    eg__divisor n, inner;
    int64_t k;
    int dtype, size;
    int bits; /* of a key; those of up to 32 lie at the top of 32 */
    int falling;
} eg__ordering;

enum {
    EG__TILE = 2048,   /* words a block sorts */
    EG__CHOSEN = 1024, /* the most a selection gives */
};

/* n at most EG__TILE: several lines, or one, to a block. */
cudaError_t eg__launch_sort_tiles(const eg__ordering *o, cudaStream_t s);

/* k at most EG__CHOSEN: lines are cut into `parts` blocks, whose first go to `chosen`, parts * k words of
 * 8 bytes for each line (16: of elements of 8), to be chosen from. chosen: NULL with one part. */
cudaError_t eg__launch_select_first(const eg__ordering *o, int parts, void *chosen, cudaStream_t s);

/* Lines first..first+lines-1 as pairs for order.h: e numbers their elements as they lie, or along each line. */
typedef struct eg__pairing {
    int64_t first, count; /* count: of elements */
    eg__divisor lines;
    void *key;
    uint32_t *at; /* of pair r: e */
} eg__pairing;

/* Keys of 32 bits; or of 64: those of 64 bits, or the line above one of 32. */
cudaError_t eg__launch_pairs(const eg__ordering *o, const eg__pairing *p, int wide, cudaStream_t s);
/* The lines of `at` as keys of 32 bits. */
cudaError_t eg__launch_pair_lines(const eg__ordering *o, const eg__pairing *p, cudaStream_t s);
/* Results from pairs sorted by line and key. */
cudaError_t eg__launch_put_pairs(const eg__ordering *o, const eg__pairing *p, cudaStream_t s);

/* y[i]: where values[i] goes in its line of n, `each` values to a line. Lines that fall are reported. */
typedef struct eg__searching {
    const char *line, *values;
    int64_t *y;
    int64_t count, n;
    eg__divisor each;
    int64_t all; /* elements of lines */
    int dtype, right, op;
    eg__fault *fault;
} eg__searching;
cudaError_t eg__launch_search(const eg__searching *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
