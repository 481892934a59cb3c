/* audio.h - sounds as they come and go: files, other rates, lengths, and changes by chance. Their features are
 * ops/audio.h's.
 *
 * A sound is f32 [channels, samples], as a rule in -1..1; what changes one also takes [.., samples]. Results are on the
 * CPU where nothing else is said. Chance comes from the calling thread's stream (eg_seed), so that it repeats, also in
 * eg_dataset_map. */
#ifndef EGRET_DATA_AUDIO_H
#define EGRET_DATA_AUDIO_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- files --------------------------------------------------------------------------------- */

typedef struct eg_audio_options {
    size_t size;
    int64_t start;       /* samples of each channel that are passed over */
    int64_t samples;     /* of each channel, fewer where it ends; 0: all there are */
    int64_t max_samples; /* of all channels together; 0: 2^28, a GiB */
} eg_audio_options;

/* A WAV (RF64 and Wave64 too), FLAC, Ogg or MP3 file as f32 [channels, samples], through libsndfile and libmpg123:
 * integers divided by 2^(bits - 1), floats as they are, beyond -1..1 too. `rate` becomes the samples per second. A data
 * chunk of WAV whose size is all ones, about 2^31 or 0, as a writer to a pipe leaves it, extends to the end of the
 * file. `start` is exact for every coding; Ogg, MP3 and block codings are decoded up to it. EG_EFORMAT: none of these
 * formats, no channel, no rate, chunks of WAV that leave the file, more than max_samples, what libsndfile does not know
 * or finds damaged; EG_EINVAL: start, samples or max_samples below 0. Of Ogg with damaged headers libsndfile 1.2 loses
 * some kilobytes. */
EG_API eg_tensor *eg_audio_load_with(const char *path, int64_t *rate, const eg_audio_options *options);
#define eg_audio_load(...)              EG_AUDIO_LOAD_(__VA_ARGS__, )
#define EG_AUDIO_LOAD_(path, rate, ...) eg_audio_load_with(path, rate, EG_OPTIONS_(eg_audio_options, __VA_ARGS__))
EG_API eg_tensor *eg_audio_parse_with(const void *data, size_t bytes, int64_t *rate, const eg_audio_options *options);
#define eg_audio_parse(...) EG_AUDIO_PARSE_(__VA_ARGS__, )
#define EG_AUDIO_PARSE_(data, bytes, rate, ...) \
    eg_audio_parse_with(data, bytes, rate, EG_OPTIONS_(eg_audio_options, __VA_ARGS__))

typedef enum eg_audio_format { EG_AUDIO_BY_NAME, EG_AUDIO_WAV, EG_AUDIO_FLAC } eg_audio_format;

typedef struct eg_audio_write_options {
    size_t size;
    eg_audio_format format; /* by name: as the path ends, .wav or .flac; encoded bytes are WAV then */
    int bits;               /* of a sample: 16, 24, or of WAV 32, which are floats; 0: 16 */
} eg_audio_write_options;

/* The file's bytes, u8 [n], and the file itself, through libsndfile. x is [channels, samples] or [samples] of floats,
 * on any device; with 16 and 24 bits what is outside -1..1 is cut, and what was read from as many bits stays as it was.
 * EG_ESHAPE: another rank, 0 channels or more than 1,024, of FLAC 8; EG_EDTYPE: no floats; EG_EINVAL: no such format,
 * bits or rate; EG_EIO. WAV holds 4 GiB at most (EG_ESHAPE). */
EG_API eg_tensor *eg_audio_encode_with(eg_tensor *x, int64_t rate, const eg_audio_write_options *options);
#define eg_audio_encode(...)           EG_AUDIO_ENCODE_(__VA_ARGS__, )
#define EG_AUDIO_ENCODE_(x, rate, ...) eg_audio_encode_with(x, rate, EG_OPTIONS_(eg_audio_write_options, __VA_ARGS__))
EG_API eg_status eg_audio_save_with(eg_tensor *x, const char *path, int64_t rate,
                                    const eg_audio_write_options *options);
#define eg_audio_save(...) EG_AUDIO_SAVE_(__VA_ARGS__, )
#define EG_AUDIO_SAVE_(x, path, rate, ...) \
    eg_audio_save_with(x, path, rate, EG_OPTIONS_(eg_audio_write_options, __VA_ARGS__))

/* ---- other rates --------------------------------------------------------------------------- */

