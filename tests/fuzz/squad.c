/* squad.c - any bytes as questions and answers. */
#include <stdlib.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eg_clear_error();
    eg_dataset *d = eg_squad_new(fuzz_file(data, size));
    fuzz_expect(d != NULL);
    d = d ? eg_dataset_tolerate(d) : NULL;
    EG_FOR_EACH(sample, d) {
        const int64_t answers = eg_size(sample[4], 0), longest = eg_size(sample[4], 1);
        const int64_t *at = eg_data(sample[3]);
        if (eg_size(sample[3], 0) != answers || (size_t)longest > size) {
            abort();
        }
        for (int64_t i = 0; i < answers; i++) {
            if (at[i] < -1 || at[i] > eg_numel(sample[1])) {
                abort();
            }
        }
    }
    if (d && eg_dataset_status(d)) { /* nothing stops what tolerates */
        abort();
    }
    eg_dataset_free(d);
    return 0;
}
