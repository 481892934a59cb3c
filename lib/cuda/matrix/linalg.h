/* linalg.h - the kernels of small linear algebra: teams of threads, each with a matrix at a time. Plain C and CUDA. */
#ifndef EGRET_CUDA_LINALG_H
#define EGRET_CUDA_LINALG_H

#include <cuda_runtime_api.h>

#include "lib/cuda/runtime/fault.h"
#include "lib/math/matrices.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum eg__matrix_op {
    EG__DO_LU,
    EG__DO_LU_DET,
    EG__DO_LU_SOLVE,
    EG__DO_TRIANGULAR_SOLVE,
    EG__DO_CHOLESKY,
    EG__DO_QR,
    EG__DO_SVD,
    EG__DO_EIGH,
} eg__matrix_op;

typedef struct eg__teams {
    eg__matrices k;
    int alone;   /* a team is a thread, else a block */
    int threads; /* of a block */
    unsigned blocks;
    int64_t each; /* doubles of a team's room */
    double *room; /* of all teams; NULL: shared memory */
    int op, kind; /* of the fault that a refused matrix is */
    const char *name;
    eg__fault *fault;
} eg__teams;

enum { EG__TEAM_SHARED = 48 << 10 }; /* bytes a block has without asking for more */

cudaError_t eg__launch_matrices(eg__matrix_op what, const eg__teams *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
