/* launch.cuh - one source, two compilers: nvcc, and g++ with an emulator that has the same (EG_EMULATED).
 * Kernels are started with EG__LAUNCH only, and have shared memory of a size known at launch only through
 * EG__DYN_SHARED. Files of kernels include this first and no C header of the library but plain ones. */
#ifndef EGRET_CUDA_LAUNCH_CUH
#define EGRET_CUDA_LAUNCH_CUH

#ifndef EG_EMULATED

#include <cuda_runtime.h>

/* Starts kernel(...) on a stream; the value is the launch's cudaError_t. A kernel of several template
 * arguments stands in brackets: EG__LAUNCH((f<a, b>), ...). */
#define EG__LAUNCH(kernel, grid, block, shared, stream, ...) \
    (kernel<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__), cudaGetLastError())

/* Inside a kernel: T *name, the memory whose bytes the launch gave as `shared`. */
#define EG__DYN_SHARED(T, name)                                     \
    extern __shared__ __align__(16) unsigned char eg__dyn_shared[]; \
    T *name = reinterpret_cast<T *>(eg__dyn_shared)

#endif
#endif
