/* blas.h - matrix products by cuBLASLt. Which of its algorithms serves a shape is asked once, then
 * kept. */
#ifndef EGRET_CUDA_BLAS_H
#define EGRET_CUDA_BLAS_H

#include <cublasLt.h>

#include <egret/precision.h>

#include "lib/cuda/runtime/cuda.h"

/* d[i] = a[i] b[i] (+ d[i]), then + bias, then ReLU, for i < batch: a m x k, b k x n, d m x n, bias
 * n. A matrix lies row by row, `ld` elements from one row to the next, or transposed, column by
 * column. Also the key of what is kept: no padding. */
typedef struct eg__gemm {
    int64_t m, n, k; /* at least 1 */
    int64_t lda, ldb, ldd;
    int64_t step_a, step_b, step_d; /* elements from one of the batch to the next */
    int32_t batch;
    uint8_t dtype, math; /* math: an eg_math_mode */
    bool a_transposed, b_transposed, add, bias, relu;
    uint8_t align_a, align_b, align_d; /* log2 of bytes: of every matrix the plan is run with */
    uint8_t ordinal;                   /* of the hardware */
    uint8_t f32;                       /* d is f32, where a and b are halves */
} eg__gemm;

/* The caller's own copy. */
typedef struct eg__gemm_plan {
    bool found;           /* there is an algorithm */
    bool add, bias, wide; /* as in eg__gemm; wide: f64 */
    cublasLtHandle_t handle;
    cublasLtMatmulDescOpaque_t desc;
    cublasLtMatrixLayoutOpaque_t a, b, d;
    cublasLtMatmulAlgo_t algo;
    size_t workspace;
} eg__gemm_plan;

/* What eg__gemm.align_... is of an address, or of many or'ed with the bytes between them. */
static inline uint8_t eg__gemm_align(uint64_t address)
{
    unsigned bits = address ? (unsigned)__builtin_ctzll(address) : 8;
    return (uint8_t)(bits >= 8 ? 8 : bits >= 4 ? 4 : bits); /* classes that matter to algorithms */
}

/* The plan for a shape; p->found is false if cuBLASLt has no algorithm for it. */
eg_status eg__gemm_find(const eg__call *c, const eg__gemm *g, eg__gemm_plan *p);
/* Queues it for one batch. workspace: p->workspace bytes, alive until it has run. EG_ENOKERNEL if the algorithm turns
 * out not to do it. */
eg_status eg__gemm_run(const eg__call *c, eg__gemm_plan *p, const void *a, const void *b, void *d, const void *bias,
                       void *workspace);
/* No algorithm from now on, after all: what was found turned out not to do it. */
void eg__gemm_forget(const eg__gemm *g);
/* That there is no algorithm, in words. */
eg_status eg__gemm_none(const eg__call *c, const eg__gemm *g);

#endif
