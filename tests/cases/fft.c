/* fft.c - Fourier transforms: lengths even, odd and prime, of small and of large factors, few lines
 * and many, the axis last and not, cut and padded; what is composed of them. */
#include "tests/cases.h"

CASE_FUNCTION(fft, eg_fft(x[0]))
CASE_FUNCTION(ifft, eg_ifft(x[0]))
CASE_FUNCTION(fft_ortho, eg_fft(x[0], .norm = EG_FFT_ORTHO))
CASE_FUNCTION(ifft_forward, eg_ifft(x[0], .norm = EG_FFT_FORWARD))
CASE_FUNCTION(fft_first, eg_fft(x[0], .axes = EG_AXES(0)))
CASE_FUNCTION(fft_middle, eg_fft(x[0], .axes = EG_AXES(-2), .norm = EG_FFT_FORWARD))
CASE_FUNCTION(fft_cut, eg_fft(x[0], .n = 5))
CASE_FUNCTION(fft_padded, eg_ifft(x[0], .n = 16, .axes = EG_AXES(0)))
CASE_FUNCTION(fft2, eg_fft(x[0], .axes = EG_AXES(-2, -1)))
CASE_FUNCTION(rfft, eg_rfft(x[0]))
CASE_FUNCTION(rfft_first, eg_rfft(x[0], .axes = EG_AXES(0), .norm = EG_FFT_ORTHO))
CASE_FUNCTION(rfft_cut, eg_rfft(x[0], .n = 6))
CASE_FUNCTION(rfft_padded, eg_rfft(x[0], .n = 15))
CASE_FUNCTION(rfft2, eg_rfft(x[0], .axes = EG_AXES(1, 0)))
CASE_FUNCTION(irfft, eg_irfft(x[0]))
CASE_FUNCTION(irfft_odd, eg_irfft(x[0], .n = 2 * eg_size(x[0], -2) - 1))
CASE_FUNCTION(irfft_first, eg_irfft(x[0], .axes = EG_AXES(0), .norm = EG_FFT_ORTHO))
CASE_FUNCTION(irfft_cut, eg_irfft(x[0], .n = 5))
CASE_FUNCTION(irfft_padded, eg_irfft(x[0], .n = 18))
CASE_FUNCTION(irfft2, eg_irfft(x[0], .axes = EG_AXES(0, 1), .n = 3))
CASE_FUNCTION(product, eg_complex_mul(x[0], x[1]))
CASE_FUNCTION(frames, eg_frames(x[0], 5, 2))
CASE_FUNCTION(stft, eg_stft(x[0], 6, .hop = 4, .window = x[1], .n_fft = 8))
CASE_FUNCTION(stft_centred, eg_stft(x[0], 8, .center = true))

#define IN(...)                     \
    {                               \
        DIMS(__VA_ARGS__), -1, 1, 0 \
    }
#define ROW(op, name, f, ...)                                                   \
    {                                                                           \
        op, name, f, {IN(__VA_ARGS__)}, .flags = EGT_NO_HALF, .tolerance = 1e-5 \
    }
/* Too large for finite differences; sums of many grow. */
#define LARGE(op, name, f, ...)                                                               \
    {                                                                                         \
        op, name, f, {IN(__VA_ARGS__)}, .flags = EGT_NO_HALF | EGT_NO_GRAD, .tolerance = 4e-5 \
    }
#define COMPOSED(name, f, ...)                              \
    {                                                       \
        "fft rfft", name, f, __VA_ARGS__, .tolerance = 1e-5 \
    }

