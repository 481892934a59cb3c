/* fault.cuh - reporting from kernels. */
#ifndef EGRET_CUDA_FAULT_CUH
#define EGRET_CUDA_FAULT_CUH

#include "lib/cuda/runtime/fault.h"
#include "lib/cuda/common/launch.cuh"

/* Of a kind of fault: the host says so when it next waits. */
static __device__ void eg__report_fault(eg__fault *f, int kind, int op, const char *name, long long value,
                                        long long low, long long high)
{
    if (atomicCAS(&f->claimed, 0u, 1u)) {
        return;
    }
    f->op = op;
    f->kind = kind;
    f->name = name;
    f->value = value;
    f->low = low;
    f->high = high;
    __threadfence_system(); /* a host waiting for another stream may be looking */
    atomicExch(&f->taken, 1u);
}

/* value is not in low..high-1. name: see eg__fault. */
static __device__ __forceinline__ void eg__report(eg__fault *f, int op, const char *name, long long value,
                                                  long long low, long long high)
{
    eg__report_fault(f, EG__FAULT_INDEX, op, name, value, low, high);
}

/* The place an index means. */
static __device__ __forceinline__ long long eg__place_of(const eg__raw_index &k, long long v)
{
    if (k.size) {
        if (v < k.low || v >= k.size) {
            if (k.fault) {
                eg__report(k.fault, k.op, k.name, v, k.low, k.size);
            }
            v = 0;
        }
        v += v < 0 ? k.size : 0;
    }
    return v;
}

static __device__ __forceinline__ void eg__report_row(eg__fault *f, int kind, int op, long long row, long long at)
{
    eg__report_fault(f, kind, op, 0, row, at, 0);
}

#endif
