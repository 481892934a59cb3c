/* test_sounds.c - sounds: what files give and take, other rates, changes, and what is refused. */
#include <math.h>

#include "tests/egt.h"

static const uint8_t wav[] = {'R', 'I', 'F', 'F', 44, 0, 0,    0,    'W', 'A',  'V', 'E',  'f',  'm',  't', ' ', 16, 0,
                              0,   0,   1,   0,   2,  0, 0x40, 0x1f, 0,   0,    0,   0x7d, 0,    0,    4,   0,   16, 0,
                              'd', 'a', 't', 'a', 8,  0, 0,    0,    0,   0x40, 0,   0x80, 0xff, 0x7f, 1,   0};

EGT(a_wav_file)
{
    int64_t rate = 5;
    eg_tensor *t = eg_audio_parse(wav, sizeof wav, &rate);
    egt_need(t, "libsndfile");
    static const double want[] = {0.5, 32767.0 / 32768, -1, 1.0 / 32768};
    EGT_EQ(rate, 8000);
    EGT_EQ(eg_size(t, 0), 2);
    EGT_EQ(eg_size(t, 1), 2);
    for (int i = 0; i < 4; i++) {
        EGT_EQ(eg_get(t, i), want[i]);
    }
    uint8_t b[sizeof wav];
    for (size_t cut = 0; cut < sizeof wav; cut++) {
        eg_clear_error();
        EGT_CHECK(!eg_audio_parse(wav, cut, &rate) && eg_last_error()->code == EG_EFORMAT);
    }
    EGT_EQ(rate, 8000);
    static const struct {
        int at, value;
        const char *word;
    } bad[] = {{0, 'X', "neither RIFF"},   {22, 0, "0 channels"}, {40, 9, "leaves the file"}, {43, 0xff, "leaves"},
               {36, 'x', "no data chunk"}, {16, 4, "4 bytes"},    {20, 99, "libsndfile"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        memcpy(b, wav, sizeof wav);
        b[bad[i].at] = (uint8_t)bad[i].value;
        EGT_REFUSED(eg_audio_parse(b, sizeof b, &rate), EG_EFORMAT, bad[i].word);
    }
    memcpy(b, wav, sizeof wav);
    memset(b + 24, 0, 4);
    EGT_REFUSED(eg_audio_parse(b, sizeof b, &rate), EG_EFORMAT, "at 0 samples");
    EGT_REFUSED(eg_audio_parse(wav, sizeof wav, NULL), EG_EINVAL, "rate");
    EGT_REFUSED(eg_audio_load("/nowhere.wav", &rate), EG_EIO, "nowhere");
}

EGT(real_sounds)
{
    int64_t rate = 0;
    eg_dataset *d = eg_files_new(egt_real("speech_commands/yes/*.wav"));
    EG_FOR_EACH(sample, d) {
        eg_tensor *t = eg_audio_parse(eg_data(sample[1]), (size_t)eg_numel(sample[1]), &rate);
        if (!t && egt_said(EG_ENOKERNEL, "")) {
            eg_dataset_free(d);
            egt_skip("built without libsndfile");
        }
        EGT_EQ(rate, 16000);
        EGT_EQ(eg_size(t, 0), 1);
        EGT_CHECK(eg_size(t, 1) >= 12288 && eg_size(t, 1) <= 16000);
        EGT_CHECK(eg_item(eg_max(eg_abs(t))) <= 1);
    }
    EGT_OK(eg_dataset_status(d));
    eg_dataset_free(d);
}

/* ---- what is written --------------------------------------------------------------------------------- */

static double rms(eg_tensor *x)
{
    return sqrt(eg_item(eg_mean(eg_square(x))));
}

static eg_tensor *tone(double hz, double rate, int64_t n)
{
    return eg_sin(eg_mul_scalar(eg_arange(0, (double)n, 1, EG_F32), 6.283185307179586 * hz / rate));
}

EGT(what_is_written_is_read_again)
{
    static const struct {
        eg_audio_format format;
        int bits;
        double off;
    } ways[] = {{EG_AUDIO_WAV, 16, 0.5 / 32768},
                {EG_AUDIO_FLAC, 16, 0.5 / 32768},
                {EG_AUDIO_WAV, 24, 1e-7},
                {EG_AUDIO_FLAC, 24, 1e-7},
                {EG_AUDIO_WAV, 32, 0}};
    for (int i = 0; i < (int)(sizeof ways / sizeof *ways); i++) {
        EG_SCOPE {
            int64_t rate = 0;
            eg_tensor *x = egt_random(EG_SHAPE(2, 5000), EG_F32, -1, 1);
            eg_tensor *b = eg_audio_encode(x, 44100, .format = ways[i].format, .bits = ways[i].bits);
            egt_need(b, "libsndfile");
            EGT_CHECK(egt_same_bits(b, eg_audio_encode(x, 44100, .format = ways[i].format, .bits = ways[i].bits)));
            eg_tensor *y = eg_audio_parse(eg_data(b), (size_t)eg_numel(b), &rate);
            EGT_EQ(rate, 44100);
            EGT_EQ(eg_size(y, 1), 5000);
            EGT_CHECK(eg_item(eg_max(eg_abs(eg_sub(x, y)))) <= ways[i].off * 1.0001);
            eg_tensor *again = eg_audio_encode(y, 44100, .format = ways[i].format, .bits = ways[i].bits);
            EGT_CHECK(egt_same_bits(b, again));
            eg_tensor *part = eg_audio_parse(eg_data(b), (size_t)eg_numel(b), &rate, .start = 4000, .samples = 300);
            EGT_CHECK(egt_same_bits(part, eg_contiguous(eg_slice(y, 1, 4000, 4300, 1))));
            EGT_EQ(eg_size(eg_audio_parse(eg_data(b), (size_t)eg_numel(b), &rate, .start = 4900, .samples = 300), 1),
                   100);
            EGT_EQ(eg_size(eg_audio_parse(eg_data(b), (size_t)eg_numel(b), &rate, .start = 5000), 1), 0);
            EGT_REFUSED(eg_audio_parse(eg_data(b), (size_t)eg_numel(b), &rate, .max_samples = 9999), EG_EFORMAT,
                        "more than 9999 samples");
            eg_clear_error();
            EGT_CHECK(!eg_audio_parse(eg_data(b), (size_t)eg_numel(b) / 2, &rate));
            EGT_EQ(eg_last_error()->code, EG_EFORMAT);
            eg_clear_error();
        }
    }
}

EGT(what_is_too_loud_is_cut)
{
    int64_t rate;
    eg_tensor *x = eg_from_values(EG_SHAPE(4), EG_F32, (double[]){-3, 7, NAN, 0.5});
    eg_tensor *b = eg_audio_encode(x, 8000);
    egt_need(b, "libsndfile");
    eg_tensor *y = eg_audio_parse(eg_data(b), (size_t)eg_numel(b), &rate);
    static const double want[] = {-1, 32767.0 / 32768, 0, 0.5};
    for (int i = 0; i < 4; i++) {
        EGT_EQ(eg_get(y, i), want[i]);
    }
    EGT_EQ(eg_numel(eg_audio_encode(eg_zeros(EG_SHAPE(1, 0), EG_F32), 8000)), 44);
}

EGT(a_file_is_named_by_what_it_is)
{
    const char *dir = egt_folder();
    char path[512];
    static const char *const ends[] = {"a.wav", "a.flac"};
    for (int i = 0; i < 2; i++) {
        int64_t rate = 0;
        snprintf(path, sizeof path, "%s/%s", dir, ends[i]);
        eg_status st = eg_audio_save(tone(440, 8000, 800), path, 8000);
        if (st == EG_ENOKERNEL) {
            egt_skip("built without libsndfile");
        }
        EGT_OK(st);
        EGT_EQ(eg_size(eg_audio_load(path, &rate), 1), 800);
        EGT_EQ(rate, 8000);
    }
    snprintf(path, sizeof path, "%s/a.xyz", dir);
    EGT_CHECK(eg_audio_save(tone(440, 8000, 8), path, 8000) == EG_EINVAL && strstr(eg_last_error()->message, ".flac"));
    EGT_CHECK(eg_audio_save(tone(440, 8000, 8), NULL, 8000) == EG_EINVAL);
    EGT_CHECK(eg_audio_save(tone(440, 8000, 8), "/nowhere/a.wav", 8000) == EG_EIO);
    EGT_REFUSED(eg_audio_encode(tone(440, 8000, 8), 0), EG_EINVAL, "0 samples a second");
    EGT_REFUSED(eg_audio_encode(tone(440, 8000, 8), 8000, .bits = 12), EG_EINVAL, "12 bits");
    EGT_REFUSED(eg_audio_encode(eg_zeros(EG_SHAPE(4), EG_I32), 8000), EG_EDTYPE, "i32");
    EGT_REFUSED(eg_audio_encode(eg_zeros(EG_SHAPE(0, 4), EG_F32), 8000), EG_ESHAPE, "[0, 4]");
    EGT_REFUSED(eg_audio_encode(eg_zeros(EG_SHAPE(9, 4), EG_F32), 8000, .format = EG_AUDIO_FLAC), EG_ESHAPE, "[9, 4]");
}

/* 400 samples of a tone of 440 Hz, half as loud as can be, at 8,000 a second. */
EGT(what_others_have_packed)
{
    static const struct {
        const char *name;
        int64_t samples, rate;
        double off;
    } files[] = {{"tone.flac", 400, 8000, 1e-4}, {"tone.ogg", 400, 8000, 0.03}, {"opus.ogg", 400, 8000, 0.2},
                 {"tone.mp3", 400, 8000, 0.1},   {"adpcm.wav", 505, 8000, 0.1}, {"float.wav", 20, 8000, 1e-6},
                 {"law.wav", 50, 8000, 0.02}};
    for (int i = 0; i < (int)(sizeof files / sizeof *files); i++) {
        char path[128];
        int64_t rate = 0;
        snprintf(path, sizeof path, "tests/fuzz/corpus/audio/%s", files[i].name);
        snprintf(egt_case, sizeof egt_case, "%s", files[i].name);
        eg_tensor *x = eg_audio_load(path, &rate);
        egt_need(x, strstr(path, "mp3") ? "libmpg123" : "libsndfile");
        EGT_EQ(rate, files[i].rate);
        EGT_EQ(eg_size(x, 1), files[i].samples);
        int64_t n = files[i].samples < 400 ? files[i].samples : 400;
        eg_tensor *off = eg_sub(eg_slice(x, 1, 0, n, 1), eg_mul_scalar(tone(440, 8000, n), 0.5));
        EGT_CHECK(rms(off) < files[i].off);
        eg_tensor *late = eg_audio_load(path, &rate, .start = 10, .samples = 7);
        EGT_EQ(eg_size(late, 1), 7);
        EGT_CHECK(egt_same_bits(late, eg_contiguous(eg_slice(x, 1, 10, 17, 1))));
    }
}

/* libsndfile's own seek in Vorbis ends up to some hundred samples away. */
EGT(load_starts_at_the_exact_sample)
{
    int64_t rate = 0;
    static const char path[] = "tests/golden/sounds/ticks.ogg";
    eg_tensor *x = eg_audio_load(path, &rate);
    egt_need(x, "libsndfile");
    EGT_EQ(eg_size(x, 1), 40000);
    for (int64_t start = 100; start < 40000; start += 500) {
        EG_SCOPE {
            eg_tensor *part = eg_audio_load(path, &rate, .start = start, .samples = 50);
            EGT_CHECK(egt_same_bits(part, eg_contiguous(eg_slice(x, 1, start, start + 50, 1))));
        }
    }
    EGT_EQ(eg_size(eg_audio_load(path, &rate, .start = 39990, .samples = 50), 1), 10);
    EGT_EQ(eg_size(eg_audio_load(path, &rate, .start = 40000), 1), 0);
    EGT_EQ(eg_size(eg_audio_load(path, &rate, .start = INT64_MAX), 1), 0);
}

/* Writers to pipes do not know the sizes; WAV data of size 0 up to the end of the file is such a stream too. */
EGT(wav_from_a_pipe)
{
    int64_t rate = 0;
    eg_tensor *want = eg_audio_parse(wav, sizeof wav, &rate);
    egt_need(want, "libsndfile");
    static const uint32_t sizes[] = {0xffffffff, 0xffffffdb, 0x7ffff000, 0x7fffffff, 0x80000000, 0};
    uint8_t b[sizeof wav];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memcpy(b, wav, sizeof wav);
        for (int k = 0; k < 4; k++) {
            b[4 + k] = b[40 + k] = (uint8_t)(sizes[i] >> (8 * k));
        }
        EGT_CHECK(egt_same_bits(eg_audio_parse(b, sizeof b, &rate), want));
    }
    memcpy(b, wav, sizeof wav);
    b[7] = 0xff; /* the size of the whole file is not looked at */
    EGT_CHECK(egt_same_bits(eg_audio_parse(b, sizeof b, &rate), want));
}

