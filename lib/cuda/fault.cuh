/* fault.cuh - reporting from kernels. */
#ifndef EGRET_CUDA_FAULT_CUH
#define EGRET_CUDA_FAULT_CUH

#include "lib/cuda/fault.h"
#include "lib/cuda/launch.cuh"

/* value is not in low..high-1: the host says so when it next waits. name: see eg__fault. */
static __device__ void eg__report(eg__fault *f, int op, const char *name, long long value, long long low,
                                  long long high)
{
    if (atomicCAS(&f->claimed, 0u, 1u)) {
        return;
    }
    f->op = op;
    f->name = name;
    f->value = value;
    f->low = low;
    f->high = high;
    __threadfence_system(); /* a host waiting for another stream may be looking */
    atomicExch(&f->taken, 1u);
}

#endif
