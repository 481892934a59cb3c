/* test_emulator.cu - kernels that show what the emulator does, and wrong ones that it must find. */
#include "lib/cuda/common/launch.cuh"
#include "tests/cuda/test_emulator.h"

__global__ void number(int64_t *at)
{
    int64_t block = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int64_t thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int64_t i = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
    at[i] = i;
}

cudaError_t launch_number(int64_t *at, dim3 grid, dim3 block, cudaStream_t s)
{
    return EG__LAUNCH(number, grid, block, 0, s, at);
}

template <typename T, int MORE> __global__ void __launch_bounds__(1024) scale(T *__restrict__ x, int64_t n, T a, T b)
{
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n + MORE) {
        x[i] = a * x[i] + b;
    }
}

cudaError_t launch_scale(float *x, int64_t n, float a, float b, int block, size_t shared, cudaStream_t s)
{
    unsigned grid = block > 0 ? unsigned((n + block - 1) / block) : 1;
    return EG__LAUNCH((scale<float, 0>), grid, block, shared, s, x, n, a, b);
}

cudaError_t launch_scale_past(float *x, int64_t n, int64_t more, cudaStream_t s)
{
    unsigned grid = unsigned(n / 32 + 1);
    return more ? EG__LAUNCH((scale<float, 1>), grid, 32, 0, s, x, n, 1, 1)
                : EG__LAUNCH((scale<float, 0>), grid, 32, 0, s, x, n, 1, 1);
}

