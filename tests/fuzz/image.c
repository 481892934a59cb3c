/* image.c - any bytes as an encoded image: pixels no more than asked for, or a refusal in words. */
#include <stdlib.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

enum { MOST = 1 << 18 };

static void check(const eg_tensor *t)
{
    fuzz_expect(t != NULL);
    if (t && (eg_numel(t) < 1 || eg_size(t, 1) * eg_size(t, 2) > MOST)) {
        abort();
    }
    eg_clear_error();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eg_clear_error();
    EG_SCOPE {
        check(eg_image_decode(data, size, .other_formats = true, .max_pixels = MOST));
        check(eg_image_decode(data, size, .allow_truncated = true, .keep_16 = true, .channels = 1, .scale = 2,
                              .fast_dct = true, .other_formats = true, .max_pixels = MOST));
        eg_tensor *t = eg_image_decode_crop(data, size, 9, 7, .max_pixels = MOST);
        fuzz_expect(t != NULL);
        eg_clear_error();
        const char *recipe = eg_preprocess_at((int)(size % 6)).name;
        t = eg_preprocess_decode(recipe, data, size, .side = 7, .train = size % 4 > 0, .max_pixels = MOST);
        fuzz_expect(t != NULL);
    }
    return 0;
}
