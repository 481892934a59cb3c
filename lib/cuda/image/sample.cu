/* sample.cu - kernels that read images at points, and what the points get. */
#include "lib/cuda/image/sample.cuh"

namespace
{

/* N: pixels along an axis. */
template <class T, int N, bool WIDE>
__global__ void __launch_bounds__(EG__BLOCK, 2) read(const eg__sampling k, const eg__divisor pixels)
{
    int64_t pixel, first;
    if (!share_of(k, pixels, &pixel, &first)) {
        return;
    }
    const place at(k, pixel);
    const T *x = (const T *)k.images + image_of(k, at.b) * k.istride[0];
    T *y = (T *)k.pictures + at.at(k);
    const int across = (int)k.o.block[0], count = across * (int)k.o.block[1];
    point<T> p;
    bool there = false;
    for (int64_t group = first; group < k.groups; group += k.threads.d) {
        const int64_t channel = 4 * group, left = k.channels - channel;
        T sum[4] = {0, 0, 0, 0};
        for (int s = 0; s < count; s++) {
            if (count > 1 || group == first) {
                there = p.find(k, at.b, at.row * k.o.block[1] + s / across, at.col * across + s % across);
            }
            if (!there) {
#pragma unroll
                for (int c = 0; c < 4; c++) {
                    sum[c] += (T)k.o.fill;
                }
                continue;
            }
#pragma unroll
            for (int t = 0; t < N * N; t++) {
                const T w = p.y.w[t / N] * p.x.w[t % N] * (T)k.o.share;
                if (w != 0) {
                    T v[4];
                    load_four<T, WIDE>(x + channel * k.istride[1] + p.y.at[t / N] * k.istride[2] +
                                           p.x.at[t % N] * k.istride[3],
                                       k.istride[1], left, v);
#pragma unroll
                    for (int c = 0; c < 4; c++) {
                        sum[c] += w * v[c];
                    }
                }
            }
        }
        store_four<T, WIDE>(y + channel * k.ystride[1], k.ystride[1], left, sum);
    }
}

template <class T> __device__ __forceinline__ T moved(T weight, T value)
{
    return weight != 0 ? weight * value : 0;
}

enum { WARPS = EG__BLOCK / 32 };

/* A warp for a point where channels lie side by side; else a warp for 32 points, the others of the block with a part
 * of the channels each. */
template <class T, int N, bool LAST> __global__ void __launch_bounds__(EG__BLOCK) move(const eg__sampling k)
{
    __shared__ T sums[2][WARPS][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t pixel = LAST ? (int64_t)blockIdx.x * WARPS + warp : (int64_t)blockIdx.x * 32 + lane;
    T g[2] = {0, 0};
    point<T> p;
    if (pixel < k.pixels) {
        const place at(k, pixel);
        if (p.find(k, at.b, at.row, at.col)) {
            const T *x = (const T *)k.images + image_of(k, at.b) * k.istride[0];
            const T *dy = (const T *)k.pictures + at.at(k);
            for (int64_t c = LAST ? lane : warp; c < k.channels; c += LAST ? 32 : (int)WARPS) {
                const T d = dy[c * k.ystride[1]];
#pragma unroll
                for (int t = 0; t < N * N; t++) {
                    const T v = d * x[c * k.istride[1] + p.y.at[t / N] * k.istride[2] + p.x.at[t % N] * k.istride[3]];
                    g[0] += moved(p.y.w[t / N] * p.x.d[t % N], v);
                    g[1] += moved(p.y.d[t / N] * p.x.w[t % N], v);
                }
            }
        }
    }
    if (LAST) {
        for (int bits = 16; bits > 0; bits /= 2) {
            g[0] += __shfl_xor_sync(0xffffffffu, g[0], bits);
            g[1] += __shfl_xor_sync(0xffffffffu, g[1], bits);
        }
    } else {
        sums[0][warp][lane] = g[0];
        sums[1][warp][lane] = g[1];
        __syncthreads();
        for (int w = 1; w < WARPS && warp == 0; w++) {
            g[0] += sums[0][w][lane];
            g[1] += sums[1][w][lane];
        }
    }
    if (pixel < k.pixels && (LAST ? lane : warp) == 0) {
        ((T *)k.moved[0])[pixel] = g[0];
        ((T *)k.moved[1])[pixel] = g[1];
    }
}

template <class T, bool WIDE> cudaError_t start_read(const eg__sampling &k, cudaStream_t s)
{
    const unsigned grid = eg__blocks(k.pixels * k.threads.d);
    const eg__divisor pixels = eg__divisor_of(k.pixels);
    switch (k.o.mode) {
    case EG_SAMPLE_BILINEAR:
        return EG__LAUNCH((read<T, 2, WIDE>), grid, EG__BLOCK, 0, s, k, pixels);
    case EG_SAMPLE_NEAREST:
        return EG__LAUNCH((read<T, 1, WIDE>), grid, EG__BLOCK, 0, s, k, pixels);
    default:
        return EG__LAUNCH((read<T, 4, WIDE>), grid, EG__BLOCK, 0, s, k, pixels);
    }
}

template <class T, bool LAST> cudaError_t start_move(const eg__sampling &k, cudaStream_t s)
{
    const int64_t each = LAST ? (int64_t)WARPS : 32;
    const unsigned grid = (unsigned)((k.pixels + each - 1) / each);
    return k.o.mode == EG_SAMPLE_BILINEAR ? EG__LAUNCH((move<T, 2, LAST>), grid, EG__BLOCK, 0, s, k)
                                          : EG__LAUNCH((move<T, 4, LAST>), grid, EG__BLOCK, 0, s, k);
}

} // namespace

/* ---- starting -------------------------------------------------------------------------------------- */

cudaError_t eg__launch_sample(const eg__sampling *k, cudaStream_t s)
{
    return k->f64    ? start_read<double, false>(*k, s)
           : k->wide ? start_read<float, true>(*k, s)
                     : start_read<float, false>(*k, s);
}

cudaError_t eg__launch_sample_points(const eg__sampling *k, cudaStream_t s)
{
    if (k->f64) {
        return k->last ? start_move<double, true>(*k, s) : start_move<double, false>(*k, s);
    }
    return k->last ? start_move<float, true>(*k, s) : start_move<float, false>(*k, s);
}