/* Two samples of one channel of 16 bits at 8,000 per second. */
#define FORMAT 'f', 'm', 't', ' '
#define MONO   1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x80, 0x3e, 0, 0, 2, 0, 16, 0

EGT(large_kinds_of_wav)
{
    static const uint8_t rf64[] = {
        'R', 'F', '6', '4', 255,    255, 255, 255, 'W', 'A',  'V', 'E', 'd', 's', '6', '4', 28,  0,   0, 0, 76, 0,
        0,   0,   0,   0,   0,      0,   4,   0,   0,   0,    0,   0,   0,   0,   2,   0,   0,   0,   0, 0, 0,  0,
        0,   0,   0,   0,   FORMAT, 16,  0,   0,   0,   MONO, 'd', 'a', 't', 'a', 255, 255, 255, 255, 0, 0, 0,  0x40};
    static const uint8_t w64[] = {
        'r',  'i',  'f',  'f',  0x2e,   0x91, 0xcf, 0x11, 0xa5, 0xd6, 0x28, 0xdb, 4,    0xc1, 0,    0,    112,  0,
        0,    0,    0,    0,    0,      0,    'w',  'a',  'v',  'e',  0xf3, 0xac, 0xd3, 0x11, 0x8c, 0xd1, 0,    0xc0,
        0x4f, 0x8e, 0xdb, 0x8a, FORMAT, 0xf3, 0xac, 0xd3, 0x11, 0x8c, 0xd1, 0,    0xc0, 0x4f, 0x8e, 0xdb, 0x8a, 40,
        0,    0,    0,    0,    0,      0,    0,    MONO, 'd',  'a',  't',  'a',  0xf3, 0xac, 0xd3, 0x11, 0x8c, 0xd1,
        0,    0xc0, 0x4f, 0x8e, 0xdb,   0x8a, 28,   0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0x40};
    const struct {
        const uint8_t *p;
        size_t n;
    } files[] = {{rf64, sizeof rf64}, {w64, sizeof w64}};
    for (int i = 0; i < 2; i++) {
        int64_t rate = 0;
        eg_tensor *x = eg_audio_parse(files[i].p, files[i].n, &rate);
        egt_need(x, "libsndfile");
        EGT_CHECK(rate == 8000 && eg_numel(x) == 2 && eg_get(x, 0) == 0 && eg_get(x, 1) == 0.5);
        for (size_t cut = 0; cut < files[i].n; cut++) {
            EGT_REFUSED(eg_audio_parse(files[i].p, cut, &rate), EG_EFORMAT, "");
        }
    }
}

