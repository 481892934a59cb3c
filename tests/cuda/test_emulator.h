/* test_emulator.h - between the kernels of these tests and the tests. */
#ifndef EGRET_TESTS_CUDA_TEST_EMULATOR_H
#define EGRET_TESTS_CUDA_TEST_EMULATOR_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* at[i] = the thread's global number, made of all its coordinates. */
cudaError_t launch_number(int64_t *at, dim3 grid, dim3 block, cudaStream_t s);
/* x[i] = a x[i] + b, i < n. */
cudaError_t launch_scale(float *x, int64_t n, float a, float b, int block, size_t shared, cudaStream_t s);
/* The same; more: how many elements past n it takes for its own, a planted bug. */
cudaError_t launch_scale_past(float *x, int64_t n, int64_t more, cudaStream_t s);
/* Lets kernels launched by launch_scale ask for so much shared memory. */
cudaError_t allow_shared(int bytes);

/* Sums of `grid` parts of x, of `block` elements each. */
enum sum_way { SUM_SHUFFLES, SUM_TREE, SUM_ATOMIC, SUM_NO_TREE_BARRIER, SUM_NO_WARP_BARRIER, SUM_WAYS };
cudaError_t launch_sums(enum sum_way way, const float *x, float *y, int grid, int block, cudaStream_t s);

/* y[thread] of one block: what each lane gets from functions of its warp. */
enum warp_way { WARP_DOWN, WARP_UP, WARP_XOR, WARP_FROM, WARP_BALLOT, WARP_MATCH, WARP_GROUPS };
cudaError_t launch_warp(enum warp_way way, int *y, int block, cudaStream_t s);
/* y[0..2] = __syncthreads_count, _or, _and of (thread < below). */
cudaError_t launch_votes(int *y, int block, int below, cudaStream_t s);
/* Integer and other atomics, each on its own cell. */
cudaError_t launch_atomics(unsigned long long *y, int grid, int block, cudaStream_t s);
/* y[i] = a device function of x[i]. */
cudaError_t launch_functions(const float *x, float *y, int n, cudaStream_t s);

/* Kernels that are wrong. */
enum fault_way {
    FAULT_BARRIER_IN_BRANCH,
    FAULT_TWO_BARRIERS,
    FAULT_ENDED_LANE,
    FAULT_DIVERGED_LANE,
    FAULT_NOT_IN_MASK,
    FAULT_SHARED_PAST_END,
    FAULT_TRAP
};
cudaError_t launch_fault(enum fault_way way, float *y, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
