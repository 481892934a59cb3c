/* audio.c - any bytes as a file of sound. */
#include <stdlib.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

/* libsndfile 1.2 loses what libvorbis has made for a stream whose headers are damaged: nothing a caller could free. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:vorbis_info_init";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eg_clear_error();
    EG_SCOPE {
        int64_t rate = 0;
        eg_tensor *t = eg_audio_parse(data, size, &rate, .max_samples = 1 << 20);
        fuzz_expect(t != NULL);
        eg_tensor *part = eg_audio_parse(data, size, &rate, .start = size % 97, .samples = 9, .max_samples = 1 << 20);
        if (t && part && eg_size(part, 1) > 9) {
            abort();
        }
        if (t && (rate < 1 || eg_ndim(t) != 2)) {
            abort();
        }
    }
    return 0;
}