/* GSM 6.10 packs 320 samples into 65 bytes, IMA ADPCM four bits each. */
EGT(dense_codings_of_wav)
{
    uint8_t b[60 + 10 * 65] = {'R', 'I', 'F', 'F',  0,    0, 0, 0,    'W',  'A', 'V', 'E',  FORMAT, 20,
                               0,   0,   0,   0x31, 0,    1, 0, 0x40, 0x1f, 0,   0,   0x59, 6,      0,
                               0,   65,  0,   0,    0,    2, 0, 0x40, 1,    'f', 'a', 'c',  't',    4,
                               0,   0,   0,   0x80, 0x0c, 0, 0, 'd',  'a',  't', 'a', 0x8a, 2};
    int64_t rate = 0;
    for (size_t i = 0; i < 650; i++) {
        b[60 + i] = (uint8_t)(i * i);
    }
    eg_tensor *x = eg_audio_parse(b, sizeof b, &rate);
    egt_need(x, "libsndfile");
    EGT_EQ(eg_size(x, 1), 3200);
    for (int64_t start = 0; start < 3200; start += 101) {
        eg_tensor *part = eg_audio_parse(b, sizeof b, &rate, .start = start, .samples = 9);
        EGT_CHECK(egt_same_bits(part, eg_contiguous(eg_slice(x, 1, start, start + 9, 1))));
    }
}

