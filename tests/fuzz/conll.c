/* conll.c - any bytes as words in columns, as a treebank, and as sentences of a task. */
#include <stdlib.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

static void walk(eg_dataset *d, size_t size)
{
    fuzz_expect(d != NULL);
    EG_FOR_EACH(sample, d) {
        if ((size_t)eg_numel(sample[0]) > size || !eg_text_words(sample[0])) { /* all of it is UTF-8 */
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
    static const eg_column words[] = {{.at = 0, .dtype = EG_U8}, {.at = -1, .dtype = EG_I32, .optional = true}};
    static const eg_column rows[] = {{.name = "form", .dtype = EG_U8},
                                     {.name = "head", .dtype = EG_I64, .optional = true},
                                     {.name = "text", .dtype = EG_U8, .optional = true}};
    const char *path = fuzz_file(data, size);
    eg_clear_error();
    walk(eg_dataset_tolerate(eg_conll_new(path, words, 1, .comments = true)), size);
    walk(eg_dataset_tolerate(eg_conll_new(path, words, 2)), size);
    walk(eg_dataset_tolerate(eg_conllu_new(path, rows, 3)), size);
    walk(eg_dataset_tolerate(eg_conllu_new(path, rows, 3, .surface = true, .empty = true)), size);
    walk(eg_dataset_tolerate(eg_glue_new(path, EG_GLUE_COLA)), size);
    walk(eg_dataset_tolerate(eg_glue_new(path, EG_GLUE_MNLI)), size);
    return 0;
}
