/* fft.h - between the kernels around Fourier transforms and their host side. Plain C and CUDA. */
#ifndef EGRET_CUDA_FFT_H
#define EGRET_CUDA_FFT_H

#include <stdbool.h>

#include <cuda_runtime_api.h>

#include "lib/cuda/common/divide.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y = scale x, f64 if `wide`; x may be y. */
cudaError_t eg__launch_fft_scale(const void *x, void *y, int64_t n, double scale, bool wide, cudaStream_t s);
/* The same of n / 2 pairs, pair i being bin i / step % bins of some line; but bins 0 and `last` get
 * no imaginary part. */
cudaError_t eg__launch_fft_bins(const void *x, void *y, int64_t n, int64_t step, int64_t bins, int64_t last,
                                double scale, bool wide, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
