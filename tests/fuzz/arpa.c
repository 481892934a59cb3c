/* arpa.c - any bytes as a file of n-grams: one that answers, or a refusal in words. */
#include <stdlib.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eg_clear_error();
    eg_ngram *lm = eg_ngram_parse(data, size);
    if (!lm && eg_last_error()->code != EG_EFORMAT) {
        abort();
    }
    if (lm) {
        int64_t words = 0;
        double p = eg_ngram_sentence(lm, "the cat sat", &words);
        if (words != 4 || p != p || eg_ngram_order(lm) < 1) {
            abort();
        }
    }
    eg_ngram_free(lm);
    return 0;
}
