/* audio.c - features of sounds and the way back, which are composed of Fourier transforms and simpler things. */
#include "tests/cases.h"

CASE_FUNCTION(powers, eg_spectrogram(x[0], 6, .hop = 4, .window = x[1], .n_fft = 8))
CASE_FUNCTION(magnitudes, eg_spectrogram(x[0], 8, .power = 1))
CASE_FUNCTION(roots, eg_spectrogram(x[0], 8, .power = 0.5, .center = true))
CASE_FUNCTION(decibels, eg_decibels(x[0], .reference = 2))
CASE_FUNCTION(in_range, eg_decibels(x[0], .floor = 0.01, .range = 20))
CASE_FUNCTION(mel, eg_matmul(x[0], eg_mel_filters(14, 8000, 3)))
CASE_FUNCTION(cepstra, eg_matmul(x[0], eg_dct_matrix(5, 3, true)))
CASE_FUNCTION(deltas, eg_deltas(x[0], 2))
CASE_FUNCTION(pre_emphasis, eg_pre_emphasis(x[0], 0.97))
CASE_FUNCTION(istft, eg_istft(x[0], 6, .hop = 2, .n_fft = 8, .window = x[1]))
CASE_FUNCTION(istft_cut, eg_istft(x[0], 5, .hop = 3, .window = x[1], .center = true, .samples = 7))
CASE_FUNCTION(istft_apart, eg_istft(x[0], 3, .hop = 4, .samples = 14))

#define IN(...)                     \
    {                               \
        DIMS(__VA_ARGS__), -1, 1, 0 \
    }
/* Away from 0, where roots and logarithms bend. */
#define POSITIVE(...)               \
    {                               \
        DIMS(__VA_ARGS__), .1, 1, 0 \
    }
#define COMPOSED(name, f, ...)                                                                   \
    {                                                                                            \
        "rfft irfft", name, f, __VA_ARGS__, .tolerance = 2e-5, .flags = EGT_NO_HALF | EGT_NO_REF \
    }

EGT_CASES(audio, COMPOSED("powers", powers, {IN(2, 19), IN(6)}), COMPOSED("magnitudes", magnitudes, {IN(2, 21)}),
          COMPOSED("roots", roots, {IN(21)}), COMPOSED("decibels", decibels, {POSITIVE(3, 4)}),
          COMPOSED("decibels in a range", in_range, {POSITIVE(3, 4)}), COMPOSED("mel", mel, {IN(2, 3, 8)}),
          COMPOSED("cepstra", cepstra, {IN(2, 3, 5)}), COMPOSED("deltas", deltas, {IN(2, 7, 3)}),
          COMPOSED("pre_emphasis", pre_emphasis, {IN(2, 9)}), COMPOSED("istft", istft, {IN(2, 4, 5, 2), POSITIVE(6)}),
          COMPOSED("istft, cut", istft_cut, {IN(3, 3, 2), POSITIVE(5)}),
          COMPOSED("istft of frames apart", istft_apart, {IN(3, 2, 2)}))
