/* conv.cu - convolutions of any shape, element by element, for what cuDNN does not do and where it is not. */
#include "lib/cuda/conv.cuh"

namespace {

template <class T> __global__ void __launch_bounds__(EG__BLOCK) conv_direct(const eg__convolved k)
{
    const int64_t i = eg__self();
    if (i >= k.spots.n) {
        return;
    }
    const eg__spot s(k.spots, i);
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
                    const int64_t x = s.image * k.sx[0] + first * k.sx[1] + at0 * k.sx[2] + at1 * k.sx[3] + at2 * k.sx[4];
                    const int64_t w = s.channel * k.sw[0] + a * k.sw[2] + b * k.sw[3] + c * k.sw[4];
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
    if (i >= k.spots.n) {
        return;
    }
    const eg__spot s(k.spots, i);
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
                    const int64_t y = s.image * k.sy[0] + first * k.sy[1] + at0 * k.sy[2] + at1 * k.sy[3] + at2 * k.sy[4];
                    const int64_t w = first * k.sw[0] + within * k.sw[1] + a * k.sw[2] + b * k.sw[3] + c * k.sw[4];
                    sum += dot<T>(k, k.y, y, k.sy[1], k.w, w, k.sw[0], k.outs);
                }
            }
        }
    }
    put_biased<T>(k, k.x, i, s.channel, sum);
}

/* A block for each weight. */
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
    for (int64_t i = threadIdx.x; i < places; i += EG__BLOCK) {
        const eg__spot s(k.spots, i);
        const int at0 = conv_cell(k, 0, s.p[0], tap[0]), at1 = conv_cell(k, 1, s.p[1], tap[1]);
        const int at2 = conv_cell(k, 2, s.p[2], tap[2]);
        if (at0 >= 0 && at1 >= 0 && at2 >= 0) {
            const int64_t x = s.image * k.sx[0] + c * k.sx[1] + at0 * k.sx[2] + at1 * k.sx[3] + at2 * k.sx[4];
            const int64_t y = s.image * k.sy[0] + o * k.sy[1] + s.p[0] * k.sy[2] + s.p[1] * k.sy[3] + s.p[2] * k.sy[4];
            sum += get<T>(k, k.x, x) * get<T>(k, k.y, y);
        }
    }
    room[threadIdx.x] = sum;
    __syncthreads();
#pragma unroll 1
    for (unsigned half = EG__BLOCK / 2; half; half /= 2) {
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

#define START(name, kernel, blocks)                                                                \
    cudaError_t eg__launch_##name(const eg__convolved *k, cudaStream_t s)                          \
    {                                                                                              \
        return k->dtype == EG_F64 ? EG__LAUNCH(kernel<double>, blocks, EG__BLOCK, 0, s, *k)        \
                                  : EG__LAUNCH(kernel<float>, blocks, EG__BLOCK, 0, s, *k);        \
    }
START(conv, conv_direct, eg__blocks(k->spots.n))
START(conv_data, conv_data_direct, eg__blocks(k->spots.n))
START(conv_weight, conv_weight_direct, (unsigned)k->weights)