typedef enum eg_resample_quality {
    EG_RESAMPLE_MEDIUM, /* a sinc of 90 % of the band, 121 dB */
    EG_RESAMPLE_BEST,   /* 97 %, 144 dB */
    EG_RESAMPLE_FAST,   /* 80 %, 97 dB */
    EG_RESAMPLE_LINEAR, /* straight lines */
} eg_resample_quality;

typedef struct eg_resample_options {
    size_t size;
    eg_resample_quality quality;
} eg_resample_options;
/* A sound of `from` samples a second as one of `to`: floats x [.., n] -> f32 [.., ceil(n to / from)], through
 * libsamplerate. No gradient. EG_EINVAL: a rate below 1, or one more than 256 times the other; EG_EDTYPE: no
 * floats. */
EG_API eg_tensor *eg_audio_resample_with(eg_tensor *x, int64_t from, int64_t to, const eg_resample_options *options);
#define eg_audio_resample(...) EG_AUDIO_RESAMPLE_(__VA_ARGS__, )
#define EG_AUDIO_RESAMPLE_(x, from, to, ...) \
    eg_audio_resample_with(x, from, to, EG_OPTIONS_(eg_resample_options, __VA_ARGS__))

/* ---- changes: of any device, with gradients ---------------------------------------------------- */

/* x cut to n samples, or with zeros behind. */
EG_API eg_tensor *eg_audio_fit(eg_tensor *x, int64_t n);
/* Everything `by` samples later, or earlier for a negative number; zeros come in. */
EG_API eg_tensor *eg_audio_shift(eg_tensor *x, int64_t by);
/* Louder by so many decibels: x 10^(decibels / 20). */
EG_API eg_tensor *eg_audio_gain(eg_tensor *x, double decibels);

typedef struct eg_audio_mix_options {
    size_t size;
    double volume; /* the noise's factor; 0: 1 */
    bool by_ratio; /* instead: its factor is such that x is louder by `ratio` decibels */
    double ratio;
} eg_audio_mix_options;
/* x with a random piece of the noise [.., m] as long as x added, repeated where it is shorter; silence stays
 * silent in by_ratio. EG_ESHAPE: noise without samples, or of axes that do not broadcast to x's. */
EG_API eg_tensor *eg_audio_mix_with(eg_tensor *x, eg_tensor *noise, const eg_audio_mix_options *options);
#define eg_audio_mix(...)            EG_AUDIO_MIX_(__VA_ARGS__, )
#define EG_AUDIO_MIX_(x, noise, ...) eg_audio_mix_with(x, noise, EG_OPTIONS_(eg_audio_mix_options, __VA_ARGS__))

typedef struct eg_audio_trim_options {
    size_t size;
    double below;       /* the loudest frame by so many decibels is silence; 0: 60 */
    int64_t frame, hop; /* of which the loudness is the root of the mean square; 0: 2048, a quarter of the frame */
} eg_audio_trim_options;
/* Without the silence before and behind: from the first to the last frame that is none; a sound of nothing else is
 * left without samples. The loudest channel of a frame counts (librosa's effects.trim). */
EG_API eg_tensor *eg_audio_trim_with(eg_tensor *x, const eg_audio_trim_options *options);
#define eg_audio_trim(...)     EG_AUDIO_TRIM_(__VA_ARGS__, )
#define EG_AUDIO_TRIM_(x, ...) eg_audio_trim_with(x, EG_OPTIONS_(eg_audio_trim_options, __VA_ARGS__))

typedef struct eg_spec_augment_options {
    size_t size;
    int bands, times;    /* masks over bands, over frames; 0: 2 each, EG_ZERO: none */
    int64_t band_width;  /* of a mask up to so many bands; 0: 27 */
    int64_t frame_width; /* up to so many frames; 0: 100 */
    double share;        /* and up to this share of the frames; 0: 1 */
    double fill;         /* what is under a mask */
} eg_spec_augment_options;
/* Bands and stretches of time hidden (Park et al. 2019, without their warping): x [.., frames, bands], each matrix with
 * masks of its own, of widths drawn from 0 to the most, anywhere they fit. */
EG_API eg_tensor *eg_spec_augment_with(eg_tensor *x, const eg_spec_augment_options *options);
#define eg_spec_augment(...)     EG_SPEC_AUGMENT_(__VA_ARGS__, )
#define EG_SPEC_AUGMENT_(x, ...) eg_spec_augment_with(x, EG_OPTIONS_(eg_spec_augment_options, __VA_ARGS__))

EG_END_DECLS

#endif
