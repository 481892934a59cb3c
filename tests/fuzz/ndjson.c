/* ndjson.c - any bytes as JSON objects, one a line. */
#include <stdlib.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const eg_json_field fields[] = {
        {"word", EG_U8, 0, true, 0}, {"drawing", EG_I32, true, true, 0}, {"n", EG_F64, 0, true, 0}};
    eg_clear_error();
    eg_dataset *d = eg_dataset_tolerate(eg_ndjson_new(fuzz_file(data, size), fields, 3));
    fuzz_expect(d != NULL);
    EG_FOR_EACH(sample, d) {
        eg_clear_error();
        fuzz_expect(eg_strokes(sample[1], sample[2]) != NULL);
        if ((size_t)(eg_numel(sample[0]) + eg_numel(sample[1]) + eg_numel(sample[3])) > size) {
            abort();
        }
    }
    if (eg_dataset_status(d)) {
        abort();
    }
    eg_dataset_free(d);
    return 0;
}
