/* attention.h - between the kernels of attention and their host side. Plain C and CUDA. */
#ifndef EGRET_CUDA_ATTENTION_H
#define EGRET_CUDA_ATTENTION_H

#include <cuda_runtime_api.h>

#include <stdint.h>

#include <egret/tensor.h>

#include "lib/cuda/random/random.h"

enum { EG__ATTENTION_LEAD = EG_MAX_DIMS - 2 };

/* Matrices whose rows lie side by side from column to column, but for the mask's; strides in bytes. */
typedef struct eg__attention_operand {
    char *p; /* NULL: there is none */
    int64_t lead[EG__ATTENTION_LEAD], row;
    int wide; /* groups of eight columns from a multiple of eight on can be read and written at once */
} eg__attention_operand;

typedef struct eg__attention {
    eg__attention_operand q, k, v, y, dy, dq, dk, dv, mask;
    char *stats, *delta; /* per row of weights, of what is computed in: f64 or f32 */
    int64_t mask_column; /* stride */
    int dtype, size;     /* of elements of all but the mask */
    int mask_dtype;
    int nlead;
    int64_t lead[EG__ATTENTION_LEAD], batches;
    int t, s, d, columns;  /* columns: of v */
    double scale, softcap; /* softcap: 0: none */
    int low, high;         /* key s is seen by query t where low <= s - t <= high */
    /* dropout, if threshold: weight i is dropped by word i, others multiplied with `keep` */
    uint32_t threshold;
    double keep;
    eg__draws from;
    int64_t weights[EG__ATTENTION_LEAD]; /* strides of the weights' numbers along the leading axes */
} eg__attention;

#ifdef __cplusplus
extern "C" {
#endif

/* y and stats. */
cudaError_t eg__launch_attention(const eg__attention *a, cudaStream_t s);
/* delta, the sum of dy y of each row; then dk, dv and dq. */
cudaError_t eg__launch_attention_grad(const eg__attention *a, cudaStream_t s);
/* The same of halves, where delta is there already: called by these. */
cudaError_t eg__launch_attention_f16(const eg__attention *a, cudaStream_t s);
cudaError_t eg__launch_attention_grad_f16(const eg__attention *a, cudaStream_t s);
cudaError_t eg__launch_attention_bf16(const eg__attention *a, cudaStream_t s);
cudaError_t eg__launch_attention_grad_bf16(const eg__attention *a, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
