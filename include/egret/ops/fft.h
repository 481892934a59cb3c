/* fft.h - Fourier transforms, and the spectrum of a signal over time.
 *
 * There is no complex dtype: a complex tensor is a real one whose last axis has size 2, the real
 * and the imaginary part (what torch.view_as_real gives). That axis is not counted where axes are
 * named: of a complex tensor [4, 512, 2] axis 1, or -1, is the one of 512. Magnitudes are
 * eg_norm(y, .axes = EG_AXES(-1)), powers eg_sum(eg_square(y), .axes = EG_AXES(-1)).
 *
 * f32 and f64; integers and bools become f32 first, halves under eg_autocast, else they are refused.
 * Any length takes time n log n, primes too. Lengths of small factors are fastest. */
#ifndef EGRET_OPS_FFT_H
#define EGRET_OPS_FFT_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* Which way divides by n: the inverse one, the forward one, or each by the root of n. */
typedef enum eg_fft_norm { EG_FFT_BACKWARD, EG_FFT_FORWARD, EG_FFT_ORTHO } eg_fft_norm;

/* Zero-initialised: over the last axis as it is. */
typedef struct eg_fft_options {
    size_t size;
    int64_t n;    /* the length: cuts the axis or pads it with zeros behind; 0: as it is */
    eg_axes axes; /* one after the other, by their own sizes; none: the last one */
    eg_fft_norm norm;
} eg_fft_options;
#define EG_FFT_(function, x, ...) function(x, EG_OPTIONS_(eg_fft_options, __VA_ARGS__))
#define EG_FFT(function, ...)     EG_FFT_(function, __VA_ARGS__, )

/* y[k] = sum over j of x[j] e^(-2 pi i j k / n), complex to complex; eg_ifft with +i, divided
 * by n. Of images: eg_fft(x, .axes = EG_AXES(-2, -1)).
 * grad: dy transformed the other way, with the factor of this one    saves nothing
 * EG_ESHAPE: the last axis is not 2, an axis outside the rank, named twice, or without elements.
 * EG_EINVAL: n < 0, or n given for several axes. */
EG_API eg_tensor *eg_fft_with(eg_tensor *x, const eg_fft_options *options);
#define eg_fft(...) EG_FFT(eg_fft_with, __VA_ARGS__)
EG_API eg_tensor *eg_ifft_with(eg_tensor *x, const eg_fft_options *options);
#define eg_ifft(...) EG_FFT(eg_ifft_with, __VA_ARGS__)

/* The transform of a real tensor: [.., n, ..] -> complex [.., n / 2 + 1, .., 2], the bins 0 to
 * n / 2; the others are their conjugates. Of several axes the last one named is halved, the others
 * follow as in eg_fft.
 * grad and errors as there; EG_ESHAPE also for 8 axes, which leave none for the pairs. */
EG_API eg_tensor *eg_rfft_with(eg_tensor *x, const eg_fft_options *options);
#define eg_rfft(...) EG_FFT(eg_rfft_with, __VA_ARGS__)
/* The real tensor with these bins: complex [.., m, .., 2] -> [.., n, ..]. Without .n
 * it is 2 (m - 1), so an odd n must be named; of several axes .n is that of the last one, which is
 * transformed last. What bin 0, and bin n / 2 of an even n, have of an imaginary part does not
 * count.
 * grad and errors as in eg_fft */
EG_API eg_tensor *eg_irfft_with(eg_tensor *x, const eg_fft_options *options);
#define eg_irfft(...) EG_FFT(eg_irfft_with, __VA_ARGS__)

/* a b of complex tensors, which broadcast. */
EG_API eg_tensor *eg_complex_mul(eg_tensor *a, eg_tensor *b);

/* ---- signals over time ------------------------------------------------------------------- */

/* Pieces of the last axis: x [.., t] -> y[.., i, j] = x[.., hop i + j], of `length` samples each,
 * as many as lie inside. Any dtype. grad: dy summed over the pieces a sample is in.
 * EG_ESHAPE: an axis shorter than a piece; EG_EINVAL: length or hop below 1. */
EG_API eg_tensor *eg_frames(eg_tensor *x, int64_t length, int64_t hop);

/* Windows of n samples that continue periodically, f32 on the device of new tensors:
 * 0.5 - 0.5 cos(2 pi j / n), and 0.54 - 0.46 cos(2 pi j / n); 1 where n is 1. EG_EINVAL: n < 1. */
EG_API eg_tensor *eg_hann_window(int64_t n);
EG_API eg_tensor *eg_hamming_window(int64_t n);

typedef struct eg_stft_options {
    size_t size;
    int64_t hop;       /* from frame to frame; 0: a quarter of the frame */
    int64_t n_fft;     /* transformed length, zeros behind the frame; 0: the frame's */
    eg_tensor *window; /* [frame], multiplies each frame; NULL: ones */
    bool center;       /* half a frame reflected at both ends: frame i has hop i in its middle */
} eg_stft_options;

/* Spectra over time: x [.., t] -> complex [.., frames, n_fft / 2 + 1, 2], of frames of `frame`
 * samples, windowed. torch.stft has the two axes the other way round.
 * grad (x, window): through all steps. EG_EINVAL: a frame, hop or n_fft below 1, n_fft < frame; EG_ESHAPE: a window
 * of another size, a signal shorter than a frame. */
EG_API eg_tensor *eg_stft_with(eg_tensor *x, int64_t frame, const eg_stft_options *options);
#define eg_stft(...)            EG_STFT_(__VA_ARGS__, )
#define EG_STFT_(x, frame, ...) eg_stft_with(x, frame, EG_OPTIONS_(eg_stft_options, __VA_ARGS__))

EG_END_DECLS

#endif