/* ---- other rates ------------------------------------------------------------------------------------- */

EGT(a_tone_stays_the_tone_it_is)
{
    static const int64_t rates[] = {8000, 11025, 16000, 48000};
    for (int i = 0; i < 4; i++) {
        for (int q = EG_RESAMPLE_MEDIUM; q < EG_RESAMPLE_LINEAR; q++) {
            EG_SCOPE {
                eg_tensor *x = eg_expand(tone(440, 16000, 4000), EG_SHAPE(2, 4000));
                eg_tensor *y = eg_audio_resample(x, 16000, rates[i], .quality = (eg_resample_quality)q);
                egt_need(y, "libsamplerate");
                int64_t n = (4000 * rates[i] + 15999) / 16000;
                EGT_EQ(eg_size(y, 0), 2);
                EGT_EQ(eg_size(y, 1), n);
                eg_tensor *off = eg_sub(y, eg_expand(tone(440, (double)rates[i], n), EG_SHAPE(2, n)));
                EGT_CHECK(rms(eg_slice(off, 1, n / 8, n - n / 8, 1)) < 1e-3);
            }
        }
    }
    eg_tensor *x = tone(440, 16000, 40);
    EGT_EQ(eg_numel(eg_audio_resample(eg_slice(x, 0, 0, 0, 1), 16000, 8000)), 0);
    EGT_REFUSED(eg_audio_resample(x, 0, 8000), EG_EINVAL, "from 0 to 8000");
    EGT_REFUSED(eg_audio_resample(eg_zeros(EG_SHAPE(4), EG_I64), 16000, 8000), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_audio_resample(x, 16000, 61), EG_EINVAL, "to 61");
    EGT_REFUSED(eg_audio_resample(eg_zeros(EG_SCALAR, EG_F32), 16000, 8000), EG_ESHAPE, "f32 []");
    EGT_REFUSED(eg_audio_resample(x, 16000, 8000, .quality = (eg_resample_quality)9), EG_EINVAL, "quality 9");
}

