/* conv.cu - convolutions of any shape, element by element, for what cuDNN does not do and where it is not. */
#include "lib/cuda/conv/conv.cuh"

namespace
{

template <class T> __global__ void __launch_bounds__(EG__BLOCK) conv_direct(const eg__convolved k)
{
    const int64_t i = eg__self();
    if (i >= k.positions.n) {
        return;
    }
    const eg__position s(k.positions, i);
    const int64_t first = s.channel / k.outs * k.each;
    T sum = 0;
#pragma unroll 1
    for (int a = 0; a < k.k[0]; a++) {
        const int at0 = conv_cell(k, 0, s.p[0], a);
#pragma unroll 1
        for (int b = 0; at0 >= 0 && b < k.k[1]; b++) {
            const int at1 = conv_cell(k, 1, s.p[1], b);
#pragma unroll 1
            for (int c = 0; at1 >= 0 && c < k.k[2]; c++) {
                const int at2 = conv_cell(k, 2, s.p[2], c);
                if (at2 >= 0) {
                    const int64_t x = place_of(k.sx, s.image, first, at0, at1, at2);
                    const int64_t w = place_of(k.sw, s.channel, 0, a, b, c);
                    sum += dot<T>(k, k.x, x, k.sx[1], k.w, w, k.sw[1], k.each);
                }
            }
        }
    }
    put_biased<T>(k, k.y, i, s.channel, sum);
}

template <class T> __global__ void __launch_bounds__(EG__BLOCK) conv_data_direct(const eg__convolved k)
{
    const int64_t i = eg__self();
    if (i >= k.positions.n) {
        return;
    }
    const eg__position s(k.positions, i);
    const int64_t group = s.channel / k.each, first = group * k.outs, within = s.channel - group * k.each;
    T sum = 0;
#pragma unroll 1
    for (int a = 0; a < k.k[0]; a++) {
        const int at0 = conv_window(k, 0, s.p[0], a);
#pragma unroll 1
        for (int b = 0; at0 >= 0 && b < k.k[1]; b++) {
            const int at1 = conv_window(k, 1, s.p[1], b);
#pragma unroll 1
            for (int c = 0; at1 >= 0 && c < k.k[2]; c++) {
                const int at2 = conv_window(k, 2, s.p[2], c);
                if (at2 >= 0) {
                    const int64_t y = place_of(k.sy, s.image, first, at0, at1, at2);
                    const int64_t w = place_of(k.sw, first, within, a, b, c);
                    sum += dot<T>(k, k.y, y, k.sy[1], k.w, w, k.sw[0], k.outs);
                }
            }
        }
    }
    put_biased<T>(k, k.x, i, s.channel, sum);
}

/* A block for each weight, of as many threads as places are worth. */
template <class T> __global__ void __launch_bounds__(EG__BLOCK) conv_weight_direct(const eg__convolved k)
{
    __shared__ T room[EG__BLOCK];
    int64_t rest = blockIdx.x;
    int tap[3];
#pragma unroll
    for (int d = 2; d >= 0; d--) {
        const int64_t q = eg__divide(rest, k.whole[d + 1]);
        tap[d] = (int)(rest - q * k.whole[d + 1].d);
        rest = q;
    }
    const int64_t o = eg__divide(rest, k.whole[0]), within = rest - o * k.each;
    const int64_t c = o / k.outs * k.each + within, places = k.n * k.out[0] * k.out[1] * k.out[2];
    T sum = 0;
#pragma unroll 1
    for (int64_t i = threadIdx.x; i < places; i += blockDim.x) {
        const eg__position s(k.positions, i);
        const int at0 = conv_cell(k, 0, s.p[0], tap[0]), at1 = conv_cell(k, 1, s.p[1], tap[1]);
        const int at2 = conv_cell(k, 2, s.p[2], tap[2]);
        if (at0 >= 0 && at1 >= 0 && at2 >= 0) {
            const int64_t x = place_of(k.sx, s.image, c, at0, at1, at2);
            const int64_t y = place_of(k.sy, s.image, o, s.p[0], s.p[1], s.p[2]);
            sum += get<T>(k, k.x, x) * get<T>(k, k.y, y);
        }
    }
    room[threadIdx.x] = sum;
    __syncthreads();
#pragma unroll 1
    for (unsigned half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half) {
            room[threadIdx.x] += room[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        put<T>(k, k.w, blockIdx.x, room[0]);
    }
}

} // namespace

/* ---- starting -------------------------------------------------------------------------------- */

#define START(name, kernel, blocks, threads)                                              \
    cudaError_t eg__launch_##name(const eg__convolved *k, cudaStream_t s)                 \
    {                                                                                     \
        return k->dtype == EG_F64 ? EG__LAUNCH(kernel<double>, blocks, threads, 0, s, *k) \
                                  : EG__LAUNCH(kernel<float>, blocks, threads, 0, s, *k); \
    }
START(conv, conv_direct, eg__blocks(k->positions.n), EG__BLOCK)
START(conv_data, conv_data_direct, eg__blocks(k->positions.n), EG__BLOCK)

static unsigned threads_of(const eg__convolved *k)
{
    unsigned threads = 32;
    while (threads < EG__BLOCK && 4 * (int64_t)threads < k->positions.n) {
        threads *= 2;
    }
    return threads;
}
START(conv_weight, conv_weight_direct, (unsigned)k->weights, threads_of(k))
