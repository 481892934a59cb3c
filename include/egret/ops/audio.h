/* audio.h - what is heard in a signal: spectra, mel bands, cepstra, and the way back to samples.
 *
 * A signal is [.., samples], floats in -1..1; features are [.., frames, bands], frames first as in
 * eg_stft (librosa and torchaudio have the two axes the other way round). The cepstra of 16,000 Hz
 * in frames of 30 ms, every 10 ms:
 *     eg_tensor *bands = eg_mel_filters(512, 16000, 40, .low = 20, .high = 4000);
 *     eg_tensor *spectra = eg_spectrogram(x, 480, .hop = 160, .n_fft = 512, .window = eg_hann_window(480));
 *     eg_tensor *mel = eg_log(eg_clamp_min(eg_matmul(spectra, bands), 1e-10));
 *     eg_tensor *cepstra = eg_matmul(mel, eg_dct_matrix(40, 13, true));
 * All have the gradients of their steps. Files, other rates and noise: data/audio.h; the same as a module that
 * keeps its tables: nn/audio.h. */
#ifndef EGRET_OPS_AUDIO_H
#define EGRET_OPS_AUDIO_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- spectra ----------------------------------------------------------------------------- */

typedef struct eg_spectrogram_options {
    size_t size;
    int64_t hop; /* as in eg_stft, all four */
    int64_t n_fft;
    eg_tensor *window;
    bool center;
    double power; /* of the magnitudes; 0: 2 */
} eg_spectrogram_options;

/* |eg_stft|^power: x [.., samples] -> [.., frames, n_fft / 2 + 1].
 * Errors as eg_stft; EG_EINVAL for a power below 0. */
EG_API eg_tensor *eg_spectrogram_with(eg_tensor *x, int64_t frame, const eg_spectrogram_options *options);
#define eg_spectrogram(...)            EG_SPECTROGRAM_(__VA_ARGS__, )
#define EG_SPECTROGRAM_(x, frame, ...) eg_spectrogram_with(x, frame, EG_OPTIONS_(eg_spectrogram_options, __VA_ARGS__))

typedef struct eg_decibels_options {
    size_t size;
    double reference; /* what is 0 dB; 0: 1 */
    double floor;     /* the least power that counts; 0: 1e-10 */
    double range;     /* below the loudest of x nothing is softer than by so many dB; 0: no limit */
} eg_decibels_options;
/* 10 log10(max(x, floor) / reference) of powers. EG_EINVAL for a number below 0. */
EG_API eg_tensor *eg_decibels_with(eg_tensor *x, const eg_decibels_options *options);
#define eg_decibels(...)     EG_DECIBELS_(__VA_ARGS__, )
#define EG_DECIBELS_(x, ...) eg_decibels_with(x, EG_OPTIONS_(eg_decibels_options, __VA_ARGS__))

/* ---- bands and cepstra ------------------------------------------------------------------- */

/* What a frequency is in mels, and what a band's sides are straight over. */
typedef enum eg_mel_scale {
    EG_MEL_HTK,        /* 2595 log10(1 + f / 700), over Hz: torchaudio's, librosa's with htk */
    EG_MEL_SLANEY,     /* 3 f / 200 below 1,000 Hz, then 27 a factor of 6.4, over Hz: librosa's */
    EG_MEL_TENSORFLOW, /* as HTK, over mels and without the bin of 0 Hz: tf.signal's, .first = 1 */
} eg_mel_scale;

typedef struct eg_mel_options {
    size_t size;
    double low, high; /* Hz; high 0: half the rate */
    eg_mel_scale scale;
    bool area;     /* each band divided by half its width in Hz (Slaney's norm), so that noise is even */
    int64_t first; /* bins below it are in no band. TensorFlow's kernel Mfcc: 1.5 + low n_fft / rate, cut */
} eg_mel_options;

/* Triangles evenly spaced in mels as a matrix f32 [n_fft / 2 + 1, bands], on the device of new
 * tensors: spectra [.., bins] times it are bands. EG_EINVAL: sizes or rate below 1, not 0 <= low <
 * high <= rate / 2, a first below 0. */
