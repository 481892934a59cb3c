/* tables.c - any bytes as lines, rows of a table, a vocabulary, vectors of its words, and text. */
#include <stdlib.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

static void walk(eg_dataset *d)
{
    fuzz_expect(d != NULL);
    EG_FOR_EACH(sample, d) {
        if (eg_numel(sample[0]) < 0) {
            abort();
        }
    }
    if (eg_dataset_status(d)) { /* nothing stops what tolerates */
        abort();
    }
    eg_dataset_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const eg_column columns[] = {{NULL, 0, EG_U8, 0, 0, 0}, {NULL, 1, EG_F32, 2, true, 0}};
    static const eg_column named[] = {{"n", 0, EG_I64, 0, 0, 0}};
    const char *path = fuzz_file(data, size);
    eg_clear_error();
    walk(eg_dataset_tolerate(eg_text_lines_new(path, .invalid = EG_UTF8_REPLACE)));
    walk(eg_dataset_tolerate(eg_csv_new(path, columns, 2)));
    walk(eg_dataset_tolerate(eg_csv_new(path, named, 1, .header = true)));
    eg_clear_error();
    eg_vocabulary *v = eg_vocabulary_load(path);
    fuzz_expect(v != NULL);
    eg_clear_error();
    EG_SCOPE {
        eg_tensor *text = eg_from(EG_SHAPE((int64_t)size), EG_U8, size ? data : (const uint8_t *)"");
        eg_tensor *t = eg_text_normalise(text, .form = EG_NFKC, .drop = "Mn", .lower = true, .trim = true);
        fuzz_expect(t != NULL);
        if (v && t) {
            fuzz_expect(eg_vocabulary_encode(v, t, 0) != NULL);
        }
        for (int binary = 0; binary < 2 && v; binary++) { /* the words are those of the file's lines */
            eg_clear_error();
            fuzz_expect(eg_word_vectors_load(path, v, .binary = binary != 0) != NULL);
        }
    }
    eg_vocabulary_free(v);
    return 0;
}
