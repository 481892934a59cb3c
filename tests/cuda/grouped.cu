/* grouped.cu - one formula as a kernel of groups, for a look at what nvcc makes of it. */
#include "lib/cuda/common/formula.cuh"

struct twice {
    enum { inputs = 2 };
    static __device__ __forceinline__ float at(const float *v, float, float)
    {
        return v[0] + v[1];
    }
};

template __global__ void eg__grouped<twice>(const eg__elements e, const eg__numbers o);

/* More values at once than a few registers hold. */
__global__ void crowded(float *p)
{
    float v[48];
#pragma unroll
    for (int i = 0; i < 48; i++) {
        v[i] = p[i * 97];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 48; i++) {
        p[i * 89] = v[i] * v[(i * 7 + 5) % 48];
    }
}