cudaError_t allow_shared(int bytes)
{
    return cudaFuncSetAttribute(scale<float, 0>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

static __device__ float warp_sum(float v)
{
    for (int d = 16; d > 0; d /= 2) {
        v += __shfl_down_sync(0xffffffffu, v, d);
    }
    return v;
}

template <bool BARRIER> __global__ void sum_by_shuffles(const float *x, float *y)
{
    __shared__ float parts[32];
    int t = threadIdx.x, warps = blockDim.x / warpSize;
    float v = warp_sum(x[blockIdx.x * blockDim.x + t]);
    if (t % warpSize == 0) {
        parts[t / warpSize] = v;
    }
    if (BARRIER) {
        __syncthreads();
    }
    if (t < warpSize) {
        v = warp_sum(t < warps ? parts[t] : 0);
        if (t == 0) {
            y[blockIdx.x] = v;
        }
    }
}

template <bool BARRIER> __global__ void sum_by_tree(const float *x, float *y)
{
    EG__DYN_SHARED(float, part);
    int t = threadIdx.x;
    part[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int n = blockDim.x / 2; n > 0; n /= 2) {
        if (t < n) {
            part[t] += part[t + n];
        }
        if (BARRIER) {
            __syncthreads();
        }
    }
    if (t == 0) {
        y[blockIdx.x] = part[0];
    }
}

__global__ void sum_by_atomics(const float *x, float *y)
{
    __shared__ float sum;
    if (threadIdx.x == 0) {
        sum = 0;
    }
    __syncthreads();
    atomicAdd(&sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sum;
    }
}

cudaError_t launch_sums(enum sum_way way, const float *x, float *y, int grid, int block, cudaStream_t s)
{
    size_t shared = size_t(block) * sizeof *x;
    switch (way) {
    case SUM_SHUFFLES:
        return EG__LAUNCH(sum_by_shuffles<true>, grid, block, 0, s, x, y);
    case SUM_TREE:
        return EG__LAUNCH(sum_by_tree<true>, grid, block, shared, s, x, y);
    case SUM_ATOMIC:
        return EG__LAUNCH(sum_by_atomics, grid, block, 0, s, x, y);
    case SUM_NO_TREE_BARRIER:
        return EG__LAUNCH(sum_by_tree<false>, grid, block, shared, s, x, y);
    case SUM_NO_WARP_BARRIER:
        return EG__LAUNCH(sum_by_shuffles<false>, grid, block, 0, s, x, y);
    default:
        return cudaErrorInvalidValue;
    }
}

__global__ void in_warp(enum warp_way way, int *y)
{
    const unsigned all = 0xffffffffu;
    int t = threadIdx.x, lane = t % warpSize, got = 0;
    switch (way) {
    case WARP_DOWN:
        got = __shfl_down_sync(all, t, 3, 8);
        break;
    case WARP_UP:
        got = __shfl_up_sync(all, t, 3, 8);
        break;
    case WARP_XOR:
        got = int(__shfl_xor_sync(all, double(t), 5));
        break;
    case WARP_FROM:
        got = __shfl_sync(all, t, 9, 16);
        break;
    case WARP_BALLOT:
        got = int(__ballot_sync(all, lane % 3 == 0)) + __any_sync(all, lane == 31) + __all_sync(all, lane < 31);
        break;
    case WARP_MATCH:
        got = int(__match_any_sync(all, lane / 4));
        break;
    case WARP_GROUPS: /* the halves of a warp go their own ways */
        if (lane < 16) {
            got = __shfl_xor_sync(0x0000ffffu, t, 1);
            got = __shfl_xor_sync(0x0000ffffu, got, 2);
        } else {
            got = __shfl_sync(0xffff0000u, t, 20);
        }
        __syncwarp();
        break;
    }
    y[t] = got;
}

cudaError_t launch_warp(enum warp_way way, int *y, int block, cudaStream_t s)
{
    return EG__LAUNCH(in_warp, 1, block, 0, s, way, y);
}

__global__ void votes(int *y, int below)
{
    int mine = int(threadIdx.x) < below;
    int count = __syncthreads_count(mine), any = __syncthreads_or(mine), all = __syncthreads_and(mine);
    if (threadIdx.x == blockDim.x - 1) {
        y[0] = count;
        y[1] = any;
        y[2] = all;
    }
}

cudaError_t launch_votes(int *y, int block, int below, cudaStream_t s)
{
    return EG__LAUNCH(votes, 1, block, 0, s, y, below);
}

__global__ void atomics(unsigned long long *y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&y[0], 1ull);
    atomicMax(&y[1], (unsigned long long)i);
    atomicMin(&y[2], (unsigned long long)i);
    atomicOr(&y[3], 1ull << i % 64);
    unsigned long long seen = y[4], expected;
    do {
        expected = seen;
        seen = atomicCAS(&y[4], expected, expected + 2);
    } while (seen != expected);
    atomicAdd(reinterpret_cast<double *>(&y[5]), 0.5);
    atomicAdd(reinterpret_cast<int *>(&y[6]), -1);
    atomicExch(&y[7], 7ull);
    atomicAnd(&y[8], ~(1ull << i % 64));
}

cudaError_t launch_atomics(unsigned long long *y, int grid, int block, cudaStream_t s)
{
    return EG__LAUNCH(atomics, grid, block, 0, s, y);
}

__global__ void functions(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float v = __ldg(x + i);
    float4 *out = reinterpret_cast<float4 *>(y + 16 * i);
    __stcs(out, make_float4(rsqrtf(1 + v * v), erfinvf(v), sinpif(v), cospif(v)));
    out[1] = make_float4(__saturatef(2 * v), min(v, 0.25f), __expf(v), __fdividef(v, 2));
    float whole = float(__float2int_rn(10 * v)), bits = __uint_as_float(__float_as_uint(v));
    out[2] = make_float4(whole, bits, float(__clz(i + 1)), float(__popc(unsigned(i)) + __ffs(i)));
    out[3] = make_float4(float(__brev(1u) >> 31), float(__umulhi(0x80000000u, 6)), normcdff(v), float(max(i, 3)));
}

cudaError_t launch_functions(const float *x, float *y, int n, cudaStream_t s)
{
    return EG__LAUNCH(functions, (n + 31) / 32, 32, 0, s, x, y, n);
}

__global__ void wrong(enum fault_way way, float *y)
{
    EG__DYN_SHARED(float, part);
    int t = threadIdx.x;
    switch (way) {
    case FAULT_BARRIER_IN_BRANCH:
        if (t < 40) {
            __syncthreads();
        }
        break;
    case FAULT_TWO_BARRIERS:
        if (t < 40) {
            __syncthreads();
        } else {
            __syncthreads();
        }
        break;
    case FAULT_ENDED_LANE:
        if (t == 7) {
            return;
        }
        y[t] = __shfl_xor_sync(0xffffffffu, float(t), 1);
        break;
    case FAULT_DIVERGED_LANE:
        if (t != 7) {
            y[t] = __shfl_xor_sync(0xffffffffu, float(t), 1);
        }
        __syncthreads();
        break;
    case FAULT_NOT_IN_MASK:
        y[t] = __shfl_xor_sync(0x0000ffffu, float(t), 1);
        break;
    case FAULT_SHARED_PAST_END:
        part[t + 1] = float(t);
        break;
    case FAULT_TRAP:
        __trap();
    }
}

cudaError_t launch_fault(enum fault_way way, float *y, cudaStream_t s)
{
    return EG__LAUNCH(wrong, 2, 64, 64 * sizeof(float), s, way, y);
}