/* ---- changes ----------------------------------------------------------------------------------------- */

static void check_values(eg_tensor *got, int n, const double *want)
{
    EGT_EQ(eg_numel(got), n);
    for (int i = 0; i < n; i++) {
        EGT_NEAR(eg_get(got, i), want[i], 1e-6);
    }
}

EGT(lengths_places_and_loudness)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(1, 3), EG_F32, (double[]){1, 2, 3});
    check_values(eg_audio_fit(x, 5), 5, (double[]){1, 2, 3, 0, 0});
    check_values(eg_audio_fit(x, 2), 2, (double[]){1, 2});
    check_values(eg_audio_fit(x, 0), 0, NULL);
    check_values(eg_audio_shift(x, 1), 3, (double[]){0, 1, 2});
    check_values(eg_audio_shift(x, -2), 3, (double[]){3, 0, 0});
    check_values(eg_audio_shift(x, INT64_MAX), 3, (double[]){0, 0, 0});
    check_values(eg_audio_shift(x, INT64_MIN), 3, (double[]){0, 0, 0});
    check_values(eg_audio_gain(x, 20), 3, (double[]){10, 20, 30});
    EGT_REFUSED(eg_audio_fit(x, -1), EG_EINVAL, "n is -1");
    EGT_REFUSED(eg_audio_fit(eg_zeros(EG_SCALAR, EG_F32), 1), EG_ESHAPE, "x is []");
    EGT_REFUSED(eg_audio_shift(eg_zeros(EG_SCALAR, EG_F32), 1), EG_ESHAPE, "x is []");
    EGT_REFUSED(eg_audio_gain(x, NAN), EG_EINVAL, "nan");
}

EGT(noise_is_mixed_in)
{
    eg_seed(1);
    eg_tensor *x = tone(440, 8000, 4000), *noise = egt_random(EG_SHAPE(1, 9000), EG_F32, -1, 1);
    eg_tensor *y = eg_audio_mix(eg_unsqueeze(x, 0), noise, .by_ratio = true, .ratio = 10);
    EGT_NEAR(20 * log10(rms(x) / rms(eg_sub(y, x))), 10, 1e-3);
    eg_tensor *a = eg_sub(eg_audio_mix(x, eg_select(noise, 0, 0), .volume = 0.1), x);
    eg_tensor *b = eg_sub(eg_audio_mix(x, eg_select(noise, 0, 0), .volume = 0.1), x);
    EGT_CHECK(eg_item(eg_max(eg_abs(a))) <= 0.1001 && rms(a) > 0.03);
    EGT_CHECK(!egt_same_bits(a, b)); /* another piece */
    eg_tensor *count = eg_arange(0, 3, 1, EG_F32), *short_one = eg_audio_mix(eg_zeros(EG_SHAPE(7), EG_F32), count);
    for (int i = 1; i < 7; i++) {
        EGT_EQ(eg_get(short_one, i), fmod(eg_get(short_one, i - 1) + 1, 3));
    }
    eg_tensor *still = eg_audio_mix(eg_zeros(EG_SHAPE(7), EG_F32), count, .by_ratio = true);
    EGT_EQ(eg_item(eg_max(eg_abs(still))), 0);
    EGT_REFUSED(eg_audio_mix(x, eg_zeros(EG_SHAPE(0), EG_F32)), EG_ESHAPE, "noise is [0]");
    EGT_REFUSED(eg_audio_mix(x, noise), EG_ESHAPE, "noise is [1, 9000]");
    EGT_REFUSED(eg_audio_mix(x, x, .volume = NAN), EG_EINVAL, "volume is nan");
}

