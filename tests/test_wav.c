/* test_wav.c - sounds: what a file gives, and what is refused. */
#include "tests/egt.h"

static const uint8_t wav[] = {'R', 'I', 'F', 'F', 44, 0, 0,    0,    'W', 'A',  'V', 'E',  'f',  'm',  't', ' ', 16, 0,
                              0,   0,   1,   0,   2,  0, 0x40, 0x1f, 0,   0,    0,   0x7d, 0,    0,    4,   0,   16, 0,
                              'd', 'a', 't', 'a', 8,  0, 0,    0,    0,   0x40, 0,   0x80, 0xff, 0x7f, 1,   0};

EGT(sounds)
{
    int64_t rate = 5;
    eg_tensor *t = eg_wav_parse(wav, sizeof wav, &rate);
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
        EGT_CHECK(!eg_wav_parse(wav, cut, &rate) && eg_last_error()->code == EG_EFORMAT);
    }
    EGT_EQ(rate, 8000);
    static const struct {
        int at, value;
        const char *word;
    } bad[] = {{0, 'X', "RIFF"},           {22, 0, "0 channels"}, {40, 9, "leaves the file"}, {43, 0xff, "leaves"},
               {36, 'x', "no data chunk"}, {16, 4, "4 bytes"},    {20, 99, "libsndfile"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        memcpy(b, wav, sizeof wav);
        b[bad[i].at] = (uint8_t)bad[i].value;
        EGT_REFUSED(eg_wav_parse(b, sizeof b, &rate), EG_EFORMAT, bad[i].word);
    }
    memcpy(b, wav, sizeof wav);
    memset(b + 24, 0, 4);
    EGT_REFUSED(eg_wav_parse(b, sizeof b, &rate), EG_EFORMAT, "at 0 frames");
    EGT_REFUSED(eg_wav_parse(wav, sizeof wav, NULL), EG_EINVAL, "rate");
    EGT_REFUSED(eg_wav_load("/nowhere.wav", &rate), EG_EIO, "nowhere");
}

EGT(real_sounds)
{
    int64_t rate = 0;
    eg_dataset *d = eg_files_new(egt_real("speech_commands/yes/*.wav"));
    EG_FOR_EACH(sample, d) {
        eg_tensor *t = eg_wav_parse(eg_data(sample[1]), (size_t)eg_numel(sample[1]), &rate);
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
