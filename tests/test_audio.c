/* test_audio.c - features of sounds: what they refuse, and that ways there and back meet.
 * Runs on the CPU and on the emulated device. */
#include <math.h>

#include "tests/egt.h"

static void check_near(eg_tensor *got, eg_tensor *want, double tolerance)
{
    EGT_NEAR(egt_distance(got, want), 0, tolerance);
}

EGT(spectra_lead_back_to_the_signal)
{
    static const struct {
        int64_t frame, hop, n_fft, samples;
        bool center;
    } ways[] = {{64, 16, 0, 400, true}, {64, 16, 0, 400, false}, {9, 3, 0, 60, true}, {400, 160, 512, 2000, false}};
    for (int i = 0; i < (int)(sizeof ways / sizeof *ways); i++) {
        EG_SCOPE {
            int64_t n = ways[i].samples, frame = ways[i].frame;
            eg_tensor *x = egt_random(EG_SHAPE(2, n), EG_F64, -1, 1);
            eg_tensor *w = eg_hamming_window(frame); /* which is nowhere 0 */
            eg_tensor *z =
                eg_stft(x, frame, .hop = ways[i].hop, .n_fft = ways[i].n_fft, .window = w, .center = ways[i].center);
            eg_tensor *y = eg_istft(z, frame, .hop = ways[i].hop, .n_fft = ways[i].n_fft, .window = w,
                                    .center = ways[i].center, .samples = n);
            int64_t reach = (eg_size(z, 1) - 1) * ways[i].hop + (ways[i].center ? 0 : frame);
            reach = reach < n ? reach : n;
            check_near(eg_slice(y, 1, 0, reach, 1), eg_slice(x, 1, 0, reach, 1), 1e-12);
            EGT_EQ(eg_size(y, 1), n);
        }
    }
}

/* A signal of the same magnitudes: nearer with every round. */
EGT(magnitudes_alone_give_a_signal)
{
    eg_seed(3);
    eg_tensor *t = eg_arange(0, 4000, 1, EG_F32);
    eg_tensor *x = eg_sin(eg_mul(t, eg_add_scalar(eg_mul_scalar(t, 2e-5), 0.1))); /* a tone that rises */
    eg_tensor *w = eg_hann_window(256), *m = eg_spectrogram(x, 256, .hop = 64, .window = w, .power = 1, .center = true);
    double far[2];
    for (int i = 0; i < 2; i++) {
        eg_tensor *y = eg_griffin_lim(m, 256, .hop = 64, .window = w, .iterations = i ? 60 : 1, .samples = 4000);
        EGT_EQ(eg_size(y, 0), 4000);
        eg_tensor *again = eg_spectrogram(y, 256, .hop = 64, .window = w, .power = 1, .center = true);
        far[i] = eg_item(eg_div(eg_norm(eg_sub(again, m)), eg_norm(m)));
    }
    EGT_CHECK(far[0] > 0.3);
    EGT_CHECK(far[1] < 0.2);
}

EGT(a_loud_tone_is_in_its_band)
{
    eg_tensor *filters = eg_mel_filters(512, 16000, 40, .low = 20, .high = 4000);
    EGT_EQ(eg_size(filters, 0), 257);
    for (int i = 0; i < 3; i++) {
        double hz = 300 * (1 << i);
        eg_tensor *x = eg_sin(eg_mul_scalar(eg_arange(0, 1600, 1, EG_F32), 6.283185307179586 * hz / 16000));
        eg_tensor *bands =
            eg_matmul(eg_spectrogram(x, 480, .hop = 160, .n_fft = 512, .window = eg_hann_window(480)), filters);
        EGT_EQ(eg_size(bands, 0), 8);
        double step = (2595 * log10(1 + 4000. / 700) - 2595 * log10(1 + 20. / 700)) / 41;
        double band = (2595 * log10(1 + hz / 700) - 2595 * log10(1 + 20. / 700)) / step - 1;
        EGT_NEAR(eg_item(eg_select(eg_argmax(bands, .axes = EG_AXES(1)), 0, 3)), band, 1);
    }
    eg_tensor *area = eg_mel_filters(512, 16000, 40, .area = true, .scale = EG_MEL_SLANEY);
    EGT_NEAR(eg_item(eg_sum(eg_select(area, 1, 39))) * 16000 / 512, 1, 0.01); /* over all Hz */
}

EGT(decibels_have_a_floor_and_a_range)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(4), EG_F64, (double[]){1, 100, 0, 1e-3});
    check_near(eg_decibels(x), eg_from_values(EG_SHAPE(4), EG_F64, (double[]){0, 20, -100, -30}), 1e-12);
    check_near(eg_decibels(x, .range = 40), eg_from_values(EG_SHAPE(4), EG_F64, (double[]){0, 20, -20, -20}), 1e-12);
    EGT_EQ(eg_numel(eg_decibels(eg_zeros(EG_SHAPE(0), EG_F32), .range = 40)), 0);
}

EGT(an_emphasis_begins_with_the_first_sample)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(3), EG_F64, (double[]){1, 2, 4});
    check_near(eg_pre_emphasis(x, 0.5), eg_from_values(EG_SHAPE(3), EG_F64, (double[]){1, 1.5, 3}), 0);
    EGT_EQ(eg_numel(eg_pre_emphasis(eg_zeros(EG_SHAPE(2, 0), EG_F32), 0.5)), 0);
}

