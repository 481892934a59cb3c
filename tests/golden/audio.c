/* audio.c - what the golden cases of sounds stand for: librosa's, torchaudio's and PyTorch's, and TensorFlow's. */
#include "tests/golden/golden.h"

static int64_t whole(const golden_case *c, const char *key)
{
    return (int64_t)golden_number(c, key, 0);
}

static eg_tensor *bands_of(const golden_case *c, int64_t n_fft, double rate, eg_mel_scale scale, int64_t first)
{
    return eg_mel_filters(n_fft, rate, whole(c, "bands"), .low = golden_number(c, "low", 0),
                          .high = golden_number(c, "high", 0), .scale = scale, .area = whole(c, "area"),
                          .first = first);
}

static eg_tensor *mel_filters(const golden_case *c)
{
    eg_mel_scale scale = golden_is(c, "scale", "htk")      ? EG_MEL_HTK
                         : golden_is(c, "scale", "slaney") ? EG_MEL_SLANEY
                                                           : EG_MEL_TENSORFLOW;
    return eg_mul_scalar(bands_of(c, whole(c, "n_fft"), golden_number(c, "rate", 0), scale, 0), 100);
}

static eg_tensor *dct_matrix(const golden_case *c)
{
    return eg_mul_scalar(eg_dct_matrix(whole(c, "n"), whole(c, "coefficients"), whole(c, "ortho")), 100);
}

static eg_tensor *deltas(const golden_case *c)
{
    return eg_deltas(c->x[0], whole(c, "reach"));
}

static eg_tensor *pre_emphasis(const golden_case *c)
{
    return eg_pre_emphasis(c->x[0], golden_number(c, "k", 0));
}

static eg_tensor *spectrogram(const golden_case *c)
{
    return eg_spectrogram(c->x[0], whole(c, "frame"), .hop = whole(c, "hop"), .n_fft = whole(c, "n_fft"),
                          .window = c->x[1], .center = whole(c, "center"), .power = golden_number(c, "power", 0));
}

static eg_tensor *decibels(const golden_case *c)
{
    return eg_decibels(c->x[0], .floor = golden_number(c, "floor", 0), .reference = golden_number(c, "reference", 0),
                       .range = golden_number(c, "range", 0));
}

static eg_tensor *istft(const golden_case *c)
{
    return eg_istft(c->x[0], whole(c, "frame"), .hop = whole(c, "hop"), .window = c->x[1], .center = whole(c, "center"),
                    .samples = whole(c, "samples"));
}

GOLDEN_ROWS(audio, {.op = "mel_filters", .one = mel_filters}, {.op = "dct_matrix", .one = dct_matrix},
            {.op = "deltas", .one = deltas}, {.op = "pre_emphasis", .one = pre_emphasis},
            {.op = "spectrogram", .one = spectrogram}, {.op = "decibels", .one = decibels},
            {.op = "istft", .one = istft})

/* ---- TensorFlow's kernels ------------------------------------------------------------------------------------------
 */

/* The least power of 2 that holds a frame. */
static int64_t transform_of(int64_t frame)
{
    int64_t n = 1;
    while (n < frame) {
        n *= 2;
    }
    return n;
}

static eg_tensor *spectra(const golden_case *c)
{
    int64_t frame = whole(c, "frame");
    return eg_spectrogram(c->x[0], frame, .hop = whole(c, "hop"), .n_fft = transform_of(frame),
                          .window = eg_hann_window(frame));
}

/* By the module; the kernel leaves out bins below the first band's side. */
static eg_tensor *cepstra(const golden_case *c)
{
    int64_t n_fft = transform_of(whole(c, "frame"));
    double low = golden_number(c, "low", 0);
    eg_module *m =
        eg_audio_features_new(16000, .frame = whole(c, "frame"), .hop = whole(c, "hop"), .power = 1,
                              .bands = whole(c, "bands"), .low = low, .high = golden_number(c, "high", 0),
                              .scale = EG_MEL_TENSORFLOW, .first = (int64_t)(1.5 + low * (double)n_fft / 16000),
                              .floor = 1e-12, .coefficients = whole(c, "coefficients"), .plain_dct = true);
    eg_tensor *y = eg_module_forward(m, c->x[0]);
    eg_module_free(m);
    return y;
}

GOLDEN_ROWS(cepstra, {.op = "spectra", .one = spectra}, {.op = "cepstra", .one = cepstra})
