/* audio.h - features of sounds as a module, whose tables are made once and move to devices with it. */
#ifndef EGRET_NN_AUDIO_H
#define EGRET_NN_AUDIO_H

#include <egret/nn/module.h>
#include <egret/ops/audio.h>

EG_BEGIN_DECLS

typedef struct eg_audio_features_options {
    size_t size;
    int64_t frame, hop;              /* samples; 0: 25 ms and 10 ms */
    int64_t n_fft;                   /* 0: the least power of 2 that holds a frame */
    eg_tensor *(*window)(int64_t n); /* NULL: eg_hann_window */
    bool center;                     /* as in eg_stft */
    double power;                    /* of magnitudes; 0: 2 */
    int64_t bands;                   /* of mels; 0: 80; EG_ZERO: the bins themselves */
    double low, high;                /* the bands', as in eg_mel_filters, all five */
    eg_mel_scale scale;
    bool area;
    int64_t first;
    double floor;         /* the logarithm is of this or more; 0: 1e-10 */
    double offset;        /* is added before the logarithm */
    int64_t coefficients; /* cepstra of the bands; 0: none, the logarithms */
    bool plain_dct;       /* of cepstra: no special case for the first, as TensorFlow's kernel */
} eg_audio_features_options;

/* Sounds x [.., samples] of so many samples a second as the natural logarithms of mel bands, [.., frames, bands], or
 * their cepstra, [.., frames, coefficients]. There are no parameters; window and tables are buffers, f32.
 * EG_EINVAL as eg_spectrogram, eg_mel_filters and eg_dct_matrix.
 * TensorFlow's, of speech commands: .frame = 480, .hop = 160, .power = 1, .bands = 40, .low = 20, .high = 4000,
 * .scale = EG_MEL_TENSORFLOW, .first = 2, .floor = 1e-12, .coefficients = 40, .plain_dct = true. */
EG_API eg_module *eg_audio_features_new_with(double rate, const eg_audio_features_options *options);
#define eg_audio_features_new(...) EG_AUDIO_FEATURES_NEW_(__VA_ARGS__, )
#define EG_AUDIO_FEATURES_NEW_(rate, ...) \
    eg_audio_features_new_with(rate, EG_OPTIONS_(eg_audio_features_options, __VA_ARGS__))

EG_END_DECLS

#endif