EGT(features_are_a_module)
{
    eg_tensor *x = egt_random(EG_SHAPE(2, 3, 2000), EG_F32, -1, 1);
    eg_module *log_mel = eg_audio_features_new(16000), *bins = eg_audio_features_new(16000, .bands = EG_ZERO);
    eg_module *cepstra = eg_audio_features_new(16000, .coefficients = 13, .offset = 1e-3, .center = true);
    eg_tensor *spectra = eg_spectrogram(x, 400, .hop = 160, .n_fft = 512, .window = eg_hann_window(400));
    check_near(eg_module_forward(bins, x), eg_log(eg_clamp_min(spectra, 1e-10)), 1e-6);
    eg_tensor *mel = eg_matmul(spectra, eg_mel_filters(512, 16000, 80));
    check_near(eg_module_forward(log_mel, x), eg_log(eg_clamp_min(mel, 1e-10)), 1e-6);
    eg_tensor *y = eg_module_forward(cepstra, x);
    EGT_CHECK(eg_ndim(y) == 4 && eg_size(y, 2) == 13 && eg_size(y, 3) == 13);
    eg_module_free(log_mel);
    eg_module_free(bins);
    eg_module_free(cepstra);
    EGT_REFUSED(eg_audio_features_new(0), EG_EINVAL, "rate 0");
    EGT_REFUSED(eg_audio_features_new(NAN), EG_EINVAL, "rate nan");
    EGT_REFUSED(eg_audio_features_new(16000, .frame = -1), EG_EINVAL, "frame -1");
    EGT_REFUSED(eg_audio_features_new(16000, .n_fft = 100), EG_EINVAL, "n_fft 100");
    EGT_REFUSED(eg_audio_features_new(16000, .high = 9000), EG_EINVAL, "9000 Hz");
    EGT_REFUSED(eg_audio_features_new(16000, .coefficients = 81), EG_EINVAL, "81 coefficients of 80");
}

EGT(what_is_refused)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(3, 8), EG_F32), *z = eg_zeros(EG_SHAPE(4, 5, 2), EG_F32);
    EGT_REFUSED(eg_spectrogram(x, 4, .power = -1), EG_EINVAL, "power is -1");
    EGT_REFUSED(eg_spectrogram(x, 9), EG_ESHAPE, "no frames of 9");
    EGT_REFUSED(eg_decibels(x, .reference = -1), EG_EINVAL, "reference is -1");
    EGT_REFUSED(eg_decibels(x, .floor = NAN), EG_EINVAL, "floor nan");
    EGT_REFUSED(eg_mel_filters(0, 16000, 40), EG_EINVAL, "n_fft is 0");
    EGT_REFUSED(eg_mel_filters(512, NAN, 40), EG_EINVAL, "rate nan");
    EGT_REFUSED(eg_mel_filters(512, 16000, 40, .high = 9000), EG_EINVAL, "from 0 to 9000 Hz: not in 0 to 8000");
    EGT_REFUSED(eg_mel_filters(512, 16000, 40, .low = 8000), EG_EINVAL, "from 8000 to 8000 Hz");
    EGT_REFUSED(eg_mel_filters(512, 16000, 40, .scale = (eg_mel_scale)3), EG_EINVAL, "scale 3");
    EGT_REFUSED(eg_mel_filters(INT64_MAX, 16000, INT64_MAX), EG_ESHAPE, "");
    EGT_REFUSED(eg_dct_matrix(4, 5, true), EG_EINVAL, "5 coefficients of 4");
    EGT_REFUSED(eg_dct_matrix(4, 0, true), EG_EINVAL, "0 coefficients of 4");
    EGT_REFUSED(eg_deltas(x, 0), EG_EINVAL, "reach is 0");
    EGT_REFUSED(eg_deltas(eg_zeros(EG_SHAPE(4), EG_F32), 1), EG_ESHAPE, "x is [4]");
    EGT_REFUSED(eg_deltas(eg_zeros(EG_SHAPE(0, 4), EG_F32), 1), EG_ESHAPE, "x is [0, 4]");
    EGT_REFUSED(eg_pre_emphasis(eg_zeros(EG_SCALAR, EG_F32), 1), EG_ESHAPE, "x is []");
    EGT_REFUSED(eg_pre_emphasis(x, INFINITY), EG_EINVAL, "k inf");
    EGT_REFUSED(eg_istft(z, 0), EG_EINVAL, "frame is 0");
    EGT_REFUSED(eg_istft(z, 8, .samples = -1), EG_EINVAL, "samples -1");
    EGT_REFUSED(eg_istft(z, 10), EG_ESHAPE, "y is [4, 5, 2], must be [.., frames, 6, 2]");
    EGT_REFUSED(eg_istft(x, 8), EG_ESHAPE, "y is [3, 8]");
    EGT_REFUSED(eg_istft(eg_zeros(EG_SHAPE(0, 5, 2), EG_F32), 8), EG_ESHAPE, "y is [0, 5, 2]");
    EGT_REFUSED(eg_istft(z, 8, .window = eg_hann_window(9)), EG_ESHAPE, "window is [9], must be [8]");
    EGT_REFUSED(eg_griffin_lim(x, 8), EG_ESHAPE, "magnitudes are [3, 8], must be floats [.., frames, 5]");
    EGT_REFUSED(eg_griffin_lim(eg_ones(EG_SHAPE(9, 5), EG_F32), 8, .momentum = 1), EG_EINVAL, "momentum is 1");
    EGT_REFUSED(eg_griffin_lim(eg_ones(EG_SHAPE(9, 5), EG_F32), 8, .iterations = -1), EG_EINVAL, "iterations are -1");
    EGT_REFUSED(eg_griffin_lim(eg_ones(EG_SHAPE(1, 5), EG_F32), 8), EG_ESHAPE, "");
}
