/* tokenizer.c - any bytes as a file of a tokenizer: one that takes texts apart, of which all that is told holds, or a
 * refusal in words; and any bytes as a text. */
#include <stdlib.h>
#include <string.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

static void check(const eg_tokenizer *t, eg_tensor *text)
{
    eg_tokens x = eg_tokenizer_encode(t, text);
    const int64_t n = x.ids ? eg_numel(x.ids) : 0, bytes = eg_numel(text);
    for (int64_t i = 0; i < n; i++) {
        const double id = eg_get(x.ids, i), begin = eg_get(x.offsets, 2 * i), end = eg_get(x.offsets, 2 * i + 1);
        if (id < 0 || id >= (double)eg_tokenizer_size(t) || begin < 0 || end < begin || end > (double)bytes) {
            abort();
        }
    }
    if (n && !eg_tokenizer_decode(t, x.ids)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char line[] = "A m\xc3\xa4n, ri\xcc\x81"
                               "ding  12 \xe4\xba\xba <mask> [MASK]s \\_ \xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9.";
    eg_clear_error();
    eg_tokenizer *t = eg_tokenizer_load(fuzz_file(data, size));
    if (!t && !eg_last_error()->code) {
        abort();
    }
    EG_SCOPE {
        if (t) {
            check(t, eg_text(line));
            check(t, eg_from(EG_SHAPE((int64_t)size), EG_U8, data));
        }
    }
    eg_tokenizer_free(t);
    return 0;
}
