/* tokenizer.c - any bytes as the file of a tokenizer: it is refused with a message, or encodes and decodes texts so
 * that ids and places are within bounds. The texts are fixed ones, the bytes themselves, parts of the file and
 * mixtures. */
#include <stdlib.h>
#include <string.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

enum { MOST_TEXT = 600 };

static void check_tokens(const eg_tokenizer *t, const eg_tokens *x, double bytes)
{
    const int64_t n = eg_numel(x->ids);
    for (int64_t i = 0; i < n; i++) {
        const double id = eg_get(x->ids, i), begin = eg_get(x->offsets, 2 * i), end = eg_get(x->offsets, 2 * i + 1);
        if (id < 0 || id >= (double)eg_tokenizer_size(t) || begin < 0 || end < begin || end > bytes) {
            abort();
        }
    }
}

/* Fails only with a message; what is decoded is UTF-8, since it can be encoded again. */
static void check(const eg_tokenizer *t, eg_tensor *text)
{
    eg_clear_error();
    eg_tokens x = eg_tokenizer_encode(t, text);
    if (!x.ids) {
        fuzz_expect(0);
        return;
    }
    check_tokens(t, &x, (double)eg_numel(text));
    for (int skip = 0; skip < 2; skip++) {
        eg_clear_error();
        eg_tensor *back = eg_tokenizer_decode(t, x.ids, .skip_specials = skip);
        fuzz_expect(back != NULL);
        if (back && !skip && eg_numel(back) < 4 * MOST_TEXT) {
            eg_clear_error();
            eg_tokens again = eg_tokenizer_encode(t, back, .plain = true, .bare = true);
            if (!again.ids && eg_last_error()->code == EG_EFORMAT) {
                abort();
            }
        }
    }
    eg_tensor *both[] = {text, text};
    eg_clear_error();
    x = eg_tokenizer_encode_batch(t, both, 2, .pairs = true, .max_length = 20, .pad_multiple = 8);
    fuzz_expect(x.ids != NULL);
}

/* Ids in any order: all there are, up to some. */
static void check_ids(const eg_tokenizer *t, const uint8_t *data, size_t size)
{
    double ids[64];
    int64_t n = 0;
    for (size_t i = 0; i < size && n < 64 && eg_tokenizer_size(t); i += 7) {
        ids[n++] = (double)((data[i] * 257 + i) % (size_t)eg_tokenizer_size(t));
    }
    eg_clear_error();
    eg_tensor *back = n ? eg_tokenizer_decode(t, eg_from_values(EG_SHAPE(n), EG_I64, ids)) : NULL;
    fuzz_expect(!n || back != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char line[] = "A m\xc3\xa4n, ri\xcc\x81"
                               "ding  12 \xe4\xba\xba <mask> [MASK]s \\_ \xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9.";
    static const char odd[] = "\t \n\xef\xb7\xba\xe2\x96\x81\xe2\x96\x81 a\xcd\x85\xe0\xa4\xa8\xe0\xa4\xbf</w>##x<0xE4>"
                              "\xe1\x84\x80\xe1\x85\xa1\xef\xbf\xbd\xc2\xa0  abcabc A\xcc\x8a<unk> ";
    eg_clear_error();
    eg_tokenizer *t = eg_tokenizer_load(fuzz_file(data, size));
    fuzz_expect(t != NULL);
    if (!t) {
        return 0;
    }
    EG_SCOPE {
        const size_t part = size < MOST_TEXT ? size : MOST_TEXT, from = size - part;
        check(t, eg_text(line));
        check(t, eg_text(odd));
        check(t, eg_from(EG_SHAPE(0), EG_U8, data));
        check(t, eg_from(EG_SHAPE((int64_t)part), EG_U8, data));
        check(t, eg_from(EG_SHAPE((int64_t)part), EG_U8, data + from));
        check_ids(t, data, size);
    }
    eg_tokenizer_free(t);
    return 0;
}