EG_API eg_tensor *eg_mel_filters_with(int64_t n_fft, double rate, int64_t bands, const eg_mel_options *options);
#define eg_mel_filters(...) EG_MEL_FILTERS_(__VA_ARGS__, )
#define EG_MEL_FILTERS_(n_fft, rate, bands, ...) \
    eg_mel_filters_with(n_fft, rate, bands, EG_OPTIONS_(eg_mel_options, __VA_ARGS__))

/* The cosine transform (DCT-II) as a matrix f32 [n, coefficients], on the device of new tensors:
 * sqrt(2 / n) cos(pi (i + 1/2) k / n). ortho: column 0 by sqrt(1 / n), so that the square matrix is
 * orthogonal, as librosa and torchaudio have it; TensorFlow's kernel Mfcc has not.
 * EG_EINVAL: not 1 <= coefficients <= n. */
EG_API eg_tensor *eg_dct_matrix(int64_t n, int64_t coefficients, bool ortho);

/* How features change: y[t] = sum over k of k (x[t + k] - x[t - k]) / (2 sum of k^2), k = 1 .. reach, over
 * axis -2; the first and last frame go on at the ends. torchaudio's compute_deltas has reach 2.
 * EG_ESHAPE: no such axis, or none of its frames; EG_EINVAL: reach outside 1..4096. */
EG_API eg_tensor *eg_deltas(eg_tensor *x, int64_t reach);

/* y[i] = x[i] - k x[i - 1], y[0] = x[0]; and what undoes it is no op: a filter that feeds itself. */
EG_API eg_tensor *eg_pre_emphasis(eg_tensor *x, double k);

/* ---- back to samples --------------------------------------------------------------------- */

typedef struct eg_istft_options {
    size_t size;
    int64_t hop; /* as they were in eg_stft, all four */
    int64_t n_fft;
    eg_tensor *window;
    bool center;
    int64_t samples; /* of the signal, cut or with zeros behind; 0: as many as the frames reach */
} eg_istft_options;

/* The signal whose spectra come nearest (Griffin and Lim 1984): frames y [.., frames, bins, 2] of `frame`
 * samples, transformed back, windowed, added where they lie and divided by the windows' squares;
 * 0 where these are below 1e-11. Of unchanged spectra it is what eg_stft was given.
 * EG_EINVAL: a frame or hop below 1, n_fft below the frame, samples below 0; EG_ESHAPE: y is not complex or has
 * not n_fft / 2 + 1 bins, no frame, another size of window. */
EG_API eg_tensor *eg_istft_with(eg_tensor *y, int64_t frame, const eg_istft_options *options);
#define eg_istft(...)            EG_ISTFT_(__VA_ARGS__, )
#define EG_ISTFT_(y, frame, ...) eg_istft_with(y, frame, EG_OPTIONS_(eg_istft_options, __VA_ARGS__))

typedef struct eg_griffin_lim_options {
    size_t size;
    int64_t hop;
    eg_tensor *window;
    int64_t samples;
    int iterations;  /* up to 10000; 0: 32 */
    double momentum; /* of Perraudin et al. 2013, below 1; 0: 0.99, EG_ZERO: none */
} eg_griffin_lim_options;

/* A signal with about these magnitudes [.., frames, frame / 2 + 1] (eg_spectrogram with .power = 1, .center): phases,
 * first drawn from the thread's stream, become in turn those of the signal they give. Frames are centred.
 * No gradient. Errors as eg_istft; EG_ESHAPE for fewer frames than half a frame can be reflected from; EG_EDTYPE: no
 * floats; EG_EINVAL for iterations outside that, momentum outside 0..1. */
EG_API eg_tensor *eg_griffin_lim_with(eg_tensor *magnitudes, int64_t frame, const eg_griffin_lim_options *options);
#define eg_griffin_lim(...) EG_GRIFFIN_LIM_(__VA_ARGS__, )
#define EG_GRIFFIN_LIM_(magnitudes, frame, ...) \
    eg_griffin_lim_with(magnitudes, frame, EG_OPTIONS_(eg_griffin_lim_options, __VA_ARGS__))

EG_END_DECLS

#endif
