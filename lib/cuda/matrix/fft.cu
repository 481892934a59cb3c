/* fft.cu - what cuFFT leaves to do: factors, and bins that have no imaginary part. */
#include "lib/cuda/common/grid.cuh"

#include "lib/cuda/matrix/fft.h"

template <class T> __global__ void scaled(const T *x, T *y, int64_t n, T scale)
{
    const int64_t i = eg__self();
    if (i < n) {
        y[i] = scale * x[i];
    }
}

template <class T>
__global__ void bins(const T *x, T *y, int64_t n, eg__divisor step, eg__divisor count, int64_t last, T scale)
{
    const int64_t i = eg__self();
    if (i < n) {
        const int64_t before = eg__divide(i / 2, step), k = before - eg__divide(before, count) * count.d;
        y[i] = i % 2 && (k == 0 || k == last) ? 0 : x[i] * scale;
    }
}

extern "C" cudaError_t eg__launch_fft_scale(const void *x, void *y, int64_t n, double scale, bool wide, cudaStream_t s)
{
    return wide ? EG__LAUNCH(scaled<double>, eg__blocks(n), EG__BLOCK, 0, s, (const double *)x, (double *)y, n, scale)
                : EG__LAUNCH(scaled<float>, eg__blocks(n), EG__BLOCK, 0, s, (const float *)x, (float *)y, n,
                             (float)scale);
}

extern "C" cudaError_t eg__launch_fft_bins(const void *x, void *y, int64_t n, int64_t step, int64_t bins_of_line,
                                           int64_t last, double scale, bool wide, cudaStream_t s)
{
    const eg__divisor by_step = eg__divisor_of(step), by_count = eg__divisor_of(bins_of_line);
    return wide ? EG__LAUNCH(bins<double>, eg__blocks(n), EG__BLOCK, 0, s, (const double *)x, (double *)y, n, by_step,
                             by_count, last, scale)
                : EG__LAUNCH(bins<float>, eg__blocks(n), EG__BLOCK, 0, s, (const float *)x, (float *)y, n, by_step,
                             by_count, last, (float)scale);
}
