/* conv.cuh - what kernels of convolutions share: where a tap reads, and elements as numbers. */
#ifndef EGRET_CUDA_CONV_CUH
#define EGRET_CUDA_CONV_CUH

#include "lib/cuda/common/element.cuh"
#include "lib/cuda/common/position.cuh"

#include "lib/cuda/conv/conv.h"

namespace
{

/* The cell that tap t of window p reads along axis d; -1: none. */
EG__FN int conv_cell(const eg__convolved &k, int d, int p, int t)
{
    const int at = p * k.stride[d] + t * k.dilation[d] - k.before[d];
    return at >= 0 && at < k.in[d] ? at : -1;
}

/* The window whose tap t reads cell p; -1: there is none. */
EG__FN int conv_window(const eg__convolved &k, int d, int p, int t)
{
    const int at = p + k.before[d] - t * k.dilation[d], step = k.stride[d];
    if (at < 0) {
        return -1;
    }
    const int q = step == 1 ? at : at / step;
    return q * step == at && q < k.out[d] ? q : -1;
}

/* In a tensor of these strides. */
EG__FN int64_t place_of(const int64_t *strides, int64_t first, int64_t second, int a, int b, int c)
{
    return first * strides[0] + second * strides[1] + a * strides[2] + b * strides[3] + c * strides[4];
}

/* T is double where elements are, else float. */
template <class T> EG__FN T get(const eg__convolved &k, const char *p, int64_t i);
template <> EG__FN float get<float>(const eg__convolved &k, const char *p, int64_t i)
{
    return eg__get<float>(p + i * (k.dtype == EG_F32 ? 4 : 2), k.dtype);
}
template <> EG__FN double get<double>(const eg__convolved &, const char *p, int64_t i)
{
    return ((const double *)p)[i];
}

template <class T> EG__FN void put(const eg__convolved &k, const char *p, int64_t i, T v)
{
    const int size = k.dtype == EG_F64 ? 8 : k.dtype == EG_F32 ? 4 : 2;
    eg__put((char *)(uintptr_t)p + i * size, k.dtype, v);
}

template <class T> EG__FN void put_biased(const eg__convolved &k, const char *p, int64_t i, int64_t channel, T v)
{
    put<T>(k, p, i, k.bias ? v + get<T>(k, k.bias, channel * k.bias_step) : v);
}

/* Of two runs of elements, from places a and b on. */
template <class T>
EG__FN T dot(const eg__convolved &k, const char *p, int64_t a, int64_t step_a, const char *q, int64_t b, int64_t step_b,
             int64_t n)
{
    T sum = 0;
#pragma unroll 1
    for (int64_t i = 0; i < n; i++) {
        sum += get<T>(k, p, a + i * step_a) * get<T>(k, q, b + i * step_b);
    }
    return sum;
}

} // namespace

#endif