EGT_CASES(fft, ROW("fft", "eight", fft, 3, 8, 2), ROW("fft", "one", fft, 3, 1, 2), ROW("fft", "two", fft, 2, 2, 2),
          ROW("fft", "fifteen", fft, 2, 15, 2), ROW("fft", "prime", fft, 2, 7, 2),
          ROW("fft", "large prime", fft, 1, 37, 2), ROW("fft", "alone", fft, 6, 2),
          ROW("fft", "inverse", ifft, 2, 12, 2), ROW("fft", "ortho", fft_ortho, 2, 10, 2),
          ROW("fft", "inverse, forward", ifft_forward, 2, 9, 2), ROW("fft", "first axis", fft_first, 6, 3, 2),
          ROW("fft", "middle axis", fft_middle, 2, 5, 4, 2), ROW("fft", "cut", fft_cut, 2, 8, 2),
          ROW("fft", "padded", fft_padded, 3, 2, 2), ROW("fft", "two axes", fft2, 3, 4, 2),
          ROW("fft", "no lines", fft, 0, 4, 2), LARGE("fft", "lines of many", fft, 37, 60, 2),
          LARGE("fft", "columns of many", fft_first, 48, 41, 2), LARGE("fft", "a long line", ifft, 1, 360, 2),
          LARGE("fft", "a few long lines", fft, 3, 256, 2), LARGE("fft", "columns of sheets", fft_middle, 3, 30, 19, 2),
          LARGE("fft", "lines of a large prime", fft, 19, 53, 2), LARGE("fft", "of large factors", fft, 2, 202, 2),
          LARGE("fft", "long columns", fft_first, 512, 3, 2), ROW("rfft", "eight", rfft, 3, 8),
          ROW("rfft", "one", rfft, 3, 1), ROW("rfft", "two", rfft, 2, 2), ROW("rfft", "odd", rfft, 2, 9),
          ROW("rfft", "twice a prime", rfft, 2, 14), ROW("rfft", "prime", rfft, 2, 11),
          ROW("rfft", "first axis", rfft_first, 6, 5), ROW("rfft", "first axis, odd", rfft_first, 5, 3),
          ROW("rfft", "cut", rfft_cut, 2, 9), ROW("rfft", "padded", rfft_padded, 2, 9),
          ROW("rfft fft", "two axes", rfft2, 4, 5), ROW("rfft", "no lines", rfft, 0, 4),
          LARGE("rfft", "lines of many", rfft, 37, 80), LARGE("rfft", "columns of many", rfft_first, 48, 41),
          LARGE("rfft", "odd lines of many", rfft, 21, 45), LARGE("rfft", "a long line", rfft, 1, 1000),
          LARGE("rfft", "twice a large prime", rfft, 2, 74), LARGE("rfft", "long columns", rfft_first, 600, 3),
          ROW("irfft", "to eight", irfft, 3, 5, 2), ROW("irfft", "to two", irfft, 3, 2, 2),
          ROW("irfft", "to one", irfft_odd, 3, 1, 2), ROW("irfft", "to odd", irfft_odd, 2, 5, 2),
          ROW("irfft", "to a prime", irfft_odd, 2, 6, 2), ROW("irfft", "first axis", irfft_first, 4, 5, 2),
          ROW("irfft", "cut", irfft_cut, 2, 6, 2), ROW("irfft", "padded", irfft_padded, 2, 6, 2),
          ROW("irfft fft", "two axes", irfft2, 4, 3, 2), ROW("irfft", "no lines", irfft, 0, 4, 2),
          LARGE("irfft", "lines of many", irfft, 37, 41, 2), LARGE("irfft", "columns of many", irfft_first, 25, 41, 2),
          LARGE("irfft", "odd lines of many", irfft_odd, 21, 23, 2), LARGE("irfft", "a long line", irfft, 1, 501, 2),
          LARGE("irfft", "twice a large prime", irfft, 2, 38, 2),
          LARGE("irfft", "long columns", irfft_first, 301, 3, 2),
          COMPOSED("product", product, {IN(3, 4, 2), IN(4, 2)}, .flags = EGT_NO_HALF | EGT_NO_REF),
          COMPOSED("frames", frames, {IN(2, 12)}, .flags = EGT_INTS | EGT_NO_HALF | EGT_NO_REF),
          COMPOSED("stft", stft, {IN(2, 19), IN(6)}, .flags = EGT_NO_HALF | EGT_NO_REF),
          COMPOSED("stft, centred", stft_centred, {IN(21)}, .flags = EGT_NO_HALF | EGT_NO_REF))
