/* archives.c - any bytes as an npz file, read at once and opened, and as a tar archive. */
#include <stdlib.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eg_clear_error();
    eg_tensors *m = eg_npz_parse(data, size);
    fuzz_expect(m != NULL);
    eg_tensors_free(m);
    eg_clear_error();
    m = eg_tensors_parse(data, size, .format = "npz");
    fuzz_expect(m != NULL);
    for (int64_t i = 0; i < eg_tensors_count(m); i++) {
        fuzz_expect(eg_tensors_at(m, i) != NULL);
    }
    eg_tensors_free(m);
    eg_clear_error();
    eg_dataset *d = eg_tar_new(fuzz_file(data, size));
    fuzz_expect(d != NULL);
    if (!d) {
        return 0;
    }
    d = eg_dataset_tolerate(d);
    size_t bytes = 0;
    EG_FOR_EACH(sample, d) {
        bytes += (size_t)eg_numel(sample[1]);
    }
    if (eg_dataset_status(d) || bytes > 1100 * size) {
        abort();
    }
    eg_dataset_free(d);
    return 0;
}
