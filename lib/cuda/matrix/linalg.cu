/* linalg.cu - small linear algebra by the algorithms all engines share (lib/math/linalg.h). */
#include "lib/cuda/common/fault.cuh"
#include "lib/cuda/matrix/linalg.h"
#include "lib/cuda/common/team.cuh"
#include "lib/math/linalg_ops.h"

namespace
{

typedef int matrix_fn(const eg__team *t, const eg__matrices *k, int64_t at, double *room);

__device__ __forceinline__ void refuse(const eg__teams &k, int64_t at, int pivot)
{
    eg__report_fault(k.fault, k.kind, k.op, k.name, at, pivot, k.k.batch);
}

/* One block to a multiprocessor would do: without that ptxas saves registers, and spills. */
template <matrix_fn *matrix> __global__ void __launch_bounds__(128, 1) alone(const eg__teams k)
{
    EG__DYN_SHARED(double, room);
    const eg__team t = {0, 1, 0, 1, 0, 1};
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < k.k.batch; i += step) {
        const int bad = matrix(&t, &k.k, i, room + threadIdx.x * k.each);
        if (bad >= 0) {
            refuse(k, i, bad);
        }
    }
}

template <matrix_fn *matrix> __global__ void __launch_bounds__(256, 1) together(const eg__teams k)
{
    EG__DYN_SHARED(double, shared);
    double *room = k.room ? k.room + blockIdx.x * k.each : shared;
    const eg__team t = {(int)threadIdx.x,      (int)blockDim.x,     (int)threadIdx.x % 32, 32,
                        (int)threadIdx.x / 32, (int)blockDim.x / 32};
    for (int64_t i = blockIdx.x; i < k.k.batch; i += gridDim.x) {
        const int bad = matrix(&t, &k.k, i, room);
        if (bad >= 0 && t.rank == 0) {
            refuse(k, i, bad);
        }
        eg__meet(&t); /* the room is wanted again */
    }
}

template <matrix_fn *matrix> cudaError_t start(const eg__teams &k, cudaStream_t s)
{
    const size_t teams = k.alone ? k.threads : 1, shared = k.room ? 0 : teams * k.each * sizeof(double);
    return k.alone ? EG__LAUNCH((alone<matrix>), k.blocks, k.threads, shared, s, k)
                   : EG__LAUNCH((together<matrix>), k.blocks, k.threads, shared, s, k);
}

} // namespace

cudaError_t eg__launch_matrices(eg__matrix_op what, const eg__teams *k, cudaStream_t s)
{
    switch (what) {
    case EG__DO_LU:
        return start<eg__lu_matrix>(*k, s);
    case EG__DO_LU_DET:
        return start<eg__lu_det_matrix>(*k, s);
    case EG__DO_LU_SOLVE:
        return start<eg__lu_solve_matrix>(*k, s);
    case EG__DO_TRIANGULAR_SOLVE:
        return start<eg__triangular_solve_matrix>(*k, s);
    case EG__DO_CHOLESKY:
        return start<eg__cholesky_matrix>(*k, s);
    case EG__DO_QR:
        return start<eg__qr_matrix>(*k, s);
    case EG__DO_SVD:
        return start<eg__svd_matrix>(*k, s);
    default:
        return start<eg__eigh_matrix>(*k, s);
    }
}
