/* categorical.cu - draws by weight: running sums of each row, then a search for each draw. */
#include "lib/cuda/common/fault.cuh"
#include "lib/cuda/random/draws.cuh"
#include "lib/math/philox64.h"
#include "lib/math/scalar.h"

#include <egret/tensor.h>

#define ALL 0xffffffffu

enum { MOST = 1024, SEARCH = 256 };

/* What is wrong with the row is told once, by the first class it is seen at. */
static __device__ void refuse(const eg__choosing &k, int kind, int64_t row, int64_t at)
{
    eg__report_row(k.fault, kind, k.op, k.row + row, at);
}

/* The largest of a block's threads. */
static __device__ double block_max(double v)
{
    __shared__ double of[MOST / 32];
    const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (int d = 16; d > 0; d /= 2) {
        v = fmax(v, __shfl_xor_sync(ALL, v, d));
    }
    if (lane == 0) {
        of[threadIdx.x / 32] = v;
    }
    __syncthreads();
    for (int w = 0; w < warps; w++) {
        v = fmax(v, of[w]);
    }
    return v;
}

/* A block per row; each warp has a part of it and needs the others' sums only. */
template <class T> __global__ void __launch_bounds__(MOST, 1) running_sums(const eg__choosing k)
{
    __shared__ double before[MOST / 32 + 1];
    __shared__ long long wrong;
    const int64_t row = blockIdx.x;
    const T *x = (const T *)k.x + row * k.classes;
    double *sum = k.sums + row * k.classes;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int64_t part = (k.classes + blockDim.x - 1) / blockDim.x * 32;
    const int64_t begin = warp * part, end = begin + part < k.classes ? begin + part : k.classes;
    double top = -(double)INFINITY, own = 0;
    if (threadIdx.x == 0) {
        wrong = k.classes;
    }
    for (int64_t i = begin + lane; i < end; i += 32) {
        top = fmax(top, (double)x[i]);
    }
    top = block_max(top);
    const double scale = eg__f64_near_one(top);
    for (int64_t i = begin + lane; i < end; i += 32) {
        double v = (double)x[i];
        v = k.logits ? exp(v - top) : v * scale;
        if (!(v >= 0 && v < (double)INFINITY)) {
            atomicMin(&wrong, (long long)i);
            v = 0;
        }
        sum[i] = v;
        own += v;
    }
    for (int d = 16; d > 0; d /= 2) {
        own += __shfl_xor_sync(ALL, own, d);
    }
    if (lane == 0) {
        before[warp + 1] = own;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        before[0] = 0;
        for (int w = 0; w < warps; w++) {
            before[w + 1] += before[w];
        }
        if (wrong < k.classes) {
            refuse(k, EG__FAULT_WEIGHT, row, wrong);
        } else if (!(before[warps] > 0)) {
            refuse(k, EG__FAULT_SUM, row, 0);
        }
    }
    __syncthreads();
    double carry = before[warp];
    for (int64_t first = begin; first < end; first += 32) {
        const int64_t i = first + lane;
        double v = i < end ? sum[i] : 0;
        for (int d = 1; d < 32; d *= 2) {
            const double up = __shfl_up_sync(ALL, v, d);
            v += lane >= d ? up : 0;
        }
        v += carry;
        if (i < end) {
            sum[i] = v;
        }
        carry = __shfl_sync(ALL, v, 31);
    }
}

/* The first class whose running sum exceeds a uniform number's share of the whole. */
__global__ void __launch_bounds__(SEARCH) draw(const eg__choosing k)
{
    const int64_t i = (int64_t)blockIdx.x * SEARCH + threadIdx.x;
    if (i >= k.rows * k.n) {
        return;
    }
    const double *sum = k.sums + i / k.n * k.classes;
    const double u = sum[k.classes - 1] * eg__word_uniform64(eg__word64_of(k.from, k.row * k.n + i));
    int64_t low = 0, high = k.classes - 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (sum[middle] > u) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    k.y[i] = low;
}

cudaError_t eg__launch_categorical(const eg__choosing *k, cudaStream_t s)
{
    const int64_t warps = (k->classes + 255) / 256;
    const unsigned block = warps < MOST / 32 ? (unsigned)warps * 32 : (unsigned)MOST;
    const unsigned grid = (unsigned)((k->rows * k->n + SEARCH - 1) / SEARCH);
    cudaError_t e = k->dtype == EG_F64 ? EG__LAUNCH(running_sums<double>, (unsigned)k->rows, block, 0, s, *k)
                                       : EG__LAUNCH(running_sums<float>, (unsigned)k->rows, block, 0, s, *k);
    return e ? e : EG__LAUNCH(draw, grid, SEARCH, 0, s, *k);
}
