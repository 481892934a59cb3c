/* ranks.h - memory that ranks move: what the files of this room share. Plain C and CUDA. */
#ifndef EGRET_CUDA_RANKS_H
#define EGRET_CUDA_RANKS_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element i of out: the sum, mean (of `ranks`) or maximum of element i at parts, parts + apart bytes, ..., in this
 * order. dtype, how: an eg_dtype, an eg_comm_reduction. */
typedef struct eg__rank_sum {
    const char *parts;
    char *out;
    int64_t apart, count;
    int dtype, how, ranks;
} eg__rank_sum;
cudaError_t eg__launch_rank_sum(const eg__rank_sum *sum, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