EGT(silence_is_cut_off)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(1, 20000), EG_F32);
    x = eg_add(x, eg_audio_shift(eg_audio_fit(eg_unsqueeze(tone(440, 8000, 6000), 0), 20000), 8000));
    eg_tensor *y = eg_audio_trim(x);
    EGT_CHECK(eg_size(y, 1) >= 6000 && eg_size(y, 1) <= 6000 + 2 * 2048);
    EGT_NEAR(eg_item(eg_sum(eg_square(y))), eg_item(eg_sum(eg_square(x))), 1e-3);
    EGT_EQ(eg_size(eg_audio_trim(eg_zeros(EG_SHAPE(2, 900), EG_F32)), 1), 0);
    EGT_EQ(eg_size(eg_audio_trim(eg_zeros(EG_SHAPE(2, 0), EG_F32)), 1), 0);
    EGT_EQ(eg_size(eg_audio_trim(eg_slice(tone(440, 8000, 30), 0, 0, 30, 1)), 0), 30); /* shorter than a frame */
    /* 55 dB below, in one channel of four: of their mean it would be 61 */
    eg_tensor *hum = eg_mul_scalar(tone(440, 8000, 20000), pow(10, -55. / 20));
    eg_tensor *four[] = {x, x, x, eg_add(x, hum)};
    EGT_EQ(eg_size(eg_audio_trim(eg_concat(four, 4, 0)), 1), 20000);
    EGT_REFUSED(eg_audio_trim(x, .below = -1), EG_EINVAL, "below is -1");
    EGT_REFUSED(eg_audio_trim(x, .hop = -1), EG_EINVAL, "hop -1");
}

EGT(bands_and_times_are_hidden)
{
    eg_seed(2);
    eg_tensor *x = eg_ones(EG_SHAPE(50, 80, 40), EG_F32), *y = eg_spec_augment(x, .band_width = 10, .frame_width = 20);
    eg_tensor *bands = eg_max(y, .axes = EG_AXES(1)), *times = eg_max(y, .axes = EG_AXES(2));
    double hidden = 50 * 40 - eg_item(eg_sum(bands)), gone = 50 * 80 - eg_item(eg_sum(times));
    EGT_CHECK(hidden > 50 * 4 && hidden < 50 * 20); /* some ten of two masks of 0 to 10, less where they meet */
    EGT_CHECK(gone > 50 * 10 && gone < 50 * 40);
    EGT_CHECK(!egt_same_bits(eg_select(y, 0, 0), eg_select(y, 0, 1)));
    EGT_CHECK(egt_same_bits(eg_spec_augment(x, .bands = EG_ZERO, .times = EG_ZERO), x));
    eg_tensor *filled = eg_spec_augment(eg_zeros(EG_SHAPE(9, 9), EG_F64), .fill = -4, .band_width = 100);
    EGT_CHECK(eg_item(eg_min(filled)) == -4);
    EGT_EQ(eg_numel(eg_spec_augment(eg_zeros(EG_SHAPE(3, 0, 4), EG_F32))), 0);
    EGT_REFUSED(eg_spec_augment(x, .bands = -1), EG_EINVAL, "-1 masks");
    EGT_REFUSED(eg_spec_augment(x, .share = 2), EG_EINVAL, "share 2");
    EGT_REFUSED(eg_spec_augment(eg_zeros(EG_SHAPE(4), EG_F32)), EG_ESHAPE, "f32 [4]");
    EGT_REFUSED(eg_spec_augment(eg_zeros(EG_SHAPE(4, 4), EG_I64)), EG_EDTYPE, "i64 [4, 4]");
}
